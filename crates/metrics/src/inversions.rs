//! Inversions: packets that left while a packet of lower rank waited.

use crate::bins::{Bin, Binned};
use crate::rank_multiset::RankMultiset;
use crate::rank_range::RankRange;
use pifolab_sched::Inspect;
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::{Rank, Time};

/// Counts inversions at each dequeue, in total and by the rank of the packet that left.
///
/// Two definitions are counted:
/// - `inversions` (the default; SP-PIFO section 4.2, PACKS section 2.3): one for a dequeued packet if *any* waiting
///   packet has a lower rank, so at most one per packet sent;
/// - `pairwise`: the *number* of waiting packets of lower rank.
///
/// The magnitude of an inversion is the rank of the packet that left minus the lowest waiting rank.
///
/// The dequeued packet does not count as waiting. An ideal PIFO has no inversions by either definition. SP-PIFO's
/// published simulation counts FIFO differently: at enqueue, charged to the arriving packet.
#[derive(Clone, Debug, Default)]
pub struct Inversions {
    waiting: RankMultiset,
    total: InversionCount,
    by_rank: Binned<InversionCount>,
    ranks: RankRange,
}

/// Inversions by both definitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InversionCount {
    /// Packets that left while a packet of lower rank waited.
    pub inversions: u64,
    /// Pairs of a packet that left and a waiting packet of lower rank.
    pub pairwise: u64,
    /// The sum, over the inverted packets, of the packet's rank minus the lowest waiting rank. 128 bits hold 2^64
    /// packets with a difference of 2^63 each.
    pub magnitude: u128,
}

impl InversionCount {
    /// Counts the departure of a packet of `rank` while `pairwise` packets of lower rank wait, the lowest with rank
    /// `lowest`.
    pub(crate) fn add(&mut self, rank: Rank, pairwise: u64, lowest: Rank) {
        self.inversions += 1;
        self.pairwise += pairwise;
        self.magnitude += u128::from(rank.get() - lowest.get());
    }
}

impl Inversions {
    /// The inversions over all ranks.
    pub const fn total(&self) -> InversionCount {
        self.total
    }

    /// The range of the ranks of all arrived packets.
    pub const fn ranks(&self) -> RankRange {
        self.ranks
    }

    /// The inversions by the rank of the packet that left, ascending.
    pub fn by_rank(&self) -> impl Iterator<Item = (Bin, InversionCount)> {
        self.by_rank.iter().map(|(bin, count)| (bin, *count))
    }
}

impl Observer for Inversions {
    #[inline]
    fn on_admit(&mut self, _: PortId, packet: PacketView, _: u32, _: &dyn Inspect, now: Time) {
        self.ranks.add(packet.rank, now);
        self.waiting.insert(packet.rank);
    }

    fn on_drop(&mut self, _: PortId, packet: PacketView, loss: Loss, _: &dyn Inspect, now: Time) {
        if loss.admitted {
            self.waiting.remove(packet.rank);
        } else {
            self.ranks.add(packet.rank, now);
        }
    }

    #[inline]
    fn on_dequeue(&mut self, _: PortId, packet: PacketView, _: u32, _: &dyn Inspect, _: Time) {
        self.waiting.remove(packet.rank);
        let pairwise = self.waiting.below(packet.rank);
        if pairwise > 0 {
            let lowest = self.waiting.min().unwrap_or_default();
            for count in [&mut self.total, self.by_rank.at(packet.rank)] {
                count.add(packet.rank, pairwise, lowest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{events, run};
    use proptest::prelude::*;

    #[test]
    fn a_dequeue_counts_once_by_default_and_once_per_lower_packet_pairwise() {
        let mut inversions = Inversions::default();
        // 5 leaves while 1, 1 and 3 wait; 3 leaves while 1, 1 wait; then 1, 1 in order.
        run(&mut inversions, events("+5 +1 +1 +3 +5 -5 -3 -1 -1 -5"));
        assert_eq!(inversions.total(), InversionCount { inversions: 2, pairwise: 5, magnitude: 4 + 2 });
        let by_rank: Vec<_> = inversions.by_rank().map(|(bin, count)| (bin.low, count.pairwise)).collect();
        assert_eq!(by_rank, [(0, 0), (1, 0), (2, 0), (3, 2), (4, 0), (5, 3)]);
    }

    proptest! {
        #[test]
        fn the_magnitude_is_exact_however_large_the_ranks_are(ranks in prop::collection::vec(0..=Rank::MAX.get(), 1..40)) {
            // All packets arrive, then leave in order of arrival.
            let mut inversions = Inversions::default();
            let arrive: Vec<_> = ranks.iter().map(|rank| format!("+{rank}")).collect();
            let leave: Vec<_> = ranks.iter().map(|rank| format!("-{rank}")).collect();
            run(&mut inversions, events(&format!("{} {}", arrive.join(" "), leave.join(" "))));
            let above = |place: usize| {
                let lowest = ranks[place + 1..].iter().min().copied().unwrap_or(u64::MAX);
                u128::from(ranks[place].saturating_sub(lowest))
            };
            prop_assert_eq!(inversions.total().magnitude, (0..ranks.len()).map(above).sum::<u128>());
        }
    }

    #[test]
    fn equal_ranks_dropped_packets_and_pushed_out_ones_are_no_inversions() {
        let mut inversions = Inversions::default();
        // x: refused on arrival; e: pushed out after it was admitted.
        run(&mut inversions, events("+2 +2 x1 -2 +1 e1 -2"));
        assert_eq!(inversions.total(), InversionCount::default());
    }
}
