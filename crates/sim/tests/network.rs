//! Tests the network against theory, against cases computed by hand and against itself, and sees every error message.

use pifolab_aqm::{CodelPolicy, FqCodel, Managed, RedParams, RedPolicy};
use pifolab_sched::params::{Args, FromArgs, Value};
use pifolab_sched::ranks::{Stfq, StfqParams};
use pifolab_sched::schedulers::{Fifo, FifoParams, Pifo, PifoParams};
use pifolab_sched::{Capacity, DropReason, Inspect, InspectExt, Ranked, Scheduler};
use pifolab_sim::network::{
    Config, Controllers, EqualTimes, Flow, IdlePort, Ingredient, LeafSpine, NetbenchTransport, Network, PortConfig,
    PortScheduler, Profile, Ranks, Routing, RunError, RunResult, Topology,
};
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_transport::dctcp::{Dctcp, DctcpParams};
use pifolab_transport::udp::UdpParams;
use pifolab_transport::{AckRank, RankRule, TransportParams};
use pifolab_tree::{Discipline, Node};
use pifolab_units::{Rate, Ratio, Span, Time};
use pifolab_workload::flows::{FlowArrivals, FlowSizes, FlowSource, Interpolation, Pairs};
use pifolab_workload::{Distribution, Stream};
use std::collections::BTreeMap;
use std::sync::Arc;

const END: Time = Time::from_ns(1_000_000_000);

fn flow(id: u64, src: u32, dst: u32, bytes: u64, start_ns: u64) -> Flow {
    Flow { id, src, dst, bytes, start: Time::from_ns(start_ns) }
}

fn fabric() -> Topology {
    LeafSpine::papers(1).topology().unwrap()
}

fn unlimited() -> PortConfig {
    PortConfig::drop_tail(Capacity::Unlimited)
}

fn run(config: Config, flows: &[Flow]) -> RunResult {
    Network::new(config).unwrap().run(flows, &mut ()).unwrap()
}

/// Flows of the papers' fabric, a burst of twice what its links can carry.
fn web_search(simulated: Span) -> Vec<Flow> {
    let source = FlowSource {
        hosts: 144,
        arrivals: FlowArrivals::Poisson { starts_per_s: 40_000.0 },
        sizes: FlowSizes::web_search(Interpolation::StepLower),
        pairs: Pairs::Uniform,
        start: Time::ZERO,
        end: Time::ZERO + simulated,
        flows: u64::MAX,
    };
    source.stream(1, "flows").unwrap().collect()
}

// --- by hand ---

/// A lone flow without losses: the sender's port is the bottleneck (1 Gb/s at both ends, more in between), so once that
/// port is never idle, the flow takes as long as its packets take on that link.
#[test]
fn a_lone_tcp_flow_takes_what_slow_start_and_the_link_make_of_it() {
    // 100 us each way, an initial window of 10 segments. All times in ns; a full packet takes 12,000, an empty one 320.
    let topology = Topology::two_hosts(Rate::from_gbps(1), Span::from_us(100));
    let config = Config::new(topology, TransportParams::new_reno(), unlimited(), END);
    let one_way = |serialisation: u64| serialisation + 100_000;
    // One segment: SYN, SYN+ACK, then handshake ACK and data back to back, ACK.
    let result = run(config.clone(), &[flow(0, 0, 1, 1_460, 0)]);
    assert_eq!(result.flows[0].fct.unwrap().as_ns(), one_way(320) * 2 + 320 + one_way(12_000) + one_way(320));
    // 30 segments: the first window of 10, its acknowledgements release 20 more, one pair per 12,000 ns: the rest is
    // one train of 20 behind the first acknowledgement.
    let result = run(config, &[flow(0, 0, 1, 30 * 1_460, 0)]);
    let first_ack = one_way(320) * 2 + 320 + one_way(12_000) + one_way(320);
    assert_eq!(result.flows[0].fct.unwrap().as_ns(), first_ack + 20 * 12_000 + 100_000 + one_way(320));
    assert_eq!(result.flows[0].retransmissions, 0);
    assert_eq!(result.counters.hops, 3 + 30 * 2);
}

#[test]
fn serialisation_rounds_as_told() {
    // 40 B at 3 Gb/s: 106.67 ns. Three empty packets and one of 100 B (266.67 ns), the third behind nothing.
    let mut config = Config::new(
        Topology::two_hosts(Rate::from_gbps(3), Span::from_ns(1)),
        TransportParams::new_reno(),
        unlimited(),
        END,
    );
    let fct = |config: &Config| run(config.clone(), &[flow(0, 0, 1, 60, 0)]).flows[0].fct.unwrap().as_ps();
    let exact = 4 * 106_667 + 266_667 + 4 * 1_000;
    assert_eq!(fct(&config), exact);
    config.rounding = pifolab_units::Rounding::DownToNanosecond;
    assert_eq!(fct(&config), (4 * 106 + 266 + 4) * 1_000);
}

#[test]
fn the_packet_on_the_wire_counts_against_the_buffer_only_if_told() {
    // Three datagrams 1 ns apart into a port that holds two packets.
    let udp = TransportParams::udp(UdpParams { payload_bytes: 1_460, interval: Span::from_ns(1) });
    let topology = Topology::two_hosts(Rate::from_gbps(1), Span::ZERO);
    let mut config = Config::new(topology, udp, unlimited(), END);
    let flows = [flow(0, 0, 1, 3 * 1_460, 0)];
    config.host_port = PortConfig::drop_tail(Capacity::Packets(2));
    assert_eq!(run(config.clone(), &flows).counters.dropped, 0);
    config.host_port.in_service_occupies_buffer = true;
    let result = run(config.clone(), &flows);
    assert_eq!((result.counters.dropped, result.counters.dropped_at_source, result.flows[0].fct), (1, 1, None));
    assert_eq!(result.ports[0].dropped_packets[DropReason::Full as usize], 1);
    config.host_port = PortConfig::drop_tail(Capacity::Bytes(3_000));
    config.host_port.in_service_occupies_buffer = true;
    assert_eq!(run(config, &flows).counters.dropped, 1);
}

