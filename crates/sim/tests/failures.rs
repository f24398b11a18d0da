//! Failing links and shared memories: cases computed by hand, and conservation of packets.

use pifolab_sched::Capacity;
use pifolab_sched::schedulers::{Fifo, FifoParams, Pifo, PifoParams};
use pifolab_sim::network::{
    Config, EqualTimes, FatTree, Flow, Forwarders, IdlePort, LeafSpine, LinkChange, Network, PortConfig, RunResult,
    SharedBuffer, Topology,
};
use pifolab_transport::TransportParams;
use pifolab_transport::udp::UdpParams;
use pifolab_units::{Rate, Ratio, Span, Time};
use std::sync::Arc;

const END: Time = Time::from_ns(100_000_000);

fn flow(id: u64, src: u32, dst: u32, bytes: u64, start_ns: u64) -> Flow {
    Flow { id, src, dst, bytes, start: Time::from_ns(start_ns) }
}

fn unlimited() -> PortConfig {
    PortConfig::drop_tail(Capacity::Unlimited)
}

fn run(config: Config, flows: &[Flow]) -> RunResult {
    Network::new(config).unwrap().run(flows, &mut ()).unwrap()
}

fn port(topology: &Topology, from: u32, to: u32) -> u32 {
    topology.links.iter().position(|link| (link.from, link.to) == (from, to)).unwrap() as u32
}

fn changes(topology: &Topology, a: u32, b: u32, down_ns: u64, up_ns: Option<u64>) -> Vec<LinkChange> {
    let both = [port(topology, a, b), port(topology, b, a)];
    let at = |time, up| both.map(|port| LinkChange { time: Time::from_ns(time), port, up });
    at(down_ns, false).into_iter().chain(up_ns.into_iter().flat_map(|time| at(time, true))).collect()
}

/// Datagrams of 960 B of payload, 1000 B on the wire, one each microsecond.
fn datagrams() -> TransportParams {
    TransportParams::udp(UdpParams { payload_bytes: 960, interval: Span::from_us(1) })
}

fn balanced(result: &RunResult) {
    let counters = &result.counters;
    let ports: u64 = result.ports.iter().map(|port| port.dropped()).sum();
    assert_eq!(ports, counters.dropped);
    assert_eq!(result.ports.iter().map(|port| port.lost_on_wire_packets).sum::<u64>(), counters.lost_on_wire);
    for port in &result.ports {
        assert_eq!(port.arrived_packets, port.sent_packets + port.dropped() + u64::from(port.waiting));
    }
}

#[test]
fn a_forwarder_goes_with_neither_failures_nor_ports_that_skip_their_scheduler() {
    let topology = LeafSpine::papers(1).topology().unwrap();
    let link_changes = changes(&topology, 144, 153, 50_000, None);
    let forwarders = Some(Forwarders(Arc::new(|_| unreachable!("nothing runs"))));
    let config = Config { forwarders, ..Config::new(topology, datagrams(), unlimited(), END) };
    let refused = |config: Config| Network::new(config).unwrap_err().to_string();
    assert!(Network::new(config.clone()).is_ok());
    let failing = refused(Config { link_changes, ..config.clone() });
    assert_eq!(failing, "network: link_changes = given: expected none beside a forwarder");
    let switch_port = PortConfig { idle: IdlePort::Bypass, ..unlimited() };
    let bypassed = refused(Config { switch_port, ..config });
    assert!(bypassed.starts_with("switch_port: idle = bypass: expected scheduler or admission"), "{bypassed}");
}

#[test]
fn no_event_happens_once_new_routes_are_given_up() {
    let topology = LeafSpine::papers(1).topology().unwrap();
    let config = Config {
        link_changes: changes(&topology, 144, 153, 50_000, None),
        ..Config::new(topology, datagrams(), unlimited(), END)
    };
    let flows = [flow(0, 0, 143, 1 << 20, 0)];
    let network = Network::new(config).unwrap();
    let mut observer = ();
    let stop = || true;
    let mut simulation = network.simulation(&flows, &mut observer).unwrap();
    simulation.stop_if(&stop);
    for _ in 0..3 {
        assert!(simulation.advance(u64::MAX).unwrap(), "the run is not over");
        assert_eq!(simulation.now(), Time::from_ns(50_000));
    }
    let part = simulation.finish().unwrap();
    assert!(part.counters.created > 40 && part.counters.unreachable == 0);
    balanced(&part);
}

