//! Future events, soonest first.
//!
//! A timing wheel of 4096 buckets with a bitmap, a coarse wheel for events beyond its horizon, and a heap for events
//! beyond both. Scheduling costs O(1) for events in a wheel. Buckets only group events; times stay exact: the n events
//! of a bucket are sorted when it is the first, which costs O(log n) for each.
//!
//! A bucket stores up to two events inline, in order, so that most events are written and read once if few wait, without
//! a branch on their number, which cannot be predicted. With a third event, or one that can be cancelled, all events of
//! the bucket are in a list, in the order in which they were scheduled.

mod due;
mod far;
mod heap;
mod lists;
mod plain;

use crate::equal_times::EqualTimes;
use due::Due;
use far::{Far, SLOTS_PER_COARSE};
use lists::{Entry, Listed, Lists, NONE, Names};
use pifolab_units::{Span, Time};
pub use plain::PlainEventQueue;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

const BUCKETS: usize = 4096;
const WORDS: usize = BUCKETS / 64;
/// The wheel always covers at least this many slots ahead.
const KEPT: u64 = BUCKETS as u64 - SLOTS_PER_COARSE;

/// The id of a scheduled event, for [`EventQueue::cancel`] of the same queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    name: u32,
    generation: u32,
    queue: NonZeroU32,
}

/// A number for each queue, so that no queue accepts an id of another. It affects no result.
fn next_queue() -> NonZeroU32 {
    static QUEUES: AtomicU32 = AtomicU32::new(1);
    loop {
        if let Some(number) = NonZeroU32::new(QUEUES.fetch_add(1, Ordering::Relaxed)) {
            return number;
        }
    }
}

/// Up to two events stored inline in a bucket, earliest first. Slots beyond the count are stale.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Own<E>([Entry<E>; 2]);

/// One bit for each bucket.
type Bits = [u64; WORDS];

/// The queue of future events.
///
/// ```
/// use pifolab_sim::equal_times::EqualTimes;
/// use pifolab_sim::event_queue::EventQueue;
/// use pifolab_units::{Span, Time};
/// let mut queue = EventQueue::new(Span::from_us(10), EqualTimes::Insertion);
/// queue.schedule(Time::from_ns(5), "second");
/// let never = queue.schedule(Time::from_ns(3), "cancelled");
/// queue.schedule(Time::from_ns(5), "third");
/// queue.schedule(Time::from_ns(1), "first");
/// assert!(queue.cancel(never));
/// let order: Vec<_> = std::iter::from_fn(|| queue.pop_until(Time::MAX)).map(|(_, event)| event).collect();
/// assert_eq!(order, ["first", "second", "third"]);
/// ```
#[derive(Debug)]
pub struct EventQueue<E> {
    now: u64,
    /// Bucket width as a power of two, in picoseconds. A time shifted by it is a slot; slot s lies in bucket s mod 4096.
    shift: u32,
    /// The wheel holds the slots from that of `now` up to, but not including, this one: a multiple of the slots of a
    /// coarse bucket, and at most 4096 beyond the slot of `now`.
    end: u64,
    /// The first occupied slot, or the end of time.
    first: u64,
    /// When the first occupied slot reaches this one, the wheel can take another coarse bucket.
    fetch_at: u64,
    /// The buckets that hold events.
    occupied: Bits,
    /// The buckets with two inline events or a list.
    full: Bits,
    /// The buckets with a list, which have no inline event.
    listed: Bits,
    own: Box<[Own<E>; BUCKETS]>,
    list_of: Box<[u32; BUCKETS]>,
    lists: Lists<E>,
    names: Names,
    /// The events of the first bucket, once one of its list has popped.
    due: Due<E>,
    far: Far<E>,
    equal_times: EqualTimes,
    batch: Vec<E>,
    /// The number of this queue in the ids of its events.
    number: NonZeroU32,
}

impl<E: Copy + Default> EventQueue<E> {
    /// An empty queue at time 0 whose wheel reaches at least `reach` ahead; best is a little more than the longest
    /// common delay. The queue cannot distinguish departures: with [`EqualTimes::DeparturesFirst`] events pop as with
    /// [`EqualTimes::Insertion`].
    pub fn new(reach: Span, equal_times: EqualTimes) -> Self {
        let width = (reach.as_ps() / KEPT).max(2).checked_next_power_of_two().unwrap_or(1 << 53);
        Self {
            now: 0,
            shift: width.trailing_zeros().min(53),
            end: BUCKETS as u64,
            first: u64::MAX,
            fetch_at: BUCKETS as u64 - KEPT,
            occupied: [0; WORDS],
            full: [0; WORDS],
            listed: [0; WORDS],
            own: Box::new([Own::default(); BUCKETS]),
            list_of: Box::new([NONE; BUCKETS]),
            lists: Lists::default(),
            names: Names::default(),
            due: Due::default(),
            far: Far::new(BUCKETS as u64 / SLOTS_PER_COARSE),
            equal_times,
            batch: Vec::new(),
            number: next_queue(),
        }
    }

