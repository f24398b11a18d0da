//! A double-ended priority queue for any ranks.

use super::double_ended::DoubleEnded;
use super::slab::Slab;
use pifolab_simd::SortedSlots;
use pifolab_units::Rank;

/// Items in the order of their ranks, equal ranks in the order of arrival, open at both ends.
///
/// The items stay in a slab; their slots are [sorted](SortedSlots). Taking the first or last item is O(1); an insertion
/// is a search and a short shift.
#[derive(Debug)]
pub struct Sorted<T> {
    order: SortedSlots,
    slab: Slab<T>,
}

clone_by_field!(<T> Sorted { order, slab });

impl<T: Default> Sorted<T> {
    /// An empty queue with room for `capacity` items without growing.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { order: SortedSlots::default(), slab: Slab::with_capacity(capacity) }
    }

    /// Items held.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether it holds nothing.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.slab.len() == 0
    }
}

impl<T: Default> DoubleEnded<T> for Sorted<T> {
    #[inline(always)]
    fn insert(&mut self, rank: Rank, item: T) {
        self.order.insert(rank, self.slab.insert(item));
    }

    #[inline(always)]
    fn last_rank(&self) -> Option<Rank> {
        self.order.last().map(|(rank, _)| rank)
    }

    #[inline(always)]
    fn pop_first(&mut self) -> Option<T> {
        self.order.pop_first().map(|slot| self.slab.take(slot))
    }

    #[inline(always)]
    fn pop_last(&mut self) -> Option<T> {
        self.order.pop_last().map(|slot| self.slab.take(slot))
    }

    fn iter_from_last<'a>(&'a self) -> impl Iterator<Item = (Rank, &'a T)>
    where
        T: 'a,
    {
        self.order.iter_from_last().map(|(rank, slot)| (rank, self.slab.get(slot)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_leave_at_both_ends_in_the_order_of_ranks() {
        let mut sorted = Sorted::with_capacity(1);
        for (rank, item) in [(3, 'c'), (1, 'a'), (3, 'd'), (2, 'b')] {
            sorted.insert(Rank::from(rank), item);
        }
        assert_eq!(sorted.len(), 4);
        assert!(sorted.iter_from_last().map(|(_, item)| *item).eq(['d', 'c', 'b', 'a']));
        assert_eq!(
            (sorted.pop_first(), sorted.pop_last(), sorted.last_rank()),
            (Some('a'), Some('d'), Some(Rank::from(3)))
        );
        assert_eq!((sorted.pop_first(), sorted.pop_first(), sorted.pop_last()), (Some('b'), Some('c'), None));
        assert!(sorted.is_empty());
    }
}
