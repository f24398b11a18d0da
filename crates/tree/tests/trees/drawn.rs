//! Rates over every interval, shares within the bound of each discipline, and plain second forms of the rules, over
//! random trees, sizes, orders and times.

use pifolab_sched::schedulers::{Fifo, FifoParams, Pieo, PieoParams, Pifo, PifoParams, SpPifo, SpPifoParams};
use pifolab_sched::{Capacity, Dequeued, Enqueued, InspectExt, Packet, Scheduler};
use pifolab_tree::{Charge, Discipline, Node, TokenBucket, Tree};
use pifolab_units::{Bytes, Rank, Rate, Ratio, Time};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Strict,
    Turns,
    Stfq,
    Drr(u32),
    WallClock,
}

impl Kind {
    fn discipline(self) -> Discipline {
        match self {
            Self::Strict => Discipline::Strict,
            Self::Turns => Discipline::RoundRobin,
            Self::Stfq => Discipline::Stfq,
            Self::Drr(quantum_bytes) => Discipline::Drr { quantum_bytes },
            Self::WallClock => Discipline::WallClock { ps_per_byte: Ratio::new(800, 1).unwrap(), ticks_per_ps: 256 },
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Leaf {
    Fifo,
    Pifo,
    /// Pushes packets out.
    SmallPifo,
    /// Holds packets back.
    Pieo,
}

/// A node: its weight as a fraction, its bucket (rate in b/s, burst in bytes), and its children or its scheduler.
#[derive(Clone, Debug)]
struct Spec {
    weight: (u32, u32),
    bucket: Option<(u64, u64)>,
    below: Below,
}

#[derive(Clone, Debug)]
enum Below {
    Leaf(Leaf),
    Inner(Kind, Vec<Spec>),
}

impl Spec {
    /// With `schedulers`, nodes of two disciplines have an order that is not exact.
    fn node(&self, flows: &mut u64, schedulers: bool) -> Node {
        let node = match &self.below {
            Below::Leaf(leaf) => {
                *flows += 1;
                let pifo = |capacity| -> Pifo { Pifo::new(PifoParams { capacity, ..PifoParams::packets(1) }).unwrap() };
                let fifo = || -> Fifo { Fifo::new(FifoParams { capacity: Capacity::Unlimited }).unwrap() };
                let pieo = || -> Pieo { Pieo::new(PieoParams { capacity: Capacity::Unlimited }).unwrap() };
                let node = match leaf {
                    Leaf::Fifo => Node::leaf(fifo()),
                    Leaf::Pifo => Node::leaf(pifo(Capacity::Unlimited)),
                    Leaf::SmallPifo => Node::leaf(pifo(Capacity::Packets(3))),
                    Leaf::Pieo => Node::leaf(Box::new(pieo()) as Box<dyn Scheduler + Send>),
                };
                node.takes([*flows - 1..=*flows - 1])
            }
            Below::Inner(kind, children) => {
                let node = Node::inner(kind.discipline());
                let node = children.iter().fold(node, |node, child| node.child(child.node(flows, schedulers)));
                match kind {
                    Kind::Strict if schedulers => {
                        let pifo: Pifo =
                            Pifo::new(PifoParams { capacity: Capacity::Unlimited, ..PifoParams::packets(1) }).unwrap();
                        node.ordered_by_scheduler(Box::new(pifo))
                    }
                    Kind::Turns if schedulers => {
                        let (decider, capacities) = <SpPifo>::new(SpPifoParams::uniform(4, 1)).unwrap().into_parts();
                        node.ordered_by(Box::new(decider), vec![Capacity::Unlimited; capacities.len()])
                    }
                    _ => node,
                }
            }
        };
        let node = node.weight_of(Ratio::new(self.weight.0.into(), self.weight.1.into()).unwrap());
        match self.bucket {
            Some((bps, burst)) => node.shaped(TokenBucket { rate: Rate::from_bps(bps).unwrap(), burst: Bytes(burst) }),
            None => node,
        }
    }

    fn tree(&self, schedulers: bool, charge: Charge) -> Tree {
        self.node(&mut 0, schedulers).charge(charge).build().unwrap()
    }

    /// The nodes on the path to each leaf, the leaf included, by their numbers in the order of this walk.
    fn ways(&self) -> Vec<Vec<usize>> {
        fn walk(spec: &Spec, above: &[usize], nodes: &mut usize, ways: &mut Vec<Vec<usize>>) {
            let way = [above, &[*nodes]].concat();
            *nodes += 1;
            match &spec.below {
                Below::Leaf(_) => ways.push(way),
                Below::Inner(_, children) => children.iter().for_each(|child| walk(child, &way, nodes, ways)),
            }
        }
        let mut ways = Vec::new();
        walk(self, &[], &mut 0, &mut ways);
        ways
    }

    /// All nodes in the order of that walk, each with the numbers of its children.
    fn nodes(&self) -> Vec<(&Self, Vec<usize>)> {
        fn walk<'a>(spec: &'a Spec, all: &mut Vec<(&'a Spec, Vec<usize>)>) {
            let at = all.len();
            all.push((spec, Vec::new()));
            if let Below::Inner(_, children) = &spec.below {
                for child in children {
                    let number = all.len();
                    all[at].1.push(number);
                    walk(child, all);
                }
            }
        }
        let mut all = Vec::new();
        walk(self, &mut all);
        all
    }
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Strict),
        Just(Kind::Turns),
        Just(Kind::Stfq),
        (1u32..4_000).prop_map(Kind::Drr),
        Just(Kind::WallClock)
    ]
}

fn buckets() -> impl Strategy<Value = Option<(u64, u64)>> {
    prop_oneof![
        2 => Just(None),
        1 => (prop::sample::select(vec![1_000_003u64, 80_000_000, 999_999_937, 40_000_000_000]), 1u64..6_000).prop_map(Some),
    ]
}

fn weights() -> impl Strategy<Value = (u32, u32)> {
    let any = || 1u32..=u32::MAX;
    prop_oneof![
        4 => (1u32..10, Just(1)),
        1 => (1u32..1_000_000, Just(1)),
        1 => (any(), Just(1)),
        1 => (Just(1), any()),
        1 => (1u32..100, 1u32..100),
        1 => (any(), any()),
    ]
}

/// Random trees with these leaves.
fn trees(leaves: Vec<Leaf>, shaped: bool) -> impl Strategy<Value = Spec> {
    let bucket = move || if shaped { buckets().boxed() } else { Just(None).boxed() };
    let leaf = (weights(), bucket(), prop::sample::select(leaves)).prop_map(|(weight, bucket, leaf)| Spec {
        weight,
        bucket,
        below: Below::Leaf(leaf),
    });
    let inner = move |inside: BoxedStrategy<Spec>| {
        (weights(), bucket(), kinds(), vec(inside, 1..5)).prop_map(|(weight, bucket, kind, below)| Spec {
            weight,
            bucket,
            below: Below::Inner(kind, below),
        })
    };
    let inner = std::rc::Rc::new(inner);
    let again = inner.clone();
    leaf.prop_recursive(3, 20, 4, move |inside| again(inside.boxed())).prop_flat_map(move |spec| {
        // The root is always an inner node.
        (inner.clone())(Just(spec).boxed())
    })
}

/// An offered packet, or a number of requests, some time after the last step.
#[derive(Clone, Debug)]
enum Step {
    Offer { leaf: prop::sample::Index, rank: u32, size: u32, hold_ns: u64, after_ns: u64 },
    Ask { times: u32, after_ns: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = prop_oneof![Just(64u32), Just(1_500), 1u32..9_000];
    let after = || prop_oneof![4 => Just(0u64), 1 => 0u64..20_000];
    let offer = (any::<prop::sample::Index>(), 0u32..200, size, 0u64..30_000, after())
        .prop_map(|(leaf, rank, size, hold_ns, after_ns)| Step::Offer { leaf, rank, size, hold_ns, after_ns });
    let ask = (1u32..12, after()).prop_map(|(times, after_ns)| Step::Ask { times, after_ns });
    // In phases: many offers followed by many requests create long backlogs.
    let phase =
        prop_oneof![vec(offer.clone(), 1..80), vec(ask.clone(), 1..12), vec(prop_oneof![3 => offer, 1 => ask], 1..60)];
    vec(phase, 1..5).prop_map(|phases| phases.concat())
}

/// The start time, also late in the range of times.
fn starts() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0u64), 0u64..(1 << 62), Just(1_000 * 3_600_000_000_000_000), Just(u64::MAX - (1 << 60))]
}

