//! What a packet-hop costs in networks of different sizes: `cargo run --release -p pifolab-sim --example scale HOSTS CASE
//! SIMULATED_MS` prints one line of JSON. `lab/scale.py` makes a table of many.
//!
//! Leaves of 16 hosts at 1 Gb/s below four spines at 4 Gb/s, web search at 60 % payload load: the longest path has four links
//! whatever the size. CASE is `dctcp` (drop-tail with marks) or `sp-pifo` (pFabric over 8 queues of 10 packets).

use pifolab_sched::Capacity;
use pifolab_sched::schedulers::{SpPifo, SpPifoParams};
use pifolab_sim::network::{Config, Flow, LeafSpine, Network, PortConfig};
use pifolab_transport::TransportParams;
use pifolab_units::{Span, Time};
use pifolab_workload::flows::{FlowArrivals, FlowSizes, FlowSource, Interpolation, Pairs, starts_per_s_for_load};
use std::time::Instant;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| words.get(place).and_then(|word: &String| word.parse::<u32>().ok());
    let (Some(hosts), Some(case), Some(simulated_ms)) = (number(0), words.get(1), number(2)) else {
        eprintln!("usage: scale HOSTS dctcp|sp-pifo SIMULATED_MS");
        std::process::exit(2);
    };
    let fabric = LeafSpine { leaves: hosts.div_ceil(16), hosts_per_leaf: hosts.min(16), ..LeafSpine::papers(1) };
    let end = Time::ZERO + Span::from_us(1_000 * u64::from(simulated_ms));
    let (transport, ports) = match case.as_str() {
        "dctcp" => (TransportParams::dctcp(), PortConfig::drop_tail(Capacity::Bytes(146_000)).with_ecn(14_600)),
        "sp-pifo" => {
            let make = |_: &_| <SpPifo>::new(SpPifoParams::uniform(8, 10)).expect("these are right");
            (TransportParams::pfabric(), PortConfig::scheduler(make))
        }
        other => {
            eprintln!("{other}: expected dctcp or sp-pifo");
            std::process::exit(2);
        }
    };
    let topology = fabric.topology().expect("a leaf for every 16 hosts");
    let hosts = topology.hosts;
    let sizes = FlowSizes::web_search(Interpolation::StepLower);
    let source = FlowSource {
        hosts,
        arrivals: FlowArrivals::Poisson {
            starts_per_s: starts_per_s_for_load(0.6, fabric.access_rate, hosts, &sizes, &Pairs::Uniform),
        },
        sizes,
        pairs: Pairs::Uniform,
        start: Time::ZERO,
        end,
        flows: u64::MAX,
    };
    let flows: Vec<Flow> = source.stream(1, "flows").expect("the source is right").collect();
    let start = Instant::now();
    let network = Network::new(Config::new(topology, transport, ports, end)).expect("the network is right");
    let prepared_s = start.elapsed().as_secs_f64();
    let start = (Instant::now(), processor_s());
    let result = network.run(&flows, &mut ()).expect("packets are conserved");
    let run_s = match (start.1, processor_s()) {
        (Some(before), Some(now)) => now - before,
        _ => start.0.elapsed().as_secs_f64(),
    };
    println!(
        "{{\"hosts\": {hosts}, \"case\": \"{case}\", \"simulated_ms\": {simulated_ms}, \"flows\": {}, \"hops\": {}, \
         \"prepared_s\": {prepared_s:.4}, \"run_s\": {run_s:.4}, \"peak_kb\": {}}}",
        flows.len(),
        result.counters.hops,
        peak_kb()
    );
}

/// The processor time that this thread has had, where the system tells: other processes hardly change it.
fn processor_s() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<u64>().ok()? as f64 / 1e9)
}

/// The most memory that this process ever had, where the system tells.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}
