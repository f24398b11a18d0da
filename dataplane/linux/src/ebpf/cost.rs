//! What each program costs: its state as the papers count it, its size, and its time per packet.
//!
//! Time is measured by `BPF_PROG_TEST_RUN` over many repetitions: parsing the headers, the rank, the decision, the
//! statistics. Every repetition sees another rank, uniform below 64, and queues that are half full, as user space tells
//! the program. What reading the queues from the kernel adds is measured apart. What the qdisc tracepoints add (they
//! count the queues) is not in it, nor is the kernel's own work.
//!
//! The machine instructions that a packet executes are counted in a virtual machine ([`super::count`]), since few machines
//! let a guest read their counters; `instructions.json` keeps them with where they come from.

use super::count::Clock;
use super::harness::frame;
use super::intf::{Harness, Shared};
use super::loaded::Loaded;
use super::plane::{Plane, PlaneConfig};
use super::settings::{Occupancy, Program, Settings};
use crate::rank::RankSource;
use crate::testbed::namespace::Namespace;
use crate::{Error, Result};
use pifolab_sched::params::{Args as Params, Value};
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
    /// Count the instructions that a packet executes, as JSON: in a virtual machine whose clock counts instructions
    #[arg(long, conflicts_with_all = ["json", "runs"])]
    count_instructions: bool,
}

/// Packets of one run.
const PACKETS: u32 = 20_000;

/// What is measured.
struct Case {
    program: Program,
    /// What is particular about it, in words.
    variant: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    /// The goal in nanoseconds per packet, if there is one.
    goal_ns: Option<u64>,
    /// What the paper says of its own implementation.
    paper: &'static str,
}

const QUEUES: (&str, &str) = ("queues", "8");
const CASES: &[Case] = &[
    Case { program: Program::Fifo, variant: "80 packets", parameters: &[], goal_ns: None, paper: "" },
    Case {
        program: Program::SpPifo,
        variant: "8 x 10 packets",
        parameters: &[QUEUES],
        goal_ns: Some(100),
        paper: "one register per queue (section 5)",
    },
    Case {
        program: Program::Aifo,
        variant: "window 20, k = 0.1",
        parameters: &[("window", "20"), ("k", "0.1")],
        goal_ns: Some(200),
        paper: "one register per window slot (section 4.4)",
    },
    Case {
        program: Program::Packs,
        variant: "window 20, k = 0.1, 8 x 10 packets",
        parameters: &[QUEUES, ("window", "20"), ("k", "0.1")],
        goal_ns: Some(300),
        paper: "one register per window slot, 12 stages (section 5)",
    },
    Case {
        program: Program::Packs,
        variant: "window 16, global occupancy, 4 x 10 packets",
        parameters: &[("queues", "4"), ("window", "16"), ("occupancy", "global")],
        goal_ns: Some(300),
        paper: "",
    },
    Case {
        program: Program::Packs,
        variant: "window 1000, 8 x 10 packets",
        parameters: &[QUEUES, ("window", "1000")],
        goal_ns: None,
        paper: "",
    },
    Case {
        program: Program::Rifo,
        variant: "pow2, T = 500, k = 0.1",
        parameters: &[("mode", "pow2")],
        goal_ns: Some(200),
        paper: "3 registers, 1226.5 bytes of tables, 5 stages (sections I, V)",
    },
    Case {
        program: Program::Rifo,
        variant: "alg1, T = 500, k = 0.1",
        parameters: &[("mode", "alg1")],
        goal_ns: Some(200),
        paper: "",
    },
    Case {
        program: Program::ExpPifo,
        variant: "C = 5000, 8 x 10 packets",
        parameters: &[QUEUES],
        goal_ns: None,
        paper: "2 registers, 0.14 + 2.5 kB of tables, 6 stages (sections 1, 2.3)",
    },
];

/// The instructions of all programs, and where they were counted.
#[derive(Debug, Deserialize)]
struct Counts {
    kernel: String,
    emulator: String,
    command: String,
    programs: Vec<Count>,
}

/// What a packet executes on average.
#[derive(Debug, Deserialize, Serialize)]
struct Count {
    scheduler: String,
    variant: String,
    instructions: u64,
    /// What reading the queues adds.
    walk_instructions: u64,
}

