//! What a packet costs in each scheduler: the measured loop behind `pifolab bench sched`.
//!
//! *Steady*: the buffer holds the stated occupancy and has room for a hundred times as much; each packet is enqueued and
//! one is dequeued, except after the rare rank that an admission test refuses all the same (RIFO's highest, PACKS' last
//! percent). *Overload*: the buffer's capacity is the stated occupancy, and two
//! packets arrive for each that leaves; the cost is per arriving packet. Packets are the library's 32-byte descriptors,
//! every outcome is looked at, ranks are uniform and drawn beforehand. The scheduler is a concrete type here, as in a
//! program that embeds the library; a boxed one costs two indirect calls more. Where a twin runs, the plain text is measured beside it.

use crate::registry::find_scheduler;
use pifolab_fast::{Form, Twin, With};
use pifolab_params::{Place, Table, choices};
use pifolab_registry::rows::types::*;
use pifolab_sched::params::{Args, CAPACITY_PACKETS, FromArgs, QUEUE_CAPACITY_PACKETS, Value};
use pifolab_sched::ranks::{Stfq, StfqParams};
use pifolab_sched::store::Queues;
use pifolab_sched::{
    Capacity, Decider, Dequeued, Enqueued, FromParams, InspectExt, Packet, Queued, Ranked, Scheduler, schedulers,
};
use pifolab_simd::{RankWindow, Window};
use pifolab_tree::{Charge, Discipline, Field, Node};
use pifolab_units::{Rank, Time};
use std::hint::black_box;
use std::time::Instant;

choices! {
    /// How fast packets arrive.
    pub enum Load {
        Steady = "steady": "one departure per admitted arrival",
        Overload = "overload": "two arrivals per departure into a full buffer",
    }
}

/// The occupancies that are measured: the papers' buffer, and a deep one.
pub const OCCUPANCIES: [u32; 2] = [80, 10_000];

/// The windows whose quantile is measured.
const WINDOWS: [u32; 3] = [20, 1_000, 10_000];

/// What one case took.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The scheduler with the options that matter, or the window.
    pub name: String,
    /// Of a tree: its depth.
    pub tree_depth: Option<u32>,
    /// Packets in the buffer; ranks in the window.
    pub occupancy: u32,
    /// How fast packets arrived; `None` for a window.
    pub load: Option<Load>,
    /// Nanoseconds per arriving packet (or per rank pushed and asked about), median of the samples.
    pub ns_per_packet: f64,
    /// The fastest sample.
    pub min_ns_per_packet: f64,
    /// The median where the plain text runs in the place of the twin; `None` where there is no twin.
    pub plain_ns_per_packet: Option<f64>,
}

/// A scheduler to be measured.
pub struct Case {
    /// The scheduler's name.
    pub scheduler: &'static str,
    /// The options that matter, in words; nothing where they are the usual ones.
    pub options: &'static str,
    /// Of a tree: its depth.
    pub tree_depth: Option<u32>,
    /// Whether a twin is measured, and the plain text beside it.
    pub has_twin: bool,
    make: fn(capacity: u32, load: Load, form: Form) -> Box<dyn Run>,
}

/// A scheduler under load, at the stated occupancy.
pub trait Run {
    /// Offers `packets` more packets. Returns a number that depends on every outcome, so that none can be optimised away.
    fn run(&mut self, packets: u64) -> u64;

    /// Packets in the buffer.
    fn occupancy(&self) -> usize;
}

const fn case(scheduler: &'static str, options: &'static str, make: fn(u32, Load, Form) -> Box<dyn Run>) -> Case {
    Case { scheduler, options, tree_depth: None, has_twin: false, make }
}

impl Case {
    const fn of_depth(self, depth: u32) -> Self {
        Self { tree_depth: Some(depth), ..self }
    }

    const fn with_twin(self) -> Self {
        Self { has_twin: true, ..self }
    }

    /// The scheduler's name, with the options that matter.
    pub fn name(&self) -> String {
        match self.options {
            "" => self.scheduler.to_owned(),
            options => format!("{}, {options}", self.scheduler),
        }
    }