#[test]
fn an_arriving_packet_is_marked_from_the_threshold_on() {
    let udp = TransportParams::udp(UdpParams { payload_bytes: 1_460, interval: Span::from_ns(1) });
    let mut config = Config::new(Topology::two_hosts(Rate::from_gbps(1), Span::ZERO), udp, unlimited(), END);
    config.host_port = unlimited().with_ecn(3_000);
    // One on the wire, two wait (3000 B), the next two are marked.
    let result = run(config, &[flow(0, 0, 1, 5 * 1_460, 0)]);
    assert_eq!((result.ports[0].marked_packets, result.ports[0].most_waiting), (2, 4));
    assert_eq!(result.ports[0].busy, Span::from_us(60));
}

/// Ports whose first-in first-out queue of this capacity CoDel manages, with marks.
fn codel_with_marks() -> PortConfig {
    PortConfig::scheduler(|_| {
        let fifo = <Fifo>::new(FifoParams { capacity: Capacity::Packets(10_000) }).unwrap();
        let codel = CodelPolicy::new(Span::from_us(100), Span::from_us(1_000), 1_514);
        PortScheduler::from(Box::new(Managed::new(codel, fifo).with_ecn()))
    })
}

/// Ports with FQ-CoDel and marks.
fn fq_codel_with_marks() -> PortConfig {
    PortConfig::scheduler(|_| {
        let mut args = Args::new("fq-codel");
        args.set("ecn", Value::Flag(true));
        args.set("target_ns", Value::Integer(100_000));
        args.set("interval_ns", Value::Integer(1_000_000));
        PortScheduler::from(Box::new(<FqCodel>::build(args).unwrap()))
    })
}

#[test]
fn a_policy_marks_the_data_of_ecn_capable_senders_and_they_slow_down() {
    let hop = Span::from_us(20);
    let topology = || Topology::two_hosts(Rate::from_gbps(1), hop);
    let outcome = |transport: TransportParams, managed: bool| {
        let mut config = Config::new(topology(), transport, unlimited(), Time::from_ns(300_000_000));
        config.host_port = if managed { codel_with_marks() } else { unlimited() };
        config.transport.tcp.max_window_bytes = 1 << 24;
        run(config, &[flow(0, 0, 1, 20_000_000, 0)])
    };
    let [alone, dctcp, new_reno] = [
        outcome(TransportParams::dctcp(), false),
        outcome(TransportParams::dctcp(), true),
        outcome(TransportParams::new_reno(), true),
    ];
    // DCTCP reacts to marks and loses nothing; its queue is a fraction of the unmanaged one.
    let port = |result: &RunResult| result.ports[0];
    assert!(port(&dctcp).marked_packets > 10 && port(&dctcp).dropped() == 0, "{:?}", port(&dctcp));
    assert_eq!((port(&alone).marked_packets, port(&alone).dropped()), (0, 0));
    assert!(port(&dctcp).most_waiting < port(&alone).most_waiting, "{:?}, {:?}", port(&dctcp), port(&alone));
    assert_eq!(dctcp.flows[0].retransmissions, 0);
    // NewReno's packets cannot carry marks: they are dropped.
    assert!(port(&new_reno).marked_packets == 0 && port(&new_reno).dropped() > 1, "{:?}", port(&new_reno));
    // Acknowledgements are not marked, although their port marks packets.
    assert_eq!(dctcp.ports[1].marked_packets, 0);
}

#[test]
fn with_ecn_new_reno_and_cubic_answer_to_marks_and_lose_nothing() {
    let ecn = |mut transport: TransportParams, ecn: bool| {
        transport.tcp.ecn = ecn;
        over_a_link(transport, codel_with_marks())
    };
    let red = |mut transport: TransportParams| {
        transport.tcp.ecn = true;
        let port = PortConfig::scheduler(|_| {
            let fifo = <Fifo>::new(FifoParams { capacity: Capacity::Packets(10_000) }).unwrap();
            let red = RedPolicy::new(RedParams {
                min_bytes: 15_000,
                max_bytes: 3_000_000,
                hard_drop: true,
                max_probability: Ratio::new(1, 2).unwrap(),
                weight_log: 5,
                idle_packet: Span::from_us(12),
            });
            PortScheduler::from(Box::new(Managed::new(red.unwrap(), fifo).with_ecn()))
        });
        over_a_link(transport, port)
    };
    for transport in [TransportParams::new_reno(), TransportParams::cubic()] {
        let mut with_ecn = transport;
        with_ecn.tcp.ecn = true;
        for (policy, outcome) in [
            ("codel", ecn(transport, true)),
            ("red", red(transport)),
            ("fq-codel", over_a_link(with_ecn, fq_codel_with_marks())),
        ] {
            let (port, retransmitted) = outcome;
            assert!(port.marked_packets > 3, "{policy}: {port:?}");
            assert_eq!((port.dropped(), retransmitted), (0, 0), "{policy}: {port:?}");
        }
        let (port, retransmitted) = ecn(transport, false);
        assert!(port.marked_packets == 0 && port.dropped() > 0 && retransmitted > 0, "{port:?}");
        // A sender that reacts to signals keeps the queue short.
        let (unmanaged, _) = over_a_link(transport, unlimited());
        assert!(ecn(transport, true).0.most_waiting < unmanaged.most_waiting / 2, "{unmanaged:?}");
    }
}

