//! The schedulers that users give to ports.

use pifolab_sched::schedulers::Pifo;
use pifolab_sched::store::Queues;
use pifolab_sched::{Capacity, Decider, Inspect, Packet, Queued, RankFn, Ranked, Scheduler};

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
