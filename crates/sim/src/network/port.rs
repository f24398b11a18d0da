//! An output port: a scheduler and a serialiser.

use super::config::{ConfigError, Discipline, IdlePort, PortConfig, PortInfo, WireTime};
use super::queue::{Handle, Queue};
use super::result::PortResult;
use super::topology::Link;
use pifolab_sched::{Capacity, DropReason};
use pifolab_units::{Bytes, Rounding, Span, Time};

/// One output port. What every packet touches comes first and fills two cache lines.
#[repr(C, align(64))]
pub(super) struct Port {
    /// The wire is busy until then.
    pub(super) busy_until: Time,
    pub(super) delay: Span,
    /// Picoseconds per byte, or 0 if that is no whole number.
    ps_per_byte: u64,
    /// Bytes in the queue.
    pub(super) backlog: u64,
    pub(super) ecn_threshold: u64,
    pub(super) ecn_threshold_packets: u32,
    /// Packets of fewer bytes need not ask the scheduler while nothing waits and the wire is idle.
    pub(super) passes_below: u64,
    /// Packets in the queue.
    pub(super) waiting: u32,
    /// The node at the far end.
    pub(super) to: u32,
    pub(super) idle: IdlePort,
    pub(super) at_host: bool,
    pub(super) wants_hints: bool,
    /// The scheduler holds packets but releases none before some later instant, for which an event is scheduled.
    pub(super) held_back: bool,
    squeezes: bool,
    wire_time: WireTime,
    pub(super) arrived_packets: u64,
    pub(super) arrived_bytes: u64,
    pub(super) sent_packets: u64,
    pub(super) sent_bytes: u64,
    pub(super) busy: Span,
    pub(super) most_waiting: u32,
    /// Bytes of the packet on the wire, where that takes room in the buffer.
    pub(super) serving_bytes: u32,
    /// The packet on the wire, in event-per-departure mode.
    pub(super) serving: Option<u32>,
    pub(super) queue: Queue,
    /// Capacity of a drop-tail queue; without limit otherwise.
    most_packets: u32,
    most_bytes: u64,
    link: Link,
    /// Bytes of the last packet sent; kept only where it times the next one.
    size_before: u32,
    pub(super) marked_packets: u64,
    pub(super) link_down_packets: u64,
    pub(super) lost_on_wire_packets: u64,
    pub(super) dropped_packets: [u64; DropReason::ALL.len()],
    pub(super) dropped_bytes: u64,
}

impl Port {
    pub(super) fn new(
        config: &PortConfig,
        number: u32,
        link: Link,
        hosts: u32,
        watched: bool,
        wire_time: WireTime,
    ) -> Result<Self, ConfigError> {
        const BIT_PS_PER_S: u64 = 8_000_000_000_000;
        let info = PortInfo { port: number, from: link.from, to: link.to, rate: link.rate };
        let bps = link.rate.as_bps();
        let mut queue = Queue::new(config, &info, watched)?;
        let (most_packets, most_bytes) = match config.discipline {
            Discipline::DropTail(Capacity::Packets(packets)) => (packets, u64::MAX),
            Discipline::DropTail(Capacity::Bytes(bytes)) => (u32::MAX, bytes),
            Discipline::DropTail(Capacity::Unlimited) | Discipline::Scheduler(_) => (u32::MAX, u64::MAX),
        };
        Ok(Self {
            busy_until: Time::ZERO,
            delay: link.delay,
            ps_per_byte: if BIT_PS_PER_S.is_multiple_of(bps) { BIT_PS_PER_S / bps } else { 0 },
            backlog: 0,
            ecn_threshold: config.ecn_threshold_bytes.unwrap_or(u64::MAX),
            ecn_threshold_packets: config.ecn_threshold_packets.unwrap_or(u32::MAX),
            passes_below: queue.passes_below(config.idle),
            waiting: 0,
            to: link.to,
            idle: config.idle,
            at_host: link.from < hosts,
            wants_hints: queue.wants_hints(),
            held_back: false,
            squeezes: config.in_service_occupies_buffer,
            wire_time,
            most_packets,
            most_bytes,
            arrived_packets: 0,
            arrived_bytes: 0,
            sent_packets: 0,
            sent_bytes: 0,
            busy: Span::ZERO,
            most_waiting: 0,
            serving_bytes: 0,
            serving: None,
            queue,
            link,
            size_before: 0,
            marked_packets: 0,
            link_down_packets: 0,
            lost_on_wire_packets: 0,
            dropped_packets: [0; DropReason::ALL.len()],
            dropped_bytes: 0,
        })
    }