/// A flow of 20 MB across a link of 1 Gb/s with these ports. Returns the accounts of the first port, and the flow's
/// retransmissions.
fn over_a_link(transport: TransportParams, port: PortConfig) -> (pifolab_sim::network::PortResult, u64) {
    let topology = Topology::two_hosts(Rate::from_gbps(1), Span::from_us(20));
    let mut config = Config::new(topology, transport, unlimited(), Time::from_ns(300_000_000));
    config.host_port = port;
    config.transport.tcp.max_window_bytes = 1 << 24;
    let result = run(config, &[flow(0, 0, 1, 20_000_000, 0)]);
    (result.ports[0], u64::from(result.flows[0].retransmissions))
}

#[test]
fn a_managed_leaf_of_a_tree_marks_as_it_does_alone() {
    let codel = || {
        let fifo = <Fifo>::new(FifoParams { capacity: Capacity::Packets(10_000) }).unwrap();
        let codel = CodelPolicy::new(Span::from_us(100), Span::from_us(1_000), 1_514);
        Box::new(Managed::new(codel, fifo).with_ecn()) as Box<dyn Scheduler + Send>
    };
    let tree = PortConfig::scheduler(move |_| {
        let inner = Node::inner(Discipline::Stfq).child(Node::leaf(codel()).takes_the_rest());
        PortScheduler::from(Box::new(Node::inner(Discipline::RoundRobin).child(inner).build().unwrap()))
    });
    let alone = over_a_link(TransportParams::dctcp(), codel_with_marks());
    assert!(alone.0.marked_packets > 10, "{:?}", alone.0);
    assert_eq!(over_a_link(TransportParams::dctcp(), tree), alone);
}

#[test]
fn the_ideal_is_what_a_flow_takes_alone_so_a_slowdown_of_1_is_attained_and_never_undercut() {
    let network = Network::new(Config::new(fabric(), TransportParams::dctcp(), unlimited(), END)).unwrap();
    // The flows start far apart, so each is alone.
    let flows = [flow(0, 0, 143, 200_000, 0), flow(1, 5, 6, 200_000, 50_000_000), flow(2, 0, 143, 1, 100_000_000)];
    let ideal = network.ideal_fcts(&flows, |_| true).unwrap();
    let result = network.run(&flows, &mut ()).unwrap();
    let fcts: Vec<_> = result.flows.iter().map(|flow| flow.fct).collect();
    assert_eq!(fcts, ideal);
    assert!(ideal[1] < ideal[0], "the path inside a rack is shorter");
    let crowd = web_search(Span::from_us(2_000));
    let ideal = network.ideal_fcts(&crowd, |_| true).unwrap();
    let result = network.run(&crowd, &mut ()).unwrap();
    for (ideal, flow) in ideal.iter().zip(&result.flows) {
        assert!(flow.fct.is_none_or(|fct| fct >= ideal.unwrap()));
    }
    // Only the ports on its path matter for a flow alone, so the whole network gives the same time.
    let alone = |flow: &_| network.without_end().fct_alone(flow);
    assert_eq!(ideal, network.ideal_fcts_by(&crowd, |_| true, alone).unwrap());
    let netbench = Profile::NetbenchSpPifo;
    let mut config = Config::new(fabric(), netbench.transport(NetbenchTransport::Tcp), unlimited(), END);
    netbench.apply(&mut config);
    // The published simulation's time for 1 MB across the fabric.
    let ideal = Network::new(config).unwrap().ideal_fcts(&[flow(0, 0, 143, 1_000_000, 7)], |_| true).unwrap();
    assert_eq!(ideal, [Some(Span::from_ns(8_722_480))]);
}

// --- theory ---

/// Single-datagram flows with Poisson starts through one port: the mean wait in its queue, in seconds.
fn mean_wait_s(load: f64, exponential_sizes: bool, packets: usize) -> f64 {
    const MEAN_BYTES: f64 = 1_000.0;
    let rate = Rate::from_gbps(1);
    let (mut starts, mut sizes) = (Stream::named(7, "starts"), Stream::named(7, "sizes"));
    let mut now = 0.0;
    let flows: Vec<Flow> = (0..packets as u64)
        .map(|id| {
            now += starts.exponential() * MEAN_BYTES * 8_000.0 / load;
            // A continuous size, rounded up: half a byte more on average, which the load below takes into account.
            let bytes =
                if exponential_sizes { (sizes.exponential() * MEAN_BYTES) as u64 + 1 } else { MEAN_BYTES as u64 };
            Flow { id, src: 0, dst: 1, bytes, start: Time::from_ps(now as u64) }
        })
        .collect();
    let udp = TransportParams::udp(UdpParams { payload_bytes: 65_535, interval: Span::from_us(1) });
    let mut config =
        Config::new(Topology::two_hosts(rate, Span::ZERO), udp, unlimited(), Time::from_ps(now as u64 * 2));
    config.header_bytes = 0;
    let result = run(config, &flows);
    let waits = result.completed(&flows).map(|(flow, fct)| fct.as_s_f64() - flow.bytes as f64 * 8e-9);
    let completed = result.completed(&flows).count();
    assert_eq!(completed, packets);
    waits.sum::<f64>() / completed as f64
}

#[test]
fn poisson_arrivals_with_fixed_sizes_wait_as_long_as_in_m_d_1() {
    for load in [0.3, 0.6, 0.8] {
        let service_s = 8e-6;
        let expected = load * service_s / (2.0 * (1.0 - load));
        let found = mean_wait_s(load, false, 400_000);
        // At 80 % the mean of 400,000 correlated waits has a standard error of about 1 %: three of them.
        assert!((found / expected - 1.0).abs() < 0.03, "load {load}: {found} s instead of {expected} s");
    }
}

