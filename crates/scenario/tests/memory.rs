//! Compares estimates of memory with the bytes that runs allocate, which are counted, so that every machine gets the
//! same.

use pifolab_metrics::Table;
use pifolab_scenario::registry::{SCHEDULERS, SchedulerEntry};
use pifolab_scenario::{Memory, read_text};
use proptest::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator with counters of the bytes in use and of their maximum.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn more(bytes: usize) {
    MOST.fetch_max(NOW.fetch_add(bytes, Ordering::Relaxed) + bytes, Ordering::Relaxed);
}

// SAFETY: every call is forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Large allocations grow in place.
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        more(size);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The estimated memory of a run on one thread and on `workers`, the bytes that it allocates on `workers`, and the ranks
/// that had inversions or losses at watched ports.
fn estimated_and_taken(text: &str, workers: usize) -> ([Memory; 2], f64, f64) {
    let spec = read_text(text, "x.toml", &[], None, &()).unwrap_or_else(|error| panic!("{error}: {text}"));
    let estimated = [1, workers].map(|workers| spec.memory(workers));
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let report = spec.run(1, workers, &(), &mut |_| ControlFlow::Continue(())).unwrap();
    // Python gets a copy of the tables.
    let copied: usize = report.tables.iter().map(|table| table.rows() * table.columns.len() * 8).sum();
    let taken = (MOST.load(Ordering::Relaxed) - before + copied) as f64;
    let ranks = report.tables.iter().filter(|table| table.name == "port_ranks").map(Table::rows).sum::<usize>();
    (estimated, taken, ranks as f64)
}

/// What a drawn network carries: flows of TCP or datagrams, with the ranks that senders or ports write, watched or not.
#[derive(Clone, Debug)]
struct Traffic {
    flows: u32,
    flow_bytes: u64,
    transport: &'static str,
    port_rank: &'static str,
    watched: bool,
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let transports = prop_oneof![
        Just("name = \"newreno\"\nrank = \"remaining-size\""),
        Just("name = \"newreno\"\nrank = \"flow-size\"\ninitial_window_segments = 100"),
        Just("name = \"pfabric\""),
        Just("name = \"cubic\"\nrank = \"unacknowledged\""),
        Just("name = \"udp\"\npayload_bytes = 1000\ninterval_us = 10\nrank = \"flow-size\""),
    ];
    let port_ranks = prop_oneof![3 => Just(""), 1 => Just("stfq"), 1 => Just("las"), 1 => Just("fcfs")];
    let flows = prop_oneof![Just(1u32), 1u32..50, 50u32..2000];
    let bytes = prop_oneof![1_000u64..20_000, 20_000u64..100_000];
    (flows, bytes, transports, port_ranks, any::<bool>()).prop_map(
        |(flows, flow_bytes, transport, port_rank, watched)| Traffic {
            flows,
            flow_bytes,
            transport,
            port_rank,
            watched,
        },
    )
}

/// A fat tree of `k` with some flows, and so many schedulers alike.
fn network(k: u32, traffic: &Traffic, scheduler: &str, schedulers: usize) -> String {
    let Traffic { flows, flow_bytes, transport, port_rank, watched } = traffic;
    let each = |place: usize| format!("[[scheduler]]\n{scheduler}\nlabel = \"s{place}\"\n");
    let schedulers: String = (0..schedulers).map(each).collect();
    let rank = if port_rank.is_empty() { String::new() } else { format!("[rank]\nname = \"{port_rank}\"\n") };
    format!(
        "duration_ms = 2\nmetrics = {{ watch_ports = {watched} }}\n[topology]\nkind = \"fat-tree\"\nk = {k}\n\
         access_rate_gbps = 10\ndelay_us = 1\n[transport]\n{transport}\n{rank}[workload.flows]\narrivals = \"poisson\"\n\
         starts_per_s = {}\nmax_flows = {flows}\nsizes = \"fixed\"\nsize_bytes = {flow_bytes}\npairs = \"uniform\"\n{schedulers}",
        f64::from(*flows) * 1000.0
    )
}

/// The keys of a scheduler with so many queues, if it has several, and so many packets in all.
fn written(entry: &SchedulerEntry, queues: u32, capacity: u32) -> Option<String> {
    let has = |key: &str| entry.info.params.iter().any(|param| param.name == key);
    // Without trees and managed schedulers, which hold others, and P4 programs, whose files define their state: unit
    // tests of the estimate have them.
    if ["child", "scheduler", "program"].iter().any(|key| has(key)) {
        return None;
    }
    let name = entry.info.name;
    let mut text = format!("name = \"{name}\"\n");
    if has("queue_capacity_packets") {
        if has("queues") {
            text += &format!("queues = {queues}\n");
        }
        text += &format!("queue_capacity_packets = {capacity}\n");
    } else if has("capacity_packets") {
        text += &format!("capacity_packets = {capacity}\n");
    }
    if has("bounds") {
        let bounds: Vec<_> = (0..queues).map(|queue| (u64::from(queue) * 1000).to_string()).collect();
        text += &format!("bounds = [{}]\n", bounds.join(", "));
    }
    Some(text)
}

/// A scenario on one link whose queue fills.
fn link(scheduler: &str, schedulers: usize) -> String {
    let each = |place: usize| format!("[[scheduler]]\n{scheduler}\nlabel = \"s{place}\"\n");
    let schedulers: String = (0..schedulers).map(each).collect();
    format!(
        "duration_ms = 20\nlink = {{ rate_gbps = 10 }}\n[workload]\narrivals = \"constant\"\nrate_gbps = 20\nsize_bytes = 1500\n\
         flows = 10\nranks = \"uniform\"\n{schedulers}"
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn an_estimate_of_memory_is_right_to_a_factor_of_two_for_every_scheduler(
        place in 0..SCHEDULERS.len(),
        (queues, digits, first) in (1u32..65, 0u32..5, 1u32..10),
        half_k in 2u32..6,
        traffic in traffic(),
        schedulers in 1usize..4,
        workers in 1usize..3,
        on_a_link in prop::bool::weighted(0.2),
    ) {
        let capacity = first * 10u32.pow(digits);
        let Some(scheduler) = written(&SCHEDULERS[place], queues, capacity) else { return Ok(()) };
        let text = if on_a_link { link(&scheduler, schedulers) } else { network(2 * half_k, &traffic, &scheduler, schedulers) };
        let (estimated, taken, ranks) = estimated_and_taken(&text, workers);
        // Constant parts are not counted; the arrays of a link's observers grow with ranks and waits.
        let slack = if on_a_link { 8e6 * schedulers as f64 } else { 2e6 };
        // Threads may happen to run one after the other.
        let [on_one, on_workers] = estimated.map(|memory| memory.total_with(ranks));
        let [least, _] = estimated.map(|memory| memory.total_with(0.0));
        let [_, most] = estimated.map(|memory| memory.total_with(memory.most_ranks));
        let is_right = |low: f64, high: f64| low < 2.0 * taken + slack && taken < 2.0 * high + slack;
        prop_assert!(
            is_right(on_one, on_workers) && is_right(least, most),
            "{:.3} MB told ({:.3} to {:.3}), {:.3} MB taken with {} workers:\n{}",
            on_workers / 1e6, least / 1e6, most / 1e6, taken / 1e6, workers, text
        );
    }
}
