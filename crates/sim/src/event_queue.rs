//! Future events, soonest first.
//!
//! A timing wheel of 1024 buckets with a bitmap over them, backed by a heap for what lies beyond the wheel's horizon.
//! Scheduling and popping cost O(1) for events within the horizon (bucket lists are short when the horizon is chosen
//! to match the traffic), O(log n) beyond. It never loses precision: buckets only group, times stay exact.

use pifolab_units::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const BUCKETS: u64 = 1024;
const WORDS: usize = BUCKETS as usize / 64;
const NONE: u32 = u32::MAX;

/// In which order events of equal time pop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TieOrder {
    /// In the order in which they were scheduled. The default.
    #[default]
    Insertion,
    /// As the AIFO paper's fork of Netbench does: when the current batch is used up, all events of the earliest time
    /// form the next batch; of a batch with n events, the one at a fixed position that depends on n goes first. Events
    /// scheduled for the present wait until the batch is used up.
    Batch,
}

/// Names a scheduled event, for [`EventQueue::cancel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    node: u32,
    generation: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node<E> {
    time: u64,
    event: E,
    next: u32,
    /// Counts the node's uses; the lowest bit tells that this use was cancelled.
    generation: u32,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    head: u32,
    tail: u32,
}

/// The queue of future events.
///
/// ```
/// use pifolab_sim::event_queue::{EventQueue, TieOrder};
/// use pifolab_units::{Span, Time};
/// let mut queue = EventQueue::new(Span::from_us(10), TieOrder::Insertion);
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
    /// Bucket width as a power of two, in picoseconds.
    shift: u32,
    /// The first instant that the wheel does not reach.
    horizon: u64,
    /// One bit per word of `occupied` that is not zero.
    summary: u64,
    /// The first occupied bucket; meaningless while `summary` is 0.
    first: u32,
    occupied: [u64; WORDS],
    buckets: Box<[Bucket]>,
    nodes: Vec<Node<E>>,
    free: u32,
    /// Time, order of scheduling, node.
    far: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// The earliest time in `far`, or the end of time.
    far_first: u64,
    scheduled: u64,
    len: usize,
    ties: TieOrder,
    batch: Vec<E>,
}

impl<E: Copy> EventQueue<E> {
    /// An empty queue at time 0 whose wheel reaches at least `reach` ahead: a little more than the longest common
    /// delay is best.
    pub fn new(reach: Span, ties: TieOrder) -> Self {
        let width = (reach.as_ps() / (BUCKETS - 1)).max(1).checked_next_power_of_two().unwrap_or(1 << 53);
        let shift = width.trailing_zeros().min(53);
        Self {
            now: 0,
            shift,
            horizon: BUCKETS << shift,
            summary: 0,
            first: 0,
            occupied: [0; WORDS],
            buckets: vec![Bucket { head: NONE, tail: NONE }; BUCKETS as usize].into_boxed_slice(),
            nodes: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
            far_first: u64::MAX,
            scheduled: 0,
            len: 0,
            ties,
            batch: Vec::new(),
        }
    }

    /// The time of the last event popped.
    pub fn now(&self) -> Time {
        Time::from_ps(self.now)
    }

    /// Events that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an event.
    ///
    /// # Panics
    /// If `time` lies in the past.
    #[inline]
    pub fn schedule(&mut self, time: Time, event: E) -> EventId {
        let time = time.as_ps();
        assert!(time >= self.now, "an event was scheduled for {time} ps, which is before the present, {} ps", self.now);
        let node = self.new_node(time, event);
        self.len += 1;
        if time < self.horizon {
            self.insert(node, time);
        } else {
            self.far.push(Reverse((time, self.scheduled, node)));
            self.scheduled += 1;
            self.far_first = self.far_first.min(time);
        }
        EventId { node, generation: self.nodes[node as usize].generation }
    }

    /// Takes an event back; `false` if it has already popped or been cancelled.
    pub fn cancel(&mut self, id: EventId) -> bool {
        let node = &mut self.nodes[id.node as usize];
        if node.generation != id.generation {
            return false;
        }
        node.generation |= 1;
        self.len -= 1;
        true
    }

