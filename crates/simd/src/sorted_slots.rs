//! Slots in ascending order of rank, in sorted blocks.

use super::lanes::{Lanes, in_lanes, lane, rank_of};
use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// Places per block. At the papers' occupancy (80), a single block suffices, searched by wide vectors and shifted
/// within the first-level cache. At 10,000 there are about a hundred blocks.
const BLOCK: usize = 128;

/// Slot numbers in ascending order of rank, equal ranks in order of arrival. Both ends can be removed.
///
/// Blocks hold up to 128 sorted ranks, and a row of fences defines the block of each rank. Removing the first or last
/// is O(1). An insertion searches n/96 fences and one block, and shifts at most half a block: the shorter side moves. A
/// full block splits. Blocks shrink only at the two ends of the order, so merges are unnecessary.
#[expect(clippy::vec_box, reason = "a split inserts among the blocks: better eight bytes each than 1.5 KB")]
#[derive(Debug)]
pub struct SortedSlots {
    /// Blocks in ascending order. At least one block; only a single block may be empty.
    blocks: Vec<Box<Block>>,
    /// Ranks from `fences[i]` up to (not including) `fences[i + 1]` belong to block i. The first fence counts as 0.
    fences: Vec<i64>,
    /// Emptied blocks, reused by the next splits.
    spare: Vec<Box<Block>>,
    lanes: Lanes,
}

clone_by_field!(SortedSlots { blocks, fences, spare, lanes });

/// Ranks and the slots of their items, at the indices `start..end`.
#[derive(Clone, Debug)]
struct Block {
    start: usize,
    end: usize,
    ranks: [i64; BLOCK],
    slots: [u32; BLOCK],
}

impl Block {
    fn empty() -> Box<Self> {
        Box::new(Self { start: BLOCK / 2, end: BLOCK / 2, ranks: [0; BLOCK], slots: [0; BLOCK] })
    }

    #[inline(always)]
    fn at(&self, at: usize) -> (Rank, u32) {
        (rank_of(self.ranks[at]), self.slots[at])
    }

    fn is_full(&self) -> bool {
        self.end - self.start == BLOCK
    }

    /// Inserts a rank before index `at`: moves the shorter side that has room.
    #[inline]
    fn insert(&mut self, at: usize, rank: i64, slot: u32) {
        let Self { start, end, ranks, slots } = self;
        let to_the_right = *start == 0 || (*end < BLOCK && *end - at <= at - *start);
        let at = if to_the_right {
            ranks.copy_within(at..*end, at + 1);
            slots.copy_within(at..*end, at + 1);
            *end += 1;
            at
        } else {
            ranks.copy_within(*start..at, *start - 1);
            slots.copy_within(*start..at, *start - 1);
            *start -= 1;
            at - 1
        };
        ranks[at] = rank;
        slots[at] = slot;
    }
}

impl Default for SortedSlots {
    fn default() -> Self {
        Self {
            blocks: alloc::vec![Block::empty()],
            fences: alloc::vec![lane(Rank::ZERO)],
            spare: Vec::new(),
            lanes: Lanes::detect(),
        }
    }
}

impl SortedSlots {
    /// Inserts a slot after all slots of lower or equal rank.
    #[inline(always)]
    pub fn insert(&mut self, rank: Rank, slot: u32) {
        let rank = lane(rank);
        if self.insert_at_front(rank, slot) {
            return;
        }
        in_lanes!(self.lanes, (lanes, order: &mut SortedSlots = self, rank: i64 = rank, slot: u32 = slot) -> () {
            order.insert_in_place(rank, slot, lanes);
        });
    }

    /// The lowest rank and its slot; of equal ranks the first inserted.
    #[inline(always)]
    pub fn first(&self) -> Option<(Rank, u32)> {
        self.blocks.first().filter(|block| block.start < block.end).map(|block| block.at(block.start))
    }

    /// The highest rank and its slot; of equal ranks the last inserted.
    #[inline(always)]
    pub fn last(&self) -> Option<(Rank, u32)> {
        self.blocks.last().filter(|block| block.start < block.end).map(|block| block.at(block.end - 1))
    }

    /// Removes and returns the slot of the lowest rank; of equal ranks the first inserted.
    #[inline(always)]
    pub fn pop_first(&mut self) -> Option<u32> {
        let block = &mut *self.blocks[0];
        if block.start == block.end {
            return None;
        }
        let slot = block.slots[block.start];
        block.start += 1;
        if block.start == block.end {
            self.retire(0);
        }
        Some(slot)
    }

    /// Removes and returns the slot of the highest rank; of equal ranks the last inserted.
    #[inline(always)]
    pub fn pop_last(&mut self) -> Option<u32> {
        let index = self.blocks.len() - 1;
        let block = &mut *self.blocks[index];
        if block.start == block.end {
            return None;
        }
        block.end -= 1;
        let slot = block.slots[block.end];
        if block.start == block.end {
            self.retire(index);
        }
        Some(slot)
    }

    /// The ranks and slots in descending order.
    pub fn iter_from_last(&self) -> impl Iterator<Item = (Rank, u32)> {
        self.blocks.iter().rev().flat_map(|block| (block.start..block.end).rev().map(move |at| block.at(at)))
    }

    /// Inserts a rank before all others, if it is lower and the first block has room there. This needs no search and no
    /// shift. If the lowest ranks leave constantly, most new ranks are lower than the remaining ones.
    #[inline(always)]
    fn insert_at_front(&mut self, rank: i64, slot: u32) -> bool {
        let Block { start, ranks, slots, .. } = &mut *self.blocks[0];
        // An empty block also has room here; its old contents have no effect.
        let fits = *start > 0 && rank < ranks[*start];
        if fits {
            *start -= 1;
            (ranks[*start], slots[*start]) = (rank, slot);
        }
        fits
    }

