use super::*;
use crate::InspectExt;
use crate::params::Value;
use alloc::string::ToString;
use alloc::vec::Vec;
use pifolab_units::Bytes;
use proptest::prelude::*;

fn packet(id: u64, rank: u32, size: u32) -> Packet {
    Packet { id, flow: 0, size, rank: Rank::from(rank), arrival: Time::ZERO }
}

fn sent(pifo: &mut Pifo) -> Option<u64> {
    match pifo.dequeue(Time::ZERO) {
        Dequeued::Packet { packet, queue: 0 } => Some(packet.id),
        Dequeued::Empty => None,
        other => panic!("{other:?}"),
    }
}

fn victims(outcome: Enqueued) -> Vec<u64> {
    match outcome {
        Enqueued::Evicted { victims, .. } => victims.into_iter().map(|victim| victim.id).collect(),
        Enqueued::Admitted { .. } => Vec::new(),
        Enqueued::Dropped { packet, reason } => panic!("{packet:?} dropped: {reason}"),
    }
}

/// One PIFO per way of keeping order, all with first-in first-out ties.
fn variants(capacity: Capacity) -> [Pifo; 2] {
    [None, Some(100)].map(|ranks| Pifo::new(PifoParams { capacity, ranks, ..PifoParams::packets(1) }).unwrap())
}

/// Offers ranks in order to a buffer of `capacity` packets, then drains it: what is sent, by rank.
fn ranks_sent(capacity: u32, ranks: &[u32]) -> Vec<u32> {
    let mut pifo = Pifo::new(PifoParams::packets(capacity)).unwrap();
    for (id, rank) in ranks.iter().enumerate() {
        let _ = pifo.enqueue(packet(id as u64, *rank, 1), Time::ZERO);
    }
    core::iter::from_fn(|| sent(&mut pifo)).map(|id| ranks[id as usize]).collect()
}

#[test]
fn reproduces_the_aifo_papers_figure_2() {
    assert_eq!(ranks_sent(4, &[1, 4, 5, 1, 2, 2]), [1, 1, 2, 2]);
}

#[test]
fn reproduces_the_packs_papers_figure_2() {
    // The figure prints the first packet on the right.
    assert_eq!(ranks_sent(4, &[1, 4, 5, 2, 1, 2]), [1, 1, 2, 2]);
}

#[test]
fn full_buffer_pushes_out_the_highest_rank_and_among_equals_the_latest() {
    for mut pifo in variants(Capacity::Packets(3)) {
        for (id, rank) in [(0, 5), (1, 9), (2, 9)] {
            assert!(pifo.enqueue(packet(id, rank, 1), Time::ZERO).is_admitted());
        }
        // Equal to the highest: the arriving packet is the latest.
        assert_eq!(
            pifo.enqueue(packet(3, 9, 1), Time::ZERO),
            Enqueued::Dropped { packet: packet(3, 9, 1), reason: DropReason::Full }
        );
        assert_eq!(victims(pifo.enqueue(packet(4, 5, 1), Time::ZERO)), [2]);
        assert_eq!([(); 4].map(|()| sent(&mut pifo)), [Some(0), Some(4), Some(1), None]);
    }
}

#[test]
fn byte_capacity_pushes_out_until_the_arrival_fits() {
    for mut pifo in variants(Capacity::Bytes(1000)) {
        for (id, rank, size) in [(0, 1, 400), (1, 7, 300), (2, 8, 100), (3, 9, 200)] {
            assert!(pifo.enqueue(packet(id, rank, size), Time::ZERO).is_admitted());
        }
        assert_eq!(victims(pifo.enqueue(packet(4, 2, 250), Time::ZERO)), [3, 2]);
        assert_eq!(pifo.backlog(), Bytes(950));
        assert_eq!([(); 4].map(|()| sent(&mut pifo)), [Some(0), Some(4), Some(1), None]);
    }
}

