//! A fingerprint of everything that happened: the same run gives the same hash on every machine.

use crate::observer::{Loss, Observer, PacketView, PortId};
use pifolab_sched::{DropReason, Inspect};
use pifolab_units::Time;

/// An odd constant without pattern: the fraction of the golden ratio, as in SplitMix64.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Folds every outcome (which packet, at which port, into or out of which queue, why dropped, when) into 64 bits.
///
/// It is an [`Observer`], so any engine can have one. Each word is mixed in by a 128-bit multiplication folded to 64
/// bits, which spreads every input bit over the whole state; this guards against accidents, not against an adversary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceHash {
    state: u64,
    outcomes: u64,
}

impl TraceHash {
    /// The hash of no outcome.
    pub const fn new() -> Self {
        Self { state: 0, outcomes: 0 }
    }

    /// Mixes in one word.
    #[inline]
    pub fn fold(&mut self, word: u64) {
        let mixed = (self.state ^ word).wrapping_add(MULTIPLIER);
        let product = u128::from(mixed) * u128::from(MULTIPLIER);
        self.state = (product as u64) ^ ((product >> 64) as u64).rotate_left(23);
    }

    #[inline]
    fn outcome(&mut self, kind: u64, port: PortId, packet: &PacketView, now: Time) {
        self.outcomes += 1;
        self.fold(kind ^ u64::from(port.0) << 32);
        self.fold(packet.id);
        self.fold(packet.rank.get());
        self.fold(now.as_ps());
    }

    /// The hash of the outcomes so far.
    pub const fn value(&self) -> u64 {
        self.state ^ self.outcomes
    }

    /// The number of hashed outcomes: admissions, drops and departures.
    pub const fn outcomes(&self) -> u64 {
        self.outcomes
    }
}

/// The kinds of outcomes, in the upper bits; the queue or the reason is in the lower bits.
const ADMIT: u64 = 1 << 24;
const DROP: u64 = 2 << 24;
const DEQUEUE: u64 = 3 << 24;

/// The code of a reason in hashes. Queue management shares the code of the admission test, so that hashes stored before
/// it had its own reason stay valid.
pub(crate) const fn code(reason: DropReason) -> u64 {
    match reason {
        DropReason::Aqm => DropReason::Admission as u64,
        reason => reason as u64,
    }
}

impl Observer for TraceHash {
    fn on_admit(&mut self, port: PortId, packet: PacketView, queue: u32, _scheduler: &dyn Inspect, now: Time) {
        self.outcome(ADMIT | u64::from(queue), port, &packet, now);
    }
    fn on_drop(&mut self, port: PortId, packet: PacketView, loss: Loss, _scheduler: &dyn Inspect, now: Time) {
        self.outcome(DROP | code(loss.reason), port, &packet, now);
    }
    fn on_dequeue(&mut self, port: PortId, packet: PacketView, queue: u32, _scheduler: &dyn Inspect, now: Time) {
        self.outcome(DEQUEUE | u64::from(queue), port, &packet, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(words: &[u64]) -> u64 {
        let mut hash = TraceHash::new();
        words.iter().for_each(|word| hash.fold(*word));
        hash.value()
    }

    #[test]
    fn the_value_never_changes_between_machines_and_releases() {
        // Computed with Python's integers.
        assert_eq!(hash(&[1, 2, 3]), 17_490_819_311_028_926_259);
    }

    #[test]
    fn order_count_and_every_bit_matter() {
        let mut values: Vec<u64> = (0..64).map(|bit| hash(&[0, 1 << bit, 7])).collect();
        values.extend([hash(&[]), hash(&[0]), hash(&[0, 0]), hash(&[1, 2]), hash(&[2, 1]), hash(&[0, 0, 7])]);
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), 70);
    }
}
