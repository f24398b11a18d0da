use super::*;
use crate::Periods;
use pifolab_units::{Rate, Span};

fn source(process: ArrivalProcess) -> Source {
    Source {
        process,
        sizes: Distribution::constant(1500).unwrap(),
        ranks: RankSource::drawn(Distribution::uniform(0, 99).unwrap()),
        flows: FlowAssignment::One(0),
        start: Time::ZERO,
        end: Time::ZERO + Span::from_s(1),
        packets: u64::MAX,
    }
}

fn cbr() -> Source {
    source(ArrivalProcess::ConstantBitRate { rate: Rate::from_gbps(11) })
}

#[test]
fn eleven_gigabits_for_a_second_are_916667_packets() {
    let arrivals: Vec<_> = cbr().stream(1, "s").unwrap().collect();
    assert_eq!(arrivals.len(), 916_667);
    assert_eq!(arrivals[0].time, Time::ZERO);
    // 11 packets last exactly 12 us.
    assert_eq!(arrivals[11 * 83_333].time, Time::ZERO + Span::from_us(12 * 83_333));
    assert_eq!(arrivals[1].time.as_ps(), 1_090_909);
}

#[test]
fn poisson_counts_have_the_mean_and_variance_of_their_rate() {
    let mut poisson = source(ArrivalProcess::Poisson { rate: Rate::from_gbps(12) });
    poisson.end = Time::ZERO + Span::from_s(2);
    // 12 Gb/s of 1500 B is one packet per microsecond: 1000 per millisecond on average, with variance 1000.
    let mut counts = vec![0u64; 2000];
    for arrival in poisson.stream(5, "s").unwrap() {
        counts[(arrival.time.as_ns() / 1_000_000) as usize] += 1;
    }
    let mean = counts.iter().sum::<u64>() as f64 / 2000.0;
    let variance = counts.iter().map(|&c| (c as f64 - mean).powi(2)).sum::<f64>() / 1999.0;
    // Five standard errors: sqrt(1000/2000) for the mean, 1000 sqrt(2/2000) for the variance.
    assert!((mean - 1000.0).abs() < 3.6, "{mean}");
    assert!((variance - 1000.0).abs() < 160.0, "{variance}");
}

#[test]
fn on_off_sources_are_silent_when_off_and_keep_their_mean_rate() {
    let (on, off) = (Span::from_us(30), Span::from_us(70));
    let on_off = |periods| source(ArrivalProcess::OnOff { peak: Rate::from_gbps(12), on, off, periods });
    let fixed: Vec<_> = on_off(Periods::Fixed).stream(1, "s").unwrap().collect();
    assert!(fixed.iter().all(|arrival| arrival.time.as_ns() % 100_000 < 30_000));
    assert_eq!(fixed.len(), 300_000);
    let random = on_off(Periods::Exponential).stream(1, "s").unwrap().count();
    assert!(random.abs_diff(300_000) < 15_000, "{random}");
}

#[test]
fn jittered_gaps_stay_within_their_bounds_and_keep_the_rate() {
    let jitter = "0.5".parse().unwrap();
    let arrivals: Vec<_> =
        source(ArrivalProcess::Jittered { rate: Rate::from_gbps(12), jitter }).stream(1, "s").unwrap().collect();
    let gaps = arrivals.windows(2).map(|pair| pair[1].time.since(pair[0].time).as_ps());
    assert!(gaps.clone().all(|gap| (500_000..=1_500_000).contains(&gap)));
    assert!(gaps.clone().min().unwrap() < 500_100 && gaps.max().unwrap() > 1_499_900);
    assert!(arrivals.len().abs_diff(1_000_000) < 1_500, "{}", arrivals.len());
}

#[test]
fn batches_arrive_at_once() {
    let times: Vec<_> = source(ArrivalProcess::Batches { packets: 3, period: Span::from_us(1) })
        .stream(1, "s")
        .unwrap()
        .take(7)
        .map(|arrival| arrival.time.as_ns())
        .collect();
    assert_eq!(times, [0, 0, 0, 1000, 1000, 1000, 2000]);
}

#[test]
fn a_schedule_changes_the_ranks_at_its_times() {
    let mut shifting = cbr();
    let phase = |us, value, shift| RankPhase {
        from: Time::ZERO + Span::from_us(us),
        ranks: Distribution::constant(value).unwrap(),
        shift,
    };
    shifting.ranks =
        RankSource::Drawn(vec![phase(0, 5, 0), phase(12, 5, 100), phase(13, 5, -6), phase(24, i64::MAX as u64, 1)]);
    let ranks: Vec<_> = shifting.stream(1, "s").unwrap().take(23).map(|arrival| arrival.rank.get()).collect();
    assert_eq!(ranks[..11], [5; 11]);
    assert_eq!(ranks[11], 105);
    assert_eq!(ranks[12..22], [0; 10]);
    assert_eq!(ranks[22], Rank::MAX.get());
}

