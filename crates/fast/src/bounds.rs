//! The bounds of priority queues, and the search for the queue of a rank.

use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_sched::{RankInterval, Register};
use pifolab_simd::{BoundRow, Reached};
use pifolab_units::Rank;

/// The number of bounds in a row.
const ROW: usize = 8;

/// One bound for each queue, highest priority first, in any order of size.
///
/// Choosing a queue takes a fixed number of comparisons without a branch, since the queue cannot be predicted. Up to
/// eight bounds that never decrease from queue to queue and fit in 31 bits are compared in vectors. To lower all of
/// them at once, their fall is stored beside them, and a rank is raised by it before the comparison. All other bounds
/// are compared one by one.
#[derive(Debug)]
#[repr(align(64))]
pub struct Bounds {
    /// The bounds before they fell, if they are `narrow`.
    row: BoundRow,
    /// The amount by which the bounds in `row` have fallen, 0 or more.
    fallen: i64,
    narrow: bool,
    count: u32,
    /// The bounds, if they are not narrow, in whole rows. Unused places hold the largest integer.
    wide: Box<[[i64; ROW]]>,
}

const _: () = assert!(size_of::<Bounds>() == 64);

clone_by_field!(Bounds { row, fallen, narrow, count, wide });

/// The same numbers as a list of bounds.
impl Register for Bounds {
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.iter().for_each(visit);
    }

    fn resume(&mut self, window: &[Rank], state: &[i64]) {
        let mut bounds: Vec<i64> = self.iter().collect();
        bounds.resume(window, state);
        *self = Self::new(bounds);
    }
}

/// The queue of a rank, with the values that [`Bounds::follow`] needs.
#[derive(Clone, Copy, Debug)]
pub struct BoundPlace {
    reached: Reached,
    raised: i32,
}

impl BoundPlace {
    /// The last queue whose bound the rank reaches; queue 0 if none.
    #[inline(always)]
    pub fn queue(self) -> usize {
        self.reached.last()
    }
}

impl Bounds {
    /// Makes these bounds, in any order of size.
    ///
    /// # Panics
    /// If there is no bound.
    pub fn new(bounds: impl IntoIterator<Item = i64>) -> Self {
        let (mut wide, mut count) = (Vec::new(), 0);
        for bound in bounds {
            if count % ROW == 0 {
                wide.push([i64::MAX; ROW]);
            }
            wide[count / ROW][count % ROW] = bound;
            count += 1;
        }
        assert!(count > 0, "there must be a queue");
        let (wide, count) = (wide.into_boxed_slice(), u32::try_from(count).expect("less than 2^32 queues"));
        let mut new = Self { row: BoundRow::new([BoundRow::NEVER; ROW]), fallen: 0, narrow: false, count, wide };
        new.narrow();
        new
    }

    /// Makes the bounds narrow if their values allow it. Narrow bounds can [follow](Self::follow) ranks.
    pub fn narrow(&mut self) {
        if !self.narrow
            && let Some(row) = BoundRow::of(&self.wide.as_flattened()[..self.count()])
        {
            (self.row, self.fallen, self.narrow) = (row, 0, true);
        }
    }

    /// Makes the bounds wide: they are compared one by one and can be changed in any way.
    #[cold]
    #[inline(never)]
    pub fn widen(&mut self) {
        if self.narrow {
            for queue in 0..self.count() {
                self.wide[queue / ROW][queue % ROW] = self.at(queue);
            }
            self.narrow = false;
        }
    }

    #[inline(always)]
    const fn count(&self) -> usize {
        self.count as usize
    }

    #[inline(always)]
    fn at(&self, queue: usize) -> i64 {
        if self.narrow {
            i64::from(self.row.to_array()[queue]) - self.fallen
        } else {
            self.wide[queue / ROW][queue % ROW]
        }
    }

    /// The place of a rank, 0 or more, if the bounds are narrow. The first rank that is too large makes them wide.
    #[inline(always)]
    pub fn place(&mut self, rank: i64) -> Option<BoundPlace> {
        if !self.narrow {
            return None;
        }
        let raised = rank.wrapping_add(self.fallen);
        if raised as u64 >= BoundRow::NEVER as u64 {
            return self.place_far(rank);
        }
        Some(BoundPlace { reached: self.row.reach(raised as i32), raised: raised as i32 })
    }

