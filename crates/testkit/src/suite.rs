//! The list of schedulers, one line each, and the settings that are drawn for them.

use crate::line::line;
pub use crate::line::{Line, Property};
use crate::oracles::{
    Afq, Aifo, ExpPifo, Fifo, Greedy, Optimal, Packs, Pieo, Pifo, Rifo, SlackSp, SpPifo, Spring, StrictPriority,
};
use crate::{Case, Settings, Source, contract};
use pifolab_sched::schedulers;

use Property::{
    Evicts, EvictsInHeapOrder, HighestPriorityFirst, LowestRankFirst, MayWait, QueuesInArrivalOrder, TiesInArrivalOrder,
};

/// One first-in first-out queue.
const FIFO: &[Property] = &[QueuesInArrivalOrder];
/// Strict-priority queues.
const PRIORITIES: &[Property] = &[QueuesInArrivalOrder, HighestPriorityFirst];

/// Every scheduler of the library, one line each.
pub const LINES: &[Line] = &[
    line::<schedulers::Fifo, Fifo>(single_buffer, FIFO),
    line::<schedulers::Pifo, Pifo>(pifo, &[Evicts, LowestRankFirst, TiesInArrivalOrder]),
    line::<schedulers::Pifo, Pifo>(pifo_heap, &[Evicts, EvictsInHeapOrder, LowestRankFirst]),
    line::<schedulers::Pifo, Pifo>(pifo_flows, &[Evicts]),
    line::<schedulers::StrictPriority, StrictPriority>(strict_priority, PRIORITIES),
    line::<schedulers::SpPifo, SpPifo>(sp_pifo, PRIORITIES),
    line::<schedulers::SpPifoGreedy, Greedy>(greedy, PRIORITIES),
    line::<schedulers::SpPifoOptimal, Optimal>(optimal, PRIORITIES),
    line::<schedulers::SlackSp, SlackSp>(slack_sp, PRIORITIES),
    line::<schedulers::Spring, Spring>(spring, PRIORITIES),
    line::<schedulers::Aifo, Aifo>(aifo, FIFO),
    line::<schedulers::Packs, Packs>(packs, PRIORITIES),
    line::<schedulers::Rifo, Rifo>(rifo, FIFO),
    line::<schedulers::ExpPifo, ExpPifo>(exp_pifo, PRIORITIES),
    line::<schedulers::Afq, Afq>(afq, &[QueuesInArrivalOrder]),
    line::<schedulers::Pieo, Pieo>(single_buffer, &[Evicts, LowestRankFirst, TiesInArrivalOrder, MayWait]),
];

/// The lines of the scheduler `name`: more than one if its options declare different properties.
pub fn lines_of(name: &str) -> impl Iterator<Item = &'static Line> {
    LINES.iter().filter(move |line| line.name == name)
}

/// Holds a scheduler to the contract and, decision by decision, to its oracle.
///
/// # Errors
/// The first operation at which it fails either.
pub fn check(line: &Line, case: &Case) -> Result<(), String> {
    contract::check(line, case)?;
    let mut scheduler = line.build(&case.settings)?;
    let mut oracle = line.oracle(&case.settings);
    for (index, op) in case.ops.iter().enumerate() {
        let (got, expected) = (op.apply(&mut *scheduler), oracle.apply(op));
        if got != expected {
            let settings = &case.settings;
            return Err(format!(
                "{} {settings}: ops[{index}] = {op:?} gave {got:?}; the oracle says {expected:?}",
                line.name
            ));
        }
    }
    Ok(())
}

/// Holds the scheduler `name` to the case that these bytes stand for: what fuzz targets call.
///
/// # Panics
/// If the scheduler fails, or there is none of that name.
pub fn check_bytes(name: &str, bytes: &[u8]) {
    let mut lines = lines_of(name).peekable();
    assert!(lines.peek().is_some(), "{name} has no line in the suite");
    for line in lines {
        if let Err(error) = check(line, &Case::decode(line.settings, bytes)) {
            panic!("{error}");
        }
    }
}

fn draw_capacity(source: &mut Source<'_>, settings: &mut Settings) -> u64 {
    match source.below(8) {
        0 => 80,
        1 | 2 => {
            let bytes = source.from_to(1, 20_000);
            settings.integer("capacity_bytes", bytes);
            bytes
        }
        _ => {
            let packets = source.from_to(1, 20);
            settings.integer("capacity_packets", packets);
            packets
        }
    }
}

