//! From the library's parameters to the parameter file with which a P4 program is compiled.
//!
//! The library reads and checks every parameter. This crate checks what the program of a target supports, and
//! precomputes thresholds, bounds, and the tables of logarithms, powers and queues with the library's schedulers. No
//! part of a parameter file is written by hand.

mod exp_pifo;
mod file;
mod programs;
mod quantile;
mod rifo;
mod setting;
mod slack_sp;
mod target;
mod tofino;

/// The resources of the programs on Tofino and Tofino 2, as counted by their compiler: `dataplane/p4/resources.json`.
pub const RESOURCES: &str = include_str!("../../../dataplane/p4/resources.json");

pub use programs::{PROGRAMS, Program};
pub use setting::Refusal;
pub use target::Target;

use file::File;
use pifolab_registry::{Made, SchedulerEntry, conformance, find_scheduler, usual_form};
use pifolab_sched::params::Args;
use pifolab_sched::{Capacity, Room};
use setting::Setting;
use std::cell::RefCell;

/// A program with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The program: the stem of its file's name.
    pub program: &'static str,
    /// The scheduler, by its name in the library.
    pub scheduler: &'static str,
    /// Whether capacities are in bytes; else in packets.
    pub in_bytes: bool,
    /// The capacity of each queue, highest priority first.
    pub capacities: Vec<u64>,
    /// The parameter file.
    pub text: String,
}

/// The parameter file of the scheduler `name` with the library's parameters `args` on `target`.
///
/// # Errors
/// [`Refusal::Wrong`] if the library refuses a parameter, [`Refusal::Unsupported`] if the target's program does not
/// support it.
pub fn compile(name: &str, args: Args, target: Target) -> Result<Compiled, Refusal> {
    let entry = find_scheduler(name).map_err(Refusal::Wrong)?;
    compile_made(entry, &(entry.read)(args)?, target)
}

fn compile_made(entry: &SchedulerEntry, made: &Made, target: Target) -> Result<Compiled, Refusal> {
    let name = entry.info.name;
    let program = Program::of(name).ok_or_else(|| {
        let names = PROGRAMS.iter().flat_map(|program| program.schedulers).copied().collect::<Vec<_>>().join(", ");
        Refusal::Unsupported(format!("there is no P4 program of {name}; expected one of {names}"))
    })?;
    let capacities = (program.capacities)(made).expect("the program names the schedulers that have these parameters");
    let in_bytes = matches!(capacities[0], Capacity::Bytes(_));
    let capacities = capacities.into_iter().map(|capacity| Room::new(capacity).total()).collect();
    let setting = Setting { name, target, made, in_bytes, capacities };
    let (queues, limit) = (setting.capacities.len(), target.queues());
    if queues > limit {
        return Err(setting.unsupported(format!("queues = {queues}: expected at most {limit}")));
    }
    let mut file = File::new(name, target);
    file.define("QUEUES", queues);
    file.define("LAST_QUEUE", queues - 1);
    if target == Target::Bmv2 {
        file.queues(in_bytes, &setting.capacities);
    }
    let write = if target == Target::Bmv2 { program.write } else { program.write_tofino };
    write(&mut file, &setting)?;
    let capacities = setting.capacities;
    Ok(Compiled { program: program.name, scheduler: name, in_bytes, capacities, text: file.text() })
}

/// The program and the parameter file of the vector `text`, which messages call `file`; and the outcome of the
/// library's own replay.
///
/// # Errors
/// [`Refusal::Wrong`] for a vector that cannot be parsed, else as [`compile`].
pub fn compile_vector(file: &str, text: &[u8], target: Target) -> Result<(Compiled, conformance::Outcome), Refusal> {
    let seen = RefCell::new(None);
    let outcome = conformance::replay_through(file, text, &|entry: &'static SchedulerEntry, args: Args| {
        let made = (entry.read)(args)?;
        let scheduler = made.scheduler(usual_form());
        seen.replace(Some((entry, made)));
        Ok(scheduler)
    })
    .map_err(|error| Refusal::Wrong(error.to_string()))?;
    let (entry, made) = seen.into_inner().expect("a replay builds its scheduler");
    Ok((compile_made(entry, &made, target)?, outcome))
}

#[cfg(test)]
mod tests;
