//! Numbers flows from 0 on, as schedulers and rank functions require, in a preallocated table of fixed size.

use super::frame::FlowKey;
use pifolab_units::{Span, Time};
use std::hash::{BuildHasher, RandomState};

/// No entry.
const NONE: u32 = u32::MAX;

/// Gives each flow a number. If the table is full, a new flow gets the number of the flow that was silent longest.
///
/// A packet costs one keyed hash, a chain of about one entry, and a few links, for any number of flows. The hash is
/// SipHash with different keys for each table, so that a sender cannot choose flows that collide. Nothing is allocated
/// after the start.
#[derive(Debug)]
pub struct FlowTable {
    keys: RandomState,
    /// The first entry of each chain.
    buckets: Box<[u32]>,
    /// The entries, by number.
    entries: Vec<Entry>,
    limit: u32,
    timeout: Span,
    /// The flow with the latest packet, and the one that was silent longest.
    newest: u32,
    oldest: u32,
    replaced: u64,
}

#[derive(Debug)]
struct Entry {
    key: FlowKey,
    bucket: u32,
    /// The next entry of the chain.
    chained: u32,
    newer: u32,
    older: u32,
    /// The time of its last packet.
    seen: Time,
}

/// The number of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowNumber {
    /// Its number, the same for all its packets.
    pub number: u32,
    /// Whether another flow had the number before, or this one was silent for too long: the caller must forget the
    /// state for this number.
    pub replaces: bool,
}

impl FlowTable {
    /// A table for `limit` flows, which are forgotten after a silence longer than `timeout` (never, if it is zero).
    ///
    /// # Panics
    /// If `limit` is 0 or above 2^30.
    pub fn new(limit: u32, timeout: Span) -> Self {
        assert!((1..=1 << 30).contains(&limit), "a flow table holds from 1 to 2^30 flows");
        Self {
            keys: RandomState::new(),
            buckets: vec![NONE; (limit as usize * 2).next_power_of_two()].into(),
            entries: Vec::with_capacity(limit as usize),
            limit,
            timeout,
            newest: NONE,
            oldest: NONE,
            replaced: 0,
        }
    }

    fn bucket(&self, key: &FlowKey) -> u32 {
        (self.keys.hash_one(key) as usize & (self.buckets.len() - 1)) as u32
    }

    /// Whether a flow with its last packet at `seen` is forgotten at `now`.
    fn is_stale(&self, seen: Time, now: Time) -> bool {
        self.timeout != Span::ZERO && now > seen + self.timeout
    }

    /// The number of the flow `key`, whose packet arrives at `now`.
    pub fn number(&mut self, key: &FlowKey, now: Time) -> FlowNumber {
        let bucket = self.bucket(key);
        let mut number = self.buckets[bucket as usize];
        while number != NONE {
            let entry = &self.entries[number as usize];
            if entry.key == *key {
                let replaces = self.is_stale(entry.seen, now);
                self.entries[number as usize].seen = now;
                if self.newest != number {
                    self.unlink(number);
                    self.link(number);
                }
                return FlowNumber { number, replaces };
            }
            number = entry.chained;
        }
        // A forgotten flow's number is reused before a fresh one is taken, so that state per number takes less memory.
        let stale = self.entries.get(self.oldest as usize).is_some_and(|oldest| self.is_stale(oldest.seen, now));
        let replaces = stale || self.entries.len() == self.limit as usize;
        let entry =
            Entry { key: *key, bucket, chained: self.buckets[bucket as usize], newer: NONE, older: NONE, seen: now };
        let number = if replaces {
            let oldest = self.oldest;
            self.unlink(oldest);
            self.unchain(oldest);
            // Read after the removal, since the chain may have begun with the removed entry.
            let chained = self.buckets[bucket as usize];
            self.entries[oldest as usize] = Entry { chained, ..entry };
            self.replaced += 1;
            oldest
        } else {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        };
        self.buckets[bucket as usize] = number;
        self.link(number);
        FlowNumber { number, replaces }
    }

    /// Makes a flow the newest.
    fn link(&mut self, number: u32) {
        let newest = self.newest;
        self.entries[number as usize].older = newest;
        self.entries[number as usize].newer = NONE;
        if newest == NONE {
            self.oldest = number;
        } else {
            self.entries[newest as usize].newer = number;
        }
        self.newest = number;
    }

    fn unlink(&mut self, number: u32) {
        let Entry { newer, older, .. } = self.entries[number as usize];
        if newer == NONE {
            self.newest = older;
        } else {
            self.entries[newer as usize].older = older;
        }
        if older == NONE {
            self.oldest = newer;
        } else {
            self.entries[older as usize].newer = newer;
        }
    }

    /// Removes an entry from its chain.
    fn unchain(&mut self, number: u32) {
        let Entry { bucket, chained, .. } = self.entries[number as usize];
        let mut at = self.buckets[bucket as usize];
        if at == number {
            self.buckets[bucket as usize] = chained;
            return;
        }
        while self.entries[at as usize].chained != number {
            at = self.entries[at as usize].chained;
        }
        self.entries[at as usize].chained = chained;
    }

