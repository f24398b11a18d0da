//! The window by its definition: the reference for [`RankWindow`](crate::RankWindow).

use crate::Window;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// All pushed ranks, oldest first. The last `size` ranks count, with `shift` added to each. A count is O(size).
#[derive(Clone, Debug, Default)]
pub struct ListWindow {
    /// The size of the window in ranks, at least 1.
    pub size: usize,
    /// The number added to every rank in the window.
    pub shift: i64,
    /// The pushed ranks, oldest first.
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
