//! Queues of packets that callers pass in bursts: the C library's.

use crate::store::PriorityQueues;
use crate::{Arriving, Decider, DropReason, Inspect, Item, Queued};
use core::mem::MaybeUninit;
use pifolab_units::Rank;

/// A packet that stays with the caller, as the C library passes it: 24 bytes, with the layout of C.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstPacket {
    /// The caller's id.
    pub id: u64,
    /// The value of its rank, at most [`Rank::MAX`].
    pub rank: u64,
    /// Its flow.
    pub flow: u32,
    /// Its size in bytes.
    pub size: u32,
}

impl Item for BurstPacket {
    #[inline(always)]
    fn size(&self) -> u32 {
        self.size
    }
    #[inline(always)]
    fn rank(&self) -> Rank {
        Rank::saturating(self.rank)
    }
    fn set_rank(&mut self, rank: Rank) {
        self.rank = rank.get();
    }
    #[inline(always)]
    fn flow(&self) -> u32 {
        self.flow
    }
    fn id(&self) -> u64 {
        self.id
    }
}

/// A decider joined to priority queues: one virtual call for each burst, into code compiled for that decider.
pub trait BurstQueues: Inspect {
    /// Offers packets in order. Writes the queue of each, or -1 if it is refused, to `queues`, as far as that has
    /// room. `refused` gets the refused packets and returns whether to go on. Returns the number of offered packets.
    fn offer_all(
        &mut self,
        packets: &[BurstPacket],
        queues: &mut [MaybeUninit<i32>],
        refused: &mut dyn FnMut(&BurstPacket, DropReason) -> bool,
    ) -> usize;

    /// Takes the next packets to send, until `packets` is full or none waits. Writes the queue of each to `queues`, as
    /// far as that has room. Returns the number of packets.
    fn pop_all(&mut self, packets: &mut [MaybeUninit<BurstPacket>], queues: &mut [MaybeUninit<i32>]) -> usize;
}

impl<D: Decider> BurstQueues for Queued<D, BurstPacket, PriorityQueues<BurstPacket>> {
    fn offer_all(
        &mut self,
        packets: &[BurstPacket],
        queues: &mut [MaybeUninit<i32>],
        refused: &mut dyn FnMut(&BurstPacket, DropReason) -> bool,
    ) -> usize {
        for (at, packet) in packets.iter().enumerate() {
            let outcome = self.offer(Arriving::of(packet), *packet);
            if let Some(place) = queues.get_mut(at) {
                place.write(outcome.as_ref().map_or(-1, |queue| *queue as i32));
            }
            if let Err((packet, reason)) = outcome
                && !refused(&packet, reason)
            {
                return at + 1;
            }
        }
        packets.len()
    }

    fn pop_all(&mut self, packets: &mut [MaybeUninit<BurstPacket>], queues: &mut [MaybeUninit<i32>]) -> usize {
        for (at, to) in packets.iter_mut().enumerate() {
            let Some((packet, queue)) = self.pop() else { return at };
            to.write(packet);
            if let Some(place) = queues.get_mut(at) {
                place.write(queue as i32);
            }
        }
        packets.len()
    }
}
