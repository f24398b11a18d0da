//! What the readers of files hand over.

use super::dissect::Link;
use crate::{FileError, Place};

/// When and where in the file a record stands.
#[derive(Clone, Debug)]
pub(super) struct At {
    pub(super) time_ps: i128,
    /// How long after that its packet may leave at the earliest.
    pub(super) hold_ps: u64,
    pub(super) place: Place,
}

/// A packet of a capture file.
pub(super) struct Captured<'w> {
    pub(super) time_ps: i128,
    pub(super) data: &'w [u8],
    pub(super) original: u32,
    pub(super) link: Link,
    pub(super) number: u64,
    pub(super) offset: u64,
}

/// What a reader of captures found and could not take as it stands.
#[derive(Default)]
pub(super) struct Faults {
    /// Packets that were left out, and what is wrong with the first of them.
    pub(super) skipped: u64,
    first: Option<FileError>,
    /// Packets whose record contradicts itself.
    pub(super) odd: u64,
    /// What is wrong with a last packet that is not whole.
    pub(super) end: Option<FileError>,
}

impl Faults {
    /// Leaves out a packet.
    #[cold]
    pub(super) fn skip(&mut self, error: FileError) {
        self.skipped += 1;
        self.first.get_or_insert(error);
    }

    /// What is wrong with the first packet that was left out.
    pub(super) fn first(&self) -> Option<&FileError> {
        self.first.as_ref().or(self.end.as_ref())
    }

    /// What was left out, and why.
    pub(super) fn text(&self) -> Option<String> {
        let skipped = self.first.as_ref().map(|error| match self.skipped {
            1 => format!("{}; it was left out", error.inside()),
            more => format!("{more} packets were left out, of which the first: {}", error.inside()),
        });
        let end = self.end.as_ref().map(|error| format!("{}; it was left out", error.inside()));
        let both: Vec<String> = skipped.into_iter().chain(end).collect();
        (!both.is_empty()).then(|| both.join("; "))
    }
}
