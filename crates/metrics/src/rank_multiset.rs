//! The ranks waiting at a port, to count inversions outside of the scheduler.

use pifolab_units::Rank;

/// Ranks below this limit are counted in arrays of at most 4 KB. A network may have thousands of ports.
const DENSE: u64 = 1 << 10;
/// The first length of the arrays. They double when a larger rank arrives.
const FIRST: usize = 16;
/// The number of ranks whose counts one group sum covers.
const GROUP: usize = 256;
/// The length at which a sorted run is split.
const RUN: usize = 512;

/// A multiset of ranks that returns the number of ranks below a value, the lowest and the highest rank.
///
/// While all ranks are below 2^10, `below` adds at most 4 group sums and 256 counts, at any occupancy (a few
/// nanoseconds for a hundred ranks). The first larger rank moves all ranks to sorted runs. Their memory grows with the
/// number n of waiting packets; an operation costs O(sqrt n).
#[derive(Clone, Debug)]
pub struct RankMultiset {
    store: Store,
    len: u64,
}

#[derive(Clone, Debug)]
enum Store {
    /// `held` has one bit per rank with a non-zero count; `groups` holds sums of counts.
    Dense { counts: Vec<u32>, groups: Vec<u32>, held: Vec<u64> },
    /// No run is empty but a single one.
    Sorted(Vec<Vec<u64>>),
}

impl Default for RankMultiset {
    fn default() -> Self {
        Self { store: Store::Dense { counts: Vec::new(), groups: Vec::new(), held: Vec::new() }, len: 0 }
    }
}

impl RankMultiset {
    /// Adds a rank.
    #[inline]
    pub fn insert(&mut self, rank: Rank) {
        let rank = rank.get();
        self.len += 1;
        if let Store::Dense { counts, groups, held } = &mut self.store {
            if rank < DENSE {
                let rank = rank as usize;
                if rank >= counts.len() {
                    let size = (rank + 1).next_power_of_two().max(FIRST);
                    counts.resize(size, 0);
                    groups.resize(size.div_ceil(GROUP), 0);
                    held.resize(size.div_ceil(64), 0);
                }
                held[rank / 64] |= 1 << (rank % 64);
                counts[rank] += 1;
                groups[rank / GROUP] += 1;
                return;
            }
            self.store = Store::Sorted(runs_of(counts));
        }
        let Store::Sorted(runs) = &mut self.store else { unreachable!("it was made sorted above") };
        insert_sorted(runs, rank);
    }

    /// Removes one occurrence of `rank`.
    ///
    /// # Panics
    /// If the multiset does not contain `rank`: a packet left that never arrived.
    #[inline]
    pub fn remove(&mut self, rank: Rank) {
        let rank = rank.get();
        self.len = self.len.checked_sub(1).expect("a rank leaves an empty multiset");
        match &mut self.store {
            Store::Dense { counts, groups, held } => {
                let rank = rank as usize;
                let left = counts[rank].checked_sub(1).expect("a rank leaves that never came");
                counts[rank] = left;
                groups[rank / GROUP] -= 1;
                if left == 0 {
                    held[rank / 64] &= !(1 << (rank % 64));
                }
            }
            Store::Sorted(runs) => remove_sorted(runs, rank),
        }
    }

    /// The number of ranks lower than `rank`.
    #[inline]
    pub fn below(&self, rank: Rank) -> u64 {
        let rank = rank.get();
        match &self.store {
            Store::Dense { counts, groups, .. } => {
                let rank = rank.min(counts.len() as u64) as usize;
                let group = rank / GROUP;
                let sum = |part: &[u32]| part.iter().map(|count| u64::from(*count)).sum::<u64>();
                sum(&groups[..group]) + sum(&counts[group * GROUP..rank])
            }
            Store::Sorted(runs) => {
                let at = runs.partition_point(|run| run.last().is_some_and(|last| *last < rank));
                let before: usize = runs[..at].iter().map(Vec::len).sum();
                (before + runs.get(at).map_or(0, |run| run.partition_point(|held| *held < rank))) as u64
            }
        }
    }

