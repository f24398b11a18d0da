//! PACKS: a sliding window of ranks decides which packets enter, and which strict-priority queue each of them takes.
//!
//! Paper: Alcoz, Vass, Namyar, Arzani, Rétvári, Vanbever, "Everything Matters in Programmable Packet Scheduling",
//! NSDI 2025, section 4.3 and Algorithm 1; section 5 for the hardware approximation.
//!
//! Parameters:
//! - B_1..B_n, the capacity of each of n queues (packets or bytes; default 8 x 10 packets, section 6.1);
//! - |W|, the window (ranks, 1 to 2^24; default 1000, section 6.1);
//! - k, the burstiness allowance (a fraction in [0, 1); default 0, section 6.1);
//! - shift: added to every rank that the window holds, not to the arriving one (section 6.1, Fig. 11; default 0);
//! - quantile, update, compare: readings of Algorithm 1;
//! - occupancy: that of each queue (Algorithm 1), or only that of the whole buffer (section 5, what a switch knows);
//! - sample s: packets 1, s+1, 2s+1, ... enter the window (section 5; default 1);
//! - arithmetic: exact, or the floating point of the published simulation;
//! - map: `occupancy`, Algorithm 1's (default), or `geometric`, fixed shares of the window's ranks, which shrink so that the
//!   slack behind the queues shrinks geometrically to eps at a given load (lab/pages/slack.md); admission is the same;
//! - occupancy delay: by how many arrivals the lengths that the tests see are late (section 5; default 0);
//! - fall-through: whether a packet whose queue is full tries the next ones (default yes: Algorithm 1).
//!
//! Cost: one count over the window and at most n comparisons per enqueue, O(1) per dequeue. A switch needs one register
//! per window slot and the occupancy of each queue (or of the buffer).
//!
//! Deviation from PIFO: ranks that share a queue leave in arrival order; a packet that was admitted is never pushed
//! out. It drops exactly what AIFO drops (Theorem 2).
//!
//! Deviations: brackets around the fractions of Algorithm 1 are plain, not floors, and the tests are exact. Theorem 3
//! (no more inversions of the highest priority than AIFO) holds for batches, not when dequeues interleave; the tests
//! keep a counterexample.

mod options;
mod plain;
mod published;

use super::admission::{Admission, Estimate};
use super::delayed::Delayed;
use super::geometric::Ends;
use crate::branchless::unforeseen;
use crate::params::{FromArgs, ParamError};
use crate::{Arriving, Capacity, Decider, Decision, DropReason, FromParams, Kept, RankInterval, Room};
use alloc::vec::Vec;
pub use options::{Occupancy, PacksParams};
use pifolab_units::Rank;
use plain::Plain;
use published::PublishedTest;

/// PACKS.
///
/// ```
/// use pifolab_sched::{Enqueued, Packet, Scheduler, schedulers::{Packs, PacksParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut packs = Packs::new(PacksParams::uniform(2, 2, 4)).unwrap();
/// let mut queue_of = |rank: u32| {
///     let packet = Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO };
///     match packs.enqueue(packet, Time::ZERO) {
///         Enqueued::Admitted { queue, .. } => Some(queue),
///         _ => None,
///     }
/// };
/// assert_eq!(queue_of(5), Some(0)); // no lower rank seen yet
/// assert_eq!(queue_of(9), Some(1)); // one rank of two is lower: above 1/4, within 3/4
/// ```
#[derive(Debug)]
pub struct Packs {
    estimate: Estimate,
    admission: Admission,
    occupancy: Occupancy,
    fall_through: bool,
    /// Of the geometric map: which quantiles each queue takes.
    ends: Option<Ends>,
    /// The test in the floating point of the published simulation, where it is wanted.
    published: Option<PublishedTest>,
    /// What the tests see of the queues.
    delayed: Delayed,
    /// For Algorithm 1 as printed: every rank enters the window first, and of at most eight queues, which count packets, each
    /// for itself, a full one is passed over.
    plain: Option<Plain>,
    /// The highest rank seen: queue bounds are looked for up to there.
    highest: Rank,
}

clone_by_field!(Packs { estimate, admission, occupancy, fall_through, ends, published, plain, highest, delayed });

impl FromParams for Packs {
    type Params = PacksParams;

    fn from_params(params: PacksParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        params.check()?;
        let name = PacksParams::INFO.name;
        let rooms: Vec<Room> = params.capacities.iter().map(|capacity| Room::new(*capacity)).collect();
        let parts = params.occupancy.parts(rooms.len());
        let admission = Admission::new(params.k, rooms.iter().map(Room::total).sum(), parts, params.window);
        let decider = Self {
            estimate: Estimate::new(name, params.window())?,
            admission: if params.below { admission.strictly() } else { admission },
            occupancy: params.occupancy,
            fall_through: params.fall_through,
            ends: params.map.map(|map| map.ends(name, rooms.len())).transpose()?,
            published: PublishedTest::new(&params),
            delayed: Delayed::new(name, params.occupancy_delay, &params.capacities)?,
            plain: if params.is_as_printed() { Plain::new(&rooms, &admission, params.window) } else { None },
            highest: params.start_window.iter().copied().max().unwrap_or(Rank::ZERO),
        };
        Ok((decider, params.capacities))
    }
}

