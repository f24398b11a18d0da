//! What is wrong in a vector, before the file's name is known.

/// A fault at a place, before the file's name is known.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) place: String,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}
