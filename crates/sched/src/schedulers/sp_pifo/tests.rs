use super::*;
use crate::schedulers::SpPifo;
use crate::{Enqueued, Inspect, InspectExt, Packet, Scheduler};
use pifolab_units::{Rank, Time};

fn packet(id: u64, rank: u32) -> Packet {
    Packet { id, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO }
}

fn bounds(scheduler: &SpPifo) -> Vec<i64> {
    (0..scheduler.queues()).filter_map(|queue| scheduler.queue_bound(queue)).collect()
}

/// Offers the ranks in order and returns the queue of each, `None` for a drop.
fn queues_of(scheduler: &mut SpPifo, ranks: &[u32]) -> Vec<Option<u32>> {
    let offer = |(id, rank): (usize, &u32)| match scheduler.enqueue(packet(id as u64, *rank), Time::ZERO) {
        Enqueued::Admitted { queue, .. } => Some(queue),
        _ => None,
    };
    ranks.iter().enumerate().map(offer).collect()
}

#[test]
fn reproduces_the_papers_figure_3() {
    let mut scheduler = SpPifo::new(SpPifoParams::uniform(2, 9)).unwrap();
    let queues = queues_of(&mut scheduler, &[3, 4, 1, 4, 5, 2, 1]);
    let expected = [1, 1, 0, 1, 1, 0, 0].map(Some);
    assert_eq!(queues, expected);
}

#[test]
fn an_inversion_pushes_every_other_bound_down() {
    for (push_down, expected) in [
        (PushDown::Cost, [2, 3, 5]),
        (PushDown::Rank, [2, 3, 5]),
        (PushDown::One, [2, 4, 6]),
        (PushDown::QueueBound, [2, 2, 5]),
        (PushDown::QueueBoundOld, [2, 4, 5]),
    ] {
        let params = SpPifoParams { push_down, ..SpPifoParams::uniform(3, 9) };
        let mut scheduler = SpPifo::new(params).unwrap();
        scheduler.decider.bounds = alloc::vec![4, 5, 7];
        assert_eq!(queues_of(&mut scheduler, &[2]), [Some(0)]);
        assert_eq!(bounds(&scheduler), expected, "{push_down:?}");
    }
}

#[test]
fn a_drop_moves_the_bounds_only_if_asked_to() {
    for (on_full, expected) in [(OnFull::Keep, 3), (OnFull::Update, 8)] {
        let mut scheduler = SpPifo::new(SpPifoParams { on_full, ..SpPifoParams::uniform(2, 1) }).unwrap();
        assert_eq!(queues_of(&mut scheduler, &[3, 8]), [Some(1), None]);
        assert_eq!(scheduler.queue_bound(1), Some(expected), "{on_full:?}");
    }
}

#[test]
fn clamped_bounds_stop_at_the_floor() {
    let params = SpPifoParams { clamp: Clamp::AtLeast(0), ..SpPifoParams::uniform(2, 9) };
    let mut scheduler = SpPifo::new(params).unwrap();
    scheduler.decider.bounds = alloc::vec![9, 4];
    assert_eq!(queues_of(&mut scheduler, &[1]), [Some(0)]);
    assert_eq!(bounds(&scheduler), [1, 0]);
}

/// The same bounds with room for everything: with on-full `update` they move alike.
#[test]
fn a_refused_packet_is_charged_to_the_queue_that_was_meant_for_it() {
    for push_down in [PushDown::Cost, PushDown::QueueBound, PushDown::QueueBoundOld, PushDown::Rank, PushDown::One] {
        for order in [Order::ScanFirst, Order::PushDownFirst] {
            let built = |packets| {
                let params = SpPifoParams::uniform(4, packets);
                SpPifo::new(SpPifoParams { push_down, order, on_full: OnFull::Update, ..params }).unwrap()
            };
            let (mut narrow, mut wide) = (built(2), built(1000));
            let (mut state, mut known, mut unknown) = (7u64, 0, 0);
            for _ in 0..500 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let rank = (state >> 58) as u32;
                let meant = queues_of(&mut wide, &[rank])[0];
                let queue = match queues_of(&mut narrow, &[rank])[0] {
                    None => narrow.refused_at(0, 1500, Rank::from(rank)),
                    taken => taken,
                };
                assert!(queue.is_none() || queue == meant, "{push_down:?}, {order:?}: {queue:?}, not {meant:?}");
                *(if queue.is_some() { &mut known } else { &mut unknown }) += 1;
                if state >> 40 & 1 == 0 {
                    let _ = narrow.dequeue(Time::ZERO);
                }
            }
            assert!(known > 400 && (unknown == 0 || order == Order::ScanFirst), "{unknown} are not known");
        }
    }
}