fn check<S: Strategy>(strategy: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let config = pifolab_testkit::cases(400);
    TestRunner::new_with_rng(config, random).run(strategy, test).unwrap();
}

/// Packets by leaf, and two trees that must return the same.
struct Run {
    trees: [Tree; 2],
    held: BTreeMap<u64, (u32, u32)>,
    by_leaf: Vec<usize>,
    now: u64,
    offered: u64,
}

impl Run {
    fn new(spec: &Spec, start: u64, schedulers: bool, charge: Charge) -> Self {
        let by_leaf = vec![0; spec.ways().len()];
        let trees = [(); 2].map(|()| spec.tree(schedulers, charge));
        Self { trees, held: BTreeMap::new(), by_leaf, now: start, offered: 0 }
    }

    fn packet(&self, flow: u32, rank: u32, size: u32) -> Packet {
        let arrival = Time::from_ps(self.now);
        Packet { id: self.offered, flow, size, rank: Rank::from(rank), arrival }
    }

    fn forget(&mut self, id: u64) -> Result<(u32, u32), TestCaseError> {
        let Some((flow, size)) = self.held.remove(&id) else {
            return Err(TestCaseError::fail(format!("packet {id} was not held")));
        };
        self.by_leaf[flow as usize] -= 1;
        Ok((flow, size))
    }

