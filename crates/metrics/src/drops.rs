//! Drops: lost packets by rank and reason.

use crate::bins::{Bin, Binned};
use pifolab_sched::params::Choice;
use pifolab_sched::{DropReason, Inspect};
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::{Rank, Time};

/// Counts losses by rank and reason, and keeps the lowest rank lost.
///
/// A loss is a packet refused on arrival (reasons `admission`, `full`, `rank-out-of-range`) or pushed out after
/// admission (`pushed-out`). The papers' "lowest dropped rank" counts both kinds: an ideal PIFO loses packets mostly by
/// push-out.
#[derive(Clone, Debug, Default)]
pub struct Drops {
    total: DropCount,
    by_rank: Binned<DropCount>,
    lowest: Option<Rank>,
}

/// Losses by reason, in the order of [`DropReason::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCount {
    /// Packets lost, indexed by reason.
    pub by_reason: [u64; DropReason::ALL.len()],
}

impl DropCount {
    /// Packets lost for `reason`.
    pub fn of(&self, reason: DropReason) -> u64 {
        self.by_reason[reason as usize]
    }

    /// Packets lost for any reason.
    pub fn all(&self) -> u64 {
        self.by_reason.iter().sum()
    }
}

impl Drops {
    /// The losses over all ranks.
    pub const fn total(&self) -> DropCount {
        self.total
    }

    /// The losses by rank, ascending.
    pub fn by_rank(&self) -> impl Iterator<Item = (Bin, DropCount)> {
        self.by_rank.iter().map(|(bin, count)| (bin, *count))
    }

    /// Misdrops: the sum over ranks of the losses in excess of the losses of `ideal` on the same arrivals.
    pub fn beyond(&self, ideal: &Self) -> u64 {
        let mut lost = ideal.by_rank().peekable();
        let beyond = self.by_rank().map(|(bin, count)| {
            while lost.next_if(|(other, _)| other.low < bin.low).is_some() {}
            let by_ideal = lost.peek().filter(|(other, _)| other.low == bin.low).map_or(0, |(_, count)| count.all());
            count.all().saturating_sub(by_ideal)
        });
        beyond.sum()
    }

    /// The lowest rank of any lost packet.
    pub const fn lowest_rank(&self) -> Option<Rank> {
        self.lowest
    }
}

impl Observer for Drops {
    fn on_drop(&mut self, _: PortId, packet: PacketView, loss: Loss, _: &dyn Inspect, _: Time) {
        self.total.by_reason[loss.reason as usize] += 1;
        self.by_rank.at(packet.rank).by_reason[loss.reason as usize] += 1;
        self.lowest = Some(self.lowest.map_or(packet.rank, |lowest| lowest.min(packet.rank)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{events, run};

    #[test]
    fn misdrops_are_losses_beyond_those_of_another_run_rank_by_rank() {
        let of = |text| {
            let mut drops = Drops::default();
            run(&mut drops, events(text));
            drops
        };
        // Rank 9 has one more loss, rank 70,000 its first. Fewer losses of rank 2 do not compensate.
        let (drops, ideal) = (of("x9 x9 x9 x2 x70000"), of("x2 x2 x2 x5 x9 x9"));
        assert_eq!((drops.beyond(&ideal), ideal.beyond(&drops), drops.beyond(&drops)), (2, 3, 0));
        assert_eq!(drops.beyond(&Drops::default()), 5);
    }

    #[test]
    fn refusals_and_push_outs_both_count_and_set_the_lowest_rank() {
        let mut drops = Drops::default();
        assert_eq!(drops.lowest_rank(), None);
        run(&mut drops, events("+2 x9 +4 e4 x9"));
        assert_eq!(drops.total().of(DropReason::Full), 2);
        assert_eq!(drops.total().of(DropReason::PushedOut), 1);
        assert_eq!(drops.total().all(), 3);
        assert_eq!(drops.lowest_rank(), Some(Rank::from(4)));
        assert_eq!(drops.by_rank().map(|(bin, count)| count.all() * bin.low).sum::<u64>(), 9 + 9 + 4);
    }
}