impl Counts {
    /// As `scripts/test_in_guest.sh` wrote them.
    fn kept() -> Self {
        serde_json::from_str(include_str!("../../instructions.json")).expect("a test reads it")
    }

    fn of(&self, case: &Case) -> &Count {
        let is_it = |count: &&Count| count.scheduler == case.program.name() && count.variant == case.variant;
        self.programs.iter().find(is_it).expect("a test finds each")
    }
}

/// One measured program.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// The scheduler's name in the library.
    pub scheduler: &'static str,
    /// Its parameters in words.
    pub variant: &'static str,
    /// Registers of the algorithm, and what they are.
    pub registers: u64,
    /// What the registers hold.
    pub registers_hold: &'static str,
    /// Bytes of look-up tables.
    pub table_bytes: u64,
    /// What the paper says of its own implementation.
    pub paper: &'static str,
    /// Machine instructions that a packet executes on average, as counted in a virtual machine.
    pub executed_instructions: u64,
    /// Machine instructions that reading the queues from the kernel adds, on empty queues.
    pub walk_instructions: u64,
    /// Instructions of the program after the verifier removed what this configuration does not use.
    pub instructions: u64,
    /// Bytes of machine code.
    pub machine_code_bytes: u64,
    /// Nanoseconds per packet, the fastest run.
    pub min_ns: u64,
    /// Nanoseconds that reading the queues from the kernel adds, by the fastest runs on empty queues; none where no
    /// queues can be put up.
    pub walk_ns: Option<u64>,
    /// The median run.
    pub median_ns: u64,
    /// The goal.
    pub goal_ns: Option<u64>,
}

fn arguments(case: &Case) -> Params {
    let mut params = Params::new(case.program.name());
    for (key, text) in case.parameters {
        let value = match text.parse() {
            Ok(number) => Value::Integer(number),
            Err(_) if text.starts_with("0.") => Value::Decimal((*text).to_owned()),
            Err(_) => Value::Text((*text).to_owned()),
        };
        params.set(*key, value);
    }
    params
}

/// Registers as the papers count them: what the algorithm remembers from packet to packet.
const fn registers(settings: &Settings) -> (u64, &'static str) {
    let config = &settings.config;
    match settings.program {
        Program::Fifo => (0, ""),
        Program::SpPifo => (config.queues as u64, "bounds"),
        Program::Aifo => (config.window as u64 + 2, "window, its place, sampling counter"),
        Program::Packs => (config.window as u64 + 1, "window and its place"),
        Program::Rifo => (3, "Min, Max, counter"),
        Program::ExpPifo => (2, "beta, counter"),
    }
}

fn table_bytes(settings: &Settings) -> u64 {
    match settings.program {
        // The products; exponents are found by comparison instead of a ternary match.
        Program::Rifo if settings.config.mode == 2 => settings.table.as_ref().map_or(0, Vec::len) as u64,
        // A byte for each pair of exponent and logarithm.
        Program::ExpPifo => 64 * 64,
        _ => 0,
    }
}

fn settings(case: &Case, occupancy: Occupancy) -> Result<Settings> {
    let mut settings = Settings::new(case.program.name(), arguments(case), RankSource::Dscp, occupancy)?;
    settings.config.shuffle_ranks = 1;
    Ok(settings)
}

/// The program, its queues half full.
fn load(case: &Case) -> Result<Loaded> {
    let loaded = Loaded::load(settings(case, Occupancy::Harness)?)?;
    let mut half_full = Harness::zeroed();
    for (used, capacity) in half_full.used.iter_mut().zip(loaded.settings.config.capacity) {
        *used = capacity / 2;
    }
    loaded.set_used(&half_full)?;
    Ok(loaded)
}

/// Times of `runs` runs in nanoseconds per packet, the shortest first.
fn times(loaded: &Loaded, runs: u32) -> Result<Vec<u64>> {
    let frame = frame(0, 0);
    let mut times = (0..runs).map(|_| loaded.time(&frame, PACKETS)).collect::<Result<Vec<_>>>()?;
    times.sort_unstable();
    Ok(times)
}

