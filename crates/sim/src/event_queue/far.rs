//! Events beyond the wheel: a coarse wheel, and a heap for events beyond that. Most timers expire long after they were
//! set, and many are reset before: neither should cost an entry in a long heap.

use super::heap::Heap;
use super::lists::{Listed, Lists, NONE};

/// The number of slots in a coarse bucket.
pub(super) const SLOTS_PER_COARSE: u64 = 256;
/// The number of coarse buckets: with 4 ns in a slot they reach 34 ms.
const COARSE: usize = 1 << 15;

/// Events beyond the wheel.
#[derive(Debug)]
pub(super) struct Far<E> {
    /// The number of the first coarse bucket, which the wheel takes next; bucket n is at n mod 2^15.
    next: u64,
    /// For each coarse bucket its list, and in `occupied` a bit that is set if it has events.
    buckets: Box<[u32]>,
    occupied: Box<[u64]>,
    beyond: Heap<E>,
}

impl<E: Copy> Far<E> {
    /// No events; the first coarse bucket has the number `next`.
    pub(super) fn new(next: u64) -> Self {
        Self {
            next,
            buckets: vec![NONE; COARSE].into_boxed_slice(),
            occupied: vec![0; COARSE / 64].into_boxed_slice(),
            beyond: Heap::default(),
        }
    }

    /// Adds an event that is due in this slot.
    pub(super) fn add(&mut self, lists: &mut Lists<E>, event: Listed<E>, slot: u64) {
        let bucket = slot / SLOTS_PER_COARSE;
        if bucket - self.next < COARSE as u64 {
            self.list(lists, event, bucket);
        } else {
            self.beyond.push(event);
        }
    }

    fn list(&mut self, lists: &mut Lists<E>, event: Listed<E>, bucket: u64) {
        let bucket = bucket as usize % COARSE;
        lists.push(&mut self.buckets[bucket], event);
        self.occupied[bucket / 64] |= 1 << (bucket % 64);
    }

    /// Skips to the coarse bucket `next`, before which there is no event, and moves the events of the heap within reach
    /// to the coarse wheel.
    pub(super) fn skip_to(&mut self, lists: &mut Lists<E>, next: u64, shift: u32) {
        self.next = next;
        while let Some(first) = self.beyond.first() {
            let bucket = (first.entry.time >> shift) / SLOTS_PER_COARSE;
            if bucket - self.next >= COARSE as u64 {
                return;
            }
            if let Some(event) = self.beyond.pop() {
                self.list(lists, event, bucket);
            }
        }
    }

    /// Removes the first coarse bucket; returns its list.
    pub(super) fn take_bucket(&mut self, lists: &mut Lists<E>, shift: u32) -> u32 {
        let bucket = self.next as usize % COARSE;
        self.occupied[bucket / 64] &= !(1 << (bucket % 64));
        let list = std::mem::replace(&mut self.buckets[bucket], NONE);
        self.skip_to(lists, self.next + 1, shift);
        list
    }

    /// The time of the first event, which may be cancelled.
    pub(super) fn first_time(&self, lists: &Lists<E>) -> Option<u64> {
        match self.first_occupied() {
            Some(bucket) => lists.first_time(self.buckets[bucket]),
            None => self.beyond.first().map(|first| first.entry.time),
        }
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

    /// The number of events in no list.
    pub(super) fn beyond(&self) -> usize {
        self.beyond.len()
    }
}