    /// The scheduler, with twins, filled and in its equilibrium.
    pub fn prepare(&self, occupancy: u32, load: Load) -> Box<dyn Run> {
        self.prepare_as(occupancy, load, Form::Twins)
    }

    /// The same in this form.
    pub fn prepare_as(&self, occupancy: u32, load: Load, form: Form) -> Box<dyn Run> {
        (self.make)(occupancy, load, form)
    }
}

/// Every scheduler: those with settings of their own, then the others with their defaults.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    let own = |plain: &Case| CASES.iter().any(|case| case.scheduler == plain.scheduler);
    CASES.iter().chain(PLAIN.iter().filter(move |case| !own(case)))
}

macro_rules! plain {
    ($($kind:ident [$($type:tt)+];)*) => { &[$(plain!(@$kind $($type)+)),*] };
    (@decider $($twin:tt)+) => { plain!(@scheduler Joined<$($twin)+>) };
    (@$kind:ident $($type:tt)+) => { case(<$($type)+>::INFO.name, "", |n, load, _| plain::<$($type)+>(n, load)) };
}

/// The decider that has this twin, joined to its queues.
type Joined<W> = Queued<<W as Twin>::Of, Packet, <W as Twin>::Queues>;

/// Every scheduler with its defaults.
const PLAIN: &[Case] = pifolab_registry::each_row!(plain);

/// Those whose settings or ranks are not the defaults, and some in several ways.
const CASES: &[Case] = &[
    case("fifo", "", |n, load, form| decided::<Predicted<deciders::Fifo, Queue>>(n, load, form, WIDE, &[])).with_twin(),
    case("pifo", "", |n, load, _| single::<Pifo>(n, load, WIDE, &[])),
    case("pifo", "2^16 ranks", |n, load, _| single::<Pifo>(n, load, 1 << 16, &[("ranks", Value::Integer(1 << 16))])),
    case("pifo", "2^20 ranks", |n, load, _| single::<Pifo>(n, load, 1 << 20, &[("ranks", Value::Integer(1 << 20))])),
    case("pifo", "heap ties", |n, load, _| single::<Pifo>(n, load, WIDE, &[("ties", Value::Text("heap".to_owned()))])),
    // Ranks that cost nothing and stay among those that wait, as all ranks do that grow with time.
    case("pifo", "growing ranks", |n, load, _| growing(n, load)),
    // What a fair node has to do, in one PIFO for all flows.
    case("pifo", "stfq ranks", |n, load, _| fair(n, load)),
    case("strict-priority", "", |n, load, form| decided::<NoTwin<deciders::StrictPriority>>(n, load, form, 100, &[])),
    case("sp-pifo", "", |n, load, form| decided::<fast::SpPifo>(n, load, form, WIDE, &[])).with_twin(),
    case("sp-pifo-greedy", "", |n, load, form| decided::<NoTwin<deciders::SpPifoGreedy>>(n, load, form, 100, &[])),
    case("sp-pifo-optimal", "", |n, load, form| decided::<NoTwin<deciders::SpPifoOptimal>>(n, load, form, 100, &[])),
    case("aifo", "window 20", |n, load, form| decided::<fast::Aifo>(n, load, form, WIDE, &[("k", headroom(load))]))
        .with_twin(),
    case("packs", "window 20", |n, load, form| {
        decided::<fast::Packs>(n, load, form, WIDE, &[("window", Value::Integer(20))])
    })
    .with_twin(),
    case("packs", "window 1000", |n, load, form| decided::<fast::Packs>(n, load, form, WIDE, &[])).with_twin(),
    case("rifo", "", |n, load, form| decided::<fast::Rifo>(n, load, form, WIDE, &[("k", headroom(load))])).with_twin(),
    case("exp-pifo", "", |n, load, form| decided::<NoTwin<deciders::ExpPifo>>(n, load, form, WIDE, &[])),
    case("afq", "", |n, load, form| {
        let round = [("bytes_per_round", Value::Integer(round(n)))];
        decided::<Predicted<deciders::Afq>>(n, load, form, WIDE, &round)
    })
    .with_twin(),
    case("pieo", "", |n, load, _| single::<schedulers::Pieo>(n, load, WIDE, &[])),
    case("scrr", "", |n, load, _| {
        let most = Value::Integer(capacity(n, load).into());
        single::<schedulers::Scrr>(n, load, WIDE, &[("flow_packets", most)])
    }),
    case("managed", "codel over fifo", |n, load, _| managed(n, load)),
    case("tree", "depth 1, 8 leaves", |n, load, _| tree(n, load, 1, 8, Charge::Departure)).of_depth(1),
    case("tree", "depth 3, 8 leaves", |n, load, _| tree(n, load, 3, 8, Charge::Departure)).of_depth(3),
    case("tree", "depth 5, 8 leaves", |n, load, _| tree(n, load, 5, 8, Charge::Departure)).of_depth(5),
    case("tree", "depth 1, 1000 leaves", |n, load, _| tree(n, load, 1, 1_000, Charge::Departure)).of_depth(1),
    case("tree", "depth 3, 1000 leaves", |n, load, _| tree(n, load, 3, 1_000, Charge::Departure)).of_depth(3),
    case("tree", "depth 3, 8 leaves, charge = arrival", |n, load, _| tree(n, load, 3, 8, Charge::Arrival)).of_depth(3),
    case("tree", "depth 3, 1000 leaves, charge = arrival", |n, load, _| tree(n, load, 3, 1_000, Charge::Arrival))
        .of_depth(3),
    case("tree", "depth 5, 1000 leaves", |n, load, _| tree(n, load, 5, 1_000, Charge::Departure)).of_depth(5),
];

