//! Ranked items in the order of their arrival: the earliest item of a flow leaves first.

use super::double_ended::{DoubleEnded, reaches};
use crate::Item;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// Items by arrival. The next item is chosen by rank among flows and by arrival within a flow. Every operation except
/// `insert` scans all items.
#[derive(Clone, Debug)]
pub struct FlowOrder<T> {
    held: Vec<(Rank, T)>,
}

impl<T: Item> FlowOrder<T> {
    /// An empty container with room for `capacity` items.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { held: Vec::with_capacity(capacity) }
    }

    // The searches are separate functions that return a place. An item returned from a call would pass through memory,
    // and with it every outcome of a scheduler that may use this order.

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
}

/// The first item is the earliest one of the flow that holds the lowest rank; it may have a higher rank.
impl<T: Item> DoubleEnded<T> for FlowOrder<T> {
    #[inline(always)]
    fn insert(&mut self, rank: Rank, item: T) {
        self.held.push((rank, item));
    }

    #[inline(always)]
    fn last_rank(&self) -> Option<Rank> {
        self.highest().map(|place| self.held[place].0)
    }

    #[inline(always)]
    fn pop_first(&mut self) -> Option<T> {
        self.first_of_lowest().map(|place| self.held.remove(place).1)
    }

    #[inline(always)]
    fn pop_last(&mut self) -> Option<T> {
        self.highest().map(|place| self.held.remove(place).1)
    }

    /// In the order of arrival, the latest first.
    fn iter_from_last<'a>(&'a self) -> impl Iterator<Item = (Rank, &'a T)>
    where
        T: 'a,
    {
        self.held.iter().rev().map(|(rank, item)| (*rank, item))
    }

    fn frees(&self, rank: Rank, needed: u64) -> bool {
        reaches(self.iter_from_last().filter(|(held, _)| *held > rank), needed)
    }
}