    /// The largest number of flows.
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// The number of flows with a number.
    pub fn known(&self) -> u32 {
        self.entries.len() as u32
    }

    /// How often a number passed from one flow to another.
    pub const fn replaced(&self) -> u64 {
        self.replaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(ports: u32) -> FlowKey {
        FlowKey { source: 1, destination: 2, ports, protocol: 17, version: 4 }
    }

    impl FlowTable {
        fn longest_chain(&self) -> usize {
            let length = |first: &u32| {
                std::iter::successors(Some(*first).filter(|first| *first != NONE), |at| {
                    Some(self.entries[*at as usize].chained).filter(|next| *next != NONE)
                })
                .count()
            };
            self.buckets.iter().map(length).max().unwrap_or(0)
        }
    }

    #[test]
    fn flows_are_numbered_in_the_order_in_which_they_appear() {
        let mut table = FlowTable::new(100, Span::ZERO);
        for port in (0..100).chain((0..100).rev()) {
            assert_eq!(table.number(&key(port), Time::ZERO), FlowNumber { number: port, replaces: false });
        }
    }

    #[test]
    fn in_a_full_table_the_flow_that_was_silent_longest_gives_way_and_no_two_share_a_number() {
        let mut table = FlowTable::new(4, Span::ZERO);
        for port in 0..4 {
            table.number(&key(port), Time::ZERO);
        }
        // Flow 0 sends again, so that flow 1 is the one that was silent longest.
        table.number(&key(0), Time::ZERO);
        assert_eq!(table.number(&key(4), Time::ZERO), FlowNumber { number: 1, replaces: true });
        assert_eq!(table.number(&key(0), Time::ZERO), FlowNumber { number: 0, replaces: false });
        assert_eq!(table.number(&key(1), Time::ZERO), FlowNumber { number: 2, replaces: true });
        assert_eq!((table.known(), table.replaced()), (4, 2));
    }

    /// A hash without keys: multiply and fold.
    fn unkeyed(key: &FlowKey) -> u64 {
        let ports = u64::from(key.ports) << 8 | u64::from(key.protocol);
        let words = [key.source as u64, 0, key.destination as u64, 0, ports];
        words.iter().fold(0x9e37_79b9_7f4a_7c15, |state, word| {
            let product = u128::from(state ^ word) * 0x6a09_e667_f3bc_c909;
            (product as u64) ^ (product >> 64) as u64
        })
    }

    #[test]
    fn twenty_thousand_chosen_port_pairs_of_one_host_do_not_make_long_chains() {
        let mut table = FlowTable::new(65_536, Span::ZERO);
        // Flows that an unkeyed hash maps to a few neighbouring slots of the 131,072.
        let chosen = (0..=u32::MAX).map(key).filter(|key| unkeyed(key) & 0x1_ffff < 16).take(20_000);
        let numbers: Vec<_> = chosen.map(|key| table.number(&key, Time::ZERO).number).collect();
        assert!(numbers.iter().copied().eq(0..20_000));
        // 20,000 balls in 131,072 bins: more than 12 in one has a chance below 10^-12.
        assert!(table.longest_chain() <= 12, "{}", table.longest_chain());
    }

    #[test]
    fn after_many_more_flows_than_it_holds_the_table_is_as_it_should_be() {
        let mut table = FlowTable::new(64, Span::ZERO);
        let mut recent = std::collections::VecDeque::new();
        for step in 0..20_000_u32 {
            let port = step.wrapping_mul(2_654_435_761) >> 25;
            let FlowNumber { number, replaces } = table.number(&key(port), Time::ZERO);
            assert!(number < 64);
            let known = recent.iter().position(|(known, _)| *known == port);
            match known {
                Some(place) => assert_eq!(recent.remove(place), Some((port, number))),
                None if recent.len() == 64 => {
                    assert!(replaces);
                    assert_eq!(recent.pop_front().map(|(_, number)| number), Some(number));
                }
                None => assert!(!replaces),
            }
            recent.push_back((port, number));
        }
        assert!(table.replaced() > 1000);
    }

    #[test]
    fn who_was_silent_for_longer_than_the_time_out_is_another_flow() {
        let second = |number: u64| Time::ZERO + Span::from_us(1_000_000 * number);
        let mut table = FlowTable::new(8, Span::from_us(10_000_000));
        let fresh = |number| FlowNumber { number, replaces: false };
        assert_eq!([table.number(&key(1), second(0)), table.number(&key(2), second(5))], [fresh(0), fresh(1)]);
        assert_eq!(table.number(&key(1), second(10)), fresh(0), "it spoke again in time");
        assert_eq!(table.number(&key(2), second(16)), FlowNumber { number: 1, replaces: true }, "eleven seconds");
        // A new flow takes the number of a forgotten one, although others are free.
        assert_eq!(table.number(&key(3), second(21)), FlowNumber { number: 0, replaces: true });
        assert_eq!(table.number(&key(1), second(21)), fresh(2));
        assert_eq!(table.known(), 3);
    }
}
