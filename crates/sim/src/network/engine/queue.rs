//! The ports of a network and their schedulers, which store only a handle of each packet where that is enough.

use crate::network::config::{PortConfig, PortInfo, QueueDiscipline, Shared};
use crate::network::error::ConfigError;
use crate::network::forwarding::Forwarder;
use crate::network::topology::Link;
use crate::port::{self, Handles, Order};
use crate::replay::{IdlePort, WireTime};
use pifolab_sched::params::ParamError;
use pifolab_sched::schedulers::{Fifo, FifoParams, HandlePifo};
use pifolab_sched::store;
use pifolab_sched::{
    Arriving, Capacity, Dequeued, DropReason, Enqueued, Fact, Facts, Handle, HandleQueues, Hints, Inspect, InspectExt,
    Packet, Parts as PortScheduler, RankFn, Ranked, Scheduler,
};
use pifolab_units::{Rank, Time};

pub(super) type Port = port::Port<Queue>;

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Port>() == 256 && std::mem::offset_of!(Port, queue) == 64 && size_of::<Queue>() == 96);

/// Makes the port `number`. `watched`: an observer reads whole packets. `forwarder`: what forwards packets at its switch, if the
/// network's routes do not.
#[allow(clippy::too_many_arguments)]
pub(super) fn port(
    config: &PortConfig,
    number: u32,
    link: Link,
    hosts: u32,
    watched: bool,
    wire_time: WireTime,
    shared: &mut Shared,
    forwarder: Option<&mut dyn Forwarder>,
) -> Result<Port, ConfigError> {
    let info = PortInfo { port: number, from: link.from, to: link.to, rate: link.rate };
    let mut queue = Queue::new(config, &info, watched, shared, forwarder)?;
    let (most_packets, most_bytes) = match config.discipline {
        QueueDiscipline::DropTail(Capacity::Packets(packets)) => (packets, u64::MAX),
        QueueDiscipline::DropTail(Capacity::Bytes(bytes)) => (u32::MAX, bytes),
        QueueDiscipline::DropTail(Capacity::Unlimited) | QueueDiscipline::Scheduler(_) => (u32::MAX, u64::MAX),
    };
    let (passes_below, wants_hints, may_mark) =
        (queue.passes_below(config.idle), queue.wants_hints(), queue.may_mark());
    let mut port = Port::new(queue, link);
    port.ecn_threshold = config.ecn_threshold_bytes.unwrap_or(u64::MAX);
    port.ecn_threshold_packets = config.ecn_threshold_packets.unwrap_or(u32::MAX);
    port.passes_below = u32::try_from(passes_below).unwrap_or(u32::MAX);
    port.idle = config.idle;
    port.at_host = link.from < hosts;
    port.wants_hints = wants_hints;
    port.may_mark = may_mark;
    port.set_service(config.in_service_occupies_buffer, wire_time);
    (port.cold.most_packets, port.cold.most_bytes) = (most_packets, most_bytes);
    Ok(port)
}

/// The port of a node in another part of the network: only its link is read.
pub(super) fn elsewhere(link: Link, hosts: u32) -> Port {
    let mut port = Port::new(Queue::Fifo(store::Queue::new(Capacity::Packets(1))), link);
    port.at_host = link.from < hosts;
    port
}

/// The scheduler of a port. The first four variants store handles, the others packets.
#[repr(u8)]
pub(super) enum Queue {
    /// Drop-tail.
    Fifo(store::Queue<Handle>),
    Pifo(HandlePifo),
    Decided(Box<dyn HandleQueues>),
    Described(Box<Described>),
    Ranked(Box<Ranked<Box<dyn RankFn>, Box<dyn Scheduler>>>),
    Other(Box<dyn Scheduler>),
}

/// A queue of handles of packets whose descriptors an observer, a rank function or both read.
pub(super) struct Described {
    rank_fn: Option<Box<dyn RankFn>>,
    /// [`Queue::Fifo`], [`Queue::Pifo`] or [`Queue::Decided`].
    handles: Queue,
}

impl Described {
    /// Gives a packet its rank at this port.
    #[inline]
    pub(super) fn rank(&mut self, packet: &mut Packet, now: Time) {
        if let Some(rank_fn) = &mut self.rank_fn {
            packet.rank = rank_fn.rank(packet, now);
            // No scheduler of handles uses the result, but the rank function may rely on the call.
            rank_fn.eligible(packet, now);
        }
    }

