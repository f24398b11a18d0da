//! Two kinds of fault: a parameter that cannot be, and a file that does not say what it should.

use std::fmt;

/// A parameter outside its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// The parameter's name as in the function that refused it.
    pub parameter: &'static str,
    /// What was given.
    pub value: String,
    /// What would have been right.
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

/// Where in a file the fault lies.
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

/// A file that cannot be read, or whose content is not what its format asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file's name as it was given.
    pub file: String,
    /// Where the fault lies.
    pub place: Place,
    /// What is wrong, with the offending value, and what would be right.
    pub problem: String,
}

impl Place {
    /// The line, where there is one.
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

    /// What is wrong, and where in the file or the line, without these two.
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
