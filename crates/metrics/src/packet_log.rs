//! What happens to each packet at some ports, one row per event.

use pifolab_sched::{DropReason, Inspect};
use pifolab_sim::observer::{EndView, Flags, Loss, Observer, PacketView, PortId, Segment};
use pifolab_units::{Rank, Time};

/// What happened to a packet at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// It was stored in this queue.
    Enqueue(u32),
    /// It left this queue for the wire.
    Dequeue(u32),
    /// It was refused on arrival, by this queue if one had been chosen; or it waited and was given up.
    Drop(DropReason, Option<u32>),
    /// It waited, and an arrival pushed it out.
    Evict,
    /// It waited, and the port's link failed.
    LinkDown,
}

/// One row of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedPacket {
    /// When.
    pub time: Time,
    /// Where.
    pub port: u32,
    /// What.
    pub event: PacketEvent,
    /// Position of its flow in the list.
    pub flow: u32,
    /// Bytes on the wire.
    pub size: u32,
    /// Its rank at this port.
    pub rank: Rank,
    /// Number of its first segment (data), of the first segment that has not arrived in order (acknowledgements).
    pub seq: u32,
    /// The first segment that has not arrived in order, where [`Flags::ACK`] is set.
    pub ack: u32,
    /// Payload.
    pub payload_bytes: u16,
    /// Header bits, as the sender wrote them; marks that the network sets on the way are not among them.
    pub flags: Flags,
}

const _: () = assert!(size_of::<LoggedPacket>() <= 56);

/// Logs packets at some ports. Memory: 56 bytes per row, no more rows than the limit, and 16 per packet under way.
#[derive(Clone, Debug)]
pub struct PacketLog {
    wanted: Vec<bool>,
    limit: usize,
    /// What each packet under way carries, by its id.
    carried: Vec<(u32, u32, u16, Flags)>,
    rows: Vec<LoggedPacket>,
    skipped: u64,
}

impl PacketLog {
    /// Logs what happens at the `wanted` of `ports` ports, no more than `limit` rows.
    ///
    /// # Panics
    /// If a port does not exist.
    pub fn new(ports: usize, wanted: &[u32], limit: usize) -> Self {
        let mut all = vec![false; ports];
        for port in wanted {
            all[*port as usize] = true;
        }
        Self { wanted: all, limit, carried: Vec::new(), rows: Vec::new(), skipped: 0 }
    }

    /// The rows. Those of one port are in order of time; ports decide one by one, so all together may not be.
    pub fn rows(&self) -> &[LoggedPacket] {
        &self.rows
    }

    /// How many rows were not kept because of the limit.
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
