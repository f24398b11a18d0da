//! Nanoseconds per packet of every scheduler and per rank of the window's quantile: the loop of `pifolab bench sched`
//! under criterion, for comparisons between revisions.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pifolab_scenario::bench::{Load, OCCUPANCIES, WINDOWS, WindowRun, cases};
use pifolab_scenario::registry::find_scheduler;
use pifolab_sched::params::{Args, Value};
use std::fmt::Write as _;
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

/// A hierarchy of so many nodes as text; `parent` says of which earlier node each is a child. Every node has a flow of its own.
fn hierarchy(nodes: usize, parent: fn(usize) -> usize) -> String {
    let mut children = vec![Vec::new(); nodes];
    for node in 1..nodes {
        children[parent(node)].push(node);
    }
    let mut text = String::new();
    for (node, children) in children.iter().enumerate() {
        write!(text, "{node} {} {{{node}, false, 1}}", if node % 2 == 0 { "WFQ" } else { "SP" }).unwrap();
        for child in children {
            write!(text, " {{{child}, true, {}}}", 1 + child % 9).unwrap();
        }
        text.push('\n');
    }
    text
}

/// The parent of a node, by number.
type Parent = fn(usize) -> usize;

/// From text to a tree: to stay below a second for any hierarchy of 10,000 nodes.
fn hierarchies(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("hierarchy of 10,000 nodes");
    group.sample_size(10).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
    let shapes: [(&str, Parent); 3] = [
        ("two children each", |node| (node - 1) / 2),
        ("one parent of all", |_| 0),
        // Chains of 200 below the root.
        ("deep", |node| if node % 200 == 1 { 0 } else { node - 1 }),
    ];
    for (shape, parent) in shapes {
        let text = hierarchy(10_000, parent);
        group.bench_function(shape, |b| {
            b.iter(|| {
                let mut args = Args::new("tree");
                args.set("hierarchy", Value::Text(text.clone()));
                let tree =
                    find_scheduler("tree").and_then(|tree| (tree.build)(args).map_err(|error| error.to_string()));
                assert!(tree.is_ok_and(|tree| tree.queues() == 10_000), "each flow has a leaf");
            });
        });
    }
}

criterion_group!(benches, schedulers, windows, hierarchies);
criterion_main!(benches);