    fn offer(&mut self, flow: u32, rank: u32, size: u32, hold_ns: u64) -> Result<(), TestCaseError> {
        let (now, eligible) = (Time::from_ps(self.now), Time::from_ps(self.now + 1_000 * hold_ns));
        let [one, other] = [self.packet(flow, rank, size), self.packet(flow, rank, size)];
        let outcome = self.trees[0].enqueue_eligible(one, eligible, now);
        prop_assert_eq!(&outcome, &self.trees[1].enqueue_eligible(other, eligible, now));
        if !matches!(outcome, Enqueued::Dropped { .. }) {
            self.held.insert(self.offered, (flow, size));
            self.by_leaf[flow as usize] += 1;
        }
        if let Enqueued::Evicted { victims, .. } = &outcome {
            for victim in victims.iter() {
                self.forget(victim.id)?;
            }
        }
        self.offered += 1;
        Ok(())
    }

    /// The next packet now, or the instant that both trees return.
    fn ask(&mut self) -> Result<Result<(u32, u32), Option<u64>>, TestCaseError> {
        let now = Time::from_ps(self.now);
        let outcome = self.trees[0].dequeue(now);
        prop_assert_eq!(&outcome, &self.trees[1].dequeue(now));
        let answer = match outcome {
            Dequeued::Packet { packet, .. } => Ok(self.forget(packet.id)?),
            Dequeued::NotBefore(time) => {
                prop_assert!(time > now && !self.held.is_empty());
                Err(Some(time.as_ps()))
            }
            Dequeued::Empty => {
                prop_assert!(self.held.is_empty());
                Err(None)
            }
            other @ Dequeued::Dropped { .. } => return Err(TestCaseError::fail(format!("{other:?}"))),
        };
        prop_assert_eq!(self.trees[0].len(), self.held.len());
        Ok(answer)
    }
}

const BYTE: i128 = 8_000_000_000_000;

#[test]
fn below_a_shaped_node_no_interval_has_more_than_its_rate_its_burst_and_one_packet() {
    let leaves = vec![Leaf::Fifo, Leaf::Pifo, Leaf::SmallPifo, Leaf::Pieo];
    check(&(trees(leaves, true), steps(), starts(), any::<bool>()), |(spec, steps, start, schedulers)| {
        let (ways, nodes) = (spec.ways(), spec.nodes());
        let mut run = Run::new(&spec, start, schedulers, Charge::Departure);
        // For each node, the largest number of bytes above the rate over all intervals that end with the last packet,
        // and its time.
        let mut excess = vec![(0, start); nodes.len()];
        let mut largest = 0;
        let mut left = |flow: u32, size: u32, now: u64, largest: u32| {
            for node in &ways[flow as usize] {
                let Some((bps, burst)) = nodes[*node].0.bucket else { continue };
                let (beyond, at) = &mut excess[*node];
                *beyond = (*beyond - i128::from(bps) * i128::from(now - *at)).max(0) + i128::from(size) * BYTE;
                *at = now;
                let most = (i128::from(burst) + i128::from(largest)) * BYTE;
                prop_assert!(*beyond <= most, "{} bytes beyond the rate of {bps} b/s", *beyond / BYTE);
            }
            Ok(())
        };
        for step in &steps {
            match step {
                Step::Offer { leaf, rank, size, hold_ns, after_ns } => {
                    run.now += 1_000 * after_ns;
                    run.offer(leaf.index(ways.len()) as u32, *rank, *size, *hold_ns)?;
                    largest = largest.max(*size);
                }
                Step::Ask { times, after_ns } => {
                    run.now += 1_000 * after_ns;
                    for _ in 0..*times {
                        match run.ask()? {
                            Ok((flow, size)) => left(flow, size, run.now, largest)?,
                            Err(Some(time)) => run.now = time,
                            Err(None) => break,
                        }
                    }
                }
            }
        }
        // The remaining packets leave, one at each instant that the tree returns.
        let mut named = false;
        loop {
            match run.ask()? {
                Ok((flow, size)) => left(flow, size, run.now, largest)?,
                Err(Some(time)) => {
                    // The next answer of another order is not always predictable.
                    prop_assert!(!named || schedulers, "nothing left at an instant that was named");
                    run.now = time;
                    named = true;
                    continue;
                }
                Err(None) => break,
            }
            named = false;
        }
        Ok(())
    });
}

