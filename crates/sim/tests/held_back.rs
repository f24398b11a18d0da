//! Schedulers that hold packets back or drop them at dequeue behave alike at the port of one link and at ports of a
//! network, in each order of equal times.

use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Held, Inspect, Packet, Scheduler};
use pifolab_sim::equal_times::EqualTimesOnLink;
use pifolab_sim::network::{Config, EqualTimes, Flow, Network, PortConfig, RunResult, Topology};
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_sim::one_link::{End, OneLink};
use pifolab_testkit::Double;
use pifolab_transport::TransportParams;
use pifolab_transport::udp::UdpParams;
use pifolab_tree::{Discipline, Node, TokenBucket, Tree};
use pifolab_units::{Bytes, Rank, Rate, Rounding, Span, Time};
use pifolab_workload::Arrival;

const ORDERS: [EqualTimes; 3] = [EqualTimes::DeparturesFirst, EqualTimes::Insertion, EqualTimes::NetbenchBatch];

const fn us(us: u64) -> Time {
    Time::from_ns(1_000 * us)
}

fn at_once(packet: &Packet) -> Time {
    packet.arrival
}

fn never(_: &Packet) -> Option<DropReason> {
    None
}

/// Those that arrive at odd microseconds.
fn at_odd_times(packet: &Packet) -> Option<DropReason> {
    (packet.arrival.as_ps() / 1_000_000 % 2 == 1).then_some(DropReason::Admission)
}

/// Datagram n, 1000 B on the wire, is at the switch n + 1 us after the start; the switch sends at 4 Gb/s, 2 us for each, over
/// 5 us of wire.
fn run<O: Observer>(
    datagrams: u64,
    order: EqualTimes,
    from: fn(&Packet) -> Time,
    given_up: fn(&Packet) -> Option<DropReason>,
    observer: &mut O,
) -> RunResult {
    let mut topology = Topology { hosts: 2, nodes: 3, links: Vec::new() };
    topology.connect(0, 2, Rate::from_gbps(8), Span::ZERO);
    topology.connect(1, 2, Rate::from_gbps(4), Span::from_us(5));
    let transport = TransportParams::udp(UdpParams { payload_bytes: 960, interval: Span::from_us(1) });
    let ports = PortConfig::scheduler(move |_| Box::new(Double::new().holding(from).giving_up(given_up)));
    let mut config = Config::new(topology, transport, ports, us(1_000));
    config.host_port = PortConfig::drop_tail(Capacity::Unlimited);
    config.equal_times = order;
    let flow = Flow { id: 0, src: 0, dst: 1, bytes: 960 * datagrams, start: Time::ZERO };
    Network::new(config).unwrap().run(&[flow], observer).unwrap()
}

#[test]
fn a_packet_that_may_not_leave_yet_leaves_when_it_may_though_nobody_looks_at_the_port_then() {
    for order in ORDERS {
        // Each 10 us after its arrival: the first from 11 us on, the others behind it.
        let result = run(5, order, |packet| packet.arrival + Span::from_us(10), never, &mut ());
        assert_eq!(result.flows[0].fct, Some(Span::from_us(11 + 5 * 2 + 5)), "{order:?}");
        // The first goes at once, from 1 to 3 us, and is at the far end at 8 us. The second may leave from 4 us on, and
        // between 3 us and 8 us nothing else happens at the port.
        let second = |packet: &Packet| if packet.arrival == us(2) { us(4) } else { packet.arrival };
        let result = run(2, order, second, never, &mut ());
        assert_eq!(result.flows[0].fct, Some(Span::from_us(4 + 2 + 5)), "{order:?}");
    }
}

#[test]
fn a_port_has_one_timer_however_many_packets_arrive_meanwhile() {
    for order in ORDERS {
        let free = run(10, order, at_once, never, &mut ()).counters.events;
        let held = run(10, order, |_| us(50), never, &mut ());
        assert_eq!(held.flows[0].fct, Some(Span::from_us(50 + 10 * 2 + 5)));
        assert_eq!(held.counters.events, free + 1, "{order:?}");
    }
}

#[test]
fn an_earlier_instant_takes_the_place_of_a_later_one() {
    for order in ORDERS {
        let free = run(2, order, at_once, never, &mut ()).counters.events;
        // The timer is set to 100 us, then to 20 us, then to 100 us again.
        let from = |packet: &Packet| if packet.arrival == us(1) { us(100) } else { us(20) };
        let result = run(2, order, from, never, &mut ());
        assert_eq!(result.flows[0].fct, Some(Span::from_us(100 + 2 + 5)));
        assert_eq!(result.counters.events, free + 2, "{order:?}");
    }
}

