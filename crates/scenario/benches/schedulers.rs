//! Nanoseconds per packet of every scheduler and per rank of the window's quantile: the loop of `pifolab bench sched`
//! under criterion, for comparisons between revisions.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pifolab_scenario::bench::{Load, OCCUPANCIES, WINDOWS, WindowRun, cases};
use std::hint::black_box;
use std::time::Duration;

/// Packets in one iteration: long enough that reading the clock costs nothing.
const PACKETS: u64 = 1 << 13;

fn schedulers(criterion: &mut Criterion) {
    for occupancy in OCCUPANCIES {
        for load in [Load::Steady, Load::Overload] {
            let mut group = criterion.benchmark_group(format!("{} at {occupancy}", load.word()));
            group.throughput(Throughput::Elements(PACKETS)).sample_size(20);
            group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(500));
            for case in cases() {
                let mut run = case.prepare(occupancy, load);
                group.bench_function(case.name(), |b| {
                    b.iter(|| black_box(run.run(PACKETS)));
                });
            }
        }
    }
}

fn windows(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("window quantile");
    group.throughput(Throughput::Elements(PACKETS)).sample_size(20);
    group.warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(500));
    for size in WINDOWS {
        let mut run = WindowRun::new(size);
        group.bench_function(BenchmarkId::from_parameter(size), |b| b.iter(|| black_box(run.run(PACKETS))));
    }
}

criterion_group!(benches, schedulers, windows);
criterion_main!(benches);
