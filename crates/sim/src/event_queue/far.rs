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
    /// For each coarse bucket its list, the latest scheduled first.
    heads: Box<[u32]>,
    /// Time, order of scheduling, node.
    heap: BinaryHeap<Reverse<(u64, u64, u32)>>,
    scheduled: u64,
}

impl Far {
    /// Nothing; the first coarse bucket will be that of number `next`.
    pub(super) fn new(next: u64) -> Self {
        Self { next, heads: vec![NONE; COARSE].into_boxed_slice(), heap: BinaryHeap::new(), scheduled: 0 }
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
        let head = &mut self.heads[bucket as usize % COARSE];
        nodes.at_mut(node).next = std::mem::replace(head, node);
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
        let list = std::mem::replace(&mut self.heads[self.next as usize % COARSE], NONE);
        self.next += 1;
        self.look_beyond(nodes, shift);
        nodes.reverse(list)
    }

    /// Goes on to a coarse bucket before which there is nothing.
    pub(super) fn skip_to<E: Copy>(&mut self, nodes: &mut Nodes<E>, bucket: u64, shift: u32) {
        self.next = bucket;
        self.look_beyond(nodes, shift);
    }

    /// When the first event is due; those that were cancelled are dropped on the way.
    pub(super) fn first_time<E: Copy>(&mut self, nodes: &mut Nodes<E>) -> Option<u64> {
        let first = self.next as usize % COARSE;
        for bucket in (first..COARSE).chain(0..first) {
            if self.heads[bucket] == NONE {
                continue;
            }
            // Twice round: in the order as it was.
            let list = nodes.reverse(self.heads[bucket]);
            self.heads[bucket] = nodes.reverse(list);
            let mut node = list_or(self.heads[bucket]);
            let mut earliest = None;
            while let Some(number) = node {
                let time = nodes.at(number).entry.time;
                earliest = Some(earliest.map_or(time, |other: u64| other.min(time)));
                node = list_or(nodes.at(number).next);
            }
            if earliest.is_some() {
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
}

/// The node of this number, if it is one.
fn list_or(node: u32) -> Option<u32> {
    (node != NONE).then_some(node)
}
