//! Measurements at every port of a network: inversions, losses by rank, and queue statistics.

use crate::bins::Bin;
use crate::drops::DropCount;
use crate::inversions::InversionCount;
use crate::queue_share::QueueShares;
use crate::rank_multiset::RankMultiset;
use crate::rank_range::RankRange;
use pifolab_sched::Inspect;
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::{Rank, Rate, Rounding, Time};
use std::collections::BTreeMap;

/// Measures all ports of a network, each separately.
///
/// [`Inversions`](crate::Inversions) and [`QueueShares`] define the metrics. Ranks are stored in sparse maps, because
/// hundreds of ports rarely have the same ranks.
#[derive(Clone, Debug)]
pub struct PortWatch {
    ports: Vec<WatchedPort>,
    /// The queue of each packet, by packet id, so that a push-out is charged to the right queue.
    queue_of: Vec<u32>,
}

/// The measurements of one port.
#[derive(Clone, Debug)]
pub struct WatchedPort {
    waiting: RankMultiset,
    inversions: InversionCount,
    /// Counts by the lowest rank of each bin.
    ranks: BTreeMap<u64, RankCount>,
    shares: QueueShares,
    range: RankRange,
}

/// The events of one bin of ranks at one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankCount {
    /// Packets that left while a packet of lower rank waited, charged to the rank that left.
    pub inversions: u64,
    /// Pairs of such a packet and a waiting packet of lower rank.
    pub pairwise: u64,
    /// Packets lost.
    pub drops: DropCount,
}

impl PortWatch {
    /// Creates the measurements for ports with these link rates, in the order of port numbers. Packet ids must be small
    /// numbers, as in the network engine.
    pub fn new(rates: impl IntoIterator<Item = Rate>, rounding: Rounding) -> Self {
        let port = |rate| WatchedPort {
            waiting: RankMultiset::default(),
            inversions: InversionCount::default(),
            ranks: BTreeMap::new(),
            shares: QueueShares::new(rate, rounding),
            range: RankRange::default(),
        };
        Self { ports: rates.into_iter().map(port).collect(), queue_of: Vec::new() }
    }

    /// Takes the measurements of the ports that `other`, which watched another part of the same network, owns.
    pub fn join(&mut self, other: Self, owns: impl Fn(usize) -> bool) {
        for (number, (port, others)) in self.ports.iter_mut().zip(other.ports).enumerate() {
            if owns(number) {
                *port = others;
            }
        }
    }

    /// The ports, in the order of their numbers.
    pub fn ports(&self) -> &[WatchedPort] {
        &self.ports
    }
}

impl WatchedPort {
    /// The inversions over all ranks.
    pub const fn inversions(&self) -> InversionCount {
        self.inversions
    }

    /// Counts of the ranks with inversions or losses, ascending.
    pub fn ranks(&self) -> impl Iterator<Item = (Bin, RankCount)> {
        self.ranks.iter().map(|(low, count)| (Bin::of(Rank::saturating(*low)), *count))
    }

    /// The range of the ranks of all arrived packets.
    pub const fn range(&self) -> RankRange {
        self.range
    }

    /// The statistics of the port's queues.
    pub const fn queues(&self) -> &QueueShares {
        &self.shares
    }
}

impl Observer for PortWatch {
    #[inline]
    fn on_admit(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        let id = packet.id as usize;
        if id >= self.queue_of.len() {
            self.queue_of.resize(id + 1, 0);
        }
        self.queue_of[id] = queue;
        let watched = &mut self.ports[port.0 as usize];
        watched.range.add(packet.rank, now);
        watched.waiting.insert(packet.rank);
        watched.shares.on_admit(port, packet, queue, scheduler, now);
    }

    fn on_drop(&mut self, port: PortId, packet: PacketView, mut loss: Loss, scheduler: &dyn Inspect, now: Time) {
        let watched = &mut self.ports[port.0 as usize];
        watched.ranks.entry(Bin::of(packet.rank).low).or_default().drops.by_reason[loss.reason as usize] += 1;
        if loss.admitted {
            watched.waiting.remove(packet.rank);
            loss.queue = Some(self.queue_of[packet.id as usize]);
        } else {
            watched.range.add(packet.rank, now);
        }
        watched.shares.on_drop(port, packet, loss, scheduler, now);
    }

    #[inline]
    fn on_dequeue(&mut self, port: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        let watched = &mut self.ports[port.0 as usize];
        watched.waiting.remove(packet.rank);
        let pairwise = watched.waiting.below(packet.rank);
        if pairwise > 0 {
            let of_rank = watched.ranks.entry(Bin::of(packet.rank).low).or_default();
            of_rank.inversions += 1;
            of_rank.pairwise += pairwise;
            watched.inversions.add(packet.rank, pairwise, watched.waiting.min().unwrap_or_default());
        }
        watched.shares.on_dequeue(port, packet, queue, scheduler, now);
    }

    fn on_link_down(&mut self, port: PortId, packet: PacketView, scheduler: &dyn Inspect, now: Time) {
        let watched = &mut self.ports[port.0 as usize];
        watched.waiting.remove(packet.rank);
        watched.shares.on_link_down(port, packet, scheduler, now);
    }

    fn on_end(&mut self, now: Time) {
        for port in &mut self.ports {
            port.shares.on_end(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{events, run};
    use crate::{Drops, Inversions};

    #[test]
    fn a_port_counts_what_the_observers_of_one_link_count_and_others_count_nothing() {
        let script = "+5 +1 +1 +3 x9 e3 +5 -5 -1 x70000 -1 -5";
        let mut watch = PortWatch::new([Rate::from_gbps(1); 2], Rounding::default());
        let (mut inversions, mut drops) = (Inversions::default(), Drops::default());
        run(&mut (&mut watch, &mut inversions, &mut drops), events(script));
        let port = &watch.ports()[0];
        assert_eq!(port.inversions(), inversions.total());
        assert!(port.inversions().inversions > 0);
        let of_ranks: DropCount = port.ranks().fold(DropCount::default(), |mut sum, (_, count)| {
            sum.by_reason.iter_mut().zip(count.drops.by_reason).for_each(|(sum, more)| *sum += more);
            sum
        });
        assert_eq!(of_ranks, drops.total());
        let [queue] = port.queues().queues() else { panic!("only one queue was used") };
        assert_eq!(queue.dropped, drops.total());
        assert!(port.ranks().any(|(bin, _)| (bin.low..=bin.high).contains(&70_000)));
        assert_eq!((watch.ports()[1].ranks().count(), watch.ports()[1].queues().queues().len()), (0, 0));
    }
}
