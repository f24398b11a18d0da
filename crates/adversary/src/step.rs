//! A packet of a trace, and what a scheduler does with it.

use pifolab_sched::{Dequeued, Enqueued, Item};
use pifolab_units::Rank;

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
}

/// Takes packets in and hands them out.
pub trait Step {
    /// Offers a packet.
    fn enqueue(&mut self, probe: Probe) -> Enqueued<Probe>;

    /// Asks for the next packet.
    fn dequeue(&mut self) -> Dequeued<Probe>;
}
