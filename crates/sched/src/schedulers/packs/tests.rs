use super::*;
use crate::params::{Args, Value};
use crate::schedulers::{Aifo, AifoParams, Packs, Update};
use crate::{Dequeued, Enqueued, Inspect, InspectExt, Packet, Queued, Scheduler};
use alloc::string::ToString;
use pifolab_units::{Ratio, Time};
use proptest::prelude::*;

fn packet(id: u64, rank: u32, size: u32) -> Packet {
    Packet { id, flow: 0, size, rank: Rank::from(rank), arrival: Time::ZERO }
}

/// Offers the ranks in order and returns the queue of each, or why it was dropped.
fn queues_of(packs: &mut Packs, ranks: &[u32]) -> Vec<Result<u32, DropReason>> {
    let offer = |(id, rank): (usize, &u32)| match packs.enqueue(packet(id as u64, *rank, 1), Time::ZERO) {
        Enqueued::Admitted { queue, .. } => Ok(queue),
        Enqueued::Dropped { reason, .. } => Err(reason),
        Enqueued::Evicted { .. } => panic!("nothing is pushed out"),
    };
    ranks.iter().enumerate().map(offer).collect()
}

fn next_rank(scheduler: &mut impl Scheduler) -> Option<u64> {
    match scheduler.dequeue(Time::ZERO) {
        Dequeued::Packet { packet, .. } => Some(packet.rank.get()),
        _ => None,
    }
}

fn ranks(window: &[u32]) -> Vec<Rank> {
    window.iter().copied().map(Rank::from).collect()
}

/// Equations 1 and 10 for a batch whose distribution is known: the largest bound q_i whose quantile (lower or equal)
/// times the size of the batch fits in queues 1 to i.
fn static_bounds(batch: &[u32], capacities: &[usize]) -> Vec<u32> {
    let up_to = |rank: u32| batch.iter().filter(|other| **other <= rank).count();
    let mut space = 0;
    let bound = |capacity: &usize| {
        space += capacity;
        (0..=9).rev().find(|rank| up_to(*rank) <= space).expect("no rank of the batch is 0")
    };
    capacities.iter().map(bound).collect()
}

/// The static bounds of a known batch: the highest rank of each queue.
struct StaticBounds {
    bounds: Vec<u32>,
}

registers!(StaticBounds {} and { bounds });

impl Decider for StaticBounds {
    fn decide(&mut self, packet: Arriving, _queues: &[Room]) -> Result<usize, DropReason> {
        self.bounds.iter().position(|bound| packet.rank.get() <= u64::from(*bound)).ok_or(DropReason::Admission)
    }
}

#[test]
fn reproduces_the_papers_figures_2_and_5_with_static_bounds() {
    // The figures print the first packet on the right. A = |W| = 6, two queues of two packets.
    let batch = [1, 4, 5, 2, 1, 2];
    let bounds = static_bounds(&batch, &[2, 2]);
    // Rank 3 does not occur: r_drop may be 3 as printed or 4.
    assert_eq!(bounds, [1, 3]);
    let mut scheduler = <Queued<_>>::with_decider(StaticBounds { bounds }, &[Capacity::Packets(2); 2]);
    let mut dropped = Vec::new();
    for (id, rank) in batch.into_iter().enumerate() {
        match scheduler.enqueue(packet(id as u64, rank, 1), Time::ZERO) {
            Enqueued::Dropped { reason, .. } => dropped.push((rank, reason)),
            outcome => assert!(outcome.is_admitted()),
        }
    }
    let sent: Vec<u64> = core::iter::from_fn(|| next_rank(&mut scheduler)).collect();
    assert_eq!(sent, [1, 1, 2, 2]);
    assert_eq!(dropped, [(4, DropReason::Admission), (5, DropReason::Admission)]);
}

#[test]
fn takes_the_first_queue_whose_share_covers_the_quantile() {
    // Window 0..7 held, four queues of two: rank r has quantile r/8, queue i passes up to i/4 of free space.
    let params = PacksParams { update: Update::After, ..PacksParams::uniform(4, 2, 8) };
    let params = PacksParams { start_window: ranks(&[0, 1, 2, 3, 4, 5, 6, 7]), ..params };
    for (rank, queue) in [(0, 0), (2, 0), (3, 1), (4, 1), (5, 2), (6, 2), (7, 3), (8, 3)] {
        let mut packs = Packs::new(params.clone()).unwrap();
        assert_eq!(queues_of(&mut packs, &[rank]), [Ok(queue)], "rank {rank}");
    }
}

