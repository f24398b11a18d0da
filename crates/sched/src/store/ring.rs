//! A first-in first-out ring.

use alloc::collections::VecDeque;

/// A first-in first-out ring that grows to its working size once and then allocates no more.
#[derive(Debug)]
pub struct Ring<T> {
    items: VecDeque<T>,
}

impl<T> Ring<T> {
    /// An empty ring with room for `capacity` items.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { items: VecDeque::with_capacity(capacity) }
    }

    /// Puts an item at the end. O(1).
    #[inline]
    pub fn push(&mut self, item: T) {
        self.items.push_back(item);
    }

    /// Takes the item that has waited longest. O(1).
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.items.pop_front()
    }

    /// Items held.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