/// A discipline's bound for two siblings of these weights, and the lead of the first over the second in its measure.
fn ahead(kind: Kind, [p, q]: [[i128; 2]; 2], packets: [i128; 2], bytes: [i128; 2], largest: i128) -> (i128, i128) {
    // W_0 / w_0 - W_1 / w_1 with w_i = p_i / q_i, times p_0 p_1.
    let difference = |of: [i128; 2]| of[0] * q[0] * p[1] - of[1] * q[1] * p[0];
    let packet = largest * (q[0] * p[1] + q[1] * p[0]);
    match kind {
        // While the first child has packets, the second one gets nothing.
        Kind::Strict => (bytes[1], 0),
        Kind::Turns => (packets[0] - packets[1], 1),
        Kind::Stfq | Kind::WallClock => (difference(bytes), packet),
        // |W_i / Q_i - W_j / Q_j| <= 1 + L / Q_i + L / Q_j, which is within the bound of DRR, the smallest quantum + 2 L.
        Kind::Drr(quantum) => (difference(bytes), i128::from(quantum) * p[0] * p[1] + packet),
    }
}

/// The amount by which rounding may exceed the bound, in the same measure: one unit of a tag for each of the two. A
/// byte of the heaviest sibling (for wfq: a picosecond) has 2^36 units, or fewer so that a byte of the lightest one has
/// 2^48.
fn rounding(kind: Kind, [p, _]: [[i128; 2]; 2], siblings: &[(u32, u32)]) -> i128 {
    let weight = |(p, q): &(u32, u32)| Ratio::new((*p).into(), (*q).into()).unwrap();
    let Some((least, most)) = siblings.iter().map(weight).min().zip(siblings.iter().map(weight).max()) else {
        return 0;
    };
    let [least, most] = [least, most].map(|weight| [weight.numerator(), weight.denominator()].map(i128::from));
    // The value of a byte at weight 1.
    let value = match kind {
        Kind::Stfq => most,
        Kind::WallClock => [800, 1],
        Kind::Strict | Kind::Turns | Kind::Drr(_) => return 0,
    };
    let dearest = (value[0] * least[1] + value[1] * least[0] - 1) / (value[1] * least[0]);
    let units = ((1 << 48) / dearest).clamp(1, 1 << 36);
    2 * (p[0] * p[1] / units + 1) * value[1] / value[0] + 1
}

/// A child in the test, by what it was charged with.
#[derive(Clone, Default)]
struct Charged {
    waiting: usize,
    packets: i128,
    bytes: i128,
    /// With arrivals charged, the sizes of the packets below, in the order of their arrivals.
    arrived: VecDeque<i128>,
    /// The time since which it has packets, and that of its last packet.
    since: u64,
    last: u64,
    /// An upper limit of its finish tag under wfq, and whether that had passed when it became backlogged.
    finish: u128,
    was_early: bool,
}

impl Charged {
    fn note_arrival(&mut self, size: i128, now: u64, charge: Charge) {
        if self.waiting == 0 {
            (self.since, self.was_early) = (now, self.finish <= u128::from(now));
        }
        if charge.is_arrival() {
            self.arrived.push_back(size);
        }
        self.last = now;
    }

    /// The finish tag under wfq after a packet of `size` bytes that was charged at `now`.
    fn finish(&mut self, (p, q): (u32, u32), size: i128, now: u64) {
        self.finish = self.finish.max(now.into()) + (size as u128 * 800 * u128::from(q)).div_ceil(p.into());
    }
}

#[test]
fn siblings_get_their_shares_within_the_bound_of_their_discipline_whatever_waits_and_nothing_is_held_back() {
    let leaves = vec![Leaf::Fifo, Leaf::Pifo, Leaf::SmallPifo];
    let scale = prop_oneof![3 => Just(1u32), 1 => Just(400_000)];
    check(&(trees(leaves, false), steps(), starts(), scale), |(spec, steps, start, scale)| {
        stay_within_bounds(&spec, &steps, start, scale, Charge::Departure)
    });
}

#[test]
fn with_arrivals_charged_siblings_get_their_shares_of_the_bytes_that_arrived() {
    // With weights whose unit is exact: virtual times are otherwise rounded to a 2^-16 byte of the lightest child.
    check(&(trees(vec![Leaf::Fifo, Leaf::Pifo], false), steps(), starts()), |(spec, steps, start)| {
        stay_within_bounds(&with_small_weights(&spec), &steps, start, 1, Charge::Arrival)
    });
}

