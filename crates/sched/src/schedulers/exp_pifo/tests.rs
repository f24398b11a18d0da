use super::*;
use crate::schedulers::ExpPifo;
use crate::{Enqueued, InspectExt, Packet, Scheduler};
use alloc::string::ToString;
use pifolab_units::Time;

fn offer(scheduler: &mut ExpPifo, rank: u64) -> Option<u32> {
    let packet = Packet { id: 0, flow: 0, size: 100, rank: Rank::saturating(rank), arrival: Time::ZERO };
    match scheduler.enqueue(packet, Time::ZERO) {
        Enqueued::Admitted { queue, .. } => Some(queue),
        _ => None,
    }
}

fn build(change: impl FnOnce(&mut ExpPifoParams)) -> ExpPifo {
    let mut params = ExpPifoParams::uniform(3, 1000);
    change(&mut params);
    ExpPifo::new(params).unwrap()
}

/// Three queues; six packets of at most rank 45, then one of rank 200. The figure's exponent lies above the highest
/// rank: it rounds up.
#[test]
fn reproduces_the_papers_figure_2() {
    let mut scheduler = build(|params| {
        params.beta = BetaRounding::Ceil;
        params.mapping = Mapping::Bounds;
    });
    for rank in [1, 5, 8, 20, 32, 45] {
        assert!(offer(&mut scheduler, rank).is_some());
    }
    assert_eq!(scheduler.decider.beta(), 6, "2^6 = 64 is the first power of two above 45");
    assert_eq!([0, 1, 2].map(|queue| scheduler.queue_bound(queue)), [Some(1), Some(8), None]);
    assert_eq!(offer(&mut scheduler, 200), Some(2));
    assert_eq!(scheduler.decider.beta(), 8, "2^8 = 256");
    assert_eq!([0, 1, 2].map(|queue| scheduler.queue_bound(queue)), [Some(1), Some(16), None]);
    assert_eq!([1, 16, 17].map(|rank| offer(&mut scheduler, rank)), [0, 1, 2].map(Some));
}

#[test]
fn the_logarithm_is_exact_for_any_r_min() {
    for r_min in [1, 3, 1500, (1 << 40) + 1, Rank::MAX.get()] {
        let scheduler = build(|params| params.r_min = r_min);
        assert_eq!(scheduler.decider.log_floor(0), 0);
        for power in 0..63u32 {
            let Some(edge) = r_min.checked_mul(1 << power).filter(|edge| *edge <= Rank::MAX.get()) else { break };
            assert_eq!(scheduler.decider.log_floor(edge), power);
            assert_eq!(scheduler.decider.log_floor(edge - 1), power.saturating_sub(1));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "builds 254 tables of powers: minutes under Miri, which sees the same in one")]
fn the_two_mappings_differ_for_25_of_127_ranks() {
    let queues = |mapping| {
        (1..=127u64).map(move |rank| {
            // Short queues, because the test makes 254 schedulers.
            let params = ExpPifoParams { mapping, ..ExpPifoParams::uniform(3, 2) };
            let mut scheduler = ExpPifo::new(params).unwrap();
            assert!(offer(&mut scheduler, 127).is_some(), "sets beta to 6");
            offer(&mut scheduler, rank)
        })
    };
    let comment = queues(Mapping::Comment { beta0: BetaZero::First });
    assert_eq!(comment.zip(queues(Mapping::Bounds)).filter(|(a, b)| a != b).count(), 25);
}

#[test]
fn the_window_restarts_the_exponent_at_the_rank_of_the_packet_that_ends_it() {
    for (reset, expected) in [(Reset::Gt, [6, 6, 1, 3]), (Reset::Ge, [6, 1, 3, 3])] {
        let mut scheduler = build(|params| (params.window, params.reset) = (2, reset));
        let betas = [64, 2, if reset == Reset::Gt { 2 } else { 8 }, 8].map(|rank| {
            let _ = offer(&mut scheduler, rank);
            scheduler.decider.beta()
        });
        assert_eq!(betas, expected);
    }
}

#[test]
fn ranks_below_twice_r_min_go_where_beta0_says_until_a_higher_one_comes() {
    for (beta0, queue) in [(BetaZero::First, 0), (BetaZero::Last, 2)] {
        let mut scheduler = build(|params| (params.r_min, params.mapping) = (10, Mapping::Comment { beta0 }));
        assert_eq!([0, 10, 19].map(|rank| offer(&mut scheduler, rank)), [Some(queue); 3]);
        assert_eq!(offer(&mut scheduler, 20), Some(2));
    }
}

#[test]
fn one_queue_takes_everything() {
    for mapping in
        [Mapping::Comment { beta0: BetaZero::First }, Mapping::Comment { beta0: BetaZero::Last }, Mapping::Bounds]
    {
        let mut scheduler = build(|params| {
            params.capacities.truncate(1);
            params.mapping = mapping;
        });
        assert_eq!([0, 1, Rank::MAX.get()].map(|rank| offer(&mut scheduler, rank)), [Some(0); 3]);
    }
}

#[test]
fn the_highest_rank_has_a_place_under_every_option() {
    for beta in [BetaRounding::Floor, BetaRounding::Ceil] {
        for mapping in [Mapping::Comment { beta0: BetaZero::First }, Mapping::Bounds] {
            let mut scheduler = build(|params| (params.beta, params.mapping) = (beta, mapping));
            assert_eq!(offer(&mut scheduler, Rank::MAX.get()), Some(2));
        }
    }
}

#[test]
fn bounds_for_too_many_queues_are_refused() {
    let mut params = ExpPifoParams::uniform(33, 1);
    params.mapping = Mapping::Bounds;
    let error = <ExpPifo>::new(params).unwrap_err();
    assert_eq!(error.to_string(), "exp-pifo: queues = 33: expected at most 32 queues with mapping = bounds");
}