/// How much more it costs, by `cost`, to read the queues of an interface of its own (the loopback of a new namespace) than
/// to be told.
fn walk(case: &Case, cost: impl Fn(&Loaded) -> Result<u64> + Sync) -> Result<u64> {
    let namespace = Namespace::new("program")?;
    namespace.enter(|| {
        let told = Loaded::load(settings(case, Occupancy::Harness)?)?;
        let settings = settings(case, Occupancy::Walk)?;
        let interface = "lo".to_owned();
        let reads = Plane::up(PlaneConfig { interface, rate_bps: 1_000_000_000, settings, force: false })?;
        Ok(cost(reads.loaded())?.saturating_sub(cost(&told)?))
    })
}

fn measure(case: &Case, counts: &Counts, runs: u32) -> Result<Cost> {
    let loaded = load(case)?;
    let settings = &loaded.settings;
    let told = times(&loaded, runs)?;
    let info = loaded.info("classify")?;
    let (registers, registers_hold) = registers(settings);
    Ok(Cost {
        scheduler: case.program.name(),
        variant: case.variant,
        registers,
        registers_hold,
        table_bytes: table_bytes(settings),
        paper: case.paper,
        executed_instructions: counts.of(case).instructions,
        walk_instructions: counts.of(case).walk_instructions,
        instructions: info.xlated_prog_insns.len() as u64 / 8,
        machine_code_bytes: info.jited_prog_insns.len() as u64,
        min_ns: told[0],
        walk_ns: walk(case, |program| Ok(times(program, runs)?[0])).ok(),
        median_ns: told[told.len() / 2],
        goal_ns: case.goal_ns,
    })
}

/// Counts the instructions of every program, on a clock that counts them.
fn count_all() -> Result<Vec<Count>> {
    let clock = Clock::new()?;
    let frame = frame(0, 0);
    let count = |case: &Case| {
        let loaded = load(case)?;
        if loaded.info("classify")?.jited_prog_insns.is_empty() {
            let message =
                "the kernel interprets programs: net.core.bpf_jit_enable must be 1 to count machine instructions";
            return Err(Error::Unsupported(message.to_owned()));
        }
        let count = |program: &Loaded| clock.count(|packets| program.time(&frame, packets));
        Ok(Count {
            scheduler: case.program.name().to_owned(),
            variant: case.variant.to_owned(),
            instructions: count(&loaded)?,
            walk_instructions: walk(case, count)?,
        })
    };
    CASES.iter().map(count).collect()
}

/// The papers' hardware tables, in percent of what an Intel Tofino has (PACKS: a Tofino 2, average per stage). A column
/// per implementation, with its source.
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
///
/// # Errors
/// No right to load programs, or a clock that does not count instructions where they are to be counted.
pub fn run(args: Args) -> Result<()> {
    if args.count_instructions {
        println!("{}", serde_json::json!({ "programs": count_all()? }));
        return Ok(());
    }
    let counts = Counts::kept();
    let costs = CASES.iter().map(|case| measure(case, &counts, args.runs)).collect::<Result<Vec<_>>>()?;
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
        let walk = format!("+{}, {walk}", cost.walk_instructions);
        let goal = cost.goal_ns.map_or_else(String::new, |goal| format!("<{goal}"));
        println!(
            "{name:<56} {:>9} {:>6} B {:>8} {:>7} {:>5} B {:>3} ns {:>3} ns {goal:>6} {walk:>13}",
            cost.registers,
            cost.table_bytes,
            cost.executed_instructions,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_its_count_and_longer_windows_execute_more() {
        let counts = Counts::kept();
        assert_eq!(counts.programs.len(), CASES.len());
        let executed: Vec<u64> = CASES.iter().map(|case| counts.of(case).instructions).collect();
        let place = |variant: &str| CASES.iter().position(|case| case.variant.starts_with(variant)).expect("a case");
        let (short, long) = (executed[place("window 20, k = 0.1, 8")], executed[place("window 1000")]);
        // 980 more slots, of at least a load, a subtraction and an addition each.
        assert!(long - short > 3 * 980, "{executed:?}");
        assert_eq!(executed.iter().min(), Some(&executed[place("80 packets")]), "FIFO decides nothing: {executed:?}");
    }
}
