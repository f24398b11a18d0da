//! The names that text may use: every scheduler and rank function of the library, found by its name. [`conformance`] replays
//! vectors through them.

pub mod conformance;
mod library;
mod managed;
pub mod text;
pub mod tree;

use pifolab_sched::Parts;
use pifolab_sched::params::{Args, ParamError, Value, meant};
use pifolab_sched::schedulers;

use library::{Library, Part};

pub use pifolab_sched::entry::{
    BoxedRankFn, BoxedScheduler, LiveTest, LiveWindow, Look, RankEntry, SchedulerEntry, Settings, SwitchCost, Traits,
};
pub use pifolab_sched::ranks::RANKS;

/// A tree, whose parts are any of the others: what only text can say of it, and so the library has no row for it.
const TREE: SchedulerEntry = SchedulerEntry {
    info: &tree::INFO,
    traits: tree::TRAITS,
    look: tree::LOOK,
    advice: None,
    cost: None,
    live_window: |_| None,
    build: |args| Ok(Box::new(tree::build(args, LIBRARY)?)),
    port: |args| Ok(Parts::from(Box::new(tree::build(args, LIBRARY)?))),
};

/// Queue management, joined to any of the others.
const MANAGED: SchedulerEntry = SchedulerEntry {
    info: &managed::INFO,
    traits: managed::TRAITS,
    look: managed::LOOK,
    advice: None,
    cost: None,
    live_window: |_| None,
    build: |args| managed::build(args, LIBRARY),
    port: |args| Ok(Parts::from(managed::build(args, LIBRARY)?)),
};

const KNOWN: usize = schedulers::SCHEDULERS.len() + 2;

const ALL: [SchedulerEntry; KNOWN] = {
    let mut all = [TREE; KNOWN];
    all[KNOWN - 1] = MANAGED;
    let mut at = 0;
    while at < schedulers::SCHEDULERS.len() {
        all[at] = schedulers::SCHEDULERS[at];
        at += 1;
    }
    all
};

/// Every scheduler: those of the library, trees of them, and what manages their queues.
pub const SCHEDULERS: &[SchedulerEntry] = &ALL;

/// What schedulers that are made of others are made of: every scheduler, these included, and every rank function.
const LIBRARY: Library = Library {
    scheduler: |name| {
        find_scheduler(name).map(|entry| Part { params: entry.info.params, build: entry.build, port: entry.port })
    },
    rank: |name| find_rank(name).map(|entry| entry.build),
};

/// Builds a tree in which `classify` names the leaf of each packet, leaves being counted from 0 from left to right.
///
/// # Errors
/// As those of a tree by name; `classify` among the arguments is refused.
pub fn build_tree_with(args: Args, classify: Box<pifolab_sched::tree::Classify>) -> Result<BoxedScheduler, ParamError> {
    Ok(Box::new(tree::build_with(args, classify, LIBRARY)?))
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

/// The rank function `name`.
///
/// # Errors
/// A message that says which name may have been meant.
pub fn find_rank(name: &str) -> Result<&'static RankEntry, String> {
    let names = || RANKS.iter().map(|entry| entry.info.name);
    RANKS
        .iter()
        .find(|entry| entry.info.name == name)
        .ok_or_else(|| unknown("rank function", name, names, Some(LIST_RANKS)))
}

/// The command that prints all schedulers.
pub const LIST_SCHEDULERS: &str = "pifolab list schedulers";
/// The command that prints all rank functions.
pub const LIST_RANKS: &str = "pifolab list ranks";

/// Says that no `what` is called `name`, and which of `names` may have been [`meant`]; `listed_by` is the command that prints
/// them, if there is one.
pub fn unknown<'a, I: Iterator<Item = &'a str>>(
    what: &str,
    name: &str,
    names: impl Fn() -> I,
    listed_by: Option<&str>,
) -> String {
    format!("unknown {what} {name:?}; {}", meant(name, names, "there are", listed_by))
}
