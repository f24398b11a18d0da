//! The narrow contract between a search and a scheduler: start it, offer packets, take packets, snapshot and restore
//! it, and ask for a canonical key of its state. No search knows which scheduler it runs.

use crate::meter::{Tally, Tariff};
use crate::trace::Trace;
use pifolab_sched::{Dequeued, Enqueued, Inspect, Item};
use pifolab_units::Rank;
use std::any::Any;

/// The size of every packet in bytes: capacities in packets do not see it.
const SIZE: u32 = 1500;

/// A packet of a trace: its place and its rank. Unlike a [`Packet`](pifolab_sched::Packet) it can be cloned, and so can the
/// schedulers that store it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// Its place in the trace.
    pub place: u32,
    rank: Rank,
}

impl Probe {
    /// The packet at `place`.
    pub fn new(place: usize, rank: u64) -> Self {
        Self { place: place as u32, rank: Rank::saturating(rank) }
    }
}

impl Item for Probe {
    #[inline(always)]
    fn size(&self) -> u32 {
        SIZE
    }
    #[inline(always)]
    fn rank(&self) -> Rank {
        self.rank
    }
    #[inline(always)]
    fn set_rank(&mut self, rank: Rank) {
        self.rank = rank;
    }
    #[inline(always)]
    fn id(&self) -> u64 {
        u64::from(self.place)
    }
    #[inline(always)]
    fn duplicate(&self) -> Self {
        *self
    }
}

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
pub trait Machine: Any + Send {
    /// Offers a packet.
    fn enqueue(&mut self, probe: Probe) -> Enqueued<Probe>;

    /// Asks for the next packet.
    fn dequeue(&mut self) -> Dequeued<Probe>;

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

    /// An empty scheduler. `window` replaces the ranks that its window starts with, if given and if it has a window.
    fn start(&self, window: Option<&[u64]>) -> Box<dyn Machine>;

    /// In which order it hands out what it holds.
    fn order(&self) -> Order;

    /// The size of its window, if it has one that may start with given ranks.
    fn window(&self) -> Option<usize>;
}
