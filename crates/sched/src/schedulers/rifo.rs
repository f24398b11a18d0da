//! RIFO: one queue that admits a packet if its rank, relative to the range of recent ranks, is below the free share.
//!
//! Paper: Mostafaei, Pacut, Schmid, "RIFO: Pushing the Efficiency of Programmable Packet Schedulers", IEEE/ACM
//! Transactions on Networking 2025, section III and Algorithm 1; section V and Table I for the switch tables.
//!
//! Parameters:
//! - B, the capacity (packets or bytes; l is what is queued, in the same unit);
//! - T, the tracking range (packets, default 500, section VI): after T packets Min and Max restart at the rank of the
//!   next one;
//! - k, the guaranteed admission buffer (fraction of B, default 1/10, section VI);
//! - mode: `alg1` (Algorithm 1, default), `eq3` (the division-free form of eq. 3) or `pow2` (eq. 3 with every factor
//!   replaced by a power of two, as on the switch);
//! - reset counter: the value at which the counter restarts; 1 as in Algorithm 1 (period T, default), or 0 as in the
//!   text (period T + 1).
//!
//! Cost: O(1) per operation. A switch needs three registers (Min, Max, counter), and for `pow2` three tables of 15
//! entries and two of 256.
//!
//! Deviation from PIFO: admitted packets leave first-in first-out, so RIFO approximates which packets leave, not their
//! order; admission depends on the range of ranks, not on their distribution.
//!
//! Deviations: eq. 3 is not equivalent to Algorithm 1: with k > 0 it divides the free share by 1 - k and admits more.
//! The masks of Table I as printed match only the power itself; here exponents are floor(log2 v), a product with a
//! factor 0 is 0, and (1-k)B is the nearest power of two (of two equally near the lower one, at least 1). Where ranks
//! or capacities need more than 16 bits, the two operands of a ratio are shifted right together until the larger fits.

mod division_free;
mod options;

use super::headroom::Headroom;
use crate::params::ParamError;
use crate::{Arriving, Capacity, Decider, DropReason, FromParams, Register, Room, registers};
use alloc::vec::Vec;
use division_free::{Eq3, Pow2};
pub use options::{ResetCounter, RifoMode, RifoParams};
use pifolab_units::Rank;

/// RIFO.
///
/// ```
/// use pifolab_sched::{Packet, Scheduler, schedulers::{Rifo, RifoParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut rifo = Rifo::new(RifoParams::packets(2)).unwrap();
/// let packet = |id, rank: u32| Packet { id, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO };
/// assert!(rifo.enqueue(packet(0, 1), Time::ZERO).is_admitted());
/// // Ranks 1 to 9 were seen; rank 9 would need an empty queue, rank 5 a queue that is at most half full.
/// assert!(!rifo.enqueue(packet(1, 9), Time::ZERO).is_admitted());
/// assert!(rifo.enqueue(packet(2, 5), Time::ZERO).is_admitted());
/// assert_eq!(rifo.decider().range().map(|(min, max)| (min.get(), max.get())), Some((1, 9)));
/// ```
#[derive(Debug)]
pub struct Rifo {
    /// Min and Max.
    range: Range,
    counter: u64,
    tracking_range: u64,
    restart: u64,
    test: Test,
}

/// The admission test with its precomputed constants.
#[derive(Clone, Debug)]
enum Test {
    /// With floor(kB): if l is at most that, every rank passes.
    Alg1(u64),
    Eq3(Eq3),
    Pow2(Pow2),
}

registers!(Rifo { range, counter } and { tracking_range, restart, test });

impl FromParams for Rifo {
    type Params = RifoParams;

    fn from_params(params: RifoParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        params.check()?;
        let total = Room::new(params.capacity).total();
        let headroom = Headroom::new(params.k, total);
        let decider = Self {
            test: match params.mode {
                RifoMode::Alg1 => Test::Alg1(headroom.guaranteed()),
                RifoMode::Eq3 => Test::Eq3(Eq3::new(headroom)),
                RifoMode::Pow2 => Test::Pow2(Pow2::new(headroom)),
            },
            range: Range { min: u64::MAX, max: 0 },
            counter: 0,
            tracking_range: params.tracking_range,
            restart: params.reset_counter as u64,
        };
        Ok((decider, alloc::vec![params.capacity]))
    }
}

impl Decider for Rifo {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        if self.passes(packet.rank, &queues[0]) { Ok(0) } else { Err(DropReason::Admission) }
    }
}

/// The smallest and the largest rank of a tracking range; `min > max` before the first packet.
#[derive(Clone, Debug)]
struct Range {
    min: u64,
    max: u64,
}

impl Register for Range {
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        [self.min, self.max].into_iter().for_each(|rank| visit(rank as i64));
    }

    /// The two registers stand for a window.
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        if self.min <= self.max {
            [self.min, self.max].into_iter().for_each(|rank| visit(Rank::saturating(rank)));
        }
    }

    fn resume(&mut self, _window: &[Rank], state: &[i64]) {
        if let [min, max] = *state {
            (self.min, self.max) = (min as u64, max as u64);
        }
    }
}

impl Rifo {
    /// Algorithm 1: updates the range with an arriving rank, and returns whether its packet may enter the queue.
    #[inline(always)]
    pub fn passes(&mut self, rank: Rank, queue: &Room) -> bool {
        let (r, l, total) = (rank.get(), queue.used(), queue.total());
        // The counter may exceed the range after a control plane has shortened it.
        if self.counter >= self.tracking_range {
            self.range = Range { min: r, max: r };
            self.counter = self.restart;
        } else {
            self.range.min = r.min(self.range.min);
            self.range.max = r.max(self.range.max);
            self.counter += 1;
        }
        let Range { min, max } = self.range;
        max == min || self.test.admits(r - min, max - min, l, total)
    }

    /// Min and Max of the tracking range; `None` before the first packet.
    pub fn range(&self) -> Option<(Rank, Rank)> {
        let Range { min, max } = self.range;
        (min <= max).then(|| (Rank::saturating(min), Rank::saturating(max)))
    }
}

impl Test {
    /// Whether `above` = r - Min of a `range` = Max - Min may enter a queue of B = `total` with `l` in it.
    #[inline]
    fn admits(&self, above: u64, range: u64, l: u64, total: u64) -> bool {
        let free = total - l;
        match self {
            // l <= kB, or (r - Min) / (Max - Min) <= (B - l) / B.
            Self::Alg1(guaranteed) => {
                l <= *guaranteed || u128::from(above) * u128::from(total) <= u128::from(free) * u128::from(range)
            }
            Self::Eq3(test) => test.admits(above, range, free),
            Self::Pow2(test) => test.admits(above, range, free),
        }
    }
}

#[cfg(test)]
mod tests;