impl Decider for Packs {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Decision {
        let rank = packet.rank;
        self.highest = self.highest.max(rank);
        let (queue, passed) = match &mut self.plain {
            Some(plain) => plain.take(&self.admission, self.estimate.push_and_quantile(rank)),
            None => self.scan_with_options(rank, packet.size, queues),
        };
        if queue < queues.len() {
            // The accounts may come late, but not those that `plain` keeps.
            return if self.plain.is_some() { Decision::queue_with_room(queue) } else { Decision::queue(queue) };
        }
        // A branch: what is stored where would otherwise wait until it is known that the packet is not refused.
        Decision::refuse(if unforeseen(passed) { DropReason::Full } else { DropReason::Admission })
    }

    #[inline(always)]
    fn serve(&mut self, first: usize, _queues: &[Room]) -> usize {
        match &mut self.plain {
            // What is free tells it sooner than the queues do, and is told of the departure.
            Some(plain) => plain.free.give_back_first(),
            None => first,
        }
    }

    fn keeps_accounts(&self) -> bool {
        self.plain.is_some()
    }

    fn drop_accounts(&mut self) {
        self.plain = None;
    }

    /// With the geometric map the largest rank, up to the highest seen, whose quantile belongs to `queue` or one before it; else
    /// equation 11 with the window and the occupancy of now: the largest rank, up to the highest seen, whose quantile
    /// passes the test of `queue`; -1 if none does.
    fn ranks_of(&self, queue: usize, queues: &[Room]) -> RankInterval {
        let Some(free_parts) = self.free_parts(self.delayed.seen(queues)).nth(queue) else {
            return RankInterval::default();
        };
        let held = self.estimate.held();
        let count = match &self.ends {
            Some(ends) if !ends.is_last(queue) => ends.largest_count(queue, held),
            _ => self.admission.largest_count(held, free_parts),
        };
        RankInterval::up_to(count.map_or(-1, |count| self.estimate.largest_rank_with(count, self.highest)))
    }

    /// The first queue whose test the packet passed. With update `after` its rank has changed the window since, and where
    /// lengths are late those that it saw have been replaced.
    fn refused_at(&self, packet: Arriving, queues: &[Room]) -> Option<usize> {
        if self.estimate.enters_last() || self.delayed.is_late() {
            return None;
        }
        let quantile = self.estimate.quantile(packet.rank);
        let first = self.refusing(quantile, queues);
        (first < queues.len()).then(|| self.mapped(first, quantile))
    }

    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        self.estimate.visit_window(visit);
    }

    fn kept(&self) -> Kept {
        self.estimate.kept(&self.delayed)
    }

    /// What is free in the queues is known from their accounts, and the highest rank seen decides nothing.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.estimate.visit_state(&self.delayed, visit);
    }

    fn resume(&mut self, window: &[Rank], _state: &[i64]) {
        self.estimate.resume(window);
        self.highest = window.iter().copied().fold(self.highest, Rank::max);
    }
}

impl Packs {
    /// Takes note of the rank, then [`scan`](Self::scan)s the accounts that this arrival sees.
    #[inline(never)]
    fn scan_with_options(&mut self, rank: Rank, size: u32, queues: &[Room]) -> (usize, bool) {
        let quantile = self.estimate.sample_and_quantile(rank);
        let found = self.scan(quantile, size, self.delayed.seen(queues));
        self.delayed.record(queues);
        found
    }

    /// Algorithm 1 for whatever options: the first queue that `quantile` passes and that has room; a number beyond all if
    /// there is none; and whether it passes any queue.
    fn scan(&self, quantile: (u64, u64), size: u32, queues: &[Room]) -> (usize, bool) {
        let (first, count) = (self.refusing(quantile, queues), queues.len());
        // The geometric map leaves to Algorithm 1's test whether the packet enters, not where.
        let mapped = if first < count { self.mapped(first, quantile) } else { count };
        let last = if self.fall_through { count } else { count.min(mapped + 1) };
        let queue = (mapped..last).find(|queue| queues[*queue].fits(size)).unwrap_or(usize::MAX);
        (queue, first < count)
    }

    /// The queue of `quantile`: the `first` that it passes, or that of the geometric map.
    fn mapped(&self, first: usize, quantile: (u64, u64)) -> usize {
        self.ends.as_ref().map_or(first, |ends| ends.queue(quantile))
    }

    /// How many queues `quantile` does not pass. Free space only adds up, so they are the first ones.
    fn refusing(&self, quantile: (u64, u64), queues: &[Room]) -> usize {
        let free_parts = self.free_parts(queues);
        if let Some(test) = &self.published {
            return test.refusing(quantile, free_parts, queues);
        }
        let least = self.admission.least(quantile);
        free_parts.filter(|free_parts| *free_parts < least).count()
    }

    /// The free space that counts for each queue in turn, times the parts that the whole is cut into.
    #[inline]
    fn free_parts(&self, queues: &[Room]) -> impl Iterator<Item = u64> {
        let free = |room: &Room| room.total() - room.used();
        let whole = match self.occupancy {
            Occupancy::PerQueue => None,
            Occupancy::Global => Some(queues.iter().map(free).sum::<u64>()),
        };
        let mut sum = 0;
        queues.iter().map(move |room| {
            sum += whole.unwrap_or_else(|| free(room));
            sum
        })
    }
}

#[cfg(test)]
mod tests;
