//! What the library does not know and a run shall use all the same: schedulers, rank functions, congestion controllers and
//! observers that a user wrote in Python.

use crate::registry::{BoxedRankFn, BoxedScheduler};
use pifolab_sched::params::Value;
use pifolab_sim::network::Controllers;
use pifolab_sim::observer::Observer;

/// An observer that a caller brings along.
pub type BoxedObserver = Box<dyn Observer + Send>;

/// The most rows of each table, all schedulers together, of a run that was interrupted.
pub const INTERRUPTED_ROWS: usize = if cfg!(test) { 1_000 } else { 250_000 };

/// What a name that is not in the registry stands for. Each run asks for a fresh one, so that no state is carried over.
///
/// An answer of `None` says that the name is unknown; an `Err` says in one line why the arguments do not fit.
pub trait Extras: Sync {
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

    /// What makes the congestion controllers `name` of flows, built from `args` as they were written.
    fn controllers(&self, name: &str, args: &[(String, Value)]) -> Option<Result<Controllers, String>> {
        let _ = (name, args);
        None
    }

    /// Further observers of the run of the scheduler that is called `label`, with this seed.
    ///
    /// # Errors
    /// One line, if the observer cannot be made.
    fn observer(&self, seed: u64, label: &str) -> Result<Option<BoxedObserver>, String> {
        let _ = (seed, label);
        Ok(None)
    }

    /// Calls `work`, which is all that a thread of a run does: what the extras made is used in there and nowhere else.
    /// Whatever a thread needs for that can be prepared once, around it.
    fn on_thread(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }

    /// Whether to give up what takes long before the run itself, reading a trace or drawing flows, or after it, the tables of
    /// long records. Asked often, on the thread that reads the scenario; true once is enough.
    fn interrupted(&self) -> bool {
        false
    }

    /// The run was cancelled: whatever the extras do on their threads should end. Called about ten times a second from
    /// then on until it has.
    fn interrupt(&self) {}

    /// The most rows of each table, all schedulers together, of a run that was interrupted: the user waits
    /// for its tables.
    fn interrupted_rows(&self) -> usize {
        INTERRUPTED_ROWS
    }

    /// The names of congestion controllers it knows, for "did you mean".
    fn controller_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The names of schedulers it knows, for "did you mean".
    fn scheduler_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The names of rank functions it knows, for "did you mean".
    fn rank_names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// No extras.
impl Extras for () {}