fn stay_within_bounds(
    spec: &Spec,
    steps: &[Step],
    start: u64,
    scale: u32,
    charge: Charge,
) -> Result<(), TestCaseError> {
    let (ways, nodes) = (spec.ways(), spec.nodes());
    let mut run = Run::new(spec, start, false, charge);
    let mut charged = vec![Charged::default(); nodes.len()];
    // The smallest and the largest lead of one sibling over the other, while both had packets.
    let mut ranges: BTreeMap<(usize, usize), (i128, i128)> = BTreeMap::new();
    let largest = steps.iter().map(|step| if let Step::Offer { size, .. } = step { *size } else { 0 }).max();
    let largest = i128::from(largest.unwrap_or(0)) * i128::from(scale);
    let mut check_all = |run: &Run, charged: &mut Vec<Charged>| {
        charged.iter_mut().for_each(|node| node.waiting = 0);
        for (way, waiting) in ways.iter().zip(&run.by_leaf) {
            way.iter().for_each(|node| charged[*node].waiting += waiting);
        }
        for (node, children) in &nodes {
            let Below::Inner(kind, _) = node.below else { continue };
            let siblings: Vec<_> = children.iter().map(|child| nodes[*child].0.weight).collect();
            for (at, i) in children.iter().enumerate() {
                for j in &children[at + 1..] {
                    let two = [&charged[*i], &charged[*j]];
                    // The wall clock guarantees nothing for siblings that did not start together, each with its earlier
                    // packets paid for. With arrivals charged, all their packets must have come together.
                    let apart = kind == Kind::WallClock
                        && (two[0].since != two[1].since
                            || two.iter().any(|one| !one.was_early || charge.is_arrival() && one.last > one.since));
                    if apart || two.iter().any(|one| one.waiting == 0) {
                        ranges.remove(&(*i, *j));
                        continue;
                    }
                    let weights = [*i, *j].map(|child| nodes[child].0.weight);
                    let weights = [weights.map(|(p, _)| i128::from(p)), weights.map(|(_, q)| i128::from(q))];
                    let (gap, bound) =
                        ahead(kind, weights, two.map(|one| one.packets), two.map(|one| one.bytes), largest);
                    let bound = bound + rounding(kind, weights, &siblings);
                    let (least, most) = ranges.entry((*i, *j)).or_insert((gap, gap));
                    (*least, *most) = (gap.min(*least), gap.max(*most));
                    prop_assert!(*most - *least <= bound, "{kind:?} {weights:?}: {} > {bound}", *most - *least);
                }
            }
        }
        Ok(())
    };
    let mut asks = |run: &mut Run, charged: &mut Vec<Charged>, times: u32| {
        for _ in 0..times {
            check_all(run, charged)?;
            match run.ask()? {
                Ok((flow, size)) => {
                    for node in &ways[flow as usize] {
                        let one = &mut charged[*node];
                        one.packets += 1;
                        let size = one.arrived.pop_front().unwrap_or(i128::from(size));
                        one.bytes += size;
                        if !charge.is_arrival() {
                            // A tag of a backlogged child does not start anew.
                            one.finish(nodes[*node].0.weight, size, one.since);
                        }
                    }
                    // A node that this packet empties was backlogged until the packet left.
                    run.by_leaf[flow as usize] += 1;
                    check_all(run, charged)?;
                    run.by_leaf[flow as usize] -= 1;
                    check_all(run, charged)?;
                }
                Err(time) => {
                    prop_assert_eq!(time, None, "nothing is shaped");
                    break;
                }
            }
        }
        Ok(())
    };
    for step in steps {
        match step {
            Step::Offer { leaf, rank, size, after_ns, .. } => {
                run.now += 1_000 * after_ns;
                let (leaf, size) = (leaf.index(ways.len()), size.saturating_mul(scale));
                for node in &ways[leaf] {
                    let one = &mut charged[*node];
                    one.note_arrival(size.into(), run.now, charge);
                    one.waiting += 1;
                    if charge.is_arrival() {
                        one.finish(nodes[*node].0.weight, size.into(), run.now);
                    }
                }
                run.offer(leaf as u32, *rank, size, 0)?;
            }
            Step::Ask { times, after_ns } => {
                run.now += 1_000 * after_ns;
                asks(&mut run, &mut charged, *times)?;
            }
        }
    }
    asks(&mut run, &mut charged, u32::MAX)
}

/// A second implementation of the rules, without orders of entries: each pop searches for the next child.
enum Form {
    Leaf { in_order: bool, packets: Vec<(u32, u64, u32)> },
    Inner { kind: Kind, children: Vec<Child>, last: (u128, usize) },
}

struct Child {
    form: Form,
    weight: (u32, u32),
    is_ready: bool,
    tag: u128,
    deficit: i128,
}

impl Form {
    fn new(spec: &Spec) -> Self {
        match &spec.below {
            Below::Leaf(leaf) => Self::Leaf { in_order: matches!(leaf, Leaf::Fifo), packets: Vec::new() },
            Below::Inner(kind, children) => {
                let child = |spec: &Spec| {
                    let (form, weight) = (Self::new(spec), spec.weight);
                    Child { form, weight, is_ready: false, tag: 0, deficit: 0 }
                };
                Self::Inner { kind: *kind, children: children.iter().map(child).collect(), last: (0, 0) }
            }
        }
    }

    fn holds(&self) -> bool {
        match self {
            Self::Leaf { packets, .. } => !packets.is_empty(),
            Self::Inner { children, .. } => children.iter().any(|child| child.is_ready),
        }
    }

