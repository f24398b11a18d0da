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
    /// One JSON object instead of lines
    #[arg(long, conflicts_with = "verbose")]
    json: bool,
}

/// The result of all vectors.
#[derive(Default, serde::Serialize)]
struct Counts {
    through: &'static str,
    vectors: usize,
    operations: usize,
    mismatches: usize,
    /// Each vector that the data plane does not support, with the reason.
    skipped: Vec<(String, String)>,
    first: Option<String>,
}

impl Through {
    /// Replays one vector.
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
/// If a decision differs, a file cannot be replayed (the others still are), or the user may not load programs.
pub fn run(args: Args) -> Result<()> {
    let mut counts = Counts { through: args.through.as_str(), ..Counts::default() };
    let mut broken = None;
    let say = |line: String| {
        if !args.json {
            println!("{line}");
        }
    };
    for path in &args.files {
        match args.through.replay_file(path) {
            Err(error @ Error::Usage(_)) => {
                say(error.to_string());
                broken = broken.or(Some(error));
            }
            Err(error) => return Err(error),
            Ok(Replay::Skipped(reason)) => {
                say(format!("skipped {}: {reason}", path.display()));
                counts.skipped.push((path.display().to_string(), reason));
            }
            Ok(Replay::Done(outcome)) => {
                counts.vectors += 1;
                counts.operations += outcome.operations;
                counts.mismatches += outcome.mismatches;
                if outcome.mismatches > 0 {
                    say(format!(
                        "{}: {} of {} operations differ",
                        outcome.file, outcome.mismatches, outcome.operations
                    ));
                } else if args.verbose {
                    say(format!("{}: {} operations agree", outcome.file, outcome.operations));
                }
                counts.first = counts.first.or(outcome.first.map(|mismatch| mismatch.to_string()));
            }
        }
    }
    if args.json {
        println!("{}", serde_json::json!(counts));
    } else {
        let Counts { through, vectors, operations, mismatches, skipped, .. } = &counts;
        println!(
            "{through}: {vectors} vectors, {operations} operations, {mismatches} mismatches; {} skipped",
            skipped.len()
        );
    }
    match (broken, counts.first) {
        (Some(broken), _) => Err(broken),
        (None, Some(first)) => Err(Error::Failed(format!("the first mismatch:\n{first}"))),
        (None, None) => Ok(()),
    }
}
