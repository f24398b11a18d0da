//! PACKS: a sliding window of ranks decides which packets are admitted, and to which strict-priority queue.
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
//! - occupancy: of each queue (Algorithm 1), or only of the whole buffer (section 5, as on a switch);
//! - sample s: packets 1, s+1, 2s+1, ... enter the window (section 5; default 1);
//! - fall-through: whether a packet whose queue is full tries the next ones (default yes: Algorithm 1).
//!
//! Cost: one count over the window and at most n comparisons per enqueue, O(1) per dequeue. A switch needs one register
//! per window slot and the occupancy of each queue (or of the buffer).
//!
//! Deviation from PIFO: ranks that share a queue leave in arrival order; a packet that was admitted is never pushed
//! out. It drops exactly what AIFO drops (Theorem 2).
//!
//! Deviations: the brackets around the fractions of Algorithm 1 are read as parentheses, not floors, and comparisons
//! are exact. Theorem 3 (no more inversions of the highest priority than AIFO) holds for batches, not when dequeues
//! interleave; the tests have a counterexample.

mod options;

use super::admission::{Highest, Limit, RankQuantile, SlidingWindow, Threshold};
use crate::params::{FromArgs, ParamError};
use crate::{Arriving, Capacity, Decider, DropReason, FromParams, RankInterval, Room, registers};
use alloc::vec::Vec;
pub use options::{Occupancy, PacksParams};
use pifolab_units::Rank;

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
    /// W.
    window: SlidingWindow,
    threshold: Threshold,
    occupancy: Occupancy,
    fall_through: bool,
    /// The highest rank seen: the search for queue bounds ends there.
    highest: Highest,
}

registers!(Packs { window, highest } and { threshold, occupancy, fall_through });

impl FromParams for Packs {
    type Params = PacksParams;

    fn from_params(params: PacksParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        params.check()?;
        let total = params.capacities.iter().map(|capacity| Room::new(*capacity).total()).sum();
        let threshold = Threshold::new(params.k, total, params.occupancy.parts(params.capacities.len()), params.window);
        let decider = Self {
            window: SlidingWindow::new(PacksParams::INFO.name, params.window())?,
            threshold: if params.below { threshold.strictly() } else { threshold },
            occupancy: params.occupancy,
            fall_through: params.fall_through,
            highest: Highest::of(&params.start_window),
        };
        Ok((decider, params.capacities))
    }
}

impl Decider for Packs {
    /// Algorithm 1.
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        let quantile = self.take_in(packet.rank);
        let mut reason = DropReason::Admission;
        for (i, limit) in self.limits(queues).enumerate() {
            // W.quantile(r) <= 1 / (1 - k) * (sum of B_j - b_j for j = 1..i) / B
            if quantile <= limit {
                if queues[i].fits(packet.size) {
                    return Ok(i);
                }
                reason = DropReason::Full;
                if !self.fall_through {
                    break;
                }
            }
        }
        Err(reason)
    }

    /// Equation 11 with the present window and occupancy: the largest rank, up to the highest seen, whose quantile
    /// passes the test of `queue`; -1 if none does.
    fn ranks_of(&self, queue: usize, queues: &[Room]) -> RankInterval {
        let Some(free) = self.free(queues).nth(queue) else { return RankInterval::default() };
        let count = self.threshold.largest_count(self.window.held(), free);
        RankInterval::up_to(count.map_or(-1, |count| self.window.largest_rank_with(count, self.highest.get())))
    }

    /// The first queue whose test the packet passed. With update `after` its own rank may have changed the window
    /// since.
    fn refused_at(&self, packet: Arriving, queues: &[Room]) -> Option<usize> {
        self.first(self.window.quantile(packet.rank), queues).filter(|_| !self.window.enters_last())
    }
}

impl Packs {
    /// W.update(r) and W.quantile(r).
    #[inline(always)]
    pub fn take_in(&mut self, r: Rank) -> RankQuantile {
        self.highest.note(r);
        self.window.take_in(r)
    }

    /// The same for a window that every rank enters before its quantile is taken.
    #[doc(hidden)]
    #[inline(always)]
    pub fn push_and_quantile(&mut self, r: Rank) -> RankQuantile {
        self.highest.note(r);
        self.window.push_and_quantile(r)
    }

    /// The first queue whose test the quantile passes.
    pub fn first(&self, quantile: RankQuantile, queues: &[Room]) -> Option<usize> {
        self.limits(queues).position(|limit| quantile <= limit)
    }

    /// For each queue i 1 / (1 - k) * (sum of B_j - b_j for j = 1..i) / B.
    #[inline(always)]
    fn limits(&self, queues: &[Room]) -> impl Iterator<Item = Limit<'_>> {
        self.free(queues).map(|free| self.threshold.limit(free as i64))
    }

    /// Whether a packet whose queue is full tries the next ones.
    pub const fn falls_through(&self) -> bool {
        self.fall_through
    }

    /// The highest rank seen.
    pub const fn highest(&self) -> Rank {
        self.highest.get()
    }

    /// W.
    pub const fn window(&self) -> &SlidingWindow {
        &self.window
    }

    /// The test.
    pub const fn threshold(&self) -> &Threshold {
        &self.threshold
    }

    /// For each queue i the sum of B_j - b_j for j = 1..i. If only the whole buffer is known, i times its free space,
    /// of which section 5 takes i / n.
    #[inline(always)]
    pub fn free(&self, queues: &[Room]) -> impl Iterator<Item = u64> {
        let free_of = |queue: &Room| queue.total() - queue.used();
        let whole = match self.occupancy {
            Occupancy::PerQueue => None,
            Occupancy::Global => Some(queues.iter().map(free_of).sum::<u64>()),
        };
        queues.iter().scan(0, move |sum, queue| {
            *sum += whole.unwrap_or_else(|| free_of(queue));
            Some(*sum)
        })
    }
}

#[cfg(test)]
mod tests;