    /// The time that `bytes` take on the wire.
    #[inline]
    pub(super) fn serialisation(&self, bytes: u32, rounding: Rounding) -> Span {
        if self.ps_per_byte == 0 {
            return self.link.rate.serialisation(Bytes(bytes.into()), rounding);
        }
        let ps = self.ps_per_byte * u64::from(bytes);
        Span::from_ps(match rounding {
            Rounding::UpToPicosecond => ps,
            Rounding::DownToNanosecond => ps / 1_000 * 1_000,
        })
    }

    /// Books the transmission of a packet of `size` bytes, from the queue or not, that begins at `now`.
    #[inline(always)]
    pub(super) fn transmit(&mut self, size: u32, queued: bool, now: Time, rounding: Rounding) {
        let mut timed = size;
        if self.wire_time == WireTime::OfPacketBefore {
            timed = if queued && self.size_before > 0 { self.size_before } else { size };
            self.size_before = size;
        }
        let time = self.serialisation(timed, rounding);
        self.held_back = false;
        self.busy_until = now + time;
        if self.squeezes {
            self.serving_bytes = size;
        }
        self.sent_packets += 1;
        self.sent_bytes += u64::from(size);
        self.busy += time;
    }

    /// Books a packet that waits.
    #[inline(always)]
    pub(super) fn wait(&mut self, size: u32) {
        self.waiting += 1;
        self.backlog += u64::from(size);
        self.most_waiting = self.most_waiting.max(self.waiting);
    }

    /// Takes the next packet, where handles are stored.
    #[inline(always)]
    pub(super) fn take_next(&mut self) -> Handle {
        let next = self.queue.pop();
        self.waiting -= 1;
        self.backlog -= u64::from(next.size);
        next
    }

    /// Whether a packet finds no room because the packet on the wire takes some.
    #[inline]
    pub(super) fn squeezed_out(&self, bytes: u32) -> bool {
        self.squeezes
            && (self.waiting + 1 >= self.most_packets
                || self.backlog + u64::from(self.serving_bytes) + u64::from(bytes) > self.most_bytes)
    }

    /// What passed the port in a run that ends at `end`.
    pub(super) fn result(&self, end: Time) -> PortResult {
        let beyond = self.busy_until.as_ps().saturating_sub(end.as_ps());
        PortResult {
            arrived_packets: self.arrived_packets,
            arrived_bytes: self.arrived_bytes,
            sent_packets: self.sent_packets,
            sent_bytes: self.sent_bytes,
            dropped_packets: self.dropped_packets,
            dropped_bytes: self.dropped_bytes,
            marked_packets: self.marked_packets,
            link_down_packets: self.link_down_packets,
            lost_on_wire_packets: self.lost_on_wire_packets,
            most_waiting: self.most_waiting,
            waiting: self.waiting,
            busy: Span::from_ps(self.busy.as_ps().saturating_sub(beyond)),
        }
    }

    /// What does not balance, if anything.
    pub(super) fn imbalance(&self) -> Option<String> {
        let dropped = self.dropped_packets.iter().sum::<u64>() + self.link_down_packets;
        let packets = self.sent_packets + dropped + u64::from(self.waiting);
        let bytes = self.sent_bytes + self.dropped_bytes + self.backlog;
        let queue = self.queue.inspect();
        let (held_packets, held_bytes) = (queue.len(), queue.backlog().0);
        let problem = if self.arrived_packets != packets {
            format!("{} packets arrived, {packets} are accounted for", self.arrived_packets)
        } else if self.arrived_bytes != bytes {
            format!("{} B arrived, {bytes} B are accounted for", self.arrived_bytes)
        } else if self.waiting as usize != held_packets {
            format!("{} packets should wait, the scheduler holds {held_packets}", self.waiting)
        } else if self.backlog != held_bytes {
            format!("{} B should wait, the scheduler holds {held_bytes} B", self.backlog)
        } else {
            return None;
        };
        Some(format!("port {} -> {}: {problem}", self.link.from, self.link.to))
    }
}

const _: () = assert!(std::mem::offset_of!(Port, queue) <= 128);
