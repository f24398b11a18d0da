//! The programs, and the parameters of those that need few.

use crate::file::File;
use crate::setting::{Refusal, Setting};
use crate::{exp_pifo, quantile, rifo, slack_sp, tofino};
use pifolab_params::Choice;
use pifolab_registry::Made;
use pifolab_registry::variants::{Aifo, Packs, Rifo};
use pifolab_sched::schedulers::{
    Clamp, ExpPifoParams, FifoParams, OnFull, Order, PushDown, SlackSpParams, SpPifoOptimalParams, SpPifoParams,
    StrictPriorityParams,
};
use pifolab_sched::{Capacity, Inspect, InspectExt};

/// A program of `dataplane/p4`.
pub struct Program {
    /// The stem of its file's name.
    pub name: &'static str,
    /// The schedulers that it implements, by their names in the library.
    pub schedulers: &'static [&'static str],
    /// The capacities of such a scheduler's queues, highest priority first.
    pub(crate) capacities: fn(&Made) -> Option<Vec<Capacity>>,
    pub(crate) write: fn(&mut File, &Setting<'_>) -> Result<(), Refusal>,
    pub(crate) write_tofino: fn(&mut File, &Setting<'_>) -> Result<(), Refusal>,
}

/// Every program.
pub static PROGRAMS: [Program; 8] = [
    Program {
        name: "fifo",
        schedulers: &["fifo"],
        capacities: |made| made.params().map(|params: &FifoParams| vec![params.capacity]),
        write: |_, _| Ok(()),
        write_tofino: tofino::fifo,
    },
    Program {
        name: "strict_priority",
        schedulers: &["strict-priority", "sp-pifo-optimal"],
        capacities: |made| {
            let fixed = made.params().map(|params: &StrictPriorityParams| &params.capacities);
            fixed.or_else(|| made.params().map(|params: &SpPifoOptimalParams| &params.capacities)).cloned()
        },
        write: strict_priority,
        write_tofino: tofino::strict_priority,
    },
    Program {
        name: "sp_pifo",
        schedulers: &["sp-pifo"],
        capacities: |made| made.params().map(|params: &SpPifoParams| params.capacities.clone()),
        write: sp_pifo,
        write_tofino: tofino::sp_pifo,
    },
    Program {
        name: "aifo",
        schedulers: &["aifo"],
        capacities: |made| made.params().map(|Aifo { params, .. }| vec![params.capacity]),
        write: quantile::aifo,
        write_tofino: tofino::aifo,
    },
    Program {
        name: "packs",
        schedulers: &["packs"],
        capacities: |made| made.params().map(|Packs { params, .. }| params.capacities.clone()),
        write: quantile::packs,
        write_tofino: tofino::packs,
    },
    Program {
        name: "rifo",
        schedulers: &["rifo"],
        capacities: |made| made.params().map(|Rifo { params, .. }| vec![params.capacity]),
        write: rifo::write,
        write_tofino: tofino::rifo,
    },
    Program {
        name: "exp_pifo",
        schedulers: &["exp-pifo"],
        capacities: |made| made.params().map(|params: &ExpPifoParams| params.capacities.clone()),
        write: exp_pifo::write,
        write_tofino: tofino::exp_pifo,
    },
    Program {
        name: "slack_sp",
        schedulers: &["slack-sp"],
        capacities: |made| made.params().map(|params: &SlackSpParams| params.capacities.clone()),
        write: slack_sp::write,
        write_tofino: slack_sp::refuse_tofino,
    },
];

impl Program {
    /// The program of the scheduler `name`.
    pub fn of(name: &str) -> Option<&'static Self> {
        PROGRAMS.iter().find(|program| program.schedulers.contains(&name))
    }
}

/// The library's scheduler has the bounds: from a list, an even spread, or optimal for a distribution.
fn strict_priority(file: &mut File, setting: &Setting<'_>) -> Result<(), Refusal> {
    let scheduler = setting.scheduler();
    let bound = |queue| scheduler.queue_bound(queue).expect("fixed bounds are always known");
    file.each("EACH_BOUND", (0..scheduler.queues()).map(|queue| format!("{queue}, 64w{}", bound(queue).max(0))));
    Ok(())
}

fn sp_pifo(file: &mut File, setting: &Setting<'_>) -> Result<(), Refusal> {
    let SpPifoParams { push_down, on_full, clamp, order, .. } = *setting.params();
    // Bounds are compared with their sign bit flipped, so that unsigned comparisons order them.
    let biased = |bound: i64| (bound as u64) ^ (1 << 63);
    for choice in PushDown::ALL {
        file.define(&format!("PUSH_{}", choice.as_word().to_uppercase().replace('-', "_")), choice.code());
    }
    file.define("PUSH_DOWN", push_down.code());
    file.define("UPDATE_ON_FULL", u8::from(on_full == OnFull::Update));
    file.define("PUSH_DOWN_FIRST", u8::from(order == Order::PushDownFirst));
    let floor = if let Clamp::AtLeast(floor) = clamp { floor } else { i64::MIN };
    file.integer("FLOOR", 64, biased(floor));
    Ok(())
}
