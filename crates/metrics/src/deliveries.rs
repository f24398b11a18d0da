//! What reaches the receiving hosts of a network: the order of arrival, and the bytes of each flow over time.

use pifolab_sim::observer::{EndView, Observer};
use pifolab_units::{Rank, Span, Time};

/// Data packets in the order in which they reach some hosts (AIFO Fig. 12 and 13). Memory: 32 bytes per row, no more rows
/// than the limit.
#[derive(Clone, Debug)]
pub struct ArrivalOrder {
    wanted: Vec<bool>,
    limit: usize,
    rows: Vec<DataArrival>,
    skipped: u64,
}

/// One data packet at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataArrival {
    /// When its last bit arrived.
    pub time: Time,
    /// The receiver.
    pub host: u32,
    /// Position of its flow in the list.
    pub flow: u32,
    /// Number of its segment.
    pub seq: u32,
    /// Payload.
    pub payload_bytes: u16,
    /// The rank that its sender gave it.
    pub rank: Rank,
}

impl ArrivalOrder {
    /// Logs the `wanted` of `hosts` hosts, no more than `limit` rows.
    ///
    /// # Panics
    /// If a host does not exist.
    pub fn new(hosts: usize, wanted: &[u32], limit: usize) -> Self {
        let mut all = vec![false; hosts];
        for host in wanted {
            all[*host as usize] = true;
        }
        Self { wanted: all, limit, rows: Vec::new(), skipped: 0 }
    }

    /// The rows in order of time.
    pub fn rows(&self) -> &[DataArrival] {
        &self.rows
    }

    /// How many rows were not kept because of the limit.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }
}

impl Observer for ArrivalOrder {
    fn watches(&self) -> bool {
        false
    }

    fn follows(&self) -> bool {
        true
    }

    #[inline]
    fn on_deliver(&mut self, packet: EndView<'_>, now: Time) {
        let EndView { flow, host, segment, .. } = packet;
        if segment.payload_bytes == 0 || !self.wanted[host as usize] {
            return;
        }
        if self.rows.len() >= self.limit {
            self.skipped += 1;
            return;
        }
        let (seq, payload_bytes, rank) = (segment.seq, segment.payload_bytes, segment.rank);
        self.rows.push(DataArrival { time: now, host, flow, seq, payload_bytes, rank });
    }
}

/// Payload that reached its receiver for the first time, by flow and interval: what arrives again does not count.
///
/// Memory: 24 bytes for each interval and flow with arrivals, no more rows than the limit, and a bit per segment.
#[derive(Clone, Debug)]
pub struct Delivered {
    interval: Span,
    limit: usize,
    /// The interval under way, by its number, and what each flow got in it.
    current: u64,
    got: Vec<u64>,
    /// The flows that got something in it.
    active: Vec<u32>,
    /// For each flow, the segments that have arrived.
    seen: Vec<Vec<u64>>,
    rows: Vec<(Time, u32, u64)>,
    skipped: u64,
}

impl Delivered {
    /// Sums over intervals of this length for `flows` flows, no more than `limit` rows.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn new(flows: usize, interval: Span, limit: usize) -> Self {
        assert!(interval != Span::ZERO, "intervals without length");
        Self {
            interval,
            limit,
            current: 0,
            got: vec![0; flows],
            active: Vec::new(),
            seen: vec![Vec::new(); flows],
            rows: Vec::new(),
            skipped: 0,
        }
    }

    /// (start of the interval, position of the flow in the list, bytes), in this order, where a flow got anything. The
    /// last interval is there once the run has ended.
    pub fn rows(&self) -> &[(Time, u32, u64)] {
        &self.rows
    }

    /// How many rows were not kept because of the limit.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    fn close(&mut self) {
        self.active.sort_unstable();
        let start = Time::from_ps(self.current * self.interval.as_ps());
        for flow in self.active.drain(..) {
            let bytes = std::mem::take(&mut self.got[flow as usize]);
            if self.rows.len() < self.limit {
                self.rows.push((start, flow, bytes));
            } else {
                self.skipped += 1;
            }
        }
    }
}

impl Observer for Delivered {
    fn watches(&self) -> bool {
        false
    }

    fn follows(&self) -> bool {
        true
    }

    #[inline]
    fn on_deliver(&mut self, packet: EndView<'_>, now: Time) {
        let EndView { flow, segment, .. } = packet;
        if segment.payload_bytes == 0 {
            return;
        }
        let interval = now.as_ps() / self.interval.as_ps();
        if interval != self.current {
            self.close();
            self.current = interval;
        }
        let seen = &mut self.seen[flow as usize];
        let (word, bit) = (segment.seq as usize / 64, 1 << (segment.seq % 64));
        if word >= seen.len() {
            seen.resize(word + 1, 0);
        }
        if seen[word] & bit != 0 {
            return;
        }
        seen[word] |= bit;
        if self.got[flow as usize] == 0 {
            self.active.push(flow);
        }
        self.got[flow as usize] += u64::from(segment.payload_bytes);
    }

    fn on_end(&mut self, _: Time) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_sim::observer::{Flags, Segment};

    fn deliver(observer: &mut impl Observer, us: u64, host: u32, flow: u32, seq: u32, payload_bytes: u16) {
        let segment = Segment {
            stamp: Time::ZERO,
            rank: Rank::from(7),
            seq,
            ack: 0,
            sack: 0,
            payload_bytes,
            flags: Flags::default(),
        };
        let packet = EndView { id: 0, flow, host, size: u32::from(payload_bytes) + 40, segment: &segment };
        observer.on_deliver(packet, Time::from_ns(us * 1_000));
    }

    #[test]
    fn data_at_the_wanted_hosts_is_logged_in_order_until_the_limit() {
        let mut order = ArrivalOrder::new(3, &[1], 2);
        for (us, host, seq, bytes) in [(1, 1, 4, 100), (2, 0, 0, 100), (3, 1, 3, 100), (4, 1, 0, 0), (5, 1, 9, 1)] {
            deliver(&mut order, us, host, 0, seq, bytes);
        }
        assert_eq!(order.rows().iter().map(|row| row.seq).collect::<Vec<_>>(), [4, 3]);
        assert_eq!(order.skipped(), 1);
    }

    #[test]
    fn bytes_count_once_in_the_interval_in_which_they_first_arrive() {
        let mut delivered = Delivered::new(2, Span::from_us(4), 9);
        for (us, flow, seq) in [(1, 1, 0), (2, 0, 70), (3, 1, 1), (3, 1, 0), (4, 1, 0), (9, 0, 0)] {
            deliver(&mut delivered, us, 0, flow, seq, 100);
        }
        delivered.on_end(Time::from_ns(10_000));
        let rows: Vec<_> = delivered.rows().iter().map(|(start, flow, bytes)| (start.as_ns(), *flow, *bytes)).collect();
        assert_eq!(rows, [(0, 0, 100), (0, 1, 200), (8_000, 0, 100)]);
        assert_eq!(delivered.skipped(), 0);
    }
}
