//! Shares of siblings: fair nodes, deficit round robin, and a decider instead of a PIFO.

use super::{Draws, packet, pifo, pop};
use pifolab_sched::schedulers::{SpPifo, SpPifoParams};
use pifolab_sched::{Capacity, Enqueued, InspectExt, Packet, Scheduler};
use pifolab_tree::{Charge, Discipline, Node, Tree};
use pifolab_units::{Rank, Ratio, Time};

#[test]
fn with_arrivals_charged_a_child_that_sends_small_packets_first_pays_for_the_large_ones_that_came_first() {
    // The known limit of PIFO trees: the rank is computed at an arrival, when the packet that its index will send is
    // unknown.
    let first = Node::inner(Discipline::Strict)
        .child(Node::fifo().takes([0..=0]))
        .child(Node::fifo().takes([1..=1]).priority(1));
    let node = Node::inner(Discipline::Stfq).child(first).child(Node::fifo().takes([2..=2]));
    let mut tree = node.charge(Charge::Arrival).build().unwrap();
    for (id, (flow, size)) in (0..).zip([(1, 1_500); 20].into_iter().chain([(0, 100); 20]).chain([(2, 1_500); 40])) {
        assert!(tree.enqueue(packet(id, flow, size, 0), Time::ZERO).is_admitted());
    }
    let mut sent = [0u64; 3];
    for _ in 0..40 {
        let packet = pop(&mut tree, 0).unwrap();
        sent[packet.flow as usize] += u64::from(packet.size);
    }
    assert_eq!(sent, [20 * 100, 0, 20 * 1_500], "twenty of each, as if all had 1500 bytes");
    // Its payment returns: it is charged for small packets while it sends the large ones.
    for _ in 0..22 {
        let packet = pop(&mut tree, 0).unwrap();
        sent[packet.flow as usize] += u64::from(packet.size);
    }
    assert_eq!(sent, [20 * 100, 20 * 1_500, 22 * 1_500]);
}

#[test]
fn weights_hold_for_the_whole_range_of_time_and_of_virtual_time_whichever_packet_is_charged() {
    let hour = 3_600_000_000_000_000;
    for charge in [Charge::Departure, Charge::Arrival] {
        for (hours, weights) in [(0u64, [3u32, 1]), (9, [3, 1]), (500, [3, 7]), (1_000, [3, 1]), (5_100, [1, 1_000])] {
            let wall_clock = Discipline::WallClock { ps_per_byte: Ratio::new(8_000, 1).unwrap(), ticks_per_ps: 256 };
            // With the large packets, fair queueing sends 2^47 bytes at weights of a 65,536th: virtual times of 2^64.
            for (discipline, size) in [(wall_clock, 1_000), (Discipline::Stfq, 1_000), (Discipline::Stfq, 1 << 31)] {
                if size > 1_000 && hours > 1_000 {
                    continue;
                }
                let part = if size > 1_000 { 1 << 16 } else { 1 };
                let weight = |flow: u64| Ratio::new(weights[flow as usize].into(), part).unwrap();
                let leaf = |flow: u64| Node::fifo().takes([flow..=flow]).weight_of(weight(flow));
                let node = Node::inner(discipline).child(leaf(0)).child(leaf(1)).child(Node::fifo().takes_the_rest());
                let mut tree = node.charge(charge).build().unwrap();
                let mut now = 0;
                for busy in 0..if size > 1_000 { 64 } else { 4 } {
                    // A second passes even without a wait, in which the wall clock overtakes all sent packets.
                    now += (hours * hour / 4 + 1_000_000_000_000) * u64::from(busy < 4);
                    assert!(tree.enqueue(packet(9_999, 9, 10, now), Time::from_ps(now)).is_admitted());
                    for id in 0..2_002u64 {
                        let offer = packet(id, (id % 2) as u32, size, now);
                        assert!(tree.enqueue(offer, Time::from_ps(now)).is_admitted());
                    }
                    let mut sent = [0u64; 2];
                    for _ in 0..1_001 {
                        let packet = pop(&mut tree, now).unwrap();
                        if packet.flow < 2 {
                            sent[packet.flow as usize] += 1;
                        }
                    }
                    let [one, other] = weights.map(u64::from);
                    let gap = (sent[0] * other).abs_diff(sent[1] * one);
                    assert!(gap <= one + other, "{charge:?}, {hours} h: {sent:?} for {weights:?}");
                    while pop(&mut tree, now).is_some() {}
                }
            }
        }
    }
}

