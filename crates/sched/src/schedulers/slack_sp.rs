//! Slack-SP: adaptive bounds of strict-priority queues, each at a fixed quantile of the ranks, so that the slack behind the
//! queues shrinks geometrically.
//!
//! No paper: lab/pages/slack.md has the derivation, and `geometric.rs` a summary.
//!
//! Parameters:
//! - n queues and their capacities (packets or bytes);
//! - eps, the slack that is left for the last queue (default 1/10);
//! - step D, the largest move of a bound (ranks, default 1/2; with `steps = proportional` a share of the bound, default
//!   1/128, for ranks that span orders of magnitude);
//! - b_1..b_{n-1}, the initial bounds; or R, the range of ranks over which they are spread (default 100);
//! - fall-through: whether a packet whose queue is full tries the next ones (default yes);
//! - admission: a register T in place of tail drop; ranks above T are refused, and T follows the free space
//!   (`admission_gain` c in ranks per packet, `target_packets`; default none);
//! - map: `bounds` (default, all of the above), or `shares`: PACKS's admission and shares of the free space, under overload
//!   of what the link carries, by quantiles estimated by `registers`, and by the `recent` admitted packets, instead of
//!   bounds at fixed quantiles (`shares.rs`, lab/pages/slack-shares.md).
//!
//! Cost: n - 1 comparisons and additions per enqueue (with `map = shares` one for each register, queue and recent packet),
//! O(1) per dequeue. A switch needs a register for each bound with
//! one operation per packet: compare, then add one of two constants. Admission needs two more registers: T, and the
//! highest rank seen, which limits T so that it need not come back from far above.
//!
//! Deviation from PIFO: ranks that share a queue leave in arrival order; without admission a packet is dropped if its
//! queue and those behind it are full, whatever its rank.
//!
//! Details: bounds are multiples of 2^-20 ranks, and each move is rounded to such a multiple once; ranks from 2^42 on
//! count as equal. Every arrival moves the bounds, even one that is dropped. A bound that moves in proportion moves by
//! 2^-20 ranks at least.

mod admission;
mod options;
mod quantiles;
mod range;
mod shares;

pub use admission::SlackAdmission;
pub use options::{SlackSpParams, StepScale};
pub use shares::SlackShares;

use super::geometric::{self, ONE};
use crate::params::{self, FromArgs, ParamError};
use crate::{Arriving, Capacity, Decider, DropReason, FromParams, RankInterval, Register, Room, registers};
use admission::Limit;
use alloc::boxed::Box;
use alloc::vec::Vec;
use options::EPS;
use pifolab_units::Rank;
use range::{FRACTION, SHARE, fixed, rounded};
use shares::Shares;

/// A bound and its moves, as multiples of 2^-20 ranks, or of 2^-32 of the bound.
#[derive(Clone, Copy, Debug)]
struct Bound {
    at: i64,
    up: i64,
    down: i64,
}

/// Slack-SP.
///
/// ```
/// use pifolab_sched::{Enqueued, Inspect, Packet, Scheduler, schedulers::{SlackSp, SlackSpParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut scheduler = SlackSp::new(SlackSpParams::uniform(8, 10)).unwrap();
/// let packet = Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(30), arrival: Time::ZERO };
/// let outcome = scheduler.enqueue(packet, Time::ZERO);
/// assert_eq!(outcome, Enqueued::Admitted { queue: 2, rank: Rank::from(30) }); // above 100/8 and 200/8
/// ```
#[derive(Debug)]
pub struct SlackSp {
    bounds: Vec<Bound>,
    steps: StepScale,
    fall_through: bool,
    limit: Option<Box<Limit>>,
    /// Used instead of the bounds with `map = shares`.
    shares: Option<Box<Shares>>,
    /// The queue chosen for the last packet, unless the packet was refused before.
    meant: Option<u32>,
}

registers!(SlackSp { bounds, limit, shares } and { steps, fall_through, meant });

impl FromParams for SlackSp {
    type Params = SlackSpParams;

