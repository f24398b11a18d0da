//! Measures the traces that the guided search evaluates per second and core. One evaluation sends 15 packets into PACKS
//! and into SP-PIFO, and drains both.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pifolab_adversary::{Constraint, Judge, Problem, Ranks, Trace, find_metric, library};
use pifolab_sched::params::{Args, Value};
use std::hint::black_box;

fn judge(criterion: &mut Criterion) {
    let queues = |name: &str, more: &[(&str, i128)]| {
        let mut args = Args::new(name);
        for (key, value) in [("queues", 3), ("queue_capacity_packets", 4)].iter().chain(more) {
            args.set(*key, Value::Integer(*value));
        }
        library(name, &args).expect("it is in the library").expect("its parameters are right")
    };
    let (packs, sp_pifo) = (queues("packs", &[("window", 4)]), queues("sp-pifo", &[]));
    let mut group = criterion.benchmark_group("evaluation");
    group.throughput(Throughput::Elements(1));
    for name in ["WD", "WI"] {
        let problem = Problem {
            a: &*packs,
            b: Some(&*sp_pifo),
            metric: find_metric(name).expect("it is a metric"),
            ranks: Ranks { lowest: 1, highest: 11, counted: 1 },
            packets: 15,
            no_drops: false,
            free_window: false,
            constraint: Constraint::default(),
        };
        let mut judge = Judge::new(&problem);
        let mut trace = Trace::batch(vec![7, 8, 9, 10, 1, 11, 1, 2, 2, 2, 9, 3, 3, 1, 1]);
        let mut turn = 0;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                turn = (turn + 1) % 15;
                trace.ranks[turn] = 1 + (trace.ranks[turn] + 3) % 11;
                black_box(judge.gap(&trace, None))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, judge);
criterion_main!(benches);