    /// The time of the last event popped, or of a cancelled one behind it, up to the limit of the last
    /// [`pop_until`](Self::pop_until).
    pub fn now(&self) -> Time {
        Time::from_ps(self.now)
    }

    /// The number of waiting events. Counts them, so not for hot paths.
    pub fn len(&self) -> usize {
        let own =
            |word: usize| [self.occupied[word], self.full[word]].map(|bits| (bits & !self.listed[word]).count_ones());
        let own = (0..WORDS).flat_map(own).sum::<u32>() as usize;
        own + self.lists.held + self.due.len() + self.far.beyond() + self.batch.len() - self.names.cancelled
    }

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an event that can be cancelled.
    ///
    /// # Panics
    /// If `time` lies in the past.
    #[inline]
    pub fn schedule(&mut self, time: Time, event: E) -> EventId {
        let time = time.as_ps();
        if time < self.now {
            past(time, self.now);
        }
        let (name, generation) = self.names.give();
        self.add_listed(Listed { entry: Entry { time, event }, name });
        EventId { name, generation, queue: self.number }
    }

    /// Adds an event that cannot be cancelled.
    ///
    /// # Panics
    /// If `time` lies in the past.
    #[inline(always)]
    pub(crate) fn push(&mut self, time: Time, event: E) {
        let time = time.as_ps();
        if time < self.now {
            past(time, self.now);
        }
        let slot = time >> self.shift;
        if slot >= self.end {
            self.add_listed(Listed { entry: Entry { time, event }, name: NONE });
            return;
        }
        let entry = Entry { time, event };
        let bucket = Place::of(slot);
        let Place { index, word, bit } = bucket;
        let (occupied, own) = (self.occupied[word] & bit, &mut self.own[index].0);
        // The stale event of an empty bucket is in the past, so it is not later than this one.
        debug_assert!(occupied != 0 || own[0].time <= self.now);
        if (self.full[word] & bit != 0) | (own[0].time > time) {
            self.push_among(bucket, slot, entry);
            return;
        }
        own[usize::from(occupied != 0)] = entry;
        self.full[word] |= occupied;
        self.occupy(bucket, slot);
    }

    /// Adds an event that can be cancelled or that lies beyond the wheel.
    #[inline(never)]
    fn add_listed(&mut self, event: Listed<E>) {
        let slot = event.entry.time >> self.shift;
        if slot == self.due.slot {
            self.due.late.push(event);
        } else if slot < self.end {
            let bucket = Place::of(slot);
            self.list(bucket, event);
            self.occupy(bucket, slot);
        } else {
            self.far.add(&mut self.lists, event, slot);
        }
    }

    /// Cancels an event; `false` if it has already popped or been cancelled, or was scheduled in another queue.
    pub fn cancel(&mut self, id: EventId) -> bool {
        id.queue == self.number && self.names.cancel(id.name, id.generation)
    }

    /// Takes the next event with its time and moves the clock there; `None` if none is due at or before `limit`.
    #[inline]
    pub fn pop_until(&mut self, limit: Time) -> Option<(Time, E)> {
        if self.equal_times == EqualTimes::NetbenchBatch {
            return self.pop_batch(limit);
        }
        self.pop_in_order(limit)
    }

    /// [`pop_until`](Self::pop_until) for any order but [`EqualTimes::NetbenchBatch`], without the test for it.
    #[inline(always)]
    pub(crate) fn pop_in_order(&mut self, limit: Time) -> Option<(Time, E)> {
        self.pop_next(limit.as_ps()).map(|Entry { time, event }| (Time::from_ps(time), event))
    }

    /// As [`pop_until`](Self::pop_until), with events of equal time in the order of `place`. Events that are scheduled for
    /// the present come after all that were there.
    #[inline]
    pub(crate) fn pop_by_place(&mut self, limit: Time, place: impl Fn(&E) -> u64) -> Option<(Time, E)> {
        if self.batch.is_empty() {
            let Entry { time, event } = self.pop_next(limit.as_ps())?;
            let Some(Entry { event: other, .. }) = self.pop_next(time) else {
                return Some((Time::from_ps(time), event));
            };
            self.batch.extend([event, other]);
            while let Some(Entry { event, .. }) = self.pop_next(time) {
                self.batch.push(event);
            }
            self.batch.sort_by_key(place);
            self.batch.reverse();
        }
        self.batch.pop().map(|event| (Time::from_ps(self.now), event))
    }

