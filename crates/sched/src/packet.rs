//! The descriptor that schedulers move around.

use pifolab_units::{Rank, Time};

/// A packet as a scheduler sees it: a move-only descriptor of 32 bytes, not a buffer.
///
/// It is neither `Clone` nor `Copy`: a packet is owned by one place at a time.
#[derive(Debug, PartialEq, Eq)]
pub struct Packet {
    /// Names the packet; unique among those that a scheduler holds. Side tables (deadlines, delays) use it as a key.
    pub id: u64,
    /// The flow it belongs to: a dense index from 0, since per-flow state is held in arrays.
    pub flow: u32,
    /// Its size in bytes, as it occupies buffers and links.
    pub size: u32,
    /// Its rank. [`Ranked`](crate::Ranked) overwrites it.
    pub rank: Rank,
    /// When it arrived at this queue (set by whoever enqueues it).
    pub arrival: Time,
}

const _: () = assert!(size_of::<Packet>() == 32);