    /// Inserts a rank after all lower or equal ranks.
    #[inline(always)]
    fn insert_in_place(&mut self, rank: i64, slot: u32, lanes: Lanes) {
        let index = self.block_of(rank, lanes);
        let block = &mut *self.blocks[index];
        if block.is_full() {
            self.insert_full(index, rank, slot);
            return;
        }
        let at = block.start + lanes.count_below(&block.ranks[block.start..block.end], rank + 1);
        block.insert(at, rank, slot);
    }

    /// The index of the last block whose fence is not above the rank.
    #[inline(always)]
    fn block_of(&self, rank: i64, lanes: Lanes) -> usize {
        /// Above this number of fences, binary search is faster than counting.
        const HALVING: usize = 256;
        match self.fences.len() {
            1 => 0,
            2..=HALVING => lanes.count_below(&self.fences[1..], rank + 1),
            _ => self.fences[1..].partition_point(|fence| *fence <= rank),
        }
    }

    /// Splits a full block and inserts the rank. A rank after all others starts a new block, so that ever-growing ranks
    /// (arrival times, virtual times) fill their blocks.
    #[cold]
    #[inline(never)]
    fn insert_full(&mut self, index: usize, rank: i64, slot: u32) {
        let mut upper = self.spare.pop().unwrap_or_else(Block::empty);
        let block = &mut *self.blocks[index];
        if index + 1 == self.fences.len() && block.ranks[BLOCK - 1] <= rank {
            (upper.start, upper.end) = (0, 1);
            (upper.ranks[0], upper.slots[0]) = (rank, slot);
            self.fences.push(rank);
            self.blocks.push(upper);
            return;
        }
        // Both halves move to the middle of their blocks, with room on both sides.
        const HALF: usize = BLOCK / 2;
        const QUARTER: usize = BLOCK / 4;
        upper.ranks[QUARTER..QUARTER + HALF].copy_from_slice(&block.ranks[HALF..]);
        upper.slots[QUARTER..QUARTER + HALF].copy_from_slice(&block.slots[HALF..]);
        (upper.start, upper.end) = (QUARTER, QUARTER + HALF);
        block.ranks.copy_within(..HALF, QUARTER);
        block.slots.copy_within(..HALF, QUARTER);
        (block.start, block.end) = (QUARTER, QUARTER + HALF);
        let fence = upper.ranks[QUARTER];
        let half = if rank < fence { block } else { &mut *upper };
        let at = half.start + self.lanes.count_below(&half.ranks[half.start..half.end], rank + 1);
        half.insert(at, rank, slot);
        self.fences.insert(index + 1, fence);
        self.blocks.insert(index + 1, upper);
    }

    /// Stores an emptied block for reuse, or centres it if it is the only block.
    #[cold]
    #[inline(never)]
    fn retire(&mut self, index: usize) {
        if self.blocks.len() == 1 {
            (self.blocks[0].start, self.blocks[0].end) = (BLOCK / 2, BLOCK / 2);
            self.fences[0] = lane(Rank::ZERO);
        } else {
            self.spare.push(self.blocks.remove(index));
            self.fences.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Op {
        Insert(u64),
        First,
        Last,
    }

    fn ops(ranks: impl Strategy<Value = u64> + 'static) -> impl Strategy<Value = Vec<Op>> {
        let op = prop_oneof![5 => ranks.prop_map(Op::Insert), 1 => Just(Op::First), 1 => Just(Op::Last)];
        proptest::collection::vec(op, 0..pifolab_testkit::steps(1500, 150) as usize)
    }

    /// Compares with a sorted list of (rank, arrival).
    fn agrees_with_a_sorted_list(ops: Vec<Op>) {
        let mut sorted = SortedSlots::default();
        let mut list: Vec<(Rank, u32)> = Vec::new();
        for (slot, op) in (0..).zip(ops) {
            match op {
                Op::Insert(rank) => {
                    let rank = Rank::saturating(rank);
                    sorted.insert(rank, slot);
                    let at = list.partition_point(|(other, _)| *other <= rank);
                    list.insert(at, (rank, slot));
                }
                Op::First => {
                    let expected = (!list.is_empty()).then(|| list.remove(0).1);
                    assert_eq!(sorted.pop_first(), expected);
                }
                Op::Last => assert_eq!(sorted.pop_last(), list.pop().map(|(_, slot)| slot)),
            }
            assert_eq!((sorted.first(), sorted.last()), (list.first().copied(), list.last().copied()));
        }
        assert!(sorted.iter_from_last().eq(list.into_iter().rev()));
    }

    proptest! {
        #![proptest_config(pifolab_testkit::cases(60))]

        #[test]
        fn few_ranks_keep_their_order_of_arrival(ops in ops(0u64..4)) {
            agrees_with_a_sorted_list(ops);
        }

        #[test]
        fn any_ranks_come_out_sorted(ops in ops(prop_oneof![0u64..1000, 0..=u64::MAX >> 1])) {
            agrees_with_a_sorted_list(ops);
        }
    }

    #[test]
    fn growing_and_falling_ranks_fill_many_blocks() {
        let steps = pifolab_testkit::steps(10_000, 200) as u32;
        for reverse in [false, true] {
            let mut sorted = SortedSlots::default();
            for step in 0..steps {
                let rank = if reverse { steps - 1 - step } else { step };
                sorted.insert(Rank::from(rank), rank);
            }
            assert!(core::iter::from_fn(|| sorted.pop_first()).eq(0..steps));
        }
    }
}
