//! Ranked items in the order of their arrival, of which the earliest of a flow goes first.

use crate::Item;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// Items by arrival. What is sent first is chosen by rank among flows and by arrival within one; every operation but storing
/// looks at all of them.
#[derive(Clone, Debug)]
pub struct FlowOrder<T> {
    held: Vec<(Rank, T)>,
}

impl<T: Item> FlowOrder<T> {
    /// Nothing held, and room for so many items.
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

    // Searches stand apart and answer with a place: an item that came out of a call would come through memory, and so would then
    // every outcome of a scheduler that has this order for one of several.

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
        // The first of several smallest.
        let (_, lowest) = self.held.iter().min_by_key(|(rank, _)| *rank)?;
        let flow = lowest.flow();
        self.held.iter().position(|(_, item)| item.flow() == flow)
    }

    #[inline(never)]
    fn highest(&self) -> Option<usize> {
        // The last of several largest.
        self.held.iter().enumerate().max_by_key(|(_, (rank, _))| *rank).map(|(place, _)| place)
    }

    /// All items, the latest arrival first.
    pub fn iter(&self) -> impl Iterator<Item = &(Rank, T)> {
        self.held.iter().rev()
    }
}
