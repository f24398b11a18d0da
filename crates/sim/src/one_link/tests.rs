use super::*;
use pifolab_sched::Capacity;
use pifolab_sched::schedulers::{Fifo, FifoParams};
use pifolab_testkit::Double;
use pifolab_units::Rank;
use pifolab_workload::{ArrivalProcess, Distribution, FlowAssignment, RankSource, Source};

fn fifo(packets: u32) -> Fifo {
    Fifo::new(FifoParams { capacity: Capacity::Packets(packets) }).unwrap()
}

fn link(equal_times: EqualTimesOnLink, end: End) -> OneLink {
    OneLink { rate: Rate::from_gbps(8), rounding: Rounding::UpToPicosecond, equal_times, end }
}

/// At 8 Gb/s a byte takes a nanosecond.
fn arrivals(list: &[(u64, u32)]) -> impl Iterator<Item = Arrival> {
    let arrival = |&(ns, bytes): &(u64, u32)| Arrival { time: Time::from_ns(ns), bytes, rank: Rank::ZERO, flow: 0 };
    list.iter().map(arrival)
}

/// Records events.
#[derive(Default)]
struct Log(Vec<(u64, char, u64)>);

impl Observer for Log {
    fn on_admit(&mut self, _: PortId, packet: PacketView, _: u32, _: &dyn Inspect, now: Time) {
        self.0.push((now.as_ns(), '+', packet.id));
    }
    fn on_drop(&mut self, _: PortId, packet: PacketView, _: Loss, _: &dyn Inspect, now: Time) {
        self.0.push((now.as_ns(), 'x', packet.id));
    }
    fn on_dequeue(&mut self, _: PortId, packet: PacketView, _: u32, _: &dyn Inspect, now: Time) {
        self.0.push((now.as_ns(), '-', packet.id));
    }
}

fn log(equal_times: EqualTimesOnLink, end: End, capacity: u32, list: &[(u64, u32)]) -> (Vec<(u64, char, u64)>, Totals) {
    let mut log = Log::default();
    let totals = link(equal_times, end).run(arrivals(list), &mut fifo(capacity), &mut log);
    (log.0, totals)
}

#[test]
fn the_packet_on_the_wire_is_not_in_the_buffer() {
    // Capacity 1: packet 0 is on the wire, packet 1 waits, packet 2 finds the buffer full.
    let (log, totals) = log(EqualTimesOnLink::DeparturesFirst, End::Drain, 1, &[(0, 100), (10, 100), (20, 100)]);
    assert_eq!(log, [(0, '+', 0), (0, '-', 0), (10, '+', 1), (20, 'x', 2), (100, '-', 1)]);
    assert_eq!(totals.busy, Span::from_ns(200));
    assert_eq!(totals.end, Time::from_ns(200));
    assert_eq!((totals.sent.packets, totals.dropped.packets, totals.waiting.packets), (2, 1, 0));
}

#[test]
fn at_equal_times_the_departure_makes_room_or_comes_too_late() {
    let list = [(0, 100), (10, 100), (100, 100)];
    let (departure_first, _) = log(EqualTimesOnLink::DeparturesFirst, End::Drain, 1, &list);
    assert_eq!(departure_first[3..], [(100, '-', 1), (100, '+', 2), (200, '-', 2)]);
    let (arrival_first, _) = log(EqualTimesOnLink::ArrivalsFirst, End::Drain, 1, &list);
    assert_eq!(arrival_first[3..], [(100, 'x', 2), (100, '-', 1)]);
}

#[test]
fn a_batch_reaches_an_idle_port_packet_by_packet_or_as_a_whole() {
    let list = [(5, 100), (5, 100), (5, 100)];
    let (departure_first, _) = log(EqualTimesOnLink::DeparturesFirst, End::Drain, 2, &list);
    assert_eq!(departure_first[..4], [(5, '+', 0), (5, '-', 0), (5, '+', 1), (5, '+', 2)]);
    let (arrival_first, _) = log(EqualTimesOnLink::ArrivalsFirst, End::Drain, 2, &list);
    assert_eq!(arrival_first[..4], [(5, '+', 0), (5, '+', 1), (5, 'x', 2), (5, '-', 0)]);
}

#[test]
fn the_horizon_cuts_before_events_at_its_instant() {
    let list = [(0, 100), (10, 100), (200, 100)];
    let (log, totals) = log(EqualTimesOnLink::DeparturesFirst, End::Horizon(Time::from_ns(100)), 5, &list);
    assert_eq!(log, [(0, '+', 0), (0, '-', 0), (10, '+', 1)]);
    assert_eq!(totals.waiting, Count { packets: 1, bytes: 100 });
    assert_eq!((totals.busy, totals.end), (Span::from_ns(100), Time::from_ns(100)));
    let half = link(EqualTimesOnLink::DeparturesFirst, End::Horizon(Time::from_ns(50))).run(
        arrivals(&list),
        &mut fifo(5),
        &mut (),
    );
    assert_eq!(half.busy, Span::from_ns(50));
}