    /// Offers a packet that already has its rank.
    #[inline]
    pub(super) fn offer(&mut self, packet: &Packet) -> Enqueued<Handle> {
        let Packet { id, flow, size, rank, .. } = *packet;
        let handle = Handle { number: id as u32, size };
        let stored = match &mut self.handles {
            Queue::Fifo(fifo) => fifo.push(handle).map(|()| 0).map_err(|_| DropReason::Full),
            Queue::Decided(queues) => queues.offer(Arriving { size, rank, flow }, handle),
            sorted => return sorted.offer_sorted(rank, handle),
        };
        match stored {
            Ok(queue) => Enqueued::Admitted { queue, rank },
            Err(reason) => Enqueued::Dropped { packet: handle, reason },
        }
    }

    /// Reports a packet that leaves for the wire.
    #[inline]
    pub(super) fn on_dequeue(&mut self, packet: &Packet, now: Time) {
        if let Some(rank_fn) = &mut self.rank_fn {
            rank_fn.on_dequeue(packet, now);
        }
    }

    /// Reports a packet that is refused or pushed out.
    pub(super) fn on_drop(&mut self, packet: &Packet, now: Time) {
        if let Some(rank_fn) = &mut self.rank_fn {
            rank_fn.on_drop(packet, now);
        }
    }
}

impl Port {
    /// The queue, which is [`Queue::Described`].
    #[inline(always)]
    pub(super) fn described(&mut self) -> &mut Described {
        match &mut self.queue {
            Queue::Described(described) => described,
            _ => unreachable!("only ports with such a queue come here"),
        }
    }
}

impl Queue {
    pub(super) fn new(
        config: &PortConfig,
        info: &PortInfo,
        watched: bool,
        shared: &mut Shared,
        forwarder: Option<&mut dyn Forwarder>,
    ) -> Result<Self, ConfigError> {
        let made = match &config.discipline {
            QueueDiscipline::DropTail(capacity) => {
                let refused = |error: ParamError| {
                    let (owner, key) = ("port".to_owned(), "capacity".to_owned());
                    ConfigError { owner, key, value: capacity.to_string(), expected: error.expected }
                };
                let params = FifoParams { capacity: *capacity };
                let fifo = <Fifo>::new(params).map_err(refused)?;
                if forwarder.is_none() {
                    return Ok(Self::Fifo(store::Queue::new(*capacity)).described_to(None, watched));
                }
                PortScheduler::from(Box::new(fifo))
            }
            QueueDiscipline::Scheduler(make) => make(info, shared),
        };
        let (rank_fn, made) = match made {
            PortScheduler::Ranked(rank_fn, made) => (Some(rank_fn), *made),
            made => (None, made),
        };
        let made = match forwarder {
            Some(forwarder) => PortScheduler::Other(forwarder.around(info.port, made.into_scheduler())),
            None => made,
        };
        // Handles have no place for the labels that a rank function writes.
        let labels = |rank_fn: &dyn RankFn| rank_fn.reads().contains(Fact::CarriedLabel);
        Ok(match (made, rank_fn) {
            (made, Some(rank_fn)) if labels(&*rank_fn) => {
                Self::Ranked(Box::new(Ranked::new(rank_fn, made.into_scheduler())))
            }
            (PortScheduler::Decider(decider, capacities), rank_fn) => {
                Self::Decided(decider.join_handles(&capacities)).described_to(rank_fn, watched)
            }
            (PortScheduler::Pifo(pifo), rank_fn) if pifo.is_empty() => {
                let pifo = HandlePifo::new(pifo.params()).expect("the same was made before");
                Self::Pifo(pifo).described_to(rank_fn, watched)
            }
            (made, Some(rank_fn)) => Self::Ranked(Box::new(Ranked::new(rank_fn, made.into_scheduler()))),
            (made, None) => Self::Other(made.into_scheduler()),
        })
    }

    /// Wraps these handles for a port with a rank function or an observer (`watched`); without both, returns them.
    fn described_to(self, rank_fn: Option<Box<dyn RankFn>>, watched: bool) -> Self {
        if watched || rank_fn.is_some() {
            Self::Described(Box::new(Described { rank_fn, handles: self }))
        } else {
            self
        }
    }

    /// The scheduler, if it stores packets.
    #[inline]
    pub(super) fn scheduler(&mut self) -> Option<&mut dyn Scheduler> {
        match self {
            Self::Fifo(_) | Self::Pifo(_) | Self::Decided(_) | Self::Described(_) => None,
            Self::Ranked(ranked) => Some(&mut **ranked),
            Self::Other(scheduler) => Some(&mut **scheduler),
        }
    }

    /// Whether it stores handles of packets whose descriptors are not read.
    #[inline(always)]
    pub(super) fn stores_handles(&self) -> bool {
        matches!(self, Self::Fifo(_) | Self::Pifo(_) | Self::Decided(_))
    }

    /// Whether a rank function reads hints beyond the descriptor.
    pub(super) fn wants_hints(&mut self) -> bool {
        self.reads().has_hints()
    }

