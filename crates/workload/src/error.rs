//! Two kinds of error: a parameter outside its range, and a file that does not follow its format.

use std::fmt;

/// A parameter outside its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// The parameter's name in the function that returned the error.
    pub parameter: &'static str,
    /// The value passed.
    pub value: String,
    /// The valid values.
    pub expected: &'static str,
}

impl ParameterError {
    pub(crate) fn new(parameter: &'static str, value: impl fmt::Display, expected: &'static str) -> Self {
        Self { parameter, value: value.to_string(), expected }
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: expected {}", self.parameter, self.value, self.expected)
    }
}

impl std::error::Error for ParameterError {}

/// The location of a fault in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, counted from 1.
    Line(u64),
    /// A line, counted from 1, and the column's name.
    Column(u64, String),
    /// A byte offset (in the decompressed file) before the first packet.
    Offset(u64),
    /// A packet, counted from 1, and the byte offset (in the decompressed file) of its record.
    Packet(u64, u64),
}

/// A file that cannot be read or does not follow its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file's name as the caller passed it.
    pub file: String,
    /// The location of the fault.
    pub place: Place,
    /// The problem, with the invalid value and the expected one.
    pub problem: String,
}

impl Place {
    /// The line number, if the place is in a line.
    pub const fn line(&self) -> Option<u64> {
        match self {
            Self::Line(line) | Self::Column(line, _) => Some(*line),
            Self::File | Self::Offset(_) | Self::Packet(..) => None,
        }
    }
}

impl FileError {
    pub(crate) fn new(file: &str, place: Place, problem: impl Into<String>) -> Self {
        Self { file: file.to_owned(), place, problem: problem.into() }
    }

    /// The problem with its column, byte or packet, without the file's name and the line.
    pub fn inside(&self) -> String {
        let problem = &self.problem;
        match &self.place {
            Place::File | Place::Line(_) => problem.clone(),
            Place::Column(_, column) => format!("{column}: {problem}"),
            Place::Offset(offset) => format!("byte {offset}: {problem}"),
            Place::Packet(packet, offset) => format!("packet {packet} at byte {offset}: {problem}"),
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.place.line() {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.inside())
    }
}

impl std::error::Error for FileError {}