#[test]
fn what_waits_and_what_is_on_the_wire_is_lost_and_counted_where_it_was() {
    // Hosts 0 and 1 around a switch. The host sends a datagram each us at 8 Gb/s (1 us each); the switch forwards at 4 Gb/s
    // (2 us each), over 5 us of wire. Datagram n is at the switch at n + 1 us; the first is sent from 1 to 3 us, the
    // second from 3 to 5 us, and so on.
    for (equal_times, scheduled) in
        [(EqualTimes::DeparturesFirst, false), (EqualTimes::Insertion, false), (EqualTimes::DeparturesFirst, true)]
    {
        let mut topology = Topology { hosts: 2, nodes: 3, links: Vec::new() };
        topology.connect(0, 2, Rate::from_gbps(8), Span::ZERO);
        topology.connect(1, 2, Rate::from_gbps(4), Span::from_us(5));
        let ports = if scheduled {
            PortConfig::scheduler(|_| Box::new(Fifo::new(FifoParams { capacity: Capacity::Unlimited }).unwrap()))
        } else {
            unlimited()
        };
        let mut config = Config::new(topology.clone(), datagrams(), ports, END);
        config.equal_times = equal_times;
        // At 9.5 us: datagrams 0 (arrived at 8 us) is safe; 1 to 4 (sent from 3, 5, 7, 9 us) are on the wire; 5 to 7
        // wait; 8 comes at 9 us and waits too; 9 to 19 have no path.
        config.link_changes = changes(&topology, 2, 1, 9_500, None);
        let result = run(config.clone(), &[flow(0, 0, 1, 20 * 960, 0)]);
        let dead = result.ports[port(&topology, 2, 1) as usize];
        assert_eq!(
            (dead.sent_packets, dead.lost_on_wire_packets, dead.link_down_packets),
            (5, 4, 4),
            "{equal_times:?}"
        );
        assert_eq!((result.counters.unreachable, result.counters.delivered), (11, 1));
        assert_eq!(result.flows[0].fct, None);
        balanced(&result);
        // Repaired at 14.5 us: datagrams 14 (at the switch at 15 us) to 19 arrive, the last at 15 + 6 x 2 + 5 us.
        config.link_changes = changes(&topology, 2, 1, 9_500, Some(14_500));
        let result = run(config, &[flow(0, 0, 1, 20 * 960, 0)]);
        assert_eq!((result.counters.unreachable, result.counters.delivered), (5, 7));
        balanced(&result);
    }
}

#[test]
fn flows_take_other_ways_and_come_back() {
    let topology = LeafSpine::papers(1).topology().unwrap();
    let (leaf, spines) = (144, 153..157u32);
    let flows: Vec<Flow> = (0..64).map(|id| flow(id, id as u32 % 16, 16 + id as u32, 100_000, id * 1_000)).collect();
    let ports = PortConfig::scheduler(|_| Box::new(Pifo::new(PifoParams::packets(80)).unwrap()));
    for equal_times in [EqualTimes::DeparturesFirst, EqualTimes::Insertion] {
        let mut config = Config::new(topology.clone(), TransportParams::dctcp(), ports.clone(), END);
        config.equal_times = equal_times;
        // All paths but one fail at different times; one is repaired.
        config.link_changes = changes(&topology, leaf, 153, 200_000, Some(5_000_000));
        config.link_changes.extend(changes(&topology, leaf, 154, 400_000, None));
        config.link_changes.extend(changes(&topology, leaf, 155, 400_000, None));
        let result = run(config, &flows);
        assert_eq!(result.completed(&flows).count(), flows.len());
        assert!(result.counters.lost_on_wire + result.counters.dropped > 0);
        assert_eq!(result.counters.unreachable, 0, "a way is left at every instant");
        let up: Vec<u64> =
            spines.clone().map(|spine| result.ports[port(&topology, leaf, spine) as usize].sent_packets).collect();
        assert!(up.iter().all(|sent| *sent > 0) && up[3] > 2 * up[1].max(up[2]), "{up:?}");
        balanced(&result);
    }
}

