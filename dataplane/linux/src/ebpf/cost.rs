//! What each program costs: its state as the papers count it, its size, and its time per packet.
//!
//! Time is measured by `BPF_PROG_TEST_RUN` over many repetitions: parsing the headers, the rank, the decision, the
//! statistics. Every repetition sees another rank, uniform below 64, and queues that are half full. What the qdisc
//! tracepoints add (they count the queues) is not in it, nor is the kernel's own work.

use super::harness::frame;
use super::intf::{Harness, Shared};
use super::loaded::Loaded;
use super::settings::{Occupancy, Program, RankSource, Settings};
use crate::Result;
use pifolab_sched::params::{Args as Params, Value};
use serde::Serialize;

/// The arguments of `pifolab-dataplane cost`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// One JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Runs of each program, of 20000 packets each
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
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
    /// Instructions of the program after the verifier removed what this configuration does not use.
    pub instructions: u64,
    /// Bytes of machine code.
    pub machine_code_bytes: u64,
    /// Nanoseconds per packet, the fastest run.
    pub min_ns: u64,
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

fn measure(case: &Case, runs: u32) -> Result<Cost> {
    let mut settings = Settings::new(case.program.name(), arguments(case), RankSource::Dscp, Occupancy::Harness)?;
    settings.config.shuffle_ranks = 1;
    let loaded = Loaded::load(settings)?;
    let settings = &loaded.settings;
    let mut half_full = Harness::zeroed();
    for (used, capacity) in half_full.used.iter_mut().zip(settings.config.capacity) {
        *used = capacity / 2;
    }
    loaded.set_used(&half_full)?;
    let frame = frame(0, 0);
    let mut times = (0..runs).map(|_| loaded.time(&frame, PACKETS)).collect::<Result<Vec<_>>>()?;
    times.sort_unstable();
    let info = loaded.info("classify")?;
    let (registers, registers_hold) = registers(settings);
    Ok(Cost {
        scheduler: case.program.name(),
        variant: case.variant,
        registers,
        registers_hold,
        table_bytes: table_bytes(settings),
        paper: case.paper,
        instructions: info.xlated_prog_insns.len() as u64 / 8,
        machine_code_bytes: info.jited_prog_insns.len() as u64,
        min_ns: times[0],
        median_ns: times[times.len() / 2],
        goal_ns: case.goal_ns,
    })
}

/// Measures every program.
///
/// # Errors
/// No right to load programs.
pub fn measure_all(runs: u32) -> Result<Vec<Cost>> {
    CASES.iter().map(|case| measure(case, runs)).collect()
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
/// As [`measure_all`].
pub fn run(args: Args) -> Result<()> {
    let costs = measure_all(args.runs)?;
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
        println!("{}", serde_json::json!({ "programs": costs, "tofino": hardware }));
        return Ok(());
    }
    println!("The eBPF programs: state, size, and time per packet ({} runs of {PACKETS} packets)\n", args.runs);
    let head = ("registers", "tables", "instr.", "code", "min", "median", "goal");
    println!(
        "{:<56} {:>9} {:>8} {:>7} {:>7} {:>6} {:>6} {:>6}",
        "", head.0, head.1, head.2, head.3, head.4, head.5, head.6
    );
    for cost in &costs {
        let name = format!("{}: {}", cost.scheduler, cost.variant);
        let goal = cost.goal_ns.map_or_else(String::new, |goal| format!("<{goal}"));
        println!(
            "{name:<56} {:>9} {:>6} B {:>7} {:>5} B {:>3} ns {:>3} ns {goal:>6}",
            cost.registers, cost.table_bytes, cost.instructions, cost.machine_code_bytes, cost.min_ns, cost.median_ns
        );
        if !cost.registers_hold.is_empty() {
            println!("    registers: {}", cost.registers_hold);
        }
        if !cost.paper.is_empty() {
            println!("    the paper: {}", cost.paper);
        }
    }
    println!("\ninstr.: eBPF instructions left after the verifier removed what the configuration does not use.");
    println!("The loop over the window runs once for every 8 slots.");
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
