//! The programs, and the parameters of those that need few.

use crate::file::File;
use crate::reader::{Reader, Refusal};
use crate::{exp_pifo, quantile, rifo, tofino};
use pifolab_params::Choice;
use pifolab_sched::schedulers::{OnFull, Order, PushDown};
use pifolab_sched::{InspectExt, Scheduler};

/// A program of `dataplane/p4`.
pub struct Program {
    /// The stem of its file's name.
    pub name: &'static str,
    /// The schedulers that it does, by their names in the library.
    pub schedulers: &'static [&'static str],
    /// Whether it has one queue.
    pub single: bool,
    /// Whether its file follows from the scheduler that the library makes, which has read every parameter, not key by key.
    pub(crate) by_library: bool,
    pub(crate) write: fn(&mut File, &mut Reader, &dyn Scheduler) -> Result<(), Refusal>,
    pub(crate) write_tofino: fn(&mut File, &mut Reader, &dyn Scheduler) -> Result<(), Refusal>,
}

/// Every program.
pub static PROGRAMS: [Program; 7] = [
    Program {
        name: "fifo",
        schedulers: &["fifo"],
        single: true,
        by_library: true,
        write: |_, _, _| Ok(()),
        write_tofino: tofino::fifo,
    },
    Program {
        name: "strict_priority",
        schedulers: &["strict-priority", "sp-pifo-optimal"],
        single: false,
        by_library: true,
        write: strict_priority,
        write_tofino: tofino::strict_priority,
    },
    Program {
        name: "sp_pifo",
        schedulers: &["sp-pifo"],
        single: false,
        by_library: false,
        write: sp_pifo,
        write_tofino: tofino::sp_pifo,
    },
    Program {
        name: "aifo",
        schedulers: &["aifo"],
        single: true,
        by_library: false,
        write: quantile::aifo,
        write_tofino: tofino::aifo,
    },
    Program {
        name: "packs",
        schedulers: &["packs"],
        single: false,
        by_library: false,
        write: quantile::packs,
        write_tofino: tofino::packs,
    },
    Program {
        name: "rifo",
        schedulers: &["rifo"],
        single: true,
        by_library: false,
        write: rifo::write,
        write_tofino: tofino::rifo,
    },
    Program {
        name: "exp_pifo",
        schedulers: &["exp-pifo"],
        single: false,
        by_library: false,
        write: exp_pifo::write,
        write_tofino: tofino::exp_pifo,
    },
];

impl Program {
    /// The program of the scheduler `name`.
    pub fn of(name: &str) -> Option<&'static Self> {
        PROGRAMS.iter().find(|program| program.schedulers.contains(&name))
    }
}

/// The library says the bounds: of a list, of an even spread, or those that are optimal for a distribution.
fn strict_priority(file: &mut File, _: &mut Reader, scheduler: &dyn Scheduler) -> Result<(), Refusal> {
    let bound = |queue| scheduler.queue_bound(queue).expect("fixed bounds are always known");
    file.each("EACH_BOUND", (0..scheduler.queues()).map(|queue| format!("{queue}, 64w{}", bound(queue).max(0))));
    Ok(())
}

fn sp_pifo(file: &mut File, reader: &mut Reader, _: &dyn Scheduler) -> Result<(), Refusal> {
    // Bounds are compared with their sign bit flipped, so that unsigned comparisons order them.
    let biased = |bound: i64| (bound as u64) ^ (1 << 63);
    let push_down: PushDown = reader.given("push_down")?;
    for choice in PushDown::ALL {
        file.define(&format!("PUSH_{}", choice.as_word().to_uppercase().replace('-', "_")), choice.code());
    }
    file.define("PUSH_DOWN", push_down.code());
    file.define("UPDATE_ON_FULL", u8::from(reader.given::<OnFull>("on_full")? == OnFull::Update));
    file.define("PUSH_DOWN_FIRST", u8::from(reader.given::<Order>("order")? == Order::PushDownFirst));
    file.integer("FLOOR", 64, biased(reader.get("clamp")?.unwrap_or(i64::MIN)));
    Ok(())
}
