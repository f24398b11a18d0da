//! The cost of each program: its state as the papers count it, its size, and its time per packet.
//!
//! Time is measured by `BPF_PROG_TEST_RUN` over many repetitions: parsing of headers, rank, decision, statistics. Each
//! repetition has another rank, uniform below 64, and half-full queues from user space. The additional time of reading
//! the queues from the kernel is measured separately. Not included: the qdisc tracepoints, which count the queues, and
//! the kernel's own work.
//!
//! The machine instructions per packet are counted in a virtual machine ([`super::count`]), because few machines let a
//! guest read their counters. `instructions.json` stores the counts and their origin.

use super::count::Clock;
use super::harness::frame;
use super::intf::{Harness, Shared};
use super::loaded::Loaded;
use super::path;
use super::plane::{Plane, PlaneConfig};
use super::program::{Case, Program};
use super::programs::filters;
use super::settings::{Occupancy, Settings};
use crate::rank::RankSource;
use crate::testbed::namespace::Namespace;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The arguments of `pifolab-dataplane cost`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// One JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Runs of each program, of 20000 packets each
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// The whole way of a packet through the kernel: without a queueing discipline, with plain HTB, and with HTB and each
    /// program, in turn, with 4096 packets in each run
    #[arg(long)]
    whole: bool,
    /// Count the instructions that a packet executes, as JSON: in a virtual machine whose clock counts instructions
    #[arg(long, conflicts_with_all = ["json", "runs", "whole"])]
    count_instructions: bool,
}

/// The number of packets per run.
const PACKETS: u32 = 20_000;

/// Every program with its measured cases.
fn cases() -> impl Iterator<Item = (&'static dyn Program, &'static Case)> {
    filters().flat_map(|program| program.cases().iter().map(move |case| (program, case)))
}

/// The instructions of all programs, and the place of the measurement.
#[derive(Debug, Deserialize)]
struct Counts {
    kernel: String,
    emulator: String,
    command: String,
    programs: Vec<Count>,
}

/// The average instructions per packet.
#[derive(Debug, Deserialize, Serialize)]
struct Count {
    scheduler: String,
    variant: String,
    instructions: u64,
    /// The additional instructions of reading the queues.
    walk_instructions: u64,
}

impl Counts {
    /// Reads the counts that `scripts/test_in_guest.sh` wrote.
    fn kept() -> Self {
        serde_json::from_str(include_str!("../../instructions.json")).expect("a test reads it")
    }

    /// The count of a program; `None` if it is not yet counted.
    fn of(&self, program: &dyn Program, case: &Case) -> Option<&Count> {
        let is_it = |count: &&Count| count.scheduler == program.name() && count.variant == case.variant;
        self.programs.iter().find(is_it)
    }
}

/// One measured program.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// The scheduler's name in the library.
    pub scheduler: &'static str,
    /// The parameters in words.
    pub variant: &'static str,
    /// The number of the algorithm's registers.
    pub registers: u64,
    /// The contents of the registers.
    pub registers_hold: &'static str,
    /// The size of the look-up tables in bytes.
    pub table_bytes: u64,
    /// The paper's statement about its own implementation.
    pub paper: &'static str,
    /// Average machine instructions per packet, counted in a virtual machine; `None` if not counted.
    pub executed_instructions: Option<u64>,
    /// Additional machine instructions of reading the queues from the kernel, for empty queues.
    pub walk_instructions: Option<u64>,
    /// The program's instructions after the verifier removed code unused in this configuration.
    pub instructions: u64,
    /// The size of the machine code in bytes.
    pub machine_code_bytes: u64,
    /// Nanoseconds per packet in the fastest run.
    pub min_ns: u64,
    /// Additional nanoseconds of reading the queues from the kernel, by the fastest runs with empty queues; `None` if
    /// no queues can be installed.
    pub walk_ns: Option<u64>,
    /// Nanoseconds per packet in the median run.
    pub median_ns: u64,
    /// The goal in nanoseconds per packet.
    pub goal_ns: Option<u64>,
}

fn settings(program: &'static dyn Program, case: &Case, occupancy: Occupancy) -> Result<Settings> {
    let args = program.info().arguments(case.parameters);
    let mut settings = Settings::of(program, args, RankSource::Dscp, occupancy)?;
    settings.config.shuffle_ranks = 1;
    Ok(settings)
}

/// Loads the program with half-full queues.
fn load(program: &'static dyn Program, case: &Case) -> Result<Loaded> {
    let loaded = Loaded::load(settings(program, case, Occupancy::Harness)?)?;
    let mut half_full = Harness::zeroed();
    for (used, capacity) in half_full.used.iter_mut().zip(loaded.settings.config.capacity) {
        *used = capacity / 2;
    }
    loaded.set_used(&half_full)?;
    Ok(loaded)
}

