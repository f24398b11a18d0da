//! The cost of a packet in the case of this name, or in all cases whose names contain a word: in nanoseconds, or for a
//! fixed number of packets under callgrind.
//!
//! ```text
//! cargo run --release -p pifolab-scenario --example scheduler_cost -- tree
//! valgrind --tool=callgrind target/release/examples/scheduler_cost "tree, depth 5, 1000" 10000 40000
//! ```
//!
//! With an occupancy and a number of packets it sends that many and measures no time: the difference between two
//! numbers of packets is the cost without the preparation. The load is steady unless the last argument is `overload`.

use pifolab_scenario::bench::{Load, OCCUPANCIES, cases};
use std::hint::black_box;
use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1);
    let word = args.next().unwrap_or_default();
    let number = |text: String| text.parse::<u32>().expect("expected a number");
    let (occupancy, packets) = (args.next().map(number), args.next().map(number));
    let counted = match args.next().as_deref() {
        None => Load::Steady,
        Some("overload") => Load::Overload,
        Some(other) => panic!("expected overload or nothing, got {other}"),
    };
    let whole = cases().any(|case| case.name() == word);
    for case in cases().filter(|case| if whole { case.name() == word } else { case.name().contains(&word) }) {
        for held in OCCUPANCIES.into_iter().filter(|held| occupancy.is_none_or(|wanted| wanted == *held)) {
            if let Some(packets) = packets {
                black_box(case.prepare(held, counted).run(packets.into()));
                continue;
            }
            for load in [Load::Steady, Load::Overload] {
                const PACKETS: u64 = 1 << 16;
                let mut run = case.prepare(held, load);
                black_box(run.run(PACKETS));
                let mut samples: Vec<f64> = (0..25)
                    .map(|_| {
                        let start = Instant::now();
                        black_box(run.run(PACKETS));
                        start.elapsed().as_nanos() as f64 / PACKETS as f64
                    })
                    .collect();
                samples.sort_by(f64::total_cmp);
                let (name, load) = (case.name(), load.word());
                println!("{name:<40} {held:>6} {load:<8} {:>8.2} {:>8.2}", samples[12], samples[0]);
            }
        }
    }
}
