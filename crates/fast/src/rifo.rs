//! RIFO's twin: stores a packet that passes the test without a branch.

use crate::{Twin, as_the_decider, in_parts, remembers_as};
use pifolab_sched::place::Place;
use pifolab_sched::schedulers::{RifoParams, deciders};
use pifolab_sched::store::Queue;
use pifolab_sched::{Arriving, Decider, DropReason, FromParams, Room};

/// The twin of RIFO, for all parameters.
#[derive(Debug)]
pub struct Rifo(deciders::Rifo);

impl Twin for Rifo {
    type Of = deciders::Rifo;
    type Queues = Queue;

    fn of(params: &RifoParams) -> Option<Self> {
        Some(Self(deciders::Rifo::from_params(*params).ok()?.0))
    }

    in_parts!();
}

remembers_as!(Rifo.0);

impl Decider for Rifo {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        self.place(packet, queues).get()
    }

    #[inline(always)]
    fn place(&mut self, packet: Arriving, queues: &[Room]) -> Place {
        Place::queue_if(self.0.passes(packet.rank, &queues[0]), 0, DropReason::Admission)
    }

    as_the_decider!(0);
}
