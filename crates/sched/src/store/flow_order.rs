//! Ranked items in the order of their arrival: the earliest item of a flow leaves first.

use crate::Item;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// Items by arrival. The next item is chosen by rank among flows and by arrival within a flow. Every operation except
/// `push` scans all items.
#[derive(Clone, Debug)]
pub struct FlowOrder<T> {
    held: Vec<(Rank, T)>,
}

impl<T: Item> FlowOrder<T> {
    /// An empty container with room for `capacity` items.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { held: Vec::with_capacity(capacity) }
    }

    /// Stores the latest arrival.
    #[inline]
    pub fn push(&mut self, rank: Rank, item: T) {
        self.held.push((rank, item));
    }

    /// The highest rank held.
    pub fn highest_rank(&self) -> Option<Rank> {
        self.highest().map(|place| self.held[place].0)
    }

    // The searches are separate functions that return a place. An item returned from a call would pass through memory,
    // and with it every outcome of a scheduler that may use this order.

    /// Takes the earliest item of the flow that holds the lowest rank, the one that came first among equals.
    #[inline(always)]
    pub fn pop_first_of_lowest(&mut self) -> Option<T> {
        self.first_of_lowest().map(|place| self.held.remove(place).1)
    }

    /// Takes the item of the highest rank, the latest among equals.
    #[inline(always)]
    pub fn pop_highest(&mut self) -> Option<T> {
        self.highest().map(|place| self.held.remove(place).1)
    }

    #[inline(never)]
    fn first_of_lowest(&self) -> Option<usize> {
        // `min_by_key` returns the first of several minima.
        let (_, lowest) = self.held.iter().min_by_key(|(rank, _)| *rank)?;
        let flow = lowest.flow();
        self.held.iter().position(|(_, item)| item.flow() == flow)
    }

    #[inline(never)]
    fn highest(&self) -> Option<usize> {
        // `max_by_key` returns the last of several maxima.
        self.held.iter().enumerate().max_by_key(|(_, (rank, _))| *rank).map(|(place, _)| place)
    }

    /// All items, the latest arrival first.
    pub fn iter(&self) -> impl Iterator<Item = &(Rank, T)> {
        self.held.iter().rev()
    }
}
