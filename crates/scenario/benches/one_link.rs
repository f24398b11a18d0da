//! One second of PACKS section 6.1 (916,667 packets) through one scheduler with all observers: all of `pifolab run`
//! except writing files. It should take well under a second.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pifolab_scenario::{Spec, ValidSpec};
use std::hint::black_box;
use std::ops::ControlFlow;

const PACKETS: u64 = 916_667;

fn spec(scheduler: &str) -> ValidSpec {
    let text = format!(
        "duration_s = 1
         link = {{ rate_gbps = 10 }}
         workload = {{ arrivals = \"constant\", rate_gbps = 11, size_bytes = 1500, ranks = \"uniform\" }}
         metrics = {{ unpifoness_window_packets = 1000, throughput_interval_ms = 10 }}
         scheduler = [{{ {scheduler} }}]"
    );
    Spec::parse(&text, "bench").and_then(|spec| ValidSpec::new(spec, &())).expect("the scenario is right")
}

fn one_second(c: &mut Criterion) {
    let mut group = c.benchmark_group("packs-6.1-all-observers");
    group.throughput(Throughput::Elements(PACKETS)).sample_size(10);
    for (name, scheduler) in [
        ("fifo", "name = \"fifo\""),
        ("pifo", "name = \"pifo\""),
        ("sp-pifo", "name = \"sp-pifo\""),
        ("aifo", "name = \"aifo\", capacity_packets = 80, window = 1000, k = 0"),
        ("packs", "name = \"packs\", window = 1000, k = 0"),
    ] {
        let spec = spec(scheduler);
        group.bench_with_input(BenchmarkId::from_parameter(name), &spec, |b, spec| {
            b.iter(|| {
                let report = spec.run(1, 1, &(), &mut |_| ControlFlow::Continue(())).expect("it runs");
                black_box(report.tables.len())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, one_second);
criterion_main!(benches);
