//! What a transport is to the engine that runs it.

use crate::Segment;
use pifolab_units::Time;

/// One of the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At the flow's source.
    Sender,
    /// At its destination.
    Receiver,
}

/// What came of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The flow goes on.
    Going,
    /// This input completed the flow: its completion time ends here, and the transport gets no further input.
    Completed,
}

/// The one timer of an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timer {
    /// When [`Transport::handle_timeout`] is due; `None` while the timer does not run.
    pub deadline: Option<Time>,
    /// How often the timer was set so far, for engines that keep one event for each setting.
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

/// What the two ends of a flow count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data segments sent again, for whatever reason.
    pub retransmissions: u32,
    /// Segments sent again without waiting for the timer.
    pub fast_retransmissions: u32,
    /// Expiries of timers.
    pub timeouts: u32,
    /// Data segments that arrived, for the first time, after a later one of the flow.
    pub reordered: u32,
}

/// Both ends of one flow: a state machine without a clock, a socket or a link. The owner hands in segments and expired timers;
/// the transport answers with segments through `send`, with its timers and with [`Progress`].
///
/// The ends share nothing but the segments that they exchange, and what a simulation may abbreviate (see
/// [`SackLog`](crate::SackLog)). Segments that the receiver sends have [`Flags::REVERSE`](crate::Flags::REVERSE).
pub trait Transport {
    /// The flow starts.
    fn start(&mut self, now: Time, send: &mut dyn FnMut(Segment));

    /// `segment` reached the other end than the one that sent it.
    fn handle_segment(&mut self, segment: &Segment, now: Time, send: &mut dyn FnMut(Segment)) -> Progress;

    /// The timer of `end` may have expired: then it is stopped or set to a later time. Early calls do nothing.
    fn handle_timeout(&mut self, end: End, now: Time, send: &mut dyn FnMut(Segment)) -> Progress;

    /// The timer of `end`. It is read after each input to that end.
    fn timer(&self, end: End) -> Timer;

    /// Bytes of the flow that the sender knows to have arrived; 0 where it is never told.
    fn acknowledged_bytes(&self) -> u64;

    /// What it counted.
    fn counts(&self) -> Counts;
}

/// A transport that this crate does not contain.
pub type BoxedTransport = Box<dyn Transport + Send>;
