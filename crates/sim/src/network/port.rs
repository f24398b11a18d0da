//! An output port: a scheduler and a serialiser.

use super::config::{ConfigError, Discipline, IdlePort, PortConfig, PortInfo};
use super::result::PortResult;
use super::topology::Link;
use pifolab_sched::schedulers::{Fifo, FifoParams};
use pifolab_sched::{Capacity, Dequeued, Enqueued, Packet, Scheduler};
use pifolab_units::{Bytes, Rounding, Span, Time};

/// The scheduler of a port. Drop-tail, by far the most frequent, is called without a detour.
pub(super) enum Queue {
    Fifo(Fifo),
    Other(Box<dyn Scheduler>),
}

impl Queue {
    fn new(config: &PortConfig, info: &PortInfo) -> Result<Self, ConfigError> {
        Ok(match &config.discipline {
            Discipline::DropTail(capacity) => {
                let refused = |error| ConfigError::new("port", "capacity", capacity, &format!("{error}"));
                Self::Fifo(Fifo::new(FifoParams { capacity: *capacity }).map_err(refused)?)
            }
            Discipline::Scheduler(make) => Self::Other(make(info)),
        })
    }

    #[inline]
    pub(super) fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        match self {
            Self::Fifo(fifo) => fifo.enqueue(packet, now),
            Self::Other(scheduler) => scheduler.enqueue(packet, now),
        }
    }

    #[inline]
    pub(super) fn dequeue(&mut self, now: Time) -> Dequeued {
        match self {
            Self::Fifo(fifo) => fifo.dequeue(now),
            Self::Other(scheduler) => scheduler.dequeue(now),
        }
    }

    #[inline]
    pub(super) fn as_dyn(&self) -> &dyn Scheduler {
        match self {
            Self::Fifo(fifo) => fifo,
            Self::Other(scheduler) => &**scheduler,
        }
    }
}

/// One output port.
pub(super) struct Port {
    pub(super) queue: Queue,
    /// The wire is busy until then. In event-per-departure mode only `serving` counts.
    pub(super) busy_until: Time,
    /// Packets in the queue.
    pub(super) waiting: u32,
    /// The packet on the wire, in event-per-departure mode.
    pub(super) serving: Option<u32>,
    /// Bytes in the queue.
    pub(super) backlog: u64,
    /// Bytes of the packet on the wire.
    pub(super) serving_bytes: u32,
    /// The node at the far end.
    pub(super) to: u32,
    pub(super) delay: Span,
    /// Picoseconds per byte, if that is a whole number.
    ps_per_byte: Option<u64>,
    link: Link,
    pub(super) ecn_threshold: u64,
    pub(super) bypass: bool,
    occupied_in_service: Option<Capacity>,
    pub(super) at_host: bool,
    pub(super) wants_hints: bool,
    /// The scheduler holds packets but releases none before some later instant, for which an event is scheduled.
    pub(super) held_back: bool,
    pub(super) tally: PortResult,
}

impl Port {
    pub(super) fn new(config: &PortConfig, number: u32, link: Link, hosts: u32) -> Result<Self, ConfigError> {
        let info = PortInfo { port: number, from: link.from, to: link.to, rate: link.rate };
        const BIT_PS_PER_S: u64 = 8_000_000_000_000;
        let bps = link.rate.as_bps();
        let occupied_in_service = match config.discipline {
            Discipline::DropTail(capacity) if config.in_service_occupies_buffer => Some(capacity),
            _ => None,
        };
        let queue = Queue::new(config, &info)?;
        Ok(Self {
            wants_hints: queue.as_dyn().wants_hints(),
            queue,
            busy_until: Time::ZERO,
            waiting: 0,
            serving: None,
            backlog: 0,
            serving_bytes: 0,
            to: link.to,
            delay: link.delay,
            ps_per_byte: BIT_PS_PER_S.is_multiple_of(bps).then_some(BIT_PS_PER_S / bps),
            link,
            ecn_threshold: config.ecn_threshold_bytes.unwrap_or(u64::MAX),
            bypass: config.idle == IdlePort::Bypass,
            occupied_in_service,
            at_host: link.from < hosts,
            held_back: false,
            tally: PortResult::default(),
        })
    }

    /// The time that `bytes` take on the wire.
    #[inline]
    pub(super) fn serialisation(&self, bytes: u32, rounding: Rounding) -> Span {
        match (self.ps_per_byte, rounding) {
            (Some(ps), Rounding::UpToPicosecond) => Span::from_ps(ps * u64::from(bytes)),
            (Some(ps), Rounding::DownToNanosecond) => Span::from_ps(ps * u64::from(bytes) / 1_000 * 1_000),
            (None, _) => self.link.rate.serialisation(Bytes(bytes.into()), rounding),
        }
    }

    /// Whether a packet finds no room because the packet on the wire takes some.
    #[inline]
    pub(super) fn squeezed_out(&self, bytes: u32) -> bool {
        match self.occupied_in_service {
            None | Some(Capacity::Unlimited) => false,
            Some(Capacity::Packets(most)) => self.waiting + 1 >= most,
            Some(Capacity::Bytes(most)) => self.backlog + u64::from(self.serving_bytes) + u64::from(bytes) > most,
        }
    }

    /// What does not balance, if anything.
    pub(super) fn imbalance(&self) -> Option<String> {
        let tally = &self.tally;
        let queue = self.queue.as_dyn();
        let packets = tally.sent_packets + tally.dropped() + u64::from(self.waiting);
        let bytes = tally.sent_bytes + tally.dropped_bytes + self.backlog;
        let problem = if tally.arrived_packets != packets {
            format!("{} packets arrived, {packets} are accounted for", tally.arrived_packets)
        } else if tally.arrived_bytes != bytes {
            format!("{} B arrived, {bytes} B are accounted for", tally.arrived_bytes)
        } else if self.waiting as usize != queue.len() {
            format!("{} packets should wait, the scheduler holds {}", self.waiting, queue.len())
        } else if self.backlog != queue.backlog().0 {
            format!("{} B should wait, the scheduler holds {}", self.backlog, queue.backlog())
        } else {
            return None;
        };
        Some(format!("port {} -> {}: {problem}", self.link.from, self.link.to))
    }
}