    /// The next event with its time, and the clock moves there; `None` if none is due at or before `limit`.
    #[inline]
    pub fn pop_until(&mut self, limit: Time) -> Option<(Time, E)> {
        if self.ties == TieOrder::Batch {
            return self.pop_batch(limit);
        }
        self.pop_next(limit.as_ps()).map(|(time, event)| (Time::from_ps(time), event))
    }

    fn pop_batch(&mut self, limit: Time) -> Option<(Time, E)> {
        if self.batch.is_empty() {
            let (time, first) = self.pop_next(limit.as_ps())?;
            self.batch.push(first);
            while let Some((_, event)) = self.pop_next(time) {
                self.batch.push(event);
            }
            self.len += self.batch.len();
        }
        self.len -= 1;
        let event = self.batch.remove(batch_position(self.batch.len()));
        Some((Time::from_ps(self.now), event))
    }

    #[inline(always)]
    fn pop_next(&mut self, limit: u64) -> Option<(u64, E)> {
        loop {
            if self.summary == 0 {
                if self.far_first > limit || self.far.is_empty() {
                    return None;
                }
                // The wheel has run dry: it starts anew at the first far event.
                self.advance(self.far_first);
            }
            let index = self.first as usize;
            let bucket = &mut self.buckets[index];
            let node = bucket.head;
            let Node { time, event, next, generation } = self.nodes[node as usize];
            if time > limit {
                return None;
            }
            bucket.head = next;
            if next == NONE {
                bucket.tail = NONE;
                self.occupied[index >> 6] &= !(1 << (index & 63));
                if self.occupied[index >> 6] == 0 {
                    self.summary &= !(1 << (index >> 6));
                }
            }
            self.free_node(node);
            if next == NONE && self.summary != 0 {
                self.first = self.bucket_after(index) as u32;
            }
            self.advance(time);
            if generation & 1 == 0 {
                self.len -= 1;
                return Some((time, event));
            }
        }
    }

    /// The first occupied bucket after `index`, which is empty, going round.
    #[inline]
    fn bucket_after(&self, index: usize) -> usize {
        let word = index >> 6;
        let here = self.occupied[word] & (u64::MAX << (index & 63));
        if here != 0 {
            return (word << 6) + here.trailing_zeros() as usize;
        }
        let after = self.summary & (u64::MAX << word << 1);
        let word = if after != 0 { after } else { self.summary }.trailing_zeros() as usize;
        (word << 6) + self.occupied[word].trailing_zeros() as usize
    }

    /// The event that pops next if none is scheduled before it; perhaps a cancelled one. For prefetching.
    #[inline]
    pub fn peek(&self) -> Option<&E> {
        (self.summary != 0).then(|| &self.nodes[self.buckets[self.first as usize].head as usize].event)
    }

    /// Moves the clock, and with it the horizon; far events that come within reach join the wheel.
    #[inline]
    fn advance(&mut self, time: u64) {
        self.now = time;
        self.horizon = ((time >> self.shift) + BUCKETS).saturating_mul(1 << self.shift);
        if self.far_first < self.horizon {
            self.fetch_far();
        }
    }

    #[cold]
    fn fetch_far(&mut self) {
        while let Some(&Reverse((time, _, node))) = self.far.peek() {
            if time >= self.horizon {
                self.far_first = time;
                return;
            }
            self.far.pop();
            self.insert(node, time);
        }
        self.far_first = u64::MAX;
    }

    /// Puts a node behind all of its bucket that are not later.
    #[inline(always)]
    fn insert(&mut self, node: u32, time: u64) {
        let index = (time >> self.shift) as usize & (BUCKETS as usize - 1);
        let Bucket { head, tail } = self.buckets[index];
        if head == NONE {
            let start = self.now >> self.shift;
            let ahead = |bucket: u64| bucket.wrapping_sub(start) & (BUCKETS - 1);
            if self.summary == 0 || ahead(index as u64) < ahead(self.first.into()) {
                self.first = index as u32;
            }
            self.buckets[index] = Bucket { head: node, tail: node };
            self.occupied[index >> 6] |= 1 << (index & 63);
            self.summary |= 1 << (index >> 6);
        } else if self.nodes[tail as usize].time <= time {
            self.nodes[tail as usize].next = node;
            self.buckets[index].tail = node;
        } else if self.nodes[head as usize].time > time {
            self.nodes[node as usize].next = head;
            self.buckets[index].head = node;
        } else {
            let mut before = head;
            let mut after = self.nodes[head as usize].next;
            while self.nodes[after as usize].time <= time {
                before = after;
                after = self.nodes[after as usize].next;
            }
            self.nodes[before as usize].next = node;
            self.nodes[node as usize].next = after;
        }
    }