#[test]
fn poisson_arrivals_with_exponential_sizes_wait_as_long_as_in_m_m_1() {
    for load in [0.3, 0.6, 0.8] {
        let rho = load * 1_000.5 / 1_000.0;
        let expected = rho * 8.004e-6 / (1.0 - rho);
        let found = mean_wait_s(load, true, 400_000);
        // Twice the variation of M/D/1: standard error about 1.5 % at 80 %.
        assert!((found / expected - 1.0).abs() < 0.05, "load {load}: {found} s instead of {expected} s");
    }
}

#[test]
fn below_saturation_the_access_links_carry_what_is_offered() {
    // 20,000 small flows over 1 s; the horizon lies far enough behind the last start for all to complete.
    let source = FlowSource {
        hosts: 144,
        arrivals: FlowArrivals::Poisson { starts_per_s: 20_000.0 },
        sizes: FlowSizes::fixed(100_000).unwrap(),
        pairs: Pairs::Uniform,
        start: Time::ZERO,
        end: Time::from_ns(100_000_000),
        flows: u64::MAX,
    };
    let flows: Vec<Flow> = source.stream(3, "flows").unwrap().collect();
    let config = Config::new(fabric(), TransportParams::dctcp(), unlimited().with_ecn(30_000), END);
    let result = run(config, &flows);
    assert_eq!(result.completed(&flows).count(), flows.len());
    // Each flow: 69 data packets with 40 B of headers each, SYN and handshake ACK at the sender's port.
    let retransmitted: u64 = result.flows.iter().map(|flow| u64::from(flow.retransmissions)).sum();
    assert_eq!(retransmitted, 0);
    let forth = flows.len() as u64 * (100_000 + 69 * 40 + 2 * 40);
    let back = flows.len() as u64 * (69 + 1) * 40;
    let at_hosts: u64 = (0..144).map(|host| result.ports[2 * host].sent_bytes).sum();
    assert_eq!(at_hosts, forth + back);
    let busy_s: f64 = (0..144).map(|host| result.ports[2 * host].busy.as_s_f64()).sum();
    assert!((busy_s - (forth + back) as f64 * 8e-9).abs() < 1e-9);
}

#[test]
fn stfq_shares_a_port_equally_among_greedy_flows_whatever_their_transport_starts_with() {
    let stfq = || {
        let rank = Stfq::new(StfqParams::default()).unwrap();
        let pifo = Pifo::new(PifoParams::packets(100)).unwrap();
        Box::new(Ranked::new(rank, pifo)) as Box<dyn Scheduler>
    };
    let mut transport = TransportParams::new_reno();
    transport.tcp.max_window_bytes = 1 << 20;
    let config = Config::new(fabric(), transport, PortConfig::scheduler(move |_| stfq()), Time::from_ns(500_000_000));
    // Three flows into host 0; once the last has started, each gets a third.
    let flows = [flow(0, 16, 0, 1 << 40, 0), flow(1, 32, 0, 1 << 40, 0), flow(2, 48, 0, 1 << 40, 200_000_000)];
    let result = run(config, &flows);
    let [a, b, c] = [0, 1, 2].map(|index| result.flows[index].acknowledged_bytes as f64);
    // Goodput of the port: 1460 of 1500 bytes at 1 Gb/s, half a second, minus what loss recovery leaves idle.
    let total = 0.5 * 1e9 / 8.0 * 1_460.0 / 1_500.0;
    assert!(((a + b + c) / total - 1.0).abs() < 0.02, "{}", (a + b + c) / total);
    assert!((a / b - 1.0).abs() < 0.02, "{a} {b}");
    let third = total * 0.3 / 0.5 / 3.0;
    assert!((c / third - 1.0).abs() < 0.05, "{c} {third}");
}

/// Counts inversions at every port by keeping all waiting ranks.
#[derive(Default)]
struct Inversions {
    waiting: BTreeMap<PortId, BTreeMap<u64, u32>>,
    inversions: u64,
    dequeued: u64,
    last: Time,
}

impl Inversions {
    fn leave(&mut self, port: PortId, rank: u64) {
        let ranks = self.waiting.get_mut(&port).unwrap();
        let count = ranks.get_mut(&rank).unwrap();
        *count -= 1;
        if *count == 0 {
            ranks.remove(&rank);
        }
    }
}

impl Observer for Inversions {
    fn on_admit(&mut self, port: PortId, packet: PacketView, _: u32, scheduler: &dyn Inspect, _: Time) {
        *self.waiting.entry(port).or_default().entry(packet.rank.get()).or_default() += 1;
        assert!(!scheduler.is_empty());
    }

    fn on_drop(&mut self, port: PortId, packet: PacketView, loss: Loss, _: &dyn Inspect, _: Time) {
        if loss.admitted {
            self.leave(port, packet.rank.get());
        }
    }

    fn on_dequeue(&mut self, port: PortId, packet: PacketView, _: u32, scheduler: &dyn Inspect, now: Time) {
        self.leave(port, packet.rank.get());
        let lowest = self.waiting[&port].first_key_value();
        self.inversions += u64::from(lowest.is_some_and(|(rank, _)| *rank < packet.rank.get()));
        self.dequeued += 1;
        let held: u32 = self.waiting[&port].values().sum();
        assert_eq!(held as usize, scheduler.len());
        self.last = self.last.max(now);
    }
}