#[test]
fn a_run_without_arrivals_ends_at_once() {
    let (log, totals) = log(EqualTimesOnLink::DeparturesFirst, End::Drain, 1, &[]);
    assert!(log.is_empty());
    assert_eq!(totals, Totals { trace_hash: 0, ..Totals::default() });
}

#[test]
fn a_scheduler_that_asks_to_wait_is_asked_again_then() {
    let mut log = Log::default();
    let mut shaper = Double::new().holding(|packet| packet.arrival + Span::from_ns(30));
    link(EqualTimesOnLink::DeparturesFirst, End::Drain).run(arrivals(&[(0, 10), (20, 10)]), &mut shaper, &mut log);
    assert_eq!(log.0, [(0, '+', 0), (20, '+', 1), (30, '-', 0), (50, '-', 1)]);
}

#[test]
#[should_panic(expected = "an arrival at 5 ns after an event at 10 ns")]
fn arrivals_that_go_back_in_time_are_our_bug() {
    let _ = log(EqualTimesOnLink::DeparturesFirst, End::Drain, 5, &[(10, 1), (5, 1)]);
}

fn packs_source(end: Time) -> Source {
    Source {
        process: ArrivalProcess::ConstantBitRate { rate: Rate::from_gbps(11) },
        sizes: Distribution::constant(1500).unwrap(),
        ranks: RankSource::drawn(Distribution::uniform(0, 99).unwrap()),
        flows: FlowAssignment::One(0),
        start: Time::ZERO,
        end,
        packets: u64::MAX,
    }
}

#[test]
fn eleven_into_ten_gigabits_loses_one_packet_in_eleven() {
    let end = Time::ZERO + Span::from_us(100_000);
    let run = OneLink {
        rate: Rate::from_gbps(10),
        rounding: Rounding::UpToPicosecond,
        equal_times: EqualTimesOnLink::DeparturesFirst,
        end: End::Horizon(end),
    };
    let totals = run.run(packs_source(end).stream(1, "source-0").unwrap(), &mut fifo(80), &mut ());
    // 0.1 s at 11 Gb/s in packets of 1500 B, and at 10 Gb/s out of them; the link is never idle.
    assert_eq!(totals.arrived.packets, 91_667);
    assert_eq!(totals.sent.packets, 83_334);
    assert_eq!(totals.busy, Span::from_us(100_000));
    // The last arrival (at 99,999.27 us) fills the buffer of 80, the last departure (at 99,999.6 us) takes one out.
    assert_eq!(totals.waiting.packets, 79);
    assert_eq!(totals.dropped.packets, 91_667 - 83_334 - 79);
}

#[test]
fn the_same_seed_gives_the_same_hash_and_another_one_another() {
    let end = Time::ZERO + Span::from_us(1_000);
    let hash = |seed| {
        let run = OneLink { rate: Rate::from_gbps(10), ..link(EqualTimesOnLink::DeparturesFirst, End::Drain) };
        run.run(packs_source(end).stream(seed, "source-0").unwrap(), &mut fifo(80), &mut ()).trace_hash
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

/// Mean waiting time in the queue at 8 Gb/s, in nanoseconds.
#[derive(Default)]
struct Waits {
    total: f64,
    packets: f64,
}

impl Observer for Waits {
    fn on_dequeue(&mut self, _: PortId, packet: PacketView, _: u32, _: &dyn Inspect, now: Time) {
        self.total += now.since(packet.arrival).as_ps() as f64 / 1e3;
        self.packets += 1.0;
    }
}

fn mean_wait(sizes: Distribution) -> f64 {
    let source = Source {
        process: ArrivalProcess::Poisson { rate: Rate::from_bps(5_600_000_000).unwrap() },
        sizes,
        packets: 1_000_000,
        ..packs_source(Time::MAX)
    };
    let mut waits = Waits::default();
    let run = link(EqualTimesOnLink::DeparturesFirst, End::Drain);
    run.run(source.stream(7, "source-0").unwrap(), &mut fifo(1 << 20), &mut waits);
    waits.total / waits.packets
}

#[test]
fn deterministic_and_exponential_service_wait_as_theory_says() {
    // Pollaczek-Khinchine at load 0.7: W = rho / (2 (1 - rho)) (1 + c^2) x mean service time.
    // Constant 1000 B (1000 ns): 1166.7 ns. Geometric sizes of mean 1000 B stand in for the exponential: c^2 is 1
    // but for a thousandth, W = 2333 ns. A million packets put the sampling error near 1 % (waits are correlated over
    // about 1 / (1 - rho)^2 packets); 4 % is over three of its standard deviations.
    let constant = mean_wait(Distribution::constant(1000).unwrap());
    assert!((constant / 1166.7 - 1.0).abs() < 0.04, "M/D/1: {constant}");
    let weights: Vec<(u64, u64)> =
        (1..16_000).map(|size| (size, (1e15 * (1.0 - 1e-3_f64).powi(size as i32)) as u64)).collect();
    let exponential = mean_wait(Distribution::histogram(&weights).unwrap());
    assert!((exponential / 2333.3 - 1.0).abs() < 0.04, "M/M/1: {exponential}");
}
