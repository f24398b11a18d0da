//! The events of the first bucket of the wheel.

use super::heap::{Heap, Numbered};
use super::lists::{Entry, Listed, Lists};

/// The events of one bucket, earliest first, events of equal time in the order in which they were scheduled.
#[derive(Debug)]
pub(super) struct Due<E> {
    /// The slot whose events are here, or the end of time.
    pub(super) slot: u64,
    /// The events that its list had, and how many of them have popped.
    sorted: Vec<Numbered<E>>,
    popped: usize,
    /// The events that were scheduled since.
    pub(super) late: Heap<E>,
}

impl<E> Default for Due<E> {
    fn default() -> Self {
        Self { slot: u64::MAX, sorted: Vec::new(), popped: 0, late: Heap::default() }
    }
}

impl<E: Copy> Due<E> {
    /// Takes over the list of a slot. No event of another slot is left.
    pub(super) fn take_over(&mut self, slot: u64, list: &mut u32, lists: &mut Lists<E>) {
        self.slot = slot;
        self.sorted.clear();
        self.popped = 0;
        while let Some(chunk) = lists.take_chunk(list) {
            let numbered = (self.sorted.len() as u64..).zip(chunk.events());
            self.sorted.extend(numbered.map(|(number, listed)| Numbered { listed: *listed, number }));
        }
        self.sorted.sort_unstable();
    }

    /// The first event.
    pub(super) fn first(&self) -> Option<&Entry<E>> {
        let (sorted, late) = (self.sorted.get(self.popped), self.late.first());
        match (sorted.map(|sorted| &sorted.listed.entry), late.map(|late| &late.entry)) {
            (Some(sorted), Some(late)) if sorted.time > late.time => Some(late),
            (sorted, late) => sorted.or(late),
        }
    }

    /// Usually the event that pops two after the first.
    #[inline(always)]
    pub(super) fn later(&self) -> Option<&E> {
        self.sorted.get(self.popped + 2).map(|later| &later.listed.entry.event)
    }

    /// Takes the first event, which may be cancelled, if it is due at or before `limit`.
    pub(super) fn pop(&mut self, limit: u64) -> Option<Listed<E>> {
        let time = self.first()?.time;
        if time > limit {
            return None;
        }
        match self.sorted.get(self.popped) {
            Some(sorted) if sorted.listed.entry.time == time => {
                self.popped += 1;
                Some(sorted.listed)
            }
            _ => self.late.pop(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sorted.len() - self.popped + self.late.len()
    }
}