/// Draws the queues and their capacities, and says how many queues there are.
fn draw_queues(source: &mut Source<'_>, settings: &mut Settings) -> u64 {
    let queues = source.from_to(1, 6);
    let in_bytes = source.once_in(4);
    let name = if in_bytes { "queue_capacity_bytes" } else { "queue_capacity_packets" };
    let most = if in_bytes { 6_000 } else { 6 };
    match source.below(5) {
        0 if !in_bytes => 8,
        1 => {
            settings.integer("queues", queues);
            settings.integer(name, source.from_to(1, most));
            queues
        }
        _ => {
            let capacities: Vec<u64> = (0..queues).map(|_| source.from_to(1, most)).collect();
            settings.list(name, capacities);
            queues
        }
    }
}

fn draw_bounds(source: &mut Source<'_>, settings: &mut Settings, name: &'static str, queues: u64) {
    let mut bounds: Vec<u64> = (0..queues).map(|_| source.below(100)).collect();
    bounds.sort_unstable();
    settings.list(name, bounds);
}

fn single_buffer(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    draw_capacity(source, &mut settings);
    settings
}

fn pifo(source: &mut Source<'_>) -> Settings {
    let mut settings = single_buffer(source);
    if source.once_in(3) {
        settings.integer("ranks", source.pick(&[1u64, 8, 64, 100, 70_000]));
    }
    settings
}

fn pifo_heap(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    settings.integer("capacity_packets", source.from_to(1, 20));
    settings.word("ties", "heap");
    settings
}

fn pifo_flows(source: &mut Source<'_>) -> Settings {
    let mut settings = single_buffer(source);
    settings.flag("starvation_prevention", true);
    settings
}

fn strict_priority(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    let queues = draw_queues(source, &mut settings);
    match source.below(3) {
        0 => {}
        1 => settings.integer("ranks", source.pick(&[1u64, 7, 100, u64::MAX >> 1])),
        _ => draw_bounds(source, &mut settings, "bounds", queues),
    }
    settings
}

fn sp_pifo(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    draw_queues(source, &mut settings);
    settings.draw_word(source, "push_down", &["cost", "queue-bound", "queue-bound-old", "rank", "one"]);
    settings.draw_word(source, "on_full", &["keep", "update"]);
    settings.draw_word(source, "order", &["scan-first", "push-down-first"]);
    match source.below(4) {
        0 | 1 => {}
        2 => settings.integer("clamp", 0),
        _ => settings.integer("clamp", i128::from(source.below(60)) - 30),
    }
    settings
}

fn greedy(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    let queues = draw_queues(source, &mut settings);
    settings.integer("window_packets", source.from_to(1, 24));
    if source.once_in(2) {
        draw_bounds(source, &mut settings, "initial_bounds", queues);
    }
    if source.once_in(2) {
        settings.integer("ranks", source.pick(&[8u64, 100, 1 << 40]));
    }
    settings.draw_word(source, "steps", &["one", "until-convergence", "one-or-equal", "next-seen"]);
    settings
}

fn draw_from(source: &mut Source<'_>, settings: &mut Settings, name: &'static str, fractions: &[[u64; 2]]) {
    if source.once_in(2) {
        settings.list(name, source.pick(fractions));
    }
}

fn slack_sp(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    let queues = draw_queues(source, &mut settings);
    draw_from(source, &mut settings, "eps", &[[1, 50], [1, 3], [1, 4], [9, 10]]);
    settings.draw_word(source, "steps", &["constant", "proportional"]);
    match settings.get_word("steps", "constant") {
        "constant" => draw_from(source, &mut settings, "step", &[[1, 8], [1, 1], [7, 3], [40, 1]]),
        _ => draw_from(source, &mut settings, "step", &[[1, 16], [1, 1000], [2, 3]]),
    }
    match source.below(3) {
        0 => settings.list("initial_bounds", (1..queues).map(|_| source.below(100)).collect::<Vec<_>>()),
        1 => settings.integer("ranks", source.pick(&[1u64, 100, 1 << 45])),
        _ => {}
    }
    if source.once_in(3) {
        settings.flag("fall_through", source.once_in(2));
    }
    if source.once_in(3) {
        settings.list("admission_gain", source.pick(&[[1u64, 1], [1, 10], [25, 2]]));
        settings.integer("target_packets", source.below(20));
    }
    settings
}

fn spring(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    draw_queues(source, &mut settings);
    settings.draw_word(source, "force", &["packets", "inversions", "fill"]);
    if settings.get_word("force", "packets") != "fill" {
        draw_from(source, &mut settings, "gain", &[[1, 5], [1, 1000], [1, 2]]);
        settings.draw_word(source, "decays", &["all", "hit"]);
    }
    draw_from(source, &mut settings, "speed", &[[1, 1], [1, 3], [20, 1]]);
    settings
}

