//! RACK-TLP: the times of transmission reveal lost segments, and a probe reveals losses at the end of a flight.
//!
//! Papers: RFC 8985 (RACK-TLP), RFC 6937 (proportional rate reduction: the number of segments to send in recovery).
//! Parameters: DupThresh is `duplicate_threshold`. TLP.max_ack_delay is `min_rto`, as in Linux.
//! Cost: amortised O(1) per segment sent or acknowledged, O(window) per timeout; 40 bytes per segment in flight.
//! Deviations: there is no DSACK, so the reordering window stays at a quarter of the minimum round trip (section 6.2,
//! step 4), and a cut after a spurious retransmission is not undone. The minimum round trip is that of the whole
//! connection. The reordering timer expires for the first segment that may be lost, not for the last (step 5). No probe
//! is scheduled while another one is out, so that the retransmission timer keeps its time (section 7.3).

use core::cmp::Ordering;
use pifolab_units::{Span, Time};
use std::collections::VecDeque;

/// PTO without a round-trip sample (section 7.2).
const FIRST_PROBE: Span = Span::from_s(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Sacked,
    Lost,
}

/// A segment that was sent and is not acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// The time of the last transmission.
    at: Time,
    state: State,
    is_resent: bool,
}

/// A loss probe (TLP.end_seq and TLP.is_retrans).
#[derive(Clone, Copy, Debug)]
struct Probe {
    end: u32,
    is_resent: bool,
}

/// The segments of a connection from the first unacknowledged one on, and the timers of its sender.
#[derive(Debug)]
pub(super) struct Rack {
    duplicate_threshold: u32,
    max_ack_delay: Span,
    /// The first unacknowledged segment, the first one of `sent`.
    una: u32,
    sent: VecDeque<Sent>,
    /// All transmissions in order of time, with those of segments that have since arrived, been lost or sent again.
    order: VecDeque<(Time, u32)>,
    sacked: u32,
    lost: u32,
    /// No segment before this one is lost.
    first_lost: u32,
    /// The round trip, transmission time and number of the segment that was sent last among those that arrived (RACK.rtt,
    /// RACK.xmit_ts, RACK.end_seq).
    rtt: Span,
    latest: Option<(Time, u32)>,
    min_rtt: Span,
    /// One past the highest segment that arrived (RACK.fack).
    forward: u32,
    has_reordering: bool,
    probe: Option<Probe>,
    /// The first unacknowledged segment at the last expiry of the retransmission timer.
    expired: Option<u32>,
    /// RFC 6937: segments that arrived and were sent in this recovery, and the window before it, in segments.
    delivered: u32,
    out: u32,
    prior: f64,
    /// The times of the retransmission timer, the probe and the reordering timer.
    pub(super) timeout: Option<Time>,
    pub(super) probe_time: Option<Time>,
    pub(super) reordering: Option<Time>,
}

impl Rack {
    /// Creates the state of a connection without segments.
    pub(super) fn new(duplicate_threshold: u32, max_ack_delay: Span) -> Self {
        Self {
            duplicate_threshold,
            max_ack_delay,
            una: 0,
            sent: VecDeque::new(),
            order: VecDeque::new(),
            sacked: 0,
            lost: 0,
            first_lost: 0,
            rtt: Span::ZERO,
            latest: None,
            min_rtt: Span::MAX,
            forward: 0,
            has_reordering: false,
            probe: None,
            expired: None,
            delivered: 0,
            out: 0,
            prior: 1.0,
            timeout: None,
            probe_time: None,
            reordering: None,
        }
    }

    /// Notes a transmission: of the segment after the last one, or of an earlier one again (section 6.1).
    pub(super) fn on_sent(&mut self, number: u32, now: Time) {
        match self.sent.get_mut((number - self.una) as usize) {
            None => self.sent.push_back(Sent { at: now, state: State::InFlight, is_resent: false }),
            Some(sent) => {
                self.lost -= u32::from(sent.state == State::Lost);
                *sent = Sent { at: now, state: State::InFlight, is_resent: true };
            }
        }
        self.order.push_back((now, number));
        self.out += 1;
    }

