//! UDP: an open loop at a constant rate, without feedback.
//!
//! Parameters ([`UdpParams`]): payload per datagram in bytes, the interval between datagrams.
//! Cost: O(1) per datagram; one counter per flow.
//! A flow sends its bytes once and is complete when its last missing datagram arrives. A flow that lost a datagram
//! never completes. No datagram is acknowledged, so [`RankRule::Unacknowledged`] is the flow's size.

use crate::{Arrivals, Counts, End, Flags, Progress, RankRule, Segment, Timer, Transport, rows};
use pifolab_params::ParamError;
use pifolab_units::{Span, Time};

/// UDP's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpParams {
    /// Payload of a full datagram in bytes, 1 to 65,535. The last datagram of a flow may be shorter.
    pub payload_bytes: u32,
    /// Time between the starts of two datagrams, above 0.
    pub interval: Span,
}

impl UdpParams {
    /// Checks every field.
    pub(crate) fn check(&self) -> Result<(), ParamError> {
        rows::PAYLOAD_BYTES.check("transport", self.payload_bytes)?;
        if self.interval == Span::ZERO {
            return Err(rows::INTERVAL.error_because("transport", self.interval, "expected above 0".to_owned()));
        }
        Ok(())
    }
}

/// Both ends of a flow of datagrams.
#[derive(Debug)]
pub struct Udp {
    params: UdpParams,
    rank: RankRule,
    size_bytes: u64,
    datagrams: u32,
    /// Datagrams sent so far.
    sent: u32,
    timer: Timer,
    arrived: Arrivals,
}

impl Udp {
    /// Creates a flow that delivers `size_bytes`.
    pub fn new(params: UdpParams, rank: RankRule, size_bytes: u64) -> Self {
        let datagrams = size_bytes.div_ceil(params.payload_bytes.into()) as u32;
        Self { params, rank, size_bytes, datagrams, sent: 0, timer: Timer::default(), arrived: Arrivals::of(datagrams) }
    }

    fn send_next(&mut self, now: Time, send: &mut dyn FnMut(Segment)) {
        let before = |number: u32| (u64::from(number) * u64::from(self.params.payload_bytes)).min(self.size_bytes);
        let (start, end) = (before(self.sent), before(self.sent + 1));
        send(Segment {
            stamp: now,
            rank: self.rank.rank(self.size_bytes, start, 0),
            seq: self.sent,
            payload_bytes: (end - start) as u16,
            ack: 0,
            sack: 0,
            flags: Flags::default(),
        });
        self.sent += 1;
        if self.sent < self.datagrams {
            self.timer.set(now.saturating_add(self.params.interval));
        } else {
            self.timer.stop();
        }
    }
}

impl Transport for Udp {
    fn start(&mut self, now: Time, send: &mut dyn FnMut(Segment)) {
        self.send_next(now, send);
    }

    fn handle_segment(&mut self, segment: &Segment, _now: Time, _send: &mut dyn FnMut(Segment)) -> Progress {
        self.arrived.take(segment.seq);
        if self.arrived.is_complete() { Progress::Completed } else { Progress::Going }
    }

    fn handle_timeout(&mut self, end: End, now: Time, send: &mut dyn FnMut(Segment)) -> Progress {
        if end == End::Sender && self.timer.has_expired(now) {
            self.send_next(now, send);
        }
        Progress::Going
    }

    fn timer(&self, end: End) -> Timer {
        match end {
            End::Sender => self.timer,
            End::Receiver => Timer::default(),
        }
    }

    fn acknowledged_bytes(&self) -> u64 {
        0
    }

    fn counts(&self) -> Counts {
        Counts { reordered: self.arrived.reordered(), ..Counts::default() }
    }
}
