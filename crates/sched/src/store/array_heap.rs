//! A binary heap in one array, whose order among equal ranks is that of the array: what Java's `PriorityQueue` does.

use super::slab::Slab;
use crate::Item;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// Items under a binary min-heap on the rank alone. Equal ranks leave in *heap order*, neither first-in first-out nor
/// last-in first-out, but the same on every machine: a rising item stops below the first parent that is not larger, a
/// sinking one prefers the left of two equal children.
///
/// It exists to repeat published runs exactly; [`Sorted`](super::Sorted) is the container for everything else. `push`
/// and `pop_first` are O(log n), `pop_last` is O(n).
#[derive(Debug)]
pub struct ArrayHeap<T> {
    /// Rank and slot; the children of entry i are 2i + 1 and 2i + 2.
    heap: Vec<(Rank, u32)>,
    slab: Slab<T>,
}

clone_by_field!(<T> ArrayHeap { heap, slab });

impl<T: Item> ArrayHeap<T> {
    /// Holds nothing; has room for `capacity` items without growing.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { heap: Vec::with_capacity(capacity), slab: Slab::with_capacity(capacity) }
    }

    /// Items held.
    #[inline]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether it holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Adds an item and returns its slot, which is valid as long as the item is held.
    #[inline]
    pub fn push(&mut self, rank: Rank, item: T) -> u32 {
        let slot = self.slab.insert(item);
        let entry = (rank, slot);
        self.heap.push(entry);
        self.sift_up(self.heap.len() - 1, entry);
        slot
    }

    /// Takes the item at the top: one of the lowest rank.
    #[inline(always)]
    pub fn pop_first(&mut self) -> Option<T> {
        let last = self.heap.pop()?;
        let slot = match self.heap.first() {
            None => last.1,
            Some(first) => {
                let slot = first.1;
                self.sift_down(0, last);
                slot
            }
        };
        Some(self.slab.take(slot))
    }

    /// Takes the item that is last in the array among those of the highest rank; returns its slot and the item.
    pub fn pop_last(&mut self) -> Option<(u32, T)> {
        // A parent of the highest rank has only children of that rank, which are behind it: the last such item is a
        // leaf.
        let leaves = self.heap.len() / 2..self.heap.len();
        let at = leaves.max_by_key(|at| self.heap[*at].0)?;
        let slot = self.heap[at].1;
        let moved = self.heap.pop()?;
        if at < self.heap.len() && self.sift_down(at, moved) == at {
            self.sift_up(at, moved);
        }
        Some((slot, self.slab.take(slot)))
    }

    /// Lets `entry` rise from `at`.
    #[inline]
    fn sift_up(&mut self, mut at: usize, entry: (Rank, u32)) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if entry.0 >= self.heap[parent].0 {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
    }

    /// Lets `entry` sink from `at`; returns where it came to rest.
    #[inline]
    fn sift_down(&mut self, mut at: usize, entry: (Rank, u32)) -> usize {
        loop {
            let left = 2 * at + 1;
            if left >= self.heap.len() {
                break;
            }
            let right = left + 1;
            let child = if right < self.heap.len() && self.heap[left].0 > self.heap[right].0 { right } else { left };
            if entry.0 <= self.heap[child].0 {
                break;
            }
            self.heap[at] = self.heap[child];
            at = child;
        }
        self.heap[at] = entry;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    struct Named(char);

    impl Item for Named {
        fn size(&self) -> u32 {
            1
        }
        fn rank(&self) -> Rank {
            Rank::ZERO
        }
        fn set_rank(&mut self, _rank: Rank) {}
    }

    fn heap_of(items: &[(u32, char)]) -> ArrayHeap<Named> {
        let mut heap = ArrayHeap::with_capacity(0);
        for (rank, name) in items {
            heap.push(Rank::from(*rank), Named(*name));
        }
        heap
    }

    fn names_from_the_top(heap: &mut ArrayHeap<Named>) -> Vec<char> {
        core::iter::from_fn(|| heap.pop_first()).map(|item| item.0).collect()
    }

    fn pop_last(heap: &mut ArrayHeap<Named>) -> Option<char> {
        heap.pop_last().map(|(_, item)| item.0)
    }

    #[test]
    fn equal_ranks_leave_in_heap_order() {
        // After a leaves, the last entry d takes the top and stays there, since b is not smaller; then c, then b.
        let mut heap = heap_of(&[(0, 'a'), (0, 'b'), (0, 'c'), (0, 'd')]);
        assert_eq!(names_from_the_top(&mut heap), ['a', 'd', 'c', 'b']);
    }

    #[test]
    fn the_last_of_the_largest_in_the_array_is_the_victim() {
        // The array is a1 b3 c3 d9 e9 f3: e stands behind d; f takes e's place.
        let mut heap = heap_of(&[(1, 'a'), (3, 'b'), (3, 'c'), (9, 'd'), (9, 'e'), (3, 'f')]);
        assert_eq!(pop_last(&mut heap), Some('e'));
        assert_eq!(pop_last(&mut heap), Some('d'));
        assert_eq!(heap.len(), 4);
    }

    #[test]
    fn an_entry_that_cannot_sink_rises() {
        // 0 | 8 1 | 9 9 2 3: removing a 9 moves the 3 below the 8, where it must rise.
        let mut heap = heap_of(&[(0, 'a'), (8, 'b'), (1, 'c'), (9, 'd'), (9, 'e'), (2, 'f'), (3, 'g')]);
        assert_eq!(pop_last(&mut heap), Some('e'));
        assert_eq!(names_from_the_top(&mut heap), ['a', 'c', 'f', 'g', 'b', 'd']);
    }

    #[test]
    fn ranks_leave_sorted() {
        let mut heap = ArrayHeap::with_capacity(8);
        for step in 0..500u32 {
            let rank = step * 7919 % 101;
            heap.push(Rank::from(rank), Named(char::from_u32(rank).expect("a small number")));
        }
        let order = names_from_the_top(&mut heap);
        assert!(order.is_sorted());
        assert_eq!(pop_last(&mut heap), None);
    }
}
