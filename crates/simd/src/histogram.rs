//! A multiset of small ranks that counts those below a bound: a tree of counters, sixteen to a node.

use super::lanes::{Lanes, lane, rank_of};
use super::octet::Octet;
use alloc::boxed::Box;
use pifolab_units::Rank;

/// Counters in a node: two vectors of 16-bit lanes, or one of twice the width.
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
/// are held. The memory is 140 KB, of which few ranks touch little.
///
/// Nodes are read and written as whole vectors: reading one soon after a part of it was written would stall.
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

    /// Counter by counter.
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        Self { low: self.low.plus(other.low), high: self.high.plus(other.high) }
    }

    /// Counter by counter.
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        Self { low: self.low.minus(other.low), high: self.high.minus(other.high) }
    }
}

/// One in the counter of a digit.
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

/// All bits in the counters of lower digits.
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

/// The node that counts the digit of `rank` at `level`, and that digit.
#[inline(always)]
const fn locate(rank: u16, level: usize) -> (usize, usize) {
    let rest = rank as usize >> (4 * (LEVELS - 1 - level));
    (BEGIN[level] + rest / FAN, rest % FAN)
}

impl Histogram {
    /// The memory that it takes, however few ranks it holds.
    pub(super) const BYTES: usize = size_of::<[Node; NODES]>();

    /// The most ranks that it holds.
    pub(super) const MOST: usize = u16::MAX as usize;

    /// Holds nothing.
    pub(super) fn new() -> Self {
        let nodes = alloc::vec![Node::new([0; FAN]); NODES].into_boxed_slice();
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
        let mut sums = Octet::ZERO;
        for level in 0..LEVELS {
            let (node, digit) = locate(bound, level);
            let (node, mask) = (&self.nodes[node], &LOWER[digit]);
            sums = sums.plus(node.low.and(mask.low)).plus(node.high.and(mask.high));
        }
        // The sum is at most that of the ranks held, so nothing overflows.
        usize::from(sums.sum())
    }

    /// Takes in a rank that [is not too large](Self::takes).
    #[inline(always)]
    pub(super) fn insert(&mut self, rank: i64) {
        let rank = rank_of(rank).get() as u16;
        for level in 0..LEVELS {
            let (node, digit) = locate(rank, level);
            self.nodes[node] = self.nodes[node].plus(ONE[digit]);
        }
    }

    /// Takes in `new`, which [is not too large](Self::takes), and gives up `old`, which is held.
    #[inline(always)]
    pub(super) fn exchange(&mut self, old: i64, new: i64) {
        let old = rank_of(old).get() as u16;
        for level in 0..LEVELS {
            let (node, digit) = locate(old, level);
            self.nodes[node] = self.nodes[node].minus(ONE[digit]);
        }
        self.insert(new);
    }

    /// [`exchange`](Self::exchange), and how many of the ranks held before, `held` in all, lay below `bound`. Counted before
    /// the nodes change, so that the count waits for nothing that was just written.
    #[inline]
    pub(super) fn exchange_and_count(&mut self, old: i64, new: i64, bound: i64, held: usize, lanes: Lanes) -> usize {
        match lanes {
            Lanes::Scalar => {
                let count = self.count_below(bound, held);
                self.exchange(old, new);
                count
            }
            // SAFETY: `Lanes::detect` found the feature, which the wider vectors include.
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
        // SAFETY: a node is one vector, aligned.
        unsafe { _mm256_load_si256(core::ptr::from_ref(node).cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn store(node: &mut Node, counters: __m256i) {
        // SAFETY: a node is one vector, aligned.
        unsafe { _mm256_store_si256(core::ptr::from_mut(node).cast(), counters) }
    }

    /// [`Histogram::exchange_and_count`], a node in one vector.
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