#[test]
fn a_pifo_never_inverts_at_any_port_and_a_fifo_does() {
    let flows = web_search(Span::from_us(20_000));
    for (pifo, name) in [(true, "PIFO"), (false, "FIFO")] {
        let ports = PortConfig::scheduler(move |_| {
            if pifo {
                PortScheduler::from(<Pifo>::new(PifoParams::packets(80)).unwrap())
            } else {
                <Fifo>::new(FifoParams { capacity: Capacity::Packets(80) }).unwrap().into()
            }
        });
        let mut config = Config::new(fabric(), TransportParams::pfabric(), ports.clone(), Time::from_ns(20_000_000));
        config.host_port = ports;
        let mut observer = Inversions::default();
        let result = Network::new(config).unwrap().run(&flows, &mut observer).unwrap();
        assert!(result.counters.hops > 100_000 && result.counters.dropped > 0);
        assert_eq!(observer.dequeued, result.ports.iter().map(|port| port.sent_packets).sum::<u64>());
        assert_eq!(observer.inversions == 0, pifo, "{name}: {} inversions", observer.inversions);
    }
}

// --- against itself ---

#[test]
fn watching_changes_nothing() {
    let flows = web_search(Span::from_us(20_000));
    let ports = PortConfig::drop_tail(Capacity::Bytes(30_000)).with_ecn(15_000);
    for equal_times in [EqualTimes::DeparturesFirst, EqualTimes::Insertion] {
        for transport in [TransportParams::dctcp(), TransportParams::cubic()] {
            let mut config = Config::new(fabric(), transport, ports.clone(), Time::from_ns(20_000_000));
            config.equal_times = equal_times;
            let network = Network::new(config).unwrap();
            let mut observer = Inversions::default();
            let unwatched = network.run(&flows, &mut ()).unwrap();
            assert_eq!(network.run(&flows, &mut observer).unwrap(), unwatched);
            assert!(unwatched.counters.dropped > 0 && observer.dequeued > 0);
        }
    }
}

#[test]
fn a_port_that_keeps_the_packets_of_a_pifo_itself_decides_as_the_scheduler_does() {
    // Host 0 starts many flows at once, so that its port holds more packets than fit in a row of handles.
    let flow =
        |id: u64| Flow { id, src: 0, dst: 1 + id as u32 % 143, bytes: 150_000 + 1_000 * (id % 7), start: Time::ZERO };
    let flows: Vec<_> = (0..280).map(flow).collect();
    for (capacity, drops) in
        [(Capacity::Unlimited, false), (Capacity::Packets(900), false), (Capacity::Packets(40), true)]
    {
        let pifo = move || Pifo::new(PifoParams { capacity, ..PifoParams::packets(1) }).unwrap();
        let ports = PortConfig::scheduler(move |_| Box::new(pifo()));
        for equal_times in [EqualTimes::DeparturesFirst, EqualTimes::Insertion] {
            let end = Time::from_ns(20_000_000);
            let mut config = Config::new(fabric(), TransportParams::pfabric(), ports.clone(), end);
            config.host_port = ports.clone();
            config.equal_times = equal_times;
            let network = Network::new(config).unwrap();
            let unwatched = network.run(&flows, &mut ()).unwrap();
            assert_eq!(network.run(&flows, &mut Inversions::default()).unwrap(), unwatched);
            let most = unwatched.ports.iter().map(|port| port.most_waiting).max().unwrap();
            assert_eq!((unwatched.counters.dropped > 0, most > 600), (drops, !drops), "{capacity:?}: {most} waited");
        }
    }
}

#[test]
fn equal_runs_have_equal_traces_and_unequal_ones_do_not() {
    let flows = web_search(Span::from_us(10_000));
    let end = Time::from_ns(10_000_000);
    let base = Config::new(fabric(), TransportParams::dctcp(), PortConfig::drop_tail(Capacity::Bytes(146_000)), end);
    let hash = |config: &Config| run(config.clone(), &flows).trace_hash;
    let reference = hash(&base);
    assert_eq!(hash(&base), reference);
    let other_routing = Config { routing: Routing::FlowHash { seed: 1 }, ..base.clone() };
    assert_ne!(hash(&other_routing), reference);
    let sprayed = Config { routing: Routing::Spray { seed: 1 }, ..base.clone() };
    assert_eq!(hash(&sprayed), hash(&sprayed));
    assert_ne!(hash(&sprayed), reference);
}

/// The same bits on every machine, in debug and release builds; a change of this number is a change of results and
/// belongs in the change log.
#[test]
fn the_trace_of_a_given_run_never_changes_unnoticed() {
    let flows = web_search(Span::from_us(3_000));
    let end = Time::from_ns(3_000_000);
    let ports = PortConfig::scheduler(|_| Box::new(Pifo::new(PifoParams::packets(20)).unwrap()));
    let pfabric = Config::new(fabric(), TransportParams::pfabric(), ports, end);
    let cubic = Config::new(fabric(), TransportParams::cubic(), PortConfig::drop_tail(Capacity::Packets(20)), end);
    let found = [pfabric, cubic].map(|config| {
        let result = run(config, &flows);
        assert!(result.counters.dropped > 0 && result.counters.fast_retransmissions > 0);
        result.trace_hashes
    });
    let of = |ingredient| found.map(|hashes| format!("{:016x}", hashes.of(ingredient)));
    assert_eq!(of(Ingredient::Events), ["3e144a3a8b0dcd0c", "b24156b5f4e8c10e"]);
    assert_eq!(of(Ingredient::Packets), ["91a594d694dc2813", "e2b77372af0990ec"]);
    assert_eq!(of(Ingredient::Ranks), ["d6d0e2707a27779d", "31af1bcc53d8e2f9"]);
    assert_eq!(of(Ingredient::Drops), ["ada22b9b0e789e8b", "9667c76404ebc4a7"]);
}

