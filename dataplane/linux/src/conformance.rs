//! `pifolab-dataplane conformance`: replays vectors through a data plane and compares every decision with the library's.

#[cfg(feature = "ebpf")]
use crate::ebpf;
pub use crate::replay::Replay;
use crate::{Error, Result, switch};
use std::path::{Path, PathBuf};

/// The data plane that vectors are replayed through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Through {
    /// The eBPF programs, in the kernel
    #[cfg(feature = "ebpf")]
    Kernel,
    /// The port of the user-space switch
    Switch,
}

/// The arguments of `pifolab-dataplane conformance`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The data plane to replay through
    #[arg(long, value_enum)]
    through: Through,
    /// Vectors to replay
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Name every vector, not only those that differ or are skipped
    #[arg(long)]
    verbose: bool,
}

impl Through {
    /// Replays one vector.
    ///
    /// # Errors
    /// A file that cannot be read or understood; no right to load programs.
    pub fn replay_file(self, path: &Path) -> Result<Replay> {
        match self {
            #[cfg(feature = "ebpf")]
            Self::Kernel => ebpf::conformance::replay_file(path),
            Self::Switch => switch::conformance::replay_file(path),
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            #[cfg(feature = "ebpf")]
            Self::Kernel => "kernel",
            Self::Switch => "switch",
        }
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
        match args.through.replay_file(path) {
            Err(error @ Error::Usage(_)) => {
                println!("{error}");
                broken = broken.or(Some(error));
            }
            Err(error) => return Err(error),
            Ok(Replay::Skipped(reason)) => {
                skipped += 1;
                println!("skipped {}: {reason}", path.display());
            }
            Ok(Replay::Done(outcome)) => {
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
    let through = args.through.as_str();
    println!("{through}: {vectors} vectors, {operations} operations, {mismatches} mismatches; {skipped} skipped");
    match (broken, first) {
        (Some(broken), _) => Err(broken),
        (None, Some(first)) => Err(Error::Failed(format!("the first mismatch:\n{first}"))),
        (None, None) => Ok(()),
    }
}
