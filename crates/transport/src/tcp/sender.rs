//! The sending end: handshake, sliding window, loss recovery.
//!
//! Papers: RFC 9293 (TCP), RFC 5681 and 6582 (fast retransmit, NewReno recovery), RFC 3042 (limited transmit), RFC 2018
//! (selective acknowledgement), RFC 6298 (timer), RFC 7323 (a time stamp in every segment, so that every
//! acknowledgement is a round-trip sample, also of a retransmission).
//! ECN (RFC 3168, if enabled): the handshake does not negotiate it, and a window of one segment is not delayed further.
//! Deviations: selective acknowledgement covers all arrived segments and costs no header bytes. The sender does not
//! retransmit covered segments, but recovers at the pace of NewReno (one retransmission per partial acknowledgement).
//! With [`Recovery::Rack`], [`Rack`] finds losses and sets the pace instead; the window is compared with the segments in
//! the network, and nothing but losses and probes is sent again.
//! As with Nagle's algorithm, all segments are full, except the last one of a flow.

use super::controllers::AnyController;
use super::rack::Rack;
use super::{Ack, Controller, RttEstimator, SackLog, Setup, Window};
use crate::{Counts, Flags, Progress, RankRule, Recovery, Segment, SegmentSet, Timer};
use core::iter;
use pifolab_units::{Rank, Span, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    SynSent,
    Established,
    Done,
}

/// The part of [`Setup`] that an open connection uses. Small, because every connection has one.
#[derive(Clone, Copy, Debug)]
struct Options {
    handshake: bool,
    duplicate_threshold: u32,
    limited_transmit: bool,
    restart_timer_on_send: bool,
    timeout_sets_recover: bool,
    /// ECN of RFC 3168.
    ecn: bool,
}

impl From<&Setup> for Options {
    fn from(Setup { tcp, ecn, .. }: &Setup) -> Self {
        Self {
            handshake: tcp.handshake,
            duplicate_threshold: tcp.duplicate_threshold,
            limited_transmit: tcp.limited_transmit,
            restart_timer_on_send: tcp.restart_timer_on_send,
            timeout_sets_recover: tcp.timeout_sets_recover,
            ecn: *ecn,
        }
    }
}

/// The sending end of one connection.
#[derive(Debug)]
pub struct Sender {
    state: State,
    /// `una` is the first unacknowledged segment, `nxt` the next to send, `highest` one past the highest ever sent.
    una: u32,
    nxt: u32,
    highest: u32,
    segments: u32,
    segment_bytes: u32,
    size_bytes: u64,
    duplicates: u32,
    /// The acknowledgement number that a duplicate repeats. `None` before the first new acknowledgement, if duplicates
    /// do not count there.
    repeated: Option<u32>,
    /// One past the highest segment sent at the last detected loss, or at the last timeout with `timeout_sets_recover`.
    recover: Option<u32>,
    in_recovery: bool,
    window: Window,
    controller: AnyController,
    sacked: SegmentSet,
    rtt: RttEstimator,
    timer: Timer,
    counts: Counts,
    options: Options,
    /// With ECN: one past the highest segment sent at the last cut of the window. No mark or loss before this segment
    /// causes another cut.
    reduced_until: Option<u32>,
    /// Whether the next new data segment carries CWR, the notice of a cut.
    tells_reduction: bool,
    rank: RankRule,
    /// With [`Recovery::Rack`]. `None` while a method borrows it and the sender.
    rack: Option<Box<Rack>>,
}

impl Sender {
    /// Creates the sender of a flow of `size_bytes`.
    pub fn new(setup: &Setup, controller: AnyController, size_bytes: u64) -> Self {
        let tcp = &setup.tcp;
        Self {
            state: State::Idle,
            una: 0,
            nxt: 0,
            highest: 0,
            segments: size_bytes.div_ceil(tcp.mss_bytes.into()) as u32,
            segment_bytes: tcp.mss_bytes,
            size_bytes,
            duplicates: 0,
            repeated: tcp.count_first_duplicates.then_some(0),
            recover: None,
            in_recovery: false,
            window: tcp.window(),
            controller,
            sacked: SegmentSet::default(),
            rtt: RttEstimator::new(tcp.initial_rto, tcp.min_rto, tcp.max_rto),
            timer: Timer::default(),
            counts: Counts::default(),
            options: Options::from(setup),
            reduced_until: None,
            tells_reduction: false,
            rank: setup.rank,
            rack: (tcp.recovery == Recovery::Rack).then(|| Box::new(Rack::new(tcp.duplicate_threshold, tcp.min_rto))),
        }
    }

