//! The interface between a transport and the engine that runs it.

use crate::Segment;
use pifolab_units::Time;

/// One of the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end at the flow's source.
    Sender,
    /// The end at the flow's destination.
    Receiver,
}

/// The result of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The flow continues.
    Going,
    /// This input completed the flow. The flow completion time ends, and the transport gets no further input.
    Completed,
}

/// The timer of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timer {
    /// The due time of [`Transport::handle_timeout`]; `None` while the timer is stopped.
    pub deadline: Option<Time>,
    /// The number of settings of the timer so far, for engines that keep one event per setting.
    pub settings: u32,
}

impl Timer {
    /// Sets the timer.
    pub fn set(&mut self, deadline: Time) {
        self.deadline = Some(deadline);
        self.settings = self.settings.wrapping_add(1);
    }

    /// Stops the timer.
    pub fn stop(&mut self) {
        self.deadline = None;
    }

    /// Whether the timer has expired at `now`.
    pub fn has_expired(&self, now: Time) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }
}

/// The counters of both ends of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data segments sent again for any reason.
    pub retransmissions: u32,
    /// Segments sent again before the retransmission timer expired, those of probes included.
    pub fast_retransmissions: u32,
    /// Expiries of timers.
    pub timeouts: u32,
    /// Loss probes sent (RFC 8985).
    pub probes: u32,
    /// Data segments that arrived, for the first time, after a later segment of the flow.
    pub reordered: u32,
}

/// Both ends of one flow: a state machine without a clock, a socket or a link. The owner passes in segments and expired
/// timers. The transport sends segments through `send`, sets its timers and returns a [`Progress`].
///
/// The ends share only the segments that they exchange, and shortcuts of the simulation (see
/// [`SackLog`](crate::SackLog)). Segments from the receiver have [`Flags::REVERSE`](crate::Flags::REVERSE).
pub trait Transport {
    /// Starts the flow.
    fn start(&mut self, now: Time, send: &mut dyn FnMut(Segment));

    /// Handles the arrival of `segment` at the end that did not send it.
    fn handle_segment(&mut self, segment: &Segment, now: Time, send: &mut dyn FnMut(Segment)) -> Progress;

    /// Handles a possible expiry of the timer of `end`. An expired timer is stopped or set to a later time. Early calls
    /// do nothing.
    fn handle_timeout(&mut self, end: End, now: Time, send: &mut dyn FnMut(Segment)) -> Progress;

    /// The timer of `end`. The engine reads it after each input to that end.
    fn timer(&self, end: End) -> Timer;

    /// The bytes of the flow whose arrival is acknowledged to the sender; 0 without acknowledgements.
    fn acknowledged_bytes(&self) -> u64;

    /// The counters of both ends.
    fn counts(&self) -> Counts;
}

/// A transport from outside of this crate.
pub type BoxedTransport = Box<dyn Transport + Send>;
