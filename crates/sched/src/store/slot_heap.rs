//! A binary heap of slot numbers from which any slot can be removed.

use alloc::vec::Vec;

/// Slots in a binary min-heap on their keys, which are unique. The place of each slot is stored, so any slot can be
/// removed in O(log n).
#[derive(Clone, Debug)]
pub struct SlotHeap<K> {
    heap: Vec<(K, u32)>,
    /// The index in `heap` of each slot; invalid for slots that are not in the heap.
    places: Vec<u32>,
}

impl<K> Default for SlotHeap<K> {
    fn default() -> Self {
        Self { heap: Vec::new(), places: Vec::new() }
    }
}

impl<K: Copy + Ord> SlotHeap<K> {
    /// An empty heap with room for `capacity` slots.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { heap: Vec::with_capacity(capacity), places: Vec::with_capacity(capacity) }
    }

    /// Adds a slot that is not in the heap.
    #[inline(always)]
    pub fn push(&mut self, key: K, slot: u32) {
        if slot as usize >= self.places.len() {
            self.places.resize(slot as usize + 1, u32::MAX);
        }
        self.heap.push((key, slot));
        self.rise(self.heap.len() - 1);
    }

    /// Whether the heap is empty.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The smallest key.
    pub fn peek(&self) -> Option<&K> {
        self.heap.first().map(|(key, _)| key)
    }

    /// All slots with their keys, the smallest first and then in no order.
    pub fn iter(&self) -> impl Iterator<Item = (K, u32)> {
        self.heap.iter().copied()
    }

    /// The key of a slot in the heap.
    pub fn key(&self, slot: u32) -> K {
        self.heap[self.places[slot as usize] as usize].0
    }

    /// Takes the slot with the smallest key.
    pub fn pop(&mut self) -> Option<(K, u32)> {
        (!self.heap.is_empty()).then(|| self.remove_at(0))
    }

    /// Removes a slot that is in the heap.
    pub fn remove(&mut self, slot: u32) {
        let place = self.places[slot as usize] as usize;
        debug_assert_eq!(self.heap[place].1, slot, "the slot is not in this heap");
        self.remove_at(place);
    }

    fn remove_at(&mut self, place: usize) -> (K, u32) {
        let removed = self.heap.swap_remove(place);
        if place < self.heap.len() {
            // The entry moved here from the end may belong above or below this place.
            let place = self.rise(place);
            self.sink(place);
        }
        removed
    }

    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.heap[parent].0 <= self.heap[place].0 {
                break;
            }
            self.heap.swap(parent, place);
            self.note(place);
            place = parent;
        }
        self.note(place);
        place
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let left = 2 * place + 1;
            let Some(child) = (left..self.heap.len().min(left + 2)).min_by_key(|child| self.heap[*child].0) else {
                break;
            };
            if self.heap[place].0 <= self.heap[child].0 {
                break;
            }
            self.heap.swap(place, child);
            self.note(place);
            place = child;
        }
        self.note(place);
    }

    fn note(&mut self, place: usize) {
        self.places[self.heap[place].1 as usize] = place as u32;
    }
}
