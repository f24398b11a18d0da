//! Vectors, decision by decision, through the eBPF programs: `BPF_PROG_TEST_RUN` shows a program each packet and what
//! the queues hold; user space keeps the queues.

use super::harness::{FirstError, Harnessed};
use crate::replay::Replay;
use crate::{Error, Result};
use pifolab_registry::conformance::replay_through;
use pifolab_registry::{BoxedScheduler, SchedulerEntry};
use pifolab_sched::params::{Args as Params, ParamError};
use std::fs;
use std::path::Path;

/// Replays one vector.
///
/// # Errors
/// A file that cannot be read or understood; no right to load programs.
pub fn replay_file(path: &Path) -> Result<Replay> {
    let file = path.display().to_string();
    let text = fs::read(path).map_err(|error| Error::Usage(format!("{file}: cannot be read: {error}")))?;
    let first_error = FirstError::default();
    let build = |entry: &'static SchedulerEntry, args: Params| -> Result<BoxedScheduler, ParamError> {
        // The library's own refusal comes first: the replay says it with the place in the file.
        entry.build(args.clone())?;
        Harnessed::scheduler(entry.info.name, args, first_error.clone())
            .map(|harnessed| -> BoxedScheduler { Box::new(harnessed) })
            .map_err(|error| {
                let expected = error.to_string();
                first_error.lock().expect("no thread panics while it holds the lock").get_or_insert(error);
                ParamError { owner: entry.info.name.to_owned(), key: "scheduler".to_owned(), value: None, expected }
            })
    };
    let outcome = replay_through(&file, &text, &build);
    let first_error = first_error.lock().expect("no thread panics while it holds the lock").take();
    match (first_error, outcome) {
        (Some(Error::Unsupported(reason)), _) => Ok(Replay::Skipped(reason)),
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(Error::Usage(error.to_string())),
        (None, Ok(outcome)) => Ok(Replay::Done(outcome)),
    }
}
