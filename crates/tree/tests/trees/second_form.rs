//! Compares policies with a second implementation of their rules, and trees with equivalent simpler ones.

use super::{Draws, packet, pop};
use pifolab_sched::schedulers::{
    Fifo, FifoParams, Packs, PacksParams, Pieo, PieoParams, Pifo, PifoParams, Scrr, ScrrParams, SpPifo, SpPifoParams,
};
use pifolab_sched::{Capacity, Enqueued, Inspect, InspectExt, Packet, Scheduler};
use pifolab_tree::{Charge, Discipline, Node, Policy, Tree};
use pifolab_units::{Rank, Ratio, Time};
use std::collections::VecDeque;
use std::fmt::Write as _;

/// The rules of policies in a second implementation, without inner PIFOs. Each pop computes the next child from the
/// state of the node and the packets below.
enum Second {
    Leaf { class: String, waiting: VecDeque<u64> },
    Strict { children: Vec<Second> },
    Turns { children: Vec<Second>, turn: usize },
    Fair { children: Vec<Share> },
}

/// A child of a fair node: its weight, its finish tag, and the ranks of its packets with the numbers of their pushes.
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

    /// Whether the packet was stored; `number` counts all packets.
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

/// A random policy of at most `leaves` leaves, whose classes count up from `first`.
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
        // Policies of depth 6 from seed 23 on have more than 50 leaves.
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
        let mut tree = Node::of_policy(&policy, Ratio::ONE, 2_520).charge(Charge::Arrival).build().unwrap();
        let mut second = Second::new(&policy);
        let (mut now, mut popped) = (0, 0);
        // Phases of arrivals and of departures, so that leaves fill and become empty. Times and sizes have few values,
        // so that ties occur.
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

/// A tree of `policy` in which some nodes are the only child of an added node.
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
        let charge = if seed % 2 == 0 { Charge::Departure } else { Charge::Arrival };
        let mut long = with_only_children(&policy, &mut Draws(seed), &mut 0).charge(charge).build().unwrap();
        // A capacity that is never reached disables the shortcut past nodes with one child in this tree.
        let bounded = with_only_children(&policy, &mut Draws(seed), &mut 0).capacity(Capacity::Packets(1 << 30));
        let mut bounded = bounded.charge(charge).build().unwrap();
        for queue in 0..leaves {
            assert_eq!(long.leaf_path(queue), bounded.leaf_path(queue));
        }
        for id in 0..3_000 {
            if draws.below(2) == 0 {
                // Without an eligible time, or with one in the past, which is equivalent.
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
        // Its behaviour depends on dequeues while it was empty.
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
        let arrival = Node::inner(Discipline::Stfq).child(Node::leaf(make())).charge(Charge::Arrival).build().unwrap();
        for mut tree in [bare, inside, arrival] {
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
