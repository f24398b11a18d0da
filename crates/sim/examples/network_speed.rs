//! Packet-hops per second of the benchmark runs:
//! `cargo run --release -p pifolab-sim --example network_speed [SIMULATED_MS] [CASE]...`

use pifolab_params::Choice;
use pifolab_sim::bench::{Case, Prepared};
use pifolab_units::Span;
use std::time::Instant;

fn main() {
    let mut wanted: Vec<String> = std::env::args().skip(1).collect();
    let simulated_ms = wanted.first().and_then(|word| word.parse().ok());
    if simulated_ms.is_some() {
        wanted.remove(0);
    }
    let simulated = Span::from_us(1_000 * simulated_ms.unwrap_or(1_000));
    for case in Case::ALL.iter().copied() {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == case.word()) {
            continue;
        }
        let prepared = Prepared::new(case, simulated);
        let start = Instant::now();
        let result = prepared.run();
        let wall_s = start.elapsed().as_secs_f64();
        let counters = &result.counters;
        println!(
            "{:16} {:6.2} M hops/s  {:6.2} M events/s  {wall_s:.2} s  {} hops, {} events, {} of {} flows complete, \
             mean FCT {:.3} ms, {} dropped, {} packets at most, trace {:016x}",
            case.word(),
            counters.hops as f64 / wall_s / 1e6,
            counters.events as f64 / wall_s / 1e6,
            counters.hops,
            counters.events,
            result.completed(prepared.flows()).count(),
            prepared.flows().len(),
            1e3 * result.completed(prepared.flows()).map(|(_, fct)| fct.as_s_f64()).sum::<f64>()
                / result.completed(prepared.flows()).count() as f64,
            counters.dropped,
            counters.most_in_flight,
            result.trace_hash,
        );
    }
}
