//! Runs that several threads share: the same results for any number of parts.

use pifolab_sched::ranks::{Stfq, StfqParams};
use pifolab_sched::schedulers::{Pifo, PifoParams, SpPifo, SpPifoParams};
use pifolab_sched::{Capacity, Inspect, Ranked};
use pifolab_sim::network::{
    Config, Counters, EqualTimes, FatTree, Flow, LeafSpine, LinkChange, Network, PartedRun, PortConfig, Ranks, Routing,
    RunResult, SharedBuffer, Topology, Watch,
};
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_transport::TransportParams;
use pifolab_transport::udp::UdpParams;
use pifolab_units::{Rate, Ratio, Span, Time};
use pifolab_workload::Distribution;
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Lets the run end by itself.
struct Onlooker;

impl Watch for Onlooker {
    fn wants_end(&self) -> bool {
        false
    }
    fn note(&self, _: &Counters, _: Time, _: (usize, usize)) {}
}

/// All that happens to packets at each port, in order. Ids of packets differ between numbers of parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ports(Vec<Vec<Seen>>);

/// A kind of event; the flow, size and rank of its packet; the queue or the reason of a loss; its arrival and the present.
type Seen = (u8, u32, u32, u64, u32, Time, Time);

impl Ports {
    fn note(&mut self, PortId(port): PortId, kind: u8, packet: PacketView, queue: u32, now: Time) {
        let port = port as usize;
        if self.0.len() <= port {
            self.0.resize(port + 1, Vec::new());
        }
        let PacketView { flow, size, rank, arrival, .. } = packet;
        self.0[port].push((kind, flow, size, rank.get(), queue, arrival, now));
    }
}

impl Observer for Ports {
    fn on_admit(&mut self, port: PortId, packet: PacketView, queue: u32, _: &dyn Inspect, now: Time) {
        self.note(port, 0, packet, queue, now);
    }
    fn on_drop(&mut self, port: PortId, packet: PacketView, loss: Loss, _: &dyn Inspect, now: Time) {
        self.note(port, 1, packet, loss.reason as u32, now);
    }
    fn on_dequeue(&mut self, port: PortId, packet: PacketView, queue: u32, _: &dyn Inspect, now: Time) {
        self.note(port, 2, packet, queue, now);
    }
    fn on_link_down(&mut self, port: PortId, packet: PacketView, _: &dyn Inspect, now: Time) {
        self.note(port, 3, packet, 0, now);
    }
}

/// The results without the numbers of windows, and the events of each port, from the part that owns it.
fn of_all_parts(run: PartedRun<Ports>, ports: usize) -> (RunResult, Vec<pifolab_sim::network::Snapshot>, Ports) {
    let PartedRun { result, snapshots, observers, part_of, .. } = run;
    let at = |part: usize, port: usize| observers[part].0.get(port).cloned().unwrap_or_default();
    for (part, _) in observers.iter().enumerate() {
        for (port, owner) in part_of.iter().enumerate() {
            assert!(part as u32 == *owner || at(part, port).is_empty(), "port {port} was observed elsewhere");
        }
    }
    let owned = (0..ports).map(|port| at(part_of[port] as usize, port)).collect();
    (result, snapshots, Ports(owned))
}

/// A network in which many events happen at equal times: few sizes, rates and delays.
fn topology(kind: u32, rate: u64, delays: [u64; 2]) -> Topology {
    let rate = Rate::from_gbps(rate);
    let delay = Span::from_ns(delays[0]);
    let mut topology = match kind {
        0 => LeafSpine { leaves: 4, spines: 3, hosts_per_leaf: 3, access_rate: rate, fabric_rate: rate, delay }
            .topology()
            .unwrap(),
        1 => FatTree { k: 4, access_rate: rate, fabric_rate: rate, delay }.topology().unwrap(),
        2 => Topology::single_switch(5, rate, delay).unwrap(),
        // A ring of switches, with one host each: not regular.
        _ => {
            let mut ring = Topology { hosts: 9, nodes: 18, links: Vec::new() };
            for host in 0..9 {
                ring.connect(host, 9 + host, rate, delay);
            }
            for switch in 0..9 {
                ring.connect(9 + switch, 9 + (switch + 1) % 9, rate, delay);
            }
            ring
        }
    };
    for (number, link) in topology.links.iter_mut().enumerate() {
        if number / 2 % 3 == 1 {
            link.delay = Span::from_ns(delays[1]);
        }
    }
    topology
}

