//! Replays vectors, decision by decision, through the eBPF programs. `BPF_PROG_TEST_RUN` passes each packet and the
//! queues' occupancies to a program; user space holds the queues.

use super::harness::{FirstError, Harnessed};
use crate::replay::Replay;
use crate::{Error, Result};
use pifolab_registry::conformance::replay_through;
use pifolab_registry::{BoxedScheduler, SchedulerEntry};
use pifolab_sched::params::{Args as Params, ParamError};
use std::fs;
use std::path::Path;

/// Replays one vector.
pub fn replay_file(path: &Path) -> Result<Replay> {
    let file = path.display().to_string();
    let text = fs::read(path).map_err(|error| Error::Usage(format!("{file}: cannot be read: {error}")))?;
    let first_error = FirstError::default();
    let build = |entry: &'static SchedulerEntry, args: Params| -> Result<BoxedScheduler, ParamError> {
        // The library's check runs first, because the replay adds the place in the file to its error.
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
