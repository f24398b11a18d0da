//! The cost of a packet-hop in networks of different sizes: `cargo run --release -p pifolab-sim --example scale HOSTS
//! CASE SIMULATED_US` prints one line of JSON. `lab/scale.py` makes a table of many.
//!
//! CASE is `dctcp` (drop-tail with marks) or `sp-pifo` (pFabric over 8 queues of 10 packets): leaves of 16 hosts at 1 Gb/s below
//! four spines at 4 Gb/s, web search at 60 % payload load; the longest path has four links whatever the size. Or it is
//! `permutation`: a fat tree at 100 Gb/s, whose hosts all begin to send to a partner in the first 1.3 us, DCTCP over drop-tail.

use pifolab_sched::Capacity;
use pifolab_sched::schedulers::{SpPifo, SpPifoParams};
use pifolab_sim::network::{Config, FatTree, Flow, LeafSpine, Network, PortConfig};
use pifolab_transport::TransportParams;
use pifolab_units::{Rate, Span, Time};
use pifolab_workload::flows::{FlowArrivals, FlowSizes, FlowSource, Interpolation, Pairs, starts_per_s_for_load};
use std::time::Instant;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| words.get(place).and_then(|word: &String| word.parse::<u32>().ok());
    let (Some(hosts), Some(case), Some(simulated_us)) = (number(0), words.get(1), number(2)) else {
        eprintln!("usage: scale HOSTS dctcp|sp-pifo|permutation SIMULATED_US");
        std::process::exit(2);
    };
    let fabric = LeafSpine { leaves: hosts.div_ceil(16), hosts_per_leaf: hosts.min(16), ..LeafSpine::papers(1) };
    let end = Time::ZERO + Span::from_us(simulated_us.into());
    let (transport, ports) = match case.as_str() {
        "dctcp" => (TransportParams::dctcp(), PortConfig::drop_tail(Capacity::Bytes(146_000)).with_ecn(14_600)),
        "sp-pifo" => {
            let make = |_: &_| <SpPifo>::new(SpPifoParams::uniform(8, 10)).expect("these are right");
            (TransportParams::pfabric(), PortConfig::scheduler(make))
        }
        "permutation" => (TransportParams::dctcp(), PortConfig::drop_tail(Capacity::Packets(500)).with_ecn(300_000)),
        other => {
            eprintln!("{other}: expected dctcp, sp-pifo or permutation");
            std::process::exit(2);
        }
    };
    let is_permutation = case == "permutation";
    let topology = if is_permutation {
        let rate = Rate::from_gbps(100);
        let k = (4.0 * f64::from(hosts)).cbrt().round() as u32;
        FatTree { k, access_rate: rate, fabric_rate: rate, delay: Span::from_us(1) }.topology().expect("k is even")
    } else {
        fabric.topology().expect("a leaf for every 16 hosts")
    };
    let hosts = topology.hosts;
    let sizes = FlowSizes::web_search(Interpolation::StepLower);
    let starts_per_s = starts_per_s_for_load(0.6, fabric.access_rate, hosts, &sizes, &Pairs::Uniform);
    let source = FlowSource {
        hosts,
        arrivals: FlowArrivals::Poisson { starts_per_s },
        sizes,
        pairs: Pairs::Uniform,
        start: Time::ZERO,
        end,
        flows: u64::MAX,
    };
    let source = if is_permutation {
        FlowSource {
            arrivals: FlowArrivals::Periodic { period: Span::from_ps(1_310_720 / u64::from(hosts)) },
            sizes: FlowSizes::fixed(10_000_000).expect("a sound size"),
            pairs: Pairs::Permutation,
            flows: hosts.into(),
            ..source
        }
    } else {
        source
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
        "{{\"hosts\": {hosts}, \"case\": \"{case}\", \"simulated_us\": {simulated_us}, \"flows\": {}, \"hops\": {}, \
         \"prepared_s\": {prepared_s:.4}, \"run_s\": {run_s:.4}, \"most_in_flight\": {}, \"peak_kb\": {}}}",
        flows.len(),
        result.counters.hops,
        result.counters.most_in_flight,
        peak_kb()
    );
}

/// The processor time of this thread, if the system reports it: other processes hardly change it.
fn processor_s() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<u64>().ok()? as f64 / 1e9)
}

/// The peak memory of this process, if the system reports it.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}