#[test]
fn full_queue_falls_through_to_the_next_unless_told_not_to() {
    for (fall_through, third) in [(true, Ok(1)), (false, Err(DropReason::Full))] {
        let params = PacksParams { fall_through, ..PacksParams::uniform(2, 2, 4) };
        let mut packs = Packs::new(params).unwrap();
        assert_eq!(queues_of(&mut packs, &[1, 1, 1]), [Ok(0), Ok(0), third]);
    }
}

#[test]
fn drop_says_whether_the_test_or_the_room_was_missing() {
    let mut packs = Packs::new(PacksParams::uniform(2, 1, 4)).unwrap();
    let outcomes = queues_of(&mut packs, &[1, 1, 1, 9]);
    assert_eq!(outcomes, [Ok(0), Ok(1), Err(DropReason::Full), Err(DropReason::Admission)]);
    assert_eq!(packs.refused_at(0, 1, Rank::from(9)), None, "no queue's test passed");
    assert_eq!(queues_of(&mut packs, &[1]), [Err(DropReason::Full)]);
    assert_eq!(packs.refused_at(0, 1, Rank::from(1)), Some(0), "the first whose test passed");
}

#[test]
fn global_occupancy_gives_queue_i_its_share_of_all_free_space() {
    // Two queues of two; one packet waits in queue 0, so 3/4 is free: queue 0 passes up to 3/8, queue 1 up to 3/4.
    let params = PacksParams {
        occupancy: Occupancy::Global,
        update: Update::After,
        start_window: ranks(&[0, 1, 2, 3, 4, 5, 6, 7]),
        ..PacksParams::uniform(2, 2, 8)
    };
    let mut packs = Packs::new(params.clone()).unwrap();
    let _ = packs.enqueue(packet(0, 0, 1), Time::ZERO);
    // The window is now 1..7 and 0, so the quantiles are the same.
    assert_eq!(packs.queue_bound(0), Some(3));
    assert_eq!(packs.queue_bound(1), Some(6));
    // Per queue: 1/4 and 3/4.
    let mut exact = Packs::new(PacksParams { occupancy: Occupancy::PerQueue, ..params }).unwrap();
    let _ = exact.enqueue(packet(0, 0, 1), Time::ZERO);
    assert_eq!(exact.queue_bound(0), Some(2));
    assert_eq!(exact.queue_bound(1), Some(6));
}

#[test]
fn queue_bounds_end_at_the_highest_rank_seen() {
    let mut packs = Packs::new(PacksParams::uniform(2, 2, 4)).unwrap();
    assert_eq!(packs.queue_bound(1), Some(0));
    let _ = packs.enqueue(packet(0, 6, 1), Time::ZERO);
    assert_eq!(packs.queue_bound(0), Some(6));
    assert_eq!(packs.queue_bound(2), None);
}

#[test]
fn shift_moves_the_window_and_not_the_packet() {
    let params = |shift| PacksParams {
        shift,
        update: Update::After,
        start_window: ranks(&[0, 10, 20, 30]),
        ..PacksParams::uniform(4, 1, 4)
    };
    for (shift, queue) in [(0, Ok(1)), (15, Ok(0)), (-15, Ok(2)), (-100, Ok(3))] {
        let mut packs = Packs::new(params(shift)).unwrap();
        assert_eq!(queues_of(&mut packs, &[15]), [queue], "shift {shift}");
    }
}

#[test]
fn byte_capacities_are_tested_in_bytes() {
    let params = PacksParams { capacities: alloc::vec![Capacity::Bytes(1000); 2], ..PacksParams::uniform(1, 1, 4) };
    let mut packs = Packs::new(params).unwrap();
    let mut offer = |rank, size| match packs.enqueue(packet(0, rank, size), Time::ZERO) {
        Enqueued::Admitted { queue, .. } => Ok(queue),
        Enqueued::Dropped { reason, .. } => Err(reason),
        Enqueued::Evicted { .. } => panic!("nothing is pushed out"),
    };
    assert_eq!(offer(5, 900), Ok(0));
    // Quantile 0 passes everywhere, but queue 0 has room for 100 bytes only.
    assert_eq!(offer(5, 101), Ok(1));
    // Two of three ranks are lower, and 2/3 is above both 100/2000 and 999/2000.
    assert_eq!(offer(6, 1), Err(DropReason::Admission));
    assert_eq!(offer(1, 900), Err(DropReason::Full));
    assert_eq!(offer(1, 899), Ok(1));
}

#[test]
fn bad_parameters_are_named() {
    let refused = |name: &str, value: Value| {
        let mut args = Args::new("packs");
        args.set(name, value);
        <Packs>::build(args).unwrap_err().to_string()
    };
    assert_eq!(
        refused("window", Value::Integer(-5)),
        "packs: window = -5: expected an integer from 1 to 16777216 (ranks)"
    );
    assert_eq!(
        refused("occupancy", Value::Text("globall".into())),
        "packs: occupancy = \"globall\": expected one of per-queue, global; did you mean global?"
    );
    assert_eq!(refused("fall_through", Value::Integer(1)), "packs: fall_through = 1: expected true or false");
}

