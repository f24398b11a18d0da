//! The order in which data packets reach the hosts of a network.

use pifolab_sim::observer::{EndView, Observer};
use pifolab_units::{Rank, Time};

/// The order in which data packets reach chosen hosts (AIFO Fig. 12 and 13). Memory: 32 bytes per row, with at most
/// `limit` rows.
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
    /// The flow's index in the list of flows.
    pub flow: u32,
    /// The segment's number.
    pub seq: u32,
    /// Payload in bytes.
    pub payload_bytes: u16,
    /// The rank that the sender assigned.
    pub rank: Rank,
}

impl ArrivalOrder {
    /// Logs arrivals at the hosts `wanted` of a network with `hosts` hosts, at most `limit` rows.
    ///
    /// # Panics
    /// If a host in `wanted` does not exist.
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

    /// The number of rows dropped because of the limit.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::deliver;

    #[test]
    fn data_at_the_wanted_hosts_is_logged_in_order_until_the_limit() {
        let mut order = ArrivalOrder::new(3, &[1], 2);
        for (us, host, seq, bytes) in [(1, 1, 4, 100), (2, 0, 0, 100), (3, 1, 3, 100), (4, 1, 0, 0), (5, 1, 9, 1)] {
            deliver(&mut order, us, host, 0, seq, bytes);
        }
        assert_eq!(order.rows().iter().map(|row| row.seq).collect::<Vec<_>>(), [4, 3]);
        assert_eq!(order.skipped(), 1);
    }
}