/// The times of `runs` runs in nanoseconds per packet, ascending.
fn times(loaded: &Loaded, runs: u32) -> Result<Vec<u64>> {
    let frame = frame(0, 0);
    let mut times = (0..runs).map(|_| loaded.time(&frame, PACKETS)).collect::<Result<Vec<_>>>()?;
    times.sort_unstable();
    Ok(times)
}

/// The additional cost, by `cost`, of reading the queues of an interface (the loopback of a new namespace) instead of
/// receiving them from user space.
fn walk(program: &'static dyn Program, case: &Case, cost: impl Fn(&Loaded) -> Result<u64> + Sync) -> Result<u64> {
    let namespace = Namespace::new("program")?;
    namespace.enter(|| {
        let told = Loaded::load(settings(program, case, Occupancy::Harness)?)?;
        let settings = settings(program, case, Occupancy::Walk)?;
        let interface = "lo".to_owned();
        let reads =
            Plane::up(PlaneConfig { interface, rate_bps: 1_000_000_000, settings, per_queue: false, force: false })?;
        Ok(cost(reads.loaded())?.saturating_sub(cost(&told)?))
    })
}

fn measure(program: &'static dyn Program, case: &Case, counts: &Counts, runs: u32) -> Result<Cost> {
    let loaded = load(program, case)?;
    let memory = &loaded.settings.memory;
    let told = times(&loaded, runs)?;
    let info = loaded.info("classify")?;
    let count = counts.of(program, case);
    Ok(Cost {
        scheduler: program.name(),
        variant: case.variant,
        registers: memory.registers,
        registers_hold: memory.registers_hold,
        table_bytes: memory.table_bytes,
        paper: case.paper,
        executed_instructions: count.map(|count| count.instructions),
        walk_instructions: count.map(|count| count.walk_instructions),
        instructions: info.xlated_prog_insns.len() as u64 / 8,
        machine_code_bytes: info.jited_prog_insns.len() as u64,
        min_ns: told[0],
        walk_ns: walk(program, case, |loaded| Ok(times(loaded, runs)?[0])).ok(),
        median_ns: told[told.len() / 2],
        goal_ns: case.goal_ns,
    })
}

/// Counts the instructions of every program; requires a clock that counts instructions.
fn count_all() -> Result<Vec<Count>> {
    let clock = Clock::new()?;
    let frame = frame(0, 0);
    let count = |(program, case): (&'static dyn Program, &Case)| {
        let loaded = load(program, case)?;
        if loaded.info("classify")?.jited_prog_insns.is_empty() {
            let message =
                "the kernel interprets programs: net.core.bpf_jit_enable must be 1 to count machine instructions";
            return Err(Error::Unsupported(message.to_owned()));
        }
        let count = |loaded: &Loaded| clock.count(|packets| loaded.time(&frame, packets));
        Ok(Count {
            scheduler: program.name().to_owned(),
            variant: case.variant.to_owned(),
            instructions: count(&loaded)?,
            walk_instructions: walk(program, case, count)?,
        })
    };
    cases().map(count).collect()
}

