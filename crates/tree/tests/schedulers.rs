//! Nodes of trees whose children a scheduler orders. Decisions equal those of other orders where both exist. Other
//! tests cover indices that a scheduler refuses, pushes out, drops or holds back.

use pifolab_aqm::{CodelPolicy, FqCodel, FqCodelParams, Managed};
use pifolab_sched::schedulers::{
    Drr, DrrParams, ExpPifo, ExpPifoParams, Fifo, FifoParams, Packs, PacksParams, Pieo, PieoParams, Pifo, PifoParams,
    Scrr, ScrrParams, SpPifo, SpPifoParams,
};
use pifolab_sched::{
    Capacity, Decider, Dequeued, DropReason, Enqueued, InspectExt, Packet, Queued, Ranked, Scheduler, Victims, ranks,
};
use pifolab_testkit::Double;
use pifolab_tree::{Charge, Discipline, Node, TokenBucket, Tree};
use pifolab_units::{Bytes, Rank, Rate, Span, Time};

struct Draws(u64);

impl Draws {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

type Boxed = Box<dyn Scheduler + Send>;

fn packet(id: u64, flow: u32, rank: u32, size: u32) -> Packet {
    Packet { id, flow, size, rank: Rank::from(rank), arrival: Time::ZERO }
}

fn ns(ns: u64) -> Time {
    Time::from_ns(ns)
}

fn pifo(capacity: Capacity) -> Pifo {
    Pifo::new(PifoParams { capacity, ..PifoParams::packets(1) }).unwrap()
}

fn fifo(packets: u32) -> Fifo {
    Fifo::new(FifoParams { capacity: Capacity::Packets(packets) }).unwrap()
}

fn pieo() -> Pieo {
    Pieo::new(PieoParams { capacity: Capacity::Unlimited }).unwrap()
}

fn codel(scheduler: impl Scheduler + Send + 'static) -> Boxed {
    Box::new(Managed::new(CodelPolicy::new(Span::from_ns(40), Span::from_ns(100), 1), scheduler))
}

fn fq_codel(capacity_packets: u32, drop_batch: u32) -> FqCodel {
    FqCodel::new(FqCodelParams {
        capacity_packets,
        quantum_bytes: 1_514,
        buckets: 8,
        target: Span::from_ns(1 << 40),
        interval: Span::from_ns(1 << 40),
        drop_batch,
        ecn: false,
    })
    .unwrap()
}

/// Creates a discipline for each tree.
type Make = fn() -> Discipline;

const DISCIPLINES: [Make; 5] = [
    || Discipline::Strict,
    || Discipline::RoundRobin,
    || Discipline::Stfq,
    || Discipline::Drr { quantum_bytes: 500 },
    || Discipline::Ranked(Box::new(ranks::Carried)),
];

/// Offers packets to both trees in random order, and requests as many. A dropped packet is followed by another request.
fn decide_alike(one: &mut Tree, other: &mut Tree, flows: u64, seed: u64) -> [usize; 4] {
    let (mut draws, mut told) = (Draws(seed), [0; 4]);
    let steps = pifolab_testkit::steps(4_000, 150);
    for step in 0..2 * steps {
        let now = ns(step * 10);
        if step < steps && draws.below(9) < 5 {
            let (flow, rank, size) = (draws.below(flows), draws.below(50), 40 + draws.below(1_460));
            let offer = || packet(step, flow as u32, rank as u32, size as u32);
            let outcome = one.enqueue(offer(), now);
            match &outcome {
                Enqueued::Admitted { .. } => {}
                Enqueued::Evicted { .. } => told[0] += 1,
                Enqueued::Dropped { .. } => told[1] += 1,
            }
            assert_eq!(other.enqueue(offer(), now), outcome, "step {step}");
        } else {
            loop {
                let outcome = one.dequeue(now);
                assert_eq!(other.dequeue(now), outcome, "step {step}");
                match outcome {
                    Dequeued::Dropped { .. } => told[2] += 1,
                    Dequeued::Packet { .. } => break told[3] += 1,
                    _ => break,
                }
            }
        }
        assert_eq!((one.len(), one.backlog()), (other.len(), other.backlog()), "step {step}");
    }
    assert_eq!(one.len(), 0);
    told
}

#[test]
fn a_pifo_without_bound_orders_as_the_exact_order_does_also_what_leaves_refuse_push_out_and_give_up() {
    let mut told = [0; 4];
    for (seed, discipline) in (1..).zip(DISCIPLINES) {
        let node = || {
            Node::inner(discipline())
                .child(Node::leaf(fifo(3)).takes([0..=0]).priority(2))
                .child(Node::leaf(pifo(Capacity::Packets(4))).takes([1..=1]))
                .child(Node::leaf(codel(pifo(Capacity::Bytes(9_000)))).takes([2..=2]).priority(1))
                .child(Node::fifo().takes([3..=3]).priority(2))
        };
        let mut exact = node().charge(Charge::Arrival).build().unwrap();
        let order = Box::new(pifo(Capacity::Unlimited));
        let mut scheduled = node().ordered_by_scheduler(order).build().unwrap();
        let more = decide_alike(&mut exact, &mut scheduled, 4, seed);
        (0..4).for_each(|at| told[at] += more[at]);
    }
    assert!(cfg!(miri) || told.iter().all(|count| *count > 100), "{told:?}");
}

/// A decider as a scheduler, and in its parts.
fn both<D: Decider + Send + Clone + 'static>(
    make: impl Fn() -> Queued<D>,
) -> (Boxed, Box<dyn Decider + Send>, Vec<Capacity>) {
    let (decider, capacities) = make().into_parts();
    (Box::new(make()), Box::new(decider), capacities)
}