#[test]
fn deficit_round_robin_shares_by_bytes() {
    // Also packets of four gigabytes beside quanta of a fraction of a byte.
    for (scale, part) in [(1, 1), (2_800_000, u32::MAX)] {
        let leaf = |flow: u64, weight: u64| {
            Node::fifo().takes([flow..=flow]).weight_of(Ratio::new(weight, part.into()).unwrap())
        };
        for charge in [Charge::Departure, Charge::Arrival] {
            let node = Node::inner(Discipline::Drr { quantum_bytes: 500 });
            let mut tree = node.child(leaf(0, 3)).child(leaf(1, 1)).charge(charge).build().unwrap();
            for id in 0..600 {
                let (flow, size) = if id % 2 == 0 { (0, 1_500) } else { (1, 100) };
                assert!(tree.enqueue(packet(id, flow, size * scale, 0), Time::ZERO).is_admitted());
            }
            let mut sent = [0u64; 2];
            for _ in 0..300 {
                let packet = pop(&mut tree, 0).unwrap();
                sent[packet.flow as usize] += u64::from(packet.size);
            }
            assert!(!tree.kept().has_run_out);
            assert!(sent[0].abs_diff(3 * sent[1]) <= 3 * 1_500 * u64::from(scale), "{charge:?}: {sent:?}");
        }
    }
}

#[test]
fn a_tree_whose_rounds_run_out_says_so() {
    for charge in [Charge::Arrival, Charge::Departure] {
        let leaf =
            |flow: u64| Node::fifo().takes([flow..=flow]).weight_of(Ratio::new(1, u32::MAX.into()).expect("above 0"));
        let node = Node::inner(Discipline::Drr { quantum_bytes: 1 });
        let mut tree = node.child(leaf(0)).child(leaf(1)).charge(charge).build().unwrap();
        // A packet takes slightly less than 2^16 x 2^32 rounds of two ranks each.
        for id in 0..pifolab_testkit::steps(17_000, 16_500) {
            let packet = Packet { id, flow: 0, size: 65_535, rank: Rank::ZERO, arrival: Time::ZERO };
            assert!(tree.enqueue(packet, Time::ZERO).is_admitted());
            if id == 16_000 {
                assert!(!tree.kept().has_run_out);
            }
        }
        assert_eq!(tree.kept().has_run_out, charge == Charge::Arrival);
    }
}

#[test]
fn a_tree_that_charges_what_leaves_says_so_when_its_tags_run_out() {
    // Beside 2^16 children a tag has 111 bits, and a packet of 2^31 bytes costs a little less than 2^95.
    let most = u64::from(u32::MAX);
    let wall_clock = Discipline::WallClock { ps_per_byte: Ratio::new(most, 1).unwrap(), ticks_per_ps: 256 };
    let leaf = |flow: u64| Node::fifo().takes([flow..=flow]).weight_of(Ratio::new(1, most).unwrap());
    let node = (0..1 << 16).fold(Node::inner(wall_clock), |node, flow| node.child(leaf(flow)));
    let mut tree = node.build().unwrap();
    for id in 0..(1u64 << 16) + 2 {
        assert!(tree.enqueue(packet(id, 0, 1 << 31, 0), Time::ZERO).is_admitted());
        pop(&mut tree, 0).unwrap();
        if id == 1 << 15 {
            assert!(!tree.kept().has_run_out);
        }
    }
    assert!(tree.kept().has_run_out);
}

#[test]
fn a_decider_orders_children_in_the_place_of_a_pifo() {
    // SP-PIFO on child indices is first-in first-out with one queue. With many queues it approximates PIFO and
    // conserves packets.
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