    /// A time before which no event happens, that of the next event unless it was cancelled; `None` if none waits.
    pub(crate) fn next_time(&self) -> Option<Time> {
        let time = match self.first {
            _ if !self.batch.is_empty() => Some(self.now),
            u64::MAX => self.far.first_time(&self.lists),
            _ => Some(self.first_time()),
        };
        time.map(Time::from_ps)
    }

    fn pop_batch(&mut self, limit: Time) -> Option<(Time, E)> {
        if self.batch.is_empty() {
            let Entry { time, event } = self.pop_next(limit.as_ps())?;
            self.batch.push(event);
            while let Some(Entry { event, .. }) = self.pop_next(time) {
                self.batch.push(event);
            }
        }
        let event = self.batch.remove(batch_position(self.batch.len()));
        Some((Time::from_ps(self.now), event))
    }

    #[inline(always)]
    fn pop_next(&mut self, limit: u64) -> Option<Entry<E>> {
        // One comparison for two rare cases: the wheel is empty, or can take another coarse bucket.
        if self.first >= self.fetch_at && !self.look_far(limit) {
            return None;
        }
        let bucket = Place::of(self.first);
        let Place { index, word, bit } = bucket;
        if self.listed[word] & bit != 0 {
            return self.pop_among(limit);
        }
        let own = &mut self.own[index].0;
        let entry = own[0];
        if entry.time > limit {
            return None;
        }
        own[0] = own[1];
        let paired = self.full[word];
        self.occupied[word] ^= bit & !paired;
        self.full[word] = paired & !bit;
        self.now = entry.time;
        self.advance(bucket);
        Some(entry)
    }

    /// As [`pop_next`](Self::pop_next), if the first bucket has a list.
    #[inline(never)]
    fn pop_among(&mut self, limit: u64) -> Option<Entry<E>> {
        loop {
            if self.first >= self.fetch_at && !self.look_far(limit) {
                return None;
            }
            let bucket = Place::of(self.first);
            let Place { index, word, bit } = bucket;
            if self.listed[word] & bit == 0 {
                return self.pop_next(limit);
            }
            if self.due.slot != self.first {
                // One of them pops, so that no event can be scheduled in an earlier bucket any more.
                if limit >> self.shift <= self.first && self.first_time() > limit {
                    return None;
                }
                self.due.take_over(self.first, &mut self.list_of[index], &mut self.lists);
            }
            let Listed { entry, name } = self.due.pop(limit)?;
            self.now = entry.time;
            match self.due.first() {
                // Only the event: the time stays one of the past.
                Some(next) => self.own[index].0[0].event = next.event,
                None => {
                    self.due.slot = u64::MAX;
                    for bits in [&mut self.occupied, &mut self.full, &mut self.listed] {
                        bits[word] &= !bit;
                    }
                    self.advance(bucket);
                }
            }
            if !self.names.end(name) {
                return Some(entry);
            }
        }
    }

    /// Moves the coarse buckets within reach into the wheel; if the wheel is empty, starts at the first far event.
    /// Returns false if no event is due by `limit`.
    #[cold]
    #[inline(never)]
    fn look_far(&mut self, limit: u64) -> bool {
        let first = if self.first == u64::MAX {
            let Some(time) = self.far.first_time(&self.lists).filter(|time| *time <= limit) else { return false };
            self.now = time;
            let first = time >> self.shift;
            self.end = self.end.max(first - first % SLOTS_PER_COARSE);
            self.far.skip_to(&mut self.lists, self.end / SLOTS_PER_COARSE, self.shift);
            first
        } else {
            if self.first_time() > limit {
                return false;
            }
            self.first
        };
        while self.end <= first + KEPT {
            let mut list = self.far.take_bucket(&mut self.lists, self.shift);
            self.end += SLOTS_PER_COARSE;
            while let Some(chunk) = self.lists.take_chunk(&mut list) {
                for event in chunk.events() {
                    self.fetch(*event);
                }
            }
        }
        self.fetch_at = self.end - KEPT;
        true
    }

    /// Adds a far event to the wheel.
    fn fetch(&mut self, event: Listed<E>) {
        if event.name == NONE {
            self.push(Time::from_ps(event.entry.time), event.entry.event);
        } else {
            self.add_listed(event);
        }
    }

