//! Trees against a second form of their rules, and against properties that follow from them.

use pifolab_sched::schedulers::{
    Fifo, FifoParams, Packs, PacksParams, Pieo, PieoParams, Pifo, PifoParams, Scrr, ScrrParams, SpPifo, SpPifoParams,
};
use pifolab_sched::tree::{Discipline, Field, Node, Policy, TokenBucket, Tree};
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Inspect, Packet, Scheduler};
use pifolab_units::{Bytes, Rank, Rate, Ratio, Time};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

/// Linear congruential numbers: the same on every machine.
struct Draws(u64);

impl Draws {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

fn packet(id: u64, flow: u32, size: u32, now: u64) -> Packet {
    Packet { id, flow, size, rank: Rank::from(id as u32 % 97), arrival: Time::from_ps(now) }
}

fn pop(tree: &mut impl Scheduler, now: u64) -> Option<Packet> {
    match tree.dequeue(Time::from_ps(now)) {
        Dequeued::Packet { packet, .. } => Some(packet),
        Dequeued::Empty => None,
        other => panic!("{other:?}"),
    }
}

/// The rules of policies in their second form: without inner PIFOs. Which child is next is worked out at each pop from the
/// state of the node and from what waits below.
enum Second {
    Leaf { class: String, waiting: VecDeque<u64> },
    Strict { children: Vec<Second> },
    Turns { children: Vec<Second>, turn: usize },
    Fair { children: Vec<Share> },
}

/// Of a fair node: a child, its weight, its finish tag, and the ranks of its packets, each with a number that says when it was pushed.
/// Times are in 1/2520 of a unit, a multiple of every weight up to 10.
struct Share {
    child: Second,
    weight: u128,
    finish: u128,
    ranks: VecDeque<(u128, u64)>,
}

const GRID: u128 = 2_520;

impl Second {
    fn new(policy: &Policy) -> Self {
        match policy {
            Policy::Fifo(class) => Self::Leaf { class: class.clone(), waiting: VecDeque::new() },
            Policy::Strict(children) => {
                Self::Strict { children: children.iter().map(|(child, _)| Self::new(child)).collect() }
            }
            Policy::RoundRobin(children) => Self::Turns { children: children.iter().map(Self::new).collect(), turn: 0 },
            Policy::WeightedFair(children) => Self::Fair {
                children: children
                    .iter()
                    .map(|(child, weight)| Share {
                        child: Self::new(child),
                        weight: u128::from(weight.ratio().unwrap().numerator()),
                        finish: 0,
                        ranks: VecDeque::new(),
                    })
                    .collect(),
            },
        }
    }

    fn holds(&self) -> bool {
        match self {
            Self::Leaf { waiting, .. } => !waiting.is_empty(),
            Self::Strict { children } | Self::Turns { children, .. } => children.iter().any(Self::holds),
            Self::Fair { children } => children.iter().any(|share| share.child.holds()),
        }
    }

    /// Whether it took the packet; `number` counts all packets.
    fn push(&mut self, id: u64, of: &str, bytes: u32, now: u64, number: u64) -> bool {
        match self {
            Self::Leaf { class, waiting } => {
                let mine = class == of;
                waiting.extend(mine.then_some(id));
                mine
            }
            Self::Strict { children } | Self::Turns { children, .. } => {
                children.iter_mut().any(|child| child.push(id, of, bytes, now, number))
            }
            Self::Fair { children } => children.iter_mut().any(|share| {
                let taken = share.child.push(id, of, bytes, now, number);
                if taken {
                    let rank = share.finish.max(u128::from(now) * GRID);
                    share.finish = rank + u128::from(bytes) * GRID / share.weight;
                    share.ranks.push_back((rank, number));
                }
                taken
            }),
        }
    }