/// Ranks are uniform below this unless a scheduler wants a smaller or a declared rank space.
const WIDE: u32 = 1 << 16;
/// Packets belong to this many flows in turn.
const FLOWS: u64 = 64;
/// What a packet adds to growing ranks.
const STEP: u64 = 16;
/// Bytes of every packet.
const BYTES: u32 = 1500;
/// As many ranks are drawn beforehand; more than branch predictors can learn by heart.
const DRAWN: usize = 1 << 16;

/// The papers' k under overload. None when steady, where it would spare the test that is to be measured.
fn headroom(load: Load) -> Value {
    Value::Decimal(match load {
        Load::Steady => "0".to_owned(),
        Load::Overload => "0.1".to_owned(),
    })
}

/// Bytes per round that let each flow's share of the occupancy fit within AFQ's eight rounds.
fn round(occupancy: u32) -> i128 {
    i128::from(occupancy) * i128::from(BYTES) / i128::from(FLOWS)
}

/// A scheduler with one buffer or with eight queues, whichever it has.
fn plain<S: FromArgs + Scheduler + 'static>(n: u32, load: Load) -> Box<dyn Run> {
    let has_queues = S::INFO.param(QUEUE_CAPACITY_PACKETS.name).is_some();
    (if has_queues { queued::<S> } else { single::<S> })(n, load, WIDE, &[])
}

/// A scheduler with one buffer.
fn single<S: FromArgs + Scheduler + 'static>(n: u32, load: Load, ranks: u32, extra: &[(&str, Value)]) -> Box<dyn Run> {
    loaded::<S>(CAPACITY_PACKETS.name, capacity(n, load), n, load, ranks, extra)
}

/// A scheduler with eight queues of equal capacity.
fn queued<S: FromArgs + Scheduler + 'static>(n: u32, load: Load, ranks: u32, extra: &[(&str, Value)]) -> Box<dyn Run> {
    loaded::<S>(QUEUE_CAPACITY_PACKETS.name, capacity(n, load) / 8, n, load, ranks, extra)
}

