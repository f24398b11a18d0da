//! The sending end: handshake, sliding window, loss recovery.
//!
//! Papers: RFC 9293 (TCP), RFC 5681 and 6582 (fast retransmit, NewReno recovery), RFC 3042 (limited transmit), RFC 2018
//! (selective acknowledgement), RFC 6298 (timer), RFC 7323 (a time stamp in every segment, so that every
//! acknowledgement is a round-trip sample, also of a retransmission).
//! ECN (RFC 3168, if enabled): the handshake does not negotiate it, and a window of one segment is not delayed further.
//! Deviations: selective acknowledgement covers all arrived segments and costs no header bytes. The sender does not
//! retransmit covered segments, but recovers at the pace of NewReno (one retransmission per partial acknowledgement).
//! As with Nagle's algorithm, all segments are full, except the last one of a flow.

use super::controllers::AnyController;
use super::{Ack, Controller, RttEstimator, SackLog, Setup, Window};
use crate::{Counts, Flags, Progress, RankRule, Segment, SegmentSet, Timer};
use pifolab_units::{Rank, Time};

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
        }
    }

    /// Opens the connection.
    pub fn start(&mut self, now: Time, send: &mut impl FnMut(Segment)) {
        assert!(self.state == State::Idle, "a sender starts once");
        self.state = State::SynSent;
        self.send_syn(now, send);
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
        while let Some(number) = log.read_before(segment.sack) {
            self.sacked.insert(number);
        }
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
        if self.in_recovery || self.was_reduced(upto) {
            return;
        }
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
        if self.options.restart_timer_on_send || self.timer.deadline.is_none() {
            self.arm(now);
        }
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
