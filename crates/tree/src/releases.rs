//! The working memory of a forecast of a tree's releases.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use pifolab_units::Time;

/// The vectors of a forecast, reused so that no packet allocates.
#[derive(Debug, Default)]
pub(super) struct Forecast {
    /// The time at which each child has an index in the node above, by the child's place there.
    pub(super) links: Vec<Time>,
    /// The time at which each inner node is reached from the root.
    pub(super) nodes: Vec<Time>,
    pub(super) releases: BinaryHeap<Reverse<Release>>,
    /// Whether the first index that arrives at each shaper is in `releases`, or was.
    pub(super) followed: Vec<bool>,
}

/// The first index that leaves a shaper, ordered by release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Release {
    pub(super) time: Time,
    pub(super) arrival: u64,
    pub(super) shaper: u32,
    pub(super) size: u32,
}
