//! What the network keeps of its packets.

use crate::network::routing::Route;
use pifolab_sched::Packet;
use pifolab_transport::Segment;
use pifolab_units::{Rank, Span, Time};
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

/// What a port keeps of a packet that waits, if an observer or a rank function is told of it.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    arrival: Time,
    /// The rank that it has at this port.
    rank: Rank,
    queue: u32,
}

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
    /// By the same numbers, up to the largest that waited where somebody was told of it.
    waiting: Vec<Waiting>,
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

    /// A packet as observers, rank functions and schedulers of whole packets get it, with the rank that it carries.
    #[inline]
    pub(super) fn descriptor(&self, number: u32, now: Time) -> Packet {
        let InFlight { segment, flow, size, .. } = self.slots[number as usize];
        Packet { id: u64::from(number), flow, size, rank: segment.rank, arrival: now }
    }

    /// Keeps what a packet that begins to wait has at its port.
    #[inline]
    pub(super) fn keep(&mut self, packet: &Packet, queue: u32) {
        let number = packet.id as usize;
        if number >= self.waiting.len() {
            self.waiting.resize(number + 1, Waiting::default());
        }
        self.waiting[number] = Waiting { arrival: packet.arrival, rank: packet.rank, queue };
    }

    /// A packet that was [kept](Self::keep), and its queue.
    #[inline]
    pub(super) fn kept(&self, number: u32) -> (Packet, u32) {
        let Waiting { arrival, rank, queue } = self.waiting[number as usize];
        (Packet { rank, ..self.descriptor(number, arrival) }, queue)
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