/// A configuration of PACKS and the AIFO that Theorems 2 and 3 compare it with.
fn pair(capacities: &[u32], window: u32, k: Ratio) -> (Packs, Aifo) {
    let packs = PacksParams {
        capacities: capacities.iter().copied().map(Capacity::Packets).collect(),
        k,
        ..PacksParams::uniform(1, 1, window)
    };
    let aifo = AifoParams { window, k, ..AifoParams::packets(capacities.iter().sum()) };
    (Packs::new(packs).unwrap(), Aifo::new(aifo).unwrap())
}

proptest! {
    #![proptest_config(pifolab_testkit::cases(256))]

    /// Theorem 2, dequeues included.
    #[test]
    fn drops_exactly_what_aifo_drops(
        capacities in proptest::collection::vec(1u32..6, 1..6),
        window in 1u32..40,
        k in 0u64..10,
        ops in proptest::collection::vec(prop_oneof![3 => (0u32..30).prop_map(Some), 2 => Just(None)], 0..400),
    ) {
        let (mut packs, mut aifo) = pair(&capacities, window, Ratio::new(k, 10).unwrap());
        for (id, op) in ops.into_iter().enumerate() {
            match op {
                Some(rank) => {
                    let outcome = |enqueued| match enqueued {
                        Enqueued::Dropped { reason, .. } => Some(reason),
                        _ => None,
                    };
                    let packs = outcome(packs.enqueue(packet(id as u64, rank, 1), Time::ZERO));
                    prop_assert_eq!(packs, outcome(aifo.enqueue(packet(id as u64, rank, 1), Time::ZERO)));
                }
                None => prop_assert_eq!(next_rank(&mut packs).is_some(), next_rank(&mut aifo).is_some()),
            }
        }
    }

    /// Theorem 3 where it holds: everything is enqueued, then drained. Inversions of the highest priority are counted
    /// for each of its packets: the packets of higher rank that leave before it.
    #[test]
    fn a_batch_inverts_the_highest_priority_no_more_than_aifo_does(
        capacities in proptest::collection::vec(1u32..6, 1..6),
        window in 1u32..40,
        k in 0u64..10,
        batch in proptest::collection::vec(0u32..12, 1..80),
    ) {
        fn inversions(scheduler: &mut impl Scheduler, batch: &[u32]) -> usize {
            for (id, rank) in batch.iter().enumerate() {
                let _ = scheduler.enqueue(packet(id as u64, *rank, 1), Time::ZERO);
            }
            let sent: Vec<u64> = core::iter::from_fn(|| next_rank(scheduler)).collect();
            let best = u64::from(*batch.iter().min().expect("a batch is not empty"));
            let before = |at: usize| sent[..at].iter().filter(|rank| **rank > best).count();
            (0..sent.len()).filter(|at| sent[*at] == best).map(before).sum()
        }
        let (mut packs, mut aifo) = pair(&capacities, window, Ratio::new(k, 10).unwrap());
        prop_assert!(inversions(&mut packs, &batch) <= inversions(&mut aifo, &batch));
    }
}

/// Theorem 3 where it does not hold: the dequeue makes room in queue 1 before the second packet of rank 0, which had to
/// take queue 2; the packet of rank 1 then overtakes it.
#[test]
fn interleaved_dequeues_break_theorem_3() {
    fn sent(mut scheduler: impl Scheduler) -> Vec<u64> {
        let mut sent = Vec::new();
        for op in [Some(0), Some(0), None, Some(1), None, None] {
            match op {
                Some(rank) => assert!(scheduler.enqueue(packet(0, rank, 1), Time::ZERO).is_admitted()),
                None => sent.extend(next_rank(&mut scheduler)),
            }
        }
        sent
    }
    let (packs, aifo) = pair(&[1, 1], 2, Ratio::ZERO);
    assert_eq!(sent(packs), [0, 1, 0]);
    assert_eq!(sent(aifo), [0, 0, 1]);
}

/// What section 6.1 says of Fig. 11: a window shifted by -100 drops every packet, which "at most" cannot do.
#[test]
fn a_quantile_of_one_passes_an_empty_buffer_unless_it_must_be_below() {
    for below in [false, true] {
        let params = PacksParams { shift: -100, below, ..PacksParams::uniform(2, 2, 4) };
        let mut packs = Packs::new(params).unwrap();
        let packet = Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(50), arrival: Time::ZERO };
        assert_eq!(packs.enqueue(packet, Time::ZERO).is_admitted(), !below);
    }
}
