//! What a forecast of a tree's releases works in.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use pifolab_units::Time;

/// Room to work in, kept so that nothing is allocated for a packet.
#[derive(Debug, Default)]
pub(super) struct Forecast {
    /// When each child has an index in the node above, by its place there.
    pub(super) links: Vec<Time>,
    /// When each inner node is reached from the root.
    pub(super) nodes: Vec<Time>,
    pub(super) releases: BinaryHeap<Reverse<Release>>,
    /// Whether the first index that comes to a shaper is among them, or was.
    pub(super) followed: Vec<bool>,
}

/// The first index that comes out of a shaper. In the order of release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Release {
    pub(super) time: Time,
    pub(super) arrival: u64,
    pub(super) shaper: u32,
    pub(super) size: u32,
}