#[test]
fn a_scheduler_with_a_decider_orders_as_that_decider_does_where_no_leaf_refuses() {
    for discipline in DISCIPLINES {
        let orders = [
            both(|| <SpPifo>::new(SpPifoParams::uniform(4, 6)).unwrap()),
            both(|| <Packs>::new(PacksParams::uniform(4, 6, 20)).unwrap()),
            both(|| <ExpPifo>::new(ExpPifoParams::uniform(4, 6)).unwrap()),
        ];
        for (seed, (scheduler, decider, capacities)) in (1..).zip(orders) {
            let node = || {
                let below =
                    Node::inner(discipline()).child(Node::fifo().takes([0..=0])).child(Node::fifo().takes([1..=1]));
                Node::inner(discipline())
                    .child(below)
                    .child(Node::fifo().takes([2..=2]))
                    .child(Node::fifo().takes([3..=3]))
            };
            let mut decided = node().ordered_by(decider, capacities).build().unwrap();
            let mut scheduled = node().ordered_by_scheduler(scheduler).build().unwrap();
            let told = decide_alike(&mut decided, &mut scheduled, 4, seed);
            assert!(cfg!(miri) || told[1] > 10 && told[3] > 100, "{told:?}");
        }
    }
}

#[test]
fn a_node_with_one_child_decides_as_that_child_whatever_orders_it_without_dropping() {
    let leaves: [fn() -> Boxed; 6] = [
        || Box::new(fifo(5)),
        || Box::new(pifo(Capacity::Packets(5))),
        || Box::new(<Packs>::new(PacksParams::uniform(3, 3, 10)).unwrap()),
        || codel(fifo(9)),
        || Box::new(Pieo::new(PieoParams { capacity: Capacity::Packets(6) }).unwrap()),
        || Box::new(fq_codel(6, 3)),
    ];
    let orders: [fn() -> Boxed; 4] = [
        || Box::new(pifo(Capacity::Unlimited)),
        || {
            Box::new(
                Drr::new(DrrParams { capacity: Capacity::Unlimited, flow_packets: None, quantum_bytes: 9, buckets: 1 })
                    .unwrap(),
            )
        },
        || Box::new(Scrr::new(ScrrParams { capacity: Capacity::Unlimited, flow_packets: 5_000, buckets: 4 }).unwrap()),
        || Box::new(Node::inner(Discipline::Stfq).child(Node::fifo()).build().unwrap()),
    ];
    for (at, (leaf, order)) in leaves.iter().flat_map(|leaf| orders.map(|order| (leaf, order))).enumerate() {
        let (mut alone, mut draws, mut told) = (leaf(), Draws(3 + at as u64), [0; 5]);
        let mut tree: Tree = Node::inner(Discipline::RoundRobin)
            .child(Node::leaf(leaf()))
            .ordered_by_scheduler(order())
            .build()
            .unwrap();
        for step in 0..pifolab_testkit::steps(3_000, 100) {
            let now = ns(step * 10);
            if draws.below(9) < 5 {
                let (flow, rank, size) = (draws.below(3), draws.below(50), 40 + draws.below(1_460));
                let eligible = ns(step * 10 * draws.below(2) + draws.below(90));
                let offer = || packet(step, flow as u32, rank as u32, size as u32);
                let outcome = alone.enqueue_eligible(offer(), eligible, now);
                told[usize::from(!outcome.is_admitted())] += 1;
                assert_eq!(tree.enqueue_eligible(offer(), eligible, now), outcome, "{at}: step {step}");
            } else {
                let outcome = alone.dequeue(now);
                match outcome {
                    Dequeued::Packet { .. } => told[2] += 1,
                    Dequeued::Dropped { .. } => told[3] += 1,
                    Dequeued::NotBefore(_) | Dequeued::Empty => told[4] += 1,
                }
                assert_eq!(tree.dequeue(now), outcome, "{at}: step {step}");
            }
            assert_eq!((tree.len(), tree.backlog()), (alone.len(), alone.backlog()), "{at}: step {step}");
        }
        assert!(cfg!(miri) || told[0] > 100 && told[2] > 100, "{at}: {told:?}");
    }
}

