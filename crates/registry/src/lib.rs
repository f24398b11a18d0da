//! The names that text may use: every scheduler and rank function of the library, found by its name. [`conformance`] replays
//! vectors through them.

pub mod conformance;

use pifolab_sched::params::closest;

pub use pifolab_sched::entry::{
    BoxedRankFn, BoxedScheduler, LiveTest, LiveWindow, Look, RankEntry, SchedulerEntry, Settings, SwitchCost, Traits,
};
pub use pifolab_sched::ranks::RANKS;
pub use pifolab_sched::schedulers::SCHEDULERS;

/// The scheduler `name`.
///
/// # Errors
/// A message that lists the names, with the closest one first.
pub fn find_scheduler(name: &str) -> Result<&'static SchedulerEntry, String> {
    let names = || SCHEDULERS.iter().map(|entry| entry.info.name);
    SCHEDULERS.iter().find(|entry| entry.info.name == name).ok_or_else(|| unknown("scheduler", name, names))
}

/// The rank function `name`.
///
/// # Errors
/// A message that lists the names, with the closest one first.
pub fn find_rank(name: &str) -> Result<&'static RankEntry, String> {
    let names = || RANKS.iter().map(|entry| entry.info.name);
    RANKS.iter().find(|entry| entry.info.name == name).ok_or_else(|| unknown("rank function", name, names))
}

/// Says that no `what` is called `name`, with the closest of `names`, or all of them if none is close.
pub fn unknown<'a, I: Iterator<Item = &'a str>>(what: &str, name: &str, names: impl Fn() -> I) -> String {
    match closest(name, names()) {
        Some(closest) => format!("unknown {what} {name:?}; did you mean {closest}?"),
        None => format!("unknown {what} {name:?}; there are {}", names().collect::<Vec<_>>().join(", ")),
    }
}
