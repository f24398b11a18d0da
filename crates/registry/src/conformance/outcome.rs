//! The outcome of a replay, and the error of a file that cannot be replayed.

use std::fmt;

/// The outcome of replaying one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The file.
    pub file: String,
    /// The scheduler, by its name in the library.
    pub scheduler: String,
    /// Operations replayed.
    pub operations: usize,
    /// Operations whose answer differs from the expected one.
    pub mismatches: usize,
    /// The first mismatch in full.
    pub first: Option<Mismatch>,
}

/// An answer that differs from the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The file.
    pub file: String,
    /// The place of the operation in `ops`, from 0.
    pub operation: usize,
    /// The operation as written in the file.
    pub op: String,
    /// The expected answer as written in the file.
    pub expected: String,
    /// The scheduler's answer in the form of the file.
    pub got: String,
    /// The scheduler before the operation: packets held, and bounds and window if it has them.
    pub before: String,
    /// The scheduler after the operation.
    pub after: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: ops[{}] = {}", self.file, self.operation, self.op)?;
        writeln!(f, "  expected {}", self.expected)?;
        writeln!(f, "  got      {}", self.got)?;
        writeln!(f, "  before   {}", self.before)?;
        write!(f, "  after    {}", self.after)
    }
}

/// A file that cannot be replayed: the file, the place in it, and the expected form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The file.
    pub file: String,
    /// The place in it: `line 3 column 9`, `config` or `ops[17]`; `None` if the file could not be read.
    pub place: Option<String>,
    /// What is wrong there and what is expected.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{}: {place}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for Error {}
