//! The schedulers of the library as machines: clones are snapshots, and deciders tell their own state.

use crate::machine::{Machine, Order, Subject};
use crate::step::{Probe, Step};
use pifolab_registry::{self as registry, Made};
use pifolab_sched::params::{Args, FromArgs, ParamError, Value};
use pifolab_sched::schedulers::{Pieo, Pifo, deciders};
use pifolab_sched::store::{PriorityQueues, Queue, Queues};
use pifolab_sched::{Capacity, Decider, Dequeued, Enqueued, FromParams, Inspect, Item, Queued, Scheduler};
use pifolab_units::{Rank, Time};
use std::any::Any;

/// The scheduler `name` of the library with these arguments; `None` if there is none of this name.
pub fn library(name: &str, args: &Args) -> Option<Result<Box<dyn Subject + Send>, ParamError>> {
    let entry = ENTRIES.iter().find(|entry| entry.0 == name)?;
    Some((entry.1)(args))
}

/// The names that [`library`] knows.
pub fn library_names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|entry| entry.0)
}

type Make = fn(&Args) -> Result<Box<dyn Subject + Send>, ParamError>;

const fn queued<D, Q>() -> (&'static str, Make)
where
    D: FromParams + Clone + Send + Sync + 'static,
    Q: Queues<Probe> + Clone + Send + Sync + 'static,
{
    (D::Params::INFO.name, |args| Described::<Queued<D, Probe, Q>>::make(args, Order::Queues))
}

/// The same for a decider in whose place others may stand, by parameters of their own.
const fn varied<D, Q>() -> (&'static str, Make)
where
    D: FromParams + Clone + Send + Sync + 'static,
    Q: Queues<Probe> + Clone + Send + Sync + 'static,
{
    fn read<D: FromParams>(args: Args) -> Result<Made, ParamError> {
        (registry::find_scheduler(D::Params::INFO.name).expect("the registry has the library's").read)(args)
    }
    let make: Make = |args| {
        if read::<D>(args.clone())?.variant().is_none() {
            let build = |args| {
                let made = read::<D>(args)?;
                Queued::<D, Probe, Q>::new(made.own_params::<D::Params>().expect("those of this decider").clone())
            };
            return Described::make_by(args, Order::Queues, D::Params::INFO.name, build);
        }
        let build = |args| {
            let (decider, capacities) = read::<D>(args)?.variant().expect("a window does not change what decides");
            Ok(Queued::<_, Probe, Q>::with_decider(decider, &capacities))
        };
        Described::make_by(args, Order::Queues, D::Params::INFO.name, build)
    };
    (D::Params::INFO.name, make)
}

const ENTRIES: &[(&str, Make)] = &[
    (Pifo::<Probe>::INFO.name, |args| {
        if Pifo::<Probe>::build(args.clone())?.params().starvation_prevention {
            let row = Pifo::<Probe>::INFO.row("starvation_prevention");
            let because = "expected false, since the packets of a searched trace have no flows";
            return Err(row.error_because(args.owner(), "true", because));
        }
        Described::<Pifo<Probe>>::make(args, Order::Ranks)
    }),
    queued::<deciders::Fifo, Queue<Probe>>(),
    queued::<deciders::StrictPriority, PriorityQueues<Probe>>(),
    queued::<deciders::SpPifo, PriorityQueues<Probe>>(),
    queued::<deciders::SpPifoGreedy, PriorityQueues<Probe>>(),
    queued::<deciders::SpPifoOptimal, PriorityQueues<Probe>>(),
    queued::<deciders::SlackSp, PriorityQueues<Probe>>(),
    queued::<deciders::Spring, PriorityQueues<Probe>>(),
    varied::<deciders::Aifo, Queue<Probe>>(),
    varied::<deciders::Packs, PriorityQueues<Probe>>(),
    varied::<deciders::Rifo, Queue<Probe>>(),
    queued::<deciders::ExpPifo, PriorityQueues<Probe>>(),
    queued::<deciders::Afq, PriorityQueues<Probe>>(),
    (Pieo::<Probe>::INFO.name, |args| Described::<Pieo<Probe>>::make(args, Order::Ranks)),
];

/// What decides later answers, besides what is stored.
trait Keyed {
    fn visit_key(&self, visit: &mut dyn FnMut(i64));
}

impl<D: Decider, Q: Queues<Probe>> Keyed for Queued<D, Probe, Q> {
    fn visit_key(&self, visit: &mut dyn FnMut(i64)) {
        self.stored().rooms().iter().for_each(|room| visit(room.packets() as i64));
        self.decider().visit_state(visit);
    }
}

impl Keyed for Pifo<Probe> {
    fn visit_key(&self, _visit: &mut dyn FnMut(i64)) {}
}

impl Keyed for Pieo<Probe> {
    fn visit_key(&self, _visit: &mut dyn FnMut(i64)) {}
}

/// A scheduler's type and arguments.
struct Described<S> {
    args: Args,
    order: Order,
    /// As the arguments describe it.
    made: S,
    window: Option<usize>,
    name: &'static str,
    build: fn(Args) -> Result<S, ParamError>,
}

impl<S> Described<S>
where
    S: Scheduler<Probe> + Keyed + Clone + Send + Sync + 'static,
{
    fn make(args: &Args, order: Order) -> Result<Box<dyn Subject + Send>, ParamError>
    where
        S: FromArgs,
    {
        Self::make_by(args, order, S::INFO.name, S::build)
    }

    /// The scheduler `name`, which `build` builds.
    fn make_by(
        args: &Args,
        order: Order,
        name: &'static str,
        build: fn(Args) -> Result<S, ParamError>,
    ) -> Result<Box<dyn Subject + Send>, ParamError> {
        let made = build(args.clone())?;
        let info = registry::find_scheduler(name).expect("the registry has the library's").info;
        let row = info.param("window").filter(|_| info.param(START_WINDOW).is_some());
        let size = row.map(|row| args.clone().given::<u32>(row)).transpose()?;
        Ok(Box::new(Self { args: args.clone(), order, made, window: size.map(|size| size as usize), name, build }))
    }
}

const START_WINDOW: &str = "start_window";

impl<S> Subject for Described<S>
where
    S: Scheduler<Probe> + Keyed + Clone + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        self.name
    }

    fn start(&self, window: Option<&[u64]>) -> Box<dyn Machine> {
        let scheduler = match window.filter(|_| self.window.is_some()) {
            None => self.made.clone(),
            Some(window) => {
                let mut args = self.args.clone();
                // A window of the other scheduler may be larger: this one starts with the newest ranks.
                let newest = &window[window.len().saturating_sub(self.window.unwrap_or(0))..];
                let ranks = newest.iter().map(|rank| Value::Integer((*rank).into())).collect();
                args.set(START_WINDOW, Value::List(ranks));
                (self.build)(args).expect("a window of ranks replaces another one")
            }
        };
        let by_rank = self.order == Order::Ranks;
        Box::new(Direct { scheduler, by_rank, window: self.window.unwrap_or(0), held: Vec::new() })
    }

    fn order(&self) -> Order {
        self.order
    }

    fn window(&self) -> Option<usize> {
        self.window
    }
}