/// The papers' hardware tables, in percent of the resources of an Intel Tofino (PACKS: a Tofino 2, average per stage).
/// One column per implementation, with its source.
const HARDWARE: [&str; 7] = [
    "RIFO, ToN 2025, Table II",
    "Exp-PIFO with 8 queues, CoNEXT 2025, Table 1",
    "PACKS, NSDI 2025, Table 1",
    "AIFO, SIGCOMM 2021, Table 1",
    "AIFO, as measured by RIFO and Exp-PIFO",
    "SP-PIFO, as measured by AIFO, Table 1",
    "SP-PIFO, as measured by RIFO and Exp-PIFO",
];
const RESOURCES: [(&str, [f64; 7]); 7] = [
    ("match crossbars", [2.57, 2.21, 3.4, 10.94, 10.74, 8.27, 8.05]),
    ("gateway", [5.36, 11.46, 3.4, 22.92, 3.2, 17.71, 10.62]),
    ("hash bits", [2.27, 3.81, 1.3, 3.91, 1.92, 2.66, 4.81]),
    ("SRAM", [2.86, 2.92, 2.4, 6.98, 7.29, 15.31, 18.75]),
    ("TCAM", [1.79, 2.08, 0.0, 0.0, 0.0, 0.35, 0.42]),
    ("stateful ALUs", [14.29, 8.33, 23.8, 39.6, 47.92, 16.67, 20.0]),
    ("logical table ids", [17.86, 17.71, 10.9, 25.0, 26.56, 18.75, 18.12]),
];

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    if args.count_instructions {
        println!("{}", serde_json::json!({ "programs": count_all()? }));
        return Ok(());
    }
    if args.whole {
        return show_paths(&path::measure(args.runs)?, args.json);
    }
    let counts = Counts::kept();
    let costs =
        cases().map(|(program, case)| measure(program, case, &counts, args.runs)).collect::<Result<Vec<_>>>()?;
    if args.json {
        let hardware: Vec<_> = HARDWARE
            .iter()
            .enumerate()
            .map(|(column, source)| {
                let percent: serde_json::Map<_, _> =
                    RESOURCES.iter().map(|(name, values)| ((*name).to_owned(), values[column].into())).collect();
                serde_json::json!({ "source": source, "percent": percent })
            })
            .collect();
        let Counts { kernel, emulator, command, .. } = counts;
        let counted = serde_json::json!({ "kernel": kernel, "emulator": emulator, "command": command });
        println!("{}", serde_json::json!({ "programs": costs, "instructions_counted": counted, "tofino": hardware }));
        return Ok(());
    }
    println!("The eBPF programs: state, size, and time per packet ({} runs of {PACKETS} packets)\n", args.runs);
    println!(
        "{:<56} {:>9} {:>8} {:>8} {:>7} {:>7} {:>6} {:>6} {:>6} {:>13}",
        "", "registers", "tables", "executed", "program", "code", "min", "median", "goal", "walk"
    );
    for cost in &costs {
        let name = format!("{}: {}", cost.scheduler, cost.variant);
        let walk = cost.walk_ns.map_or_else(|| "-".to_owned(), |ns| format!("+{ns} ns"));
        let counted = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let walk = format!("+{}, {walk}", counted(cost.walk_instructions));
        let goal = cost.goal_ns.map_or_else(String::new, |goal| format!("<{goal}"));
        println!(
            "{name:<56} {:>9} {:>6} B {:>8} {:>7} {:>5} B {:>3} ns {:>3} ns {goal:>6} {walk:>13}",
            cost.registers,
            cost.table_bytes,
            counted(cost.executed_instructions),
            cost.instructions,
            cost.machine_code_bytes,
            cost.min_ns,
            cost.median_ns
        );
        if !cost.registers_hold.is_empty() {
            println!("    registers: {}", cost.registers_hold);
        }
        if !cost.paper.is_empty() {
            println!("    the paper: {}", cost.paper);
        }
    }
    println!(
        "\nexecuted: machine instructions per packet, of the program and of what it calls in the kernel, beyond those"
    );
    println!("of a program that does nothing: counted by {}", counts.command);
    println!("({}, {}).", counts.kernel, counts.emulator);
    println!("program: eBPF instructions left after the verifier removed what the configuration does not use.");
    println!("walk: what reading the queues' lengths from the kernel adds to executed and min, on empty queues.");
    println!("\nThe papers' hardware, percent of what the switch has\n");
    for (column, source) in HARDWARE.iter().enumerate() {
        println!("  ({}) {source}", column + 1);
    }
    println!(
        "\n{:<20}{}",
        "",
        (1..=HARDWARE.len()).map(|column| format!("{:>8}", format!("({column})"))).collect::<String>()
    );
    for (name, values) in RESOURCES {
        println!("{name:<20}{}", values.map(|value| format!("{value:>8.2}")).concat());
    }
    Ok(())
}

fn show_paths(paths: &[path::PathCost], json: bool) -> Result<()> {
    if json {
        println!("{}", serde_json::json!({ "paths": paths }));
        return Ok(());
    }
    println!("{:<58} {:>6} {:>9} {:>9} {:>12} {:>12}", "", "rank", "median", "min", "beyond HTB", "packets/s");
    for path in paths {
        let name = format!("{}: {}", path.scheduler, path.variant);
        println!(
            "{name:<58} {:>6} {:>6.0} ns {:>6.0} ns {:>+9.0} ns {:>12.0}",
            path.rank, path.median_ns, path.min_ns, path.beyond_htb_ns, path.packets_per_s
        );
    }
    println!(
        "\nProcessor time per packet of 60 bytes from a packet socket through the queues to the other end of a wire."
    );
    println!("beyond HTB: the median difference to plain HTB in the same round.");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_is_of_a_program_and_longer_windows_execute_more() {
        let counts = Counts::kept();
        let known = cases().filter(|(program, case)| counts.of(*program, case).is_some()).count();
        assert_eq!(counts.programs.len(), known, "a count of what is not measured any more");
        let executed: Vec<u64> = counts.programs.iter().map(|count| count.instructions).collect();
        let place = |variant: &str| counts.programs.iter().position(|count| count.variant.starts_with(variant));
        let of = |variant: &str| executed[place(variant).expect("a count")];
        let (short, long) = (of("window 20, k = 0.1, 8"), of("window 1000"));
        // 980 more slots, with at least a load, a subtraction and an addition each.
        assert!(long - short > 3 * 980, "{executed:?}");
        assert_eq!(executed.iter().min(), Some(&of("80 packets")), "FIFO decides nothing: {executed:?}");
    }
}