#[test]
fn a_sequence_ends_the_stream_or_repeats() {
    let mut sequence = cbr();
    let ranks: Vec<_> = [3u32, 1, 2].map(Rank::from).to_vec();
    sequence.ranks = RankSource::Sequence { ranks: ranks.clone(), repeat: false };
    assert_eq!(sequence.stream(1, "s").unwrap().map(|arrival| arrival.rank).collect::<Vec<_>>(), ranks);
    sequence.ranks = RankSource::Sequence { ranks, repeat: true };
    let five: Vec<_> = sequence.stream(1, "s").unwrap().take(5).map(|arrival| arrival.rank.get()).collect();
    assert_eq!(five, [3, 1, 2, 3, 1]);
}

#[test]
fn the_same_seed_gives_the_same_packets_and_another_part_changes_no_draw() {
    let poisson = source(ArrivalProcess::Poisson { rate: Rate::from_gbps(10) });
    let packets = |source: &Source, seed| source.stream(seed, "s").unwrap().take(1000).collect::<Vec<_>>();
    assert_eq!(packets(&poisson, 1), packets(&poisson, 1));
    assert_ne!(packets(&poisson, 1), packets(&poisson, 2));
    let mut other = poisson.clone();
    other.flows = FlowAssignment::Drawn(Distribution::uniform(0, 9).unwrap());
    other.ranks = RankSource::drawn(Distribution::poisson(50.0).unwrap());
    let times = |source: &Source| packets(source, 1).iter().map(|arrival| arrival.time).collect::<Vec<_>>();
    assert_eq!(times(&poisson), times(&other));
}

#[test]
fn flows_take_turns() {
    let mut turns = cbr();
    turns.flows = FlowAssignment::RoundRobin { first: 4, count: 3 };
    let flows: Vec<_> = turns.stream(1, "s").unwrap().take(5).map(|arrival| arrival.flow).collect();
    assert_eq!(flows, [4, 5, 6, 4, 5]);
}

#[test]
fn a_source_keeps_to_its_time_and_its_number_of_packets() {
    let mut short = cbr();
    short.start = Time::ZERO + Span::from_us(10);
    short.packets = 5;
    let arrivals: Vec<_> = short.stream(1, "s").unwrap().collect();
    assert_eq!((arrivals.len(), arrivals[0].time), (5, short.start));
    short.end = short.start;
    assert_eq!(short.stream(1, "s").unwrap().next(), None);
}

#[test]
fn merged_sources_come_in_order_of_time_and_the_first_named_first() {
    let stream = |gbps, flow| {
        let mut one = source(ArrivalProcess::ConstantBitRate { rate: Rate::from_gbps(gbps) });
        one.flows = FlowAssignment::One(flow);
        one.packets = 3;
        one.stream(1, "s").unwrap()
    };
    let merged: Vec<_> = Merged::new([stream(6, 0), stream(12, 1)]).map(|a| (a.time.as_ns(), a.flow)).collect();
    assert_eq!(merged, [(0, 0), (0, 1), (1000, 1), (2000, 0), (2000, 1), (4000, 0)]);
}

#[test]
fn impossible_sources_are_refused() {
    let message = |change: &dyn Fn(&mut Source)| {
        let mut source = cbr();
        change(&mut source);
        source.stream(1, "s").unwrap_err().to_string()
    };
    let constant = |value| Distribution::constant(value).unwrap();
    assert_eq!(message(&|s| s.sizes = constant(0)), "sizes = 0 B: expected packets of 1 to 2^32 - 1 bytes");
    assert_eq!(
        message(&|s| s.sizes = constant(1 << 32)),
        "sizes = 4294967296 B: expected packets of 1 to 2^32 - 1 bytes"
    );
    assert_eq!(
        message(&|s| s.ranks = RankSource::Drawn(vec![])),
        "ranks = no phase at 0: expected a first phase that begins at 0"
    );
    let phase = |us| RankPhase { from: Time::ZERO + Span::from_us(us), ranks: constant(1), shift: 0 };
    assert_eq!(
        message(&|s| s.ranks = RankSource::Drawn(vec![phase(0), phase(2), phase(1)])),
        "ranks = a phase at 1 us after one at 2 us: expected phases in ascending order of time"
    );
    assert_eq!(
        message(&|s| s.ranks = RankSource::Sequence { ranks: vec![], repeat: true }),
        "ranks = an empty sequence: expected at least one rank"
    );
    assert_eq!(
        message(&|s| s.flows = FlowAssignment::RoundRobin { first: 0, count: 0 }),
        "flows = 0 flows: expected at least one flow"
    );
    assert_eq!(
        message(&|s| s.flows = FlowAssignment::RoundRobin { first: u32::MAX, count: 2 }),
        "flows = 2 flows from 4294967295: expected flows up to 2^32 - 1"
    );
    assert_eq!(
        message(&|s| s.flows = FlowAssignment::Drawn(constant(1 << 32))),
        "flows = flow 4294967296: expected flows up to 2^32 - 1"
    );
    assert_eq!(
        message(&|s| s.process = ArrivalProcess::Batches { packets: 0, period: Span::from_ps(1) }),
        "packets = 0: expected at least 1 packet per batch"
    );
}