/// Two unbounded first-in first-out leaves for the flows 0 and 1, below a node with priorities 0 and 1.
fn two(order: impl Scheduler + Send + 'static) -> Tree {
    let leaf = |flow| Node::fifo().takes([flow..=flow]).priority(flow as i64);
    Node::inner(Discipline::Strict).child(leaf(0)).child(leaf(1)).ordered_by_scheduler(Box::new(order)).build().unwrap()
}

fn sent(tree: &mut Tree, now: u64) -> Vec<u64> {
    let next = || match tree.dequeue(ns(now)) {
        Dequeued::Packet { packet, .. } => Some(packet.id),
        _ => None,
    };
    std::iter::from_fn(next).collect()
}

#[test]
fn the_packet_leaves_that_a_child_would_hand_out_next_where_its_index_is_pushed_out() {
    let mut tree = two(pifo(Capacity::Packets(3)));
    for (id, flow) in [(0, 1), (1, 1), (2, 1)] {
        assert!(tree.enqueue(packet(id, flow, 0, 100), Time::ZERO).is_admitted());
    }
    let outcome = tree.enqueue(packet(3, 1, 0, 100), Time::ZERO);
    assert_eq!(outcome, Enqueued::Dropped { packet: packet(3, 1, 0, 100), reason: DropReason::Full });
    // The index of the latest packet of flow 1 is removed, but the earliest packet leaves.
    let outcome = tree.enqueue(packet(4, 0, 0, 100), Time::ZERO);
    let victims = Victims::one(packet(0, 1, 0, 100));
    assert_eq!(outcome, Enqueued::Evicted { queue: 0, rank: Rank::ZERO, victims });
    assert_eq!((tree.len(), tree.backlog(), tree.queue_len(1)), (3, Bytes(300), 2));
    assert_eq!(sent(&mut tree, 0), [4, 1, 2]);
}

