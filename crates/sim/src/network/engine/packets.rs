//! The packets in the network.

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
    /// The slot of its connection, valid if that still belongs to `flow`.
    pub(super) slot: u32,
    pub(super) route: Route,
    pub(super) dst: u32,
    /// Bytes on the wire.
    pub(super) size: u32,
    /// Its total wait in queues so far; updated only at ports that read hints.
    pub(super) waited: Span,
}

const _: () = assert!(size_of::<InFlight>() == 64);

/// The data of a waiting packet that observers and rank functions read.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    arrival: Time,
    /// Its rank at this port.
    rank: Rank,
    queue: u32,
}

/// The common data of all packets of a connection in one direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trip {
    pub(super) flow: u32,
    pub(super) slot: u32,
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) route: Route,
}

/// The packets in the network, by number. The number of a packet is reused once the packet has left.
#[derive(Debug, Default)]
pub(super) struct Packets {
    slots: Vec<InFlight>,
    free: Vec<u32>,
    /// By the same numbers, up to the largest one kept so far.
    waiting: Vec<Waiting>,
    /// Labels by the same numbers, up to the largest one that was labelled; empty in most runs.
    labels: Vec<u64>,
}

impl Packets {
    /// Adds a packet and returns its number.
    #[inline]
    pub(super) fn insert(&mut self, packet: InFlight) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.slots[number as usize] = packet;
                if let Some(label) = self.labels.get_mut(number as usize) {
                    *label = 0;
                }
                number
            }
            None => {
                self.slots.push(packet);
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Frees a number. Returns a reference to its packet, from which callers copy what they need.
    #[inline]
    pub(super) fn remove(&mut self, number: u32) -> &InFlight {
        self.free.push(number);
        &self.slots[number as usize]
    }

    /// The label that a packet carries.
    pub(super) fn label(&self, number: u32) -> u64 {
        self.labels.get(number as usize).copied().unwrap_or_default()
    }

    /// Writes the label of a packet.
    pub(super) fn set_label(&mut self, number: u32, label: u64) {
        let number = number as usize;
        if number >= self.labels.len() {
            self.labels.resize(number + 1, 0);
        }
        self.labels[number] = label;
    }

    /// The descriptor of a packet for observers, rank functions and schedulers of whole packets, with the rank that it
    /// carries.
    #[inline]
    pub(super) fn descriptor(&self, number: u32, now: Time) -> Packet {
        let InFlight { segment, flow, size, .. } = self.slots[number as usize];
        Packet { id: u64::from(number), flow, size, rank: segment.rank, arrival: now }
    }

    /// Stores the descriptor of a packet that begins to wait, and its queue.
    #[inline]
    pub(super) fn keep(&mut self, packet: &Packet, queue: u32) {
        let number = packet.id as usize;
        if number >= self.waiting.len() {
            self.waiting.resize(number + 1, Waiting::default());
        }
        self.waiting[number] = Waiting { arrival: packet.arrival, rank: packet.rank, queue };
    }

    /// The descriptor that [`keep`](Self::keep) stored, and the queue.
    #[inline]
    pub(super) fn kept(&self, number: u32) -> (Packet, u32) {
        let Waiting { arrival, rank, queue } = self.waiting[number as usize];
        (Packet { rank, ..self.descriptor(number, arrival) }, queue)
    }

    /// The present number of packets.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The largest number of packets so far.
    pub(super) fn most(&self) -> usize {
        self.slots.len()
    }

    /// A packet, or the last that had its number; `None` if there was none.
    #[inline(always)]
    pub(super) fn get(&self, number: u32) -> Option<&InFlight> {
        self.slots.get(number as usize)
    }

    /// The address of a packet, for prefetching.
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