    /// Handles an acknowledgement of all segments before `upto` and of those in `sacked`, which echoes `stamp`. Returns
    /// the number of segments that it acknowledges for the first time (section 6.2, steps 1 to 3). `sacked` never repeats
    /// a segment.
    pub(super) fn on_ack(&mut self, upto: u32, sacked: impl Iterator<Item = u32>, stamp: Time, now: Time) -> u32 {
        self.min_rtt = self.min_rtt.min(now.since(stamp));
        let (mut newly, mut last) = (0, None);
        while self.una < upto {
            let sent = self.sent.pop_front().expect("acknowledged segments were sent");
            match sent.state {
                State::Sacked => self.sacked -= 1,
                state => {
                    self.lost -= u32::from(state == State::Lost);
                    newly += 1;
                    self.note(self.una, sent, stamp, now, &mut last);
                }
            }
            self.una += 1;
        }
        for number in sacked {
            let Some(place) = number.checked_sub(self.una) else { continue };
            let sent = self.sent[place as usize];
            self.sent[place as usize].state = State::Sacked;
            self.lost -= u32::from(sent.state == State::Lost);
            self.sacked += 1;
            newly += 1;
            self.note(number, sent, stamp, now, &mut last);
        }
        newly
    }

    /// Notes the arrival of a segment; `last` is the one sent last of those that this acknowledgement covers.
    fn note(&mut self, number: u32, sent: Sent, stamp: Time, now: Time, last: &mut Option<(Time, u32)>) {
        if number >= self.forward {
            self.forward = number + 1;
        } else {
            self.has_reordering |= !sent.is_resent;
        }
        let rtt = now.since(sent.at);
        // The acknowledgement may be that of an earlier transmission.
        if sent.is_resent && (stamp < sent.at || rtt < self.min_rtt) {
            return;
        }
        if last.is_none_or(|last| last < (sent.at, number)) {
            *last = Some((sent.at, number));
            self.rtt = rtt;
        }
        self.latest = self.latest.max(*last);
    }

    /// RACK.reo_wnd (section 6.2, step 4).
    fn reordering_window(&self, is_recovering: bool, smoothed: Span) -> Span {
        if !self.has_reordering && (is_recovering || self.sacked >= self.duplicate_threshold) {
            return Span::ZERO;
        }
        Span::from_ps(self.min_rtt.as_ps() / 4).min(smoothed)
    }

    /// Finds the segments that were sent long enough before one that has arrived (section 6.2, step 5), and sets the
    /// reordering timer for the first that may yet be one of them. Returns whether a segment was lost.
    pub(super) fn detect_losses(&mut self, now: Time, is_recovering: bool, smoothed: Span) -> bool {
        let lost = self.lost;
        self.reordering = None;
        let Some(latest) = self.latest else { return false };
        let wait = self.rtt.saturating_add(self.reordering_window(is_recovering, smoothed));
        while let Some((at, number)) = self.order.front().copied() {
            let sent = number.checked_sub(self.una).map(|place| self.sent[place as usize]);
            if sent.is_some_and(|sent| sent.state == State::InFlight && sent.at == at) {
                if (at, number) >= latest {
                    break;
                }
                let due = at.saturating_add(wait);
                if due > now {
                    self.reordering = Some(due);
                    break;
                }
                self.lose(number);
            }
            self.order.pop_front();
        }
        self.lost > lost
    }

    fn lose(&mut self, number: u32) {
        self.sent[(number - self.una) as usize].state = State::Lost;
        self.first_lost = if self.lost == 0 { number } else { self.first_lost.min(number) };
        self.lost += 1;
    }

