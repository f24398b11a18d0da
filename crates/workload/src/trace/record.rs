//! What the readers of files hand over.

use super::dissect::Link;
use crate::Place;

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
