//! A sliding window of ranks that tells how many of them lie below a given rank.

use super::lanes::{FILLER, Lanes, lane, rank_of};
use alloc::vec::Vec;
use pifolab_units::Rank;

/// The last ranks that were pushed, at most `size` of them.
///
/// Counting is exact for any ranks. A constant shift may be added to all ranks held (not to the one that is asked
/// about): they then act as if they were that much larger or, if the shift is negative, smaller.
#[derive(Debug)]
pub struct RankWindow {
    /// The ranks in a ring, padded with fillers to a whole number of vectors.
    ring: Vec<i64>,
    /// The place of the next rank, which is that of the oldest once the window is full.
    next: usize,
    len: usize,
    size: usize,
    /// The shift, split so that bounds can be moved without overflow: one of the two is 0.
    raise: u64,
    lower: u64,
    lanes: Lanes,
}

impl RankWindow {
    /// An empty window of `size` ranks.
    ///
    /// # Panics
    /// If the size is 0.
    pub fn new(size: usize) -> Self {
        assert!(size > 0, "a window holds at least one rank");
        Self {
            ring: alloc::vec![FILLER; size.next_multiple_of(8)],
            next: 0,
            len: 0,
            size,
            raise: 0,
            lower: 0,
            lanes: Lanes::detect(),
        }
    }

    /// The window with `shift` added to every rank that it holds.
    #[must_use]
    pub const fn shifted_by(mut self, shift: i64) -> Self {
        self.raise = if shift > 0 { shift.unsigned_abs() } else { 0 };
        self.lower = if shift < 0 { shift.unsigned_abs() } else { 0 };
        self
    }

    /// Takes in a rank; the oldest leaves if the window is full. O(1).
    #[inline]
    pub fn push(&mut self, rank: Rank) {
        self.ring[self.next] = lane(rank);
        self.next += 1;
        if self.next == self.size {
            self.next = 0;
        }
        if self.len < self.size {
            self.len += 1;
        }
    }

    /// Ranks held.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether no rank is held.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many ranks held are lower than `rank`.
    #[inline]
    pub fn count_lower(&self, rank: Rank) -> usize {
        self.count_below(rank.get())
    }

    /// How many ranks held are lower than `rank` or equal to it.
    #[inline]
    pub fn count_lower_or_equal(&self, rank: Rank) -> usize {
        self.count_below(rank.get() + 1)
    }

    /// How many ranks held, after the shift, are below `bound`, which is at most 2^63.
    #[inline]
    fn count_below(&self, bound: u64) -> usize {
        const END: u64 = 1 << 63;
        // The shift is taken off the bound instead of added to every rank. At most 2^64 - 1 before it is cut.
        let bound = (bound + self.lower).saturating_sub(self.raise).min(END);
        self.lanes.count_below(&self.ring, bound.wrapping_sub(END) as i64)
    }

    /// The ranks held, unshifted, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Rank> {
        let (newer, older) = self.ring[..self.len].split_at(if self.len < self.size { 0 } else { self.next });
        older.iter().chain(newer).map(|lane| rank_of(*lane))
    }

    /// The largest rank that no more than `count` of the ranks held (after the shift) are lower than: the one that
    /// stands at place `count` of the sorted window. `None` if the window holds no more than `count`, so that every
    /// rank is. O(n), with an allocation: for inspection, not for each packet.
    pub fn at_place(&self, count: usize) -> Option<i128> {
        let mut ranks: Vec<i64> = self.ring[..self.len].to_vec();
        if count >= ranks.len() {
            return None;
        }
        let (_, place, _) = ranks.select_nth_unstable(count);
        Some(i128::from(rank_of(*place).get()) + i128::from(self.raise) - i128::from(self.lower))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    fn rank() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..20, 0..=Rank::MAX.get(), Just(Rank::MAX.get())]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn counts_like_a_list(
            size in prop_oneof![1usize..40, Just(300)],
            shift in prop_oneof![Just(0i64), -30i64..30, -i64::MAX..i64::MAX, Just(-i64::MAX), Just(i64::MAX)],
            ranks in proptest::collection::vec((rank(), rank()), 1..900),
        ) {
            let mut window = RankWindow::new(size).shifted_by(shift);
            let mut list = VecDeque::new();
            for (held, asked) in ranks {
                window.push(Rank::saturating(held));
                list.push_back(i128::from(held));
                if list.len() > size {
                    list.pop_front();
                }
                let count = |test: &dyn Fn(i128) -> bool| list.iter().filter(|rank| test(**rank + i128::from(shift))).count();
                let rank = Rank::saturating(asked);
                prop_assert_eq!(window.count_lower(rank), count(&|held| held < i128::from(asked)));
                prop_assert_eq!(window.count_lower_or_equal(rank), count(&|held| held <= i128::from(asked)));
            }
            prop_assert_eq!(window.len(), list.len());
            prop_assert!(window.iter().map(|rank| i128::from(rank.get())).eq(list.iter().copied()));
            let mut sorted: Vec<i128> = list.iter().map(|rank| rank + i128::from(shift)).collect();
            sorted.sort_unstable();
            for place in 0..=list.len() {
                prop_assert_eq!(window.at_place(place), sorted.get(place).copied());
            }
        }
    }
}
