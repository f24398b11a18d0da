//! Uses every scheduler of the registry to order the children of a node: no packet is lost on any path, whatever leaves
//! refuse, push out, drop or hold back.

use pifolab_params::{Place, Table, Value};
use pifolab_registry::conformance::{self, Answer};
use pifolab_registry::{SCHEDULERS, find_scheduler};
use pifolab_sched::params::Args;
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Inspect, InspectExt, Packet, Scheduler};
use pifolab_testkit::suite::{Property, check_contract};
use pifolab_testkit::{Case, Op, Settings};
use pifolab_units::{Rank, Time};
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::collections::BTreeMap;

struct Draws(u64);

impl Draws {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

fn table(name: &str, keys: Vec<(&str, Value)>) -> Table {
    let mut table = Table::of("child", Place::File, "name", Value::Text(name.to_owned()));
    for (key, value) in keys {
        table.put(key, Place::File, value);
    }
    table
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// A scheduler with little room, so that it refuses, pushes out and drops. Its row has the names of its capacities.
fn small(name: &str) -> Table {
    let integers =
        |keys: &[(&'static str, i128)]| keys.iter().map(|(key, value)| (*key, Value::Integer(*value))).collect();
    let mut keys: Vec<(&str, Value)> = match name {
        "aifo" => integers(&[("window", 10)]),
        "rifo" => integers(&[("tracking_range_packets", 10)]),
        "drr" => integers(&[("flow_packets", 6), ("quantum_bytes", 300)]),
        "scrr" => integers(&[("flow_packets", 4)]),
        "fq-codel" => integers(&[("target_ns", 200), ("interval_ns", 500), ("quantum_bytes", 500), ("drop_batch", 3)]),
        "managed" => {
            let mut keys: Vec<_> = integers(&[("target_ns", 200), ("interval_ns", 400)]);
            keys.push(("scheduler", Value::Table(small("pifo"))));
            keys
        }
        "tree" => {
            let mut takes = small("pifo");
            takes.put("takes", Place::File, text("0-1"));
            let mut rest = small("drr");
            rest.put("takes", Place::File, text("rest"));
            vec![("discipline", text("rr")), ("child", Value::Tables(vec![takes, rest]))]
        }
        "p4" => {
            let compiled = concat!(env!("CARGO_MANIFEST_DIR"), "/../../dataplane/p4/compiled/packs_20.json.gz");
            vec![("program", text(compiled))]
        }
        _ => Vec::new(),
    };
    let row = find_scheduler(name).expect("a name of the registry");
    let room = [("capacity_packets", 12), ("queues", 3), ("queue_capacity_packets", 4)];
    // The queues of a program are in its file.
    let has = |key: &str| row.files.is_empty() && row.info.params.iter().any(|param| param.name == key);
    keys.extend(integers(&room).into_iter().filter(|(key, _)| has(key)));
    table(name, keys)
}

const LEAVES: [&str; 8] = ["fifo", "pifo", "pieo", "packs", "aifo", "fq-codel", "managed", "scrr"];

fn names() -> impl Iterator<Item = &'static str> {
    SCHEDULERS.iter().map(|entry| entry.info.name)
}

/// A node with two or three children, ordered by `order` or by the default.
fn node(draws: &mut Draws, depth: u32, order: Option<&str>, leaves: &mut i128) -> Table {
    let mut children = Vec::new();
    for _ in 0..2 + draws.below(2) {
        children.push(if depth > 1 && draws.below(3) == 0 {
            let all: Vec<_> = names().collect();
            let order = if draws.below(2) == 0 { Some(draws.pick(&all)) } else { None };
            node(draws, depth - 1, order, leaves)
        } else {
            let mut leaf = small(draws.pick(&LEAVES));
            leaf.put("takes", Place::File, Value::Integer(*leaves));
            *leaves += 1;
            leaf
        });
    }
    let discipline = draws.pick(&["strict", "rr", "stfq", "drr", "rank"]);
    let mut keys = vec![("discipline", text(discipline)), ("child", Value::Tables(children))];
    if discipline == "rank" {
        keys.push(("rank", Value::Table(table("carried", Vec::new()))));
    }
    if let Some(order) = order {
        keys.push(("order", Value::Table(small(order))));
    }
    table("tree", keys)
}

fn build(root: &Table) -> Box<dyn Scheduler + Send> {
    let mut args = Args::new("tree");
    for key in ["discipline", "child", "rank", "order", "charge"] {
        if let Some(value) = root.get(key) {
            args.set(key, value.clone());
        }
    }
    find_scheduler("tree").unwrap().build(args).unwrap_or_else(|error| panic!("{error}"))
}

/// The packets held, by id: size and queue.
type Held = BTreeMap<u64, (u32, u32)>;

fn account(tree: &dyn Scheduler, held: &Held) {
    assert_eq!(tree.len(), held.len());
    assert_eq!(tree.backlog().0, held.values().map(|(size, _)| u64::from(*size)).sum::<u64>());
    for queue in 0..tree.queues() {
        let here = held.values().filter(|(_, of)| *of as usize == queue).count();
        assert_eq!(tree.queue_len(queue), here, "queue {queue}");
    }
}

#[test]
fn nothing_is_lost_in_random_trees_whatever_scheduler_orders_their_roots() {
    let mut told = [0; 6];
    for (seed, name) in (0..).zip(names()) {
        for round in 0..pifolab_testkit::steps(12, 1) {
            let (mut draws, mut leaves) = (Draws(1_000 * seed + round), 0);
            let root = node(&mut draws, 3, Some(name), &mut leaves);
            let mut tree = build(&root);
            let (mut held, mut now) = (Held::new(), 0);
            let steps = pifolab_testkit::steps(1_500, 60);
            for id in 0..2 * steps {
                now += draws.below(3) * draws.below(60);
                let time = Time::from_ns(now);
                if id < steps && draws.below(20) < 11 {
                    let packet = Packet {
                        id,
                        flow: draws.below(leaves as u64 + 1) as u32,
                        size: 40 + draws.below(1_460) as u32,
                        rank: Rank::from(draws.below(60) as u32),
                        arrival: time,
                    };
                    let (size, eligible) = (packet.size, Time::from_ns(now + draws.below(2) * draws.below(300)));
                    match tree.enqueue_eligible(packet, eligible, time) {
                        Enqueued::Admitted { queue, .. } => {
                            held.insert(id, (size, queue));
                        }
                        Enqueued::Evicted { queue, victims, .. } => {
                            told[0] += 1;
                            for victim in victims {
                                assert!(held.remove(&victim.id).is_some(), "{name}: {victim:?} was not held");
                            }
                            held.insert(id, (size, queue));
                        }
                        Enqueued::Dropped { packet, .. } => {
                            told[1] += 1;
                            assert_eq!((packet.id, packet.size), (id, size));
                        }
                    }
                } else {
                    match tree.dequeue(time) {
                        Dequeued::Packet { packet, queue } => {
                            told[2] += 1;
                            assert_eq!(held.remove(&packet.id), Some((packet.size, queue)), "{name}: {packet:?}");
                        }
                        Dequeued::Dropped { packet, reason } => {
                            told[if reason == DropReason::PushedOut { 3 } else { 4 }] += 1;
                            assert!(held.remove(&packet.id).is_some(), "{name}: {packet:?} was not held");
                        }
                        Dequeued::NotBefore(until) => {
                            told[5] += 1;
                            assert!(until > time && !held.is_empty(), "{name}: not before {until} at {time}");
                        }
                        Dequeued::Empty => assert!(held.is_empty(), "{name}: {held:?}"),
                    }
                }
                account(&*tree, &held);
            }
            // The remaining packets leave at the times that the tree returns.
            let mut time = Time::from_ns(now);
            while !held.is_empty() {
                match tree.dequeue(time) {
                    Dequeued::Packet { packet, .. } | Dequeued::Dropped { packet, .. } => {
                        assert!(held.remove(&packet.id).is_some());
                    }
                    Dequeued::NotBefore(until) => {
                        assert!(until > time);
                        time = until;
                    }
                    Dequeued::Empty => panic!("{name}: {held:?}"),
                }
                account(&*tree, &held);
            }
            assert_eq!(tree.dequeue(time), Dequeued::Empty);
        }
    }
    assert!(cfg!(miri) || told.iter().all(|count| *count > 50), "{told:?}");
}

#[test]
fn trees_keep_the_contract_whatever_scheduler_orders_their_roots_and_whichever_packet_is_charged() {
    let orders = names().map(Some).chain([None]);
    for (order, charge) in orders.flat_map(|order| ["departure", "arrival"].map(|charge| (order, charge))) {
        let name = order.unwrap_or("exact");
        let leaf = |name: &str, takes: Value| {
            let mut leaf = small(name);
            leaf.put("takes", Place::File, takes);
            leaf
        };
        let children = vec![
            leaf("fifo", Value::Integer(0)),
            leaf("pifo", Value::Integer(1)),
            leaf("packs", Value::Integer(2)),
            leaf("managed", text("rest")),
        ];
        let keys = vec![("discipline", text("stfq")), ("child", Value::Tables(children)), ("charge", text(charge))];
        let mut root = table("tree", keys);
        if let Some(order) = order {
            root.put("order", Place::File, Value::Table(small(order)));
        }
        let build = || -> Box<dyn Scheduler> { build(&root) };
        let properties = [Property::Evicts, Property::EvictsAnyRank, Property::GivesUp];
        let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let check = |Case { mut ops, .. }: Case| {
            // Eligibility of single packets is not guaranteed if indices are held back.
            for op in &mut ops {
                if let Op::Enqueue(offer, _) = op {
                    offer.eligible_ns = 0;
                }
            }
            check_contract(name, &properties, &build, &ops).map_err(TestCaseError::fail)
        };
        let cases = pifolab_testkit::cases(128);
        if let Err(error) = TestRunner::new_with_rng(cases, random).run(&Case::strategy(|_| Settings::default()), check)
        {
            panic!("{name}: {error}");
        }
    }
}

#[test]
fn an_order_is_seen_by_what_it_keeps_and_refused_with_its_path() {
    let kept = |order: &str| {
        let mut leaf = small("fifo");
        leaf.put("takes", Place::File, text("rest"));
        let keys = vec![("child", Value::Tables(vec![leaf])), ("order", Value::Table(small(order)))];
        build(&table("tree", keys)).kept().bytes
    };
    assert!(kept("scrr") > kept("pieo") + 1_024, "a thousand flows are kept for SCRR");
    let error = |order: Table| {
        let mut args = Args::new("tree");
        args.set("child", Value::Tables(vec![small("fifo")]));
        args.set("order", Value::Table(order));
        find_scheduler("tree").unwrap().build(args).err().expect("it cannot be built").to_string()
    };
    assert_eq!(
        error(table("pief", Vec::new())),
        "tree.order: name = \"pief\": unknown scheduler \"pief\"; did you mean pieo?"
    );
    let zero = table("pieo", vec![("capacity_packets", Value::Integer(0))]);
    assert!(error(zero).starts_with("tree.order: capacity_packets = 0: "), "it names the key");
    let marks = table("managed", vec![("ecn", Value::Flag(true)), ("scheduler", Value::Table(small("fifo")))]);
    assert_eq!(
        error(marks),
        "tree: order = { ... }: expected a scheduler that needs to know nothing of packets but child, rank and size, but this one \
         needs ecn"
    );
    assert!(matches!(build(&small("tree")).capacity(), Capacity::Packets(24)));
}

/// The numbers of a vector's flows for a scheduler with this many buckets: flows of one bucket share a number, and
/// numbers follow the order of the buckets.
fn numbers_of(calls: &[(conformance::Op, Answer)], buckets: u64) -> BTreeMap<u32, u32> {
    let flows = calls.iter().filter_map(|(op, _)| match op {
        conformance::Op::Enqueue { flow, .. } => Some(*flow),
        conformance::Op::Dequeue { .. } => None,
    });
    let by_bucket: BTreeMap<u64, Vec<u32>> = flows.fold(BTreeMap::new(), |mut all, flow| {
        all.entry(u64::from(flow) % buckets).or_default().push(flow);
        all
    });
    (0..)
        .zip(by_bucket.into_values())
        .flat_map(|(number, flows)| flows.into_iter().map(move |flow| (flow, number)))
        .collect()
}

#[test]
fn fair_queueing_of_children_that_are_flows_gives_the_vectors_of_fair_queueing_of_flows() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let (mut vectors, mut told) = (0, [0; 3]);
    for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if !["drr_", "scrr_", "fq-codel_"].iter().any(|start| name.starts_with(start)) {
            continue;
        }
        vectors += 1;
        let text = std::fs::read(&file).unwrap();
        let config: serde_json::Value = serde_json::from_slice::<serde_json::Value>(&text).unwrap()["config"].clone();
        let calls = conformance::read(&name, &text).unwrap();
        let numbers = numbers_of(&calls.steps, config["buckets"].as_u64().unwrap_or(1_024));
        let leaves = numbers.values().max().unwrap() + 1;
        let leaf = |takes| {
            let keys = vec![("takes", Value::Integer(takes)), ("capacity_packets", Value::Integer(100_000))];
            table("fifo", keys)
        };
        let keys = config.as_object().unwrap().iter().map(|(key, value)| match value {
            serde_json::Value::Number(number) => (key.as_str(), Value::Integer(number.as_i64().unwrap().into())),
            other => panic!("{name}: {key} = {other}"),
        });
        let order = table(calls.entry.info.name, keys.collect());
        let children = (0..leaves).map(|number| leaf(number.into())).collect();
        let root = table("tree", vec![("child", Value::Tables(children)), ("order", Value::Table(order))]);
        let (mut tree, mut now) = (build(&root), Time::ZERO);
        for (at, (op, expected)) in calls.steps.iter().enumerate() {
            now = op.now().unwrap_or(now);
            let answer = match *op {
                conformance::Op::Enqueue { id, rank, flow, bytes, .. } => {
                    match tree.enqueue(Packet { id, flow: numbers[&flow], size: bytes, rank, arrival: now }, now) {
                        // The queue is that of the leaf.
                        Enqueued::Admitted { .. } => Answer::Admitted { queue: 0, evicted: Vec::new() },
                        Enqueued::Evicted { victims, .. } => {
                            told[0] += 1;
                            Answer::Admitted { queue: 0, evicted: victims.iter().map(|packet| packet.id).collect() }
                        }
                        Enqueued::Dropped { reason, .. } => {
                            told[1] += 1;
                            Answer::Dropped(reason)
                        }
                    }
                }
                conformance::Op::Dequeue { .. } => match tree.dequeue(now) {
                    Dequeued::Packet { packet, .. } => {
                        told[2] += 1;
                        Answer::Sent(Some(packet.id))
                    }
                    Dequeued::Dropped { packet, reason } => Answer::GivenUp(packet.id, reason),
                    Dequeued::Empty => Answer::Sent(None),
                    Dequeued::NotBefore(time) => Answer::NotBefore(time),
                },
            };
            assert_eq!(answer, *expected, "{name}: call {at}");
        }
    }
    assert!(vectors > 5 && told.iter().all(|count| *count > 5), "{vectors} vectors: {told:?}");
}
