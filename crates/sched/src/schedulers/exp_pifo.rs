//! Exp-PIFO: strict-priority queues whose bounds grow exponentially up to the highest recent rank; one register
//! determines all of them.
//!
//! Paper: Mostafaei, Ezzati, Cuijpers, Schmid, "EXP-PIFO: Scalable and Efficient Programmable Packet Scheduling",
//! CoNEXT 2025, section 2.2 and Algorithm 1.
//!
//! Parameters:
//! - M queues and their capacities (packets or bytes);
//! - C, the window (packets, default 5000, section 3.1): after C packets the exponent beta restarts at that of the next
//!   packet;
//! - r_min, the smallest rank that is distinguished from lower ones (ranks, default 1; the paper uses 1500 if ranks are
//!   bytes), gamma = log2 r_min;
//! - beta: `floor` (Algorithm 1, default) or `ceil` (Fig. 2): how log2(rank) - gamma is rounded for the exponent;
//! - mapping: `comment` is the formula in the comment of Algorithm 1, queue ((x+1)(M-1)) div beta + 1 (default);
//!   `bounds` is section 2.2: queue j holds ranks in (b_{j-1}, b_j], b_j = r_min 2^(beta (j-1)/(M-1)), queue M the rest;
//! - beta0: the queue while beta is 0, when the formula divides by zero: `first` (default) or `last`;
//! - reset: whether the window ends when the counter exceeds C (`gt`, Algorithm 1, default) or reaches it (`ge`).
//!
//! Cost: O(1) per enqueue (`bounds`: O(log M)), O(1) per dequeue; all in integers. A switch needs two registers (beta
//! and the counter) and two look-up tables (about 0.14 and 2.5 kB, section 2.3).
//!
//! Deviation from PIFO: ranks that share a queue leave in arrival order, and the queues of high ranks are exponentially
//! wider; a packet is dropped when its own queue is full, whatever its rank.
//!
//! Deviations: the prose form of compute_queue_id, ((x+1)/(M-1)) div beta + 1, maps nearly everything to queue 1 and is
//! not offered. The two mappings differ: for 25 of the ranks 1 to 127 with M = 3 and beta = 6. `bounds` takes at most
//! 32 queues, which the paper calls usual, since its bounds are precomputed exactly.

mod bounds;
mod options;

use crate::params::ParamError;
use crate::{Arriving, Capacity, Decider, DropReason, FromParams, RankInterval, Room, registers};
use alloc::vec::Vec;
use bounds::BoundTable;
pub use options::{BetaRounding, BetaZero, ExpPifoParams, Mapping, MappingKind, Reset};
use pifolab_units::Rank;

/// Exp-PIFO.
///
/// ```
/// use pifolab_sched::{Enqueued, Packet, Scheduler, schedulers::{ExpPifo, ExpPifoParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut scheduler = ExpPifo::new(ExpPifoParams::uniform(3, 10)).unwrap();
/// let mut queue_of = |rank: u32| {
///     let packet = Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO };
///     let Enqueued::Admitted { queue, .. } = scheduler.enqueue(packet, Time::ZERO) else { panic!("there is room") };
///     queue
/// };
/// // Rank 64 sets beta to 6; x = 6, 2 and 0 then give queues 3, 2 and 1.
/// assert_eq!([64, 5, 1].map(&mut queue_of), [2, 1, 0]);
/// ```
#[derive(Debug)]
pub struct ExpPifo {
    /// M - 1, the last queue.
    last: usize,
    beta: u32,
    counter: u64,
    /// The window ends when the counter exceeds this: C, or C - 1 if it ends when the counter reaches C.
    window: u64,
    r_min: u64,
    rounding: BetaRounding,
    map: Map,
}

registers!(ExpPifo { beta, counter } and { last, window, r_min, rounding, map });

#[derive(Debug)]
enum Map {
    Comment(BetaZero),
    Bounds(BoundTable),
}

clone_by_variant!(Map { Comment, Bounds });

impl FromParams for ExpPifo {
    type Params = ExpPifoParams;

    /// Beta and the counter start at 0.
    fn from_params(params: ExpPifoParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        params.check()?;
        let count = params.capacities.len();
        let decider = Self {
            last: count - 1,
            beta: 0,
            counter: 0,
            window: match params.reset {
                Reset::Gt => params.window,
                Reset::Ge => params.window - 1,
            },
            r_min: params.r_min,
            rounding: params.beta,
            map: match params.mapping {
                Mapping::Comment { beta0 } => Map::Comment(beta0),
                Mapping::Bounds => Map::Bounds(BoundTable::new(count, params.r_min)),
            },
        };
        Ok((decider, params.capacities))
    }
}

impl Decider for ExpPifo {
    /// Algorithm 1.
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, _queues: &[Room]) -> Result<usize, DropReason> {
        let rank = packet.rank.get();
        let x = self.log_floor(rank);
        let exponent = match self.rounding {
            BetaRounding::Floor => x,
            BetaRounding::Ceil => x + u32::from(self.r_min << x < rank),
        };
        if exponent > self.beta {
            self.beta = exponent;
        }
        self.counter += 1;
        if self.counter > self.window {
            self.counter = 0;
            self.beta = exponent;
        }
        Ok(self.queue_of(x, rank))
    }

    /// The largest rank of `queue` under the mapping by bounds, rounded down; the last queue has none.
    fn ranks_of(&self, queue: usize, _queues: &[Room]) -> RankInterval {
        let bound = match &self.map {
            Map::Comment(_) => None,
            Map::Bounds(table) => table.bound(self.beta, queue).map(Rank::saturating).map(Rank::signed),
        };
        bound.map_or(RankInterval::default(), RankInterval::up_to)
    }

    fn refused_at(&self, packet: Arriving, _queues: &[Room]) -> Option<usize> {
        let rank = packet.rank.get();
        Some(self.queue_of(self.log_floor(rank), rank))
    }
}

impl ExpPifo {
    /// The exponent beta: the bounds grow up to r_min 2^beta.
    pub const fn beta(&self) -> u32 {
        self.beta
    }

    /// max(0, floor(log2(rank / r_min))), exactly.
    #[inline]
    fn log_floor(&self, rank: u64) -> u32 {
        if rank < self.r_min {
            return 0;
        }
        // r_min shifted by the difference of the bit lengths is as long as the rank, and the shift is at most one too
        // large.
        let difference = rank.ilog2() - self.r_min.ilog2();
        difference - u32::from(self.r_min << difference > rank)
    }

    /// The queue of `rank` and its `x` under the present exponent.
    #[inline]
    fn queue_of(&self, x: u32, rank: u64) -> usize {
        let last = self.last;
        match &self.map {
            Map::Comment(BetaZero::Last) if self.beta == 0 => last,
            Map::Comment(BetaZero::First) if self.beta == 0 => 0,
            Map::Comment(_) => (((x + 1) * last as u32 / self.beta) as usize).min(last),
            Map::Bounds(table) => table.queue(self.beta, rank),
        }
    }
}

#[cfg(test)]
mod tests;
