//! Strict-priority queues, each first-in first-out: what real devices have.

use crate::store::Ring;
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
    /// All that came and all that went.
    room: Room,
}

#[derive(Debug)]
struct Queue {
    ring: Ring<Packet>,
    room: Room,
}

/// Queues are allocated up front up to this many packets; larger ones grow once.
const PREALLOCATED_PACKETS: usize = 1024;

impl PriorityQueues {
    /// Empty queues with these capacities, highest priority first.
    pub fn new(capacities: &[Capacity]) -> Self {
        let queue = |capacity: &Capacity| {
            let packets = match capacity {
                Capacity::Packets(packets) => (*packets as usize).min(PREALLOCATED_PACKETS),
                Capacity::Bytes(_) | Capacity::Unlimited => 0,
            };
            Queue { ring: Ring::with_capacity(packets), room: Room::new(*capacity) }
        };
        Self {
            queues: capacities.iter().map(queue).collect(),
            occupied: 0,
            beyond: alloc::vec![0; capacities.len().saturating_sub(1) / 64],
            room: Room::new(Capacity::Unlimited),
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
        &self.queues[queue].room
    }

    /// Stores a packet in `queue` if it fits; otherwise gives it back.
    ///
    /// # Errors
    /// The packet, if the queue has no room for it.
    #[inline]
    pub fn push(&mut self, queue: usize, packet: Packet) -> Result<(), Packet> {
        let Queue { ring, room } = &mut self.queues[queue];
        if !room.fits(packet.size) {
            return Err(packet);
        }
        room.take(packet.size);
        self.room.take(packet.size);
        ring.push(packet);
        // Without asking whether the bit is set already: no branch could foresee it.
        if queue < 64 {
            self.occupied |= 1 << queue;
        } else {
            self.beyond[queue / 64 - 1] |= 1 << (queue % 64);
        }
        Ok(())
    }

    /// Takes the oldest packet of the highest-priority queue that holds one, and says which queue that was.
    #[inline]
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
    #[inline]
    pub fn pop_from(&mut self, queue: usize) -> Option<Packet> {
        let Queue { ring, room } = &mut self.queues[queue];
        // The size is read in place: read from the packet, it would cut the move into pieces that overlap and stall.
        let size = ring.front()?.size;
        let packet = ring.pop();
        room.release(size);
        self.room.release(size);
        let emptied = u64::from(ring.is_empty()) << (queue % 64);
        if queue < 64 {
            self.occupied &= !emptied;
        } else {
            self.beyond[queue / 64 - 1] &= !emptied;
        }
        packet
    }

    /// Packets held in all queues.
    #[inline]
    pub fn len(&self) -> usize {
        self.room.packets()
    }

    /// Whether no queue holds a packet.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.room.packets() == 0
    }

    /// Bytes held in all queues.
    #[inline]
    pub fn bytes(&self) -> Bytes {
        self.room.bytes()
    }

    /// The sum of the capacities, in their unit.
    pub fn capacity(&self) -> Capacity {
        let total = self.queues.iter().map(|queue| queue.room.total()).fold(0u64, u64::saturating_add);
        match self.queues.first().map(|queue| queue.room.capacity()) {
            Some(Capacity::Packets(_)) => Capacity::Packets(u32::try_from(total).unwrap_or(u32::MAX)),
            Some(Capacity::Bytes(_)) => Capacity::Bytes(total),
            Some(Capacity::Unlimited) | None => Capacity::Unlimited,
        }
    }
}
