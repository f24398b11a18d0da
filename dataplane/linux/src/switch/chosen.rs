//! A scheduler that the command line has chosen.

use pifolab_registry::{BoxedRankFn, BoxedScheduler};
use pifolab_sched::{Dequeued, Enqueued, Hints, Inspect, Packet, Ranked, Scheduler, WantedFacts, inspect_inside};
use pifolab_units::Time;

/// A scheduler from the command line, alone or behind a rank function.
pub enum Chosen {
    /// Ranks come with the frames.
    Plain(BoxedScheduler),
    /// A rank function computes them.
    Ranked(Ranked<BoxedRankFn, BoxedScheduler>),
}

impl Chosen {
    fn inner(&self) -> &BoxedScheduler {
        match self {
            Self::Plain(scheduler) => scheduler,
            Self::Ranked(ranked) => ranked.scheduler(),
        }
    }

    /// The scheduler, past the rank function.
    pub fn inner_mut(&mut self) -> &mut BoxedScheduler {
        match self {
            Self::Plain(scheduler) => scheduler,
            Self::Ranked(ranked) => ranked.scheduler_mut(),
        }
    }
}

impl Inspect for Chosen {
    inspect_inside!(self => self.inner());
}

impl Scheduler for Chosen {
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        match self {
            Self::Plain(scheduler) => scheduler.enqueue(packet, now),
            Self::Ranked(ranked) => ranked.enqueue(packet, now),
        }
    }
    fn dequeue(&mut self, now: Time) -> Dequeued {
        match self {
            Self::Plain(scheduler) => scheduler.dequeue(now),
            Self::Ranked(ranked) => ranked.dequeue(now),
        }
    }
    fn hint(&mut self, id: u64, hints: &Hints) {
        match self {
            Self::Plain(scheduler) => scheduler.hint(id, hints),
            Self::Ranked(ranked) => Scheduler::<Packet>::hint(ranked, id, hints),
        }
    }
    fn wants(&self) -> WantedFacts {
        match self {
            Self::Plain(scheduler) => scheduler.wants(),
            Self::Ranked(ranked) => Scheduler::<Packet>::wants(ranked),
        }
    }
    fn take_mark(&mut self) -> bool {
        self.inner_mut().take_mark()
    }
    fn forget_flow(&mut self, flow: u32) {
        match self {
            Self::Plain(scheduler) => scheduler.forget_flow(flow),
            Self::Ranked(ranked) => Scheduler::<Packet>::forget_flow(ranked, flow),
        }
    }
}
