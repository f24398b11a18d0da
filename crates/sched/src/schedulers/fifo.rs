//! First in, first out, with tail drop: the queue that every device has, and the baseline of all five papers.
//!
//! Paper: none; AIFO Fig. 2 and PACKS Fig. 2 show what it does to ranked traffic.
//!
//! Parameters: capacity in packets or bytes.
//!
//! Cost: O(1) per operation; a switch needs no state beyond the queue.
//!
//! Departure from PIFO: it ignores ranks, both in order and in drops.

use crate::params::{self, Args, FromArgs, Info, ParamError};
use crate::store::Queue;
use crate::{Capacity, Dequeued, DropReason, Enqueued, Packet, Scheduler};
use pifolab_units::{Bytes, Rank, Time};

/// What a [`Fifo`] is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoParams {
    /// The most that it holds.
    pub capacity: Capacity,
}

/// A first-in first-out queue with tail drop.
#[derive(Debug)]
pub struct Fifo {
    queue: Queue,
}

impl Fifo {
    /// An empty queue.
    ///
    /// # Errors
    /// A capacity without room.
    pub fn new(params: FifoParams) -> Result<Self, ParamError> {
        params::check_capacity(Self::INFO.name, params.capacity)?;
        Ok(Self { queue: Queue::new(params.capacity) })
    }
}

impl Scheduler for Fifo {
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, _now: Time) -> Enqueued {
        let rank = packet.rank;
        match self.queue.push(packet) {
            Ok(()) => Enqueued::Admitted { queue: 0, rank },
            Err(packet) => Enqueued::Dropped { packet, reason: DropReason::Full },
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, _now: Time) -> Dequeued {
        match self.queue.pop() {
            Some(packet) => Dequeued::Packet { packet, queue: 0 },
            None => Dequeued::Empty,
        }
    }

    fn decides_on_arrival(&self) -> bool {
        true
    }

    fn admit(&mut self, size: u32, _rank: Rank) -> Result<u32, DropReason> {
        if self.queue.book_if(true, size) { Ok(0) } else { Err(DropReason::Full) }
    }

    fn release(&mut self, _queue: u32, size: u32) {
        self.queue.release(size);
    }

    #[inline]
    fn pass(&mut self, size: u32, _rank: Rank) -> bool {
        self.queue.room().fits(size)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn backlog(&self) -> Bytes {
        self.queue.bytes()
    }

    fn capacity(&self) -> Capacity {
        self.queue.capacity()
    }
}

impl FromArgs for Fifo {
    const INFO: Info = Info {
        name: "fifo",
        summary: "First in, first out, with tail drop; ranks are ignored.",
        paper: "the baseline of all five papers (AIFO Fig. 2, PACKS Fig. 2)",
        departure: "Order and drops ignore ranks altogether.",
        state: "none beyond the queue",
        cost: "O(1) per operation",
        params: &[params::CAPACITY_PACKETS, params::CAPACITY_BYTES],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Self::new(FifoParams { capacity: params::read_capacity(args)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_units::Rank;

    fn packet(id: u64, size: u32) -> Packet {
        Packet { id, flow: 0, size, rank: Rank::ZERO, arrival: Time::ZERO }
    }

    #[test]
    fn drops_the_arrival_when_full_and_leaves_in_arrival_order() {
        let mut fifo = Fifo::new(FifoParams { capacity: Capacity::Packets(1) }).unwrap();
        assert!(fifo.enqueue(packet(1, 100), Time::ZERO).is_admitted());
        assert_eq!(
            fifo.enqueue(packet(2, 100), Time::ZERO),
            Enqueued::Dropped { packet: packet(2, 100), reason: DropReason::Full }
        );
        assert_eq!(fifo.dequeue(Time::ZERO), Dequeued::Packet { packet: packet(1, 100), queue: 0 });
        assert_eq!(fifo.dequeue(Time::ZERO), Dequeued::Empty);
    }

    #[test]
    fn byte_capacity_admits_a_packet_that_fits_exactly() {
        let mut fifo = Fifo::new(FifoParams { capacity: Capacity::Bytes(250) }).unwrap();
        assert!(fifo.enqueue(packet(1, 100), Time::ZERO).is_admitted());
        assert!(!fifo.enqueue(packet(2, 151), Time::ZERO).is_admitted());
        assert!(fifo.enqueue(packet(3, 150), Time::ZERO).is_admitted());
        assert_eq!(fifo.backlog(), Bytes(250));
    }
}
