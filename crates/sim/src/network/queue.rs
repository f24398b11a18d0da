//! The schedulers of ports: those of the library, which store two numbers for each packet wherever that is enough.

use super::config::{ConfigError, Discipline, IdlePort, PortConfig, PortInfo};
use pifolab_sched::schedulers::{Fifo, FifoParams, Pifo};
use pifolab_sched::store::{PriorityQueues, Queues};
use pifolab_sched::{
    Capacity, Decider, Dequeued, DropReason, Enqueued, Hints, Inspect, Item, Packet, Queued, RankFn, Ranked, Scheduler,
};
use pifolab_units::{Rank, Time};

/// The scheduler of a port, in as many parts as it can be taken apart.
///
/// Any scheduler is one ([`From`]); those of the library should come as they are, not boxed: a port where nobody watches then
/// stores handles of eight bytes in them instead of whole descriptors, and a rank function inside a box cannot be spared a
/// departure that [`IdlePort::Admission`](super::IdlePort::Admission) hides from it.
pub enum PortScheduler {
    /// A decider and the capacities of its queues, highest priority first.
    Decider(Box<dyn Decider>, Vec<Capacity>),
    /// A PIFO.
    Pifo(Box<Pifo>),
    /// A rank function joined to a scheduler.
    Ranked(Ranked<Box<dyn RankFn>, Box<dyn Scheduler>>),
    /// Any other scheduler.
    Other(Box<dyn Scheduler>),
}

impl<D: Decider + 'static, Q: Queues<Packet> + 'static> From<Queued<D, Packet, Q>> for PortScheduler {
    fn from(scheduler: Queued<D, Packet, Q>) -> Self {
        if !scheduler.is_empty() {
            return Self::Other(Box::new(scheduler));
        }
        let (decider, capacities) = scheduler.into_parts();
        Self::Decider(Box::new(decider), capacities)
    }
}

impl From<Pifo> for PortScheduler {
    fn from(pifo: Pifo) -> Self {
        Self::Pifo(Box::new(pifo))
    }
}

impl<R: RankFn + 'static, S: Scheduler + 'static> From<Ranked<R, S>> for PortScheduler {
    fn from(ranked: Ranked<R, S>) -> Self {
        let (rank_fn, scheduler) = ranked.into_parts();
        Self::Ranked(Ranked::new(Box::new(rank_fn), Box::new(scheduler)))
    }
}

impl<S: Scheduler + 'static> From<Box<S>> for PortScheduler {
    fn from(scheduler: Box<S>) -> Self {
        Self::Other(scheduler)
    }
}

impl From<Box<dyn Scheduler>> for PortScheduler {
    fn from(scheduler: Box<dyn Scheduler>) -> Self {
        Self::Other(scheduler)
    }
}

impl From<Box<dyn Scheduler + Send>> for PortScheduler {
    fn from(scheduler: Box<dyn Scheduler + Send>) -> Self {
        Self::Other(scheduler)
    }
}

impl PortScheduler {
    /// As a scheduler of whole packets.
    fn whole(self) -> Queue {
        match self {
            Self::Decider(decider, capacities) => {
                Queue::Other(Box::new(Queued::<_, Packet>::with_decider(decider, &capacities)))
            }
            Self::Pifo(pifo) => Queue::Other(pifo),
            Self::Ranked(ranked) => Queue::Ranked(Box::new(ranked)),
            Self::Other(scheduler) => Queue::Other(scheduler),
        }
    }
}

/// What the queues of a port store of a packet: it is told to them when it is offered, and found again by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) number: u32,
    pub(super) size: u32,
}

impl Item for Handle {
    #[inline(always)]
    fn size(&self) -> u32 {
        self.size
    }
    /// Handles are [offered](Queued::offer) beside their ranks.
    fn rank(&self) -> Rank {
        Rank::ZERO
    }
    fn set_rank(&mut self, _rank: Rank) {}
    fn id(&self) -> u64 {
        self.number.into()
    }
    #[inline(always)]
    fn duplicate(&self) -> Self {
        *self
    }
}

/// What orders the packets of a port. The first three store handles, where nobody watches; the others packets.
pub(super) enum Queue {
    /// Drop-tail.
    Fifo(Fifo<Handle>),
    Pifo(Pifo<Handle>),
    Decided(Queued<Box<dyn Decider>, Handle, PriorityQueues<Handle>>),
    Ranked(Box<Ranked<Box<dyn RankFn>, Box<dyn Scheduler>>>),
    Other(Box<dyn Scheduler>),
}