/// A decider with one buffer, or with eight queues of equal capacity, whichever it has; or its twin.
fn decided<W: Twin>(n: u32, load: Load, form: Form, ranks: u32, extra: &[(&str, Value)]) -> Box<dyn Run> {
    struct Fill(u32, Load, u32);
    impl With for Fill {
        type Output = Box<dyn Run>;

        fn with<D: Decider + Send + 'static, Q: Queues<Packet> + Send + 'static>(
            self,
            scheduler: Queued<D, Packet, Q>,
        ) -> Box<dyn Run> {
            fill(scheduler, self.0, self.1, self.2)
        }
    }
    type Params<W> = <<W as Twin>::Of as FromParams>::Params;
    let info = <Params<W> as FromArgs>::INFO;
    let mut args = Args::new(info.name);
    match info.param(QUEUE_CAPACITY_PACKETS.name) {
        Some(row) => args.set(row.name, Value::Integer((capacity(n, load) / 8).into())),
        None => args.set(CAPACITY_PACKETS.name, Value::Integer(capacity(n, load).into())),
    };
    for (name, value) in extra {
        args.set(*name, value.clone());
    }
    let params = Params::<W>::build(args).expect("the cases' parameters are valid");
    fast::choose::<W, _>(params, form, Fill(n, load, ranks)).expect("the cases' parameters are valid")
}

/// The capacity of the buffer in packets.
const fn capacity(occupancy: u32, load: Load) -> u32 {
    match load {
        Load::Steady => occupancy * 100,
        Load::Overload => occupancy,
    }
}

fn loaded<S: FromArgs + Scheduler + 'static>(
    key: &str,
    capacity: u32,
    occupancy: u32,
    load: Load,
    ranks: u32,
    extra: &[(&str, Value)],
) -> Box<dyn Run> {
    let mut args = Args::new(S::INFO.name);
    args.set(key, Value::Integer(capacity.into()));
    for (name, value) in extra {
        args.set(*name, value.clone());
    }
    fill(S::build(args).expect("the cases' parameters are valid"), occupancy, load, ranks)
}

/// A tree of first-in first-out leaves, `depth` inner nodes above each, all of them start-time fair. A packet's rank names its
/// leaf, so that leaves are drawn at random.
fn tree(occupancy: u32, load: Load, depth: u32, leaves: u32, charge: Charge) -> Box<dyn Run> {
    let root = node(0, leaves, depth).charge(charge).capacity(match load {
        Load::Steady => Capacity::Unlimited,
        Load::Overload => Capacity::Packets(occupancy),
    });
    fill(root.build_by(Field::Rank).expect("each rank has one leaf"), occupancy, load, leaves)
}

/// Start-time fair queueing of flows in a PIFO.
fn fair(occupancy: u32, load: Load) -> Box<dyn Run> {
    let pifo = <Pifo>::new(schedulers::PifoParams::packets(capacity(occupancy, load)));
    let rank = Stfq::new(StfqParams::default()).expect("the defaults are valid");
    fill(Ranked::new(rank, pifo.expect("a capacity above 0")), occupancy, load, WIDE)
}

/// Deadlines in a PIFO: time, of which each packet takes [`STEP`], and uniform slack of up to twice the time that a packet waits in
/// the mean.
fn growing(occupancy: u32, load: Load) -> Box<dyn Run> {
    let pifo = <Pifo>::new(schedulers::PifoParams::packets(capacity(occupancy, load)));
    fill_by::<_, true>(pifo.expect("a capacity above 0"), occupancy, load, 2 * occupancy * STEP as u32)
}

/// CoDel over a first-in first-out queue.
fn managed(occupancy: u32, load: Load) -> Box<dyn Run> {
    let entry = find_scheduler("managed").expect("it is in the registry");
    let mut fifo = Table::of("scheduler", Place::File, "name", Value::Text("fifo".to_owned()));
    fifo.put(CAPACITY_PACKETS.name, Place::File, Value::Integer(capacity(occupancy, load).into()));
    let mut args = Args::new(entry.info.name);
    args.set("scheduler", Value::Table(fifo));
    fill(entry.build(args).expect("the parameters are valid"), occupancy, load, WIDE)
}

/// A node with these leaves below, as even as possible at every level.
fn node(first: u32, leaves: u32, depth: u32) -> Node {
    if depth == 0 {
        return Node::fifo().takes([u64::from(first)..=u64::from(first)]);
    }
    let children =
        if depth == 1 { leaves } else { (f64::from(leaves).powf(1.0 / f64::from(depth)).round() as u32).max(1) };
    (0..children).fold(Node::inner(Discipline::Stfq), |parent, child| {
        let bound = |child: u32| first + leaves * child / children;
        parent.child(node(bound(child), bound(child + 1) - bound(child), depth - 1))
    })
}

