//! PACKS's twin: the free packets that a quantile requires are tabulated, and the first queue up to which that many are
//! free is found in one step.

use crate::{Twin, as_the_decider, in_parts, remembers_as};
use alloc::boxed::Box;
use pifolab_sched::place::Place;
use pifolab_sched::schedulers::{Occupancy, PacksParams, RankQuantile, Update, deciders};
use pifolab_sched::store::PriorityQueues;
use pifolab_sched::{Arriving, Capacity, Decider, DropReason, FromParams, Room};
use pifolab_simd::{Enough, FreePlaces};

/// The twin of PACKS as printed: every rank enters the window first, there are at most eight queues, each with a
/// capacity in packets, and a packet whose queue is full tries the next ones.
#[derive(Debug)]
pub struct Packs {
    packs: deciders::Packs,
    /// The free packets of the queues.
    free: FreePlaces,
    /// The free packets that each count of a full window requires; empty for large windows.
    enough: Box<[Enough]>,
}

/// The largest window whose requirements are tabulated: at most 16 KB.
const TABULATED: u32 = 1 << 12;

impl Twin for Packs {
    type Of = deciders::Packs;
    type Queues = PriorityQueues;

    fn of(params: &PacksParams) -> Option<Self> {
        let as_printed = params.sample == 1
            && params.update == Update::Before
            && !params.below
            && params.occupancy == Occupancy::PerQueue
            && params.fall_through
            && !params.capacities.iter().any(|capacity| matches!(capacity, Capacity::Bytes(_)));
        if !as_printed {
            return None;
        }
        let free = FreePlaces::new(params.capacities.iter().map(|capacity| Room::new(*capacity).total()))?;
        let (packs, _) = deciders::Packs::from_params(params.clone()).ok()?;
        let counts = if params.window <= TABULATED { params.window + 1 } else { 0 };
        let enough = |count| Enough::new(packs.threshold().least(RankQuantile { count, held: params.window.into() }));
        let enough = (0..counts.into()).map(enough).collect();
        Some(Self { packs, free, enough })
    }

    in_parts!();
}

remembers_as!(Packs.packs);

impl Decider for Packs {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        self.place(packet, queues).get()
    }

    #[inline(always)]
    fn place(&mut self, packet: Arriving, _queues: &[Room]) -> Place {
        let quantile = self.packs.push_and_quantile(packet.rank);
        // The table has an entry for each count from 0 to the window's size, and holds only for a full window.
        let enough = match self.enough.get(quantile.count as usize) {
            Some(enough_of_full) if quantile.held + 1 == self.enough.len() as u64 => *enough_of_full,
            _ => Enough::new(self.packs.threshold().least(quantile)),
        };
        // The first queue at which the running sum of free packets reaches the requirement has a free packet itself. If
        // the requirement is 0, `take` returns the first queue with a free packet.
        if let Some(queue) = self.free.take(enough) {
            return Place::queue_with_room(queue);
        }
        let passes = pifolab_queues::branchless::unforeseen(quantile <= self.packs.threshold().limit(0));
        Place::refuse(if passes { DropReason::Full } else { DropReason::Admission })
    }

    #[inline(always)]
    fn serve(&mut self, _first: usize, _queues: &[Room]) -> usize {
        // `FreePlaces` finds the first non-empty queue faster than the queues do.
        self.free.give_back_first()
    }

    fn adopt(&mut self, packet: Arriving, queue: usize, queues: &[Room]) -> Result<usize, DropReason> {
        let queue = self.packs.adopt(packet, queue, queues)?;
        if !queues[queue].fits(packet.size) {
            return Err(DropReason::Full);
        }
        // The first free place of `queue` follows all free places of the queues before it.
        let before: u64 = queues[..queue].iter().map(|queue| queue.total() - queue.used()).sum();
        let taken = self.free.take(Enough::new(before + 1));
        debug_assert_eq!(taken, Some(queue));
        Ok(queue)
    }

    as_the_decider!(packs);
}
