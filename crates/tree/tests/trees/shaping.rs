//! Nodes shaped to a rate, and the instants at which a tree can send.

use super::{Draws, packet, pifo, pop};
use pifolab_sched::schedulers::{Pieo, PieoParams};
use pifolab_sched::{Capacity, Dequeued, Scheduler};
use pifolab_tree::{Charge, Discipline, Node, TokenBucket, Tree};
use pifolab_units::{Bytes, Rate, Time};

#[test]
fn a_shaped_node_is_held_to_its_rate_while_others_go_on() {
    // 8 Mb/s: a byte takes a microsecond. The shaped child has the higher priority.
    let bucket = TokenBucket { rate: Rate::from_bps(8_000_000).unwrap(), burst: Bytes(1_000) };
    let mut tree = Node::inner(Discipline::Strict)
        .child(Node::fifo().takes([0..=0]).shaped(bucket))
        .child(Node::fifo().takes([1..=1]).priority(1))
        .charge(Charge::Arrival)
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
    // Two releases are due at the same time: both leave, one after the other.
    assert_eq!(pop(&mut tree, us(3_000)).unwrap().id, 2);
    assert_eq!(pop(&mut tree, us(3_000)).unwrap().id, 3);
    assert_eq!(tree.dequeue(Time::from_ps(us(3_000))), Dequeued::Empty);
}

/// The output of a 1 Gb/s link for a shaped class (0) and another one (1): the start of each packet, and the idle time
/// while packets wait.
struct Sent {
    starts: Vec<(u64, u32, u32)>,
    idle_with_backlog: u64,
    /// The number of instants that the tree returned and at which nothing else happened.
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
                    // Once: the returned instant is that of a packet, and the packet leaves then.
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
        // All packets of the shaped class for 20 ms at its rate are present from the start.
        let packets = mbps * 20_000 / 8 / u64::from(size);
        let backlog: Vec<_> = (0..packets).map(|_| (0, 0, size)).collect();
        let sent = serve(&mut tree_of(bucket), &backlog);
        let bytes = |starts: &[(u64, u32, u32)]| starts.iter().map(|(_, _, bytes)| u64::from(*bytes)).sum::<u64>();
        // The bytes above the rate that left from one start to another, including the last packet.
        let (mut largest, most) = (0, burst.max(size.into()));
        for from in 0..sent.starts.len() {
            let mut total = 0;
            for (start, _, bytes) in &sent.starts[from..] {
                total += u64::from(*bytes);
                let allowed = mbps * (start - sent.starts[from].0) / 8_000_000;
                largest = largest.max(total.saturating_sub(allowed));
            }
        }
        // Rounded to whole bytes. The rate continues during a burst, so a link of 1 Gb/s shows only a part of it.
        let shown = most * (1_000 - mbps) / 1_000;
        assert!(largest <= most + 1 && largest + u64::from(size) > shown, "{mbps} Mb/s: a burst of {largest} bytes");
        let last = sent.starts.last().unwrap().0;
        let expected = (bytes(&sent.starts) - burst) * 8_000_000 / mbps;
        assert!(
            last.abs_diff(expected) <= u64::from(size) * 8_000_000 / mbps,
            "{mbps} Mb/s: ends at {last} ps, expected {expected}"
        );
        // At other times nothing may leave: the link is idle, and wakes once per packet after the burst.
        let busy = bytes(&sent.starts[..sent.starts.len() - 1]) * 8_000;
        assert_eq!(sent.idle_with_backlog + busy, last, "{mbps} Mb/s");
        let in_burst = sent.starts.windows(2).filter(|pair| pair[1].0 == pair[0].0 + u64::from(size) * 8_000).count();
        let at_once = usize::from(sent.starts[0].0 == 0);
        assert_eq!(sent.wakes + in_burst + at_once, sent.starts.len());

        // Next to a class that always has packets, the link is never idle, and a released packet waits for at most one
        // of them.
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
        .charge(Charge::Arrival)
        .build()
        .unwrap()
}