/// A scheduler at its occupancy.
fn fill<S: Scheduler + 'static>(scheduler: S, occupancy: u32, load: Load, ranks: u32) -> Box<dyn Run> {
    fill_by::<S, false>(scheduler, occupancy, load, ranks)
}

/// The same, with ranks that may grow with time.
fn fill_by<S: Scheduler + 'static, const GROWS: bool>(
    scheduler: S,
    occupancy: u32,
    load: Load,
    ranks: u32,
) -> Box<dyn Run> {
    let mut loaded = Loaded::<S, GROWS> { scheduler, ranks: draw(ranks), load, offered: 0 };
    // Under overload an admission test may keep the buffer below its capacity: then this is its equilibrium.
    for _ in 0..20 * u64::from(occupancy) {
        if loaded.scheduler.len() >= occupancy as usize {
            break;
        }
        offer::<S, GROWS>(&mut loaded.scheduler, &loaded.ranks, loaded.offered);
        loaded.offered += 1;
    }
    Box::new(loaded)
}

/// Uniform ranks below `ranks`, by xorshift: the same in every run.
fn draw(ranks: u32) -> Box<[Rank; DRAWN]> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Rank::from((state >> 32) as u32 % ranks)
    };
    let drawn: Vec<Rank> = (0..DRAWN).map(|_| next()).collect();
    drawn.try_into().expect("as many were drawn")
}

struct Loaded<S, const GROWS: bool> {
    scheduler: S,
    ranks: Box<[Rank; DRAWN]>,
    load: Load,
    offered: u64,
}

/// Offers the packet number `id`. Returns whether it was stored, and a number that depends on the outcome.
#[inline(always)]
fn offer<S: Scheduler, const GROWS: bool>(scheduler: &mut S, ranks: &[Rank; DRAWN], id: u64) -> (bool, u64) {
    let flow = (id % FLOWS) as u32;
    let rank = ranks[id as usize % DRAWN];
    let rank = if GROWS { Rank::saturating(rank.get() + id * STEP) } else { rank };
    match scheduler.enqueue(Packet { id, flow, size: BYTES, rank, arrival: Time::ZERO }, Time::ZERO) {
        Enqueued::Admitted { queue, .. } => (true, u64::from(queue)),
        Enqueued::Evicted { victims, .. } => (true, victims.iter().map(|victim| victim.id).sum()),
        Enqueued::Dropped { packet, .. } => (false, packet.id),
    }
}

/// Takes a packet out. Returns a number that depends on it.
#[inline(always)]
fn send<S: Scheduler>(scheduler: &mut S) -> u64 {
    match scheduler.dequeue(Time::ZERO) {
        Dequeued::Packet { packet, .. } => packet.id,
        _ => 0,
    }
}

impl<S: Scheduler, const GROWS: bool> Run for Loaded<S, GROWS> {
    fn run(&mut self, packets: u64) -> u64 {
        let Self { scheduler, ranks, load, offered } = self;
        let ranks: &[Rank; DRAWN] = ranks;
        let (mut sum, first) = (0u64, *offered);
        *offered += packets;
        match load {
            Load::Steady => {
                for id in first..first + packets {
                    let (stored, outcome) = offer::<S, GROWS>(scheduler, ranks, id);
                    sum = sum.wrapping_add(outcome);
                    if stored {
                        sum = sum.wrapping_add(send(scheduler));
                    }
                }
            }
            Load::Overload => {
                for pair in 0..packets / 2 {
                    let id = first + 2 * pair;
                    let (one, two) =
                        (offer::<S, GROWS>(scheduler, ranks, id).1, offer::<S, GROWS>(scheduler, ranks, id + 1).1);
                    sum = sum.wrapping_add(one).wrapping_add(two).wrapping_add(send(scheduler));
                }
            }
        }
        sum
    }

    fn occupancy(&self) -> usize {
        self.scheduler.len()
    }
}

/// A full window that takes in a rank and tells its quantile, again and again.
struct WindowRun {
    window: RankWindow,
    ranks: Box<[Rank; DRAWN]>,
    asked: usize,
}