#[test]
fn the_hashes_say_in_what_two_runs_differ() {
    let flows = web_search(Span::from_us(3_000));
    let end = Time::from_ns(3_000_000);
    let ranks = |seed| {
        let ports = PortConfig::drop_tail(Capacity::Packets(20));
        let mut config = Config::new(fabric(), TransportParams::new_reno(), ports, end);
        config.ranks = Ranks::Drawn { distribution: Arc::new(Distribution::uniform(0, 99).unwrap()), seed };
        run(config, &flows).trace_hashes
    };
    // Drop-tail ports read no rank.
    assert_eq!(ranks(1).differences(&ranks(2)), [Ingredient::Ranks]);
    assert_eq!(ranks(1), ranks(1));
    let capacity = |packets| {
        let ports = PortConfig::drop_tail(Capacity::Packets(packets));
        run(Config::new(fabric(), TransportParams::new_reno(), ports, end), &flows).trace_hashes
    };
    assert_eq!(capacity(20).differences(&capacity(21)), Ingredient::ALL);
}

#[test]
fn a_controller_from_outside_steers_as_the_same_one_from_inside_does() {
    let flows = web_search(Span::from_us(3_000));
    let ports = || PortConfig::drop_tail(Capacity::Bytes(146_000)).with_ecn(14_600);
    let end = Time::from_ns(3_000_000);
    let dctcp = run(Config::new(fabric(), TransportParams::dctcp(), ports(), end), &flows);
    let mut config = Config::new(fabric(), TransportParams::new_reno(), ports(), end);
    let new_reno = run(config.clone(), &flows);
    assert_ne!(new_reno.trace_hash, dctcp.trace_hash);
    config.controller = Some(Controllers(Arc::new(|_| Box::new(Dctcp::new(DctcpParams::default())))));
    assert_eq!(run(config, &flows).trace_hash, dctcp.trace_hash);
}

#[test]
fn a_run_in_small_steps_is_the_same_run() {
    let flows = web_search(Span::from_us(5_000));
    let config = Config::new(fabric(), TransportParams::dctcp(), unlimited(), Time::from_ns(5_000_000));
    let network = Network::new(config).unwrap();
    let whole = network.run(&flows, &mut ()).unwrap();
    let mut observer = ();
    let mut simulation = network.simulation(&flows, &mut observer).unwrap();
    let mut steps = 0;
    while simulation.advance(1_000).unwrap() {
        steps += 1;
        let (done, started) = simulation.flows_done();
        assert!(done <= started && started <= flows.len());
    }
    assert!(steps > 50 && simulation.now() <= Time::from_ns(5_000_000));
    assert_eq!(simulation.finish().unwrap(), whole);
}

#[test]
fn an_interrupted_run_keeps_what_is_complete() {
    let flows = web_search(Span::from_us(5_000));
    let config = Config::new(fabric(), TransportParams::dctcp(), unlimited(), Time::from_ns(5_000_000));
    let network = Network::new(config).unwrap();
    let mut observer = ();
    let mut simulation = network.simulation(&flows, &mut observer).unwrap();
    assert!(simulation.advance(50_000).unwrap());
    let (done, now) = (simulation.flows_done().0, simulation.now());
    let part = simulation.finish().unwrap();
    assert!(done > 0 && part.completed(&flows).count() == done);
    // Shares of the run's time are shares of the part that ran.
    assert!(now < Time::from_ns(5_000_000));
    assert_eq!(part.end, now);
}

#[test]
fn spraying_reorders_and_flow_hashing_does_not() {
    let flows = web_search(Span::from_us(10_000));
    let reordered = |routing| {
        let end = Time::from_ns(10_000_000);
        let config = Config { routing, ..Config::new(fabric(), TransportParams::dctcp(), unlimited(), end) };
        run(config, &flows).flows.iter().map(|flow| u64::from(flow.reordered)).sum::<u64>()
    };
    assert_eq!(reordered(Routing::default()), 0);
    assert!(reordered(Routing::Spray { seed: 0 }) > 20);
}

#[test]
fn every_transport_delivers_every_byte_through_a_lossy_port() {
    let mut unacknowledged = TransportParams::pfabric();
    unacknowledged.rank = RankRule::Unacknowledged;
    unacknowledged.ack_rank = AckRank::Remaining;
    let netbench = Profile::NetbenchSpPifo.transport(NetbenchTransport::Tcp);
    let transports = [
        TransportParams::new_reno(),
        TransportParams::dctcp(),
        TransportParams::cubic(),
        TransportParams::pfabric(),
        unacknowledged,
        netbench,
    ];
    for transport in transports {
        let mut config = Config::new(fabric(), transport, PortConfig::drop_tail(Capacity::Packets(8)), END);
        config.host_port = PortConfig::drop_tail(Capacity::Packets(8));
        let flows: Vec<Flow> = (0..12).map(|id| flow(id, 16 + id as u32, 0, 300_000, 1_000 * id)).collect();
        let result = run(config, &flows);
        assert_eq!(result.completed(&flows).count(), 12, "{transport:?}");
        assert!(result.counters.dropped > 0 && result.flows.iter().any(|flow| flow.retransmissions > 0));
        let sent: u64 = result.flows.iter().map(|flow| u64::from(flow.fast_retransmissions)).sum();
        assert_eq!(sent, result.counters.fast_retransmissions);
    }
}

#[test]
fn a_host_sends_in_rank_order_where_the_switches_schedule() {
    let ports = PortConfig::scheduler(|_| Box::new(Pifo::new(PifoParams::packets(80)).unwrap()));
    let config = Config::new(fabric(), TransportParams::pfabric(), ports, END);
    // A small flow starts behind 30 queued segments of a large one at the same host.
    let flows = [flow(0, 0, 143, 1_000_000, 0), flow(1, 0, 142, 1_460, 15_000)];
    let small = run(config.clone(), &flows).flows[1].fct.unwrap();
    // Alone it takes 43,360 ns; it meets at most the packet on the wire, three times (its SYN, the handshake's last
    // segment with its data, and its acknowledgements' way is free).
    assert!(small < Span::from_ns(43_360 + 3 * 12_000), "{small}");
    let fifo = Config { host_port: unlimited(), ..config };
    assert!(run(fifo, &flows).flows[1].fct.unwrap() > Span::from_us(300));
}

