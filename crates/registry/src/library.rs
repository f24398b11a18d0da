//! What schedulers that are made of others are made of.

use crate::made::Made;
use pifolab_fast::Form;
use pifolab_sched::entry::BoxedRankFn;
use pifolab_sched::params::{Args, Param, ParamError};

/// A scheduler inside another one.
pub(crate) struct Part {
    pub(crate) params: &'static [Param],
    pub(crate) read: fn(Args) -> Result<Made, ParamError>,
}

type BuildRank = fn(Args) -> Result<BoxedRankFn, ParamError>;

/// Schedulers and rank functions by their names; whose name is not known is told why. It is handed down, since the list of all
/// schedulers names those that need it.
#[derive(Clone, Copy)]
pub(crate) struct Library {
    /// In which form they run.
    pub(crate) form: Form,
    pub(crate) scheduler: fn(&str) -> Result<Part, String>,
    pub(crate) rank: fn(&str) -> Result<BuildRank, String>,
}

/// The name at `owner` is not known.
pub(crate) fn unknown_name(owner: &str, name: &str, expected: String) -> ParamError {
    ParamError { owner: owner.to_owned(), key: "name".to_owned(), value: Some(format!("{name:?}")), expected }
}

/// Faults that a scheduler finds in its parameters as a whole name it alone.
pub(crate) fn inside(error: ParamError, path: &str) -> ParamError {
    if error.owner.starts_with(path) { error } else { ParamError { owner: path.to_owned(), ..error } }
}