    /// Pushes a packet into leaf number `leaf` of those below; otherwise returns the number of leaves.
    fn push(&mut self, leaf: usize, packet: (u32, u64, u32), now: u64) -> Result<(), usize> {
        match self {
            Self::Leaf { packets, .. } if leaf == 0 => packets.push(packet),
            Self::Leaf { .. } => return Err(1),
            Self::Inner { kind, children, last } => {
                let mut before = 0;
                let pushed =
                    children.iter_mut().position(|child| match child.form.push(leaf - before.min(leaf), packet, now) {
                        Ok(()) if leaf >= before => true,
                        Ok(()) => unreachable!("an earlier child has that leaf"),
                        Err(leaves) => {
                            before += leaves;
                            false
                        }
                    });
                let Some(at) = pushed else { return Err(before) };
                let child = &mut children[at];
                if !std::mem::replace(&mut child.is_ready, true) {
                    let floor = match kind {
                        Kind::Strict => at as u128,
                        Kind::Stfq => last.0,
                        Kind::Turns | Kind::Drr(_) => last.0 + u128::from(at < last.1),
                        Kind::WallClock => u128::from(now) * 2_520,
                    };
                    if floor > child.tag || child.deficit == 0 {
                        child.deficit = child.quantum(*kind);
                    }
                    child.tag = child.tag.max(floor);
                }
            }
        }
        Ok(())
    }

    fn pop(&mut self) -> Option<u64> {
        self.take().map(|(id, _)| id)
    }

    fn take(&mut self) -> Option<(u64, u32)> {
        match self {
            Self::Leaf { in_order, packets } => {
                let key = |(rank, id, _): &(u32, u64, u32)| (if *in_order { 0 } else { *rank }, *id);
                let first = packets.iter().enumerate().min_by_key(|(_, packet)| key(packet))?.0;
                let (_, id, size) = packets.remove(first);
                Some((id, size))
            }
            Self::Inner { kind, children, last } => {
                let ready = children.iter().enumerate().filter(|(_, child)| child.is_ready);
                let (at, _) = ready.min_by_key(|(at, child)| (child.tag, *at))?;
                let child = &mut children[at];
                let (id, size) = child.form.take()?;
                *last = (child.tag, at);
                let per_byte = 2_520 / u128::from(child.weight.0);
                match kind {
                    Kind::Strict => {}
                    Kind::Turns => child.tag += 1,
                    Kind::Stfq => child.tag += u128::from(size) * per_byte,
                    Kind::WallClock => child.tag += u128::from(size) * 800 * per_byte,
                    Kind::Drr(_) => {
                        child.deficit -= i128::from(size);
                        while child.deficit <= 0 {
                            child.deficit += child.quantum(*kind);
                            child.tag += 1;
                        }
                    }
                }
                child.is_ready = child.form.holds();
                Some((id, size))
            }
        }
    }
}

impl Child {
    fn quantum(&self, kind: Kind) -> i128 {
        let Kind::Drr(quantum) = kind else { return 1 };
        i128::from(quantum) * i128::from(self.weight.0)
    }
}

/// The same tree with weights that divide 2520.
fn with_small_weights(spec: &Spec) -> Spec {
    let below = match &spec.below {
        Below::Leaf(leaf) => Below::Leaf(*leaf),
        Below::Inner(kind, children) => Below::Inner(*kind, children.iter().map(with_small_weights).collect()),
    };
    Spec { weight: (1 + spec.weight.0 % 10, 1), below, ..*spec }
}

#[test]
fn random_trees_that_charge_what_leaves_agree_with_the_second_form_of_the_rules() {
    check(&(trees(vec![Leaf::Fifo, Leaf::Pifo], false), steps(), starts()), |(spec, steps, start)| {
        let spec = with_small_weights(&spec);
        let (mut tree, mut form, mut now) = (spec.tree(false, Charge::Departure), Form::new(&spec), start);
        let leaves = spec.ways().len();
        for (id, step) in (0..).zip(&steps) {
            match step {
                Step::Offer { leaf, rank, size, after_ns, .. } => {
                    now += 1_000 * after_ns;
                    let flow = leaf.index(leaves);
                    let (rank_of, arrival) = (Rank::from(*rank), Time::from_ps(now));
                    let packet = Packet { id, flow: flow as u32, size: *size, rank: rank_of, arrival };
                    prop_assert!(tree.enqueue(packet, arrival).is_admitted());
                    prop_assert_eq!(form.push(flow, (*rank, id, *size), now), Ok(()));
                }
                Step::Ask { times, after_ns } => {
                    now += 1_000 * after_ns;
                    for _ in 0..*times {
                        let sent = match tree.dequeue(Time::from_ps(now)) {
                            Dequeued::Packet { packet, .. } => Some(packet.id),
                            _ => None,
                        };
                        prop_assert_eq!(sent, form.pop());
                    }
                }
            }
        }
        Ok(())
    });
}

