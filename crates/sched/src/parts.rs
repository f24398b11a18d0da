//! Schedulers taken apart, for callers that store less of each packet than its descriptor.

use crate::schedulers::Pifo;
use crate::store::Queues;
use crate::{AnyDecider, Capacity, Decider, InspectExt, Packet, Queued, RankFn, Ranked, Scheduler};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A scheduler, split into its parts as far as possible.
///
/// Every scheduler converts to it ([`From`]). Pass the schedulers of the library unboxed: only then can a caller store
/// items smaller than packets in them, or skip the rank function when a packet leaves.
pub enum Parts {
    /// A decider and the capacities of its queues, highest priority first.
    Decider(Box<dyn AnyDecider>, Vec<Capacity>),
    /// A PIFO.
    Pifo(Box<Pifo>),
    /// A rank function joined to a scheduler.
    Ranked(Box<dyn RankFn>, Box<Parts>),
    /// Any other scheduler.
    Other(Box<dyn Scheduler>),
}

impl Parts {
    /// The scheduler of whole packets.
    pub fn into_scheduler(self) -> Box<dyn Scheduler> {
        match self {
            Self::Decider(decider, capacities) => decider.join(&capacities),
            Self::Pifo(pifo) => pifo,
            Self::Ranked(rank_fn, scheduler) => Box::new(Ranked::new(rank_fn, scheduler.into_scheduler())),
            Self::Other(scheduler) => scheduler,
        }
    }
}

impl<D: Decider + Send + 'static, Q: Queues<Packet> + 'static> From<Queued<D, Packet, Q>> for Parts {
    fn from(scheduler: Queued<D, Packet, Q>) -> Self {
        if !scheduler.is_empty() {
            return Self::Other(Box::new(scheduler));
        }
        let (decider, capacities) = scheduler.into_parts();
        Self::Decider(Box::new(decider), capacities)
    }
}

impl From<Pifo> for Parts {
    fn from(pifo: Pifo) -> Self {
        // Starvation prevention orders packets by flow, so the items need their flows.
        if pifo.params().starvation_prevention {
            return Self::Other(Box::new(pifo));
        }
        Self::Pifo(Box::new(pifo))
    }
}

impl<R: RankFn + 'static, S: Into<Self>> From<Ranked<R, S>> for Parts {
    fn from(ranked: Ranked<R, S>) -> Self {
        let (rank_fn, scheduler) = ranked.into_parts();
        Self::Ranked(Box::new(rank_fn), Box::new(scheduler.into()))
    }
}

impl<S: Scheduler + 'static> From<Box<S>> for Parts {
    fn from(scheduler: Box<S>) -> Self {
        Self::Other(scheduler)
    }
}

impl From<Box<dyn Scheduler>> for Parts {
    fn from(scheduler: Box<dyn Scheduler>) -> Self {
        Self::Other(scheduler)
    }
}

impl From<Box<dyn Scheduler + Send>> for Parts {
    fn from(scheduler: Box<dyn Scheduler + Send>) -> Self {
        Self::Other(scheduler)
    }
}