#[test]
fn a_byte_capacity_pushes_out_packets_only_if_the_arrival_then_fits() {
    for mut pifo in variants(Capacity::Bytes(1000)) {
        for (id, rank, size) in [(0, 1, 900), (1, 7, 100)] {
            assert!(pifo.enqueue(packet(id, rank, size), Time::ZERO).is_admitted());
        }
        assert_eq!(
            pifo.enqueue(packet(2, 2, 101), Time::ZERO),
            Enqueued::Dropped { packet: packet(2, 2, 101), reason: DropReason::Full }
        );
        assert_eq!(
            pifo.enqueue(packet(3, 0, 1001), Time::ZERO),
            Enqueued::Dropped { packet: packet(3, 0, 1001), reason: DropReason::Full }
        );
        assert_eq!(pifo.len(), 2);
    }
}

#[test]
fn rank_outside_a_declared_rank_space_is_dropped_as_such() {
    let params = PifoParams { ranks: Some(8), ..PifoParams::packets(1) };
    let mut pifo = Pifo::new(params).unwrap();
    assert!(pifo.enqueue(packet(0, 7, 1), Time::ZERO).is_admitted());
    assert_eq!(
        pifo.enqueue(packet(1, 8, 1), Time::ZERO),
        Enqueued::Dropped { packet: packet(1, 8, 1), reason: DropReason::RankOutOfRange }
    );
}

#[test]
fn heap_ties_follow_the_array() {
    let mut pifo = Pifo::new(PifoParams { ties: Ties::Heap, ..PifoParams::packets(4) }).unwrap();
    for id in 0..4 {
        assert!(pifo.enqueue(packet(id, 0, 1), Time::ZERO).is_admitted());
    }
    // All equal: the arriving packet stands last in the array.
    assert_eq!(
        pifo.enqueue(packet(4, 0, 1), Time::ZERO),
        Enqueued::Dropped { packet: packet(4, 0, 1), reason: DropReason::Full }
    );
    assert_eq!([(); 4].map(|()| sent(&mut pifo)), [Some(0), Some(3), Some(2), Some(1)]);
}

#[test]
fn heap_ties_may_push_out_an_earlier_packet_of_the_arrivals_rank() {
    let mut pifo = Pifo::new(PifoParams { ties: Ties::Heap, ..PifoParams::packets(4) }).unwrap();
    // The array is 0:5, 1:9, 2:5, 3:9. Another 9 joins below entry 1 and is last; a 5 rises above packet 1 instead,
    // which takes the last place.
    for (id, rank) in [(0, 5), (1, 9), (2, 5), (3, 9)] {
        assert!(pifo.enqueue(packet(id, rank, 1), Time::ZERO).is_admitted());
    }
    assert!(!pifo.enqueue(packet(4, 9, 1), Time::ZERO).is_admitted());
    assert_eq!(victims(pifo.enqueue(packet(5, 5, 1), Time::ZERO)), [1]);
}

#[test]
fn parameters_that_contradict_each_other_are_refused() {
    let refused = |entries: &[(&str, Value)]| {
        let mut args = Args::new("pifo");
        for (name, value) in entries {
            args.set(*name, value.clone());
        }
        <Pifo>::build(args).unwrap_err().to_string()
    };
    let heap = ("ties", Value::Text("heap".into()));
    assert_eq!(
        refused(&[heap.clone(), ("capacity_bytes", Value::Integer(9))]),
        "pifo: ties = \"heap\": expected fifo where the capacity is in bytes"
    );
    assert_eq!(
        refused(&[heap, ("ranks", Value::Integer(9))]),
        "pifo: ties = \"heap\": expected fifo where ranks is given"
    );
    assert_eq!(
        refused(&[("ranks", Value::Integer(0))]),
        "pifo: ranks = 0: expected an integer from 1 to 16777216 (ranks)"
    );
}

