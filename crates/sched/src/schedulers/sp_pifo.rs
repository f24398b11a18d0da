//! SP-PIFO: adaptive bounds map ranks to strict-priority queues; each bound follows the ranks that it sees.
//!
//! Paper: Alcoz, Dietmüller, Vanbever, "SP-PIFO: Approximating Push-In First-Out Behaviors using Strict-Priority
//! Queues", NSDI 2020, section 3.3 and Algorithm 1.
//!
//! Parameters:
//! - n queues and their capacities (packets or bytes);
//! - push-down: by how much the bounds fall after an inversion in queue 1 (section 4.2, Fig. 5c; default `cost`);
//! - on-full: whether a packet that finds its queue full moves the bounds (default `keep`, which the papers' figures
//!   need; `update` is the printed Algorithm 1, and changes uniform-rank inversions by a third);
//! - clamp: a floor for bounds (default none);
//! - order: `scan-first` is the paper's; `push-down-first` moves all bounds, q_1 included, before the queue is chosen,
//!   as MetaOpt models it: by the same amount each (`queue-bound`: q_1 takes r). With on-full `keep` a drop takes the
//!   push-down back.
//!
//! Cost: O(n) per enqueue (n comparisons, n bounds after an inversion), O(1) per dequeue. A switch needs one register
//! per queue.
//!
//! Deviation from PIFO: packets of different ranks share a queue, so a higher rank may leave first; a packet is
//! dropped when *its* queue is full, whatever its rank and however empty the other queues are.
//!
//! Deviations: Algorithm 1 line 2 prints the scan from the highest priority down; only the scan from the lowest
//! priority up reproduces Fig. 3. Bounds saturate at the smallest integer: every rank passes a bound at or below zero,
//! so decisions are the same.

mod options;

use crate::params::ParamError;
use crate::{Arriving, Capacity, Decider, DropReason, FromParams, RankInterval, Room, registers};
use alloc::vec::Vec;
pub use options::{Clamp, OnFull, Order, PushDown, SpPifoParams};

/// SP-PIFO.
///
/// ```
/// use pifolab_sched::{Enqueued, InspectExt, Packet, Scheduler, schedulers::{SpPifo, SpPifoParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut scheduler = SpPifo::new(SpPifoParams::uniform(2, 10)).unwrap();
/// let packet = Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(3), arrival: Time::ZERO };
/// let outcome = scheduler.enqueue(packet, Time::ZERO);
/// assert_eq!(outcome, Enqueued::Admitted { queue: 1, rank: Rank::from(3) });
/// assert_eq!(scheduler.queue_bound(1), Some(3)); // pushed up to the rank that it let in
/// ```
#[derive(Debug)]
pub struct SpPifo {
    /// q_1..q_n of the paper, q_1 first.
    bounds: Vec<i64>,
    /// The bounds before a push-down that a drop may take back (`push-down-first` with `keep`).
    before: Vec<i64>,
    push_down: PushDown,
    on_full: OnFull,
    /// The smallest integer if bounds may fall freely.
    floor: i64,
    order: Order,
}

registers!(SpPifo { bounds } and { before, push_down, on_full, floor, order });

impl FromParams for SpPifo {
    type Params = SpPifoParams;

    /// All bounds start at 0.
    fn from_params(params: SpPifoParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        params.check()?;
        let bounds = alloc::vec![0; params.capacities.len()];
        let decider = Self {
            before: bounds.clone(),
            bounds,
            push_down: params.push_down,
            on_full: params.on_full,
            floor: match params.clamp {
                Clamp::Free => i64::MIN,
                Clamp::AtLeast(floor) => floor,
            },
            order: params.order,
        };
        Ok((decider, params.capacities))
    }
}

impl Decider for SpPifo {
    /// Algorithm 1.
    #[inline]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        if self.order == Order::PushDownFirst {
            return self.push_down_and_scan(packet, queues);
        }
        let r = packet.rank.signed();
        let i = last_reached(&self.bounds, r);
        let fits = queues[i].fits(packet.size);
        if fits || self.on_full == OnFull::Update {
            let before = self.bounds[i];
            self.bounds[i] = r; // push-up
            if i == 0 && r < before {
                self.push_down(r, before);
            }
        }
        if fits { Ok(i) } else { Err(DropReason::Full) }
    }

    fn ranks_of(&self, queue: usize, _queues: &[Room]) -> RankInterval {
        self.bounds.get(queue).copied().map_or(RankInterval::default(), RankInterval::from)
    }

    /// With on-full `update` an inversion may have moved the bound of another queue onto the packet's rank or below:
    /// which queue refused it is then unknown.
    fn refused_at(&self, packet: Arriving, _queues: &[Room]) -> Option<usize> {
        let (rank, first) = (packet.rank.signed(), self.bounds[0]);
        let (bounds, certain) = match (self.order, self.on_full) {
            // The drop restored the bounds, and `before` holds the bounds after the push-down.
            (Order::PushDownFirst, OnFull::Keep) if rank < first => (&self.before, true),
            (Order::ScanFirst, OnFull::Update) => (&self.bounds, first != rank),
            _ => (&self.bounds, true),
        };
        let queue = last_reached(bounds, rank);
        (certain || queue == 0).then_some(queue)
    }
}

/// Scans from the lowest priority up: the first queue whose bound `r` reaches, or queue 1.
#[inline]
fn last_reached(bounds: &[i64], r: i64) -> usize {
    bounds.iter().rposition(|q_i| r >= *q_i).unwrap_or(0)
}

impl SpPifo {
    /// Lets every bound below queue 1 fall, for a packet of rank `r` that found q_1 at `first`.
    fn push_down(&mut self, r: i64, first: i64) {
        let cost = match self.push_down {
            PushDown::Cost => first - r,
            PushDown::Rank => r,
            PushDown::One => 1,
            PushDown::QueueBound | PushDown::QueueBoundOld => {
                let mut above = if self.push_down == PushDown::QueueBound { r } else { first };
                for q_j in &mut self.bounds[1..] {
                    above = core::mem::replace(q_j, above.max(self.floor));
                }
                return;
            }
        };
        for q_j in &mut self.bounds[1..] {
            *q_j = q_j.saturating_sub(cost).max(self.floor);
        }
    }

    /// MetaOpt's order: all bounds fall if the rank is below q_1, then the queue is chosen and its bound moves.
    fn push_down_and_scan(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        let (r, first) = (packet.rank.signed(), self.bounds[0]);
        if r < first {
            self.before.copy_from_slice(&self.bounds);
            self.push_down(r, first);
            self.bounds[0] = match self.push_down {
                PushDown::Cost | PushDown::QueueBound | PushDown::QueueBoundOld => r,
                PushDown::Rank => first.saturating_sub(r).max(self.floor),
                PushDown::One => first.saturating_sub(1).max(self.floor),
            };
        }
        let i = last_reached(&self.bounds, r);
        let fits = queues[i].fits(packet.size);
        if fits || self.on_full == OnFull::Update {
            self.bounds[i] = r;
        } else if r < first {
            core::mem::swap(&mut self.bounds, &mut self.before);
        }
        if fits { Ok(i) } else { Err(DropReason::Full) }
    }
}

#[cfg(test)]
mod tests;
