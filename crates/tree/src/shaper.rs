//! Shaping: indices wait for their release before they enter the parent of a node.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use pifolab_sched::store::SlotHeap;
use pifolab_sched::{Bucket, Item, Packet, TokenBucket};
use pifolab_units::{Span, Time};

/// A waiting index.
#[derive(Debug)]
struct Held {
    release: Time,
    /// Indices with equal release times are released in order of arrival, over all nodes.
    arrival: u64,
    packet: Packet,
}

/// The shapers of a tree: the indices that wait at its nodes, and the first of them.
#[derive(Debug, Default)]
pub(super) struct Shapers {
    shapers: Vec<(Bucket, VecDeque<Held>)>,
    /// Whether each bucket is in debt, in a tree that charges departures.
    debts: Vec<bool>,
    /// Whether each bucket ever held a packet back.
    limited: Vec<bool>,
    first: SlotHeap<(Time, u64)>,
    arrivals: u64,
}

impl Shapers {
    /// Adds a token bucket, and returns its number.
    pub(super) fn add(&mut self, bucket: TokenBucket) -> u32 {
        self.shapers.push((Bucket::new(bucket), VecDeque::new()));
        self.debts.push(false);
        self.limited.push(false);
        self.shapers.len() as u32 - 1
    }

    /// Whether an index waits.
    #[inline]
    pub(super) const fn is_waiting(&self) -> bool {
        !self.first.is_empty()
    }

    /// Whether an index of `packet` may pass at `now`. If not, it waits here.
    #[inline(never)]
    pub(super) fn passes(&mut self, shaper: u32, packet: &Packet, now: Time) -> bool {
        let (bucket, held) = &mut self.shapers[shaper as usize];
        let release = bucket.release(packet.size, now);
        if release <= now {
            return true;
        }
        self.arrivals += 1;
        self.limited[shaper as usize] = true;
        if held.is_empty() {
            self.first.push((release, self.arrivals), shaper);
        }
        held.push_back(Held { release, arrival: self.arrivals, packet: packet.describe(now) });
        false
    }

    /// Charges the bucket of `shaper` with a packet of `size` bytes that leaves at `now`. Returns the end of the debt,
    /// if any.
    pub(super) fn charge(&mut self, shaper: u32, size: u32, now: Time) -> Option<Time> {
        let wait = self.shapers[shaper as usize].0.charge(size, now);
        self.debts[shaper as usize] = wait > Span::ZERO;
        (wait > Span::ZERO).then(|| now.saturating_add(wait))
    }

    /// Marks the bucket of `shaper` as free of debt.
    pub(super) fn settle(&mut self, shaper: u32) {
        self.debts[shaper as usize] = false;
    }

    /// Whether the bucket of `shaper` is in debt; false if the shaper does not exist.
    #[inline]
    pub(super) fn owes(&self, shaper: u32) -> bool {
        self.debts.get(shaper as usize).is_some_and(|owes| *owes)
    }

    /// Notes that a packet waits for the bucket of `shaper`.
    pub(super) fn note_limited(&mut self, shaper: u32) {
        self.limited[shaper as usize] = true;
    }

    /// Whether the bucket of `shaper` ever held a packet back; `None` if the shaper does not exist.
    pub(super) fn has_limited(&self, shaper: u32) -> Option<bool> {
        self.limited.get(shaper as usize).copied()
    }

    /// Removes the first index whose release is at most `now`; returns its shaper, packet and release time.
    pub(super) fn release(&mut self, now: Time) -> Option<(u32, Packet, Time)> {
        let (release, _) = self.first.peek().filter(|(release, _)| *release <= now).copied()?;
        let (_, shaper) = self.first.pop()?;
        let held = &mut self.shapers[shaper as usize].1;
        let released = held.pop_front()?;
        if let Some(next) = held.front() {
            self.first.push((next.release, next.arrival), shaper);
        }
        Some((shaper, released.packet, release))
    }

    /// The next release: its time, its shaper, and the size of the packet.
    pub(super) fn next(&self) -> Option<(Time, u32, u32)> {
        let (key, shaper) = self.first.iter().next()?;
        Some((key.0, shaper, self.first_at(shaper)?.packet.size))
    }

    /// The first waiting index of each shaper, in any order: release time, arrival number, shaper, and size of the
    /// packet.
    pub(super) fn firsts(&self) -> impl Iterator<Item = (Time, u64, u32, u32)> {
        let size = |shaper| Some(self.first_at(shaper)?.packet.size);
        self.first.iter().filter_map(move |((time, arrival), shaper)| Some((time, arrival, shaper, size(shaper)?)))
    }

    fn first_at(&self, shaper: u32) -> Option<&Held> {
        self.shapers[shaper as usize].1.front()
    }

    /// The number of indices that have waited so far.
    pub(super) const fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// The release time of an index of `size` bytes that arrives at `shaper` at `time`, before any other.
    pub(super) fn foresee(&self, shaper: u32, size: u32, time: Time) -> Time {
        let mut bucket = self.shapers[shaper as usize].0;
        bucket.release(size, time)
    }

    /// Removes the last index at `shaper`; returns whether there was one.
    pub(super) fn remove_last(&mut self, shaper: u32) -> bool {
        let held = &mut self.shapers[shaper as usize].1;
        let removed = held.pop_back().is_some();
        if removed && held.is_empty() {
            self.first.remove(shaper);
        }
        removed
    }
}
