//! What each flow gets of the link, interval by interval.

use pifolab_sched::Scheduler;
use pifolab_sim::observer::{Observer, PacketView, PortId};
use pifolab_units::{Span, Time};

/// Bytes put on the wire by each flow in each interval; a packet counts in the interval in which its first bit leaves.
///
/// Flows are dense indices from 0. Memory: 8 bytes per interval and flow up to the largest number that was sent in it.
#[derive(Clone, Debug)]
pub struct Throughput {
    interval: Span,
    intervals: Vec<Vec<u64>>,
}

impl Throughput {
    /// Sums over intervals of this length.
    ///
    /// # Panics
    /// If it is zero.
    pub fn new(interval: Span) -> Self {
        assert!(interval != Span::ZERO, "intervals without length");
        Self { interval, intervals: Vec::new() }
    }

    /// The length of an interval.
    pub const fn interval(&self) -> Span {
        self.interval
    }

    /// (start of the interval, flow, bytes), in this order, where a flow sent anything.
    pub fn rows(&self) -> impl Iterator<Item = (Time, u32, u64)> {
        self.intervals.iter().zip(0u64..).flat_map(|(flows, index)| {
            let start = Time::from_ps(index * self.interval.as_ps());
            let sent = flows.iter().zip(0u32..).filter(|(bytes, _)| **bytes > 0);
            sent.map(move |(bytes, flow)| (start, flow, *bytes))
        })
    }
}

impl Observer for Throughput {
    #[inline]
    fn on_dequeue(&mut self, _: PortId, packet: PacketView, _: u32, _: &dyn Scheduler, now: Time) {
        let index = (now.as_ps() / self.interval.as_ps()) as usize;
        if index >= self.intervals.len() {
            self.intervals.resize_with(index + 1, Vec::new);
        }
        let flows = &mut self.intervals[index];
        let flow = packet.flow as usize;
        if flow >= flows.len() {
            flows.resize(flow + 1, 0);
        }
        flows[flow] += u64::from(packet.size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{events, run};

    #[test]
    fn bytes_count_in_the_interval_of_their_departure() {
        let mut throughput = Throughput::new(Span::from_us(4));
        run(&mut throughput, events("+1 +1/2 -1 -1/2 +1 +1/2 -1/2 -1"));
        let rows: Vec<_> = throughput.rows().map(|(start, flow, bytes)| (start.as_ns(), flow, bytes)).collect();
        assert_eq!(rows, [(0, 0, 1000), (0, 2, 1000), (4_000, 0, 1000), (4_000, 2, 1000)]);
    }
}
