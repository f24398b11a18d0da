//! A scheduler that the command line has chosen.

use pifolab_registry::{BoxedRankFn, BoxedScheduler};
use pifolab_sched::{
    Capacity, ControlPlane, Dequeued, Enqueued, Hints, Inspect, Packet, RankInterval, Ranked, Scheduler, WantedFacts,
};
use pifolab_units::{Bytes, Rank, Time};

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
    pub(super) fn inner_mut(&mut self) -> &mut BoxedScheduler {
        match self {
            Self::Plain(scheduler) => scheduler,
            Self::Ranked(ranked) => ranked.scheduler_mut(),
        }
    }
}

impl Inspect for Chosen {
    fn len(&self) -> usize {
        self.inner().len()
    }
    fn backlog(&self) -> Bytes {
        self.inner().backlog()
    }
    fn capacity(&self) -> Capacity {
        self.inner().capacity()
    }
    fn queues(&self) -> usize {
        self.inner().queues()
    }
    fn queue_len(&self, queue: usize) -> usize {
        self.inner().queue_len(queue)
    }
    fn queue_ranks(&self, queue: usize) -> RankInterval {
        self.inner().queue_ranks(queue)
    }
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        self.inner().visit_window(visit);
    }
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.inner().visit_state(visit);
    }
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
    fn control_plane(&mut self) -> Option<&mut dyn ControlPlane> {
        match self {
            Self::Plain(scheduler) => scheduler.control_plane(),
            Self::Ranked(ranked) => ranked.control_plane(),
        }
    }
}
