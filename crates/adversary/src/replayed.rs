//! Any scheduler as a machine, even if it cannot be cloned and exposes no state. A snapshot runs the scheduler again
//! from the start, and only equal histories have equal keys. Much slower, and no states are merged.

use crate::machine::{Machine, Order, Subject};
use crate::step::{Probe, Step};
use pifolab_sched::{Dequeued, Enqueued, Inspect, Item, Packet, Scheduler};
use pifolab_units::Time;
use std::any::Any;
use std::sync::Arc;

type Build = dyn Fn() -> Box<dyn Scheduler + Send> + Send + Sync;

/// A scheduler that can only be built and run.
pub struct Replayed {
    name: String,
    build: Arc<Build>,
}

impl Replayed {
    /// Creates a subject from the constructor `build`.
    pub fn new(name: impl Into<String>, build: Arc<Build>) -> Self {
        Self { name: name.into(), build }
    }
}

impl Subject for Replayed {
    fn name(&self) -> &str {
        &self.name
    }

    fn start(&self, _window: Option<&[u64]>) -> Box<dyn Machine> {
        Box::new(Replay { scheduler: (self.build)(), build: self.build.clone(), history: Vec::new() })
    }

    fn order(&self) -> Order {
        Order::Unknown
    }

    fn window(&self) -> Option<usize> {
        None
    }
}

struct Replay {
    scheduler: Box<dyn Scheduler + Send>,
    build: Arc<Build>,
    /// The offered packets; `None` is a departure.
    history: Vec<Option<Probe>>,
}

impl Step for Replay {
    fn enqueue(&mut self, probe: Probe) -> Enqueued<Probe> {
        self.history.push(Some(probe));
        match self.scheduler.enqueue(probe.describe(Time::ZERO), Time::ZERO) {
            Enqueued::Admitted { queue, rank } => Enqueued::Admitted { queue, rank },
            Enqueued::Evicted { queue, rank, victims } => {
                let mut left = victims.iter().map(known);
                let mut victims = pifolab_sched::Victims::one(left.next().expect("there is always a first victim"));
                left.for_each(|victim| victims.push(victim));
                Enqueued::Evicted { queue, rank, victims }
            }
            Enqueued::Dropped { reason, .. } => Enqueued::Dropped { packet: probe, reason },
        }
    }

    fn dequeue(&mut self) -> Dequeued<Probe> {
        self.history.push(None);
        match self.scheduler.dequeue(Time::ZERO) {
            Dequeued::Packet { packet, queue } => Dequeued::Packet { packet: known(&packet), queue },
            Dequeued::Dropped { packet, reason } => Dequeued::Dropped { packet: known(&packet), reason },
            Dequeued::NotBefore(time) => Dequeued::NotBefore(time),
            Dequeued::Empty => Dequeued::Empty,
        }
    }
}

impl Machine for Replay {
    fn snapshot(&self) -> Box<dyn Machine> {
        let mut copy = Self { scheduler: (self.build)(), build: self.build.clone(), history: Vec::new() };
        copy.run(&self.history);
        Box::new(copy)
    }

    fn restore(&mut self, snapshot: &dyn Machine) {
        let snapshot: &dyn Any = snapshot;
        let snapshot: &Self = snapshot.downcast_ref().expect("snapshots are restored to machines of their own subject");
        self.scheduler = (self.build)();
        self.history.clear();
        self.run(&snapshot.history);
    }

    fn key(&self, _remaining: usize, key: &mut Vec<u64>) {
        key.extend(self.history.iter().map(|step| step.map_or(u64::MAX, |probe| probe.rank().get())));
    }

    fn footprint(&self) -> usize {
        // The size of the scheduler itself is unknown.
        4096 + self.history.len() * size_of::<Option<Probe>>()
    }

    fn inspect(&self) -> &dyn Inspect {
        &*self.scheduler
    }
}

impl Replay {
    fn run(&mut self, history: &[Option<Probe>]) {
        for step in history {
            match step {
                Some(probe) => drop(self.enqueue(*probe)),
                None => drop(self.dequeue()),
            }
        }
    }
}

fn known(packet: &Packet) -> Probe {
    Probe::new(packet.id as usize, packet.rank.get())
}
