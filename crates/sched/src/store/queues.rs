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
    /// The smallest capacity in bytes; the largest integer if none is in bytes.
    smallest_bytes: u64,
}

impl PriorityQueues {
    /// Empty queues with these capacities, highest priority first.
    pub fn new(capacities: &[Capacity]) -> Self {
        Self {
            queues: capacities.iter().map(|capacity| Queue::new(*capacity)).collect(),
            occupied: 0,
            beyond: alloc::vec![0; capacities.len().saturating_sub(1) / 64],
            smallest_bytes: capacities.iter().map(|capacity| bytes_of(*capacity)).min().unwrap_or(u64::MAX),
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

    /// Whether a packet of `size` bytes fits in each queue while all are empty.
    #[inline]
    pub fn fit_when_empty(&self, size: u32) -> bool {
        u64::from(size) <= self.smallest_bytes
    }

    /// The accounts of all queues, highest priority first.
    #[inline(always)]
    pub fn rooms(&self) -> impl ExactSizeIterator<Item = &Room> {
        self.queues.iter().map(Queue::room)
    }

    /// Stores a packet in `queue` if it fits; otherwise gives it back. No branch depends on the answer.
    ///
    /// # Errors
    /// The packet, if the queue has no room for it.
    #[inline(always)]
    pub fn push(&mut self, queue: usize, packet: Packet) -> Result<(), Packet> {
        // Which queue it is no branch could foresee, hence not whether that one has room, nor whether its bit is set.
        let stored = self.queues[queue].store_if(true, &packet);
        self.occupy_if(stored, queue);
        if stored { Ok(()) } else { Err(packet) }
    }

    /// Counts a packet that the caller keeps in `queue`, if it fits there, and says whether it did.
    #[inline(always)]
    pub fn book(&mut self, queue: usize, size: u32) -> bool {
        let booked = self.queues[queue].book_if(true, size);
        self.occupy_if(booked, queue);
        booked
    }

    /// Counts a packet out of `queue` that was booked.
    #[inline(always)]
    pub fn release(&mut self, queue: usize, size: u32) {
        self.queues[queue].release(size);
        self.vacate_if_empty(queue);
    }

    #[inline(always)]
    fn occupy_if(&mut self, stored: bool, queue: usize) {
        let bit = u64::from(stored) << (queue % 64);
        if queue < 64 {
            self.occupied |= bit;
        } else {
            self.beyond[queue / 64 - 1] |= bit;
        }
    }

    #[inline(always)]
    fn vacate_if_empty(&mut self, queue: usize) {
        let emptied = u64::from(self.queues[queue].is_empty()) << (queue % 64);
        if queue < 64 {
            self.occupied &= !emptied;
        } else {
            self.beyond[queue / 64 - 1] &= !emptied;
        }
    }

    /// Takes the oldest packet of the highest-priority queue that holds one, and says which queue that was.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(Packet, usize)> {
        let queue = self.first()?;
        self.pop_from(queue).map(|packet| (packet, queue))
    }

    /// The highest-priority queue that holds a packet.
    #[inline(always)]
    pub fn first(&self) -> Option<usize> {
        if self.occupied != 0 { Some(self.occupied.trailing_zeros() as usize) } else { self.first_beyond() }
    }

    /// The first queue that holds a packet, while the first 64 hold none.
    #[cold]
    #[inline(never)]
    fn first_beyond(&self) -> Option<usize> {
        let (word, bits) = self.beyond.iter().enumerate().find(|(_, bits)| **bits != 0)?;
        Some((word + 1) * 64 + bits.trailing_zeros() as usize)
    }

    /// Takes the oldest packet of `queue`.
    #[inline(always)]
    pub fn pop_from(&mut self, queue: usize) -> Option<Packet> {
        let packet = self.queues[queue].pop()?;
        self.vacate_if_empty(queue);
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

/// A capacity in bytes; the largest integer where bytes do not count.
const fn bytes_of(capacity: Capacity) -> u64 {
    match capacity {
        Capacity::Bytes(bytes) => bytes,
        Capacity::Packets(_) | Capacity::Unlimited => u64::MAX,
    }
}