#[test]
fn a_failure_that_never_happens_changes_nothing() {
    let topology =
        FatTree { k: 4, access_rate: Rate::from_gbps(1), fabric_rate: Rate::from_gbps(1), delay: Span::from_us(1) }
            .topology()
            .unwrap();
    let flows: Vec<Flow> = (0..16).map(|id| flow(id, id as u32, (id as u32 + 5) % 16, 50_000, 0)).collect();
    let config = Config::new(topology.clone(), TransportParams::new_reno(), unlimited(), END);
    let plain = run(config.clone(), &flows);
    let late = changes(&topology, 0, 16, 100_000_001, None);
    assert_eq!(run(Config { link_changes: late, ..config }, &flows), plain);
}

#[test]
fn impossible_failures_are_refused() {
    let topology = Topology::two_hosts(Rate::from_gbps(1), Span::ZERO);
    let message = |link_changes: Vec<LinkChange>| {
        let config = Config::new(topology.clone(), TransportParams::new_reno(), unlimited(), END);
        Network::new(Config { link_changes, ..config }).unwrap_err().to_string()
    };
    let change = |ns, port, up| LinkChange { time: Time::from_ns(ns), port, up };
    assert_eq!(message(vec![change(1, 2, false)]), "link_changes: port 2 = 2: expected a port, 0 to 1");
    let turns = "expected a failure, then by turns a repair and a failure";
    assert!(message(vec![change(1, 0, true)]).ends_with(turns));
    assert!(message(vec![change(1, 0, false), change(2, 0, false)]).ends_with(turns));
    assert!(
        message(vec![change(1, 0, false), change(1, 0, true)]).ends_with("expected later than the change before it")
    );
}

#[test]
fn one_queue_gets_alpha_over_one_plus_alpha_of_a_shared_memory_and_two_get_equal_shares() {
    // Senders at twice the rate of the ports that they send to: queues grow to their thresholds. Packets of 1000 B.
    let topology = Topology::single_switch(6, Rate::from_gbps(8), Span::ZERO).unwrap();
    let mut config = Config::new(topology.clone(), datagrams(), unlimited(), Time::from_ns(500_000));
    for (numerator, alone, each) in [(1, 15_000, 10_000), (2, 20_000, 12_000)] {
        config.shared_buffer = Some(SharedBuffer { bytes: 30_000, alpha: Ratio::new(numerator, 1).unwrap() });
        // Two to one: alpha B / (1 + alpha).
        let endless = 960 * 1_000;
        let two_to_one = |to, id| [flow(id, to + 2, to, endless, 0), flow(id + 1, to + 4, to, endless, 0)];
        let result = run(config.clone(), &two_to_one(0, 0));
        let queue = |result: &RunResult, to| result.ports[port(&topology, 6, to) as usize].most_waiting * 1_000;
        assert_eq!(queue(&result, 0), alone);
        assert!(result.ports[1].dropped() > 0);
        balanced(&result);
        // Two ports at once: alpha B / (1 + 2 alpha) each; the last packet exceeds the threshold by less than its own
        // size.
        let both: Vec<Flow> = two_to_one(0, 0).into_iter().chain(two_to_one(1, 2)).collect();
        let result = run(config.clone(), &both);
        for to in [0, 1] {
            let held = queue(&result, to);
            assert!((each..=each + 1_000).contains(&held), "{held} of {each} at alpha {numerator}");
        }
        balanced(&result);
    }
}

#[test]
fn a_shared_memory_is_the_same_with_events_for_departures() {
    let topology = Topology::single_switch(6, Rate::from_gbps(8), Span::ZERO).unwrap();
    let ports = PortConfig::scheduler(|_| Box::new(Pifo::new(PifoParams::packets(50)).unwrap()));
    let mut config = Config::new(topology, datagrams(), ports, Time::from_ns(500_000));
    config.shared_buffer = Some(SharedBuffer { bytes: 20_000, alpha: Ratio::new(1, 2).unwrap() });
    // At instants of their own, so that no order among equal times decides.
    let flows: Vec<Flow> = (0..3).map(|id| flow(id, id as u32 + 2, id as u32 / 2, 96_000, 130 * id)).collect();
    let lazy = run(config.clone(), &flows);
    config.equal_times = EqualTimes::Insertion;
    let eager = run(config, &flows);
    assert!(lazy.counters.dropped > 0);
    assert_eq!((lazy.flows, lazy.ports), (eager.flows, eager.ports));
}
