//! The names that text may use: every scheduler and rank function, one line each.

use pifolab_sched::params::{Args, FromArgs, Info, ParamError, closest};
use pifolab_sched::{RankFn, Scheduler, ranks, schedulers};

/// A scheduler that can be built from text.
pub struct SchedulerEntry {
    /// What a user can look up about it.
    pub info: &'static Info,
    /// Builds it from its arguments; every argument must be known and have an effect.
    pub build: fn(Args) -> Result<BoxedScheduler, ParamError>,
}

/// A scheduler chosen at run time.
pub type BoxedScheduler = Box<dyn Scheduler + Send>;

const fn scheduler<S: FromArgs + Scheduler + Send + 'static>() -> SchedulerEntry {
    SchedulerEntry { info: &S::INFO, build: |args| Ok(Box::new(S::build(args)?)) }
}

/// Every scheduler.
pub const SCHEDULERS: &[SchedulerEntry] = &[
    scheduler::<schedulers::Pifo>(),
    scheduler::<schedulers::Fifo>(),
    scheduler::<schedulers::StrictPriority>(),
    scheduler::<schedulers::SpPifo>(),
    scheduler::<schedulers::SpPifoGreedy>(),
    scheduler::<schedulers::SpPifoOptimal>(),
    scheduler::<schedulers::Aifo>(),
    scheduler::<schedulers::Packs>(),
    scheduler::<schedulers::Rifo>(),
    scheduler::<schedulers::ExpPifo>(),
    scheduler::<schedulers::Afq>(),
    scheduler::<schedulers::Pieo>(),
];

/// The scheduler `name`.
///
/// # Errors
/// A message that lists the names, with the closest one first.
pub fn find_scheduler(name: &str) -> Result<&'static SchedulerEntry, String> {
    let names = || SCHEDULERS.iter().map(|entry| entry.info.name);
    SCHEDULERS.iter().find(|entry| entry.info.name == name).ok_or_else(|| unknown("scheduler", name, names))
}

/// A rank function that can be built from text.
pub struct RankEntry {
    /// What a user can look up about it.
    pub info: &'static Info,
    /// Builds it from its arguments; every argument must be known and have an effect.
    pub build: fn(Args) -> Result<BoxedRankFn, ParamError>,
}

/// A rank function chosen at run time.
pub type BoxedRankFn = Box<dyn RankFn + Send>;

const fn rank<R: FromArgs + RankFn + Send + 'static>() -> RankEntry {
    RankEntry { info: &R::INFO, build: |args| Ok(Box::new(R::build(args)?)) }
}

/// Every rank function.
pub const RANKS: &[RankEntry] = &[
    rank::<ranks::Carried>(),
    rank::<ranks::FlowSize>(),
    rank::<ranks::RemainingSize>(),
    rank::<ranks::Unacknowledged>(),
    rank::<ranks::Stfq>(),
    rank::<ranks::Lstf>(),
    rank::<ranks::FifoPlus>(),
    rank::<ranks::Edf>(),
    rank::<ranks::Las>(),
    rank::<ranks::Fcfs>(),
];

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
