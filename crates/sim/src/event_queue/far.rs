//! Events beyond the wheel: a coarse wheel, and a heap for events beyond that. Most timers expire long after they were
//! set, and many are reset before: neither should cost an entry in a long heap.

use super::nodes::{NONE, Nodes};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The number of slots in a coarse bucket.
pub(super) const SLOTS_PER_COARSE: u64 = 256;
/// The number of coarse buckets: with 4 ns in a slot they reach 34 ms.
const COARSE: usize = 1 << 15;

/// Events beyond the wheel, as lists of nodes.
#[derive(Debug)]
pub(super) struct Far {
    /// The number of the first coarse bucket, which the wheel takes next; bucket n is at n mod 2^15.
    next: u64,
    /// For each coarse bucket its list, latest scheduled first, and in `occupied` a bit that is set if it has one.
    heads: Box<[u32]>,
    occupied: Box<[u64]>,
    /// Time, order of scheduling, node.
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    scheduled: u64,
}

impl Far {
    /// No events; the first coarse bucket has the number `next`.
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

    /// Moves the events of the heap within reach to the coarse wheel.
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

    /// Removes the first coarse bucket; returns its list in the order in which the events were scheduled.
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

    /// Skips to a coarse bucket before which there is no event.
    pub(super) fn skip_to<E: Copy>(&mut self, nodes: &mut Nodes<E>, bucket: u64, shift: u32) {
        self.next = bucket;
        self.look_beyond(nodes, shift);
    }

    /// The time of the first event. Drops cancelled events that it finds.
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

    /// The first occupied coarse bucket.
    fn first_occupied(&self) -> Option<usize> {
        let first = self.next as usize % COARSE;
        let found = |word: usize, bits: u64| (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize);
        let (word, words) = (first / 64, self.occupied.len());
        found(word, self.occupied[word] & u64::MAX << (first % 64)).or_else(|| {
            // The scan wraps around and ends with the word itself, whose lower bits are the farthest buckets.
            (1..=words).map(|step| (word + step) % words).find_map(|word| found(word, self.occupied[word]))
        })
    }
}