fn mbps(mbps: u64, burst: u64) -> TokenBucket {
    TokenBucket { rate: Rate::from_bps(mbps * 1_000_000).unwrap(), burst: Bytes(burst) }
}

#[test]
fn a_port_above_shapers_inside_shapers_wakes_once_for_each_packet() {
    // The inner nodes release packets more than twice as fast as the outer one.
    let tenant = |flow: u64, rate| Node::fifo().takes([flow..=flow]).shaped(mbps(rate, 1_500));
    for charge in [Charge::Departure, Charge::Arrival] {
        let tenants = Node::inner(Discipline::Stfq).child(tenant(0, 300)).child(tenant(1, 200));
        let node = Node::inner(Discipline::Strict).child(tenants.shaped(mbps(220, 2_000)));
        let mut tree = node.charge(charge).build().unwrap();
        let arrivals: Vec<_> = (0..400).map(|number| (0, number % 2, 1_000 + 13 * (number % 7))).collect();
        // `serve` panics if nothing leaves at an instant that the tree has returned.
        let sent = serve(&mut tree, &arrivals);
        assert_eq!(sent.starts.len(), 400);
        assert!(sent.wakes > 390, "{} wakes", sent.wakes);
        let bytes: u64 = sent.starts.iter().map(|(_, _, bytes)| u64::from(*bytes)).sum();
        let last = sent.starts[399].0;
        assert!((bytes - 2_000) * 8_000_000 / 220 <= last + 1_100 * 8_000_000 / 220, "faster than the outer rate");
    }
}

#[test]
fn a_port_above_a_shaped_pieo_wakes_when_packet_and_bucket_are_ready() {
    let pieo =
        || Box::new(<Pieo>::new(PieoParams { capacity: Capacity::Unlimited }).unwrap()) as Box<dyn Scheduler + Send>;
    // 8 Mb/s: a byte takes a microsecond.
    let leaf = Node::leaf(pieo()).takes([0..=0]).shaped(mbps(8, 1_000));
    let mut tree = Node::inner(Discipline::Strict).child(leaf).charge(Charge::Arrival).build().unwrap();
    let us = |us: u64| Time::from_ns(us * 1_000);
    for (id, eligible) in [(0, 2_700), (1, 500), (2, 3_000)] {
        assert!(tree.enqueue_eligible(packet(id, 0, 1_000, 0), us(eligible), Time::ZERO).is_admitted());
    }
    // Indices are released at 0, 1 ms and 2 ms. The first packet that is ready for one of them is that of 0.5 ms.
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
    let mut tree = Node::inner(Discipline::Strict).child(leaf).charge(Charge::Arrival).build().unwrap();
    let us = |us: u64| Time::from_ns(us * 1_000);
    for id in 0..4 {
        assert!(tree.enqueue_eligible(packet(id, 0, 1_000, 0), us(9_000), Time::ZERO).is_admitted());
    }
    // Indices are released every millisecond, with one dequeue each time.
    for now in 0..9 {
        assert_eq!(tree.dequeue(us(1_000 * now)), Dequeued::NotBefore(us(9_000)));
    }
    let sent: Vec<u64> = (0..4).map(|_| pop(&mut tree, 9_000_000_000).unwrap().id).collect();
    assert_eq!(sent, [0, 1, 2, 3]);
    assert_eq!(tree.dequeue(us(9_000)), Dequeued::Empty);
}

/// A random tree in which any node may be shaped; some leaves hold packets back themselves.
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
        // Few rates and sizes, so that releases coincide.
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
            let charge = if seed % 2 == 0 { Charge::Departure } else { Charge::Arrival };
            random_holding(&mut Draws(seed), 1 + (seed % 5) as u32, &mut flows).charge(charge).build().unwrap()
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
                    // Dequeues of the twin in between, at random times and just before the returned instant.
                    let between = now.as_ps() + draws.below((time.as_ps() - now.as_ps()).min(1 << 31));
                    // Usually the instant is reached; sometimes a packet arrives before.
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
