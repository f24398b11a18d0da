//! A log of the packets at chosen ports, one row per event.

use pifolab_sched::{DropReason, Inspect};
use pifolab_sim::observer::{EndView, Flags, Loss, Observer, PacketView, PortId, Segment};
use pifolab_units::{Rank, Time};

/// The outcome of a packet at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// The packet was stored in this queue.
    Enqueue(u32),
    /// The packet left this queue for the wire.
    Dequeue(u32),
    /// The packet was refused on arrival, by this queue if one was chosen, or dropped while it waited.
    Drop(DropReason, Option<u32>),
    /// The packet waited and was pushed out by an arrival.
    Evict,
    /// The packet waited when the port's link failed.
    LinkDown,
}

/// One row of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedPacket {
    /// The time of the event.
    pub time: Time,
    /// The port's number.
    pub port: u32,
    /// The outcome.
    pub event: PacketEvent,
    /// The flow's index in the list of flows.
    pub flow: u32,
    /// Size on the wire in bytes.
    pub size: u32,
    /// The packet's rank at this port.
    pub rank: Rank,
    /// For data, the number of the first segment; for acknowledgements, the first segment that has not arrived in
    /// order.
    pub seq: u32,
    /// The first segment that has not arrived in order, where [`Flags::ACK`] is set.
    pub ack: u32,
    /// Payload in bytes.
    pub payload_bytes: u16,
    /// Header bits as the sender wrote them, without marks that the network sets.
    pub flags: Flags,
}

const _: () = assert!(size_of::<LoggedPacket>() <= 56);

/// Logs packets at chosen ports. Memory: 56 bytes per row, with at most `limit` rows, and 16 bytes per packet under
/// way.
#[derive(Clone, Debug)]
pub struct PacketLog {
    wanted: Vec<bool>,
    limit: usize,
    /// The header fields of each packet under way, by packet id.
    carried: Vec<(u32, u32, u16, Flags)>,
    rows: Vec<LoggedPacket>,
    skipped: u64,
}

impl PacketLog {
    /// Logs the events at the ports `wanted` of a network with `ports` ports, at most `limit` rows.
    ///
    /// # Panics
    /// If a port in `wanted` does not exist.
    pub fn new(ports: usize, wanted: &[u32], limit: usize) -> Self {
        let mut all = vec![false; ports];
        for port in wanted {
            all[*port as usize] = true;
        }
        Self { wanted: all, limit, carried: Vec::new(), rows: Vec::new(), skipped: 0 }
    }

    /// The rows. The rows of one port are in order of time. Ports run one by one, so rows of different ports may be out
    /// of order.
    pub fn rows(&self) -> &[LoggedPacket] {
        &self.rows
    }

    /// The number of rows dropped because of the limit.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    #[inline]
    fn log(&mut self, port: PortId, packet: PacketView, event: PacketEvent, time: Time) {
        if !self.wanted[port.0 as usize] {
            return;
        }
        if self.rows.len() >= self.limit {
            self.skipped += 1;
            return;
        }
        let PacketView { id, flow, size, rank, .. } = packet;
        let nothing = (0, 0, 0, Flags::default());
        let (seq, ack, payload_bytes, flags) = self.carried.get(id as usize).copied().unwrap_or(nothing);
        self.rows.push(LoggedPacket { time, port: port.0, event, flow, size, rank, seq, ack, payload_bytes, flags });
    }
}

impl Observer for PacketLog {
    fn follows(&self) -> bool {
        true
    }

    fn on_create(&mut self, packet: EndView<'_>, _: Time) {
        let id = packet.id as usize;
        if id >= self.carried.len() {
            self.carried.resize(id + 1, (0, 0, 0, Flags::default()));
        }
        let Segment { seq, ack, payload_bytes, flags, .. } = *packet.segment;
        self.carried[id] = (seq, ack, payload_bytes, flags);
    }

    #[inline]
    fn on_admit(&mut self, port: PortId, packet: PacketView, queue: u32, _: &dyn Inspect, now: Time) {
        self.log(port, packet, PacketEvent::Enqueue(queue), now);
    }

    fn on_drop(&mut self, port: PortId, packet: PacketView, loss: Loss, _: &dyn Inspect, now: Time) {
        let event = match loss.reason {
            DropReason::PushedOut => PacketEvent::Evict,
            reason => PacketEvent::Drop(reason, loss.queue),
        };
        self.log(port, packet, event, now);
    }

    #[inline]
    fn on_dequeue(&mut self, port: PortId, packet: PacketView, queue: u32, _: &dyn Inspect, now: Time) {
        self.log(port, packet, PacketEvent::Dequeue(queue), now);
    }

    fn on_link_down(&mut self, port: PortId, packet: PacketView, _: &dyn Inspect, now: Time) {
        self.log(port, packet, PacketEvent::LinkDown, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{events, run};

    #[test]
    fn every_event_of_a_wanted_port_is_a_row_until_the_limit() {
        let logged = |wanted: &[u32], limit| {
            let mut log = PacketLog::new(2, wanted, limit);
            run(&mut log, events("+5 +1 x9@2 e5 -1"));
            let rows = log.rows().iter().map(|row| (row.time.as_ns(), row.rank.get(), row.event));
            (rows.collect::<Vec<_>>(), log.skipped())
        };
        let all = [
            (0, 5, PacketEvent::Enqueue(0)),
            (1_000, 1, PacketEvent::Enqueue(0)),
            (2_000, 9, PacketEvent::Drop(DropReason::Full, Some(2))),
            (3_000, 5, PacketEvent::Evict),
            (4_000, 1, PacketEvent::Dequeue(0)),
        ];
        assert_eq!(logged(&[0], 9), (all.to_vec(), 0));
        assert_eq!(logged(&[0], 2), (all[..2].to_vec(), 3));
        assert_eq!(logged(&[1], 9), (vec![], 0));
    }
}
