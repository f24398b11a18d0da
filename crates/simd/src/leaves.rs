//! A sorted multiset of ranks that counts the ranks below a bound: leaves under a row of fences.

use super::lanes::{FILLER, Lanes};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Fences per entry of the top row.
const FAN: usize = 16;

/// A multiset of ranks (as lanes).
///
/// Leaves hold distinct ranks, unsorted within a leaf. Fences order the leaves, and `before` holds the number of ranks
/// in earlier leaves. A count is a search for the leaf, one look-up and a comparison with the leaf's ranks, all in wide
/// vectors. An insertion or a removal changes one leaf and the later entries of `before`; an exchange changes only the
/// entries between the two leaves. A full leaf splits at its median; an empty leaf is removed. Leaves of about sqrt(n)
/// ranks make all operations O(sqrt n) with a small constant.
#[derive(Debug)]
pub(super) struct Leaves {
    leaves: Vec<Leaf>,
    /// Ranks from `fences[i]` up to (not including) `fences[i + 1]` belong to leaf i. Lower ranks belong to the first
    /// leaf.
    fences: Vec<i64>,
    /// Every sixteenth fence.
    top: Vec<i64>,
    /// The number of ranks in earlier leaves.
    before: Vec<u32>,
    /// The largest number of distinct ranks in one leaf.
    leaf_size: usize,
}

clone_by_field!(Leaves { leaves, fences, top, before, leaf_size });

/// Distinct ranks and their multiplicities.
#[derive(Debug)]
struct Leaf {
    len: usize,
    ranks: Box<[i64]>,
    counts: Box<[i64]>,
}

clone_by_field!(Leaf { len, ranks, counts });

impl Leaf {
    fn empty(size: usize) -> Self {
        Self { len: 0, ranks: alloc::vec![FILLER; size].into(), counts: alloc::vec![0; size].into() }
    }

    /// The used entries, rounded up to whole vectors; no count includes fillers.
    #[inline]
    fn rows(&self) -> usize {
        self.len.next_multiple_of(8)
    }

    #[inline]
    fn put(&mut self, rank: i64, count: i64) {
        self.ranks[self.len] = rank;
        self.counts[self.len] = count;
        self.len += 1;
    }
}

impl Leaves {
    /// Creates an empty multiset; the size of its leaves suits about `expected` ranks.
    pub(super) fn new(expected: usize) -> Self {
        let leaf_size = match expected {
            0..16_384 => 64,
            16_384..262_144 => 256,
            _ => 1024,
        };
        Self {
            leaves: alloc::vec![Leaf::empty(leaf_size)],
            fences: alloc::vec![i64::MIN],
            top: alloc::vec![i64::MIN],
            before: alloc::vec![0],
            leaf_size,
        }
    }

    /// The index of the leaf of `rank`.
    #[inline(always)]
    fn leaf_of(&self, rank: i64, lanes: Lanes) -> usize {
        // The number of fences not above the rank, minus one. The first fence is never above it.
        let start = lanes.count_below(&self.top[1..], rank + 1) * FAN;
        let end = (start + FAN).min(self.fences.len());
        start + lanes.count_below(&self.fences[start + 1..end], rank + 1)
    }

    /// The number of ranks below `bound`.
    #[inline(always)]
    pub(super) fn count_below(&self, bound: i64, lanes: Lanes) -> usize {
        let index = self.leaf_of(bound, lanes);
        let leaf = &self.leaves[index];
        let rows = leaf.rows();
        self.before[index] as usize + lanes.weigh_below(&leaf.ranks[..rows], &leaf.counts[..rows], bound) as usize
    }

    /// Inserts a rank.
    #[inline(always)]
    pub(super) fn insert(&mut self, rank: i64, lanes: Lanes) {
        let index = self.add(rank, lanes);
        for before in &mut self.before[index + 1..] {
            *before += 1;
        }
    }

    /// Inserts `new` and removes `old`.
    ///
    /// # Panics
    /// If the multiset does not contain `old`.
    #[inline(always)]
    pub(super) fn exchange(&mut self, old: i64, new: i64, lanes: Lanes) {
        if old == new {
            return;
        }
        let to = self.add(new, lanes);
        let from = self.leaf_of(old, lanes);
        if from < to {
            for before in &mut self.before[from + 1..=to] {
                *before -= 1;
            }
        } else {
            for before in &mut self.before[to + 1..=from] {
                *before += 1;
            }
        }
        self.remove(from, old, lanes);
    }