    /// Opens the connection, or sends the first segments of an open one.
    pub fn start(&mut self, now: Time, send: &mut impl FnMut(Segment)) {
        assert!(self.state == State::Idle, "a sender starts once");
        if self.options.handshake {
            self.state = State::SynSent;
            self.send_syn(now, send);
        } else {
            self.state = State::Established;
            self.fill_window(now, send);
        }
    }

    /// Handles a segment that arrived at `now`.
    pub fn handle_segment(
        &mut self,
        segment: &Segment,
        log: &mut SackLog,
        now: Time,
        send: &mut impl FnMut(Segment),
    ) -> Progress {
        match self.state {
            State::Idle | State::Done => Progress::Going,
            State::SynSent => {
                if segment.flags.has(Flags::SYN.with(Flags::ACK)) {
                    self.state = State::Established;
                    self.timer.stop();
                    self.send_control(Flags::ACK, now, send);
                    self.fill_window(now, send);
                }
                Progress::Going
            }
            State::Established if segment.flags.has(Flags::SYN) => {
                self.send_control(Flags::ACK, now, send);
                Progress::Going
            }
            State::Established if segment.flags.has(Flags::ACK) => self.handle_ack(segment, log, now, send),
            State::Established => Progress::Going,
        }
    }

    fn handle_ack(
        &mut self,
        segment: &Segment,
        log: &mut SackLog,
        now: Time,
        send: &mut impl FnMut(Segment),
    ) -> Progress {
        self.rtt.sample(now.since(segment.stamp));
        let upto_bytes = self.bytes_before(segment.ack);
        let ack = Ack {
            now,
            upto_bytes,
            newly_bytes: upto_bytes.saturating_sub(self.bytes_before(self.una)),
            sent_bytes: self.bytes_before(self.highest),
            marked: segment.flags.has(Flags::ECE),
            rtt_s: self.rtt.smoothed_s(),
        };
        if self.options.ecn && ack.marked {
            self.heed_mark(segment.ack, now);
        }
        if let Some(mut rack) = self.rack.take() {
            let sacked = iter::from_fn(|| log.read_before(segment.sack));
            let newly = rack.on_ack(segment.ack, sacked, segment.stamp, now);
            let progress = self.follow_ack(&mut rack, &ack, segment.ack, newly, send);
            self.rack = Some(rack);
            return progress;
        }
        while let Some(number) = log.read_before(segment.sack) {
            self.sacked.insert(number);
        }
        let mut is_new = false;
        if Some(segment.ack) == self.repeated {
            self.duplicates += 1;
            self.on_duplicate(segment.ack, now, send);
        } else if segment.ack > self.una {
            is_new = true;
            self.repeated = Some(segment.ack);
            self.duplicates = 0;
            self.on_new(segment.ack, &ack, now, send);
        }
        self.controller.on_any_ack(&mut self.window, &ack);
        if segment.ack > self.una {
            self.una = self.sacked.next_missing(segment.ack);
            self.sacked.advance(self.una);
            self.nxt = self.nxt.max(self.una);
            if self.una == self.segments {
                self.state = State::Done;
                self.timer.stop();
                return Progress::Completed;
            }
        }
        self.fill_window(now, send);
        // In recovery a partial acknowledgement also restarts the timer (RFC 6582's slow but steady variant). With
        // `restart_timer_on_send`, the retransmission has already restarted it.
        if is_new && !(self.in_recovery && self.options.restart_timer_on_send) {
            if self.una < self.highest {
                self.arm(now);
            } else {
                self.timer.stop();
            }
        }
        Progress::Going
    }

    fn on_new(&mut self, upto: u32, ack: &Ack, now: Time, send: &mut impl FnMut(Segment)) {
        if self.in_recovery && self.recover.is_some_and(|recover| upto < recover) {
            let left = self.window.cwnd - ack.newly_bytes as f64 + self.window.mss;
            self.window.cwnd = left.max(self.window.mss);
            self.retransmit(upto, now, send);
            return;
        }
        if self.in_recovery {
            let flight = (self.bytes_before(self.nxt) - self.bytes_before(self.una)) as f64;
            self.window.cwnd = self.window.ssthresh.min(flight + self.window.mss);
            self.in_recovery = false;
        }
        // The window does not grow while marks are echoed (RFC 3168, section 6.1.2).
        if !(self.options.ecn && ack.marked) {
            self.controller.on_new_ack(&mut self.window, ack);
        }
    }

