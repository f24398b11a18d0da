//! The effect of each option of the published simulations on results: its output is `lab/pages/netbench-options.md`.
//!
//! `cargo run --release -p pifolab-sim --example netbench_quirks [SIMULATED_MS]` (default 250): SP-PIFO's Figure 8 at
//! 3,600 flows/s, everything as in the published runs, then one option at a time set to pifolab's default, then all.

use pifolab_sched::Capacity;
use pifolab_sched::schedulers::{Pifo, PifoParams, Ties};
use pifolab_sim::network::{
    Config, EqualTimes, IdlePort, LeafSpine, NetbenchTransport, Network, PortConfig, Profile, Routing,
};
use pifolab_transport::dctcp::DctcpParams;
use pifolab_transport::{Congestion, RankRule, TcpParams, TransportParams};
use pifolab_units::{Rounding, Time};
use pifolab_workload::flows::{Flow, FlowSizes, Interpolation, NETBENCH_SEED, NetbenchFlows, NetbenchFork};

const PROFILE: Profile = Profile::NetbenchSpPifo;

fn pifo(packets: u32, ties: Ties) -> PortConfig {
    let params = PifoParams { ties, ..PifoParams::packets(packets) };
    PortConfig::scheduler(move |_| Box::new(Pifo::new(params).expect("a sound capacity")))
}

fn marking() -> PortConfig {
    PortConfig::drop_tail(Capacity::Bytes(146_000)).with_ecn(14_600)
}

fn tcp(config: &mut Config, change: impl Fn(&mut TcpParams, TcpParams)) {
    change(&mut config.transport.tcp, TcpParams::default());
}

type Change = (&'static str, fn(&mut Config));

/// Options that concern every scheme.
const COMMON: &[Change] = &[
    ("departures before arrivals at equal times", |c| c.equal_times = EqualTimes::DeparturesFirst),
    ("serialisation exact to the picosecond", |c| c.rounding = Rounding::UpToPicosecond),
    ("another path hash", |c| c.routing = Routing::default()),
    ("first duplicates count", |c| tcp(c, |tcp, _| tcp.count_first_duplicates = true)),
    ("data may overtake the handshake", |c| tcp(c, |tcp, _| tcp.accept_data_in_handshake = true)),
    ("timer runs from the oldest segment", |c| tcp(c, |tcp, _| tcp.restart_timer_on_send = false)),
    ("a timeout ends the old recovery", |c| tcp(c, |tcp, _| tcp.timeout_sets_recover = true)),
    ("timeout floor of 1 ms", |c| {
        tcp(c, |tcp, default| (tcp.min_rto, tcp.max_rto) = (default.min_rto, default.max_rto))
    }),
    ("hosts queue without limit", |c| c.host_port = c.switch_port.for_hosts()),
];

const ON_DCTCP: &[Change] = &[
    ("one cut per window, alpha starts at 1", |c| c.transport.congestion = Congestion::Dctcp(DctcpParams::default())),
    ("all defaults", |c| {
        *c = Config::new(c.topology.clone(), TransportParams::dctcp(), marking(), c.end);
    }),
];

fn with_ports(config: &mut Config, ports: PortConfig) {
    let ports = PortConfig { idle: config.switch_port.idle, ..ports };
    (config.switch_port, config.host_port) = (ports.clone(), ports);
}

const ON_PFABRIC: &[Change] = &[
    ("an idle port uses its scheduler", |c| {
        (c.switch_port.idle, c.host_port.idle) = (IdlePort::Scheduler, IdlePort::Scheduler);
    }),
    ("equal ranks first in first out", |c| with_ports(c, pifo(79, Ties::Fifo))),
    ("80 packets instead of 79", |c| with_ports(c, pifo(80, Ties::Heap))),
    ("ranks count from byte 0", |c| c.transport.rank = RankRule::RemainingSize),
    ("all defaults", |c| {
        *c = Config::new(c.topology.clone(), TransportParams::pfabric(), pifo(80, Ties::Fifo), c.end);
    }),
];

fn row(name: &str, config: Config, flows: &[Flow]) {
    let result = Network::new(config).expect("a sound network").run(flows, &mut ()).expect("packets are conserved");
    let times = |small: bool| {
        let mut times: Vec<f64> = result
            .completed(flows)
            .filter(|(flow, _)| if small { flow.bytes < 100_000 } else { flow.bytes >= 1_000_000 })
            .map(|(_, fct)| fct.as_s_f64() * 1e3)
            .collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let (small, large) = (times(true), times(false));
    let counters = &result.counters;
    println!(
        "| {name} | {:.3} | {:.2} | {:.2} | {} | {} | {} | {} |",
        mean(&small),
        small[small.len() * 99 / 100],
        mean(&large),
        result.completed(flows).count(),
        counters.dropped,
        counters.fast_retransmissions,
        counters.timeouts,
    );
}

fn main() {
    let simulated_ms: u64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(250);
    let end = Time::from_ns(simulated_ms * 1_000_000);
    let sizes = FlowSizes::web_search(Interpolation::StepLower);
    let flows = NetbenchFlows::new(NetbenchFork::SpPifo, NETBENCH_SEED, 3_600, 144, sizes, end);
    let flows: Vec<Flow> = flows.expect("a sound source").collect();
    let schemes = [
        ("DCTCP", NetbenchTransport::Dctcp, marking(), ON_DCTCP),
        ("pFabric over PIFO", NetbenchTransport::Pfabric, pifo(79, Ties::Heap), ON_PFABRIC),
    ];
    for (name, transport, ports, own) in schemes {
        println!("\n## {name}: {} flows in {simulated_ms} ms\n", flows.len());
        println!(
            "| change | small: mean ms | p99 ms | large: mean ms | complete | dropped | fast retransmissions | timeouts |"
        );
        println!("|---|--:|--:|--:|--:|--:|--:|--:|");
        let topology = LeafSpine::papers(1).topology().expect("the papers' fabric is sound");
        let mut config = Config::new(topology, PROFILE.transport(transport), ports, end);
        PROFILE.apply(&mut config);
        row("**none: the published run**", config.clone(), &flows);
        for (what, change) in COMMON.iter().chain(own) {
            let mut config = config.clone();
            change(&mut config);
            row(what, config, &flows);
        }
    }
}
