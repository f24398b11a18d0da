//! A packet of a trace, and the operations of a scheduler on it.

use pifolab_sched::{Dequeued, Enqueued, Item};
use pifolab_units::Rank;

/// The size of every packet in bytes; irrelevant to capacities in packets.
const SIZE: u32 = 1500;

/// A packet of a trace: its index and its rank. Unlike a [`Packet`](pifolab_sched::Packet) it is `Clone`, and so are
/// the schedulers that store it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// Its index in the trace.
    pub place: u32,
    rank: Rank,
}

impl Probe {
    /// Creates the packet at index `place`.
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

/// Stores and returns packets.
pub trait Step {
    /// Offers a packet.
    fn enqueue(&mut self, probe: Probe) -> Enqueued<Probe>;

    /// Requests the next packet.
    fn dequeue(&mut self) -> Dequeued<Probe>;
}