    /// Cuts the window on a mark as on a loss, once per window of data, without a retransmission.
    fn heed_mark(&mut self, upto: u32, now: Time) {
        if !self.in_recovery && !self.was_reduced(upto) {
            self.reduce(now);
        }
    }

    /// Cuts the window on a congestion signal that needs no recovery.
    fn reduce(&mut self, now: Time) {
        let flight = self.bytes_before(self.nxt) - self.bytes_before(self.una);
        self.controller.on_loss(&mut self.window, flight, now);
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        self.note_reduction();
    }

    /// Whether the window was cut after the segments before `upto` were sent.
    fn was_reduced(&self, upto: u32) -> bool {
        self.reduced_until.is_some_and(|until| upto <= until)
    }

    fn note_reduction(&mut self) {
        if self.options.ecn {
            self.reduced_until = Some(self.highest);
            self.tells_reduction = true;
        }
    }

    fn on_duplicate(&mut self, upto: u32, now: Time, send: &mut impl FnMut(Segment)) {
        let threshold = self.options.duplicate_threshold;
        let beyond = self.recover.is_none_or(|recover| upto > recover);
        if self.duplicates == threshold && !self.in_recovery && beyond {
            if !self.was_reduced(upto) {
                let flight = self.bytes_before(self.nxt) - self.bytes_before(self.una);
                self.controller.on_loss(&mut self.window, flight, now);
                self.note_reduction();
            }
            self.window.cwnd = self.window.ssthresh + f64::from(threshold) * self.window.mss;
            self.recover = Some(self.highest);
            self.in_recovery = true;
            self.retransmit(upto, now, send);
        } else if self.in_recovery {
            self.window.cwnd += self.window.mss;
        } else if self.duplicates < threshold && self.options.limited_transmit {
            self.nxt = self.sacked.next_missing(self.nxt);
            if self.nxt < self.segments {
                self.send_data(self.nxt, now, send);
                self.pass(self.nxt + 1);
            }
        }
    }

    /// Retransmits segment `number` immediately.
    fn retransmit(&mut self, number: u32, now: Time, send: &mut impl FnMut(Segment)) {
        self.counts.fast_retransmissions += 1;
        self.send_data(number, now, send);
        self.pass(number);
        if self.nxt == number {
            self.pass(number + 1);
        }
    }

    /// Raises the next segment to send to at least `number`.
    fn pass(&mut self, number: u32) {
        self.nxt = self.nxt.max(number);
        self.highest = self.highest.max(self.nxt);
    }

    fn fill_window(&mut self, now: Time, send: &mut impl FnMut(Segment)) {
        if let Some(mut rack) = self.rack.take() {
            self.fill_network(&mut rack, now, send);
            self.rack = Some(rack);
            return;
        }
        let limit = self.window.cwnd.min(self.window.limit) as u64;
        let edge = self.bytes_before(self.una) + limit;
        while self.nxt < self.segments && self.bytes_before(self.nxt + 1) <= edge {
            if !self.sacked.contains(self.nxt) {
                self.send_data(self.nxt, now, send);
            }
            self.pass(self.nxt + 1);
        }
    }

    /// Handles the expiry of the timer. Early calls do nothing.
    pub fn handle_timeout(&mut self, now: Time, send: &mut impl FnMut(Segment)) {
        if !self.timer.has_expired(now) {
            return;
        }
        if self.state == State::Established
            && let Some(mut rack) = self.rack.take()
        {
            self.follow_timer(&mut rack, now, send);
            self.rack = Some(rack);
            return;
        }
        self.counts.timeouts += 1;
        self.rtt.back_off();
        let syn = self.state == State::SynSent;
        let flight = if syn { 0 } else { self.bytes_before(self.nxt) - self.bytes_before(self.una) };
        self.controller.on_timeout(&mut self.window, flight, now);
        self.in_recovery = false;
        self.note_reduction();
        if syn {
            self.send_syn(now, send);
            return;
        }
        if self.options.timeout_sets_recover {
            self.recover = Some(self.highest);
        }
        self.nxt = self.una;
        // The expired timer is stopped, so that the retransmission below restarts it.
        self.timer.stop();
        self.fill_window(now, send);
    }