fn port(kind: u32) -> PortConfig {
    match kind {
        0 => PortConfig::drop_tail(Capacity::Packets(8)).with_ecn(4_500),
        1 => PortConfig::drop_tail(Capacity::Bytes(9_000)),
        2 => PortConfig::scheduler(|_| <Pifo>::new(PifoParams::packets(6)).unwrap()),
        3 => PortConfig::scheduler(|_| <SpPifo>::new(SpPifoParams::uniform(3, 3)).unwrap()),
        _ => PortConfig::scheduler(|_| {
            Ranked::new(Stfq::new(StfqParams::default()).unwrap(), <Pifo>::new(PifoParams::packets(12)).unwrap())
        })
        .with_ecn(6_000),
    }
}

proptest! {
    #![proptest_config(pifolab_testkit::cases(80))]

    #[test]
    fn results_do_not_depend_on_the_number_of_parts(
        (kind, rate) in (0u32..4, prop::sample::select(vec![1u64, 10])),
        delays in prop::sample::select(vec![[20u64, 20], [20, 700], [1_000, 1_000], [1_000, 3_000], [700, 20]]),
        (ports, transport) in (0u32..5, 0u32..3),
        drawn in prop::collection::vec((any::<u32>(), any::<u32>(), 1u64..40_000, 0u64..4), 1..25),
        failing in prop::collection::vec((any::<u32>(), 1u64..200, 1u64..100), 0..3),
        (shares_memory, watched, pause, seed) in (any::<bool>(), any::<bool>(), 1u64..300, any::<u64>()),
    ) {
        let topology = topology(kind, rate, delays);
        let (hosts, links) = (topology.hosts, topology.links.len());
        let transport = match transport {
            0 => TransportParams::dctcp(),
            1 => TransportParams::new_reno(),
            _ => TransportParams::pfabric(),
        };
        let mut config = Config::new(topology, transport, port(ports), Time::from_ns(400_000));
        config.equal_times = EqualTimes::ByPlace;
        config.routing = Routing::FlowHash { seed };
        if shares_memory {
            config.shared_buffer = Some(SharedBuffer { bytes: 20_000, alpha: Ratio::new(1, 1).unwrap() });
        }
        for (port, down, up) in failing {
            let port = port % links as u32;
            if config.link_changes.iter().all(|change| change.port != port) {
                let at = |us: u64| Time::from_ns(1_000 * us);
                config.link_changes.push(LinkChange { time: at(down), port, up: false });
                config.link_changes.push(LinkChange { time: at(down + up), port, up: true });
            }
        }
        let mut start = Time::ZERO;
        let flows: Vec<Flow> = (0..).zip(drawn).map(|(id, (src, dst, bytes, after))| {
            start += Span::from_ns(1_200 * after);
            let src = src % hosts;
            Flow { id, src, dst: (src + 1 + dst % (hosts - 1)) % hosts, bytes, start }
        }).collect();
        let network = Network::new(config).unwrap();
        prop_assert_eq!(network.whole_because(), None);
        let pauses = [Time::from_ns(1_000 * pause)];
        if watched {
            let run = |parts| network.run_in_parts(&flows, parts, &pauses, &Ports::default, &Onlooker).unwrap();
            let one = of_all_parts(run(1), links);
            let mut whole = Ports::default();
            prop_assert_eq!(&network.run(&flows, &mut whole).unwrap(), &one.0);
            whole.0.resize(links, Vec::new());
            prop_assert_eq!(&whole, &one.2);
            for parts in [2, 3, 8] {
                prop_assert_eq!(&of_all_parts(run(parts), links), &one, "{} parts", parts);
            }
        } else {
            let run = |parts| network.run_in_parts(&flows, parts, &pauses, &|| (), &Onlooker).unwrap();
            let one = run(1);
            prop_assert_eq!(&network.run(&flows, &mut ()).unwrap(), &one.result);
            for parts in [2, 3, 8] {
                let several = run(parts);
                prop_assert_eq!(&several.result, &one.result, "{} parts", parts);
                prop_assert_eq!(&several.snapshots, &one.snapshots, "{} parts", parts);
                prop_assert_eq!(several.windows.events, one.windows.events);
                prop_assert!(several.windows.longest <= one.windows.longest);
            }
        }
    }
}

