//! From the library's parameters to the parameter file that a P4 program is compiled with.
//!
//! The library itself checks every parameter (it builds the scheduler once); here it is decided what the program of a
//! target can do, and whatever can be computed beforehand is: thresholds, bounds, and the tables of logarithms, powers and
//! queues, which are asked from the library's schedulers. Nothing of a parameter file is typed by hand.

mod exp_pifo;
mod file;
mod programs;
mod quantile;
mod reader;
mod rifo;
mod target;
mod tofino;

/// What the programs take of Tofino and Tofino 2, as their compiler counts it: `dataplane/p4/resources.json`.
pub const RESOURCES: &str = include_str!("../../../dataplane/p4/resources.json");

pub use programs::{PROGRAMS, Program};
pub use reader::Refusal;
pub use target::Target;

use file::File;
use pifolab_registry::{SchedulerEntry, conformance, find_scheduler};
use pifolab_sched::params::Args;
use reader::{Reader, read_capacities};
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
/// [`Refusal::Wrong`] for what the library refuses, [`Refusal::Unsupported`] for what the target's program cannot do.
pub fn compile(name: &str, args: Args, target: Target) -> Result<Compiled, Refusal> {
    let entry = find_scheduler(name).map_err(Refusal::Wrong)?;
    let scheduler = entry.build(args.clone())?;
    let program = Program::of(entry.info.name).ok_or_else(|| {
        let names = PROGRAMS.iter().flat_map(|program| program.schedulers).copied().collect::<Vec<_>>().join(", ");
        Refusal::Unsupported(format!("there is no P4 program of {}; expected one of {names}", entry.info.name))
    })?;
    let mut reader = Reader { info: entry.info, args, target };
    let (in_bytes, capacities) = read_capacities(&mut reader, program.single)?;
    let limit = target.queues();
    if capacities.len() > limit {
        return Err(reader.unsupported(format!("queues = {}: expected at most {limit}", capacities.len())));
    }
    let mut file = File::new(entry.info.name, target);
    file.define("QUEUES", capacities.len());
    file.define("LAST_QUEUE", capacities.len() - 1);
    if target == Target::Bmv2 {
        file.queues(in_bytes, &capacities);
    }
    let write = if target == Target::Bmv2 { program.write } else { program.write_tofino };
    write(&mut file, &mut reader, scheduler.as_ref())?;
    // A parameter that the program's file does not depend on would be ignored, unless the library has read it for the file.
    if !program.by_library {
        let Reader { info, args, .. } = &reader;
        args.clone()
            .finish(info.params)
            .map_err(|unread| reader.unsupported(format!("{} has no effect", unread.key)))?;
    }
    Ok(Compiled { program: program.name, scheduler: entry.info.name, in_bytes, capacities, text: file.text() })
}

/// The program and the parameter file of the vector `text`, which messages call `file`; and what the library itself makes
/// of the vector.
///
/// # Errors
/// [`Refusal::Wrong`] for a vector that cannot be understood, else as [`compile`].
pub fn compile_vector(file: &str, text: &[u8], target: Target) -> Result<(Compiled, conformance::Outcome), Refusal> {
    let seen = RefCell::new(None);
    let outcome = conformance::replay_through(file, text, &|entry: &'static SchedulerEntry, args: Args| {
        seen.replace(Some((entry.info.name, args.clone())));
        entry.build(args)
    })
    .map_err(|error| Refusal::Wrong(error.to_string()))?;
    let (name, args) = seen.into_inner().expect("a replay builds its scheduler");
    Ok((compile(name, args, target)?, outcome))
}

#[cfg(test)]
mod tests;
