//! The schedulers of the library as machines: clones are snapshots, and deciders expose their state.

use crate::machine::{Machine, Order, Subject};
use crate::step::{Probe, Step};
use pifolab_registry::rows::types::*;
use pifolab_registry::{self as registry, Made, Twin};
use pifolab_sched::params::{Args, Construct, FromArgs, ParamError};
use pifolab_sched::schedulers::PifoParams;
use pifolab_sched::store::{QueueKind, Queues};
use pifolab_sched::{
    Capacity, Decider, Dequeued, Enqueued, FromParams, Inspect, Item, Queued, Scheduler, inspect_inside,
};
use pifolab_units::{Rank, Time, clone_by_field};
use std::any::Any;

/// Creates the library's scheduler `name` with these arguments; `None` if no scheduler has the name.
pub fn library(name: &str, args: &Args) -> Option<Result<Box<dyn Subject + Send>, ParamError>> {
    let entry = ENTRIES.iter().flatten().find(|entry| entry.0 == name)?;
    let row = registry::find_scheduler(name).expect("the registry has the library's");
    Some((row.read)(args.clone()).and_then(|made| (entry.1)(made, args.owner())))
}

/// The names that [`library`] accepts.
pub fn library_names() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().flatten().map(|entry| entry.0)
}

/// Creates a PIFO.
pub(crate) fn pifo(params: PifoParams) -> Box<dyn Subject + Send> {
    let pifo = Pifo::new(params).expect("another scheduler has this capacity");
    Box::new(Described::new(PifoParams::INFO.name, Order::Ranks, ByRank { scheduler: pifo }, None))
}

/// Makes a subject of a scheduler whose arguments, which `owner` has, were read.
type Make = fn(made: Made, owner: &str) -> Result<Box<dyn Subject + Send>, ParamError>;

const ACCEPTED: &str = "the registry accepted these parameters";

/// The entry of a decider, which parameters may replace by a variant.
const fn decider<W>() -> (&'static str, Make)
where
    W: Twin,
    W::Of: Clone + Sync,
    W::Queues: QueueKind,
    <W::Queues as QueueKind>::Of<Probe>: Clone + Send + Sync + 'static,
{
    const fn name<W: Twin>() -> &'static str {
        Params::<W>::INFO.name
    }
    type Params<W> = <<W as Twin>::Of as FromParams>::Params;
    type Joined<W, D> = Queued<D, Probe, <<W as Twin>::Queues as QueueKind>::Of<Probe>>;
    let make: Make = |made, _owner| {
        Ok(if made.variant().is_none() {
            Described::make(name::<W>(), made, |made| {
                let params = made.own_params::<Params<W>>().expect("those of this decider").clone();
                Joined::<W, W::Of>::new(params).expect(ACCEPTED)
            })
        } else {
            Described::make(name::<W>(), made, |made| {
                let (decider, capacities) = made.variant().expect("a window does not change what decides");
                Joined::<W, _>::with_decider(decider, &capacities)
            })
        })
    };
    (name::<W>(), make)
}