/// Counts what was lost, and how.
#[derive(Default)]
struct Losses {
    refused: u64,
    given_up: Vec<(Time, DropReason)>,
}

impl Observer for Losses {
    fn on_drop(&mut self, _: PortId, _: PacketView, loss: Loss, _: &dyn Inspect, now: Time) {
        if loss.admitted {
            assert_eq!(loss.queue, Some(0));
            self.given_up.push((now, loss.reason));
        } else {
            self.refused += 1;
        }
    }
}

#[test]
fn packets_may_be_given_up_when_they_should_leave_for_any_reason() {
    // Ten packets arrive from 1 us on; those of 1, 3, 5, 7 and 9 us are dropped at dequeue. The first of the others
    // arrives at an idle port at 2 us; it is on the wire until 4 us, and so on.
    let expected = [1, 4, 6, 8, 10].map(|time| (us(time), DropReason::Admission));
    for order in ORDERS {
        let mut losses = Losses::default();
        let result = run(10, order, at_once, at_odd_times, &mut losses);
        assert_eq!((losses.refused, &losses.given_up[..]), (0, &expected[..]), "{order:?}");
        assert_eq!(result, run(10, order, at_once, at_odd_times, &mut ()));
        let port = result.ports.iter().find(|port| port.dropped() > 0).unwrap();
        assert_eq!((port.arrived_packets, port.sent_packets, port.dropped_bytes), (10, 5, 5_000));
        assert_eq!(port.dropped_packets[DropReason::Admission as usize], 5);
        assert_eq!((result.counters.dropped, result.counters.delivered), (5, 5));
    }

    let arrivals = (1..=10).map(|n| Arrival { time: us(n), bytes: 1_000, rank: Rank::ZERO, flow: 0 });
    let link = OneLink {
        rate: Rate::from_gbps(4),
        rounding: Rounding::UpToPicosecond,
        equal_times: EqualTimesOnLink::DeparturesFirst,
        end: End::Drain,
    };
    let mut losses = Losses::default();
    let mut scheduler = Double::new().giving_up(at_odd_times);
    let totals = link.run(arrivals, &mut scheduler, &mut losses);
    assert_eq!((losses.refused, &losses.given_up[..]), (0, &expected[..]));
    assert_eq!((totals.dropped.packets, totals.dropped.bytes, totals.sent.packets), (5, 5_000, 5));
    assert_eq!((totals.waiting.packets, totals.busy), (0, Span::from_us(10)));
}

/// Counts the times at which nothing could leave.
struct Asked(Tree, u64);

impl Scheduler for Asked {
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        self.0.enqueue(packet, now)
    }
    fn dequeue(&mut self, now: Time) -> Dequeued {
        let answer = self.0.dequeue(now);
        self.1 += u64::from(matches!(answer, Dequeued::NotBefore(_)));
        answer
    }
}

impl Inspect for Asked {
    fn held(&self, queue: Option<usize>) -> Held {
        self.0.held(queue)
    }
    fn capacity(&self) -> Capacity {
        self.0.capacity()
    }
}

#[test]
fn a_port_of_shapers_inside_shapers_wakes_once_for_each_packet() {
    let bucket = |mbps: u64| TokenBucket { rate: Rate::from_bps(mbps * 1_000_000).unwrap(), burst: Bytes(1_500) };
    let user = |flow: u64, mbps| Node::fifo().takes([flow..=flow]).shaped(bucket(mbps));
    let tenant = Node::inner(Discipline::RoundRobin).child(user(0, 300)).child(user(1, 200)).shaped(bucket(230));
    let tree = Node::inner(Discipline::Strict).child(tenant).build().unwrap();
    let link = OneLink {
        rate: Rate::from_gbps(1),
        rounding: Rounding::UpToPicosecond,
        equal_times: EqualTimesOnLink::DeparturesFirst,
        end: End::Drain,
    };
    let arrivals = (0..500).map(|n| Arrival { time: Time::ZERO, bytes: 700 + n, rank: Rank::ZERO, flow: n % 2 });
    let mut scheduler = Asked(tree, 0);
    let totals = link.run(arrivals, &mut scheduler, &mut ());
    assert_eq!(totals.sent.packets, 500);
    // After each answer that nothing may leave, one packet leaves. Events are arrivals, ends of packets, and wakes.
    let Asked(_, held_back) = scheduler;
    assert!((490..500).contains(&held_back), "{held_back}");
    assert_eq!(totals.events, 500 + 500 + held_back);
}
