use super::*;
use crate::schedulers::SlackSp as Joined;
use crate::{Dequeued, InspectExt, Packet, Scheduler};
use alloc::string::ToString;
use pifolab_units::{Ratio, Time};

fn packet(rank: u64) -> Packet {
    Packet { id: 0, flow: 0, size: 1500, rank: Rank::saturating(rank), arrival: Time::ZERO }
}

/// Offers ranks 0 to 99 in a scattered order many times; each packet leaves at once.
fn settle(scheduler: &mut Joined, scale: u64) {
    for turn in 0..pifolab_testkit::steps(20_000, 300) {
        let _ = scheduler.enqueue(packet(turn * 37 % 100 * scale), Time::ZERO);
        let _ = scheduler.dequeue(Time::ZERO);
    }
}

#[test]
#[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
fn each_bound_settles_where_its_share_of_ranks_lies_below() {
    let mut scheduler: Joined = Joined::new(SlackSpParams::uniform(8, 10)).unwrap();
    settle(&mut scheduler, 1);
    for (queue, quantile) in [(1, 28), (2, 48), (3, 63), (4, 73), (5, 81), (6, 86), (7, 90)] {
        let bound = scheduler.queue_bound(queue).unwrap();
        assert!((bound - quantile).abs() <= 2, "queue {queue}: {bound}, not {quantile}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
fn proportional_steps_find_bounds_a_million_times_higher() {
    let params = SlackSpParams {
        steps: StepScale::Proportional,
        step: StepScale::Proportional.usual_step(),
        ..SlackSpParams::uniform(4, 10)
    };
    let mut scheduler: Joined = Joined::new(params).unwrap();
    settle(&mut scheduler, 1_000_000);
    for (queue, quantile) in [(1, 54), (2, 78), (3, 90)] {
        let bound = scheduler.queue_bound(queue).unwrap() / 1_000_000;
        assert!((bound - quantile).abs() <= 3, "queue {queue}: {bound}, not {quantile}");
    }
}

#[test]
fn a_full_queue_passes_packets_on_to_those_behind_it_unless_it_may_not() {
    for (fall_through, held) in [(true, 6), (false, 2)] {
        let params = SlackSpParams { fall_through, ..SlackSpParams::uniform(3, 2) };
        let mut scheduler: Joined = Joined::new(params).unwrap();
        (0..9).for_each(|_| drop(scheduler.enqueue(packet(0), Time::ZERO)));
        assert_eq!(scheduler.len(), held);
    }
}

#[test]
fn admission_refuses_high_ranks_before_the_buffer_is_full_and_none_once_it_is_empty() {
    let admission = SlackAdmission { gain: Ratio::ONE, target_packets: 2 };
    let params = SlackSpParams { admission: Some(admission), ..SlackSpParams::uniform(2, 10) };
    let mut scheduler: Joined = Joined::new(params).unwrap();
    let mut admits = |rank| scheduler.enqueue(packet(rank), Time::ZERO).is_admitted();
    (0..60).for_each(|turn| _ = admits(turn * 7 % 50));
    assert!(!admits(49) && admits(0));
    while matches!(scheduler.dequeue(Time::ZERO), Dequeued::Packet { .. }) {}
    // The limit rises by the two packets that are missing, at each arrival.
    for rank in core::iter::repeat_n(0, 40).chain([49, 60, 1000]) {
        assert!(scheduler.enqueue(packet(rank), Time::ZERO).is_admitted(), "{rank}");
        let _ = scheduler.dequeue(Time::ZERO);
    }
}

#[test]
fn it_goes_on_with_the_bounds_of_another_one_that_has_as_many_queues() {
    for queues in [2, 4, 5] {
        let mut after: Joined = Joined::new(SlackSpParams::uniform(queues, 10)).unwrap();
        let fresh = after.queue_bound(1);
        let mut before: Joined = Joined::new(SlackSpParams::uniform(4, 10)).unwrap();
        settle(&mut before, 1);
        let expected = if queues == 4 { before.queue_bound(1) } else { fresh };
        after.succeed(&mut before, Time::ZERO, &mut |_| {});
        assert_eq!(after.queue_bound(1), expected, "{queues} queues");
    }
}

#[test]
fn what_cannot_work_is_refused() {
    let said = |change: &dyn Fn(&mut SlackSpParams)| {
        let mut params = SlackSpParams::uniform(4, 10);
        change(&mut params);
        Joined::<Packet>::new(params).unwrap_err().to_string()
    };
    let bounds = said(&|params| params.initial_bounds.truncate(2));
    assert!(bounds.ends_with("expected 3 bounds, one fewer than there are queues"), "{bounds}");
    let eps = said(&|params| params.eps = Ratio::ZERO);
    assert!(eps.ends_with("expected a fraction above 0 and below 1, such as 0.1 or 1/10"), "{eps}");
    let step = said(&|params| params.step = Ratio::new(1, 1 << 30).unwrap());
    assert!(step.ends_with("expected a number of ranks, 1/524288 or more"), "{step}");
    let share = said(&|params| {
        params.steps = StepScale::Proportional;
        params.step = Ratio::ONE;
    });
    assert!(share.ends_with("expected a share of the bound below 1 and not below 2^-31"), "{share}");
}

/// With other registers that follow quantiles, and other packets that are remembered.
fn shares_with(registers: u32, recent: u32) -> SlackSpParams {
    let mut params = shares(4, 10);
    let shares = params.shares.as_mut().unwrap();
    (shares.registers, shares.recent) = (registers, recent);
    params
}

#[test]
fn with_shares_a_buffer_of_billions_of_places_can_be_made() {
    let mut params = shares(512, 1 << 24);
    let shares = params.shares.as_mut().unwrap();
    (shares.registers, shares.top_registers) = (64, 63);
    assert!(SlackSp::from_params(params).is_ok());
}

fn shares(queues: usize, packets: u32) -> SlackSpParams {
    let last_weight = Ratio::new(3, 5).unwrap();
    let gain = Ratio::new(2, 1).unwrap();
    let shares = SlackShares { registers: 14, top_registers: 6, gain, last_weight, recent: 3, ranks: 100 };
    SlackSpParams { shares: Some(shares), ..SlackSpParams::uniform(queues, packets) }
}

#[test]
#[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
fn with_shares_an_empty_buffer_gives_each_queue_its_share_of_the_ranks() {
    let mut scheduler: Joined = Joined::new(shares(4, 20)).unwrap();
    settle(&mut scheduler, 1);
    // Weights 1, .843, .711, .6: quantiles up to .317, .584, .81, 1.
    for (queue, rank) in [(0, 31), (1, 58), (2, 80)] {
        let bound = scheduler.queue_bound(queue).unwrap();
        assert!((bound - rank).abs() <= 1, "queue {queue}: up to {bound}, not {rank}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
fn with_shares_registers_find_ranks_that_are_a_million_times_higher() {
    let mut params = shares(4, 20);
    params.shares.as_mut().unwrap().ranks = 200_000_000;
    let mut scheduler: Joined = Joined::new(params).unwrap();
    settle(&mut scheduler, 1_000_000);
    for (queue, rank) in [(0, 31), (1, 58), (2, 80)] {
        let bound = scheduler.queue_bound(queue).unwrap() / 1_000_000;
        assert!((bound - rank).abs() <= 1, "queue {queue}: up to {bound}, not {rank}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
fn with_shares_what_waits_refuses_the_highest_ranks_first() {
    let mut scheduler: Joined = Joined::new(shares(2, 10)).unwrap();
    settle(&mut scheduler, 1);
    let mut admits = |rank| scheduler.enqueue(packet(rank), Time::ZERO).is_admitted();
    assert!((0..12).all(|_| admits(0)), "all but eight of twenty places");
    assert!(!admits(60) && admits(40), "eight of twenty, over four fifths");
    assert!((0..6).all(|_| admits(0)));
    assert!(!admits(40) && admits(0) && !admits(0), "19 of 20, then all");
}

#[test]
fn with_shares_a_packet_that_finds_nothing_waiting_is_admitted_whatever_came_before() {
    for seed in 1..=pifolab_testkit::steps(400, 4) {
        let mut scheduler: Joined = Joined::new(shares(1 + seed as usize % 9, 1 + seed as u32 % 5)).unwrap();
        // Two to five arrivals for each departure, until much is refused.
        for turn in 0..seed * 10 {
            let _ = scheduler.enqueue(packet(turn * turn * seed % 100), Time::ZERO);
            if turn % (2 + seed % 4) == 0 {
                let _ = scheduler.dequeue(Time::ZERO);
            }
        }
        while !scheduler.is_empty() {
            let _ = scheduler.dequeue(Time::ZERO);
        }
        assert!(scheduler.enqueue(packet(1_000_000), Time::ZERO).is_admitted(), "after {seed}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
fn with_shares_a_burst_makes_the_shares_of_the_queues_grow() {
    let mut scheduler: Joined = Joined::new(shares(2, 400)).unwrap();
    settle(&mut scheduler, 1);
    let before = scheduler.queue_bound(0).unwrap();
    // One departure for four arrivals.
    for turn in 0..60 {
        let _ = scheduler.enqueue(packet(turn * 37 % 100), Time::ZERO);
        if turn % 4 == 0 {
            let _ = scheduler.dequeue(Time::ZERO);
        }
    }
    let after = scheduler.queue_bound(0).unwrap();
    assert!(before >= 60 && (29..=34).contains(&after), "up to {before}, in a burst up to {after}");
}

#[test]
#[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
fn with_shares_lasting_overload_leaves_a_queue_for_each_part_of_what_the_link_carries() {
    let mut scheduler: Joined = Joined::new(shares(8, 10)).unwrap();
    for turn in 0..40_000 {
        let _ = scheduler.enqueue(packet(turn * 37 % 100), Time::ZERO);
        if turn % 2 == 0 {
            let _ = scheduler.dequeue(Time::ZERO);
        }
    }
    // Half of the ranks are carried: six queues share them as 1 - 10^(-k/6) does, two the rest.
    for (queue, rank) in [(0, 15), (1, 26), (2, 33), (3, 38), (4, 42), (5, 44)] {
        let bound = scheduler.queue_bound(queue).unwrap();
        assert!((bound - rank).abs() <= 3, "queue {queue}: up to {bound}, not {rank}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
fn with_shares_a_packet_goes_before_no_queue_of_its_own_when_those_behind_are_full() {
    let mut scheduler: Joined = Joined::new(shares(8, 10)).unwrap();
    for turn in 0..40_000 {
        let _ = scheduler.enqueue(packet(turn * 37 % 100), Time::ZERO);
        if turn % 2 == 0 {
            let _ = scheduler.dequeue(Time::ZERO);
        }
    }
    while !scheduler.is_empty() {
        let _ = scheduler.dequeue(Time::ZERO);
    }
    let mut places = [0; 8];
    for _ in 0..80 {
        if let crate::Enqueued::Admitted { queue, .. } = scheduler.enqueue(packet(41), Time::ZERO) {
            places[queue as usize] += 1;
        }
    }
    // The first queues are those of ranks up to 15, 26 and 33; the fourth may take 41 once many have come.
    assert_eq!(places[..3], [0; 3]);
    assert_eq!(places[4..], [10; 4]);
    assert!(scheduler.enqueue(packet(10), Time::ZERO).is_admitted());
}

#[test]
#[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
fn with_shares_registers_follow_ranks_that_rise_by_their_range_in_a_hundred_packets() {
    let mut scheduler: Joined = Joined::new(shares(4, 20)).unwrap();
    settle(&mut scheduler, 1);
    for turn in 0..2000 {
        assert!(scheduler.enqueue(packet(turn + turn * 37 % 100), Time::ZERO).is_admitted());
        let _ = scheduler.dequeue(Time::ZERO);
    }
    let bound = scheduler.queue_bound(1).unwrap();
    assert!((2000..2100).contains(&bound), "ranks are from 2000 to 2099, not about {bound}");
}

#[test]
fn with_shares_few_packets_leave_in_the_order_of_their_ranks() {
    // Any three ranks, whatever came before, as long as queues between them are left.
    for first in (0..100).step_by(7) {
        for second in (0..100).step_by(9) {
            let mut scheduler: Joined = Joined::new(shares(8, 10)).unwrap();
            let _ = scheduler.enqueue(packet(first), Time::ZERO);
            let queue = |outcome| match outcome {
                crate::Enqueued::Admitted { queue, .. } => queue,
                other => panic!("{other:?}"),
            };
            let before = queue(scheduler.enqueue(packet(first), Time::ZERO));
            let after = queue(scheduler.enqueue(packet(second), Time::ZERO));
            assert!(second < first || after >= before, "{first} in {before}, then {second} in {after}");
            assert!(second >= first || after < before || before == 0, "{first} in {before}, then {second} in {after}");
        }
    }
}

#[test]
fn with_shares_it_goes_on_where_another_one_stopped() {
    let mut before: Joined = Joined::new(shares(4, 10)).unwrap();
    settle(&mut before, 1);
    let mut state = Vec::new();
    before.visit_state(&mut |number| state.push(number));
    let mut after: Joined = Joined::new(shares(5, 10)).unwrap();
    after.succeed(&mut before, Time::ZERO, &mut |_| {});
    let mut resumed = Vec::new();
    after.visit_state(&mut |number| resumed.push(number));
    // After their number, 14 registers and their counter stand three packets, which other queues say nothing about.
    let recent = 16..16 + 2 * 3;
    assert_ne!(state.drain(recent.clone()).as_slice(), resumed.drain(recent).as_slice());
    assert_eq!(state, resumed);
    assert_eq!(state.len(), 16 + 4);
    // As many numbers in all, of which others are registers.
    let mut other: Joined = Joined::new(shares_with(16, 2)).unwrap();
    let fresh = other.queue_bound(0);
    other.succeed(&mut before, Time::ZERO, &mut |_| {});
    assert_eq!(other.queue_bound(0), fresh);
}

#[test]
fn with_shares_what_cannot_work_is_refused() {
    let said = |change: &dyn Fn(&mut SlackSpParams)| {
        let mut params = shares(4, 10);
        change(&mut params);
        Joined::<Packet>::new(params).unwrap_err().to_string()
    };
    let top = said(&|params| params.shares.as_mut().unwrap().top_registers = 14);
    assert_eq!(top, "slack-sp: top_registers = 14: expected at least 1 and fewer than registers = 14");
    let weight = said(&|params| params.shares.as_mut().unwrap().last_weight = Ratio::new(2, 1).unwrap());
    assert_eq!(weight, "slack-sp: last_weight = 2: expected a fraction above 0, at most 1");
    let gain = said(&|params| params.shares.as_mut().unwrap().gain = Ratio::new(65, 1).unwrap());
    assert_eq!(gain, "slack-sp: gain = 65: expected a number from 1/65536 to 64");
    let bytes = said(&|params| params.capacities = alloc::vec![Capacity::Bytes(3000); 4]);
    assert!(bytes.ends_with("map = shares counts places: expected queue_capacity_packets"), "{bytes}");
}
