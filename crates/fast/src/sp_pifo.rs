//! SP-PIFO's twin: compares bounds in vectors and lowers all of them at once.

use crate::bounds::Bounds;
use crate::{Twin, in_parts};
use pifolab_sched::place::Place;
use pifolab_sched::schedulers::{Clamp, OnFull, Order, PushDown, SpPifoParams, deciders};
use pifolab_sched::store::PriorityQueues;
use pifolab_sched::{Arriving, Decider, DropReason, FromParams, RankInterval, Room, registers};

/// The twin of SP-PIFO as printed: the queue is chosen first, and all bounds fall by the cost of an inversion.
#[derive(Debug)]
pub struct SpPifo {
    bounds: Bounds,
    on_full: OnFull,
}

registers!(SpPifo { bounds } and { on_full });

impl Twin for SpPifo {
    type Of = deciders::SpPifo;
    type Queues = PriorityQueues;

    fn of(params: &SpPifoParams) -> Option<Self> {
        let as_printed =
            params.push_down == PushDown::Cost && params.clamp == Clamp::Free && params.order == Order::ScanFirst;
        if !as_printed {
            return None;
        }
        deciders::SpPifo::from_params(params.clone()).ok()?;
        let bounds = Bounds::new(core::iter::repeat_n(0, params.capacities.len()));
        Some(Self { bounds, on_full: params.on_full })
    }

    in_parts!();
}

impl Decider for SpPifo {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        self.place(packet, queues).get()
    }

    #[inline(always)]
    fn place(&mut self, packet: Arriving, queues: &[Room]) -> Place {
        let rank = packet.rank.signed();
        let Some(place) = self.bounds.place(rank) else {
            return Place::predicted(self.decide_one_by_one(rank, packet.size, queues));
        };
        let queue = place.queue();
        let fits = queues[queue].fits(packet.size);
        if fits || self.on_full == OnFull::Update {
            self.bounds.follow(place);
        }
        if fits { Place::queue_with_room(queue) } else { Place::refuse(DropReason::Full) }
    }

    fn ranks_of(&self, queue: usize, _queues: &[Room]) -> RankInterval {
        self.bounds.ranks_from(queue)
    }

    fn refused_at(&self, packet: Arriving, _queues: &[Room]) -> Option<usize> {
        let rank = packet.rank.signed();
        let queue = self.bounds.last_reached(rank);
        (self.on_full == OnFull::Keep || self.bounds.first() != rank || queue == 0).then_some(queue)
    }
}

impl SpPifo {
    /// For ranks and bounds that do not fit in vectors.
    #[cold]
    #[inline(never)]
    fn decide_one_by_one(&mut self, rank: i64, size: u32, queues: &[Room]) -> Result<usize, DropReason> {
        let queue = self.bounds.last_reached(rank);
        let fits = queues[queue].fits(size);
        if fits || self.on_full == OnFull::Update {
            let bounds = self.bounds.as_mut_slice();
            let before = core::mem::replace(&mut bounds[queue], rank);
            if queue == 0 && rank < before {
                bounds[1..].iter_mut().for_each(|bound| *bound = bound.saturating_sub(before - rank));
            }
        }
        if fits { Ok(queue) } else { Err(DropReason::Full) }
    }
}
