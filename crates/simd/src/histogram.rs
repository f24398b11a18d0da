//! A multiset of small ranks that counts the ranks below a bound: a tree of counters, with sixteen counters per node.

use super::lanes::{Lanes, lane, rank_of};
use super::octet::Octet;
use alloc::boxed::Box;
use pifolab_units::Rank;

/// Counters per node: two vectors of 16-bit lanes, or one vector of twice the width.
const FAN: usize = 16;
/// Levels of the tree, which is the number of digits of a rank.
const LEVELS: usize = 4;
/// The index of each level's first node, root first.
const BEGIN: [usize; LEVELS] = [0, 1, 1 + FAN, 1 + FAN + FAN * FAN];
/// The number of nodes of all levels.
const NODES: usize = BEGIN[LEVELS - 1] + FAN * FAN * FAN;

/// Ranks from this limit on are too large.
const END: i64 = lane(Rank::saturating(1 << 16));

/// A multiset of at most 65,535 ranks (as lanes) below 2^16.
///
/// A rank is four digits of base 16. The root counts first digits, its children second digits, and so on. A count sums
/// the counters of lower digits on the path down: four nodes, for any rank and any number of ranks. The memory is 140
/// KB, of which few ranks touch only a small part.
///
/// Nodes are read and written as whole vectors, because reading a vector soon after a partial write would stall.
#[derive(Debug)]
pub(super) struct Histogram {
    nodes: Box<[Node; NODES]>,
}

clone_by_field!(Histogram { nodes });

#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
struct Node {
    low: Octet,
    high: Octet,
}

impl Node {
    const fn new(counters: [u16; FAN]) -> Self {
        let (mut low, mut high, mut at) = ([0; FAN / 2], [0; FAN / 2], 0);
        while at < FAN / 2 {
            (low[at], high[at]) = (counters[at], counters[at + FAN / 2]);
            at += 1;
        }
        Self { low: Octet::new(low), high: Octet::new(high) }
    }

    /// Adds counter by counter.
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self { low: self.low.plus(other.low), high: self.high.plus(other.high) }
    }

    /// Subtracts counter by counter.
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self { low: self.low.minus(other.low), high: self.high.minus(other.high) }
    }
}

/// For each digit, a node with 1 in the digit's counter.
static ONE: [Node; FAN] = {
    let mut ones = [Node::new([0; FAN]); FAN];
    let mut digit = 0;
    while digit < FAN {
        let mut counters = [0; FAN];
        counters[digit] = 1;
        ones[digit] = Node::new(counters);
        digit += 1;
    }
    ones
};

/// For each digit, a node with all bits set in the counters of lower digits.
static LOWER: [Node; FAN] = {
    let mut masks = [Node::new([0; FAN]); FAN];
    let (mut digit, mut counters) = (1, [0; FAN]);
    while digit < FAN {
        counters[digit - 1] = u16::MAX;
        masks[digit] = Node::new(counters);
        digit += 1;
    }
    masks
};

/// The index of the node that counts the digit of `rank` at `level`, and the digit.
#[inline(always)]
const fn locate(rank: u16, level: usize) -> (usize, usize) {
    let rest = rank as usize >> (4 * (LEVELS - 1 - level));
    (BEGIN[level] + rest / FAN, rest % FAN)
}

impl Histogram {
    /// The size in memory in bytes, independent of the number of ranks.
    pub(super) const BYTES: usize = size_of::<[Node; NODES]>();

    /// The largest number of ranks.
    pub(super) const MOST: usize = u16::MAX as usize;

    /// Creates an empty histogram.
    pub(super) fn new() -> Self {
        let nodes = alloc::vec![Node::new([0; FAN]); NODES].into_boxed_slice();
        Self { nodes: nodes.try_into().expect("the vector has that many nodes") }
    }

    /// Whether `rank` is small enough for the histogram.
    #[inline(always)]
    pub(super) const fn takes(rank: i64) -> bool {
        rank < END
    }

