//! Strict-priority queues, each first-in first-out: what real devices have.

use crate::store::Queue;
use crate::{Capacity, Packet, Room};
use alloc::vec::Vec;
use pifolab_units::Bytes;

/// Strict-priority queues of packets, each with a capacity of its own. Queue 0 is served first.
///
/// `push` and `pop` are O(1) for up to 64 queues (a bit mask tells which hold packets), O(queues / 64) beyond.
#[derive(Debug)]
pub struct PriorityQueues {
    queues: Vec<Queue>,
    /// Which of the first 64 queues hold packets.
    occupied: u64,
    /// The same for the others, 64 in a word.
    beyond: Vec<u64>,
}

impl PriorityQueues {
    /// Empty queues with these capacities, highest priority first.
    pub fn new(capacities: &[Capacity]) -> Self {
        Self {
            queues: capacities.iter().map(|capacity| Queue::new(*capacity)).collect(),
            occupied: 0,
            beyond: alloc::vec![0; capacities.len().saturating_sub(1) / 64],
        }
    }

    /// How many queues there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.queues.len()
    }

    /// The account of `queue`.
    #[inline]
    pub fn room(&self, queue: usize) -> &Room {
        self.queues[queue].room()
    }

    /// The accounts of all queues, highest priority first.
    #[inline(always)]
    pub fn rooms(&self) -> impl Iterator<Item = &Room> {
        self.queues.iter().map(Queue::room)
    }

    /// Stores a packet in `queue` if it fits; otherwise gives it back.
    ///
    /// # Errors
    /// The packet, if the queue has no room for it.
    #[inline(always)]
    pub fn push(&mut self, queue: usize, packet: Packet) -> Result<(), Packet> {
        self.push_if(true, queue, packet)
    }

    /// Stores a packet in `queue` if it is `wanted` and fits; otherwise gives it back. No branch depends on the answer.
    ///
    /// # Errors
    /// The packet, if it is not wanted or the queue has no room for it.
    #[inline(always)]
    pub fn push_if(&mut self, wanted: bool, queue: usize, packet: Packet) -> Result<(), Packet> {
        // Which queue it is no branch could foresee, hence not whether that one has room, nor whether its bit is set.
        let stored = self.queues[queue].store_if(wanted, &packet);
        let bit = u64::from(stored) << (queue % 64);
        if queue < 64 {
            self.occupied |= bit;
        } else {
            self.beyond[queue / 64 - 1] |= bit;
        }
        if stored { Ok(()) } else { Err(packet) }
    }

    /// Takes the oldest packet of the highest-priority queue that holds one, and says which queue that was.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Packet, usize)> {
        let queue = if self.occupied != 0 {
            self.occupied.trailing_zeros() as usize
        } else {
            let (word, bits) = self.beyond.iter().enumerate().find(|(_, bits)| **bits != 0)?;
            (word + 1) * 64 + bits.trailing_zeros() as usize
        };
        self.pop_from(queue).map(|packet| (packet, queue))
    }

    /// Takes the oldest packet of `queue`.
    #[inline(always)]
    pub fn pop_from(&mut self, queue: usize) -> Option<Packet> {
        let held = &mut self.queues[queue];
        let packet = held.pop()?;
        let emptied = u64::from(held.is_empty()) << (queue % 64);
        if queue < 64 {
            self.occupied &= !emptied;
        } else {
            self.beyond[queue / 64 - 1] &= !emptied;
        }
        Some(packet)
    }

    /// Packets held in all queues. O(queues): each keeps its own account only.
    pub fn len(&self) -> usize {
        self.queues.iter().map(Queue::len).sum()
    }

    /// Whether no queue holds a packet.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.occupied == 0 && self.beyond.iter().all(|bits| *bits == 0)
    }

    /// Bytes held in all queues. O(queues).
    pub fn bytes(&self) -> Bytes {
        Bytes(self.queues.iter().map(|queue| queue.bytes().0).sum())
    }

    /// The sum of the capacities, in their unit.
    pub fn capacity(&self) -> Capacity {
        let total = self.queues.iter().map(|queue| queue.room().total()).fold(0u64, u64::saturating_add);
        match self.queues.first().map(|queue| queue.capacity()) {
            Some(Capacity::Packets(_)) => Capacity::Packets(u32::try_from(total).unwrap_or(u32::MAX)),
            Some(Capacity::Bytes(_)) => Capacity::Bytes(total),
            Some(Capacity::Unlimited) | None => Capacity::Unlimited,
        }
    }
}