/// The entry of a scheduler whose packets leave in the order of their ranks.
const fn by_rank<S>() -> (&'static str, Make)
where
    S: Construct + Scheduler<Probe> + Clone + Send + Sync + 'static,
{
    let make: Make = |made, owner| {
        if made.params().is_some_and(|params: &PifoParams| params.starvation_prevention) {
            let because = "expected false, since the packets of a searched trace have no flows";
            return Err(PifoParams::STARVATION_PREVENTION.error_because(owner, "true", because));
        }
        let params = made.params::<S::Params>().expect("those of this scheduler").clone();
        let scheduler = ByRank { scheduler: S::construct(params).expect(ACCEPTED) };
        Ok(Box::new(Described::new(S::Params::INFO.name, Order::Ranks, scheduler, None)))
    };
    (S::Params::INFO.name, make)
}

/// The rows of the registry that can be searched: all except schedulers that sort packets by flow.
macro_rules! entries {
    ($($kind:ident [$($type:tt)+];)*) => { &[$(entries!(@$kind $($type)+)),*] };
    (@decider $($type:tt)+) => { Some(decider::<$($type)+>()) };
    (@in_parts $($type:tt)+) => { Some(by_rank::<$($type)+::<Probe>>()) };
    (@by_rank $($type:tt)+) => { Some(by_rank::<$($type)+::<Probe>>()) };
    (@other $($type:tt)+) => { None };
}

const ENTRIES: &[Option<(&str, Make)>] = registry::each_row!(entries);

/// The state that determines later answers, without the stored packets.
trait Keyed {
    fn visit_key(&self, visit: &mut dyn FnMut(i64));
}

impl<D: Decider, Q: Queues<Probe>> Keyed for Queued<D, Probe, Q> {
    fn visit_key(&self, visit: &mut dyn FnMut(i64)) {
        self.stored().rooms().iter().for_each(|room| visit(room.packets() as i64));
        self.decider().registers(&mut |register| register.visit_state(visit));
    }
}

/// A scheduler whose later answers depend only on the ranks that it holds.
struct ByRank<S> {
    scheduler: S,
}

clone_by_field!(<S> ByRank { scheduler });

impl<S> Keyed for ByRank<S> {
    fn visit_key(&self, _visit: &mut dyn FnMut(i64)) {}
}

impl<S: Inspect> Inspect for ByRank<S> {
    inspect_inside!(self => self.scheduler);
}

impl<S: Scheduler<Probe>> Scheduler<Probe> for ByRank<S> {
    fn enqueue(&mut self, probe: Probe, now: Time) -> Enqueued<Probe> {
        self.scheduler.enqueue(probe, now)
    }

    fn dequeue(&mut self, now: Time) -> Dequeued<Probe> {
        self.scheduler.dequeue(now)
    }
}

/// A scheduler in its first state, and how it is made with another window.
struct Described<S> {
    name: &'static str,
    order: Order,
    scheduler: S,
    window: Option<Windowed<S>>,
}

/// A scheduler with a window of ranks.
struct Windowed<S> {
    made: Made,
    size: usize,
    build: fn(&Made) -> S,
}

impl<S> Described<S>
where
    S: Scheduler<Probe> + Keyed + Clone + Send + Sync + 'static,
{
    const fn new(name: &'static str, order: Order, scheduler: S, window: Option<Windowed<S>>) -> Self {
        Self { name, order, scheduler, window }
    }

    /// The decider `name`, which `build` makes.
    fn make(name: &'static str, made: Made, build: fn(&Made) -> S) -> Box<dyn Subject + Send> {
        let scheduler = build(&made);
        let window = made.window().map(|size| Windowed { made, size: size as usize, build });
        Box::new(Self::new(name, Order::Queues, scheduler, window))
    }
}

impl<S> Subject for Described<S>
where
    S: Scheduler<Probe> + Keyed + Clone + Send + Sync + 'static,
{
    fn name(&self) -> &str {
        self.name
    }

    fn start(&self, window: Option<&[u64]>) -> Box<dyn Machine> {
        let scheduler = match window.zip(self.window.as_ref()) {
            None => self.scheduler.clone(),
            Some((ranks, Windowed { made, size, build })) => {
                // The other scheduler's window may be larger, so this one starts with the newest ranks.
                let newest = &ranks[ranks.len().saturating_sub(*size)..];
                let newest: Vec<_> = newest.iter().map(|rank| Rank::new(*rank).expect("a rank")).collect();
                build(&made.starting_with(&newest))
            }
        };
        let by_rank = self.order == Order::Ranks;
        Box::new(Direct { scheduler, by_rank, window: self.window().unwrap_or(0), held: Vec::new() })
    }

    fn order(&self) -> Order {
        self.order
    }

    fn window(&self) -> Option<usize> {
        self.window.as_ref().map(|window| window.size)
    }
}

/// A scheduler with clones as snapshots.
struct Direct<S> {
    scheduler: S,
    by_rank: bool,
    /// The size of the window; 0 without a window.
    window: usize,
    /// The ranks held, ascending, if packets leave by rank. Packets with equal ranks are interchangeable.
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
            // Only the excess highest ranks may still be pushed out; all others will be sent.
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
        // The sizes of rings are powers of two. A sorted order is a block of ranks and slots besides its items.
        let places = match self.scheduler.capacity() {
            Capacity::Packets(packets) => packets.min(1024) as usize + self.scheduler.queues(),
            _ => 16,
        };
        let order = if self.by_rank { 2048 + places * size_of::<Rank>() } else { 0 };
        // Large windows have an index, which is largest for small ranks: 140 KB.
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
