//! A multiset of small ranks that counts those below a bound: a tree of counters, sixteen to a node.

use super::lanes::{Lanes, lane, rank_of};
use alloc::boxed::Box;
use pifolab_units::Rank;

/// Counters in a node: one vector of 16-bit lanes.
const FAN: usize = 16;
/// Levels of the tree, hence digits of a rank.
const LEVELS: usize = 4;
/// Where each level's nodes begin, root first.
const BEGIN: [usize; LEVELS] = [0, 1, 1 + FAN, 1 + FAN + FAN * FAN];
/// Nodes of all levels.
const NODES: usize = BEGIN[LEVELS - 1] + FAN * FAN * FAN;

/// Ranks from here on are too large.
const END: i64 = lane(Rank::saturating(1 << 16));

/// Ranks (as lanes) below 2^16, each with its multiplicity; at most 65,535 of them.
///
/// A rank is four digits of base 16, the root counts first digits, its children second digits, and so on. A count adds
/// up, on the way down, what the lower digits of each node hold: four nodes, whatever the rank and however many ranks
/// are held. The memory is 140 KB, of which few ranks use little.
///
/// Nodes are read and written as whole vectors: reading one soon after a part of it was written would stall.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    nodes: Box<[Node; NODES]>,
}

#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Node([u16; FAN]);

/// One in the counter of a digit.
static ONE: [Node; FAN] = {
    let mut ones = [Node([0; FAN]); FAN];
    let mut digit = 0;
    while digit < FAN {
        ones[digit].0[digit] = 1;
        digit += 1;
    }
    ones
};

/// All bits in the counters of lower digits.
static LOWER: [Node; FAN] = {
    let mut masks = [Node([0; FAN]); FAN];
    let mut at = 0;
    while at < FAN * FAN {
        if at % FAN < at / FAN {
            masks[at / FAN].0[at % FAN] = u16::MAX;
        }
        at += 1;
    }
    masks
};

/// The node that counts the digit of `rank` at `level`, and that digit.
#[inline(always)]
const fn locate(rank: u16, level: usize) -> (usize, usize) {
    let rest = rank as usize >> (4 * (LEVELS - 1 - level));
    (BEGIN[level] + rest / FAN, rest % FAN)
}

impl Histogram {
    /// The most ranks that it holds.
    pub(super) const MOST: usize = u16::MAX as usize;

    /// Holds nothing.
    pub(super) fn new() -> Self {
        let nodes = alloc::vec![Node([0; FAN]); NODES].into_boxed_slice();
        Self { nodes: nodes.try_into().expect("the vector has that many nodes") }
    }

    /// Whether it can hold `rank`.
    #[inline(always)]
    pub(super) const fn takes(rank: i64) -> bool {
        rank < END
    }

    /// How many ranks held lie below `bound`, of `held` in all.
    #[inline(always)]
    pub(super) fn count_below(&self, bound: i64, held: usize) -> usize {
        if bound >= END {
            return held;
        }
        let bound = rank_of(bound).get() as u16;
        let mut sums = [0; FAN];
        for level in 0..LEVELS {
            let (node, digit) = locate(bound, level);
            for ((sum, count), mask) in sums.iter_mut().zip(&self.nodes[node].0).zip(&LOWER[digit].0) {
                *sum += count & mask;
            }
        }
        // No sum exceeds the ranks held, so none overflows.
        usize::from(sums.iter().sum::<u16>())
    }

    /// Takes in a rank that [is not too large](Self::takes).
    #[inline(always)]
    pub(super) fn insert(&mut self, rank: i64) {
        let rank = rank_of(rank).get() as u16;
        for level in 0..LEVELS {
            let (node, digit) = locate(rank, level);
            for (count, one) in self.nodes[node].0.iter_mut().zip(&ONE[digit].0) {
                *count += one;
            }
        }
    }

    /// Takes in `new`, which [is not too large](Self::takes), and gives up `old`, which is held.
    #[inline(always)]
    pub(super) fn exchange(&mut self, old: i64, new: i64) {
        let old = rank_of(old).get() as u16;
        for level in 0..LEVELS {
            let (node, digit) = locate(old, level);
            for (count, one) in self.nodes[node].0.iter_mut().zip(&ONE[digit].0) {
                *count -= one;
            }
        }
        self.insert(new);
    }

    /// [`exchange`](Self::exchange), and how many of the ranks held before, `held` in all, lay below `bound`.
    #[inline]
    pub(super) fn exchange_and_count(&mut self, old: i64, new: i64, bound: i64, held: usize, lanes: Lanes) -> usize {
        match lanes {
            Lanes::Scalar => self.exchange_and_count_in_vectors(old, new, bound, held),
            // SAFETY: `Lanes::detect` found the feature, which the wider vectors include.
            #[cfg(target_arch = "x86_64")]
            Lanes::Avx2 | Lanes::Avx512 => unsafe { exchange_and_count_avx2(self, old, new, bound, held) },
        }
    }

    /// In whatever vectors the caller is compiled for. Counted before the nodes change, so that the count waits for
    /// nothing that was just written.
    #[inline(always)]
    fn exchange_and_count_in_vectors(&mut self, old: i64, new: i64, bound: i64, held: usize) -> usize {
        let count = self.count_below(bound, held);
        self.exchange(old, new);
        count
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn exchange_and_count_avx2(histogram: &mut Histogram, old: i64, new: i64, bound: i64, held: usize) -> usize {
    histogram.exchange_and_count_in_vectors(old, new, bound, held)
}
