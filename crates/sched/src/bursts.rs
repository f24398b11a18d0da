//! Queues of packets that callers pass in bursts: the C library's.

use crate::store::PriorityQueues;
use crate::{Arriving, Decider, DropReason, Inspect, Item, Queued};
use core::mem::MaybeUninit;
use core::ops::Range;
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

/// Writes that these packets are in queue 0, as far as there is room.
fn first_queue(queues: &mut [MaybeUninit<i32>], packets: Range<usize>) {
    let places = queues.iter_mut().take(packets.end).skip(packets.start);
    places.for_each(|place| {
        place.write(0);
    });
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
        let mut at = 0;
        while at < packets.len() {
            if self.decider.is_fifo() {
                debug_assert_eq!(self.queues(), 1, "a FIFO has one queue");
                let stored = self.queues.push_run(&packets[at..]);
                first_queue(queues, at..at + stored);
                at += stored;
            }
            let Some(packet) = packets.get(at) else { break };
            let outcome = self.offer(Arriving::of(packet), *packet);
            if let Some(place) = queues.get_mut(at) {
                place.write(outcome.as_ref().map_or(-1, |queue| *queue as i32));
            }
            at += 1;
            if let Err((packet, reason)) = outcome
                && !refused(&packet, reason)
            {
                break;
            }
        }
        at
    }

    fn pop_all(&mut self, packets: &mut [MaybeUninit<BurstPacket>], queues: &mut [MaybeUninit<i32>]) -> usize {
        if self.decider.is_fifo() {
            debug_assert_eq!(self.queues(), 1, "a FIFO has one queue");
            let taken = self.queues.pop_run(packets);
            first_queue(queues, 0..taken);
            return taken;
        }
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
