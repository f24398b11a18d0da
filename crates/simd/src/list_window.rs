//! The window as its definition says it: the reference for [`RankWindow`](crate::RankWindow).

use crate::Window;
use alloc::collections::VecDeque;
use pifolab_units::Rank;

/// The last `size` ranks in a list, with `shift` added to each when it is compared. Every count is O(size).
#[derive(Clone, Debug)]
pub struct ListWindow {
    ranks: VecDeque<Rank>,
    size: usize,
    shift: i64,
}

impl ListWindow {
    /// An empty window of `size` ranks.
    ///
    /// # Panics
    /// If the size is 0.
    pub fn new(size: usize) -> Self {
        assert!(size > 0, "a window holds at least one rank");
        Self { ranks: VecDeque::with_capacity(size), size, shift: 0 }
    }

    /// The window with `shift` added to every rank that it holds.
    #[must_use]
    pub fn shifted_by(self, shift: i64) -> Self {
        Self { shift, ..self }
    }

    /// The ranks held, unshifted, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Rank> {
        self.ranks.iter().copied()
    }
}

impl Window for ListWindow {
    fn push(&mut self, rank: Rank) {
        if self.ranks.len() == self.size {
            self.ranks.pop_front();
        }
        self.ranks.push_back(rank);
    }

    fn count_below(&self, bound: u64) -> usize {
        let shifted = |rank: &Rank| i128::from(rank.get()) + i128::from(self.shift);
        self.ranks.iter().filter(|rank| shifted(rank) < i128::from(bound)).count()
    }
}