/// The PIFO tree of the papers, with every index of a node in one list and ranks that never run out.
enum Indexed {
    Leaf {
        in_order: bool,
        packets: Vec<(u32, u64, u32)>,
    },
    Inner {
        kind: Kind,
        children: Vec<(Indexed, u128, Rule)>,
        /// Rank, number of the arrival, and child.
        indices: Vec<(u128, u64, usize)>,
        /// The virtual time (stfq), the first rank whose turn is in the future (drr), the child whose turn it is (rr).
        clock: u128,
        /// The largest distance of a tag to the lowest rank, or of a round to 0 (drr), in units of the tree or finer.
        widest: u128,
    },
}

/// A child's finish tag (stfq, wfq), round (drr), or next rank (rr), and its deficit.
struct Rule {
    tag: u128,
    deficit: u128,
}

/// Ranks are in 1/2520, a multiple of every weight.
const GRID: u128 = 2_520;

impl Indexed {
    fn new(spec: &Spec) -> Self {
        match &spec.below {
            Below::Leaf(leaf) => Self::Leaf { in_order: matches!(leaf, Leaf::Fifo), packets: Vec::new() },
            Below::Inner(kind, children) => Self::Inner {
                kind: *kind,
                children: (0..)
                    .zip(children)
                    .map(|(at, child)| {
                        let tag = if *kind == Kind::Turns { at } else { 0 };
                        (Self::new(child), child.weight.0.into(), Rule { tag, deficit: 0 })
                    })
                    .collect(),
                indices: Vec::new(),
                clock: 0,
                widest: 0,
            },
        }
    }

    /// Pushes a packet (rank, id, size) into leaf number `leaf` of those below; otherwise returns the number of leaves.
    fn push(&mut self, leaf: usize, packet: (u32, u64, u32), now: u64) -> Result<(), usize> {
        let Self::Inner { kind, children, indices, clock, widest } = self else {
            let Self::Leaf { packets, .. } = self else { unreachable!() };
            packets.extend((leaf == 0).then_some(packet));
            return if leaf == 0 { Ok(()) } else { Err(1) };
        };
        let mut before = 0;
        let mut at = None;
        for (number, (child, ..)) in children.iter_mut().enumerate() {
            match child.push(leaf - before, packet, now) {
                Ok(()) => {
                    at = Some(number);
                    break;
                }
                Err(leaves) => before += leaves,
            }
        }
        let Some(at) = at else { return Err(before) };
        let (count, size) = (children.len() as u128, u128::from(packet.2));
        let is_idle = indices.iter().all(|(.., child)| *child != at);
        let (_, weight, Rule { tag, deficit }) = &mut children[at];
        let rank = match kind {
            Kind::Strict => at as u128,
            Kind::Turns => {
                *tag += count;
                *tag - count
            }
            Kind::Stfq | Kind::WallClock => {
                let (floor, byte) = if *kind == Kind::Stfq { (*clock, 1) } else { (u128::from(now) * GRID, 800) };
                let rank = floor.max(*tag);
                *tag = rank + size * byte * GRID / *weight;
                let lowest = indices.iter().map(|(rank, ..)| *rank).min().unwrap_or(floor).min(floor);
                *widest = (*widest).max(*tag - lowest);
                rank
            }
            Kind::Drr(quantum) => {
                let quantum = u128::from(*quantum) * *weight;
                if is_idle {
                    *tag = *clock / count + u128::from(*clock % count > at as u128);
                    *deficit = quantum;
                }
                let more = size.saturating_sub(*deficit).div_ceil(quantum);
                *tag += more;
                *deficit = *deficit + more * quantum - size;
                let rank = *tag * count + at as u128;
                *widest = (*widest).max(rank);
                rank
            }
        };
        indices.push((rank, packet.1, at));
        Ok(())
    }

    fn pop(&mut self) -> Option<u64> {
        match self {
            Self::Leaf { in_order, packets } => {
                let key = |(rank, id, _): &(u32, u64, u32)| (if *in_order { 0 } else { *rank }, *id);
                let first = (0..packets.len()).min_by_key(|at| key(&packets[*at]))?;
                Some(packets.remove(first).1)
            }
            Self::Inner { kind, children, indices, clock, .. } => {
                let first = (0..indices.len()).min_by_key(|at| indices[*at])?;
                let (rank, _, at) = indices.remove(first);
                match kind {
                    Kind::Strict | Kind::WallClock => {}
                    Kind::Stfq => *clock = rank.max(*clock),
                    Kind::Drr(_) => *clock = (rank + 1).max(*clock),
                    Kind::Turns => {
                        let count = children.len();
                        let turn = *clock as usize;
                        // Every child that the turn skips.
                        for skipped in (0..count).map(|step| (turn + step) % count).take_while(|child| *child != at) {
                            children[skipped].2.tag += count as u128;
                        }
                        *clock = ((at + 1) % count) as u128;
                    }
                }
                children[at].0.pop()
            }
        }
    }

    /// Whether the tree may run out of ranks at some node.
    fn may_run_out(&self) -> bool {
        let Self::Inner { kind, children, widest, .. } = self else { return false };
        // Ranks of wfq are in at most 1/256, where that is exact.
        let unit = if *kind == Kind::WallClock { GRID / 256 } else { 1 };
        *widest / unit >= 1 << 61 || children.iter().any(|(child, ..)| child.may_run_out())
    }
}

