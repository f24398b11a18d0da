//! What a replay gave, and why a file cannot be replayed.

use std::fmt;

/// What the replay of one file gave.
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
    /// The first of them in full.
    pub first: Option<Mismatch>,
}

/// An answer that differs from the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The file.
    pub file: String,
    /// The place of the operation in `ops`, from 0.
    pub operation: usize,
    /// The operation as it is written.
    pub op: String,
    /// The expected answer as it is written.
    pub expected: String,
    /// The answer that the scheduler gave, as it would be written.
    pub got: String,
    /// The scheduler before the operation: packets held, and bounds and window where it has them.
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

/// A file that cannot be replayed: which, where in it, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The file.
    pub file: String,
    /// The place in it: `line 3 column 9`, `config` or `ops[17]`; `None` if it could not even be read.
    pub place: Option<String>,
    /// What is wrong there, and what would be right.
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