#[test]
fn the_packet_that_arrives_is_refused_if_it_is_the_one_that_leaves_for_the_index_that_it_pushed_out() {
    // Three flows in FQ-CoDel: an arrival of flow 0, which has the most bytes, pushes out its own first index.
    let leaf = Node::leaf(pifo(Capacity::Unlimited)).takes([0..=0]);
    let node = Node::inner(Discipline::Strict).child(leaf).child(Node::fifo().takes([1..=1]));
    let mut tree: Tree = node.ordered_by_scheduler(Box::new(fq_codel(3, 1))).build().unwrap();
    for (id, flow) in [(0, 0), (1, 0), (2, 1)] {
        assert!(tree.enqueue(packet(id, flow, 7, 100), Time::ZERO).is_admitted());
    }
    let first = packet(3, 0, 5, 100);
    assert_eq!(
        tree.enqueue(packet(3, 0, 5, 100), Time::ZERO),
        Enqueued::Dropped { packet: first, reason: DropReason::Full }
    );
    let victims = Victims::one(packet(0, 0, 7, 100));
    assert_eq!(
        tree.enqueue(packet(4, 0, 9, 100), Time::ZERO),
        Enqueued::Evicted { queue: 0, rank: Rank::from(9u32), victims }
    );
    assert_eq!((tree.len(), sent(&mut tree, 0)), (3, vec![1, 4, 2]));
}

#[test]
fn a_packet_leaves_for_an_index_that_is_given_up_for_the_same_reason() {
    let mut tree = two(codel(pifo(Capacity::Unlimited)));
    for id in 0..40 {
        assert!(tree.enqueue(packet(id, id as u32 % 2, 0, 1_000), Time::ZERO).is_admitted());
    }
    let (mut left, mut given_up) = (Vec::new(), Vec::new());
    for step in 1..60 {
        match tree.dequeue(ns(20 * step)) {
            Dequeued::Packet { packet, .. } => left.push(packet.id),
            Dequeued::Dropped { packet, reason } => {
                assert_eq!(reason, DropReason::Aqm);
                left.push(packet.id);
                given_up.push(packet.id);
            }
            other => assert_eq!(other, Dequeued::Empty),
        }
        assert_eq!(tree.len(), 40 - left.len());
    }
    assert!(left.iter().copied().eq((0..20).map(|at| 2 * at).chain((0..20).map(|at| 2 * at + 1))), "{left:?}");
    assert!(given_up.len() > 4, "{given_up:?}");
}

#[test]
fn nothing_is_given_up_for_a_child_that_holds_its_packets_back() {
    let node = Node::inner(Discipline::Strict).child(Node::leaf(Box::new(pieo()) as Boxed).takes([0..=0]));
    let node = node.child(Node::fifo().takes([1..=1]).priority(1));
    let mut tree: Tree = node.ordered_by_scheduler(Box::new(pifo(Capacity::Packets(2)))).build().unwrap();
    for id in 0..2 {
        assert!(tree.enqueue_eligible(packet(id, 0, 0, 100), ns(50), Time::ZERO).is_admitted());
    }
    assert_eq!(tree.dequeue(Time::ZERO), Dequeued::NotBefore(ns(50)));
    // Its indices have come up, so there is room for two others. The second of them yields to one of flow 0.
    for id in 2..4 {
        assert!(tree.enqueue(packet(id, 1, 0, 100), Time::ZERO).is_admitted());
    }
    let outcome = tree.enqueue_eligible(packet(4, 0, 0, 100), ns(60), Time::ZERO);
    assert_eq!(outcome, Enqueued::Evicted { queue: 0, rank: Rank::ZERO, victims: Victims::one(packet(2, 1, 0, 100)) });
    assert_eq!(sent(&mut tree, 10), [3]);
    assert_eq!((tree.dequeue(ns(10)), tree.len()), (Dequeued::NotBefore(ns(50)), 3));
    assert_eq!(sent(&mut tree, 50), [0, 1]);
    assert_eq!((sent(&mut tree, 60), tree.len()), (vec![4], 0));
}

