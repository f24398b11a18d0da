//! The window as its definition says it: the reference for [`RankWindow`](crate::RankWindow).

use crate::Window;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// Every rank that was pushed, oldest first, of which the last `size` count, with `shift` added to each. A count is O(size).
#[derive(Clone, Debug, Default)]
pub struct ListWindow {
    /// How many ranks the window holds, at least 1.
    pub size: usize,
    /// What is added to every rank that it holds.
    pub shift: i64,
    /// Oldest first.
    pub ranks: Vec<Rank>,
}

impl Window for ListWindow {
    fn push(&mut self, rank: Rank) {
        self.ranks.push(rank);
    }

    fn count_below(&self, bound: u64) -> usize {
        let shifted = |rank: &Rank| i128::from(rank.get()) + i128::from(self.shift);
        self.ranks.iter().rev().take(self.size).filter(|rank| shifted(rank) < i128::from(bound)).count()
    }
}
