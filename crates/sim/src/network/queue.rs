//! The schedulers of ports: those of the library, which store two numbers for each packet wherever that is enough.

use super::config::{Discipline, PortConfig, PortInfo};
use super::error::ConfigError;
use crate::port::{IdlePort, Order};
use pifolab_sched::schedulers::{Fifo, FifoParams, Pifo};
use pifolab_sched::store::PriorityQueues;
use pifolab_sched::{
    Arriving, Capacity, Decider, Decision, Dequeued, DropReason, Enqueued, Fact, Hints, Inspect, Item, Packet,
    Parts as PortScheduler, Queued, RankFn, RankInterval, Ranked, Room, Scheduler,
};
use pifolab_units::{Rank, Time};

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

/// A decider of whatever kind, which is asked once how it serves queues and not again for every packet.
pub(super) struct AnyDecider {
    decider: Box<dyn Decider + Send>,
    serves_by_priority: bool,
}

impl From<Box<dyn Decider + Send>> for AnyDecider {
    fn from(decider: Box<dyn Decider + Send>) -> Self {
        Self { serves_by_priority: decider.serves_by_priority(), decider }
    }
}

impl Decider for AnyDecider {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Decision {
        self.decider.decide(packet, queues)
    }
    #[inline(always)]
    fn serve(&mut self, first: usize, queues: &[Room]) -> usize {
        if self.serves_by_priority { first } else { self.decider.serve(first, queues) }
    }
    #[inline(always)]
    fn serves_by_priority(&self) -> bool {
        self.serves_by_priority
    }
    fn uses_flows(&self) -> bool {
        self.decider.uses_flows()
    }
    fn ranks_of(&self, queue: usize, queues: &[Room]) -> RankInterval {
        self.decider.ranks_of(queue, queues)
    }
    fn refused_at(&self, packet: Arriving, queues: &[Room]) -> Option<usize> {
        self.decider.refused_at(packet, queues)
    }
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        self.decider.visit_window(visit);
    }
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.decider.visit_state(visit);
    }
}

/// What orders the packets of a port. The first three store handles, where nobody watches; the others packets.
pub(super) enum Queue {
    /// Drop-tail.
    Fifo(Fifo<Handle>),
    Pifo(Pifo<Handle>),
    Decided(Queued<AnyDecider, Handle, PriorityQueues<Handle>>),
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
            made if watched => whole(made),
            PortScheduler::Decider(decider, capacities) => {
                Self::Decided(Queued::with_decider(AnyDecider::from(decider), &capacities))
            }
            PortScheduler::Pifo(pifo) if pifo.is_empty() => {
                Self::Pifo(Pifo::new(pifo.params()).expect("the same was made before"))
            }
            made => whole(made),
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

    /// Whether it marks packets.
    pub(super) fn may_mark(&mut self) -> bool {
        self.scheduler().is_some_and(|scheduler| scheduler.needs().contains(Fact::Ecn))
    }

    /// Tells a rank function more of a packet.
    pub(super) fn hint(&mut self, packet: u32, hints: &Hints) {
        if let Some(scheduler) = self.scheduler() {
            scheduler.hint(packet.into(), hints);
        }
    }

    /// Tells a rank function of a packet that goes past the scheduler.
    #[cold]
    pub(super) fn rank_unqueued(&mut self, packet: &Packet, now: Time) {
        if let Self::Ranked(ranked) = self {
            ranked.rank_unqueued(packet, now);
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
}

/// The scheduler of a port where packets are stored; where handles are, it takes none and has none.
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
            Self::Fifo(_) | Self::Pifo(_) | Self::Decided(_) => Dequeued::Empty,
        }
    }

    fn take_mark(&mut self) -> bool {
        self.scheduler().is_some_and(Scheduler::take_mark)
    }

    #[inline]
    fn inspect(&self) -> &dyn Inspect {
        match self {
            Self::Fifo(fifo) => fifo,
            Self::Pifo(pifo) => pifo,
            Self::Decided(queues) => queues,
            Self::Ranked(ranked) => &**ranked,
            Self::Other(scheduler) => &**scheduler,
        }
    }
}

/// A scheduler of whole packets.
fn whole(scheduler: PortScheduler) -> Queue {
    match scheduler {
        PortScheduler::Decider(decider, capacities) => {
            Queue::Other(Box::new(Queued::<_, Packet>::with_decider(decider, &capacities)))
        }
        PortScheduler::Pifo(pifo) => Queue::Other(pifo),
        PortScheduler::Ranked(ranked) => Queue::Ranked(Box::new(ranked)),
        PortScheduler::Other(scheduler) => Queue::Other(scheduler),
    }
}