#[test]
fn an_index_of_a_refused_packet_stays_for_the_next_packet_of_its_child_and_changes_nothing_else() {
    // A leaf that refuses ranks above 5 although it has room, and an order of three places.
    let refuses = |packet: &Packet| (packet.rank.get() > 5).then_some(DropReason::Admission);
    let picky: Boxed = Box::new(Double::new().refusing(refuses));
    let node = Node::inner(Discipline::RoundRobin).child(Node::leaf(picky).takes([0..=0]));
    let mut tree: Tree =
        node.child(Node::fifo().takes([1..=1])).ordered_by_scheduler(Box::new(fifo(3))).build().unwrap();
    for id in 0..9 {
        let outcome = tree.enqueue(packet(id, 0, 9, 100), Time::ZERO);
        assert_eq!(outcome, Enqueued::Dropped { packet: packet(id, 0, 9, 100), reason: DropReason::Admission });
        assert_eq!((tree.len(), tree.dequeue(Time::ZERO)), (0, Dequeued::Empty));
        // Two of three places remain while the void index exists. Further refusals do not add another.
        assert!(!tree.enqueue(packet(id, 0, 9, 100), Time::ZERO).is_admitted());
        assert!(!tree.enqueue(packet(id, 0, 9, 100), Time::ZERO).is_admitted());
        for flow in [1, 1, 0] {
            assert!(tree.enqueue(packet(100 + u64::from(flow), flow, 1, 100), Time::ZERO).is_admitted());
        }
        assert!(!tree.enqueue(packet(200, 1, 1, 100), Time::ZERO).is_admitted());
        assert_eq!(sent(&mut tree, 0), [100, 101, 101], "the index is older than those of the others");
    }
}

#[test]
fn pieo_holds_indices_back_and_the_tree_names_the_instant() {
    let mut tree = two(pieo());
    let offers = [(0, 0, 90), (1, 1, 40), (2, 0, 70)];
    for (id, flow, eligible) in offers {
        assert!(tree.enqueue_eligible(packet(id, flow, 0, 100), ns(eligible), Time::ZERO).is_admitted());
    }
    assert_eq!(tree.dequeue(ns(10)), Dequeued::NotBefore(ns(40)));
    assert_eq!(tree.not_before(), ns(40));
    // A packet that arrives meanwhile may leave earlier.
    assert!(tree.enqueue(packet(3, 1, 0, 100), ns(20)).is_admitted());
    assert_eq!((sent(&mut tree, 20), tree.dequeue(ns(20))), (vec![1], Dequeued::NotBefore(ns(40))));
    assert_eq!((sent(&mut tree, 40), tree.dequeue(ns(40))), (vec![3], Dequeued::NotBefore(ns(70))));
    assert_eq!((sent(&mut tree, 70), tree.dequeue(ns(70))), (vec![0], Dequeued::NotBefore(ns(90))));
    assert_eq!((sent(&mut tree, 90), tree.dequeue(ns(90))), (vec![2], Dequeued::Empty));
}

#[test]
fn a_node_whose_scheduler_holds_back_is_passed_over_until_then() {
    let held = Node::inner(Discipline::Strict).child(Node::fifo().takes([0..=0])).child(Node::fifo().takes([1..=1]));
    let shaped = Node::fifo()
        .takes([3..=3])
        .shaped(TokenBucket { rate: Rate::from_bps(8_000_000_000).unwrap(), burst: Bytes(1) });
    let mut tree: Tree = Node::inner(Discipline::Strict)
        .child(held.ordered_by_scheduler(Box::new(pieo())))
        .child(Node::fifo().takes([2..=2]).priority(1))
        .child(shaped.priority(2))
        .charge(Charge::Arrival)
        .build()
        .unwrap();
    for (id, flow, eligible) in [(0, 0, 300), (1, 1, 250), (2, 2, 0), (3, 3, 0)] {
        assert!(tree.enqueue_eligible(packet(id, flow, 0, 100), ns(eligible), Time::ZERO).is_admitted());
    }
    assert_eq!(sent(&mut tree, 0), [2]);
    // A byte takes a nanosecond, and one byte is in the bucket at the start.
    assert_eq!(tree.dequeue(ns(1)), Dequeued::NotBefore(ns(99)));
    assert_eq!((sent(&mut tree, 99), tree.dequeue(ns(99))), (vec![3], Dequeued::NotBefore(ns(250))));
    assert_eq!((sent(&mut tree, 250), tree.dequeue(ns(250))), (vec![1], Dequeued::NotBefore(ns(300))));
    assert_eq!((sent(&mut tree, 300), tree.len()), (vec![0], 0));
}