fn small() -> (Network, Vec<Flow>) {
    let mut config =
        Config::new(topology(0, 10, [1_000, 1_000]), TransportParams::dctcp(), port(0), Time::from_ns(5_000_000));
    config.equal_times = EqualTimes::ByPlace;
    let flow = |id: u32| Flow { id: id.into(), src: id % 12, dst: (id + 5) % 12, bytes: 200_000, start: Time::ZERO };
    (Network::new(config).unwrap(), (0..12).map(flow).collect())
}

#[test]
fn a_run_in_parts_ends_between_two_windows_when_its_caller_wants() {
    struct After(AtomicU64, u64);
    impl Watch for After {
        fn wants_end(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) >= self.1
        }
        fn note(&self, _: &Counters, _: Time, _: (usize, usize)) {}
    }
    let (network, flows) = small();
    let run =
        |parts, windows| network.run_in_parts(&flows, parts, &[], &|| (), &After(AtomicU64::new(0), windows)).unwrap();
    let whole = run(3, u64::MAX);
    assert!(!whole.interrupted && whole.result.end == Time::from_ns(5_000_000));
    for windows in [0, 1, 7, 40] {
        let cut = run(3, windows);
        assert!(cut.interrupted);
        assert_eq!(cut.windows.windows, windows);
        assert!(cut.result.end < whole.result.end && cut.result.counters.events < whole.result.counters.events);
    }
}

#[test]
#[should_panic(expected = "a scheduler fails")]
fn a_panic_in_one_part_ends_the_run() {
    let (network, flows) = small();
    let mut config = network.config().clone();
    config.switch_port = PortConfig::scheduler(|info| {
        assert!(info.from < 14, "a scheduler fails");
        <Pifo>::new(PifoParams::packets(6)).unwrap()
    });
    let network = Network::new(config).unwrap();
    let _ = network.run_in_parts(&flows, 3, &[], &|| (), &Onlooker);
}

type Change = fn(&mut Config);

#[test]
fn a_network_that_cannot_be_cut_says_why() {
    let (network, _) = small();
    let because = |change: fn(&mut Config)| {
        let mut config = network.config().clone();
        change(&mut config);
        Network::new(config).unwrap().whole_because()
    };
    let udp = |config: &mut Config| {
        config.transport = TransportParams::udp(UdpParams { payload_bytes: 1_000, interval: Span::from_us(1) });
    };
    let drawn = |config: &mut Config| {
        config.ranks = Ranks::Drawn { distribution: Arc::new(Distribution::uniform(0, 9).unwrap()), seed: 1 };
    };
    let sharing = |config: &mut Config| {
        config.switch_port = PortConfig::sharing(|_, _: &mut Vec<u32>| <Pifo>::new(PifoParams::packets(6)).unwrap());
    };
    assert_eq!(because(|_| {}), None);
    let cases: [(Change, &str); 6] = [
        (|config| config.equal_times = EqualTimes::DeparturesFirst, "events of equal time are not ordered by place"),
        (udp, "its transport is not one of the library's TCPs"),
        (|config| config.routing = Routing::Spray { seed: 1 }, "packets are sprayed by one sequence of draws"),
        (drawn, "ranks are drawn from one sequence"),
        (|config| config.topology.links[0].delay = Span::ZERO, "a link has no delay"),
        (sharing, "its ports share state"),
    ];
    for (change, reason) in cases {
        assert_eq!(because(change), Some(reason));
    }
}