impl Queue {
    pub(super) fn new(config: &PortConfig, info: &PortInfo, watched: bool) -> Result<Self, ConfigError> {
        let made = match &config.discipline {
            Discipline::DropTail(capacity) => {
                let refused = |error| ConfigError::new("port", "capacity", capacity, &format!("{error}"));
                let params = FifoParams { capacity: *capacity };
                return Ok(if watched {
                    Self::Other(Box::new(<Fifo>::new(params).map_err(refused)?))
                } else {
                    Self::Fifo(Fifo::new(params).map_err(refused)?)
                });
            }
            Discipline::Scheduler(make) => make(info),
        };
        Ok(match made {
            made if watched => made.whole(),
            PortScheduler::Decider(decider, capacities) => Self::Decided(Queued::with_decider(decider, &capacities)),
            PortScheduler::Pifo(pifo) if pifo.is_empty() => {
                Self::Pifo(Pifo::new(pifo.params()).expect("the same was made before"))
            }
            made => made.whole(),
        })
    }

    /// The scheduler, where it stores packets.
    #[inline]
    pub(super) fn scheduler(&mut self) -> Option<&mut dyn Scheduler> {
        match self {
            Self::Fifo(_) | Self::Pifo(_) | Self::Decided(_) => None,
            Self::Ranked(ranked) => Some(&mut **ranked),
            Self::Other(scheduler) => Some(&mut **scheduler),
        }
    }

    /// Whether it stores handles.
    #[inline(always)]
    pub(super) fn stores_handles(&self) -> bool {
        matches!(self, Self::Fifo(_) | Self::Pifo(_) | Self::Decided(_))
    }

    /// Whether a rank function wants to know more of a packet than its descriptor.
    pub(super) fn wants_hints(&mut self) -> bool {
        self.scheduler().is_some_and(|scheduler| scheduler.wants_hints())
    }

    /// Tells a rank function more of a packet.
    pub(super) fn hint(&mut self, packet: u32, hints: &Hints) {
        if let Some(scheduler) = self.scheduler() {
            scheduler.hint(packet.into(), hints);
        }
    }

    /// Offers a packet, where packets are stored.
    #[inline]
    pub(super) fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        match self.scheduler() {
            Some(scheduler) => scheduler.enqueue(packet, now),
            None => Enqueued::Dropped { packet, reason: DropReason::Full },
        }
    }

    /// Tells a rank function of a packet that goes past the scheduler.
    #[cold]
    pub(super) fn rank_unqueued(&mut self, packet: &Packet, now: Time) {
        if let Self::Ranked(ranked) = self {
            ranked.rank_unqueued(packet, now);
        }
    }

    /// Takes the next packet, where packets are stored. `unqueued`: it was admitted just now by an idle port and goes past the
    /// queue, so that no rank function is told of a departure.
    #[inline]
    pub(super) fn dequeue(&mut self, unqueued: bool, now: Time) -> Dequeued {
        match self {
            Self::Ranked(ranked) if unqueued => ranked.dequeue_unqueued(now),
            Self::Ranked(ranked) => ranked.dequeue(now),
            Self::Other(scheduler) => scheduler.dequeue(now),
            Self::Fifo(_) | Self::Pifo(_) | Self::Decided(_) => Dequeued::Empty,
        }
    }

    /// Takes the next handle, where handles are stored; the empty one if there is none.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Handle {
        match self {
            Self::Fifo(fifo) => fifo.pop().map(|(handle, _)| handle),
            _ => self.pop_ranked(),
        }
        .unwrap_or_default()
    }

    #[inline(never)]
    fn pop_ranked(&mut self) -> Option<Handle> {
        match self {
            Self::Pifo(pifo) => pifo.pop(),
            Self::Decided(queues) => queues.pop().map(|(handle, _)| handle),
            Self::Fifo(_) | Self::Ranked(_) | Self::Other(_) => None,
        }
    }

    /// Packets of fewer bytes go straight to the wire of an idle port where nothing waits, whatever else they are, and the
    /// scheduler remembers nothing of them. 0 where it must be asked.
    pub(super) fn passes_below(&self, idle: IdlePort) -> u64 {
        match self {
            Self::Fifo(fifo) => match fifo.capacity() {
                Capacity::Bytes(bytes) => bytes.saturating_add(1),
                Capacity::Packets(_) | Capacity::Unlimited => u64::MAX,
            },
            Self::Pifo(_) | Self::Decided(_) if matches!(idle, IdlePort::Bypass | IdlePort::Ranked) => u64::MAX,
            Self::Pifo(pifo) => pifo.passes_below(),
            Self::Decided(_) | Self::Ranked(_) | Self::Other(_) => 0,
        }
    }

    /// What an observer sees.
    #[inline]
    pub(super) fn inspect(&self) -> &dyn Inspect {
        match self {
            Self::Fifo(fifo) => fifo,
            Self::Pifo(pifo) => pifo,
            Self::Decided(queues) => queues,
            Self::Ranked(ranked) => &**ranked,
            Self::Other(scheduler) => &**scheduler,
        }
    }
}
