//! The bounds of priority queues, and the queue that a rank belongs to.

use crate::RankInterval;
use alloc::vec::Vec;

/// Bounds in a row of eight.
const ROW: usize = 8;

/// One bound for each queue, highest priority first, in any order of size.
///
/// They stand in whole rows, so that choosing a queue is a fixed number of comparisons without a branch: where the
/// right queue is, no branch could foresee.
#[derive(Debug)]
pub struct Bounds {
    /// The only row, if one is enough: it then lies beside the rest of its scheduler. Unused places hold the largest integer.
    row: [i64; ROW],
    /// All rows, if one is not enough.
    rows: Vec<[i64; ROW]>,
    count: usize,
}

clone_by_field!(Bounds { row, rows, count });

impl Bounds {
    /// These bounds.
    ///
    /// # Panics
    /// If there is none.
    pub fn new(bounds: impl IntoIterator<Item = i64>) -> Self {
        let (mut rows, mut count) = (Vec::new(), 0);
        for bound in bounds {
            if count % ROW == 0 {
                rows.push([i64::MAX; ROW]);
            }
            rows[count / ROW][count % ROW] = bound;
            count += 1;
        }
        assert!(count > 0, "there must be a queue");
        let row = rows[0];
        if count <= ROW {
            rows = Vec::new();
        }
        Self { row, rows, count }
    }

    /// The last queue whose bound the rank reaches; queue 0 if none. O(queues).
    #[inline(always)]
    pub fn last_reached(&self, rank: i64) -> usize {
        let mut found = 0;
        let mut look_at = |row: usize, bounds: &[i64; ROW]| {
            for (place, bound) in bounds.iter().enumerate() {
                found = if rank >= *bound { ROW * row + place } else { found };
            }
        };
        if self.rows.is_empty() {
            look_at(0, &self.row);
        } else {
            self.rows.iter().enumerate().for_each(|(row, bounds)| look_at(row, bounds));
        }
        // Only the largest rank reaches an unused place, and it reaches every bound.
        found.min(self.count - 1)
    }

    /// [`last_reached`](Self::last_reached) for bounds that never decrease. O(log queues) for many queues.
    #[inline(always)]
    pub fn last_reached_sorted(&self, rank: i64) -> usize {
        if !self.rows.is_empty() {
            return self.as_slice().partition_point(|bound| *bound <= rank).saturating_sub(1);
        }
        // Only the largest rank reaches an unused place, and it reaches every bound.
        self.row[1..].iter().map(|bound| usize::from(*bound <= rank)).sum::<usize>().min(self.count - 1)
    }

    /// The bounds, highest priority first.
    #[inline(always)]
    pub fn as_slice(&self) -> &[i64] {
        let bounds = if self.rows.is_empty() { &self.row[..] } else { self.rows.as_flattened() };
        &bounds[..self.count]
    }

    /// The bound of `queue` as the lowest rank that it takes.
    pub fn ranks_from(&self, queue: usize) -> RankInterval {
        self.as_slice().get(queue).copied().map_or(RankInterval::default(), RankInterval::from)
    }

    /// The bounds, to be changed.
    #[inline(always)]
    pub fn as_mut_slice(&mut self) -> &mut [i64] {
        let bounds = if self.rows.is_empty() { &mut self.row[..] } else { self.rows.as_flattened_mut() };
        &mut bounds[..self.count]
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
            let slow = |bounds: &[i64]| bounds.iter().rposition(|bound| rank >= *bound).unwrap_or(0);
            prop_assert_eq!(Bounds::new(bounds.clone()).last_reached(rank), slow(&bounds));
            prop_assert!(Bounds::new(bounds.clone()).as_slice() == bounds);
            bounds.sort_unstable();
            prop_assert_eq!(Bounds::new(bounds.clone()).last_reached_sorted(rank), slow(&bounds));
        }
    }
}
