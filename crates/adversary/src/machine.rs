//! The narrow contract between a search and a scheduler: start it, offer packets, take packets, snapshot and restore
//! it, and ask for a canonical key of its state. No search knows which scheduler it runs.

use crate::step::Step;
use crate::tally::{Tally, Tariff};
use crate::trace::Trace;
use pifolab_sched::Inspect;
use std::any::Any;

/// In which order a scheduler hands out what it holds if nothing more arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The queue with the lowest number first, first-in first-out inside each queue. Nothing that was stored is pushed
    /// out.
    Queues,
    /// The lowest rank first.
    Ranks,
    /// Not known before it is drained.
    Unknown,
}

/// A scheduler in the middle of a trace.
pub trait Machine: Step + Any + Send {
    /// A copy of this state.
    fn snapshot(&self) -> Box<dyn Machine>;

    /// Takes over the state of `snapshot`, which the same [`Subject`] made.
    ///
    /// # Panics
    /// If another kind of machine made it.
    fn restore(&mut self, snapshot: &dyn Machine);

    /// Appends a key of this state to `key`: with at most `remaining` further packets, two machines of one subject with
    /// equal keys answer every sequence of offers alike, up to the names of the packets.
    fn key(&self, remaining: usize, key: &mut Vec<u64>);

    /// The memory that a snapshot takes, about, in bytes.
    fn footprint(&self) -> usize;

    /// Lets a whole trace arrive, then all leave, and adds up what it costs. To be left as it is: it is here so that it is
    /// compiled for each scheduler.
    fn play(&mut self, trace: &Trace, tally: &mut Tally, tariff: &Tariff) {
        tally.play(self, trace, tariff);
    }

    /// The scheduler's queues, bounds and window.
    fn inspect(&self) -> &dyn Inspect;
}

/// A scheduler with its parameters: it makes machines.
pub trait Subject: Sync {
    /// Its name in messages.
    fn name(&self) -> &str;

    /// An empty scheduler. `window` (oldest rank first) replaces the ranks that its window starts with, if given and if it has a
    /// window; of more ranks than fit into its window it takes the newest.
    fn start(&self, window: Option<&[u64]>) -> Box<dyn Machine>;

    /// In which order it hands out what it holds.
    fn order(&self) -> Order;

    /// The size of its window, if it has one that may start with given ranks.
    fn window(&self) -> Option<usize>;
}
