//! First in, first out, with tail drop: the queue of every device, and the baseline of all five papers.
//!
//! Paper: none; AIFO Fig. 2 and PACKS Fig. 2 show what it does to ranked traffic.
//!
//! Parameters: capacity in packets or bytes.
//!
//! Cost: O(1) per operation; a switch needs no state beyond the queue.
//!
//! Deviation from PIFO: it ignores ranks, both in order and in drops.

use crate::params::{self, Args, FromArgs, Info, ParamError};
use crate::{Arriving, Capacity, Decider, DropReason, FromParams, Room, registers};
use alloc::vec::Vec;

/// The parameters of [`Fifo`](super::Fifo).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FifoParams {
    /// The most that it holds.
    pub capacity: Capacity,
}

/// One queue for all packets.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Fifo;

registers!(Fifo {});

impl FromParams for Fifo {
    type Params = FifoParams;

    fn from_params(params: FifoParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        params::check_capacity(FifoParams::INFO.name, params.capacity)?;
        Ok((Self, alloc::vec![params.capacity]))
    }
}

impl Decider for Fifo {
    #[inline(always)]
    fn decide(&mut self, _packet: Arriving, _queues: &[Room]) -> Result<usize, DropReason> {
        Ok(0)
    }

    #[inline(always)]
    fn is_fifo(&self) -> bool {
        true
    }
}

impl FromArgs for FifoParams {
    const INFO: Info = Info {
        name: "fifo",
        summary: "First in, first out, with tail drop; ranks are ignored.",
        paper: "the baseline of all five papers (AIFO Fig. 2, PACKS Fig. 2)",
        effect: "Order and drops ignore ranks altogether.",
        state: "none beyond the queue",
        cost: "O(1) per operation",
        params: &[params::CAPACITY_PACKETS, params::CAPACITY_BYTES],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self { capacity: params::read_capacity(args)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InspectExt;
    use crate::schedulers::Fifo;
    use crate::{Dequeued, Enqueued, Packet, Scheduler};
    use pifolab_units::{Bytes, Rank, Time};

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
