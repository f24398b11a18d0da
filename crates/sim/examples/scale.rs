//! The cost of a packet-hop in networks of different sizes: `cargo run --release -p pifolab-sim --example scale HOSTS
//! CASE SIMULATED_US [PARTS]...` prints one line of JSON. `lab/scale.py` makes a table of many.
//!
//! CASE is `dctcp` (drop-tail with marks) or `sp-pifo` (pFabric over 8 queues of 10 packets): leaves of 16 hosts at 1 Gb/s below
//! four spines at 4 Gb/s, web search at 60 % payload load; the longest path has four links whatever the size. Or the network is
//! a fat tree at 100 Gb/s with links of 1 us, under DCTCP over drop-tail: in `permutation` all hosts begin to send to a partner
//! in the first 1.3 us, `web-search` is web search at 50 % payload load.
//!
//! PARTS are numbers of threads. The run is repeated on each, with events by place. The line has
//! the seconds of each, and the critical path: all events divided by the sum, over all windows, of the most events of one
//! part. No machine gains more, however many processors it has.

use pifolab_sched::Capacity;
use pifolab_sched::schedulers::{SpPifo, SpPifoParams};
use pifolab_sim::network::{Config, Counters, EqualTimes, FatTree, Flow, LeafSpine, Network, PortConfig, Watch};
use pifolab_transport::TransportParams;
use pifolab_units::{Rate, Span, Time};
use pifolab_workload::flows::{FlowArrivals, FlowSizes, FlowSource, Interpolation, Pairs, starts_per_s_for_load};
use std::time::Instant;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| words.get(place).and_then(|word: &String| word.parse::<u32>().ok());
    let (Some(hosts), Some(case), Some(simulated_us)) = (number(0), words.get(1), number(2)) else {
        eprintln!("usage: scale HOSTS dctcp|sp-pifo|permutation|web-search SIMULATED_US [PARTS]...");
        std::process::exit(2);
    };
    let parts: Vec<u32> = words[3..].iter().map(|word| word.parse().expect("PARTS are numbers")).collect();
    let fabric = LeafSpine { leaves: hosts.div_ceil(16), hosts_per_leaf: hosts.min(16), ..LeafSpine::papers(1) };
    let end = Time::ZERO + Span::from_us(simulated_us.into());
    let (transport, ports) = match case.as_str() {
        "dctcp" => (TransportParams::dctcp(), PortConfig::drop_tail(Capacity::Bytes(146_000)).with_ecn(14_600)),
        "sp-pifo" => {
            let make = |_: &_| <SpPifo>::new(SpPifoParams::uniform(8, 10)).expect("these are right");
            (TransportParams::pfabric(), PortConfig::scheduler(make))
        }
        "permutation" | "web-search" => {
            (TransportParams::dctcp(), PortConfig::drop_tail(Capacity::Packets(500)).with_ecn(300_000))
        }
        other => {
            eprintln!("{other}: expected dctcp, sp-pifo, permutation or web-search");
            std::process::exit(2);
        }
    };
    let is_permutation = case == "permutation";
    let is_fat_tree = is_permutation || case == "web-search";
    let (load, rate) = if is_fat_tree { (0.5, Rate::from_gbps(100)) } else { (0.6, fabric.access_rate) };
    let topology = if is_fat_tree {
        let k = (4.0 * f64::from(hosts)).cbrt().round() as u32;
        FatTree { k, access_rate: rate, fabric_rate: rate, delay: Span::from_us(1) }.topology().expect("k is even")
    } else {
        fabric.topology().expect("a leaf for every 16 hosts")
    };
    let hosts = topology.hosts;
    let sizes = FlowSizes::web_search(Interpolation::StepLower);
    let starts_per_s = starts_per_s_for_load(load, rate, hosts, &sizes, &Pairs::Uniform);
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
    let peak_kb = peak_kb();
    let by_place = Config { equal_times: EqualTimes::ByPlace, ..network.config().clone() };
    let by_place = Network::new(by_place).expect("the network is right");
    let on = |parts: &u32| {
        let start = Instant::now();
        let run = by_place.run_in_parts(&flows, *parts, &[], &|| (), &Onlooker).expect("packets are conserved");
        let gain = run.windows.events as f64 / run.windows.longest as f64;
        let (windows, seconds) = (run.windows.windows, start.elapsed().as_secs_f64());
        format!("{{\"parts\": {parts}, \"wall_s\": {seconds:.4}, \"windows\": {windows}, \"at_most\": {gain:.3}}}")
    };
    let parts: Vec<String> = parts.iter().map(on).collect();
    println!(
        "{{\"hosts\": {hosts}, \"case\": \"{case}\", \"simulated_us\": {simulated_us}, \"flows\": {}, \"hops\": {}, \
         \"prepared_s\": {prepared_s:.4}, \"run_s\": {run_s:.4}, \"most_in_flight\": {}, \"peak_kb\": {peak_kb}, \
         \"parts\": [{}]}}",
        flows.len(),
        result.counters.hops,
        result.counters.most_in_flight,
        parts.join(", ")
    );
}

/// Lets a run end by itself.
struct Onlooker;

impl Watch for Onlooker {
    fn wants_end(&self) -> bool {
        false
    }
    fn note(&self, _: &Counters, _: Time, _: (usize, usize)) {}
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