/// A scheduler that can be cloned.
struct Direct<S> {
    scheduler: S,
    by_rank: bool,
    /// The size of its window; 0 if it has none.
    window: usize,
    /// The ranks held, ascending, if packets leave by rank: of equal ranks it does not matter which one goes.
    held: Vec<Rank>,
}

impl<S: Scheduler<Probe>> Step for Direct<S> {
    #[inline(always)]
    fn enqueue(&mut self, probe: Probe) -> Enqueued<Probe> {
        let outcome = self.scheduler.enqueue(probe, Time::ZERO);
        if self.by_rank && outcome.is_admitted() {
            self.held.insert(self.held.partition_point(|rank| *rank <= probe.rank()), probe.rank());
            if let Enqueued::Evicted { victims, .. } = &outcome {
                for victim in victims.iter() {
                    self.held.remove(self.held.partition_point(|rank| *rank < victim.rank()));
                }
            }
        }
        outcome
    }

    #[inline(always)]
    fn dequeue(&mut self) -> Dequeued<Probe> {
        let outcome = self.scheduler.dequeue(Time::ZERO);
        if self.by_rank
            && let Dequeued::Packet { packet, .. } | Dequeued::Dropped { packet, .. } = &outcome
        {
            self.held.remove(self.held.partition_point(|rank| *rank < packet.rank()));
        }
        outcome
    }
}

impl<S: Scheduler<Probe> + Keyed + Clone + Send + 'static> Machine for Direct<S> {
    fn snapshot(&self) -> Box<dyn Machine> {
        let Self { scheduler, by_rank, window, held } = self;
        Box::new(Self { scheduler: scheduler.clone(), by_rank: *by_rank, window: *window, held: held.clone() })
    }

    fn restore(&mut self, snapshot: &dyn Machine) {
        let snapshot: &dyn Any = snapshot;
        let snapshot: &Self = snapshot.downcast_ref().expect("snapshots are restored to machines of their own subject");
        self.scheduler.clone_from(&snapshot.scheduler);
        self.held.clone_from(&snapshot.held);
    }

    fn key(&self, remaining: usize, key: &mut Vec<u64>) {
        if self.by_rank {
            // Only those ranks may still be pushed out that are too many; all others will be sent.
            let capacity = match self.scheduler.capacity() {
                Capacity::Packets(packets) => packets as usize,
                Capacity::Bytes(_) => 0,
                Capacity::Unlimited => usize::MAX,
            };
            let endangered = (self.held.len() + remaining).saturating_sub(capacity).min(self.held.len());
            key.push(self.held.len() as u64);
            key.extend(self.held[self.held.len() - endangered..].iter().map(|rank| rank.get()));
        }
        self.scheduler.visit_key(&mut |number| key.push(number as u64));
    }

    fn footprint(&self) -> usize {
        // Rings have a power of two of places; a sorted order is a block of ranks and slots beside its items.
        let places = match self.scheduler.capacity() {
            Capacity::Packets(packets) => packets.min(1024) as usize + self.scheduler.queues(),
            _ => 16,
        };
        let order = if self.by_rank { 2048 + places * size_of::<Rank>() } else { 0 };
        // Large windows keep an index, which is largest for small ranks: 140 KB.
        let window = match self.window {
            0..=24 => 0,
            25..=256 => 16 * self.window,
            _ => 140_000 + 8 * self.window,
        };
        size_of::<Self>() + 2 * places * size_of::<Probe>() + order + window
    }

    fn inspect(&self) -> &dyn Inspect {
        &self.scheduler
    }
}