    fn from_params(params: SlackSpParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        let name = SlackSpParams::INFO.name;
        params::check_queue_capacities(name, &params.capacities)?;
        let (steps, fall_through) = (params.steps, params.fall_through);
        if let Some(shares) = params.shares {
            let shares = Some(Box::new(Shares::new(name, shares, params.eps, &params.capacities)?));
            let decider = Self { bounds: Vec::new(), steps, fall_through, limit: None, shares, meant: None };
            return Ok((decider, params.capacities));
        }
        let shares = geometric::shares(name, &EPS, params.eps, params.capacities.len())?;
        params.check_bounds()?;
        let bits = params.steps.bits();
        let whole = rounded(ONE, params.step, bits);
        let bound = |(rank, share): (&Rank, u64)| {
            let up = rounded(share, params.step, bits);
            Bound { at: fixed(*rank), up, down: whole - up }
        };
        let bounds = params.initial_bounds.iter().zip(shares).map(bound).collect();
        let limit = params.admission.map(|admission| {
            let gain = rounded(ONE, admission.gain, FRACTION);
            Box::new(Limit::new(gain, admission.target_packets))
        });
        Ok((Self { bounds, steps, fall_through, limit, shares: None, meant: None }, params.capacities))
    }
}

impl Decider for SlackSp {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        if let Some(shares) = &mut self.shares {
            return shares.decide(packet, queues);
        }
        let rank = fixed(packet.rank);
        let mut queue = 0;
        for bound in &mut self.bounds {
            let above = rank >= bound.at;
            queue += usize::from(above);
            bound.at += match self.steps {
                StepScale::Constant if above => bound.up,
                StepScale::Constant => -bound.down,
                StepScale::Proportional if above => share_of(bound.at, bound.up),
                StepScale::Proportional => -share_of(bound.at, bound.down),
            };
        }
        if let Some(limit) = &mut self.limit
            && limit.refuses(rank, queues)
        {
            self.meant = None;
            return Err(DropReason::Admission);
        }
        self.meant = Some(queue as u32);
        if self.fall_through {
            let free = (queue..queues.len()).find(|queue| queues[*queue].fits(packet.size));
            queue = free.unwrap_or(queue);
        }
        Ok(queue)
    }

    #[inline(always)]
    fn serve(&mut self, first: usize, _queues: &[Room]) -> usize {
        if let Some(shares) = &mut self.shares {
            shares.note_departure();
        }
        first
    }

    /// The queue takes ranks that reach exactly as many bounds as there are queues before it, since bounds may have
    /// crossed.
    fn ranks_of(&self, queue: usize, queues: &[Room]) -> RankInterval {
        if let Some(shares) = &self.shares {
            return shares.ranks_of(queue, queues);
        }
        let place = |number: usize| {
            let below = |(other, bound): (usize, &Bound)| (bound.at, other) < (self.bounds[number].at, number);
            self.bounds.iter().enumerate().filter(|other| below(*other)).count()
        };
        let bound = (0..self.bounds.len()).find(|number| place(*number) + 1 == queue);
        let lowest = bound.map(|number| (self.bounds[number].at + (1 << FRACTION) - 1) >> FRACTION);
        RankInterval::from(if queue == 0 { 0 } else { lowest.unwrap_or(i64::MAX) })
    }

    fn refused_at(&self, _packet: Arriving, _queues: &[Room]) -> Option<usize> {
        self.meant.map(|queue| queue as usize)
    }
}

/// With another number of queues each bound follows another quantile, so all restart.
impl Register for Vec<Bound> {
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.iter().for_each(|bound| visit(bound.at));
    }

    fn resume(&mut self, _window: &[Rank], state: &[i64]) {
        if state.len() == self.len() {
            self.iter_mut().zip(state).for_each(|(bound, at)| bound.at = *at);
        }
    }
}

impl SlackSp {
    /// The bounds, highest priority first: the position, the rise for a rank that reaches it, and the fall for one that
    /// does not. In multiples of 2^-20 ranks; with `steps = proportional` the moves are multiples of 2^-32 of the
    /// bound.
    pub fn registers(&self) -> impl Iterator<Item = (i64, i64, i64)> + '_ {
        self.bounds.iter().map(|bound| (bound.at, bound.up, bound.down))
    }

    /// The gain of admission, in multiples of 2^-20 ranks for each packet, and its target in packets; `None` without it.
    pub fn admission(&self) -> Option<(i64, i64)> {
        self.limit.as_ref().map(|limit| (limit.gain, limit.target))
    }
}

/// The `share` of a bound, in multiples of 2^-32; at least the smallest move.
#[inline(always)]
fn share_of(bound: i64, share: i64) -> i64 {
    (((i128::from(bound) * i128::from(share)) >> SHARE) as i64).max(1)
}

#[cfg(test)]
mod tests;
