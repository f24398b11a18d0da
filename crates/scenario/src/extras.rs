//! Schedulers and rank functions that the library does not know: those that a user wrote in Python.

use crate::registry::{BoxedRankFn, BoxedScheduler};
use pifolab_sched::params::Value;

/// What a name that is not in the registry stands for. Each run asks for a fresh one, so that no state is carried over.
///
/// An answer of `None` says that the name is unknown; an `Err` says in one line why the arguments do not fit.
pub trait Extras {
    /// The scheduler `name`, built from `args` as they were written.
    fn scheduler(&self, name: &str, args: &[(String, Value)]) -> Option<Result<BoxedScheduler, String>> {
        let _ = (name, args);
        None
    }

    /// The rank function `name`, built from `args` as they were written.
    fn rank(&self, name: &str, args: &[(String, Value)]) -> Option<Result<BoxedRankFn, String>> {
        let _ = (name, args);
        None
    }

    /// The names it knows, for "did you mean".
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// No extras.
impl Extras for () {}
