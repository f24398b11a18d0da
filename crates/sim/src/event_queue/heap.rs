//! Events in a heap.

use super::lists::Listed;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// An event, ordered by its time and then by its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbered<E> {
    pub(super) listed: Listed<E>,
    pub(super) number: u64,
}

impl<E> Numbered<E> {
    const fn key(&self) -> (u64, u64) {
        (self.listed.entry.time, self.number)
    }
}

impl<E> PartialEq for Numbered<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Numbered<E> {}

impl<E> PartialOrd for Numbered<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Numbered<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Events in a heap: earliest first, events of equal time in the order in which they were added.
#[derive(Debug)]
pub(super) struct Heap<E> {
    events: BinaryHeap<Reverse<Numbered<E>>>,
    added: u64,
}

impl<E> Default for Heap<E> {
    fn default() -> Self {
        Self { events: BinaryHeap::new(), added: 0 }
    }
}

impl<E: Copy> Heap<E> {
    pub(super) fn push(&mut self, listed: Listed<E>) {
        self.events.push(Reverse(Numbered { listed, number: self.added }));
        self.added += 1;
    }

    pub(super) fn first(&self) -> Option<&Listed<E>> {
        self.events.peek().map(|Reverse(first)| &first.listed)
    }

    pub(super) fn pop(&mut self) -> Option<Listed<E>> {
        self.events.pop().map(|Reverse(first)| first.listed)
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }
}
