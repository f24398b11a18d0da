//! The range of the ranks that arrived at a port, and the time at which ranks were exhausted.

use pifolab_units::{Rank, Time};

/// The smallest and the largest rank of all arrived packets, and the first arrival of the largest possible rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankRange {
    range: Option<(Rank, Rank)>,
    exhausted: Option<Time>,
}

impl RankRange {
    /// Records a packet that arrived with this rank.
    #[inline]
    pub(crate) fn add(&mut self, rank: Rank, now: Time) {
        let (low, high) = self.range.unwrap_or((rank, rank));
        self.range = Some((low.min(rank), high.max(rank)));
        if rank == Rank::MAX && self.exhausted.is_none() {
            self.exhausted = Some(now);
        }
    }

    /// The smallest and the largest rank; `None` before the first packet.
    pub const fn range(&self) -> Option<(Rank, Rank)> {
        self.range
    }

    /// The arrival time of the first packet with [`Rank::MAX`]. A rank function that counts time or bytes saturates
    /// there: later packets all have this rank, so their order is lost.
    pub const fn exhausted(&self) -> Option<Time> {
        self.exhausted
    }

    /// The range over both ports.
    #[must_use]
    pub fn joined(self, other: Self) -> Self {
        let earlier = |a: Option<Time>, b: Option<Time>| a.into_iter().chain(b).min();
        let ends = [self.range, other.range].into_iter().flatten();
        let range = ends.reduce(|one, two| (one.0.min(two.0), one.1.max(two.1)));
        Self { range, exhausted: earlier(self.exhausted, other.exhausted) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range_of(ranks: &[u64]) -> RankRange {
        let mut range = RankRange::default();
        for (now, rank) in (0..).zip(ranks) {
            range.add(Rank::saturating(*rank), Time::from_ns(now));
        }
        range
    }

    proptest! {
        #[test]
        fn a_range_has_the_extremes_and_the_first_time_of_the_largest_rank(
            ranks in prop::collection::vec(prop_oneof![0..9u64, Just(u64::MAX >> 1), 0..u64::MAX >> 1], 0..20),
            cut in 0..20usize,
        ) {
            let whole = range_of(&ranks);
            let extremes = ranks.iter().min().zip(ranks.iter().max());
            prop_assert_eq!(whole.range().map(|(low, high)| (low.get(), high.get())), extremes.map(|(a, b)| (*a, *b)));
            let first = (0..).zip(&ranks).find(|(_, rank)| **rank == u64::MAX >> 1).map(|(now, _)| Time::from_ns(now));
            prop_assert_eq!(whole.exhausted(), first);
            // Each port receives a part of the packets, with times of the whole run.
            let (mut one, mut two) = (RankRange::default(), RankRange::default());
            for (now, rank) in ranks.iter().enumerate() {
                let part = if now < cut { &mut one } else { &mut two };
                part.add(Rank::saturating(*rank), Time::from_ns(now as u64));
            }
            prop_assert_eq!(one.joined(two), whole);
        }
    }
}