#[test]
fn with_arrivals_charged_trees_pop_as_the_plain_form_over_the_whole_range_of_time_and_virtual_time_or_say_so() {
    // Late starts, waits of up to 53 days, and backlogs of up to 2^47 bytes before the first step.
    let waits = vec((any::<prop::sample::Index>(), 0u32..62), 0..6);
    let heavy = prop_oneof![15 => Just(0u64), 1 => 0u64..pifolab_testkit::steps(40_000, 100)];
    let drawn = (trees(vec![Leaf::Fifo, Leaf::Pifo], false), steps(), starts(), waits, heavy);
    check(&drawn, |(spec, mut steps, start, waits, heavy)| {
        let spec = with_small_weights(&spec);
        let (mut tree, mut form, mut now) = (spec.tree(false, Charge::Arrival), Indexed::new(&spec), start);
        let leaves = spec.ways().len();
        let packet = |id, flow: usize, rank: u32, size, now| Packet {
            id,
            flow: flow as u32,
            size,
            rank: Rank::from(rank),
            arrival: Time::from_ps(now),
        };
        let both = |tree: &mut Tree, form: &mut Indexed, id: u64, flow: usize, rank: u32, size: u32, now: u64| {
            prop_assert!(tree.enqueue(packet(id, flow, rank, size, now), Time::from_ps(now)).is_admitted());
            prop_assert_eq!(form.push(flow, (rank, id, size), now), Ok(()));
            Ok(())
        };
        let pop = |tree: &mut Tree, form: &mut Indexed, now: u64| {
            let sent = match tree.dequeue(Time::from_ps(now)) {
                Dequeued::Packet { packet, .. } => Some(packet.id),
                _ => None,
            };
            let has_run_out = tree.kept().has_run_out;
            prop_assert!(!has_run_out || form.may_run_out(), "ranks ran out too early");
            prop_assert!(has_run_out || sent == form.pop());
            Ok(has_run_out)
        };
        for id in 0..heavy {
            both(&mut tree, &mut form, id, (id / 2) as usize % leaves, 0, u32::MAX, now)?;
            if id % 2 == 1 && (pop(&mut tree, &mut form, now)? || pop(&mut tree, &mut form, now)?) {
                return Ok(());
            }
        }
        let extra: BTreeMap<usize, u32> = waits.iter().map(|(at, bits)| (at.index(steps.len()), *bits)).collect();
        for (at, step) in steps.iter_mut().enumerate() {
            let wait = extra.get(&at).map_or(0, |bits| (1 << bits) - 1);
            let after = |after_ns: u64| (1_000 * after_ns).saturating_add(wait);
            match step {
                Step::Offer { leaf, rank, size, after_ns, .. } => {
                    now = now.saturating_add(after(*after_ns)).min(u64::MAX - (1 << 32));
                    both(&mut tree, &mut form, heavy + at as u64, leaf.index(leaves), *rank, *size, now)?;
                }
                Step::Ask { times, after_ns } => {
                    now = now.saturating_add(after(*after_ns)).min(u64::MAX - (1 << 32));
                    for _ in 0..*times {
                        if pop(&mut tree, &mut form, now)? {
                            return Ok(());
                        }
                    }
                }
            }
        }
        Ok(())
    });
}

#[test]
fn a_limit_holds_though_large_packets_overtake_the_small_ones_that_came_first() {
    let bucket = TokenBucket { rate: Rate::from_bps(100_000_000).unwrap(), burst: Bytes(1_500) };
    let leaf = || Node::leaf(super::pifo(1_000)).takes([0..=0]).shaped(bucket);
    let ends = [Charge::Departure, Charge::Arrival].map(|charge| {
        let mut tree = Node::inner(Discipline::Strict).child(leaf()).charge(charge).build().unwrap();
        let small = (0..40).map(|id| (id, 100, 64));
        for (id, rank, size) in small.chain((40..80).map(|id| (id, 1, 1_500))) {
            let packet = Packet { id, flow: 0, size, rank: Rank::from(rank), arrival: Time::ZERO };
            assert!(tree.enqueue(packet, Time::ZERO).is_admitted());
        }
        let (mut now, mut bytes) = (Time::ZERO, 0);
        while bytes < 60_000 {
            match tree.dequeue(now) {
                Dequeued::Packet { packet, .. } => bytes += packet.size,
                Dequeued::NotBefore(time) => now = time,
                other => panic!("{other:?}"),
            }
        }
        now
    });
    // 60,000 bytes at 100 Mb/s take 4.8 ms, without the time of the burst and of the last packet.
    assert_eq!(ends[0], Time::from_ns(4_800_000 - 2 * 120_000));
    assert!(ends[1] < Time::from_ns(100_000), "the model of the papers charges what arrives: {}", ends[1]);
}
