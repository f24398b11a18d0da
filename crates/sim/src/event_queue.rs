//! Future events, soonest first.
//!
//! A timing wheel of 4096 buckets with a bitmap, a coarse wheel for events beyond its horizon, and a heap for events
//! beyond both. Scheduling and popping cost O(1) for events in a wheel (most buckets hold one event if the horizon
//! matches the traffic) and O(log n) for others. Buckets only group events; times stay exact.
//!
//! A bucket stores up to two events inline, so that most events are written and read once, without a branch on their
//! number, which cannot be predicted. Further events, and every event that can be cancelled, are in a linked list of
//! nodes.

mod far;
mod nodes;
mod plain;

use crate::equal_times::EqualTimes;
use far::{Far, SLOTS_PER_COARSE};
use nodes::{Entry, NONE, Nodes};
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
    node: u32,
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

/// The ends of a list of nodes; invalid for buckets without a list.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
}

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
    /// The buckets with a list. Its events come after the inline ones.
    listed: Bits,
    /// The buckets with a list and no inline event.
    only_listed: Bits,
    /// The buckets with a list and two inline events.
    listed_pair: Bits,
    own: Box<[Own<E>; BUCKETS]>,
    lists: Box<[List; BUCKETS]>,
    nodes: Nodes<E>,
    far: Far,
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
            only_listed: [0; WORDS],
            listed_pair: [0; WORDS],
            own: Box::new([Own::default(); BUCKETS]),
            lists: Box::new([List { head: NONE, tail: NONE }; BUCKETS]),
            nodes: Nodes::default(),
            far: Far::new(BUCKETS as u64 / SLOTS_PER_COARSE),
            equal_times,
            batch: Vec::new(),
            number: next_queue(),
        }
    }

    /// The time of the last event popped.
    pub fn now(&self) -> Time {
        Time::from_ps(self.now)
    }

    /// The number of waiting events. Counts them, so not for hot paths.
    pub fn len(&self) -> usize {
        let own = (0..WORDS).map(|word| {
            let pairs = self.full[word] & !self.listed[word] | self.listed_pair[word];
            (self.occupied[word] & !self.only_listed[word]).count_ones() + pairs.count_ones()
        });
        let own = own.sum::<u32>() as usize;
        own + self.nodes.waiting + self.batch.len()
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
        let node = self.nodes.take(Entry { time, event });
        let slot = time >> self.shift;
        if slot < self.end {
            self.insert_node(node, time, slot);
        } else {
            self.far.add(&mut self.nodes, node, slot);
        }
        EventId { node, generation: self.nodes.at(node).generation, queue: self.number }
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
            self.add_far(time, event);
            return;
        }
        let entry = Entry { time, event };
        let bucket = Place::of(slot);
        let Place { index, word, bit } = bucket;
        let (occupied, own) = (self.occupied[word] & bit, &mut self.own[index].0);
        // The stale event of an empty bucket is in the past, so it is not later than this one.
        debug_assert!(occupied != 0 || own[0].time <= self.now);
        if (self.full[word] & bit != 0) | (own[0].time > time) {
            self.push_among(bucket, entry);
            return;
        }
        own[usize::from(occupied != 0)] = entry;
        self.full[word] |= occupied;
        self.occupy(bucket, slot);
    }

    /// As [`push`](Self::push), beyond the wheel.
    #[inline(never)]
    fn add_far(&mut self, time: u64, event: E) {
        let node = self.nodes.take_fixed(Entry { time, event });
        self.far.add(&mut self.nodes, node, time >> self.shift);
    }

    /// Cancels an event; `false` if it has already popped or been cancelled, or was scheduled in another queue.
    pub fn cancel(&mut self, id: EventId) -> bool {
        id.queue == self.number && self.nodes.cancel(id.node, id.generation)
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
            let head = self.lists[index].head;
            let own = self.own_len(bucket);
            let entry = if own > 0 { self.own[index].0[0] } else { self.nodes.at(head).entry };
            if entry.time > limit {
                return None;
            }
            self.now = entry.time;
            let mut cancelled = false;
            if own > 0 {
                self.own[index].0[0] = self.own[index].0[1];
                self.set_own_len(bucket, own - 1);
            } else {
                let next;
                (next, cancelled) = self.nodes.give_back(head);
                self.lists[index].head = next;
                if next == NONE {
                    for bits in [&mut self.occupied, &mut self.full, &mut self.listed, &mut self.only_listed] {
                        bits[word] &= !bit;
                    }
                    self.advance(bucket);
                }
            }
            if !cancelled {
                return Some(entry);
            }
        }
    }

    /// The number of inline events of a bucket.
    fn own_len(&self, Place { word, bit, .. }: Place) -> usize {
        let has = |bits: &Bits| bits[word] & bit != 0;
        if has(&self.listed) {
            usize::from(!has(&self.only_listed)) + usize::from(has(&self.listed_pair))
        } else {
            usize::from(has(&self.occupied)) + usize::from(has(&self.full))
        }
    }

    /// Sets the number of inline events of a bucket with a list.
    fn set_own_len(&mut self, Place { word, bit, .. }: Place, own: usize) {
        for (bits, set) in [(&mut self.only_listed, own == 0), (&mut self.listed_pair, own == 2)] {
            bits[word] = if set { bits[word] | bit } else { bits[word] & !bit };
        }
    }

    /// Gives a bucket without a list one of a single node.
    fn begin_list(&mut self, bucket: Place, node: u32) {
        self.set_own_len(bucket, self.own_len(bucket));
        self.lists[bucket.index] = List { head: node, tail: node };
        self.listed[bucket.word] |= bucket.bit;
        self.full[bucket.word] |= bucket.bit;
    }

    /// Moves the coarse buckets within reach into the wheel; if the wheel is empty, starts at the first far event.
    /// Returns false if no event is due by `limit`.
    #[cold]
    #[inline(never)]
    fn look_far(&mut self, limit: u64) -> bool {
        let first = if self.first == u64::MAX {
            let Some(time) = self.far.first_time(&mut self.nodes).filter(|time| *time <= limit) else { return false };
            self.now = time;
            let first = time >> self.shift;
            self.end = self.end.max(first - first % SLOTS_PER_COARSE);
            self.far.skip_to(&mut self.nodes, self.end / SLOTS_PER_COARSE, self.shift);
            first
        } else {
            if self.first_time() > limit {
                return false;
            }
            self.first
        };
        while self.end <= first + KEPT {
            let mut node = self.far.take_bucket(&mut self.nodes, self.shift);
            self.end += SLOTS_PER_COARSE;
            while node != NONE {
                node = self.fetch(node);
            }
        }
        self.fetch_at = self.end - KEPT;
        true
    }

    /// Moves a far event to the wheel; returns the next one of its list.
    fn fetch(&mut self, node: u32) -> u32 {
        let Entry { time, event } = self.nodes.at(node).entry;
        if self.nodes.can_be_cancelled(node) {
            let next = self.nodes.unlink(node);
            self.insert_node(node, time, time >> self.shift);
            next
        } else {
            let (next, _) = self.nodes.give_back(node);
            self.push(Time::from_ps(time), event);
            next
        }
    }

    /// The time of the first event of the wheel, which may be cancelled.
    fn first_time(&self) -> u64 {
        let bucket = Place::of(self.first);
        if self.only_listed[bucket.word] & bucket.bit != 0 {
            self.nodes.at(self.lists[bucket.index].head).entry.time
        } else {
            self.own[bucket.index].0[0].time
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

    /// Marks that a bucket has an event.
    #[inline(always)]
    fn occupy(&mut self, bucket: Place, slot: u64) {
        self.occupied[bucket.word] |= bucket.bit;
        self.first = self.first.min(slot);
    }

    /// Adds an event to a non-empty bucket, behind all that are not later.
    #[inline(never)]
    fn push_among(&mut self, bucket: Place, entry: Entry<E>) {
        let Place { index, word, bit } = bucket;
        let own = self.own_len(bucket);
        if own == 0 || self.own[index].0[own - 1].time <= entry.time {
            let node = self.nodes.take(entry);
            return self.list(bucket, node);
        }
        if own == 2 {
            self.list_first(bucket, self.own[index].0[1]);
        }
        let own = &mut self.own[index].0;
        if own[0].time > entry.time {
            *own = [entry, own[0]];
        } else {
            own[1] = entry;
        }
        if self.listed[word] & bit != 0 {
            self.listed_pair[word] |= bit;
        }
        self.full[word] |= bit;
    }

    /// Adds an event that can be cancelled, and so has a node, behind all of its bucket that are not later.
    fn insert_node(&mut self, node: u32, time: u64, slot: u64) {
        let bucket = Place::of(slot);
        let Place { index, word, bit } = bucket;
        let mut own = 0;
        if self.occupied[word] & bit == 0 {
            self.occupy(bucket, slot);
        } else {
            own = self.own_len(bucket);
            while own > 0 && self.own[index].0[own - 1].time > time {
                own -= 1;
                self.list_first(bucket, self.own[index].0[own]);
            }
        }
        self.list(bucket, node);
        self.set_own_len(bucket, own);
    }

    /// Moves an inline event of a bucket to the head of its list.
    fn list_first(&mut self, bucket: Place, entry: Entry<E>) {
        let node = self.nodes.take(entry);
        if self.listed[bucket.word] & bucket.bit == 0 {
            return self.begin_list(bucket, node);
        }
        let list = &mut self.lists[bucket.index];
        self.nodes.at_mut(node).next = list.head;
        list.head = node;
    }

    /// Adds a node to the list of its bucket, behind all that are not later.
    fn list(&mut self, bucket: Place, node: u32) {
        if self.listed[bucket.word] & bucket.bit == 0 {
            return self.begin_list(bucket, node);
        }
        let list = &mut self.lists[bucket.index];
        let time = self.nodes.at(node).entry.time;
        if self.nodes.at(list.tail).entry.time <= time {
            self.nodes.at_mut(list.tail).next = node;
            list.tail = node;
        } else if self.nodes.at(list.head).entry.time > time {
            self.nodes.at_mut(node).next = list.head;
            list.head = node;
        } else {
            let mut before = list.head;
            let mut after = self.nodes.at(before).next;
            while self.nodes.at(after).entry.time <= time {
                before = after;
                after = self.nodes.at(after).next;
            }
            self.nodes.at_mut(before).next = node;
            self.nodes.at_mut(node).next = after;
        }
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
