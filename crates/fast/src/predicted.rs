//! Deciders whose refusals a processor can predict, so that a branch costs less than a branchless store.

use crate::{Twin, as_the_decider, in_parts, remembers_as};
use core::marker::PhantomData;
use pifolab_sched::place::Place;
use pifolab_sched::store::{PriorityQueues, Queues};
use pifolab_sched::{Arriving, Decider, DropReason, FromParams, Packet, Room};

/// The decider `D` with a branch on its decisions; its packets wait in `Q`.
#[derive(Debug)]
pub struct Predicted<D, Q = PriorityQueues> {
    decider: D,
    queues: PhantomData<fn() -> Q>,
}

impl<D: FromParams + Send + 'static, Q: Queues<Packet> + Send + 'static> Twin for Predicted<D, Q> {
    type Of = D;
    type Queues = Q;

    fn of(params: &D::Params) -> Option<Self> {
        Some(Self { decider: D::from_params(params.clone()).ok()?.0, queues: PhantomData })
    }

    in_parts!();
}

remembers_as!(<D, Q> Predicted.decider);

impl<D: Decider, Q> Decider for Predicted<D, Q> {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        self.decider.decide(packet, queues)
    }

    #[inline(always)]
    fn place(&mut self, packet: Arriving, queues: &[Room]) -> Place {
        match self.decider.decide(packet, queues) {
            Ok(queue) if queues[queue].fits(packet.size) => Place::queue_with_room(queue),
            Ok(_) => Place::refuse(DropReason::Full),
            Err(reason) => Place::refuse(reason),
        }
    }

    #[inline(always)]
    fn is_fifo(&self) -> bool {
        self.decider.is_fifo()
    }

    #[inline(always)]
    fn serve(&mut self, first: usize, queues: &[Room]) -> usize {
        self.decider.serve(first, queues)
    }

    fn adopt(&mut self, packet: Arriving, queue: usize, queues: &[Room]) -> Result<usize, DropReason> {
        self.decider.adopt(packet, queue, queues)
    }

    as_the_decider!(decider);
}
