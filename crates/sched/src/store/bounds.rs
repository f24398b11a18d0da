//! The bounds of priority queues, and the queue that a rank belongs to.

use crate::RankInterval;
use alloc::vec::Vec;
use pifolab_simd::BoundRow;

/// Bounds in a row of eight.
const ROW: usize = 8;

/// One bound for each queue, highest priority first, none below the one before. They stay as they are.
///
/// Up to eight whose numbers have 31 bits stand beside the rest of their scheduler and are compared in vectors, without a branch.
#[derive(Debug)]
pub struct FixedBounds {
    /// The bounds but the first, which decides nothing.
    row: BoundRow,
    /// Ranks below this are compared in vectors: all that a row can hold, or none.
    narrow_below: u64,
    all: Vec<i64>,
}

clone_by_field!(FixedBounds { row, narrow_below, all });

impl FixedBounds {
    /// These bounds.
    ///
    /// # Panics
    /// If there is none, or if one is below the one before.
    pub fn new(bounds: impl IntoIterator<Item = i64>) -> Self {
        let all: Vec<i64> = bounds.into_iter().collect();
        assert!(!all.is_empty() && all.is_sorted(), "expected bounds that never decrease, got {all:?}");
        let row = if all.len() <= ROW { BoundRow::of(&all[1..]) } else { None };
        let narrow_below = if row.is_some() { BoundRow::NEVER as u64 } else { 0 };
        Self { row: row.unwrap_or(BoundRow::new([BoundRow::NEVER; ROW])), narrow_below, all }
    }

    /// The last queue whose bound the rank, 0 or more, reaches; queue 0 if none. O(1) for up to eight queues, else O(log queues).
    #[inline(always)]
    pub fn last_reached(&self, rank: i64) -> usize {
        if rank as u64 >= self.narrow_below {
            return self.last_reached_of_any(rank);
        }
        self.row.count_reached(rank as i32)
    }

    /// The same for all bounds and ranks.
    #[cold]
    #[inline(never)]
    fn last_reached_of_any(&self, rank: i64) -> usize {
        self.all.partition_point(|bound| *bound <= rank).saturating_sub(1)
    }

    /// The bound of `queue` as the lowest rank that it takes.
    pub fn ranks_from(&self, queue: usize) -> RankInterval {
        self.all.get(queue).copied().map_or(RankInterval::default(), RankInterval::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(pifolab_testkit::cases(200))]

        #[test]
        fn the_last_bound_that_is_reached_is_found(
            mut bounds in proptest::collection::vec(prop_oneof![-5i64..20, Just(i64::MAX), any::<i64>()], 1..40),
            rank in prop_oneof![0i64..20, Just(i64::MAX), 0..=i64::MAX],
        ) {
            bounds.sort_unstable();
            let slow = bounds.iter().rposition(|bound| rank >= *bound).unwrap_or(0);
            let fixed = FixedBounds::new(bounds.clone());
            prop_assert_eq!(fixed.last_reached(rank), slow);
            let lowest = |queue| RankInterval::from(bounds[queue]);
            prop_assert!((0..bounds.len()).all(|queue| fixed.ranks_from(queue) == lowest(queue)));
            prop_assert_eq!(fixed.ranks_from(bounds.len()), RankInterval::default());
        }
    }
}
