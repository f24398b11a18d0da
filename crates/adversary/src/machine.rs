//! The narrow contract between a search and a scheduler: start, offer packets, take packets, snapshot, restore, and a
//! canonical key of the state. No search depends on a particular scheduler.

use crate::step::Step;
use crate::tally::{Tally, Tariff};
use crate::trace::Trace;
use pifolab_sched::Inspect;
use std::any::Any;

/// The order in which a scheduler sends its packets if nothing more arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The queue with the lowest number first, first-in first-out within each queue. No stored packet is pushed out.
    Queues,
    /// The lowest rank first.
    Ranks,
    /// Unknown before the drain.
    Unknown,
}

/// A scheduler in the middle of a trace.
pub trait Machine: Step + Any + Send {
    /// Copies this state.
    fn snapshot(&self) -> Box<dyn Machine>;

    /// Sets the state to that of `snapshot`, which must come from the same [`Subject`].
    ///
    /// # Panics
    /// If `snapshot` comes from another kind of machine.
    fn restore(&mut self, snapshot: &dyn Machine);

    /// Appends a key of this state to `key`. If two machines of one subject have equal keys, they answer every sequence
    /// of at most `remaining` further packets alike, up to the identities of the packets.
    fn key(&self, remaining: usize, key: &mut Vec<u64>);

    /// The approximate size of a snapshot in bytes.
    fn footprint(&self) -> usize;

    /// Runs a whole trace of arrivals and departures, and sums its cost. Do not override: this method is in the trait
    /// so that it is compiled for each scheduler.
    fn play(&mut self, trace: &Trace, tally: &mut Tally, tariff: &Tariff) {
        tally.play(self, trace, tariff);
    }

    /// The scheduler's queues, bounds and window.
    fn inspect(&self) -> &dyn Inspect;
}

/// A scheduler with its parameters, which creates machines.
pub trait Subject: Sync {
    /// The scheduler's name in messages.
    fn name(&self) -> &str;

    /// Creates an empty scheduler. `window` (oldest rank first), if given, replaces the initial ranks of the
    /// scheduler's window, if it has one. Of more ranks than the window holds, the newest are used.
    fn start(&self, window: Option<&[u64]>) -> Box<dyn Machine>;

    /// The order in which the scheduler sends its packets.
    fn order(&self) -> Order;

    /// The size of the window, if the scheduler has one whose initial ranks can be set.
    fn window(&self) -> Option<usize>;
}
