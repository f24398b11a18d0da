//! What each flow gets of the link, interval by interval.

use crate::{Column, Measure, Table, whole};
use pifolab_sched::Inspect;
use pifolab_sim::observer::{Observer, PacketView, PortId};
use pifolab_units::{Span, Time};

/// Bytes put on the wire by each flow in each interval; a packet counts in the interval in which its first bit leaves.
///
/// Flows are dense indices from 0. Memory: 24 bytes for each interval and flow that sent in it, and 8 for each flow.
#[derive(Clone, Debug)]
pub struct Throughput {
    interval: Span,
    /// The interval under way, by its number, and what each flow has sent in it.
    current: u64,
    sent: Vec<u64>,
    /// The flows that have sent in it.
    active: Vec<u32>,
    /// Complete intervals.
    rows: Vec<(Time, u32, u64)>,
}

impl Throughput {
    /// Sums over intervals of this length.
    ///
    /// # Panics
    /// If it is zero.
    pub fn new(interval: Span) -> Self {
        assert!(interval != Span::ZERO, "intervals without length");
        Self { interval, current: 0, sent: Vec::new(), active: Vec::new(), rows: Vec::new() }
    }

    /// The length of an interval.
    pub const fn interval(&self) -> Span {
        self.interval
    }

    /// (start of the interval, flow, bytes), in this order, where a flow sent anything. The last interval is there once
    /// the run has ended.
    pub fn rows(&self) -> &[(Time, u32, u64)] {
        &self.rows
    }

    fn close(&mut self) {
        self.active.sort_unstable();
        let start = Time::from_ps(self.current * self.interval.as_ps());
        for flow in self.active.drain(..) {
            self.rows.push((start, flow, std::mem::take(&mut self.sent[flow as usize])));
        }
    }
}

impl Observer for Throughput {
    #[inline]
    fn on_dequeue(&mut self, _: PortId, packet: PacketView, _: u32, _: &dyn Inspect, now: Time) {
        let interval = now.as_ps() / self.interval.as_ps();
        if interval != self.current {
            self.close();
            self.current = interval;
        }
        let flow = packet.flow as usize;
        if flow >= self.sent.len() {
            self.sent.resize(flow + 1, 0);
        }
        if self.sent[flow] == 0 {
            self.active.push(packet.flow);
        }
        self.sent[flow] += u64::from(packet.size);
    }

    fn on_end(&mut self, _: Time) {
        self.close();
    }
}

impl Measure for Throughput {
    fn tables(&self) -> Vec<Table> {
        vec![throughput_table(&self.rows, i64::from)]
    }
}

/// Bytes by interval and flow. `id` is what a flow is called by.
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
    use crate::testing::{events, run};

    #[test]
    fn bytes_count_in_the_interval_of_their_departure() {
        let mut throughput = Throughput::new(Span::from_us(4));
        run(&mut throughput, events("+1 +1/2 -1 -1/2 +1 +1/2 -1/2 -1"));
        let rows: Vec<_> =
            throughput.rows().iter().map(|(start, flow, bytes)| (start.as_ns(), *flow, *bytes)).collect();
        assert_eq!(rows, [(0, 0, 1000), (0, 2, 1000), (4_000, 0, 1000), (4_000, 2, 1000)]);
    }
}
