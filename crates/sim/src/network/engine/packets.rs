//! What the network keeps of its packets.

use crate::network::routing::Route;
use pifolab_transport::Segment;
use pifolab_units::Span;
use std::ops::{Index, IndexMut};

/// A packet in the network. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct InFlight {
    pub(super) segment: Segment,
    pub(super) flow: u32,
    /// Where its connection is, if that still belongs to `flow`.
    pub(super) slot: u32,
    pub(super) route: Route,
    pub(super) dst: u32,
    /// Bytes on the wire.
    pub(super) size: u32,
    /// How long it has waited in queues so far; gathered only at ports that want hints.
    pub(super) waited: Span,
}

const _: () = assert!(size_of::<InFlight>() == 64);

/// What all packets of a connection in one direction have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trip {
    pub(super) flow: u32,
    pub(super) slot: u32,
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) route: Route,
}

/// The packets in the network, by number. A number is used again once its packet is gone.
#[derive(Debug, Default)]
pub(super) struct Packets {
    slots: Vec<InFlight>,
    free: Vec<u32>,
}

impl Packets {
    /// Takes a packet in and gives it a number.
    #[inline]
    pub(super) fn insert(&mut self, packet: InFlight) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.slots[number as usize] = packet;
                number
            }
            None => {
                self.slots.push(packet);
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Gives a number back. Returns the packet that it named, of which callers copy what they need.
    #[inline]
    pub(super) fn remove(&mut self, number: u32) -> &InFlight {
        self.free.push(number);
        &self.slots[number as usize]
    }

    /// How many there are now.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The most that there ever were at once.
    pub(super) fn most(&self) -> usize {
        self.slots.len()
    }

    /// Where a packet lies, to be asked for ahead of its use.
    #[inline(always)]
    pub(super) fn address(&self, number: u32) -> *const InFlight {
        self.slots.as_ptr().wrapping_add(number as usize)
    }
}

impl Index<u32> for Packets {
    type Output = InFlight;

    #[inline(always)]
    fn index(&self, number: u32) -> &InFlight {
        &self.slots[number as usize]
    }
}

impl IndexMut<u32> for Packets {
    #[inline(always)]
    fn index_mut(&mut self, number: u32) -> &mut InFlight {
        &mut self.slots[number as usize]
    }
}
