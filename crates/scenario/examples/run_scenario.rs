//! Runs a scenario from Rust and prints the main numbers of each scheduler:
//! `cargo run --release -p pifolab-scenario --example run_scenario -- FILE.toml [SEED]`.

use pifolab_scenario::{Progress, run_text};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(file) = arguments.next() else {
        eprintln!("usage: run_scenario FILE.toml [SEED]");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{file}: {error}");
            return ExitCode::from(2);
        }
    };
    let seed = arguments.next().and_then(|seed| seed.parse().ok());
    let start = Instant::now();
    let mut progress = |state: Progress| {
        eprint!("\r{} of {} schedulers, {} packets", state.schedulers_done, state.schedulers, state.arrived);
        true
    };
    match run_text(&text, &file, &[], seed, 1, &(), &mut progress) {
        Ok(report) => {
            eprintln!("\rran for {:.3} s               ", start.elapsed().as_secs_f64());
            println!("{:#}", report.summary);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