    /// Adds a rank to its leaf and returns the leaf's index. The caller updates `before`.
    #[inline(always)]
    fn add(&mut self, rank: i64, lanes: Lanes) -> usize {
        let mut index = self.leaf_of(rank, lanes);
        let leaf = &mut self.leaves[index];
        let rows = leaf.rows();
        if let Some(at) = lanes.position(&leaf.ranks[..rows], rank) {
            leaf.counts[at] += 1;
            return index;
        }
        if leaf.len == self.leaf_size {
            self.split(index);
            index += usize::from(rank >= self.fences[index + 1]);
        }
        self.leaves[index].put(rank, 1);
        index
    }

    /// Removes a rank from its leaf. The caller updates `before`.
    #[inline(always)]
    fn remove(&mut self, index: usize, rank: i64, lanes: Lanes) {
        let leaf = &mut self.leaves[index];
        let rows = leaf.rows();
        let at = lanes.position(&leaf.ranks[..rows], rank).expect("only ranks that are held leave");
        leaf.counts[at] -= 1;
        if leaf.counts[at] > 0 {
            return;
        }
        leaf.len -= 1;
        leaf.ranks[at] = leaf.ranks[leaf.len];
        leaf.counts[at] = leaf.counts[leaf.len];
        leaf.ranks[leaf.len] = FILLER;
        if leaf.len == 0 && self.leaves.len() > 1 {
            self.discard(index);
        }
    }

    /// Removes an empty leaf. The previous leaf covers its range; without one, the next leaf covers all lower ranks.
    #[cold]
    #[inline(never)]
    fn discard(&mut self, index: usize) {
        self.leaves.remove(index);
        self.before.remove(index);
        self.fences.remove(index);
        self.renew_top();
    }

    /// Moves the upper half of a full leaf to a new leaf after it.
    #[cold]
    #[inline(never)]
    fn split(&mut self, index: usize) {
        let mut sorted: Vec<i64> = self.leaves[index].ranks.to_vec();
        let (_, median, _) = sorted.select_nth_unstable(self.leaf_size / 2);
        let fence = *median;
        let (mut lower, mut upper) = (Leaf::empty(self.leaf_size), Leaf::empty(self.leaf_size));
        let mut held_lower = 0;
        let full = &self.leaves[index];
        for (rank, count) in full.ranks.iter().zip(&full.counts) {
            if *rank < fence {
                lower.put(*rank, *count);
                held_lower += *count as u32;
            } else {
                upper.put(*rank, *count);
            }
        }
        self.leaves[index] = lower;
        self.leaves.insert(index + 1, upper);
        self.before.insert(index + 1, self.before[index] + held_lower);
        self.fences.insert(index + 1, fence);
        self.renew_top();
    }

    fn renew_top(&mut self) {
        self.top.clear();
        self.top.extend(self.fences.iter().step_by(FAN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The number of ranks. Fewer under Miri, which is slow.
    const MOST: usize = if cfg!(miri) { 80 } else { 1000 };
    /// Fewer draws under Miri, where each vector instruction is slow.
    const LESS: usize = if cfg!(miri) { 60 } else { 0 };

    proptest! {
        #![proptest_config(pifolab_testkit::cases(40))]

        #[test]
        fn counts_like_a_list_while_leaves_split_and_go(
            width in prop_oneof![Just(40i64), Just(3000), Just(1 << 62)],
            drift in prop_oneof![Just(0i64), Just(7)],
            draws in proptest::collection::vec(0..i64::MAX, 2 * MOST - LESS..4 * MOST - 2 * LESS),
        ) {
            let lanes = Lanes::detect();
            let mut leaves = Leaves::new(MOST);
            let mut list: Vec<i64> = Vec::new();
            for (step, draw) in draws.into_iter().enumerate() {
                // Drifting ranks empty the leaves at one end and fill them at the other.
                let rank = i64::MIN + draw % width + drift * step as i64;
                if list.len() < MOST {
                    leaves.insert(rank, lanes);
                } else {
                    leaves.exchange(list.remove(0), rank, lanes);
                }
                list.push(rank);
                // Under Miri only one of the bounds, in turn.
                let (first, count) = if cfg!(miri) { (step % 4, 1) } else { (0, 4) };
                for bound in [rank, rank + 1, i64::MIN, 0].into_iter().skip(first).take(count) {
                    let below = list.iter().filter(|other| **other < bound).count();
                    prop_assert_eq!(leaves.count_below(bound, lanes), below);
                }
            }
        }
    }
}
