//! The reference of the event queue: a binary heap.

use super::heap::Numbered;
use super::lists::{Entry, Listed, NONE};
use super::past;
use pifolab_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Future events, earliest first, events of equal time in the order in which they were scheduled. It pops the same events as an
/// [`EventQueue`](super::EventQueue) of [`EqualTimes::Insertion`](crate::equal_times::EqualTimes::Insertion), in O(log n).
#[derive(Debug)]
pub struct PlainEventQueue<E> {
    now: u64,
    scheduled: u64,
    waiting: BinaryHeap<Reverse<Numbered<E>>>,
}

impl<E> Default for PlainEventQueue<E> {
    fn default() -> Self {
        Self { now: 0, scheduled: 0, waiting: BinaryHeap::new() }
    }
}

impl<E> PlainEventQueue<E> {
    /// The number of waiting events.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds an event and returns its number, for [`cancel`](Self::cancel).
    ///
    /// # Panics
    /// If `time` is before the time of the last popped event.
    pub fn schedule(&mut self, time: Time, event: E) -> u64 {
        let (time, number) = (time.as_ps(), self.scheduled);
        if time < self.now {
            past(time, self.now);
        }
        let listed = Listed { entry: Entry { time, event }, name: NONE };
        self.waiting.push(Reverse(Numbered { listed, number }));
        self.scheduled += 1;
        number
    }

    /// Cancels the event with this number; `false` if it does not wait. O(n).
    pub fn cancel(&mut self, number: u64) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|Reverse(waiting)| waiting.number != number);
        self.waiting.len() < before
    }

    /// The next event with its time, if it is due at or before `limit`.
    pub fn pop_until(&mut self, limit: Time) -> Option<(Time, E)> {
        self.waiting.peek().filter(|Reverse(first)| first.listed.entry.time <= limit.as_ps())?;
        let Reverse(Numbered { listed: Listed { entry: Entry { time, event }, .. }, .. }) = self.waiting.pop()?;
        self.now = time;
        Some((Time::from_ps(time), event))
    }
}
