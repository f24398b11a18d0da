//! Extensions of a run: schedulers, rank functions, congestion controllers and observers that a user wrote in Python.

use crate::registry::{BoxedRankFn, BoxedScheduler};
use pifolab_sched::params::Value;
use pifolab_sim::network::Controllers;
use pifolab_sim::observer::Observer;
use pifolab_workload::Stream;

/// An observer that a caller provides.
pub type BoxedObserver = Box<dyn Observer + Send>;

/// The most rows of each table of an interrupted run, over all schedulers.
pub const INTERRUPTED_ROWS: usize = if cfg!(test) { 1_000 } else { 250_000 };

/// Makes the objects for names that are not in the registry. Each run gets new ones, so that no state is carried over.
///
/// `None` means that the name is unknown; `Err` has the fault of the arguments in one line.
pub trait Extras: Sync {
    /// The scheduler `name` of a port, built from its arguments `args`; all its randomness comes from `random`.
    fn scheduler(
        &self,
        name: &str,
        args: &[(String, Value)],
        random: Stream,
    ) -> Option<Result<BoxedScheduler, String>> {
        let _ = (name, args, random);
        None
    }

    /// The rank function `name` of a port, built from its arguments `args`; all its randomness comes from `random`.
    fn rank(&self, name: &str, args: &[(String, Value)], random: Stream) -> Option<Result<BoxedRankFn, String>> {
        let _ = (name, args, random);
        None
    }

    /// The maker of the congestion controllers `name` of flows, with the arguments `args`.
    fn controllers(&self, name: &str, args: &[(String, Value)]) -> Option<Result<Controllers, String>> {
        let _ = (name, args);
        None
    }

    /// Further observers of the run of the scheduler with this label and this seed.
    fn observer(&self, seed: u64, label: &str) -> Result<Option<BoxedObserver>, String> {
        let _ = (seed, label);
        Ok(None)
    }

    /// Calls `work`, the whole work of one thread of a run, which alone uses the objects made here. An implementation
    /// can prepare the thread before and after the call.
    fn on_thread(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }

    /// Whether to stop long work before the run (reading a trace, drawing flows) or after it (the tables of long
    /// records). Called often, on the thread that reads the scenario; returning true once is enough.
    fn interrupted(&self) -> bool {
        false
    }

    /// Called about ten times a second after the run was cancelled, until all work of the extras on its threads has
    /// ended.
    fn interrupt(&self) {}

    /// The most rows of each table of an interrupted run, over all schedulers: the user waits for its tables.
    fn interrupted_rows(&self) -> usize {
        INTERRUPTED_ROWS
    }

    /// The names of its congestion controllers, for "did you mean".
    fn controller_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The names of its schedulers, for "did you mean".
    fn scheduler_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The names of its rank functions, for "did you mean".
    fn rank_names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// No extras.
impl Extras for () {}
