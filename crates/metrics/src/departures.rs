//! Departures: packets sent by rank, and their identities, to compare two schedulers on the same input.

use crate::bins::{Bin, Binned};
use pifolab_sched::Inspect;
use pifolab_sim::observer::{Observer, PacketView, PortId};
use pifolab_units::Time;

/// Counts the packets sent by rank, and records each sent packet in one bit per arrival.
///
/// Packet ids must count arrivals from 0, as in the one-link engine.
#[derive(Clone, Debug, Default)]
pub struct Departures {
    by_rank: Binned<u64>,
    sent: Vec<u64>,
    packets: u64,
}

impl Departures {
    /// Packets sent by rank, ascending.
    pub fn by_rank(&self) -> impl Iterator<Item = (Bin, u64)> {
        self.by_rank.iter().map(|(bin, count)| (bin, *count))
    }

    /// Delta of AIFO eq. 1: (|P \ A| + |A \ P|) / (|P| + |A|), where P and A are the sets of packets that two
    /// schedulers sent from the same input. 0 if the sets are equal, 1 if they are disjoint. The order of packets does
    /// not count. 0 if both sets are empty.
    pub fn delta(&self, other: &Self) -> f64 {
        let sent = self.packets + other.packets;
        if sent == 0 {
            return 0.0;
        }
        let word = |departures: &Self, at: usize| departures.sent.get(at).copied().unwrap_or(0);
        let words = self.sent.len().max(other.sent.len());
        let differ: u32 = (0..words).map(|at| (word(self, at) ^ word(other, at)).count_ones()).sum();
        f64::from(differ) / sent as f64
    }
}

impl Observer for Departures {
    #[inline]
    fn on_dequeue(&mut self, _: PortId, packet: PacketView, _: u32, _: &dyn Inspect, _: Time) {
        self.packets += 1;
        *self.by_rank.at(packet.rank) += 1;
        let word = (packet.id / 64) as usize;
        if word >= self.sent.len() {
            self.sent.resize(word + 1, 0);
        }
        self.sent[word] |= 1 << (packet.id % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{events, run};

    fn sent(log: &str) -> Departures {
        let mut departures = Departures::default();
        run(&mut departures, events(log));
        departures
    }

    #[test]
    fn delta_counts_packets_that_only_one_of_the_two_sent() {
        // Ids count arrivals. The first run sends 0, 1 and 3; the second sends 0 and 2.
        let first = sent("+1 +1 x1 +1 -1 -1 -1");
        let second = sent("+1 x1 +1 -1 -1");
        assert_eq!(first.packets, 3);
        assert_eq!(first.delta(&second), 3.0 / 5.0);
        assert_eq!(second.delta(&first), 3.0 / 5.0);
        assert_eq!(first.delta(&first), 0.0);
        assert_eq!(Departures::default().delta(&first), 1.0);
        assert_eq!(Departures::default().delta(&Departures::default()), 0.0);
    }

    #[test]
    fn departures_are_counted_by_rank() {
        let by_rank: Vec<u64> = sent("+2 +0 +2 -0 -2 -2").by_rank().map(|(_, count)| count).collect();
        assert_eq!(by_rank, [1, 0, 2]);
    }
}
