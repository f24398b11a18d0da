//! Finds every scheduler and rank function of the library by its name in text. [`conformance`] replays vectors through
//! them.

pub mod conformance;
mod entry;
mod library;
mod made;
mod managed;
#[cfg(not(target_family = "wasm"))]
mod p4;
pub mod rows;
pub mod text;
pub mod tree;
pub mod variants;

use library::Library;
use pifolab_sched::params::{Args, ParamError, Value};
use pifolab_sched::ranks::{Stfq, StfqParams, VirtualTime};

pub use entry::{Look, SchedulerEntry, SwitchCost, Traits};
pub use library::{LIST_RANKS, LIST_SCHEDULERS, find_rank, unknown};
pub use made::{Made, usual_form};
#[cfg(not(target_family = "wasm"))]
pub use p4::switch;
pub use pifolab_fast::{Form, Twin};
pub use pifolab_replay::{Arithmetic, Compare, LiveTest, LiveWindow};
pub use pifolab_sched::entry::{BoxedRankFn, BoxedScheduler, MadeRank, RankEntry};
pub use pifolab_sched::ranks::RANKS;
pub use variants::RifoModeName;

/// The row of a tree, whose parts are any of the others. Only text describes trees, so the library has no row for them.
const TREE: SchedulerEntry = entry::row(&tree::INFO, |args| tree::read(args, LIBRARY), tree::TRAITS, tree::LOOK);

/// The row of queue management, joined to any of the others.
const MANAGED: SchedulerEntry =
    entry::row(&managed::INFO, |args| managed::read(args, LIBRARY), managed::TRAITS, managed::LOOK);

/// The row of a P4 program, which is a file: a web page has no files.
#[cfg(not(target_family = "wasm"))]
const PROGRAM: SchedulerEntry =
    SchedulerEntry { files: p4::FILES, ..entry::row(&p4::INFO, p4::read, p4::TRAITS, p4::LOOK) };

/// The schedulers from which trees and queue management are made: all of them, including themselves.
const LIBRARY: Library = Library(find_scheduler);

#[cfg(not(target_family = "wasm"))]
const OTHERS: &[SchedulerEntry] = &[PROGRAM, TREE, MANAGED];
#[cfg(target_family = "wasm")]
const OTHERS: &[SchedulerEntry] = &[TREE, MANAGED];

const KNOWN: usize = rows::SCHEDULERS.len() + OTHERS.len();

const ALL: [SchedulerEntry; KNOWN] = {
    let mut all = [TREE; KNOWN];
    let own = rows::SCHEDULERS.len();
    let mut at = 0;
    while at < KNOWN {
        all[at] = if at < own { rows::SCHEDULERS[at] } else { OTHERS[at - own] };
        at += 1;
    }
    all
};

/// Every scheduler: those of the library, P4 programs, trees, and queue management.
pub const SCHEDULERS: &[SchedulerEntry] = &ALL;

/// The window that follows its packets in the published network simulation, if the rank function and the scheduler have
/// the settings of that simulation.
pub fn live_window(rank: &MadeRank, scheduler: &Made) -> Option<LiveWindow> {
    let published = StfqParams { scale: 1, virtual_time: VirtualTime::Follow, ..StfqParams::default() };
    (rank.unused::<Stfq>()?.params() == published).then(|| variants::live_window(scheduler))?
}

/// Builds a tree in which `classify` returns the leaf of each packet, counted from 0 from left to right.
///
/// # Errors
/// As for a tree by name; `classify` among the arguments is refused.
pub fn build_tree_with(args: Args, classify: Box<pifolab_tree::Classify>) -> Result<BoxedScheduler, ParamError> {
    Ok(Box::new(tree::build_with(args, LIBRARY, classify)?))
}

/// The leaves of a tree from left to right: the path of each, and the values below `end` of the classifying field that
/// it takes. Reads only `child` and `classes` of the tree, and only the labels and `takes` of its nodes.
///
/// # Errors
/// As for a tree by name, for the keys that are read.
pub fn leaves_of_tree(child: Value, classes: Value, end: u64) -> Result<Vec<(String, Vec<u64>)>, ParamError> {
    tree::leaves(child, classes, end)
}

/// The scheduler `name`.
///
/// # Errors
/// A message that suggests a similar name.
pub fn find_scheduler(name: &str) -> Result<&'static SchedulerEntry, String> {
    let names = || SCHEDULERS.iter().map(|entry| entry.info.name);
    SCHEDULERS
        .iter()
        .find(|entry| entry.info.name == name)
        .ok_or_else(|| unknown("scheduler", name, names, Some(LIST_SCHEDULERS)))
}
