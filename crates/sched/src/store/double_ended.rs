//! What priority queues that are open at both ends have in common.

use crate::Item;
use pifolab_units::Rank;

/// Items in the order of their ranks, equal ranks in the order of arrival, open at both ends.
pub trait DoubleEnded<T> {
    /// Inserts an item behind all of lower or equal rank.
    fn insert(&mut self, rank: Rank, item: T);

    /// The highest rank.
    fn last_rank(&self) -> Option<Rank>;

    /// Takes the item of the lowest rank; among equals the one that came first.
    fn pop_first(&mut self) -> Option<T>;

    /// Takes the item of the highest rank; among equals the one that came last.
    fn pop_last(&mut self) -> Option<T>;

    /// Replaces the item of the highest rank with another one, of a lower rank.
    #[inline(always)]
    fn replace_last(&mut self, rank: Rank, item: T) -> Option<T> {
        let victim = self.pop_last();
        self.insert(rank, item);
        victim
    }

    /// Ranks and items from the last to the first.
    fn iter_from_last<'a>(&'a self) -> impl Iterator<Item = (Rank, &'a T)>
    where
        T: 'a;

    /// Whether the items above `rank` have at least `needed` bytes together.
    fn frees(&self, rank: Rank, needed: u64) -> bool
    where
        T: Item,
    {
        reaches(self.iter_from_last().take_while(|(held, _)| *held > rank), needed)
    }
}

/// Whether these items have at least `needed` bytes together.
pub(super) fn reaches<'a, T: Item + 'a>(items: impl Iterator<Item = (Rank, &'a T)>, needed: u64) -> bool {
    let mut freed = 0;
    items.into_iter().any(|(_, held)| {
        freed += u64::from(held.size());
        freed >= needed
    })
}