    /// What a rank function reads of a packet.
    pub(super) fn reads(&mut self) -> Facts {
        match self {
            Self::Described(described) => described.rank_fn.as_ref().map_or(Facts::NONE, |rank_fn| rank_fn.reads()),
            other => other.scheduler().map_or(Facts::NONE, |scheduler| scheduler.wants().reads),
        }
    }

    /// Whether it may mark packets or write labels.
    pub(super) fn may_mark(&mut self) -> bool {
        self.scheduler().is_some_and(|scheduler| {
            let wants = scheduler.wants();
            wants.needs.contains(Fact::Ecn) || wants.reads.contains(Fact::CarriedLabel)
        })
    }

    /// Passes hints about a packet to a rank function.
    pub(super) fn hint(&mut self, packet: u32, hints: &Hints) {
        match self {
            Self::Described(described) => {
                described.rank_fn.as_mut().expect("it wants hints").hint(packet.into(), hints)
            }
            other => other.scheduler().expect("it wants hints").hint(packet.into(), hints),
        }
    }

    /// Ranks a packet that bypasses the scheduler.
    #[cold]
    pub(super) fn rank_unqueued(&mut self, packet: &Packet, now: Time) {
        match self {
            Self::Ranked(ranked) => ranked.rank_unqueued(packet, now),
            Self::Described(described) => {
                described.rank_fn.as_mut().map_or(packet.rank, |rank_fn| rank_fn.rank(packet, now))
            }
            Self::Fifo(_) | Self::Pifo(_) | Self::Decided(_) | Self::Other(_) => packet.rank,
        };
    }

    #[inline(never)]
    fn pop_lowest(&mut self) -> Option<Handle> {
        match self {
            Self::Pifo(pifo) => pifo.pop(),
            Self::Described(described) => Some(described.handles.pop()),
            Self::Fifo(_) | Self::Decided(_) | Self::Ranked(_) | Self::Other(_) => None,
        }
    }

    /// The size below which a packet at an idle port goes straight to the wire without any effect on the scheduler's
    /// state. 0 if the scheduler must be called.
    pub(super) fn passes_below(&self, idle: IdlePort) -> u64 {
        match self {
            Self::Fifo(fifo) => match fifo.capacity() {
                Capacity::Bytes(bytes) => bytes.saturating_add(1),
                Capacity::Packets(_) | Capacity::Unlimited => u64::MAX,
            },
            Self::Pifo(_) | Self::Decided(_) if matches!(idle, IdlePort::Bypass | IdlePort::Ranked) => u64::MAX,
            Self::Pifo(pifo) => pifo.passes_below(),
            Self::Decided(_) | Self::Described(_) | Self::Ranked(_) | Self::Other(_) => 0,
        }
    }
}

impl Handles for Queue {
    #[inline(always)]
    fn offer_sorted(&mut self, rank: Rank, handle: Handle) -> Enqueued<Handle> {
        match self {
            Self::Pifo(pifo) => pifo.offer(rank, handle),
            _ => Enqueued::Dropped { packet: handle, reason: DropReason::Full },
        }
    }

    #[inline(always)]
    fn pop(&mut self) -> Handle {
        match self {
            Self::Fifo(fifo) => fifo.pop(),
            Self::Decided(queues) => queues.pop(),
            _ => self.pop_lowest(),
        }
        .unwrap_or_default()
    }
}

/// For ports that store packets. Ports that store handles take none and have none here.
impl Order for Queue {
    #[inline]
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        match self.scheduler() {
            Some(scheduler) => scheduler.enqueue(packet, now),
            None => Enqueued::Dropped { packet, reason: DropReason::Full },
        }
    }

    #[inline]
    fn dequeue(&mut self, unqueued: bool, now: Time) -> Dequeued {
        match self {
            Self::Ranked(ranked) if unqueued => ranked.dequeue_unqueued(now),
            Self::Ranked(ranked) => ranked.dequeue(now),
            Self::Other(scheduler) => scheduler.dequeue(now),
            Self::Fifo(_) | Self::Pifo(_) | Self::Decided(_) | Self::Described(_) => Dequeued::Empty,
        }
    }

    fn take_mark(&mut self) -> bool {
        self.scheduler().is_some_and(Scheduler::take_mark)
    }

    fn take_label(&mut self) -> Option<u64> {
        self.scheduler().and_then(Scheduler::take_label)
    }

    #[inline]
    fn inspect(&self) -> &dyn Inspect {
        match self {
            Self::Fifo(fifo) => fifo,
            Self::Pifo(pifo) => pifo,
            Self::Decided(queues) => &**queues,
            Self::Described(described) => described.handles.inspect(),
            Self::Ranked(ranked) => &**ranked,
            Self::Other(scheduler) => &**scheduler,
        }
    }
}
