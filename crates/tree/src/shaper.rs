//! Shaping: indices that wait for their time before they enter the parent of a node.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use pifolab_sched::store::SlotHeap;
use pifolab_sched::{Bucket, Item, Packet, TokenBucket};
use pifolab_units::{Span, Time};

/// An index that waits.
#[derive(Debug)]
struct Held {
    release: Time,
    /// Equal times are released in the order of arrival, whichever node holds them.
    arrival: u64,
    packet: Packet,
}

/// The shaping transactions of a tree: the indices that wait at its nodes, and which of them is first.
#[derive(Debug, Default)]
pub(super) struct Shapers {
    shapers: Vec<(Bucket, VecDeque<Held>)>,
    /// Of a tree that charges what leaves: whether a bucket is in debt.
    debts: Vec<bool>,
    first: SlotHeap<(Time, u64)>,
    arrivals: u64,
}

impl Shapers {
    /// Adds a token bucket, and names it.
    pub(super) fn add(&mut self, bucket: TokenBucket) -> u32 {
        self.shapers.push((Bucket::new(bucket), VecDeque::new()));
        self.debts.push(false);
        self.shapers.len() as u32 - 1
    }

    /// Whether an index waits.
    #[inline]
    pub(super) const fn is_waiting(&self) -> bool {
        !self.first.is_empty()
    }

    /// Whether an index of `packet` may pass at `now`; if not it waits here.
    #[inline(never)]
    pub(super) fn passes(&mut self, shaper: u32, packet: &Packet, now: Time) -> bool {
        let (bucket, held) = &mut self.shapers[shaper as usize];
        let release = bucket.release(packet.size, now);
        if release <= now {
            return true;
        }
        self.arrivals += 1;
        if held.is_empty() {
            self.first.push((release, self.arrivals), shaper);
        }
        held.push_back(Held { release, arrival: self.arrivals, packet: packet.describe(now) });
        false
    }

    /// Charges the bucket of `shaper` with a packet of `size` bytes that leaves at `now`. If it is in debt then, returns until when.
    pub(super) fn charge(&mut self, shaper: u32, size: u32, now: Time) -> Option<Time> {
        let wait = self.shapers[shaper as usize].0.charge(size, now);
        self.debts[shaper as usize] = wait > Span::ZERO;
        (wait > Span::ZERO).then(|| now.saturating_add(wait))
    }

    /// The bucket of `shaper` is no longer in debt.
    pub(super) fn settle(&mut self, shaper: u32) {
        self.debts[shaper as usize] = false;
    }

    /// Whether the bucket of `shaper` is in debt; there may be no such shaper.
    #[inline]
    pub(super) fn owes(&self, shaper: u32) -> bool {
        self.debts.get(shaper as usize).is_some_and(|owes| *owes)
    }

    /// Takes the first index whose time has come: its shaper, its packet, and its time.
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

    /// When the next index is released, by which shaper, and the size of its packet.
    pub(super) fn next(&self) -> Option<(Time, u32, u32)> {
        let (key, shaper) = self.first.iter().next()?;
        Some((key.0, shaper, self.first_at(shaper)?.packet.size))
    }

    /// The first index that waits at each shaper, in any order: when it is released, the number of its arrival, the shaper, and the
    /// size of its packet.
    pub(super) fn firsts(&self) -> impl Iterator<Item = (Time, u64, u32, u32)> {
        let size = |shaper| Some(self.first_at(shaper)?.packet.size);
        self.first.iter().filter_map(move |((time, arrival), shaper)| Some((time, arrival, shaper, size(shaper)?)))
    }

    fn first_at(&self, shaper: u32) -> Option<&Held> {
        self.shapers[shaper as usize].1.front()
    }

    /// How many indices have waited so far.
    pub(super) const fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// When an index of a packet of this size would be released that came to `shaper` at `time`, before any other.
    pub(super) fn foresee(&self, shaper: u32, size: u32, time: Time) -> Time {
        let mut bucket = self.shapers[shaper as usize].0;
        bucket.release(size, time)
    }

    /// Takes the index that would be released last, if one waits at `shaper`; says whether one did.
    pub(super) fn remove_last(&mut self, shaper: u32) -> bool {
        let held = &mut self.shapers[shaper as usize].1;
        let removed = held.pop_back().is_some();
        if removed && held.is_empty() {
            self.first.remove(shaper);
        }
        removed
    }
}
