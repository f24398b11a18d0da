use super::*;
use pifolab_units::Rank;

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
        scheduler.bounds = Bounds::new([4, 5, 7]);
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
    scheduler.bounds = Bounds::new([9, 4]);
    assert_eq!(queues_of(&mut scheduler, &[1]), [Some(0)]);
    assert_eq!(bounds(&scheduler), [1, 0]);
}
