//! Vectors, decision by decision, through the eBPF programs: `BPF_PROG_TEST_RUN` shows a program each packet and what
//! the queues hold; user space keeps the queues.

use super::harness::{Harnessed, Trouble};
use crate::{Error, Result};
use pifolab_scenario::conformance::{Outcome, replay_through};
use pifolab_scenario::registry::{BoxedScheduler, SchedulerEntry};
use pifolab_sched::params::{Args as Params, ParamError};
use std::fs;
use std::path::{Path, PathBuf};

/// The arguments of `pifolab-dataplane conformance`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Vectors to replay
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Name every vector, not only those that differ or are skipped
    #[arg(long)]
    verbose: bool,
}

/// What became of one vector.
#[derive(Debug)]
pub enum Verdict {
    /// It was replayed.
    Replayed(Outcome),
    /// The program cannot do this, for this reason.
    Skipped(String),
}

/// Replays one vector.
///
/// # Errors
/// A file that cannot be read or understood; no right to load programs.
pub fn replay_file(path: &Path) -> Result<Verdict> {
    let file = path.display().to_string();
    let text = fs::read(path).map_err(|error| Error::Usage(format!("{file}: cannot be read: {error}")))?;
    let trouble = Trouble::default();
    let build = |entry: &'static SchedulerEntry, args: Params| -> Result<BoxedScheduler, ParamError> {
        // The library's own refusal comes first: the replay says it with the place in the file.
        (entry.build)(args.clone())?;
        Harnessed::new(entry.info.name, args, trouble.clone())
            .map(|harnessed| -> BoxedScheduler { Box::new(harnessed) })
            .map_err(|error| {
                let expected = error.to_string();
                trouble.lock().expect("no holder panics").get_or_insert(error);
                ParamError { owner: entry.info.name.to_owned(), key: "scheduler".to_owned(), value: None, expected }
            })
    };
    let outcome = replay_through(&file, &text, &build);
    let trouble = trouble.lock().expect("no holder panics").take();
    match (trouble, outcome) {
        (Some(Error::Unsupported(reason)), _) => Ok(Verdict::Skipped(reason)),
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(Error::Usage(error.to_string())),
        (None, Ok(outcome)) => Ok(Verdict::Replayed(outcome)),
    }
}

/// Runs the command.
///
/// # Errors
/// A mismatch; a file that cannot be replayed (the others are, all the same); no right to load programs.
pub fn run(args: Args) -> Result<()> {
    let (mut vectors, mut operations, mut mismatches, mut skipped) = (0, 0, 0, 0);
    let mut broken = None;
    let mut first = None;
    for path in &args.files {
        match replay_file(path) {
            Err(error @ Error::Usage(_)) => {
                println!("{error}");
                broken = broken.or(Some(error));
            }
            Err(error) => return Err(error),
            Ok(Verdict::Skipped(reason)) => {
                skipped += 1;
                println!("skipped {}: {reason}", path.display());
            }
            Ok(Verdict::Replayed(outcome)) => {
                vectors += 1;
                operations += outcome.operations;
                mismatches += outcome.mismatches;
                if outcome.mismatches > 0 {
                    println!("{}: {} of {} operations differ", outcome.file, outcome.mismatches, outcome.operations);
                } else if args.verbose {
                    println!("{}: {} operations agree", outcome.file, outcome.operations);
                }
                first = first.or(outcome.first);
            }
        }
    }
    println!("eBPF: {vectors} vectors, {operations} operations, {mismatches} mismatches; {skipped} vectors skipped");
    match (broken, first) {
        (Some(broken), _) => Err(broken),
        (None, Some(first)) => Err(Error::Failed(format!("the first mismatch:\n{first}"))),
        (None, None) => Ok(()),
    }
}
