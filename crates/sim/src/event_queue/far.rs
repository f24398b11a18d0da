//! Events beyond the wheel: a coarse wheel, and a heap for what lies beyond that. Most timers expire long after they were set,
//! and many are set anew before: neither should cost a place in a long heap.

use super::nodes::{NONE, Nodes};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A coarse bucket has the events of this many slots.
pub(super) const SLOTS_PER_COARSE: u64 = 256;
/// Coarse buckets: with 4 ns in a slot they reach 34 ms.
const COARSE: usize = 1 << 15;

/// Events beyond the wheel, as lists of nodes.
#[derive(Debug)]
pub(super) struct Far {
    /// The number of the first coarse bucket, which is the next that the wheel takes; that of number n is at n mod 2^15.
    next: u64,
    /// For each coarse bucket its list, the latest scheduled first, and a bit that tells whether there is one.
    heads: Box<[u32]>,
    occupied: Box<[u64]>,
    /// Time, order of scheduling, node.
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    scheduled: u64,
}

impl Far {
    /// Nothing; the first coarse bucket will be that of number `next`.
    pub(super) fn new(next: u64) -> Self {
        Self {
            next,
            heads: vec![NONE; COARSE].into_boxed_slice(),
            occupied: vec![0; COARSE / 64].into_boxed_slice(),
            heap: BinaryHeap::new(),
            scheduled: 0,
        }
    }

    /// Adds a node whose event is due in this slot.
    pub(super) fn add<E: Copy>(&mut self, nodes: &mut Nodes<E>, node: u32, slot: u64) {
        let bucket = slot / SLOTS_PER_COARSE;
        if bucket - self.next < COARSE as u64 {
            self.list(nodes, node, bucket);
        } else {
            self.heap.push(Reverse((nodes.at(node).entry.time, self.scheduled, node)));
            self.scheduled += 1;
        }
    }

    fn list<E: Copy>(&mut self, nodes: &mut Nodes<E>, node: u32, bucket: u64) {
        let bucket = bucket as usize % COARSE;
        nodes.at_mut(node).next = std::mem::replace(&mut self.heads[bucket], node);
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
    }

    /// Moves to the coarse wheel what has come within its reach.
    fn look_beyond<E: Copy>(&mut self, nodes: &mut Nodes<E>, shift: u32) {
        while let Some(&Reverse((time, _, node))) = self.heap.peek() {
            let bucket = (time >> shift) / SLOTS_PER_COARSE;
            if bucket - self.next >= COARSE as u64 {
                return;
            }
            self.heap.pop();
            self.list(nodes, node, bucket);
        }
    }

    /// Takes the first coarse bucket out: a list in the order in which its events were scheduled.
    pub(super) fn take_bucket<E: Copy>(&mut self, nodes: &mut Nodes<E>, shift: u32) -> u32 {
        let list = self.empty(self.next as usize % COARSE);
        self.next += 1;
        self.look_beyond(nodes, shift);
        nodes.reverse(list)
    }

    fn empty(&mut self, bucket: usize) -> u32 {
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        std::mem::replace(&mut self.heads[bucket], NONE)
    }

    /// Goes on to a coarse bucket before which there is nothing.
    pub(super) fn skip_to<E: Copy>(&mut self, nodes: &mut Nodes<E>, bucket: u64, shift: u32) {
        self.next = bucket;
        self.look_beyond(nodes, shift);
    }

    /// When the first event is due; those that were cancelled are dropped on the way.
    pub(super) fn first_time<E: Copy>(&mut self, nodes: &mut Nodes<E>) -> Option<u64> {
        while let Some(bucket) = self.first_occupied() {
            let list = self.empty(bucket);
            let list = nodes.reverse(list);
            let earliest = nodes.times(list).min();
            if earliest.is_some() {
                self.heads[bucket] = nodes.reverse(list);
                self.occupied[bucket / 64] |= 1 << (bucket % 64);
                return earliest;
            }
        }
        while let Some(&Reverse((time, _, node))) = self.heap.peek() {
            if !nodes.is_cancelled(node) {
                return Some(time);
            }
            nodes.give_back(node);
            self.heap.pop();
        }
        None
    }

    /// The first coarse bucket that has a list.
    fn first_occupied(&self) -> Option<usize> {
        let first = self.next as usize % COARSE;
        let found = |word: usize, bits: u64| (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize);
        let (word, words) = (first / 64, self.occupied.len());
        found(word, self.occupied[word] & u64::MAX << (first % 64)).or_else(|| {
            // Going round, the word itself comes last: its lower bits are the farthest.
            (1..=words).map(|step| (word + step) % words).find_map(|word| found(word, self.occupied[word]))
        })
    }
}