    /// As [`place`](Self::place), for a rank that cannot be raised by the fall: first applies the fall to the bounds.
    #[cold]
    #[inline(never)]
    fn place_far(&mut self, rank: i64) -> Option<BoundPlace> {
        self.widen();
        if rank >= BoundRow::NEVER.into() {
            return None;
        }
        self.narrow();
        self.narrow.then(|| BoundPlace { reached: self.row.reach(rank as i32), raised: rank as i32 })
    }

    /// SP-PIFO's push-up and push-down: the rank of the given place becomes the bound of its queue. If it is below the
    /// first bound, all others fall by the difference. The bounds must not change between `place` and `follow`.
    #[inline(always)]
    pub fn follow(&mut self, BoundPlace { reached, raised }: BoundPlace) {
        let cost = (i64::from(self.row.first()) - i64::from(raised)).max(0);
        self.fallen += cost;
        self.row.replace(reached, raised.wrapping_add(cost as i32));
    }

    /// The last queue whose bound the rank, 0 or more, reaches; queue 0 if none. O(queues).
    #[inline(always)]
    pub fn last_reached(&self, rank: i64) -> usize {
        if self.narrow {
            // Every rank above the narrow bounds reaches all of them, so the rank may be capped.
            let raised = (rank as u64 + self.fallen as u64).min(BoundRow::NEVER as u64 - 1);
            return self.row.reach(raised as i32).last();
        }
        let mut found = 0;
        for (row, bounds) in self.wide.iter().enumerate() {
            for (place, bound) in bounds.iter().enumerate() {
                found = if rank >= *bound { ROW * row + place } else { found };
            }
        }
        // Only the largest rank reaches an unused place, and it reaches every bound.
        found.min(self.count() - 1)
    }

    /// The bound of queue 0.
    #[inline(always)]
    pub fn first(&self) -> i64 {
        self.at(0)
    }

    /// The bounds, highest priority first.
    pub fn iter(&self) -> impl Iterator<Item = i64> {
        (0..self.count()).map(|queue| self.at(queue))
    }

    /// The bound of `queue` as the lowest rank that it takes.
    pub fn ranks_from(&self, queue: usize) -> RankInterval {
        self.iter().nth(queue).map_or(RankInterval::default(), RankInterval::from)
    }

    /// The bounds, mutable. Makes them wide.
    #[inline(always)]
    pub fn as_mut_slice(&mut self) -> &mut [i64] {
        if self.narrow {
            self.widen();
        }
        let count = self.count();
        &mut self.wide.as_flattened_mut()[..count]
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
            prop_assert!(Bounds::new(bounds.clone()).iter().eq(bounds.iter().copied()));
            bounds.sort_unstable();
            prop_assert_eq!(Bounds::new(bounds.clone()).last_reached(rank), slow(&bounds));
        }

        /// Compares with a list that is changed bound by bound.
        #[test]
        fn bounds_that_follow_ranks_fall_together(
            mut list in proptest::collection::vec(prop_oneof![-5i64..20, Just(0), Just(i64::from(i32::MIN))], 1..10),
            ranks in proptest::collection::vec(prop_oneof![
                8 => 0i64..40,
                8 => 0i64..1 << 29,
                1 => i64::from(i32::MAX) - 1..=i64::from(i32::MAX),
            ], 1..200),
            large in proptest::option::of((0usize..200, any::<u32>())),
        ) {
            list.sort_unstable();
            let mut bounds = Bounds::new(list.clone());
            for (at, mut rank) in ranks.into_iter().enumerate() {
                if let Some((when, more)) = large && when == at {
                    rank += i64::from(more) << 20;
                }
                let place = bounds.place(rank);
                let queue = list.iter().rposition(|bound| rank >= *bound).unwrap_or(0);
                prop_assert_eq!(bounds.last_reached(rank), queue);
                let cost = (list[0] - rank).max(0);
                list.iter_mut().for_each(|bound| *bound -= cost);
                list[queue] = rank;
                match place {
                    Some(place) => {
                        prop_assert_eq!(place.queue(), queue);
                        bounds.follow(place);
                    }
                    None => {
                        bounds.as_mut_slice().copy_from_slice(&list);
                        bounds.narrow();
                    }
                }
                prop_assert!(bounds.iter().eq(list.iter().copied()));
            }
        }
    }
}