    /// The time of the first event of the wheel, which may be cancelled.
    fn first_time(&self) -> u64 {
        let Place { index, word, bit } = Place::of(self.first);
        if self.listed[word] & bit == 0 {
            self.own[index].0[0].time
        } else if self.due.slot == self.first {
            self.due.first().map_or(u64::MAX, |first| first.time)
        } else {
            self.lists.first_time(self.list_of[index]).unwrap_or(u64::MAX)
        }
    }

    /// Updates `first`, whose bucket `index` may have become empty.
    #[inline(always)]
    fn advance(&mut self, Place { index, word, .. }: Place) {
        // Scans 64 buckets from this one on. One of them is usually occupied, whereas the rest of a single word is
        // often empty.
        let words = u128::from(self.occupied[(word + 1) % WORDS]) << 64 | u128::from(self.occupied[word]);
        match (words >> (index % 64)) as u64 {
            0 => self.advance_far(index, word),
            ahead => self.first += u64::from(ahead.trailing_zeros()),
        }
    }

    /// As [`advance`](Self::advance), if the next 64 buckets are empty.
    #[cold]
    #[inline(never)]
    fn advance_far(&mut self, index: usize, word: usize) {
        // The scan wraps around and ends with the word itself, whose lower bits are the farthest slots.
        let found = (1..=WORDS).map(|step| (word + step) % WORDS).find(|word| self.occupied[*word] != 0);
        let Some(word) = found else {
            self.first = u64::MAX;
            return;
        };
        let next = word * 64 + self.occupied[word].trailing_zeros() as usize;
        self.first += (next.wrapping_sub(index) % BUCKETS) as u64;
    }

    /// Usually the event that pops next. It may be another or a stale one, so it is a hint for prefetching only.
    #[inline(always)]
    pub(crate) fn peek(&self) -> &E {
        &self.own[self.first as usize % BUCKETS].0[0].event
    }

    /// As [`peek`](Self::peek), a few events further on if they are known.
    #[inline(always)]
    pub(crate) fn peek_ahead(&self) -> &E {
        self.due.later().unwrap_or_else(|| self.peek())
    }

    /// Marks that a bucket has an event.
    #[inline(always)]
    fn occupy(&mut self, bucket: Place, slot: u64) {
        self.occupied[bucket.word] |= bucket.bit;
        self.first = self.first.min(slot);
    }

    /// Adds an event to a bucket with two inline events, with a later one, or with a list.
    #[inline(never)]
    fn push_among(&mut self, bucket: Place, slot: u64, entry: Entry<E>) {
        let Place { index, word, bit } = bucket;
        let event = Listed { entry, name: NONE };
        if slot == self.due.slot {
            self.due.late.push(event);
        } else if self.full[word] & bit != 0 {
            self.list(bucket, event);
        } else {
            let own = &mut self.own[index].0;
            *own = [entry, own[0]];
            self.full[word] |= bit;
        }
    }

    /// Adds an event at the end of the list of its bucket. The inline events of the bucket move there.
    fn list(&mut self, bucket: Place, event: Listed<E>) {
        let Place { index, word, bit } = bucket;
        let list = &mut self.list_of[index];
        if self.listed[word] & bit == 0 {
            let own = [&self.occupied, &self.full].iter().filter(|bits| bits[word] & bit != 0).count();
            for entry in &self.own[index].0[..own] {
                self.lists.push(list, Listed { entry: *entry, name: NONE });
            }
            self.listed[word] |= bit;
            self.full[word] |= bit;
        }
        self.lists.push(list, event);
    }
}

/// The position of a slot's bucket.
#[derive(Clone, Copy)]
struct Place {
    index: usize,
    word: usize,
    bit: u64,
}

impl Place {
    #[inline(always)]
    fn of(slot: u64) -> Self {
        let index = slot as usize % BUCKETS;
        Self { index, word: index / 64, bit: 1 << (index % 64) }
    }
}

#[cold]
#[inline(never)]
fn past(time: u64, now: u64) -> ! {
    panic!("an event was scheduled for {time} ps, which is before the present, {now} ps")
}