    /// The rest of [`handle_ack`](Self::handle_ack) with RACK: `upto` is the acknowledgement number, and `newly` segments
    /// are acknowledged for the first time.
    fn follow_ack(
        &mut self,
        rack: &mut Rack,
        ack: &Ack,
        upto: u32,
        newly: u32,
        send: &mut impl FnMut(Segment),
    ) -> Progress {
        let (now, is_new) = (ack.now, upto > self.una);
        if self.recover.is_some_and(|recover| upto >= recover) {
            if core::mem::take(&mut self.in_recovery) {
                self.window.cwnd = self.window.ssthresh;
            }
            self.recover = None;
        }
        let has_lost = rack.detect_losses(now, self.recover.is_some(), self.smoothed());
        self.recover_from(rack, upto, newly, is_new && !has_lost, now);
        if is_new && !self.in_recovery && !(self.options.ecn && ack.marked) {
            self.controller.on_new_ack(&mut self.window, ack);
        }
        self.controller.on_any_ack(&mut self.window, ack);
        if rack.has_probe_repaired(upto, newly) && self.recover.is_none() && !self.was_reduced(upto) {
            self.reduce(now);
        }
        if is_new {
            self.una = upto;
            if self.una == self.segments {
                self.state = State::Done;
                self.timer.stop();
                return Progress::Completed;
            }
            rack.timeout = None;
        }
        self.fill_network(rack, now, send);
        Progress::Going
    }

    /// Begins a recovery if there is a loss and none is under way, and sets the window of a recovery.
    fn recover_from(&mut self, rack: &mut Rack, upto: u32, newly: u32, may_grow: bool, now: Time) {
        if self.recover.is_none() && rack.next_lost().is_some() {
            rack.begin_recovery(self.window.cwnd / self.window.mss);
            if !self.was_reduced(upto) {
                let flight = self.bytes_before(self.nxt) - self.bytes_before(self.una);
                self.controller.on_loss(&mut self.window, flight, now);
                self.note_reduction();
            }
            self.recover = Some(self.highest);
            self.in_recovery = true;
        }
        if self.in_recovery && newly > 0 {
            let threshold = self.window.ssthresh / self.window.mss;
            self.window.cwnd = rack.recovery_window(newly, threshold, may_grow) * self.window.mss;
        }
    }

    /// Handles the expiry of one of the timers of RACK.
    fn follow_timer(&mut self, rack: &mut Rack, now: Time, send: &mut impl FnMut(Segment)) {
        self.timer.stop();
        let is_due = |time: Option<Time>| time.is_some_and(|time| time <= now);
        if is_due(rack.reordering) {
            if rack.detect_losses(now, self.recover.is_some(), self.smoothed()) {
                // Nothing arrived: only the beginning of a recovery counts a segment.
                let newly = u32::from(self.recover.is_none());
                self.recover_from(rack, self.una, newly, false, now);
            }
        } else if is_due(rack.probe_time) {
            let is_resent = self.nxt == self.segments || !self.fits(self.nxt);
            self.transmit(rack, if is_resent { self.nxt - 1 } else { self.nxt }, now, send);
            rack.on_probe(is_resent);
            self.counts.probes += 1;
            rack.timeout = None;
        } else if is_due(rack.timeout) {
            self.counts.timeouts += 1;
            self.rtt.back_off();
            let has_progress = rack.on_timeout(now, self.smoothed());
            // Further timeouts of the same loss do not cut the threshold again (RFC 5681, section 3.1).
            if self.recover.is_none() || (!self.in_recovery && has_progress) {
                let flight = self.bytes_before(self.nxt) - self.bytes_before(self.una);
                self.controller.on_timeout(&mut self.window, flight, now);
                self.note_reduction();
            }
            self.window.cwnd = self.window.mss;
            (self.recover, self.in_recovery) = (Some(self.highest), false);
            self.transmit(rack, self.una, now, send);
        }
        self.fill_network(rack, now, send);
    }