fn optimal(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    // The oracle tries all bounds: few queues and ranks.
    let queues = source.from_to(1, 4);
    settings.integer("queues", queues);
    settings.integer("queue_capacity_packets", source.from_to(1, 6));
    let mut weights: Vec<u64> = (0..source.from_to(1, 9)).map(|_| source.below(6)).collect();
    weights[0] += u64::from(weights.iter().all(|weight| *weight == 0));
    settings.list("weights", weights);
    settings.draw_word(source, "cost", &["difference", "one", "upper", "exact"]);
    settings.draw_word(source, "combine", &["sum", "max"]);
    settings
}

fn draw_window(source: &mut Source<'_>, settings: &mut Settings) {
    let window = source.pick(&[1u64, 2, 4, 7, 16, 20, 70, 130]);
    settings.integer("window", window);
    settings.draw_fraction(source, "k");
    settings.draw_word(source, "quantile", &["lt", "le"]);
    settings.draw_word(source, "update", &["before", "after"]);
    if source.once_in(3) {
        let held = source.from_to(1, window);
        let start: Vec<u64> = (0..held).map(|_| source.below(100)).collect();
        settings.list("start_window", start);
    }
}

fn aifo(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    let capacity = draw_capacity(source, &mut settings);
    draw_window(source, &mut settings);
    settings.draw_word(source, "compare", &["le", "lt"]);
    settings.draw_word(source, "arithmetic", &["exact", "netbench"]);
    if source.once_in(3) {
        settings.integer("sample", source.from_to(1, 5));
    }
    if source.once_in(3) {
        settings.flag("headroom", source.once_in(2));
    }
    if source.once_in(4) {
        let name = if settings.maybe("capacity_bytes").is_some() { "target_bytes" } else { "target_packets" };
        settings.integer(name, source.from_to(1, 2 * capacity));
    }
    settings
}

fn packs(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    draw_queues(source, &mut settings);
    draw_window(source, &mut settings);
    settings.draw_word(source, "compare", &["le", "lt"]);
    settings.draw_word(source, "occupancy", &["per-queue", "global"]);
    settings.draw_word(source, "arithmetic", &["exact", "netbench"]);
    if source.once_in(3) {
        settings.integer("sample", source.from_to(1, 5));
    }
    if source.once_in(3) {
        settings.flag("fall_through", source.once_in(2));
    }
    settings.draw_word(source, "map", &["occupancy", "geometric"]);
    if settings.get_word("map", "occupancy") == "geometric" {
        draw_from(source, &mut settings, "eps", &[[1, 10], [1, 3], [9, 10]]);
        draw_from(source, &mut settings, "load", &[[1, 1], [2, 1], [1, 2]]);
    }
    if source.once_in(3) {
        settings.integer("shift", i128::from(source.below(200)) - 100);
    }
    settings
}

fn rifo(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    draw_capacity(source, &mut settings);
    if source.once_in(2) {
        settings.integer("tracking_range_packets", source.from_to(1, 20));
    }
    settings.draw_fraction(source, "k");
    settings.draw_word(source, "mode", &["alg1", "eq3", "pow2", "netbench"]);
    if settings.get_word("mode", "alg1") != "netbench" && source.once_in(2) {
        settings.integer("reset_counter", source.below(2));
    }
    settings
}

fn exp_pifo(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    draw_queues(source, &mut settings);
    if source.once_in(2) {
        settings.integer("window_packets", source.from_to(1, 20));
    }
    if source.once_in(2) {
        settings.integer("r_min", source.pick(&[1u64, 3, 40, 1500, 1 << 40, u64::MAX >> 1]));
    }
    settings.draw_word(source, "beta", &["floor", "ceil"]);
    settings.draw_word(source, "mapping", &["comment", "bounds"]);
    if settings.get_word("mapping", "comment") == "comment" {
        settings.draw_word(source, "beta0", &["first", "last"]);
    }
    settings.draw_word(source, "reset", &["gt", "ge"]);
    settings
}

fn afq(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    draw_queues(source, &mut settings);
    if source.once_in(2) {
        settings.integer("bytes_per_round", source.pick(&[1u64, 80, 1500, 3000, 1 << 40]));
    }
    settings.draw_word(source, "horizon", &["ge", "gt"]);
    settings.draw_word(source, "counters", &["exact", "sketch"]);
    settings
}

#[cfg(test)]
mod tests;