    fn pop(&mut self) -> Option<u64> {
        match self {
            Self::Leaf { waiting, .. } => waiting.pop_front(),
            Self::Strict { children } => children.iter_mut().find(|child| child.holds())?.pop(),
            Self::Turns { children, turn } => {
                let count = children.len();
                let next = (0..count).map(|step| (*turn + step) % count).find(|child| children[*child].holds())?;
                *turn = (next + 1) % count;
                children[next].pop()
            }
            Self::Fair { children } => {
                let share =
                    children.iter_mut().filter(|share| share.child.holds()).min_by_key(|share| share.ranks[0])?;
                share.ranks.pop_front();
                share.child.pop()
            }
        }
    }
}

/// A random policy of at most `leaves` leaves, whose classes are counted up from `first`.
fn random_policy(draws: &mut Draws, depth: u32, leaves: &mut u64, names: &mut u64) -> String {
    if depth == 0 || *leaves <= 1 || draws.below(5) == 0 && depth < 6 {
        *leaves = leaves.saturating_sub(1);
        *names += 1;
        return format!("fifo[class {}]", *names * 7_919 % 1_000);
    }
    let kind = draws.below(3);
    let mut text = ["strict[", "rr[", "wfq["][kind as usize].to_owned();
    for child in 0..2 + draws.below(4) {
        if child > 0 {
            if *leaves == 0 {
                break;
            }
            text.push_str(", ");
        }
        let policy = random_policy(draws, depth - 1, leaves, names);
        match kind {
            0 => write!(text, "({policy}, {})", draws.below(5)).unwrap(),
            1 => text.push_str(&policy),
            _ => write!(text, "({policy}, {})", 1 + draws.below(10)).unwrap(),
        }
    }
    text.push(']');
    text
}

#[test]
fn random_trees_agree_with_the_second_form_of_the_rules() {
    let (mut most, mut most_at_depth_6) = (0, 0);
    for seed in 0..40 {
        let mut draws = Draws(seed);
        // Those of depth 6 from seed 23 on have leaves to spend for more than 50.
        let leaves = if seed % 6 == 5 { 10 + 3 * seed } else { 1 + seed * 49 / 39 };
        let text = random_policy(&mut draws, 1 + (seed % 6) as u32, &mut leaves.clone(), &mut 0);
        let policy = Policy::parse(&text).unwrap();
        let classes = policy.classes().into_iter().map(str::to_owned).collect::<Vec<_>>();
        let depth = |policy: &Policy| {
            fn depth(policy: &Policy) -> usize {
                policy.children().into_iter().map(|child| 1 + depth(child)).max().unwrap_or(0)
            }
            depth(policy)
        };
        most = most.max(classes.len());
        if depth(&policy) == 6 {
            most_at_depth_6 = most_at_depth_6.max(classes.len());
        }
        let mut tree = Node::of_policy(&policy, Ratio::ONE, 2_520).build().unwrap();
        let mut second = Second::new(&policy);
        let (mut now, mut popped) = (0, 0);
        // Phases of arrivals and of departures, so that leaves fill and run empty; times and sizes of few values, so
        // that there are ties.
        for operation in 0..100_000u64 {
            let arrivals = if (operation / 500) % 2 == 0 { 6 } else { 4 };
            if draws.below(10) < arrivals {
                let (class, bytes) = (draws.below(classes.len() as u64), 10 * (1 + draws.below(4) as u32));
                now += 5 * draws.below(3);
                let outcome = tree.enqueue(packet(operation, class as u32, bytes, now), Time::from_ps(now));
                assert!(outcome.is_admitted());
                assert!(second.push(operation, &classes[class as usize], bytes, now, operation));
            } else {
                let got = pop(&mut tree, now).map(|packet| packet.id);
                assert_eq!(got, second.pop(), "{policy}, operation {operation}");
                popped += usize::from(got.is_some());
            }
        }
        assert!(popped > 30_000, "{popped} were popped");
    }
    assert!(most_at_depth_6 >= 50, "{most} leaves, {most_at_depth_6} at depth 6");
}

/// A tree as `policy` says, in which some nodes stand below nodes that have no other child.
fn with_only_children(policy: &Policy, draws: &mut Draws, leaves: &mut u64) -> Node {
    let node = match policy {
        Policy::Fifo(_) => {
            *leaves += 1;
            Node::fifo().takes([*leaves - 1..=*leaves - 1])
        }
        Policy::Strict(children) => children.iter().fold(Node::inner(Discipline::Strict), |node, (child, _)| {
            node.child(with_only_children(child, draws, leaves))
        }),
        Policy::RoundRobin(children) => children.iter().fold(Node::inner(Discipline::RoundRobin), |node, child| {
            node.child(with_only_children(child, draws, leaves))
        }),
        Policy::WeightedFair(children) => {
            children.iter().fold(Node::inner(Discipline::Stfq), |node, (child, weight)| {
                node.child(with_only_children(child, draws, leaves).weight_of(weight.ratio().unwrap()))
            })
        }
    };
    (0..draws.below(3)).fold(node, |node, _| {
        let discipline = [Discipline::Stfq, Discipline::RoundRobin, Discipline::Drr { quantum_bytes: 100 }];
        let chosen = discipline.into_iter().nth(draws.below(3) as usize).unwrap();
        Node::inner(chosen).child(node)
    })
}

#[test]
fn nodes_with_one_child_change_paths_and_nothing_else() {
    for seed in 0..20 {
        let mut draws = Draws(seed);
        let policy = Policy::parse(&random_policy(&mut draws, 1 + (seed % 4) as u32, &mut (1 + seed), &mut 0)).unwrap();
        let leaves = policy.classes().len();
        let mut long = with_only_children(&policy, &mut Draws(seed), &mut 0).build().unwrap();
        // A capacity that is never reached keeps this one from the short way past nodes with one child.
        let bounded = with_only_children(&policy, &mut Draws(seed), &mut 0).capacity(Capacity::Packets(1 << 30));
        let mut bounded = bounded.build().unwrap();
        for queue in 0..leaves {
            assert_eq!(long.path(queue), bounded.path(queue));
            assert_eq!(long.leaf_path(queue), bounded.leaf_path(queue));
            assert_eq!(long.queue_at(&long.path(queue)), Some(queue));
        }
        for id in 0..3_000 {
            if draws.below(2) == 0 {
                // Without a time at which it may leave, or with one that has passed: both are the same.
                let timed = draws.below(2) == 0;
                let offer = |tree: &mut Tree, flow, size| {
                    let (packet, now) = (packet(id, flow, size, id), Time::from_ps(id));
                    if timed { tree.enqueue_eligible(packet, Time::ZERO, now) } else { tree.enqueue(packet, now) }
                };
                let (flow, size) = (draws.below(leaves as u64) as u32, 40 + draws.below(1_461) as u32);
                assert_eq!(offer(&mut long, flow, size), offer(&mut bounded, flow, size));
            } else {
                let sent = [&mut long, &mut bounded].map(|tree| tree.dequeue(Time::from_ps(id)));
                assert_eq!(sent[0], sent[1], "{policy}, operation {id}");
            }
            assert_eq!((long.len(), long.backlog()), (bounded.len(), bounded.backlog()));
        }
    }
}

#[test]
fn a_tree_of_one_leaf_decides_as_its_leaf() {
    type Make = fn() -> Box<dyn Scheduler + Send>;
    let makes: [Make; 6] = [
        || Box::new(<Fifo>::new(FifoParams { capacity: Capacity::Bytes(20_000) }).unwrap()),
        || Box::new(<Pifo>::new(PifoParams::packets(20)).unwrap()),
        || Box::new(<SpPifo>::new(SpPifoParams::uniform(4, 5)).unwrap()),
        || Box::new(<Packs>::new(PacksParams::uniform(4, 5, 20)).unwrap()),
        || Box::new(<Pieo>::new(PieoParams { capacity: Capacity::Packets(20) }).unwrap()),
        // What it does depends on whether it was asked while it was empty.
        || {
            let capacity = Capacity::Packets(20);
            Box::new(<Scrr>::new(ScrrParams { capacity, flow_packets: 10, buckets: 8 }).unwrap())
        },
    ];
    for (index, make) in makes.into_iter().enumerate() {
        // As the tree itself, and as the only child of an only child.
        let bare = Node::leaf(make()).build().unwrap();
        let inside = Node::inner(Discipline::Stfq)
            .child(Node::inner(Discipline::RoundRobin).child(Node::leaf(make())))
            .build()
            .unwrap();
        for mut tree in [bare, inside] {
            let (mut leaf, mut draws, mut refused) = (make(), Draws(9), 0);
            for step in 0..20_000 {
                let now = Time::from_ps(step);
                if draws.below(20) < 11 {
                    let (size, rank, hold) = (40 + draws.below(1_460) as u32, draws.below(60) as u32, draws.below(40));
                    let flow = (step % 3) as u32;
                    let offer = || Packet { id: step, flow, size, rank: Rank::from(rank), arrival: now };
                    let eligible = Time::from_ps(step + hold);
                    let outcome = leaf.enqueue_eligible(offer(), eligible, now);
                    refused += usize::from(!matches!(outcome, Enqueued::Admitted { .. }));
                    assert_eq!(tree.enqueue_eligible(offer(), eligible, now), outcome);
                } else {
                    assert_eq!(tree.dequeue(now), leaf.dequeue(now), "scheduler {index}, step {step}");
                }
                assert_eq!((tree.len(), tree.backlog()), (leaf.len(), leaf.backlog()));
                let lengths = |scheduler: &dyn Inspect| {
                    (0..scheduler.queues()).map(|queue| scheduler.queue_len(queue)).collect::<Vec<_>>()
                };
                assert_eq!(lengths(&tree), lengths(&leaf));
            }
            assert!(refused > 100, "{refused} were refused or pushed others out");
        }
    }
}

fn pifo(packets: u32) -> Pifo {
    Pifo::new(PifoParams::packets(packets)).unwrap()
}

/// Leaves with small buffers of several kinds below nodes of several kinds, some with bounds of their own.
fn mixed() -> Tree {
    let leaf = |flow: u64| -> Node {
        match flow % 4 {
            0 => Node::leaf(pifo(5)),
            1 => Node::leaf(Fifo::new(FifoParams { capacity: Capacity::Bytes(5_000) }).unwrap()),
            2 => {
                Node::leaf(Box::new(<Packs>::new(PacksParams::uniform(2, 3, 8)).unwrap()) as Box<dyn Scheduler + Send>)
            }
            _ => Node::leaf(Box::new(<Pieo>::new(PieoParams { capacity: Capacity::Packets(4) }).unwrap())
                as Box<dyn Scheduler + Send>),
        }
        .takes([flow..=flow])
        .weight(1 + flow as u32)
        .priority(-(flow as i64))
    };
    let node = |discipline, flows: std::ops::Range<u64>| {
        flows.fold(Node::inner(discipline), |node, flow| node.child(leaf(flow)))
    };
    let bucket = TokenBucket { rate: Rate::from_gbps(6), burst: Bytes(3_000) };
    let wall_clock = Discipline::WallClock { ps_per_byte: Ratio::new(800, 1).unwrap(), ticks_per_ps: 256 };
    Node::inner(Discipline::Stfq)
        .child(node(Discipline::Strict, 0..5).capacity(Capacity::Packets(12)))
        .child(node(Discipline::Drr { quantum_bytes: 700 }, 5..9).shaped(bucket))
        .child(
            Node::inner(wall_clock)
                .child(node(Discipline::RoundRobin, 9..12).weight(3).capacity(Capacity::Bytes(9_000)))
                .child(leaf(12)),
        )
        .capacity(Capacity::Packets(40))
        .build()
        .unwrap()
}

#[test]
fn packets_are_conserved_by_path() {
    let mut tree = mixed();
    let mut draws = Draws(5);
    // What each queue holds, by the outcomes alone.
    let mut held: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
    let [mut sent, mut refused, mut evicted, mut waited] = [0; 4];
    for step in 0..200_000u64 {
        // 150 ns a step: a packet of 1,500 bytes takes 1.2 us at 10 Gb/s.
        let now = Time::from_ns(150 * step);
        if draws.below(100) < if step / 1_000 % 2 == 0 { 60 } else { 40 } {
            let (flow, size, rank) = (draws.below(13) as u32, 64 + draws.below(1_437) as u32, draws.below(30) as u32);
            let offer = Packet { id: step, flow, size, rank: Rank::from(rank), arrival: now };
            let eligible = Time::from_ns(150 * (step + draws.below(30)));
            match tree.enqueue_eligible(offer, eligible, now) {
                Enqueued::Admitted { queue, .. } => drop(held.insert(step, (queue, size))),
                Enqueued::Evicted { queue, victims, .. } => {
                    held.insert(step, (queue, size));
                    for victim in victims {
                        evicted += 1;
                        assert!(held.remove(&victim.id).is_some(), "{} was pushed out twice", victim.id);
                        assert_eq!(victim.flow, flow, "a leaf pushes out its own packets");
                    }
                }
                Enqueued::Dropped { packet, .. } => {
                    refused += 1;
                    assert_eq!(packet.id, step);
                }
            }
        } else {
            match tree.dequeue(now) {
                Dequeued::Packet { packet, queue } => {
                    sent += 1;
                    assert_eq!(held.remove(&packet.id), Some((queue, packet.size)));
                }
                Dequeued::NotBefore(time) => {
                    waited += 1;
                    assert!(time > now && !held.is_empty());
                }
                Dequeued::Empty => assert!(held.is_empty(), "{} packets are held", held.len()),
                Dequeued::Dropped { .. } => panic!("nothing is dropped at dequeue here"),
            }
        }
        assert_eq!(tree.len(), held.len());
        if step % 64 == 0 {
            assert_eq!(tree.backlog().0, held.values().map(|(_, size)| u64::from(*size)).sum::<u64>());
            for queue in 0..tree.queues() {
                let of_queue = held.values().filter(|(of, _)| *of as usize == queue).count();
                assert_eq!(tree.queue_len(queue), of_queue);
                assert_eq!(tree.queue_at(&tree.path(queue)), Some(queue));
            }
        }
    }
    let counts = [sent, refused, evicted, waited];
    assert!(counts.iter().all(|count| *count > 1_000), "sent, refused, pushed out, waited: {counts:?}");
    // Whatever is left comes out.
    let mut now = 200_000 * 150_000;
    while !held.is_empty() {
        match tree.dequeue(Time::from_ps(now)) {
            Dequeued::Packet { packet, .. } => assert!(held.remove(&packet.id).is_some()),
            Dequeued::NotBefore(time) => now = time.as_ps(),
            other => panic!("{other:?}, {} packets are held", held.len()),
        }
    }
    assert_eq!(tree.dequeue(Time::from_ps(now)), Dequeued::Empty);
}

#[test]
fn a_refused_packet_enters_no_node() {
    // Two leaves of one packet each, in turn. Refused packets must not use up the turns of the second leaf.
    let leaf =
        |flow: u64| Node::leaf(Fifo::new(FifoParams { capacity: Capacity::Packets(3) }).unwrap()).takes([flow..=flow]);
    let mut tree = Node::inner(Discipline::RoundRobin).child(leaf(0)).child(leaf(1)).build().unwrap();
    let offer = |tree: &mut Tree, id, flow| tree.enqueue(packet(id, flow, 100, 0), Time::ZERO).is_admitted();
    for id in 0..10 {
        assert_eq!(offer(&mut tree, id, 0), id < 3);
    }
    for id in 10..13 {
        assert!(offer(&mut tree, id, 1));
    }
    let order: Vec<u64> = std::iter::from_fn(|| pop(&mut tree, 0)).map(|packet| packet.id).collect();
    assert_eq!(order, [0, 10, 1, 11, 2, 12]);
}

#[test]
fn a_full_node_refuses_what_its_leaf_would_have_taken() {
    let mut tree = Node::inner(Discipline::Strict)
        .child(Node::leaf(pifo(9)).takes([0..=0]))
        .child(Node::fifo().takes_the_rest())
        .capacity(Capacity::Packets(2))
        .build()
        .unwrap();
    assert!(tree.enqueue(packet(0, 7, 100, 0), Time::ZERO).is_admitted());
    assert!(tree.enqueue(packet(1, 0, 100, 0), Time::ZERO).is_admitted());
    let outcome = tree.enqueue(packet(2, 0, 100, 0), Time::ZERO);
    assert!(matches!(outcome, Enqueued::Dropped { packet: Packet { id: 2, .. }, reason: DropReason::Full }));
    assert_eq!(pop(&mut tree, 0).unwrap().id, 1);
    assert!(tree.enqueue(packet(3, 0, 100, 0), Time::ZERO).is_admitted());
    assert_eq!((tree.len(), tree.capacity()), (2, Capacity::Packets(2)));
}

#[test]
fn children_share_a_buffer_by_dynamic_thresholds() {
    for (alpha, capacity, alone, both) in [
        // Alone alpha / (1 + alpha) of the buffer, and alpha / (1 + n alpha) each of n.
        ((1, 1), Capacity::Packets(12), 6, [4, 4]),
        ((2, 1), Capacity::Packets(15), 10, [6, 6]),
        ((1, 2), Capacity::Packets(12), 4, [3, 3]),
        ((1, 1), Capacity::Bytes(1_200), 6, [4, 4]),
    ] {
        let alpha = Ratio::new(alpha.0, alpha.1).unwrap();
        let tenants = Node::inner(Discipline::Stfq)
            .child(Node::fifo().takes([0..=0]))
            .child(Node::inner(Discipline::Strict).child(Node::fifo().takes([1..=1])))
            .capacity(capacity)
            .alpha(alpha);
        let mut tree = Node::inner(Discipline::Strict).child(tenants).build().unwrap();
        let mut held = [0; 2];
        let mut offer = |tree: &mut Tree, id: u64, flow: u32| {
            let stored = tree.enqueue(packet(id, flow, 100, 0), Time::ZERO).is_admitted();
            held[flow as usize] += u64::from(stored);
            stored
        };
        while offer(&mut tree, 0, 0) {}
        assert_eq!(tree.len(), alone, "alpha {alpha}");
        // The other one comes, the first one drains to its new limit, and both fill up again in turns.
        for id in 0..40 {
            offer(&mut tree, 1_000 + id, 1);
        }
        for round in 0..40 {
            let _ = pop(&mut tree, 0);
            for flow in [1, 0] {
                offer(&mut tree, 2_000 + round, flow);
            }
        }
        assert!(tree.queue_len(0).abs_diff(both[0]) <= 1 && tree.queue_len(1).abs_diff(both[1]) <= 1, "alpha {alpha}");
        while pop(&mut tree, 0).is_some() {}
        while offer(&mut tree, 3_000, 0) {}
        assert_eq!(tree.len(), alone, "what leaves is free again");
    }
    let node = |capacity| Node::inner(Discipline::Strict).child(Node::fifo()).capacity(capacity);
    let error = |node: Node| node.build().map(|_| ()).unwrap_err().to_string();
    assert_eq!(error(node(Capacity::Packets(9)).alpha(Ratio::ZERO)), "tree: alpha = 0: expected a number above 0");
    assert!(error(node(Capacity::Unlimited).alpha(Ratio::ONE)).starts_with("tree: alpha = 1: expected a capacity"));
}

#[test]
fn a_packet_that_is_pushed_out_takes_the_last_index_of_its_child() {
    // A PIFO leaf of two packets and a FIFO leaf, ranked by the ranks of the packets that arrive: indices 5 a, 3 a, 4 b. The
    // arrival of rank 1 pushes out the packet of rank 5; index 1 a joins and index 5 a, the last of a, goes.
    let carried = Discipline::Ranked(Box::new(pifolab_sched::ranks::Carried));
    let mut tree = Node::inner(carried)
        .child(Node::leaf(pifo(2)).takes([0..=0]))
        .child(Node::fifo().takes([1..=1]))
        .build()
        .unwrap();
    let offer = |tree: &mut Tree, id, flow, rank: u32| {
        tree.enqueue(Packet { id, flow, size: 100, rank: Rank::from(rank), arrival: Time::ZERO }, Time::ZERO)
    };
    for (id, flow, rank) in [(0, 0, 5), (1, 0, 3), (2, 1, 4)] {
        assert!(offer(&mut tree, id, flow, rank).is_admitted());
    }
    let Enqueued::Evicted { victims, .. } = offer(&mut tree, 3, 0, 1) else { panic!("the leaf was full") };
    assert_eq!(victims.iter().map(|victim| victim.id).collect::<Vec<_>>(), [0]);
    let order: Vec<u64> = std::iter::from_fn(|| pop(&mut tree, 0)).map(|packet| packet.id).collect();
    assert_eq!(order, [3, 1, 2]);
}

#[test]
fn siblings_that_are_backlogged_get_fair_shares_over_every_interval() {
    const LARGEST: u64 = 1_500;
    for seed in 0..30 {
        let mut draws = Draws(seed);
        let children = 2 + draws.below(5);
        // Weights of few digits, and others for which no common unit is fine enough.
        let weights: Vec<u64> = (0..children)
            .map(|_| if seed % 2 == 0 { 1 + draws.below(9) } else { 1 + draws.below(1_000_000) })
            .collect();
        let fair = (0..children).fold(Node::inner(Discipline::Stfq), |node, child| {
            node.child(Node::fifo().takes([child..=child]).weight(weights[child as usize] as u32))
        });
        // The node that is measured is not the root: it is served when its turn comes.
        let mut tree =
            Node::inner(Discipline::RoundRobin).child(fair).child(Node::fifo().takes_the_rest()).build().unwrap();
        let (mut id, mut waiting, mut sent) = (0, vec![0u64; children as usize], vec![0u64; children as usize]);
        // For each child the services of all since it was last without a packet, at each pop.
        let mut history: Vec<(Vec<u64>, Vec<bool>)> = Vec::new();
        for _ in 0..400 {
            for _ in 0..draws.below(5) {
                let flow = draws.below(children + 1);
                let size = 40 + draws.below(LARGEST - 39) as u32;
                assert!(tree.enqueue(packet(id, flow as u32, size, 0), Time::ZERO).is_admitted());
                waiting.iter_mut().skip(flow as usize).take(1).for_each(|count| *count += 1);
                id += 1;
            }
            for _ in 0..draws.below(5) {
                let backlogged: Vec<bool> = waiting.iter().map(|count| *count > 0).collect();
                history.push((sent.clone(), backlogged));
                let Some(packet) = pop(&mut tree, 0) else { continue };
                let flow = packet.flow as usize;
                if let Some(count) = waiting.get_mut(flow) {
                    *count -= 1;
                    sent[flow] += u64::from(packet.size);
                }
            }
        }
        history.push((sent.clone(), waiting.iter().map(|count| *count > 0).collect()));
        let mut intervals = 0;
        for i in 0..children as usize {
            for j in 0..i {
                let (wi, wj) = (i128::from(weights[i]), i128::from(weights[j]));
                let most = i128::from(LARGEST) * (wi + wj);
                let mut from = 0;
                while from < history.len() {
                    let both = |at: usize| history[at].1[i] && history[at].1[j];
                    // Backlogged at each pop of the interval; what is sent by the end of it is in the entry behind.
                    let until = (from..history.len() - 1).find(|at| !both(*at)).unwrap_or(history.len() - 1);
                    for start in from..until {
                        for end in start + 1..=until {
                            let work = |child: usize| i128::from(history[end].0[child] - history[start].0[child]);
                            let gap = (work(i) * wj - work(j) * wi).abs();
                            assert!(gap <= most, "seed {seed}: {gap} > {most}, weights {wi}, {wj}");
                            intervals += 1;
                        }
                    }
                    from = until + 1;
                }
            }
        }
        assert!(intervals > 1_000, "seed {seed}: {intervals} intervals");
    }
}

/// A child of a fair node as the test sees it: sizes in the order of arrival are what its indices were charged with.
#[derive(Default)]
struct Account {
    weight: i128,
    waiting: VecDeque<u32>,
    charged: i128,
    sent: i128,
}

/// Fair nodes to this depth. Each leaf takes the flow that is its number in `leaves`, which has their paths.
fn random_fair(
    draws: &mut Draws,
    depth: u32,
    path: &[usize],
    leaves: &mut Vec<Vec<usize>>,
    accounts: &mut BTreeMap<Vec<usize>, Account>,
) -> Node {
    if depth == 0 || (path.len() > 1 && draws.below(5) == 0) {
        leaves.push(path.to_vec());
        let flow = leaves.len() as u64 - 1;
        return Node::fifo().takes([flow..=flow]);
    }
    (0..2 + draws.below(3) as usize).fold(Node::inner(Discipline::Stfq), |node, child| {
        let weights = if draws.below(2) == 0 { 9 } else { 1_000 };
        let weight = 1 + draws.below(weights) as u32;
        let below = [path, &[child]].concat();
        accounts.insert(below.clone(), Account { weight: weight.into(), ..Account::default() });
        node.child(random_fair(draws, depth - 1, &below, leaves, accounts).weight(weight))
    })
}

#[test]
fn siblings_at_every_depth_get_fair_shares_of_the_bytes_that_arrived_for_them() {
    const LARGEST: u32 = 1_500;
    for seed in 0..if cfg!(miri) { 1 } else { 10 } {
        let (mut draws, mut leaves, mut accounts) = (Draws(seed), Vec::new(), BTreeMap::new());
        let of_one_size = seed % 2 == 0;
        let mut tree = random_fair(&mut draws, 1 + seed as u32 / 2, &[], &mut leaves, &mut accounts).build().unwrap();
        // For two siblings the least and the most that one was ahead of the other, while neither was without a packet.
        let mut ahead: BTreeMap<(Vec<usize>, Vec<usize>), (i128, i128)> = BTreeMap::new();
        let pairs: Vec<(Vec<usize>, Vec<usize>)> = accounts
            .keys()
            .flat_map(|one| accounts.keys().map(move |other| (one.clone(), other.clone())))
            .filter(|(one, other)| one < other && one.len() == other.len())
            .filter(|(one, other)| one[..one.len() - 1] == other[..one.len() - 1])
            .collect();
        let (mut silent, mut id, mut measured) = (0, 0, 0);
        for _ in 0..400 {
            // Now and then another leaf falls silent, so that queues run empty.
            silent = if draws.below(20) == 0 { draws.below(leaves.len() as u64) as usize } else { silent };
            for _ in 0..draws.below(5) {
                let flow = draws.below(leaves.len() as u64) as usize;
                // Flows with small packets and others with large ones are the worst.
                let size = if of_one_size || flow.is_multiple_of(2) { LARGEST } else { 40 + draws.below(400) as u32 };
                if flow == silent {
                    continue;
                }
                assert!(tree.enqueue(packet(id, flow as u32, size, 0), Time::ZERO).is_admitted());
                id += 1;
                for depth in 1..=leaves[flow].len() {
                    accounts.get_mut(&leaves[flow][..depth]).unwrap().waiting.push_back(size);
                }
            }
            for _ in 0..draws.below(5) {
                let backlogged: Vec<bool> = pairs
                    .iter()
                    .map(|(one, other)| !accounts[one].waiting.is_empty() && !accounts[other].waiting.is_empty())
                    .collect();
                for (pair, backlogged) in pairs.iter().zip(&backlogged) {
                    let gap = gap(&accounts, pair);
                    if *backlogged {
                        ahead.entry(pair.clone()).or_insert((gap, gap));
                    } else {
                        ahead.remove(pair);
                    }
                }
                let Some(packet) = pop(&mut tree, 0) else { continue };
                let leaf = &leaves[packet.flow as usize];
                for depth in 1..=leaf.len() {
                    let account = accounts.get_mut(&leaf[..depth]).unwrap();
                    account.charged += i128::from(account.waiting.pop_front().unwrap());
                    account.sent += i128::from(packet.size);
                    // What arrived is what is sent where all are of one size, and at a leaf, which is first-in first-out.
                    assert!(account.charged == account.sent || !of_one_size && depth < leaf.len());
                }
                for (pair, (least, most)) in &mut ahead {
                    let gap = gap(&accounts, pair);
                    (*least, *most) = (gap.min(*least), gap.max(*most));
                    let bound = i128::from(LARGEST) * (accounts[&pair.0].weight + accounts[&pair.1].weight);
                    assert!(*most - *least <= bound, "seed {seed}, {pair:?}: {} > {bound}", *most - *least);
                    measured += 1;
                }
            }
        }
        assert!(measured > 300, "seed {seed}: {measured} gaps");
    }
}

/// How far the first of two siblings is ahead of the second, times both weights.
fn gap(accounts: &BTreeMap<Vec<usize>, Account>, (one, other): &(Vec<usize>, Vec<usize>)) -> i128 {
    let (one, other) = (&accounts[one], &accounts[other]);
    one.charged * other.weight - other.charged * one.weight
}

#[test]
fn a_fair_child_that_sends_small_packets_first_pays_for_the_large_ones_that_came_first() {
    // The known limit: a rank is given when a packet arrives, and it is not known then which packet its index will send.
    let first = Node::inner(Discipline::Strict)
        .child(Node::fifo().takes([0..=0]))
        .child(Node::fifo().takes([1..=1]).priority(1));
    let mut tree = Node::inner(Discipline::Stfq).child(first).child(Node::fifo().takes([2..=2])).build().unwrap();
    for (id, (flow, size)) in (0..).zip([(1, 1_500); 20].into_iter().chain([(0, 100); 20]).chain([(2, 1_500); 40])) {
        assert!(tree.enqueue(packet(id, flow, size, 0), Time::ZERO).is_admitted());
    }
    let mut sent = [0u64; 3];
    for _ in 0..40 {
        let packet = pop(&mut tree, 0).unwrap();
        sent[packet.flow as usize] += u64::from(packet.size);
    }
    assert_eq!(sent, [20 * 100, 0, 20 * 1_500], "twenty of each, as if all had 1500 bytes");
    // What it has paid comes back: it is charged small packets as it sends the large ones.
    for _ in 0..22 {
        let packet = pop(&mut tree, 0).unwrap();
        sent[packet.flow as usize] += u64::from(packet.size);
    }
    assert_eq!(sent, [20 * 100, 20 * 1_500, 22 * 1_500]);
}

#[test]
fn deficit_round_robin_shares_by_bytes() {
    let leaf = |flow: u64| Node::fifo().takes([flow..=flow]);
    let mut tree = Node::inner(Discipline::Drr { quantum_bytes: 500 })
        .child(leaf(0).weight(3))
        .child(leaf(1).weight(1))
        .build()
        .unwrap();
    for id in 0..4_000 {
        let (flow, size) = if id % 2 == 0 { (0, 1_500) } else { (1, 100) };
        assert!(tree.enqueue(packet(id, flow, size, 0), Time::ZERO).is_admitted());
    }
    let mut sent = [0u64; 2];
    for _ in 0..1_000 {
        let packet = pop(&mut tree, 0).unwrap();
        sent[packet.flow as usize] += u64::from(packet.size);
    }
    assert!(sent[0].abs_diff(3 * sent[1]) <= 3 * 1_500, "{sent:?}");
}

#[test]
fn a_decider_orders_children_in_the_place_of_a_pifo() {
    // SP-PIFO on child indices with one queue is first-in first-out; with many it is close to PIFO, and conserves packets.
    let node = |queues: usize| {
        let (decider, capacities) = <SpPifo>::new(SpPifoParams::uniform(queues, 1)).unwrap().into_parts();
        let carried = Discipline::Ranked(Box::new(pifolab_sched::ranks::Carried));
        let unbounded = capacities.iter().map(|_| Capacity::Unlimited).collect();
        (0..4u64)
            .fold(Node::inner(carried), |node, flow| node.child(Node::leaf(pifo(9)).takes([flow..=flow])))
            .ordered_by(Box::new(decider), unbounded)
    };
    let inversions = |mut tree: Tree| {
        let (mut draws, mut inverted, mut held) = (Draws(3), 0, Vec::new());
        for id in 0..20_000u64 {
            let (flow, rank) = (draws.below(4) as u32, draws.below(100) as u32);
            let offer = Packet { id, flow, size: 100, rank: Rank::from(rank), arrival: Time::ZERO };
            match tree.enqueue(offer, Time::ZERO) {
                Enqueued::Admitted { .. } => held.push((id, rank)),
                Enqueued::Evicted { victims, .. } => {
                    held.push((id, rank));
                    held.retain(|(id, _)| victims.iter().all(|victim| victim.id != *id));
                }
                Enqueued::Dropped { .. } => {}
            }
            if draws.below(10) < 9 {
                let Some(packet) = pop(&mut tree, 0) else { continue };
                let at = held.iter().position(|(id, _)| *id == packet.id).unwrap();
                let (_, rank) = held.swap_remove(at);
                inverted += usize::from(held.iter().any(|(_, other)| *other < rank));
            }
            assert_eq!(tree.len(), held.len());
        }
        inverted
    };
    let (one, eight) = (inversions(node(1).build().unwrap()), inversions(node(8).build().unwrap()));
    assert!(eight * 2 < one, "{eight} inversions with eight queues, {one} with one");
}

#[test]
fn a_shaped_node_is_held_to_its_rate_while_others_go_on() {
    // 8 Mb/s: a byte takes a microsecond. The shaped child has the higher priority.
    let bucket = TokenBucket { rate: Rate::from_bps(8_000_000).unwrap(), burst: Bytes(1_000) };
    let mut tree = Node::inner(Discipline::Strict)
        .child(Node::fifo().takes([0..=0]).shaped(bucket))
        .child(Node::fifo().takes([1..=1]).priority(1))
        .build()
        .unwrap();
    for id in 0..4 {
        assert!(tree.enqueue(packet(id, 0, 1_000, 0), Time::ZERO).is_admitted());
    }
    assert!(tree.enqueue(packet(4, 1, 1_000, 0), Time::ZERO).is_admitted());
    let us = |us: u64| us * 1_000_000;
    assert_eq!(pop(&mut tree, 0).unwrap().id, 0);
    assert_eq!(pop(&mut tree, 0).unwrap().id, 4);
    assert_eq!(tree.dequeue(Time::ZERO), Dequeued::NotBefore(Time::from_ps(us(1_000))));
    assert_eq!(pop(&mut tree, us(1_000)).unwrap().id, 1);
    // Two releases are due at once: both leave, one after the other.
    assert_eq!(pop(&mut tree, us(3_000)).unwrap().id, 2);
    assert_eq!(pop(&mut tree, us(3_000)).unwrap().id, 3);
    assert_eq!(tree.dequeue(Time::from_ps(us(3_000))), Dequeued::Empty);
}

/// What a link of 1 Gb/s makes of a shaped class (0) and another one (1): when each packet starts, and the idle time while packets wait.
struct Sent {
    starts: Vec<(u64, u32, u32)>,
    idle_with_backlog: u64,
    /// Instants that the tree named and at which nothing else happened.
    wakes: usize,
}

/// Serves `arrivals` (instant in picoseconds, class, bytes; in order) until the tree is empty.
fn serve(tree: &mut Tree, arrivals: &[(u64, u32, u32)]) -> Sent {
    let mut sent = Sent { starts: Vec::new(), idle_with_backlog: 0, wakes: 0 };
    let (mut now, mut arrivals) = (0, arrivals.iter().zip(0u64..).peekable());
    loop {
        while let Some(((at, class, bytes), id)) = arrivals.next_if(|((at, ..), _)| *at <= now) {
            assert!(tree.enqueue(packet(id, *class, *bytes, *at), Time::from_ps(*at)).is_admitted());
        }
        let arrival = arrivals.peek().map(|((at, ..), _)| *at);
        now = match tree.dequeue(Time::from_ps(now)) {
            Dequeued::Packet { packet, .. } => {
                sent.starts.push((now, packet.flow, packet.size));
                now + u64::from(packet.size) * 8_000
            }
            Dequeued::NotBefore(time) => {
                let time = time.as_ps();
                assert!(time > now, "an instant that has passed");
                let until = arrival.map_or(time, |arrival| arrival.min(time));
                sent.idle_with_backlog += until - now;
                if until == time {
                    // Once: what it names is the instant of a packet, and the packet leaves then.
                    let Dequeued::Packet { packet, .. } = tree.dequeue(Time::from_ps(time)) else {
                        panic!("nothing leaves at {time}, which the tree has named")
                    };
                    sent.wakes += 1;
                    sent.starts.push((time, packet.flow, packet.size));
                    time + u64::from(packet.size) * 8_000
                } else {
                    until
                }
            }
            Dequeued::Empty => match arrival {
                Some(arrival) => arrival,
                None => return sent,
            },
            other => panic!("{other:?}"),
        };
    }
}

#[test]
fn a_shaped_class_is_measured_to_have_its_rate_and_burst_and_no_lateness() {
    let mut latest = 0;
    for (mbps, burst, size) in [(200, 15_000, 1_500), (37, 4_000, 1_000), (600, 1, 577)] {
        let bucket = TokenBucket { rate: Rate::from_bps(mbps * 1_000_000).unwrap(), burst: Bytes(burst) };
        // All of the shaped class for 20 ms at its rate is there from the start.
        let packets = mbps * 20_000 / 8 / u64::from(size);
        let backlog: Vec<_> = (0..packets).map(|_| (0, 0, size)).collect();
        let sent = serve(&mut tree_of(bucket), &backlog);
        let bytes = |starts: &[(u64, u32, u32)]| starts.iter().map(|(_, _, bytes)| u64::from(*bytes)).sum::<u64>();
        // What left from one start to another, the last packet included, beyond the rate.
        let (mut largest, most) = (0, burst.max(size.into()));
        for from in 0..sent.starts.len() {
            let mut total = 0;
            for (start, _, bytes) in &sent.starts[from..] {
                total += u64::from(*bytes);
                let allowed = mbps * (start - sent.starts[from].0) / 8_000_000;
                largest = largest.max(total.saturating_sub(allowed));
            }
        }
        // Rounded to whole bytes. While a burst leaves, the rate goes on: a link of 1 Gb/s shows a part of it.
        let shown = most * (1_000 - mbps) / 1_000;
        assert!(largest <= most + 1 && largest + u64::from(size) > shown, "{mbps} Mb/s: a burst of {largest} bytes");
        let last = sent.starts.last().unwrap().0;
        let expected = (bytes(&sent.starts) - burst) * 8_000_000 / mbps;
        assert!(
            last.abs_diff(expected) <= u64::from(size) * 8_000_000 / mbps,
            "{mbps} Mb/s: ends at {last} ps, expected {expected}"
        );
        // The rest of the time the link has nothing that may leave: idle, and woken once for each packet after the burst.
        let busy = bytes(&sent.starts[..sent.starts.len() - 1]) * 8_000;
        assert_eq!(sent.idle_with_backlog + busy, last, "{mbps} Mb/s");
        let in_burst = sent.starts.windows(2).filter(|pair| pair[1].0 == pair[0].0 + u64::from(size) * 8_000).count();
        let at_once = usize::from(sent.starts[0].0 == 0);
        assert_eq!(sent.wakes + in_burst + at_once, sent.starts.len());

        // Beside a class that always has packets the link is never idle, and a released packet waits for one of them at most.
        let mut both = backlog.clone();
        both.extend((0..3_000).map(|_| (0, 1, 1_500)));
        let (alone, sent) = (sent, serve(&mut tree_of(bucket), &both));
        assert_eq!((sent.idle_with_backlog, sent.wakes), (0, 0));
        let shaped = sent.starts.iter().filter(|(_, class, _)| *class == 0);
        let late = shaped.zip(&alone.starts).map(|((start, ..), (alone, ..))| start - alone).max().unwrap();
        assert!(late <= 1_500 * 8_000 + u64::from(size) * 8_000, "{mbps} Mb/s: {late} ps late");
        latest = latest.max(late);
    }
    assert!(latest > 0, "a packet of the other class was under way at some release");
}

fn tree_of(bucket: TokenBucket) -> Tree {
    Node::inner(Discipline::Strict)
        .child(Node::fifo().takes([0..=0]).shaped(bucket))
        .child(Node::fifo().takes([1..=1]).priority(1))
        .build()
        .unwrap()
}

fn mbps(mbps: u64, burst: u64) -> TokenBucket {
    TokenBucket { rate: Rate::from_bps(mbps * 1_000_000).unwrap(), burst: Bytes(burst) }
}

#[test]
fn a_port_above_shapers_inside_shapers_wakes_once_for_each_packet() {
    // The inner nodes let packets out more than twice as fast as the outer one does.
    let tenant = |flow: u64, rate| Node::fifo().takes([flow..=flow]).shaped(mbps(rate, 1_500));
    let tenants = Node::inner(Discipline::Stfq).child(tenant(0, 300)).child(tenant(1, 200)).shaped(mbps(220, 2_000));
    let mut tree = Node::inner(Discipline::Strict).child(tenants).build().unwrap();
    let arrivals: Vec<_> = (0..400).map(|number| (0, number % 2, 1_000 + 13 * (number % 7))).collect();
    // Whoever serves it panics if nothing leaves at an instant that it has named.
    let sent = serve(&mut tree, &arrivals);
    assert_eq!(sent.starts.len(), 400);
    assert!(sent.wakes > 390, "{} wakes", sent.wakes);
    let (bytes, last) = (sent.starts.iter().map(|(_, _, bytes)| u64::from(*bytes)).sum::<u64>(), sent.starts[399].0);
    assert!((bytes - 2_000) * 8_000_000 / 220 <= last + 1_100 * 8_000_000 / 220, "faster than the outer rate");
}

#[test]
fn a_port_above_a_shaped_pieo_wakes_when_packet_and_bucket_are_ready() {
    let pieo =
        || Box::new(<Pieo>::new(PieoParams { capacity: Capacity::Unlimited }).unwrap()) as Box<dyn Scheduler + Send>;
    // 8 Mb/s: a byte takes a microsecond.
    let leaf = Node::leaf(pieo()).takes([0..=0]).shaped(mbps(8, 1_000));
    let mut tree = Node::inner(Discipline::Strict).child(leaf).build().unwrap();
    let us = |us: u64| Time::from_ns(us * 1_000);
    for (id, eligible) in [(0, 2_700), (1, 500), (2, 3_000)] {
        assert!(tree.enqueue_eligible(packet(id, 0, 1_000, 0), us(eligible), Time::ZERO).is_admitted());
    }
    // Indices come out at 0, 1 ms and 2 ms. The first packet that one of them finds ready is that of 0.5 ms.
    let mut woken = Vec::new();
    let mut now = Time::ZERO;
    loop {
        match tree.dequeue(now) {
            Dequeued::NotBefore(time) => {
                now = time;
                let Dequeued::Packet { packet, .. } = tree.dequeue(now) else { panic!("woken at {now} for nothing") };
                woken.push((packet.id, now));
            }
            Dequeued::Empty => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(woken, [(1, us(500)), (0, us(2_700)), (2, us(3_000))]);
}

#[test]
fn an_index_that_is_released_to_a_sleeping_leaf_does_not_wake_it() {
    let pieo = <Pieo>::new(PieoParams { capacity: Capacity::Unlimited }).unwrap();
    let leaf = Node::leaf(Box::new(pieo) as Box<dyn Scheduler + Send>).takes([0..=0]).shaped(mbps(8, 1_000));
    let mut tree = Node::inner(Discipline::Strict).child(leaf).build().unwrap();
    let us = |us: u64| Time::from_ns(us * 1_000);
    for id in 0..4 {
        assert!(tree.enqueue_eligible(packet(id, 0, 1_000, 0), us(9_000), Time::ZERO).is_admitted());
    }
    // Indices come out every millisecond, and somebody asks each time.
    for now in 0..9 {
        assert_eq!(tree.dequeue(us(1_000 * now)), Dequeued::NotBefore(us(9_000)));
    }
    let sent: Vec<u64> = (0..4).map(|_| pop(&mut tree, 9_000_000_000).unwrap().id).collect();
    assert_eq!(sent, [0, 1, 2, 3]);
    assert_eq!(tree.dequeue(us(9_000)), Dequeued::Empty);
}

/// A random tree in which any node may be shaped, with leaves that may hold packets back themselves.
fn random_holding(draws: &mut Draws, depth: u32, flows: &mut u64) -> Node {
    let node = if depth == 0 || draws.below(4) == 0 {
        let flow = *flows;
        *flows += 1;
        let unlimited = Capacity::Unlimited;
        let pieo = |capacity| <Pieo>::new(PieoParams { capacity }).unwrap();
        let inside = || {
            let leaf = Node::leaf(Box::new(pieo(unlimited)) as Box<dyn Scheduler + Send>).shaped(mbps(300, 1_000));
            Node::inner(Discipline::Strict).child(leaf).shaped(mbps(400, 1)).build().unwrap()
        };
        let leaf = match draws.below(6) {
            0 | 1 => Node::fifo(),
            2 => Node::leaf(pifo(5)),
            3 => Node::leaf(Box::new(pieo(unlimited)) as Box<dyn Scheduler + Send>),
            4 => Node::leaf(Box::new(pieo(Capacity::Packets(4))) as Box<dyn Scheduler + Send>),
            _ => Node::leaf(Box::new(inside()) as Box<dyn Scheduler + Send>),
        };
        leaf.takes([flow..=flow])
    } else {
        let discipline = match draws.below(4) {
            0 => Discipline::Strict,
            1 => Discipline::RoundRobin,
            2 => Discipline::Stfq,
            _ => Discipline::Drr { quantum_bytes: 700 },
        };
        let node = Node::inner(discipline);
        let node = if draws.below(4) == 0 { node.capacity(Capacity::Packets(12)) } else { node };
        (0..1 + draws.below(3)).fold(node, |node, _| node.child(random_holding(draws, depth - 1, flows)))
    };
    let node = node.weight(1 + draws.below(9) as u32).priority(draws.below(3) as i64);
    match draws.below(5) {
        // Of few rates and sizes, so that releases coincide.
        0..3 => node.shaped(mbps([80, 100, 160, 1_000][draws.below(4) as usize], 100 * draws.below(30))),
        _ => node,
    }
}

#[test]
fn a_tree_names_the_instant_at_which_a_packet_can_leave_and_none_before() {
    let (mut named, mut nested) = (0, 0);
    for seed in 0..pifolab_testkit::steps(300, 3) as u64 {
        let mut flows = 0;
        let [mut tree, mut twin] = [(); 2].map(|()| {
            flows = 0;
            random_holding(&mut Draws(seed), 1 + (seed % 5) as u32, &mut flows).build().unwrap()
        });
        let mut draws = Draws(!seed);
        let mut now = Time::ZERO;
        for id in 0..400 {
            for _ in 0..draws.below(3) {
                let (flow, size) = (draws.below(flows) as u32, 100 * (1 + draws.below(15) as u32));
                let hold = Time::from_ps(now.as_ps() + 1_000_000 * draws.below(4) * draws.below(100));
                let offer = || packet(id, flow, size, now.as_ps());
                assert_eq!(tree.enqueue_eligible(offer(), hold, now), twin.enqueue_eligible(offer(), hold, now));
            }
            match tree.dequeue(now) {
                Dequeued::NotBefore(time) => {
                    assert!(time > now, "seed {seed}");
                    named += 1;
                    // The twin is asked on the way, at any time and just before the instant that was named.
                    let between = now.as_ps() + draws.below((time.as_ps() - now.as_ps()).min(1 << 31));
                    // Mostly somebody waits for it, and sometimes something arrives before.
                    let waits = draws.below(4) > 0;
                    for asked in [now.as_ps(), between].into_iter().chain(waits.then_some(time.as_ps() - 1)) {
                        let answer = twin.dequeue(Time::from_ps(asked));
                        assert_eq!(answer, Dequeued::NotBefore(time), "seed {seed}, asked at {asked} after {now}");
                    }
                    if waits {
                        now = time;
                        let sent = tree.dequeue(now);
                        assert!(matches!(sent, Dequeued::Packet { .. }), "seed {seed}: {sent:?} at {now}");
                        assert_eq!(sent, twin.dequeue(now), "seed {seed}");
                        nested += usize::from(seed % 5 > 1);
                    } else {
                        now = Time::from_ps(between);
                    }
                }
                answer => assert_eq!(answer, twin.dequeue(now), "seed {seed}"),
            }
            now = Time::from_ps(now.as_ps() + 1_000_000 * draws.below(2) * draws.below(30));
        }
    }
    assert!(cfg!(miri) || named > 10_000 && nested > 1_000, "{named} instants were named, {nested} in deep trees");
}

#[test]
fn a_tree_that_cannot_be_built_is_refused_with_the_path() {
    let error = |node: Node| node.build().map(|_| ()).unwrap_err().to_string();
    let leaf = |flow: u64| Node::fifo().takes([flow..=flow]);
    let strict = || Node::inner(Discipline::Strict);
    assert_eq!(error(strict()), "tree: child is missing: expected at least one child");
    assert_eq!(
        error(strict().child(leaf(0)).child(strict().label("tenants").child(leaf(1).weight(0)))),
        "tree.tenants.0: weight = 0: expected a weight above 0"
    );
    assert_eq!(
        error(strict().child(leaf(0).label("web").child(leaf(1)))),
        "tree.web: child = { ... }: expected no children, since this is a leaf"
    );
    assert_eq!(
        error(strict().child(strict().takes([3..=9]).child(leaf(0)))),
        "tree.0: takes = [3..=9]: expected no values: only a leaf takes packets"
    );
    assert_eq!(
        error(strict().child(leaf(0).label("a")).child(leaf(1).label("a"))),
        "tree.a: label = \"a\": expected each child of a node once, but a sibling has the same label"
    );
    assert_eq!(
        error(strict().child(leaf(0)).child(Node::fifo().label("web"))),
        "tree.web: takes is missing: expected values of flow that this leaf takes, or the rest"
    );
    assert_eq!(
        error(strict().child(leaf(3)).child(Node::fifo().takes([0..=2, 3..=4]))),
        "tree.1: takes = 3: expected each flow in one leaf, but leaf 0 takes it as well"
    );
    assert_eq!(
        error(strict().child(Node::fifo().takes_the_rest()).child(Node::fifo().takes_the_rest())),
        "tree.1: takes = \"rest\": expected one such leaf, but leaf 0 takes the rest as well"
    );
}

#[test]
fn a_function_that_names_a_leaf_that_there_is_not_drops_the_packet() {
    let leaves = Node::inner(Discipline::Strict).child(Node::fifo()).child(Node::fifo());
    let mut tree = leaves.build_with(Box::new(|packet, _| Some(packet.size / 1_000))).unwrap();
    assert!(tree.enqueue(packet(0, 0, 1_500, 0), Time::ZERO).is_admitted());
    let outcome = tree.enqueue(packet(1, 0, 9_000, 0), Time::ZERO);
    assert!(matches!(outcome, Enqueued::Dropped { reason: DropReason::Admission, .. }), "{outcome:?}");
    assert_eq!(pop(&mut tree, 0).map(|packet| packet.id), Some(0));
}

#[test]
fn packets_are_sorted_by_flow_size_or_rank() {
    for (field, offers) in [
        (Field::Flow, [(5, 100, 9, Some(0)), (6, 100, 9, Some(1)), (70_000, 1, 1, Some(0)), (8, 5, 5, None)]),
        (Field::Size, [(0, 5, 9, Some(0)), (0, 1_500, 9, None), (0, 6, 1, Some(1)), (0, 70_000, 0, Some(0))]),
        (Field::Rank, [(0, 9, 5, Some(0)), (0, 9, 7, None), (0, 9, 6, Some(1)), (0, 9, 80_000, Some(0))]),
    ] {
        let mut tree = Node::inner(Discipline::Strict)
            .child(Node::fifo().takes([5..=5, 60_000..=90_000]))
            .child(Node::fifo().takes([6..=6]))
            .build_by(field)
            .unwrap();
        for (flow, size, rank, leaf) in offers {
            let offer = Packet { id: 0, flow, size, rank: Rank::from(rank), arrival: Time::ZERO };
            match (tree.enqueue(offer, Time::ZERO), leaf) {
                (Enqueued::Admitted { queue, .. }, Some(leaf)) => assert_eq!(queue, leaf, "{field:?}"),
                (Enqueued::Dropped { reason: DropReason::Admission, .. }, None) => {}
                (outcome, leaf) => panic!("{field:?}: {outcome:?}, expected leaf {leaf:?}"),
            }
        }
    }
}
