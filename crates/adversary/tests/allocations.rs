//! Tests that the loop of the guided search does not allocate.

use pifolab_adversary::{Constraint, Judge, Problem, Ranks, Subject, Trace, find_metric, library};
use pifolab_sched::params::{Args, Value};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, which counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is forwarded unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller fulfils the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` comes from `alloc`, which is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn subject(name: &str, options: &[(&str, i128)]) -> Box<dyn Subject + Send> {
    let mut args = Args::new(name);
    for (key, value) in options {
        args.set(*key, Value::Integer(*value));
    }
    library(name, &args).unwrap().unwrap()
}

#[test]
fn judging_a_trace_allocates_nothing() {
    let queues = [("queues", 3), ("queue_capacity_packets", 4)];
    let with = |more: &[(&'static str, i128)]| [&queues[..], more].concat();
    let one = |more: &[(&'static str, i128)]| [&[("capacity_packets", 12)], more].concat();
    let subjects = [
        subject("pifo", &one(&[])),
        subject("fifo", &one(&[])),
        subject("strict-priority", &with(&[("ranks", 12)])),
        subject("sp-pifo", &queues),
        subject("slack-sp", &queues),
        subject("spring", &queues),
        subject("aifo", &one(&[("window", 4)])),
        subject("aifo", &one(&[("window", 40)])),
        subject("packs", &with(&[("window", 4)])),
        subject("packs", &with(&[("window", 400)])),
        subject("rifo", &one(&[("tracking_range_packets", 4)])),
        subject("exp-pifo", &with(&[("window_packets", 4)])),
    ];
    let traces: Vec<Trace> = (0..50u64)
        .map(|seed| Trace::batch((0..15).map(|place| 1 + (place * 7 + seed * (place + 3)) % 11).collect()))
        .collect();
    for metric in ["WD", "WI", "inversions", "drops", "delay"] {
        for subject in &subjects {
            let problem = Problem {
                a: &**subject,
                b: Some(&*subjects[0]),
                metric: find_metric(metric).unwrap(),
                ranks: Ranks { lowest: 1, highest: 11, counted: 2 },
                packets: 15,
                no_drops: false,
                free_window: false,
                constraint: Constraint::default(),
            };
            let mut judge = Judge::new(&problem);
            let mut gaps = |traces: &[Trace]| traces.iter().filter_map(|trace| judge.gap(trace, None)).count();
            assert_eq!(gaps(&traces), traces.len());
            let before = ALLOCATIONS.get();
            gaps(&traces);
            assert_eq!(ALLOCATIONS.get() - before, 0, "{metric} of {}", subject.name());
        }
    }
}