    /// Handles the expiry of the retransmission timer: the first segment is lost, and those sent long enough ago
    /// (section 6.3). Returns whether segments were acknowledged since the last expiry.
    pub(super) fn on_timeout(&mut self, now: Time, smoothed: Span) -> bool {
        let wait = self.rtt.saturating_add(self.reordering_window(true, smoothed));
        for place in 0..self.sent.len() {
            let sent = self.sent[place];
            if sent.state == State::InFlight && (place == 0 || sent.at.saturating_add(wait) <= now) {
                self.lose(self.una + place as u32);
            }
        }
        (self.timeout, self.probe_time, self.reordering, self.probe) = (None, None, None, None);
        self.expired.replace(self.una) != Some(self.una)
    }

    /// The lost segment to send next.
    pub(super) fn next_lost(&mut self) -> Option<u32> {
        if self.lost == 0 {
            return None;
        }
        self.first_lost = self.first_lost.max(self.una);
        while self.sent[(self.first_lost - self.una) as usize].state != State::Lost {
            self.first_lost += 1;
        }
        Some(self.first_lost)
    }

    /// The number of segments in the network: sent, and neither arrived nor lost.
    pub(super) fn in_flight(&self) -> u32 {
        self.sent.len() as u32 - self.sacked - self.lost
    }

    /// Begins a recovery with a window of so many segments. It ends a probe (section 7.1), whose loss it repairs.
    pub(super) fn begin_recovery(&mut self, window: f64) {
        (self.delivered, self.out, self.prior, self.probe) = (0, 0, window, None);
    }

    /// The window in recovery, in segments, after `newly` segments arrived (RFC 6937). It `may_grow` above the pace of
    /// arrivals after a cumulative acknowledgement without a new loss.
    pub(super) fn recovery_window(&mut self, newly: u32, threshold: f64, may_grow: bool) -> f64 {
        self.delivered += newly;
        let (delivered, out) = (f64::from(self.delivered), f64::from(self.out));
        let in_flight = f64::from(self.in_flight());
        let room = threshold - in_flight;
        let count = if room < 0.0 {
            (threshold * delivered / self.prior).ceil() - out
        } else {
            ((delivered - out).max(f64::from(newly)) + f64::from(u8::from(may_grow))).min(room)
        };
        // The first retransmission leaves at once.
        in_flight + count.max(if self.out == 0 { 1.0 } else { 0.0 })
    }

    /// Schedules a loss probe (section 7.2), or cancels it where another mechanism finds the losses.
    pub(super) fn schedule_probe(&mut self, now: Time, is_recovering: bool, smoothed: Option<Span>) {
        self.probe_time = None;
        if is_recovering || self.sacked + self.lost > 0 || self.sent.is_empty() || self.probe.is_some() {
            return;
        }
        let delay = if self.sent.len() == 1 { self.max_ack_delay } else { Span::ZERO };
        let wait = smoothed.map_or(FIRST_PROBE, |smoothed| smoothed.saturating_add(smoothed).saturating_add(delay));
        let time = now.saturating_add(wait);
        self.probe_time = Some(self.timeout.map_or(time, |timeout| timeout.min(time)));
    }

    /// Notes that a probe was sent: new data, or the last segment again.
    pub(super) fn on_probe(&mut self, is_resent: bool) {
        (self.probe, self.probe_time) = (Some(Probe { end: self.una + self.sent.len() as u32, is_resent }), None);
    }

    /// Returns whether this acknowledgement shows that the probe repaired a loss (section 7.4). `newly` is the number of
    /// segments that it acknowledges for the first time.
    pub(super) fn has_probe_repaired(&mut self, upto: u32, newly: u32) -> bool {
        let Some(probe) = self.probe else { return false };
        let (is_over, has_repaired) = match upto.cmp(&probe.end) {
            Ordering::Less => (false, false),
            _ if !probe.is_resent => (true, false),
            // A second acknowledgement of the last segment: both transmissions arrived.
            Ordering::Equal => (newly == 0, false),
            Ordering::Greater => (true, true),
        };
        if is_over {
            self.probe = None;
        }
        has_repaired
    }

    /// The time of the first timer.
    pub(super) fn deadline(&self) -> Option<Time> {
        [self.timeout, self.probe_time, self.reordering].into_iter().flatten().min()
    }
}