    /// The number of ranks below `bound`, of `held` ranks in total.
    #[inline(always)]
    pub(super) fn count_below(&self, bound: i64, held: usize) -> usize {
        if bound >= END {
            return held;
        }
        let bound = rank_of(bound).get() as u16;
        let mut sums = Octet::ZERO;
        for level in 0..LEVELS {
            let (node, digit) = locate(bound, level);
            let (node, mask) = (&self.nodes[node], &LOWER[digit]);
            sums = sums.plus(node.low.and(mask.low)).plus(node.high.and(mask.high));
        }
        // The sum is at most the number of ranks, so it does not overflow.
        usize::from(sums.sum())
    }

    /// Inserts a rank that [is small enough](Self::takes).
    #[inline(always)]
    pub(super) fn insert(&mut self, rank: i64) {
        let rank = rank_of(rank).get() as u16;
        for level in 0..LEVELS {
            let (node, digit) = locate(rank, level);
            self.nodes[node] = self.nodes[node].plus(ONE[digit]);
        }
    }

    /// Inserts `new`, which [is small enough](Self::takes), and removes `old`, which the histogram must contain.
    #[inline(always)]
    pub(super) fn exchange(&mut self, old: i64, new: i64) {
        let old = rank_of(old).get() as u16;
        for level in 0..LEVELS {
            let (node, digit) = locate(old, level);
            self.nodes[node] = self.nodes[node].minus(ONE[digit]);
        }
        self.insert(new);
    }

    /// Like [`exchange`](Self::exchange); returns the number of ranks below `bound` before the exchange, of `held` in
    /// total. The count runs before the nodes change, so it does not wait for recent writes.
    #[inline]
    pub(super) fn exchange_and_count(&mut self, old: i64, new: i64, bound: i64, held: usize, lanes: Lanes) -> usize {
        match lanes {
            Lanes::Scalar => {
                let count = self.count_below(bound, held);
                self.exchange(old, new);
                count
            }
            // SAFETY: `Lanes::detect` found the feature, which AVX-512 includes.
            #[cfg(target_arch = "x86_64")]
            Lanes::Avx2 | Lanes::Avx512 => unsafe { x86::exchange_and_count(self, old, new, bound, held) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{END, Histogram, LEVELS, LOWER, Node, ONE, Octet, locate, rank_of};
    use core::arch::x86_64::*;

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(node: &Node) -> __m256i {
        // SAFETY: a node is one aligned vector.
        unsafe { _mm256_load_si256(core::ptr::from_ref(node).cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(node: &mut Node, counters: __m256i) {
        // SAFETY: a node is one aligned vector.
        unsafe { _mm256_store_si256(core::ptr::from_mut(node).cast(), counters) }
    }

    /// [`Histogram::exchange_and_count`] with one vector per node.
    #[target_feature(enable = "avx2")]
    pub(super) fn exchange_and_count(histogram: &mut Histogram, old: i64, new: i64, bound: i64, held: usize) -> usize {
        let nodes = &mut *histogram.nodes;
        let count = if bound >= END {
            held
        } else {
            let (bound, mut sums) = (rank_of(bound).get() as u16, _mm256_setzero_si256());
            for level in 0..LEVELS {
                let (node, digit) = locate(bound, level);
                sums = _mm256_add_epi16(sums, _mm256_and_si256(load(&nodes[node]), load(&LOWER[digit])));
            }
            let halves = [_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums)].map(Octet::of);
            usize::from(halves[0].plus(halves[1]).sum())
        };
        let (old, new) = (rank_of(old).get() as u16, rank_of(new).get() as u16);
        for level in 0..LEVELS {
            let (node, digit) = locate(old, level);
            let counters = _mm256_sub_epi16(load(&nodes[node]), load(&ONE[digit]));
            store(&mut nodes[node], counters);
        }
        for level in 0..LEVELS {
            let (node, digit) = locate(new, level);
            let counters = _mm256_add_epi16(load(&nodes[node]), load(&ONE[digit]));
            store(&mut nodes[node], counters);
        }
        count
    }
}
