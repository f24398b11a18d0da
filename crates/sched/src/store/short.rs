//! A double-ended priority queue for a few small items: one sorted row.

use super::double_ended::DoubleEnded;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// A few small items in the order of their ranks, equal ranks in the order of arrival, open at both ends.
///
/// The row is in reverse order, so that the next item to leave is at its end. `insert` scans the last places, where
/// most arrivals belong, or else does a binary search, and then shifts flat memory. This touches few cache lines, which
/// matters where many such queues share a cache. For items of more than a few bytes, or more than some hundred of them,
/// [`Sorted`](super::Sorted) is better.
#[derive(Debug)]
pub struct Short<T> {
    row: Vec<(Rank, T)>,
}

clone_by_field!(<T> Short { row });

/// The number of places that are scanned one by one before the binary search.
const NEAR: usize = 4;

impl<T> Default for Short<T> {
    fn default() -> Self {
        Self { row: Vec::new() }
    }
}

impl<T> Short<T> {
    /// Items held.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.row.len()
    }

    /// Whether it holds nothing.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.row.is_empty()
    }

    /// The place behind all items of higher rank and before its equals, which came earlier and leave earlier.
    #[inline(always)]
    fn place(&self, rank: Rank) -> usize {
        self.row.partition_point(|(other, _)| *other > rank)
    }

    /// Moves the item of this rank from `from` to its place, there or before.
    #[inline(never)]
    fn insert_far(&mut self, rank: Rank, from: usize) {
        let place = self.place(rank);
        self.row[place..=from].rotate_right(1);
    }

    /// Removes all items and returns them with their ranks, from the first to the last.
    pub fn drain(&mut self) -> impl Iterator<Item = (Rank, T)> {
        self.row.drain(..).rev()
    }
}

impl<T> DoubleEnded<T> for Short<T> {
    /// O(n); O(1) for an item that is among the next to leave.
    #[inline(always)]
    fn insert(&mut self, rank: Rank, item: T) {
        self.row.push((rank, item));
        // Most items belong at or near the end: a scan from there reads the places that the shift reads anyway.
        let mut place = self.row.len() - 1;
        let nearest = place.saturating_sub(NEAR);
        while place > nearest && self.row[place - 1].0 <= rank {
            self.row.swap(place - 1, place);
            place -= 1;
        }
        if place == nearest && place > 0 {
            self.insert_far(rank, place);
        }
    }

    #[inline(always)]
    fn last_rank(&self) -> Option<Rank> {
        self.row.first().map(|(rank, _)| *rank)
    }

    /// O(1).
    #[inline(always)]
    fn pop_first(&mut self) -> Option<T> {
        self.row.pop().map(|(_, item)| item)
    }

    /// O(n).
    #[inline(always)]
    fn pop_last(&mut self) -> Option<T> {
        if self.row.is_empty() { None } else { Some(self.row.remove(0).1) }
    }

    /// One shift instead of two. Returns `None` and stores nothing if it is empty.
    #[inline(always)]
    fn replace_last(&mut self, rank: Rank, item: T) -> Option<T> {
        let place = self.place(rank);
        let shifted = self.row.get_mut(..place)?;
        let last = shifted.first_mut()?;
        let (_, victim) = core::mem::replace(last, (rank, item));
        shifted.rotate_left(1);
        Some(victim)
    }

    fn iter_from_last<'a>(&'a self) -> impl Iterator<Item = (Rank, &'a T)>
    where
        T: 'a,
    {
        self.row.iter().map(|(rank, item)| (*rank, item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(pifolab_testkit::cases(100))]

        #[test]
        fn agrees_with_a_sorted_list(ops in proptest::collection::vec((0u8..6, 0u32..9), 0..300)) {
            let mut short = Short::default();
            let mut list: Vec<(Rank, usize)> = Vec::new();
            for (id, (op, rank)) in ops.into_iter().enumerate() {
                let rank = Rank::from(rank);
                let at = list.partition_point(|(other, _)| *other <= rank);
                match op {
                    0 => prop_assert_eq!(short.pop_first(), (!list.is_empty()).then(|| list.remove(0).1)),
                    1 => prop_assert_eq!(short.pop_last(), list.pop().map(|(_, id)| id)),
                    2 if list.last().is_some_and(|(last, _)| *last > rank) => {
                        list.insert(at, (rank, id));
                        prop_assert_eq!(short.replace_last(rank, id), list.pop().map(|(_, id)| id));
                    }
                    _ => {
                        short.insert(rank, id);
                        list.insert(at, (rank, id));
                    }
                }
                prop_assert_eq!((short.len(), short.last_rank()), (list.len(), list.last().map(|(rank, _)| *rank)));
            }
            let all: Vec<_> = short.iter_from_last().map(|(rank, id)| (rank, *id)).collect();
            prop_assert!(all.into_iter().rev().eq(list.iter().copied()));
            prop_assert!(short.drain().eq(list));
            prop_assert!(short.is_empty() && short.replace_last(Rank::ZERO, 0).is_none());
        }
    }
}