#[test]
fn drawn_ranks_reach_data_and_acknowledgements() {
    #[derive(Default)]
    struct Ranks01 {
        seen: [u64; 2],
    }
    impl Observer for Ranks01 {
        fn on_admit(&mut self, _: PortId, packet: PacketView, _: u32, _: &dyn Inspect, _: Time) {
            self.seen[packet.rank.get() as usize] += 1;
        }
    }
    let topology = Topology::two_hosts(Rate::from_gbps(10), Span::from_ns(20));
    let mut config = Config::new(topology, TransportParams::new_reno(), unlimited(), END);
    config.ranks = Ranks::Drawn { distribution: Arc::new(Distribution::uniform(0, 1).unwrap()), seed: 5 };
    let mut observer = Ranks01::default();
    let flows = [flow(0, 0, 1, 10_000_000, 0)];
    let result = Network::new(config).unwrap().run(&flows, &mut observer).unwrap();
    assert!(result.flows[0].fct.is_some());
    let total: u64 = observer.seen.iter().sum();
    assert_eq!(total, result.counters.created);
    // 13,702 packets or more, half of them each: five standard deviations.
    assert!(observer.seen[0].abs_diff(total / 2) < 300, "{:?}", observer.seen);
}

#[test]
fn an_idle_port_treats_its_scheduler_as_told() {
    // STFQ over FIFO: the ranks show which calls of the rank function the port makes.
    #[derive(Default)]
    struct AllRanks(Vec<u64>);
    impl Observer for AllRanks {
        fn on_admit(&mut self, port: PortId, packet: PacketView, _: u32, _: &dyn Inspect, _: Time) {
            if port == PortId(0) {
                self.0.push(packet.rank.get());
            }
        }
    }
    let ranks = |idle| {
        let ports = PortConfig::scheduler(|_| {
            let params = StfqParams { scale: 1, ..StfqParams::default() };
            let fifo = <Fifo>::new(FifoParams { capacity: Capacity::Packets(10) }).unwrap();
            Ranked::new(Stfq::new(params).unwrap(), fifo)
        });
        // Three datagrams of flow 0, each finding the port idle, then one of flow 1.
        let udp = TransportParams::udp(UdpParams { payload_bytes: 960, interval: Span::from_us(10) });
        let mut config = Config::new(Topology::two_hosts(Rate::from_gbps(1), Span::ZERO), udp, unlimited(), END);
        config.host_port = PortConfig { idle, ..ports };
        let mut observer = AllRanks::default();
        let flows = [flow(0, 0, 1, 3 * 960, 0), flow(1, 0, 1, 960, 30_000)];
        Network::new(config).unwrap().run(&flows, &mut observer).unwrap();
        observer.0
    };
    // With the scheduler V follows each departure, so flow 1 starts at V = 2000.
    assert_eq!(ranks(IdlePort::Scheduler), [0, 1_000, 2_000, 2_000]);
    // Admission: finish tags grow, but V never moves.
    assert_eq!(ranks(IdlePort::Admission), [0, 1_000, 2_000, 0]);
    // Bypass: no rank is ever computed.
    assert_eq!(ranks(IdlePort::Bypass), [0, 0, 0, 0]);
}

#[test]
fn a_pifo_with_starvation_prevention_at_a_port_knows_the_flows_of_its_packets() {
    use pifolab_sched::schedulers::{Pifo, PifoParams};
    // Ranks by remaining size fall along a flow. The shorter flow comes later and overtakes the longer, whichever packet goes
    // first; within flows the plain PIFO sends the last packet first.
    let run = |starvation_prevention| {
        let params = PifoParams { starvation_prevention, ..PifoParams::packets(80) };
        let mut config = Config::new(fabric(), TransportParams::pfabric(), unlimited(), END);
        config.switch_port = PortConfig::scheduler(move |_| <Pifo>::new(params).unwrap());
        config.host_port = PortConfig::scheduler(move |_| <Pifo>::new(params).unwrap());
        let flows = [flow(0, 0, 1, 60_000, 0), flow(1, 2, 1, 30_000, 50_000)];
        let outcome = Network::new(config).unwrap().run(&flows, &mut ()).unwrap();
        let of = |flow: usize| (outcome.flows[flow].fct.unwrap(), outcome.flows[flow].reordered);
        (of(0), of(1))
    };
    let ((long, _), (short, _)) = run(true);
    assert!(short < long);
    assert_eq!((run(true).0.1, run(true).1.1), (0, 0));
    assert!(run(false).0.1 + run(false).1.1 > 0);
}

// --- bad input ---

