//! What schedulers that are made of others are made of.

use crate::entry::SchedulerEntry;
use crate::made::Made;
use crate::{find_rank, find_scheduler};
use pifolab_params::Component;
use pifolab_sched::entry::MadeRank;
use pifolab_sched::params::{Args, ParamError};

/// The row of the scheduler `name`, whose arguments are those of `owner`.
pub(crate) fn row(name: &str, owner: &str) -> Result<&'static SchedulerEntry, ParamError> {
    find_scheduler(name).map_err(|problem| unknown_name(owner, name, problem))
}

/// Reads the arguments of a scheduler inside another one. Faults of its parameters as a whole name it alone: they get the path to it.
pub(crate) fn made(row: &SchedulerEntry, args: Args) -> Result<Made, ParamError> {
    let path = args.owner().to_owned();
    (row.read)(args).map_err(
        |error| {
            if error.owner.starts_with(&path) { error } else { ParamError { owner: path, ..error } }
        },
    )
}

/// A scheduler inside another one, by name.
pub(crate) fn made_by_name(Component { name, args }: Component) -> Result<Made, ParamError> {
    made(row(&name, args.owner())?, args)
}

/// A rank function inside a scheduler, by name.
pub(crate) fn made_rank(Component { name, args }: Component) -> Result<MadeRank, ParamError> {
    let row = find_rank(&name).map_err(|problem| unknown_name(args.owner(), &name, problem))?;
    (row.read)(args)
}

fn unknown_name(owner: &str, name: &str, expected: String) -> ParamError {
    ParamError { owner: owner.to_owned(), key: "name".to_owned(), value: Some(format!("{name:?}")), expected }
}
