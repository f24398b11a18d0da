//! Look-up of schedulers inside other schedulers.

use crate::entry::SchedulerEntry;
use crate::made::Made;
use pifolab_params::Component;
use pifolab_sched::entry::{MadeRank, RankEntry};
use pifolab_sched::params::{Args, ParamError, meant};
use pifolab_sched::ranks::RANKS;

/// The command that prints all schedulers.
pub const LIST_SCHEDULERS: &str = "pifolab show schedulers";
/// The command that prints all rank functions.
pub const LIST_RANKS: &str = "pifolab show ranks";

/// The message that no `what` is called `name`, with the one of `names` that was probably [`meant`]; `listed_by` is the
/// command that prints all names, if there is one.
pub fn unknown<'a, I: Iterator<Item = &'a str>>(
    what: &str,
    name: &str,
    names: impl Fn() -> I,
    listed_by: Option<&str>,
) -> String {
    format!("unknown {what} {name:?}; {}", meant(name, names, "there are", listed_by))
}

/// The rank function `name`.
pub fn find_rank(name: &str) -> Result<&'static RankEntry, String> {
    let names = || RANKS.iter().map(|entry| entry.info.name);
    RANKS
        .iter()
        .find(|entry| entry.info.name == name)
        .ok_or_else(|| unknown("rank function", name, names, Some(LIST_RANKS)))
}

/// Finds every scheduler by its name. It is passed as an argument, since the list of all schedulers has those that need
/// it.
#[derive(Clone, Copy)]
pub(crate) struct Library(pub(crate) fn(&str) -> Result<&'static SchedulerEntry, String>);

impl Library {
    /// The row of the scheduler `name` inside `owner`.
    pub(crate) fn row(self, name: &str, owner: &str) -> Result<&'static SchedulerEntry, ParamError> {
        (self.0)(name).map_err(|problem| unknown_name(owner, name, problem))
    }

    /// A scheduler inside another one, by name.
    pub(crate) fn made(self, Component { name, args }: Component) -> Result<Made, ParamError> {
        made(self.row(&name, args.owner())?, args)
    }
}

/// Reads the arguments of a scheduler inside another one. Errors about its parameters as a whole name only the
/// scheduler, so the path to it is put before them.
pub(crate) fn made(row: &SchedulerEntry, args: Args) -> Result<Made, ParamError> {
    let path = args.owner().to_owned();
    (row.read)(args).map_err(
        |error| {
            if error.owner.starts_with(&path) { error } else { ParamError { owner: path, ..error } }
        },
    )
}

/// A rank function inside a scheduler, by name.
pub(crate) fn made_rank(Component { name, args }: Component) -> Result<MadeRank, ParamError> {
    let row = find_rank(&name).map_err(|problem| unknown_name(args.owner(), &name, problem))?;
    (row.read)(args)
}

fn unknown_name(owner: &str, name: &str, expected: String) -> ParamError {
    ParamError { owner: owner.to_owned(), key: "name".to_owned(), value: Some(format!("{name:?}")), expected }
}
