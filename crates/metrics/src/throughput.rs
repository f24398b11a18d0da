//! The bytes of each flow in each interval: on one link, and at the receivers of a network.

use crate::{Column, Measure, Table, whole};
use pifolab_sched::Inspect;
use pifolab_sim::observer::{EndView, Observer, PacketView, PortId};
use pifolab_units::{Span, Time};

/// The bytes of each flow in each interval.
///
/// Flows are dense indices from 0. Memory: 24 bytes per interval and flow with bytes, with at most `limit` rows, and 8
/// bytes per flow.
#[derive(Clone, Debug)]
struct FlowBytes {
    interval: Span,
    limit: usize,
    /// The current interval's number. `bytes` holds each flow's bytes in it.
    current: u64,
    bytes: Vec<u64>,
    /// The flows with bytes in the current interval.
    active: Vec<u32>,
    /// The rows of complete intervals.
    rows: Vec<(Time, u32, u64)>,
    skipped: u64,
}

impl FlowBytes {
    fn new(interval: Span, limit: usize) -> Self {
        assert!(interval != Span::ZERO, "intervals without length");
        Self { interval, limit, current: 0, bytes: Vec::new(), active: Vec::new(), rows: Vec::new(), skipped: 0 }
    }

    #[inline]
    fn add(&mut self, flow: u32, bytes: u64, now: Time) {
        let interval = now.as_ps() / self.interval.as_ps();
        if interval != self.current {
            self.close();
            self.current = interval;
        }
        if flow as usize >= self.bytes.len() {
            self.bytes.resize(flow as usize + 1, 0);
        }
        let sum = &mut self.bytes[flow as usize];
        if *sum == 0 {
            self.active.push(flow);
        }
        *sum += bytes;
    }

    fn close(&mut self) {
        self.active.sort_unstable();
        let start = Time::from_ps(self.current * self.interval.as_ps());
        for flow in self.active.drain(..) {
            let bytes = std::mem::take(&mut self.bytes[flow as usize]);
            if self.rows.len() < self.limit {
                self.rows.push((start, flow, bytes));
            } else {
                self.skipped += 1;
            }
        }
    }
}

/// Bytes sent by each flow in each interval. A packet counts in the interval in which its first bit leaves.
#[derive(Clone, Debug)]
pub struct SentThroughput(FlowBytes);

impl SentThroughput {
    /// Creates sums over intervals of this length.
    ///
    /// # Panics
    /// If `interval` is zero.
    pub fn new(interval: Span) -> Self {
        Self(FlowBytes::new(interval, usize::MAX))
    }

    /// Rows of (start of the interval, flow, bytes), sorted in this order, for flows that sent anything. The last
    /// interval is included after the run ends.
    pub fn rows(&self) -> &[(Time, u32, u64)] {
        &self.0.rows
    }
}

impl Observer for SentThroughput {
    #[inline]
    fn on_dequeue(&mut self, _: PortId, packet: PacketView, _: u32, _: &dyn Inspect, now: Time) {
        self.0.add(packet.flow, packet.size.into(), now);
    }

    fn on_end(&mut self, _: Time) {
        self.0.close();
    }
}

impl Measure for SentThroughput {
    fn tables(&self) -> Vec<Table> {
        vec![throughput_table(self.rows(), i64::from)]
    }
}

/// Payload that reached its receiver for the first time, by flow and interval. Duplicates do not count.
///
/// Memory: the rows, and one bit per segment.
#[derive(Clone, Debug)]
pub struct DeliveredThroughput {
    bytes: FlowBytes,
    /// For each flow, the segments that have arrived.
    seen: Vec<Vec<u64>>,
}

impl DeliveredThroughput {
    /// Creates sums over intervals of this length for `flows` flows, at most `limit` rows.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn new(flows: usize, interval: Span, limit: usize) -> Self {
        Self { bytes: FlowBytes::new(interval, limit), seen: vec![Vec::new(); flows] }
    }

    /// Rows of (start of the interval, flow's index in the list, bytes), sorted in this order, for flows that received
    /// anything. The last interval is included after the run ends.
    pub fn rows(&self) -> &[(Time, u32, u64)] {
        &self.bytes.rows
    }

    /// The number of rows dropped because of the limit.
    pub const fn skipped(&self) -> u64 {
        self.bytes.skipped
    }
}

impl Observer for DeliveredThroughput {
    fn watches(&self) -> bool {
        false
    }

    fn follows(&self) -> bool {
        true
    }

    #[inline]
    fn on_deliver(&mut self, packet: EndView<'_>, now: Time) {
        let EndView { flow, segment, .. } = packet;
        let seen = &mut self.seen[flow as usize];
        let (word, bit) = (segment.seq as usize / 64, 1 << (segment.seq % 64));
        if segment.payload_bytes == 0 || seen.get(word).is_some_and(|seen| seen & bit != 0) {
            return;
        }
        if word >= seen.len() {
            seen.resize(word + 1, 0);
        }
        seen[word] |= bit;
        self.bytes.add(flow, segment.payload_bytes.into(), now);
    }

    fn on_end(&mut self, _: Time) {
        self.bytes.close();
    }
}

/// The table of bytes by interval and flow. `id` maps a flow's index to its id.
pub fn throughput_table(rows: &[(Time, u32, u64)], id: impl Fn(u32) -> i64) -> Table {
    let integers = |of: &dyn Fn(&(Time, u32, u64)) -> i64| Column::Integers(rows.iter().map(of).collect());
    Table::new(
        "throughput",
        vec![
            ("start_ns", integers(&|row| whole(row.0.as_ns()))),
            ("flow", integers(&|row| id(row.1))),
            ("bytes", integers(&|row| whole(row.2))),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{deliver, events, run};

    #[test]
    fn bytes_count_in_the_interval_of_their_departure() {
        let mut throughput = SentThroughput::new(Span::from_us(4));
        run(&mut throughput, events("+1 +1/2 -1 -1/2 +1 +1/2 -1/2 -1"));
        let rows: Vec<_> =
            throughput.rows().iter().map(|(start, flow, bytes)| (start.as_ns(), *flow, *bytes)).collect();
        assert_eq!(rows, [(0, 0, 1000), (0, 2, 1000), (4_000, 0, 1000), (4_000, 2, 1000)]);
    }

    #[test]
    fn bytes_count_once_in_the_interval_in_which_they_first_arrive() {
        let rows = |limit| {
            let mut delivered = DeliveredThroughput::new(2, Span::from_us(4), limit);
            for (us, flow, seq) in [(1, 1, 0), (2, 0, 70), (3, 1, 1), (3, 1, 0), (4, 1, 0), (9, 0, 0)] {
                deliver(&mut delivered, us, 0, flow, seq, 100);
            }
            delivered.on_end(Time::from_ns(10_000));
            let rows: Vec<_> =
                delivered.rows().iter().map(|(start, flow, bytes)| (start.as_ns(), *flow, *bytes)).collect();
            (rows, delivered.skipped())
        };
        assert_eq!(rows(9), (vec![(0, 0, 100), (0, 1, 200), (8_000, 0, 100)], 0));
        assert_eq!(rows(2), (vec![(0, 0, 100), (0, 1, 200)], 1));
    }
}
