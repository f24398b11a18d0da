//! Packets held, refused and pushed out: packets are conserved, and the limits of nodes are kept.

use super::{Draws, packet, pifo, pop};
use pifolab_sched::schedulers::{Fifo, FifoParams, Packs, PacksParams, Pieo, PieoParams};
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Inspect, InspectExt, Packet, Scheduler};
use pifolab_tree::{Discipline, Node, TokenBucket, Tree};
use pifolab_units::{Bytes, Rank, Rate, Ratio, Time};
use std::collections::BTreeMap;

/// Leaves with small buffers of several kinds below nodes of several kinds, some with limits.
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
    // The contents of each queue, from the outcomes only.
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
            }
        }
    }
    let counts = [sent, refused, evicted, waited];
    assert!(counts.iter().all(|count| *count > 1_000), "sent, refused, pushed out, waited: {counts:?}");
    // The remaining packets leave.
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
    // Two leaves of three packets each, in turn. Refused packets must not use up the turns of the second leaf.
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
        // A single child gets alpha / (1 + alpha) of the buffer; each of n children gets alpha / (1 + n alpha).
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
        // The other child arrives, the first one drains to its new limit, and both fill up again in turns.
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
    // A PIFO leaf of two packets and a FIFO leaf, ordered by the packets' ranks at arrival: indices 5 a, 3 a, 4 b. The
    // arrival of rank 1 pushes out the packet of rank 5. Index 1 a is added, and index 5 a, the last of a, is removed.
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