#[test]
fn void_indices_do_not_pile_up_in_a_scheduler_without_bound() {
    // A leaf of one place that is never served. Each packet pushes out the one before by a lower rank.
    let order = pifo(Capacity::Unlimited);
    let node = Node::inner(Discipline::Ranked(Box::new(ranks::Carried)));
    let node = node.child(Node::leaf(pifo(Capacity::Packets(1))).takes([0..=0])).child(Node::fifo().takes([1..=1]));
    let mut tree: Tree = node.ordered_by_scheduler(Box::new(order)).build().unwrap();
    let offers = 5_000u32;
    for id in 0..offers {
        let outcome = tree.enqueue(packet(id.into(), 0, 2 * offers - id, 100), Time::ZERO);
        assert_eq!(matches!(outcome, Enqueued::Evicted { .. }), id > 0);
    }
    assert_eq!(tree.len(), 1);
    // The last packets reused indices instead of adding theirs, so the last packet does not have the lowest rank.
    assert!(tree.enqueue(packet(9_999, 1, offers + 1, 100), Time::ZERO).is_admitted());
    assert_eq!(sent(&mut tree, 0), [9_999, u64::from(offers) - 1]);
}

#[test]
fn an_order_that_cannot_be_had_is_one_line_with_the_path() {
    let refused = |order: Boxed, leaf: Node| {
        let inner =
            Node::inner(Discipline::Strict).label("inner").child(leaf.takes([0..=0])).ordered_by_scheduler(order);
        let tree = Node::inner(Discipline::Strict).child(inner).charge(Charge::Arrival).build();
        tree.err().expect("it cannot be built").to_string()
    };
    let mut full = pifo(Capacity::Unlimited);
    assert!(Scheduler::<Packet>::enqueue(&mut full, packet(0, 0, 0, 1), Time::ZERO).is_admitted());
    assert_eq!(
        refused(Box::new(full), Node::fifo()),
        "tree.inner: order is missing: expected a scheduler that holds nothing yet"
    );
    let marking =
        Managed::new(CodelPolicy::new(Span::from_ns(1), Span::from_ns(1), 1), pifo(Capacity::Unlimited)).with_ecn();
    assert_eq!(
        refused(Box::new(marking), Node::fifo()),
        "tree.inner: order = { ... }: expected a scheduler that needs to know nothing of packets but child, rank and size, but this \
         one needs ecn"
    );
    let bucket = TokenBucket { rate: Rate::from_bps(8_000).unwrap(), burst: Bytes(1) };
    assert_eq!(
        refused(Box::new(pieo()), Node::fifo().shaped(bucket)),
        "tree.inner: order = { ... }: expected an exact order above a shaped node, or charge = \"departure\": any other order may refuse what \
         was admitted already"
    );
}

#[test]
fn a_rank_function_of_a_scheduler_gives_indices_other_ranks() {
    // The child that has sent least is first, for any discipline.
    let mut tree = two(Ranked::new(ranks::Las::new(), pifo(Capacity::Unlimited)));
    for (id, flow) in [(0, 1), (1, 1), (2, 0), (3, 0), (4, 0)] {
        assert!(tree.enqueue(packet(id, flow, 0, 100), Time::ZERO).is_admitted());
    }
    assert_eq!(sent(&mut tree, 0), [0, 2, 1, 3, 4]);
}
