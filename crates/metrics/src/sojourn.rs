//! Sojourn times: the times that packets wait in the buffer.

use crate::bins::{Bin, Binned};
use pifolab_sched::Inspect;
use pifolab_sim::observer::{Observer, PacketView, PortId};
use pifolab_units::{Span, Time};

/// Sojourn times of the packets sent: from the arrival at the port to the first bit on the wire (RFC 8289), without the
/// serialisation time.
///
/// Mean, smallest and largest are exact. Quantiles come from a histogram with bins at most 1/1024 of their values wide.
/// A quantile is the upper end of the bin that reaches it, so its error is below a tenth of a percent.
#[derive(Clone, Debug, Default)]
pub struct Sojourn {
    total: Waits,
    min: Option<Span>,
    max: Span,
    histogram: Binned<u64>,
    by_rank: Binned<Waits>,
}

/// A number of packets and the sum of their waiting times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Packets sent.
    pub packets: u64,
    /// The sum of their sojourn times, in picoseconds.
    pub sum_ps: u128,
}

impl Waits {
    /// The mean in nanoseconds; `None` without packets.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.sum_ps as f64 / self.packets as f64 / 1e3)
    }

    #[inline]
    fn add(&mut self, wait: Span) {
        self.packets += 1;
        self.sum_ps += u128::from(wait.as_ps());
    }
}

impl Sojourn {
    /// The waiting times over all packets sent.
    pub const fn total(&self) -> Waits {
        self.total
    }

    /// The waiting times by rank, ascending.
    pub fn by_rank(&self) -> impl Iterator<Item = (Bin, Waits)> {
        self.by_rank.iter().map(|(bin, waits)| (bin, *waits))
    }

    /// The smallest and the largest waiting time; `None` without packets.
    pub fn range(&self) -> Option<(Span, Span)> {
        self.min.map(|min| (min, self.max))
    }

    /// The smallest time that at least `share` (0 to 1) of the packets do not exceed, to a tenth of a percent.
    pub fn quantile(&self, share: f64) -> Option<Span> {
        let needed = ((share * self.total.packets as f64).ceil() as u64).max(1);
        let mut reached = 0;
        let bins = self.histogram.iter().find(|(_, count)| {
            reached += **count;
            reached >= needed
        });
        bins.map(|(bin, _)| Span::from_ps(bin.high).min(self.max))
    }
}

impl Observer for Sojourn {
    #[inline]
    fn on_dequeue(&mut self, _: PortId, packet: PacketView, _: u32, _: &dyn Inspect, now: Time) {
        let wait = now.since(packet.arrival);
        self.total.add(wait);
        self.by_rank.at(packet.rank).add(wait);
        self.min = Some(self.min.map_or(wait, |min| min.min(wait)));
        self.max = self.max.max(wait);
        *self.histogram.get_mut(wait.as_ps()) += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{events, run};

    #[test]
    fn waits_run_from_arrival_to_departure_of_packets_that_were_sent() {
        let mut sojourn = Sojourn::default();
        // Outcomes are 1 us apart: 7 waits 3 us, 2 waits 1 us; 9 is pushed out and does not count.
        run(&mut sojourn, events("+7 +9 e9 -7 +2 -2"));
        assert_eq!(sojourn.total().mean_ns(), Some(2_000.0));
        assert_eq!(sojourn.range(), Some((Span::from_us(1), Span::from_us(3))));
        assert_eq!(sojourn.by_rank().find(|(bin, _)| bin.low == 7).unwrap().1.mean_ns(), Some(3_000.0));
        assert_eq!(Sojourn::default().quantile(0.5), None);
        assert_eq!(Sojourn::default().range(), None);
    }

    #[test]
    fn quantiles_are_right_to_a_tenth_of_a_percent() {
        let mut sojourn = Sojourn::default();
        let scheduler = <pifolab_sched::schedulers::Fifo>::new(pifolab_sched::schedulers::FifoParams {
            capacity: pifolab_sched::Capacity::Packets(1),
        })
        .unwrap();
        for ns in 1..=100_000 {
            let packet = PacketView { id: ns, flow: 0, size: 1, rank: pifolab_units::Rank::ZERO, arrival: Time::ZERO };
            sojourn.on_dequeue(PortId(0), packet, 0, &scheduler, Time::from_ns(ns));
        }
        for (share, expected) in [(0.0, 1.0), (0.5, 50_000.0), (0.99, 99_000.0), (1.0, 100_000.0)] {
            let quantile = sojourn.quantile(share).unwrap().as_ps() as f64 / 1e3;
            assert!(quantile >= expected && quantile <= expected * 1.001, "{share}: {quantile}");
        }
    }
}