proptest! {
    #![proptest_config(pifolab_testkit::cases(256))]

    #[test]
    fn a_declared_rank_space_changes_no_decision(
        bytes in any::<bool>(),
        ops in proptest::collection::vec(prop_oneof![3 => (0u32..100, 1u32..300).prop_map(Some), 2 => Just(None)], 0..300),
    ) {
        let [mut any, mut bounded] = variants(if bytes { Capacity::Bytes(900) } else { Capacity::Packets(7) });
        for (id, op) in ops.into_iter().enumerate() {
            match op {
                Some((rank, size)) => {
                    let offer = || packet(id as u64, rank, size);
                    prop_assert_eq!(any.enqueue(offer(), Time::ZERO), bounded.enqueue(offer(), Time::ZERO));
                }
                None => prop_assert_eq!(any.dequeue(Time::ZERO), bounded.dequeue(Time::ZERO)),
            }
            prop_assert_eq!(any.backlog(), bounded.backlog());
        }
    }
}

fn of_flow(id: u64, flow: u32, rank: u32) -> Packet {
    Packet { flow, ..packet(id, rank, 1) }
}

fn starvation_prevention(capacity: Capacity) -> Pifo {
    Pifo::new(PifoParams { capacity, starvation_prevention: true, ..PifoParams::packets(1) }).unwrap()
}

#[test]
fn with_starvation_prevention_the_flow_of_the_lowest_rank_sends_its_earliest_packet() {
    // Two flows by remaining size: the later a packet of a flow, the lower its rank.
    let offers = [of_flow(0, 7, 30), of_flow(1, 8, 25), of_flow(2, 7, 20), of_flow(3, 8, 15), of_flow(4, 7, 10)];
    let mut plain = Pifo::new(PifoParams::packets(8)).unwrap();
    let mut in_order = starvation_prevention(Capacity::Packets(8));
    for offer in &offers {
        assert!(plain.enqueue(offer.describe(Time::ZERO), Time::ZERO).is_admitted());
        assert!(in_order.enqueue(offer.describe(Time::ZERO), Time::ZERO).is_admitted());
    }
    let drain = |pifo: &mut Pifo| core::iter::from_fn(|| sent(pifo)).collect::<Vec<_>>();
    assert_eq!(drain(&mut plain), [4, 3, 2, 1, 0]);
    // Flow 7 holds rank 10 until all its packets have left.
    assert_eq!(drain(&mut in_order), [0, 2, 4, 1, 3]);
    assert!(in_order.is_empty());
}

#[test]
fn with_starvation_prevention_the_highest_rank_is_pushed_out_as_ever() {
    let mut pifo = starvation_prevention(Capacity::Packets(2));
    assert!(pifo.enqueue(of_flow(0, 1, 9), Time::ZERO).is_admitted());
    assert!(pifo.enqueue(of_flow(1, 1, 4), Time::ZERO).is_admitted());
    assert_eq!(victims(pifo.enqueue(of_flow(2, 2, 5), Time::ZERO)), [0]);
    assert!(matches!(
        pifo.enqueue(of_flow(3, 2, 5), Time::ZERO),
        Enqueued::Dropped { packet: Packet { id: 3, .. }, reason: DropReason::Full }
    ));
    // With a capacity in bytes, the packets above the arriving one make room together, whatever their order of arrival,
    // or none leaves.
    let mut pifo = starvation_prevention(Capacity::Bytes(30));
    for (id, rank) in [(0, 8), (1, 2), (2, 9)] {
        assert!(pifo.enqueue(packet(id, rank, 10), Time::ZERO).is_admitted());
    }
    assert!(matches!(pifo.enqueue(packet(3, 5, 21), Time::ZERO), Enqueued::Dropped { .. }));
    assert_eq!(victims(pifo.enqueue(packet(4, 5, 20), Time::ZERO)), [2, 0]);
}

#[test]
fn starvation_prevention_beside_heap_ties_or_a_rank_space_is_refused() {
    for params in [
        PifoParams { ties: Ties::Heap, ..PifoParams::packets(4) },
        PifoParams { ranks: Some(8), ..PifoParams::packets(4) },
    ] {
        let error = <Pifo>::new(PifoParams { starvation_prevention: true, ..params }).unwrap_err().to_string();
        assert!(error.starts_with("pifo: starvation_prevention = true: expected false where"), "{error}");
    }
}