    /// The lowest rank.
    #[inline]
    pub fn min(&self) -> Option<Rank> {
        let min = match &self.store {
            Store::Dense { held, .. } => {
                let word = held.iter().position(|bits| *bits != 0)?;
                (word * 64) as u64 + u64::from(held[word].trailing_zeros())
            }
            Store::Sorted(runs) => *runs.first()?.first()?,
        };
        Some(Rank::saturating(min))
    }

    /// The highest rank.
    #[inline]
    pub fn max(&self) -> Option<Rank> {
        let max = match &self.store {
            Store::Dense { held, .. } => {
                let word = held.iter().rposition(|bits| *bits != 0)?;
                (word * 64) as u64 + u64::from(held[word].ilog2())
            }
            Store::Sorted(runs) => *runs.last()?.last()?,
        };
        Some(Rank::saturating(max))
    }
}

/// Converts counts to sorted runs; no run is empty.
fn runs_of(counts: &[u32]) -> Vec<Vec<u64>> {
    let ranks = counts.iter().zip(0u64..).flat_map(|(count, rank)| std::iter::repeat_n(rank, *count as usize));
    ranks.collect::<Vec<_>>().chunks(RUN / 2).map(<[u64]>::to_vec).collect()
}

fn insert_sorted(runs: &mut Vec<Vec<u64>>, rank: u64) {
    if runs.is_empty() {
        runs.push(Vec::new());
    }
    let at = runs.partition_point(|run| run.last().is_some_and(|last| *last < rank)).min(runs.len() - 1);
    let run = &mut runs[at];
    run.insert(run.partition_point(|held| *held < rank), rank);
    if run.len() == RUN {
        let upper = run.split_off(RUN / 2);
        runs.insert(at + 1, upper);
    }
}

fn remove_sorted(runs: &mut Vec<Vec<u64>>, rank: u64) {
    let at = runs.partition_point(|run| run.last().is_some_and(|last| *last < rank));
    let run = runs.get_mut(at).expect("a rank leaves that never came");
    let place = run.binary_search(&rank).expect("a rank leaves that never came");
    run.remove(place);
    // The last run stays, with its memory, for the next packet that waits alone.
    if run.is_empty() && runs.len() > 1 {
        runs.remove(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a sorted vector, for ranks on both sides of 2^10.
        #[test]
        fn answers_as_a_sorted_list_does(
            bits in 1u32..63,
            steps in proptest::collection::vec((any::<u64>(), any::<bool>()), 1..2000),
        ) {
            let mut multiset = RankMultiset::default();
            let mut sorted: Vec<u64> = Vec::new();
            for (draw, insert) in steps {
                let rank = draw & ((1 << bits) - 1);
                if insert || sorted.is_empty() {
                    multiset.insert(Rank::saturating(rank));
                    sorted.insert(sorted.partition_point(|held| *held < rank), rank);
                } else {
                    let gone = sorted.remove(draw as usize % sorted.len());
                    multiset.remove(Rank::saturating(gone));
                }
                let below = sorted.partition_point(|held| *held < rank) as u64;
                prop_assert_eq!(multiset.below(Rank::saturating(rank)), below);
                prop_assert_eq!(multiset.min().map(Rank::get), sorted.first().copied());
                prop_assert_eq!(multiset.max().map(Rank::get), sorted.last().copied());
                prop_assert_eq!(multiset.below(Rank::MAX), sorted.len() as u64);
            }
        }
    }

    #[test]
    fn the_first_large_rank_keeps_what_was_there() {
        let mut multiset = RankMultiset::default();
        for rank in [5u32, 5, 70_000, 3, 1_023] {
            multiset.insert(Rank::from(rank));
        }
        assert_eq!(multiset.below(Rank::MAX), 5);
        multiset.remove(Rank::from(5));
        assert_eq!(multiset.below(Rank::from(6)), 2);
        assert_eq!(multiset.max(), Some(Rank::from(70_000)));
    }

    #[test]
    #[should_panic(expected = "never came")]
    fn a_rank_that_never_came_cannot_leave() {
        let mut multiset = RankMultiset::default();
        multiset.insert(Rank::from(5));
        multiset.remove(Rank::from(6));
    }
}
