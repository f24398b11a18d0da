//! What became of a packet: the results of [`Scheduler::enqueue`](crate::Scheduler::enqueue) and
//! [`dequeue`](crate::Scheduler::dequeue).

use crate::Packet;
use crate::params::choices;
use alloc::vec::Vec;
use core::fmt;
use pifolab_units::{Rank, Time};

/// What became of an arriving packet, and of the residents that it pushed out.
#[must_use = "the outcome says where the packet is; a refused packet comes back inside it"]
#[derive(Debug, PartialEq, Eq)]
pub enum Enqueued<T = Packet> {
    /// Stored.
    Admitted {
        /// The queue that holds it; 0 has the highest priority.
        queue: u32,
        /// The rank with which it was stored.
        rank: Rank,
    },
    /// Stored, and residents were pushed out to make room.
    Evicted {
        /// The queue that holds the arriving packet.
        queue: u32,
        /// The rank with which it was stored.
        rank: Rank,
        /// The packets that were pushed out.
        victims: Victims<T>,
    },
    /// Refused: the packet comes back.
    Dropped {
        /// The refused packet.
        packet: T,
        /// Why.
        reason: DropReason,
    },
}

impl<T> Enqueued<T> {
    /// Whether the packet was stored (with or without victims).
    pub fn is_admitted(&self) -> bool {
        !matches!(self, Self::Dropped { .. })
    }
}

choices! {
    /// Why a packet was refused or pushed out.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum DropReason {
        Admission = "admission": "The rank (or round) test refused it although there may have been room.",
        Full = "full": "The test passed, or there is none, but there was no room.",
        PushedOut = "pushed-out": "A resident that a better-ranked arrival pushed out.",
        RankOutOfRange = "rank-out-of-range": "Its rank lies outside the rank space that this scheduler was built for.",
        Aqm = "aqm": "Queue management refused it on arrival, or dropped it where it would have left.",
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The residents that one arrival pushed out, in the order in which they left: one for a capacity in packets, perhaps
/// several for a capacity in bytes. The common single victim needs no allocation.
#[derive(Debug, PartialEq, Eq)]
pub struct Victims<T = Packet> {
    first: T,
    rest: Vec<T>,
}

impl<T> Victims<T> {
    /// A single victim.
    pub const fn one(packet: T) -> Self {
        Self { first: packet, rest: Vec::new() }
    }

    /// Adds a victim that left after the ones so far.
    pub fn push(&mut self, packet: T) {
        self.rest.push(packet);
    }

    /// The victims by reference, first to leave first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        core::iter::once(&self.first).chain(&self.rest)
    }

    /// As [`iter`](Self::iter), mutable.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        core::iter::once(&mut self.first).chain(&mut self.rest)
    }

    /// The number of victims, at least one.
    #[expect(clippy::len_without_is_empty, reason = "there is always a first victim")]
    pub fn len(&self) -> usize {
        1 + self.rest.len()
    }
}

impl<T> IntoIterator for Victims<T> {
    type Item = T;
    type IntoIter = core::iter::Chain<core::iter::Once<T>, alloc::vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        core::iter::once(self.first).chain(self.rest)
    }
}

/// What a scheduler returns when the link is ready for a packet.
#[must_use = "the packet is inside"]
#[derive(Debug, PartialEq, Eq)]
pub enum Dequeued<T = Packet> {
    /// The next packet to send.
    Packet {
        /// The packet.
        packet: T,
        /// The queue that held it; 0 has the highest priority.
        queue: u32,
    },
    /// A packet that the scheduler drops at dequeue; call `dequeue` again.
    Dropped {
        /// The packet.
        packet: T,
        /// Why.
        reason: DropReason,
    },
    /// Packets wait, but none may leave before this time.
    NotBefore(Time),
    /// No packet waits.
    Empty,
}
