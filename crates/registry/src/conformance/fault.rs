//! Faults in a vector, without the name of its file.

use super::outcome::Error;

/// A fault at a place in a vector, without the name of its file.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) place: String,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }

    pub(super) fn in_file(self, file: &str) -> Error {
        Error { file: file.to_owned(), place: Some(self.place), message: self.message }
    }
}