    /// Sends lost segments, then new ones, until the window is full of segments in the network; then sets the timer.
    fn fill_network(&mut self, rack: &mut Rack, now: Time, send: &mut impl FnMut(Segment)) {
        let window = self.window.cwnd.min(self.window.limit);
        loop {
            let lost = rack.next_lost();
            let number = lost.unwrap_or(self.nxt);
            let has_data = lost.is_some() || (number < self.segments && self.fits(number));
            let in_flight = u64::from(rack.in_flight()) * u64::from(self.segment_bytes);
            let bytes = self.bytes_before(number.saturating_add(1)) - self.bytes_before(number);
            if !has_data || (in_flight + bytes) as f64 > window {
                break;
            }
            self.transmit(rack, number, now, send);
        }
        rack.timeout = (self.una < self.highest).then(|| rack.timeout.unwrap_or(now.saturating_add(self.rtt.rto())));
        rack.schedule_probe(now, self.recover.is_some(), self.rtt.smoothed());
        match rack.deadline() {
            None => self.timer.stop(),
            Some(deadline) if self.timer.deadline == Some(deadline) => {}
            Some(deadline) => self.timer.set(deadline),
        }
    }

    /// Whether the receiver's window has room for new segment `number`.
    fn fits(&self, number: u32) -> bool {
        self.bytes_before(number + 1) <= self.bytes_before(self.una) + self.window.limit as u64
    }

    fn transmit(&mut self, rack: &mut Rack, number: u32, now: Time, send: &mut impl FnMut(Segment)) {
        let is_fast = number < self.highest && (self.in_recovery || self.recover.is_none());
        self.counts.fast_retransmissions += u32::from(is_fast);
        self.emit(number, now, send);
        rack.on_sent(number, now);
        self.pass(number + 1);
    }

    /// The smoothed round-trip time, without a bound before the first sample.
    fn smoothed(&self) -> Span {
        self.rtt.smoothed().unwrap_or(Span::MAX)
    }

    fn send_syn(&mut self, now: Time, send: &mut impl FnMut(Segment)) {
        let rank = if self.rank == RankRule::Zero { Rank::ZERO } else { Rank::saturating(self.size_bytes) };
        send(Segment { stamp: now, rank, seq: 0, payload_bytes: 0, ack: 0, sack: 0, flags: Flags::SYN });
        self.arm(now);
    }

    fn send_control(&mut self, flags: Flags, now: Time, send: &mut impl FnMut(Segment)) {
        send(Segment {
            stamp: now,
            rank: self.rank_of(self.nxt),
            seq: self.nxt,
            payload_bytes: 0,
            ack: 0,
            sack: 0,
            flags,
        });
    }

    fn send_data(&mut self, number: u32, now: Time, send: &mut impl FnMut(Segment)) {
        self.emit(number, now, send);
        if self.options.restart_timer_on_send || self.timer.deadline.is_none() {
            self.arm(now);
        }
    }

    fn emit(&mut self, number: u32, now: Time, send: &mut impl FnMut(Segment)) {
        self.counts.retransmissions += u32::from(number < self.highest);
        let flags = match number < self.highest {
            true if self.options.ecn => Flags::NOT_ECT,
            false if core::mem::take(&mut self.tells_reduction) => Flags::CWR,
            _ => Flags::default(),
        };
        send(Segment {
            stamp: now,
            rank: self.rank_of(number),
            seq: number,
            payload_bytes: (self.bytes_before(number + 1) - self.bytes_before(number)) as u16,
            ack: 0,
            sack: 0,
            flags,
        });
    }

    fn rank_of(&self, number: u32) -> Rank {
        self.rank.rank(self.size_bytes, self.bytes_before(number), self.bytes_before(self.una))
    }

    fn arm(&mut self, now: Time) {
        self.timer.set(now.saturating_add(self.rtt.rto()));
    }

    /// The bytes of the flow before segment `number`.
    fn bytes_before(&self, number: u32) -> u64 {
        (u64::from(number) * u64::from(self.segment_bytes)).min(self.size_bytes)
    }

    /// The sender's timer.
    pub fn timer(&self) -> Timer {
        self.timer
    }

    /// The acknowledged bytes of the flow.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.bytes_before(self.una)
    }

    /// The sender's counters.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The current window.
    pub fn window(&self) -> &Window {
        &self.window
    }
}
