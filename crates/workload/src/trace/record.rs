//! The data that the readers of trace files return.

use super::dissect::Link;
use crate::{FileError, Place};

/// The time of a record, and its place in the file.
#[derive(Clone, Debug)]
pub(super) struct At {
    pub(super) time_ps: i128,
    /// The shortest time from the arrival to the packet's departure.
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

/// The faults that a reader of captures found.
#[derive(Default)]
pub(super) struct Faults {
    /// The number of packets left out, and the fault of the first one.
    pub(super) skipped: u64,
    first: Option<FileError>,
    /// Packets with an inconsistent record.
    pub(super) odd: u64,
    /// The fault of an incomplete last packet.
    pub(super) end: Option<FileError>,
    /// Whether that is the end of gzip data between two packets, so that no packet is left out.
    pub(super) is_between: bool,
}

impl Faults {
    /// Leaves out a packet.
    #[cold]
    pub(super) fn skip(&mut self, error: FileError) {
        self.skipped += 1;
        self.first.get_or_insert(error);
    }

    /// The fault of the first packet left out.
    pub(super) fn first(&self) -> Option<&FileError> {
        self.first.as_ref().or(self.end.as_ref())
    }

    /// A description of the packets left out and the reasons.
    pub(super) fn text(&self) -> Option<String> {
        let skipped = self.first.as_ref().map(|error| match self.skipped {
            1 => format!("{}; it was left out", error.inside()),
            more => format!("{more} packets were left out, of which the first: {}", error.inside()),
        });
        let end = self.end.as_ref().map(|error| {
            let after = if self.is_between { "the packets before it were read" } else { "it was left out" };
            format!("{}; {after}", error.inside())
        });
        let both: Vec<String> = skipped.into_iter().chain(end).collect();
        (!both.is_empty()).then(|| both.join("; "))
    }
}
