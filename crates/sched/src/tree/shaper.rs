//! Shaping: indices that wait for their time before they enter the parent of a node.

use crate::store::SlotHeap;
use crate::{Item, Packet};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use pifolab_units::{Bytes, Rate, Span, Time};

/// A token bucket: how fast, and how much at once, a node may pass packets on to its parent.
///
/// With [`Charge::Departure`](super::Charge::Departure) the node may send while its bucket is not in debt, and the bucket is charged
/// with each packet that leaves: in any interval at most r x t + B + the largest packet leave from below the node.
///
/// With [`Charge::Arrival`](super::Charge::Arrival), Sivaraman et al., SIGCOMM 2016, Fig. 4c: tokens = min(B, tokens + r x (now - last));
/// release = now if length <= tokens, else now + (length - tokens) / r; tokens -= length; last = now. A release is rounded up to the
/// next picosecond and the bucket charged for the rest of it: the indices that are released in any interval have brought at most
/// r x t + max(B, largest packet), and other packets may leave for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// The rate r.
    pub rate: Rate,
    /// The burst B: the most bytes that gather. The bucket is full at the start.
    pub burst: Bytes,
}

/// A token bucket with its state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    bps: i128,
    /// In 10^-12 bits, so that a picosecond at 1 bit/s is one unit: nothing is rounded.
    burst: i128,
    tokens: i128,
    last: Time,
}

/// A byte in units of tokens.
const BYTE: i128 = 8 * 1_000_000_000_000;

impl Bucket {
    /// A full bucket.
    pub(crate) fn new(TokenBucket { rate, burst }: TokenBucket) -> Self {
        let burst = i128::from(burst.0) * BYTE;
        Self { bps: i128::from(rate.as_bps()), burst, tokens: burst, last: Time::ZERO }
    }

    /// When a packet of `size` bytes that arrives at `now` may pass.
    pub(crate) fn release(&mut self, size: u32, now: Time) -> Time {
        let now = now.max(self.last);
        let wait = self.charge(size, now);
        if wait > Span::ZERO {
            self.tokens = -(i128::from(wait.as_ps()) * self.bps);
        }
        now.saturating_add(wait)
    }

    /// Charges the bucket with a packet of `size` bytes that leaves at `now`, which never decreases. Returns for how long it is in debt.
    fn charge(&mut self, size: u32, now: Time) -> Span {
        let gained = i128::from(now.since(self.last).as_ps()) * self.bps;
        self.tokens = self.burst.min(self.tokens + gained) - i128::from(size) * BYTE;
        self.last = now;
        let debt = self.tokens.min(0).unsigned_abs();
        Span::from_ps(u64::try_from(debt.div_ceil(self.bps.unsigned_abs())).unwrap_or(u64::MAX))
    }
}

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
        held.push_back(Held { release, arrival: self.arrivals, packet: packet.duplicate() });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_bucket_lets_a_burst_pass_and_then_the_rate() {
        // 8 Mb/s: a byte takes a microsecond.
        let rate = Rate::from_bps(8_000_000).unwrap();
        let mut bucket = Bucket::new(TokenBucket { rate, burst: Bytes(3_000) });
        let us = |us: u64| Time::from_ns(us * 1_000);
        assert_eq!(bucket.release(1_500, us(0)), us(0));
        assert_eq!(bucket.release(1_500, us(0)), us(0));
        assert_eq!(bucket.release(1_500, us(0)), us(1_500));
        assert_eq!(bucket.release(1_000, us(0)), us(2_500));
        // At 4 ms 1,500 tokens have gathered; a packet larger than the burst waits until it is covered.
        assert_eq!(bucket.release(1_500, us(4_000)), us(4_000));
        assert_eq!(bucket.release(9_000, us(4_000)), us(13_000));
        // Never more than the burst gathers.
        assert_eq!(bucket.release(3_001, us(1_000_000)), us(1_000_001));
    }

    #[test]
    fn releases_never_exceed_rate_and_burst_over_any_interval() {
        let mut state = 3u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for bps in [1_000_003, 999_999_937, 10_000_000_000, 7_777_777_777_777] {
            for burst in [1, 1_500, 10_000] {
                let rate = Rate::from_bps(bps).unwrap();
                let mut bucket = Bucket::new(TokenBucket { rate, burst: Bytes(burst) });
                let (mut now, mut releases, mut largest) = (0, Vec::new(), 0);
                for _ in 0..pifolab_testkit::steps(300, 30) {
                    let size = 1 + draw(9_000) as u32;
                    now += draw(2) * draw(u64::from(size) * 24 * 1_000_000_000_000 / bps + 1);
                    largest = largest.max(u64::from(size));
                    releases.push((bucket.release(size, Time::from_ps(now)).as_ps(), u128::from(size)));
                }
                assert!(releases.is_sorted_by_key(|(time, _)| *time));
                for from in 0..releases.len() {
                    let mut bytes = 0;
                    for to in from..releases.len() {
                        bytes += releases[to].1;
                        let elapsed = u128::from(releases[to].0 - releases[from].0);
                        let most = u128::from(bps) * elapsed + (u128::from(burst.max(largest)) * BYTE as u128);
                        assert!(
                            bytes * BYTE as u128 <= most,
                            "{bps} b/s, burst {burst}: {bytes} bytes in {elapsed} ps"
                        );
                    }
                }
            }
        }
    }
}