    #[inline]
    fn new_node(&mut self, time: u64, event: E) -> u32 {
        let node = self.free;
        if node == NONE {
            self.nodes.push(Node { time, event, next: NONE, generation: 0 });
            return self.nodes.len() as u32 - 1;
        }
        let slot = &mut self.nodes[node as usize];
        self.free = slot.next;
        *slot = Node { time, event, next: NONE, generation: slot.generation };
        node
    }

    #[inline]
    fn free_node(&mut self, node: u32) {
        let slot = &mut self.nodes[node as usize];
        slot.next = self.free;
        slot.generation = (slot.generation | 1).wrapping_add(1);
        self.free = node;
    }
}

/// The position that `new java.util.Random(1).nextInt(n)` names: the fork makes a new generator for every event, so
/// the draw depends on n alone.
fn batch_position(n: usize) -> usize {
    /// The first 31 bits that `java.util.Random` draws from seed 1.
    const DRAW: u64 = 1_569_548_985;
    let n = n as u64;
    (if n.is_power_of_two() { (n * DRAW) >> 31 } else { DRAW % n }) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn pops_like_a_sorted_map_of_time_and_insertion_with_cancellations() {
        for reach in [Span::from_ps(1), Span::from_ps(5_000), Span::from_us(3)] {
            let mut queue = EventQueue::new(reach, TieOrder::Insertion);
            let mut oracle = BTreeMap::new();
            let mut ids = BTreeMap::new();
            let mut state = 7u64;
            for number in 0..40_000u64 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let draw = state >> 33;
                if draw % 7 < 4 {
                    // Many ties, many near, some far.
                    let ahead = [0, draw % 16, draw % 5_000, draw % 50_000_000][(draw % 11) as usize % 4];
                    let time = queue.now().as_ps() + ahead;
                    ids.insert(number, (time, queue.schedule(Time::from_ps(time), number)));
                    oracle.insert((time, number), ());
                } else if draw % 7 == 4 && !ids.is_empty() {
                    let key = *ids.keys().nth(draw as usize % ids.len()).unwrap();
                    let (time, id) = ids.remove(&key).unwrap();
                    assert_eq!(queue.cancel(id), oracle.remove(&(time, key)).is_some());
                    assert!(!queue.cancel(id));
                } else {
                    let expected = oracle.pop_first().map(|((time, number), ())| (Time::from_ps(time), number));
                    assert_eq!(queue.pop_until(Time::MAX), expected);
                }
                assert_eq!(queue.len(), oracle.len());
            }
        }
    }

    #[test]
    fn nothing_beyond_the_limit_pops_and_the_clock_stays() {
        let mut queue = EventQueue::new(Span::from_us(1), TieOrder::Insertion);
        queue.schedule(Time::from_ns(5_000_000), 1);
        assert_eq!(queue.pop_until(Time::from_ns(4_999_999)), None);
        assert_eq!(queue.now(), Time::ZERO);
        queue.schedule(Time::from_ns(3), 0);
        assert_eq!(queue.pop_until(Time::MAX), Some((Time::from_ns(3), 0)));
        assert_eq!(queue.pop_until(Time::MAX), Some((Time::from_ns(5_000_000), 1)));
        assert!(queue.is_empty());
    }

    #[test]
    fn a_batch_is_emptied_before_events_that_it_schedules_for_the_present() {
        let mut queue = EventQueue::new(Span::from_us(1), TieOrder::Batch);
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
        let mut queue = EventQueue::new(Span::from_us(1), TieOrder::Insertion);
        queue.schedule(Time::from_ps(2), ());
        queue.pop_until(Time::MAX);
        queue.schedule(Time::from_ps(1), ());
    }
}
