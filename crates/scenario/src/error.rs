//! The errors of a scenario, each one line that names the place and what was expected.

use pifolab_params::{Misfit, Place};
use pifolab_workload::FileError;
use std::fmt;

/// Why a scenario cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A fault in its text.
    Spec(SpecError),
    /// A fault in a file that it names: a trace or a histogram.
    File(FileError),
    /// The caller cancelled the run before any scheduler was done.
    Cancelled,
}

/// A fault in a scenario's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The file.
    pub file: String,
    /// The place in the file.
    pub place: Place,
    /// The key with its tables: `link.rate_gbps`; empty if the fault concerns no key.
    pub key: String,
    /// What is wrong, and what was expected.
    pub problem: Misfit,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec(error) => error.fmt(f),
            Self::File(error) => error.fmt(f),
            Self::Cancelled => f.write_str("cancelled before any scheduler was done"),
        }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::File => write!(f, "{}: ", self.file)?,
            Place::Line(line) => write!(f, "{}:{line}: ", self.file)?,
            Place::Flag(flag) => write!(f, "{}: {flag}: ", self.file)?,
        }
        if !self.key.is_empty() {
            write!(f, "{}{} ", self.key, if self.problem.value.is_some() { "" } else { ":" })?;
        }
        self.problem.fmt(f)
    }
}

impl std::error::Error for Error {}
impl std::error::Error for SpecError {}

impl From<SpecError> for Error {
    fn from(error: SpecError) -> Self {
        Self::Spec(error)
    }
}

impl From<FileError> for Error {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}