impl WindowRun {
    /// A window of `size` ranks, uniform below 2^16.
    fn new(size: u32) -> Self {
        let (mut window, ranks) = (RankWindow::new(size as usize), draw(WIDE));
        for at in 0..size as usize {
            window.push(ranks[at % DRAWN]);
        }
        Self { window, ranks, asked: size as usize }
    }

    /// Pushes `ranks` more ranks and asks for the quantile of each.
    fn run(&mut self, ranks: u64) -> u64 {
        let mut sum = 0;
        for _ in 0..ranks {
            let rank = self.ranks[self.asked % DRAWN];
            self.asked += 1;
            sum += self.window.push_and_count_below(rank, rank.get()) as u64;
        }
        sum
    }
}

/// Measures every scheduler at both occupancies and loads, then the quantile of every window: about five seconds.
pub fn schedulers() -> Vec<Measurement> {
    let mut measured = Vec::new();
    for case in cases() {
        for occupancy in OCCUPANCIES {
            for load in [Load::Steady, Load::Overload] {
                let mut run = case.prepare(occupancy, load);
                let (median, min) = sample(|packets| run.run(packets));
                let plain = case.has_twin.then(|| {
                    let mut run = case.prepare_as(occupancy, load, Form::Plain);
                    sample(|packets| run.run(packets)).0
                });
                measured.push(Measurement {
                    name: case.name(),
                    tree_depth: case.tree_depth,
                    occupancy,
                    load: Some(load),
                    ns_per_packet: median,
                    min_ns_per_packet: min,
                    plain_ns_per_packet: plain,
                });
            }
        }
    }
    for size in WINDOWS {
        let mut run = WindowRun::new(size);
        let (median, min) = sample(|ranks| run.run(ranks));
        measured.push(Measurement {
            name: format!("window quantile, {size} ranks"),
            tree_depth: None,
            occupancy: size,
            load: None,
            ns_per_packet: median,
            min_ns_per_packet: min,
            plain_ns_per_packet: None,
        });
    }
    measured
}

/// Median and minimum of 15 samples, in nanoseconds per packet, after as many packets of warm-up as one sample has.
fn sample(mut run: impl FnMut(u64) -> u64) -> (f64, f64) {
    const SAMPLES: usize = 15;
    const PACKETS: u64 = 1 << 17;
    black_box(run(PACKETS));
    let mut samples: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let start = Instant::now();
            black_box(run(PACKETS));
            start.elapsed().as_nanos() as f64 / PACKETS as f64
        })
        .collect();
    samples.sort_by(f64::total_cmp);
    (samples[SAMPLES / 2], samples[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheduler_of_the_registry_is_measured() {
        // Programs in files are measured by the benchmark of the crate bmv2.
        for entry in crate::registry::SCHEDULERS.iter().filter(|entry| entry.files.is_empty()) {
            let name = entry.info.name;
            let measured = cases().any(|case| case.scheduler == name);
            assert!(measured, "the rows lack {name}");
        }
    }

    #[test]
    fn a_scheduler_without_a_case_of_its_own_is_measured_with_its_defaults() {
        for case in PLAIN.iter().filter(|case| ["pifo", "sp-pifo", "pieo"].contains(&case.scheduler)) {
            for (load, held) in [(Load::Steady, 80..=80), (Load::Overload, 1..=80)] {
                let mut run = case.prepare(80, load);
                run.run(1_000);
                assert!(held.contains(&run.occupancy()), "{}: {}", case.name(), run.occupancy());
            }
        }
        assert_eq!(cases().filter(|case| case.name() == "pifo").count(), 1);
    }

    #[test]
    fn a_steady_load_keeps_its_occupancy() {
        for case in cases() {
            let mut run = case.prepare(80, Load::Steady);
            run.run(10_000);
            assert_eq!(run.occupancy(), 80, "{}", case.name());
        }
    }

    #[test]
    fn an_overload_meets_a_buffer_that_is_not_empty() {
        for case in cases() {
            let mut run = case.prepare(80, Load::Overload);
            run.run(10_000);
            assert!((1..=80).contains(&run.occupancy()), "{}: {}", case.name(), run.occupancy());
        }
    }
}
