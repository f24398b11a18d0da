//! The names that text may use: every scheduler and rank function of the library, found by its name. [`conformance`] replays
//! vectors through them.

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
mod variants;

use library::Library;
use pifolab_sched::params::{Args, ParamError, Value};
use pifolab_sched::ranks::{Stfq, StfqParams, VirtualTime};

pub use entry::{Look, SchedulerEntry, SwitchCost, Traits};
pub use library::{LIST_RANKS, LIST_SCHEDULERS, find_rank, unknown};
pub use made::{Made, usual_form};
pub use pifolab_fast::{Form, Twin};
pub use pifolab_replay::{Arithmetic, Compare, LiveTest, LiveWindow};
pub use pifolab_sched::entry::{BoxedRankFn, BoxedScheduler, MadeRank, RankEntry};
pub use pifolab_sched::ranks::RANKS;
pub use variants::RifoModeName;

/// A tree, whose parts are any of the others: what only text can say of it, and so the library has no row for it.
const TREE: SchedulerEntry = entry::row(&tree::INFO, |args| tree::read(args, LIBRARY), tree::TRAITS, tree::LOOK);

/// Queue management, joined to any of the others.
const MANAGED: SchedulerEntry =
    entry::row(&managed::INFO, |args| managed::read(args, LIBRARY), managed::TRAITS, managed::LOOK);

/// A P4 program, which is a file: a page has none.
#[cfg(not(target_family = "wasm"))]
const PROGRAM: SchedulerEntry =
    SchedulerEntry { files: p4::FILES, ..entry::row(&p4::INFO, p4::read, p4::TRAITS, p4::LOOK) };

/// What trees and queue management are made of: every scheduler, they included.
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

/// Every scheduler: those of the library, P4 programs, trees, and what manages their queues.
pub const SCHEDULERS: &[SchedulerEntry] = &ALL;

/// The window of the published network simulation that follows its packets, if the rank function and the scheduler have the
/// settings of that simulation.
pub fn live_window(rank: &MadeRank, scheduler: &Made) -> Option<LiveWindow> {
    let published = StfqParams { scale: 1, virtual_time: VirtualTime::Follow, ..StfqParams::default() };
    (rank.unused::<Stfq>()?.params() == published).then(|| variants::live_window(scheduler))?
}

/// Builds a tree in which `classify` names the leaf of each packet, leaves being counted from 0 from left to right.
///
/// # Errors
/// As those of a tree by name; `classify` among the arguments is refused.
pub fn build_tree_with(args: Args, classify: Box<pifolab_tree::Classify>) -> Result<BoxedScheduler, ParamError> {
    Ok(Box::new(tree::build_with(args, LIBRARY, classify)?))
}

/// The leaves of a tree from left to right: the path of each, and which of the values below `end` it takes of the field that
/// sorts packets. Of the tree only `child` and `classes` are read, and of its nodes what they take and are called.
///
/// # Errors
/// As those of a tree by name, as far as it is read.
pub fn leaves_of_tree(child: Value, classes: Value, end: u64) -> Result<Vec<(String, Vec<u64>)>, ParamError> {
    tree::leaves(child, classes, end)
}

/// The scheduler `name`.
///
/// # Errors
/// A message that says which name may have been meant.
pub fn find_scheduler(name: &str) -> Result<&'static SchedulerEntry, String> {
    let names = || SCHEDULERS.iter().map(|entry| entry.info.name);
    SCHEDULERS
        .iter()
        .find(|entry| entry.info.name == name)
        .ok_or_else(|| unknown("scheduler", name, names, Some(LIST_SCHEDULERS)))
}