/// The result of `new java.util.Random(1).nextInt(n)`: the fork makes a new generator for every event, so the draw
/// depends on n alone.
fn batch_position(n: usize) -> usize {
    /// The first 31 bits that `java.util.Random` draws from seed 1.
    const DRAW: u64 = 1_569_548_985;
    let n = n as u64;
    (if n.is_power_of_two() { (n * DRAW) >> 31 } else { DRAW % n }) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The delay of an event in picoseconds: many ties, many near, some far; bursts; links beside timers.
    fn ahead(kind: u8, draw: u64) -> u64 {
        match kind {
            0 => [0, draw % 16, draw % 5_000, draw % 50_000_000][(draw % 11) as usize % 4],
            1 => [0, 0, 1_000_000, 1_000_000 + draw % 3][(draw % 11) as usize % 4],
            _ => {
                if draw.is_multiple_of(10) {
                    10_000_000_000 + draw % 1_000_000
                } else {
                    1_000_000
                }
            }
        }
    }

    proptest! {
        #![proptest_config(pifolab_testkit::cases(60))]

        #[test]
        fn pops_as_a_heap_does_with_cancellations(
            seed in any::<u64>(), kind in 0u8..3, reach in 0u32..31, pushes in 2u64..7, steps in 1u64..4_000,
        ) {
            let mut queue = EventQueue::new(Span::from_ps(1 << reach), EqualTimes::Insertion);
            let (mut heap, mut ids, mut state) = (PlainEventQueue::default(), Vec::new(), seed);
            for number in 0..steps {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let draw = state >> 33;
                if draw % 8 < pushes {
                    let time = queue.now() + Span::from_ps(ahead(kind, draw >> 3));
                    let plain = heap.schedule(time, number);
                    if draw.is_multiple_of(3) {
                        ids.push((plain, queue.schedule(time, number)));
                    } else {
                        queue.push(time, number);
                    }
                } else if draw % 16 == 7 && !ids.is_empty() {
                    let (plain, id) = ids.swap_remove(draw as usize % ids.len());
                    prop_assert_eq!(queue.cancel(id), heap.cancel(plain));
                    prop_assert!(!queue.cancel(id));
                } else {
                    let near = queue.now() + Span::from_ps(draw % 100_000);
                    let limit = if draw.is_multiple_of(5) { near } else { Time::MAX };
                    prop_assert_eq!(queue.pop_until(limit), heap.pop_until(limit));
                }
                prop_assert_eq!(queue.len(), heap.len());
            }
            while let Some(next) = heap.pop_until(Time::MAX) {
                prop_assert_eq!(queue.pop_until(Time::MAX), Some(next));
            }
            prop_assert!(queue.is_empty() && heap.is_empty());
        }
    }

    #[test]
    fn nothing_beyond_the_limit_pops_and_the_clock_stays() {
        let mut queue = EventQueue::new(Span::from_us(1), EqualTimes::Insertion);
        queue.schedule(Time::from_ns(5_000_000), 1);
        assert_eq!(queue.pop_until(Time::from_ns(4_999_999)), None);
        assert_eq!(queue.now(), Time::ZERO);
        queue.schedule(Time::from_ns(3), 0);
        assert_eq!(queue.pop_until(Time::MAX), Some((Time::from_ns(3), 0)));
        assert_eq!(queue.pop_until(Time::MAX), Some((Time::from_ns(5_000_000), 1)));
        assert!(queue.is_empty());
    }

    #[test]
    fn the_id_of_another_queue_cancels_nothing() {
        let mut queues = [0, 1].map(|_| EventQueue::new(Span::from_us(1), EqualTimes::Insertion));
        let [own, other] = queues.each_mut().map(|queue| queue.schedule(Time::from_ns(1), "event"));
        assert!(!queues[0].cancel(other));
        assert_eq!(queues[0].len(), 1);
        assert_eq!(queues[0].pop_until(Time::MAX), Some((Time::from_ns(1), "event")));
        assert!(queues[1].cancel(other));
        assert!(!queues[1].cancel(own));
    }

    #[test]
    fn a_batch_is_emptied_before_events_that_it_schedules_for_the_present() {
        let mut queue = EventQueue::new(Span::from_us(1), EqualTimes::NetbenchBatch);
        for number in 0..4 {
            queue.schedule(Time::from_ns(1), number);
        }
        // The published positions: 4 -> 2, 3 -> 0, 2 -> 1, 1 -> 0.
        assert_eq!(queue.pop_until(Time::MAX), Some((Time::from_ns(1), 2)));
        queue.schedule(Time::from_ns(1), 4);
        let rest: Vec<_> = std::iter::from_fn(|| queue.pop_until(Time::MAX)).map(|(_, event)| event).collect();
        assert_eq!(rest, [0, 3, 1, 4]);
        assert_eq!([5, 6, 8].map(batch_position), [0, 3, 5]);
    }

    #[test]
    #[should_panic(expected = "an event was scheduled for 1 ps, which is before the present, 2 ps")]
    fn scheduling_in_the_past_panics() {
        let mut queue = EventQueue::new(Span::from_us(1), EqualTimes::Insertion);
        queue.schedule(Time::from_ps(2), ());
        queue.pop_until(Time::MAX);
        queue.schedule(Time::from_ps(1), ());
    }
}