#[test]
fn every_bad_configuration_is_named() {
    let base = Config::new(fabric(), TransportParams::dctcp(), unlimited(), END);
    let message = |spoil: &dyn Fn(&mut Config)| {
        let mut config = base.clone();
        spoil(&mut config);
        Network::new(config).unwrap_err().to_string()
    };
    assert_eq!(
        message(&|config| config.topology.links[3].to = 999),
        "topology: links[3] = 144 -> 999: expected nodes below 157"
    );
    assert_eq!(
        message(&|config| config.topology.links[0].to = 0),
        "topology: links[0] = 0 -> 0: expected two different nodes"
    );
    assert_eq!(
        message(&|config| config.topology.links.push(config.topology.links[5])),
        "topology: links[360] = 144 -> 2: expected listed once (parallel links are not supported)"
    );
    assert_eq!(
        message(&|config| config.topology.links.retain(|link| link.from != 0)),
        "topology: host 0 = 0 links out: expected exactly 1"
    );
    assert_eq!(
        message(&|config| config.topology.hosts = 0),
        "topology: hosts = 0: expected at least 1 and at most the number of nodes"
    );
    assert_eq!(
        message(&|config| config.header_bytes = 70_000),
        "network: header_bytes = 70000: expected at most 65535"
    );
    assert_eq!(
        message(&|config| config.switch_port = PortConfig::drop_tail(Capacity::Packets(0))),
        "switch_port: capacity = 0 packets: expected more than 0"
    );
    let occupied = |config: &mut Config| {
        let fifo = || Fifo::new(FifoParams { capacity: Capacity::Packets(9) }).unwrap();
        config.host_port = PortConfig::scheduler(move |_| Box::new(fifo()));
        config.host_port.in_service_occupies_buffer = true;
    };
    assert_eq!(
        message(&occupied),
        "host_port: in_service_occupies_buffer = true: expected false: only drop-tail ports can count it"
    );
    let steered_udp = |config: &mut Config| {
        config.transport = TransportParams::udp(UdpParams { payload_bytes: 1_000, interval: Span::from_us(1) });
        config.controller = Some(Controllers(Arc::new(|_| Box::new(Dctcp::new(DctcpParams::default())))));
    };
    assert_eq!(message(&steered_udp), "network: controller = given: expected none: only TCP has a window to steer");
    assert_eq!(
        message(&|config| config.transport.tcp.mss_bytes = 0),
        "transport: mss_bytes = 0: expected an integer from 1 to 65535"
    );
    let leaf_spine = |leaves, spines, hosts_per_leaf| {
        LeafSpine { leaves, spines, hosts_per_leaf, ..LeafSpine::papers(1) }.topology().unwrap_err().to_string()
    };
    assert_eq!(leaf_spine(0, 1, 1), "topology: leaves = 0: expected at least 1");
    assert_eq!(leaf_spine(2, 1, 0), "topology: hosts_per_leaf = 0: expected at least 1");
    assert_eq!(leaf_spine(2, 0, 1), "topology: spines = 0: expected at least 1 where there are several leaves");
    assert_eq!(leaf_spine(1 << 16, 1, 1 << 16), "topology: hosts_per_leaf = 65536: expected fewer than 2^31 nodes");
}

#[test]
fn every_bad_flow_is_named() {
    let config = Config::new(fabric(), TransportParams::dctcp(), unlimited(), END);
    let network = Network::new(config.clone()).unwrap();
    let message = |flows: &[Flow]| network.run(flows, &mut ()).unwrap_err().to_string();
    let good = flow(4, 0, 1, 10, 5_000);
    assert_eq!(message(&[flow(4, 144, 1, 10, 0)]), "flows[0] (flow 4): src = 144: expected a host, 0 to 143");
    assert_eq!(message(&[good, flow(5, 0, 200, 10, 0)]), "flows[1] (flow 5): dst = 200: expected a host, 0 to 143");
    assert_eq!(message(&[flow(4, 7, 7, 10, 0)]), "flows[0] (flow 4): dst = 7: expected another host than src");
    let range = "expected from 1 to 6270652249240 (2^32 - 2 segments)";
    assert_eq!(message(&[flow(4, 0, 1, 0, 0)]), format!("flows[0] (flow 4): bytes = 0: {range}"));
    assert_eq!(message(&[flow(4, 0, 1, 1 << 63, 0)]), format!("flows[0] (flow 4): bytes = {}: {range}", 1u64 << 63));
    assert_eq!(
        message(&[good, flow(5, 0, 1, 10, 4_000)]),
        "flows[1] (flow 5): start = 4 us: expected 5 us, where the flow before starts, or later"
    );
    assert_eq!(message(&[good, good]), "flows[1]: id = 4: expected a unique id; flows[0] has the same");

    let mut cut = config;
    cut.topology.links.retain(|link| link.from.min(link.to) != 144);
    let cut = Network::new(cut).unwrap();
    let error = cut.run(&[good, flow(5, 0, 143, 10, 6_000)], &mut ()).unwrap_err();
    assert!(matches!(error, RunError::Unreachable { index: 1, .. }));
    assert_eq!(error.to_string(), "flows[1]: no path leads from host 0 to host 143");
}

#[test]
fn a_scheduler_that_loses_a_packet_stops_the_run() {
    /// Forgets every hundredth packet.
    struct Leaky(Fifo, u32);
    impl Scheduler for Leaky {
        fn enqueue(&mut self, packet: pifolab_sched::Packet, now: Time) -> pifolab_sched::Enqueued {
            self.1 += 1;
            if self.1.is_multiple_of(100) {
                return pifolab_sched::Enqueued::Admitted { queue: 0, rank: packet.rank };
            }
            self.0.enqueue(packet, now)
        }
        fn dequeue(&mut self, now: Time) -> pifolab_sched::Dequeued {
            self.0.dequeue(now)
        }
    }
    impl Inspect for Leaky {
        fn held(&self, queue: Option<usize>) -> pifolab_sched::Held {
            self.0.held(queue)
        }
        fn capacity(&self) -> Capacity {
            self.0.capacity()
        }
    }
    let leaky = || Leaky(Fifo::new(FifoParams { capacity: Capacity::Packets(10) }).unwrap(), 0);
    let ports = PortConfig::scheduler(move |_| Box::new(leaky()));
    let config = Config::new(fabric(), TransportParams::new_reno(), ports, Time::from_ns(10_000_000));
    let error = Network::new(config).unwrap().run(&[flow(0, 0, 143, 1_000_000, 0)], &mut ()).unwrap_err();
    let RunError::NotConserved { account, events } = &error else { panic!("{error}") };
    assert!(account.starts_with("port 144 -> "), "{account}");
    assert!(account.contains("should wait, the scheduler holds"), "{account}");
    assert_eq!(events.len(), 32);
    assert!(error.to_string().contains("\n  "), "{error}");
}
