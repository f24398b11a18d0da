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
//! - mode: `alg1` (Algorithm 1, default), `eq3` (the division-free form of eq. 3), `pow2` (the switch: eq. 3 with every
//!   factor replaced by a power of two) or `netbench` (the published simulation, which compares the reversed score with
//!   the free share);
//! - reset counter: what the counter restarts at; 1 as Algorithm 1 says (period T, default), or 0 as the text says
//!   (period T + 1);
//! - occupancy delay: by how many arrivals the length that the test sees is late (section V; default 0).
//!
//! Cost: O(1) per operation. A switch needs three registers (Min, Max, counter), and for `pow2` three tables of 15
//! entries and two of 256.
//!
//! Deviation from PIFO: what is admitted leaves first-in first-out, so RIFO approximates which packets leave, not their
//! order; admission looks at the range of ranks, not at their distribution.
//!
//! Deviations: eq. 3 is not Algorithm 1 rewritten: with k > 0 it divides the free share by 1 - k and admits more. The
//! masks of Table I taken to the letter match nothing but the power itself; exponents are floor(log2 v) here, a product
//! with a factor 0 is 0, and (1-k)B takes the nearest power of two (ties the lower one, at least 1). Where ranks or
//! capacities need more than 16 bits, the two operands of a ratio are shifted right together until the larger fits.

mod division_free;
mod options;
mod published;
mod variation;

use super::headroom::Headroom;
use crate::params::ParamError;
use crate::{Arriving, Capacity, Decider, Decision, DropReason, FromParams, Kept, Room};
use alloc::boxed::Box;
use alloc::vec::Vec;
use division_free::{Eq3, Pow2};
pub use options::{ResetCounter, RifoMode, RifoParams};
use pifolab_units::Rank;
use published::PublishedTest;
use variation::Variation;

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
#[derive(Clone, Debug)]
pub struct Rifo {
    /// Smallest and largest rank of the tracking range; `min > max` before the first packet.
    min: u64,
    max: u64,
    counter: u64,
    tracking_range: u64,
    restart: u64,
    test: Test,
    /// What departs from Algorithm 1, if anything does.
    variation: Option<Box<Variation>>,
}

/// The admission test, with what can be computed beforehand.
#[derive(Clone, Debug)]
enum Test {
    /// With floor(kB), up to which l passes whatever the rank.
    Alg1(u64),
    Eq3(Eq3),
    Pow2(Pow2),
}

impl FromParams for Rifo {
    type Params = RifoParams;

    fn from_params(params: RifoParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        params.check()?;
        let total = Room::new(params.capacity).total();
        let headroom = Headroom::new(params.k, total);
        let decider = Self {
            test: match params.mode {
                RifoMode::Alg1 => Test::Alg1(headroom.guaranteed()),
                RifoMode::Eq3 | RifoMode::Netbench => Test::Eq3(Eq3::new(headroom)),
                RifoMode::Pow2 => Test::Pow2(Pow2::new(headroom)),
            },
            min: u64::MAX,
            max: 0,
            counter: 0,
            tracking_range: params.tracking_range,
            restart: params.reset_counter as u64,
            variation: Variation::new(&params)?,
        };
        Ok((decider, alloc::vec![params.capacity]))
    }
}

impl Decider for Rifo {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Decision {
        let (rank, queue) = (packet.rank.get(), &queues[0]);
        let passes = if self.variation.is_none() {
            self.track(rank);
            self.admits(rank, queue.used(), queue.total())
        } else {
            self.passes_in_variation(rank, queue)
        };
        Decision::queue_if(passes, 0, DropReason::Admission)
    }

    #[inline(always)]
    fn serves_by_priority(&self) -> bool {
        true
    }

    /// Its two registers stand for a window: Min, then Max.
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        if let Some((min, max)) = self.range() {
            visit(min);
            visit(max);
        }
    }

    fn kept(&self) -> Kept {
        self.variation.as_ref().map_or(Kept::default(), |variation| variation.delayed.kept())
    }

    /// Min and Max (-1 and 0 before the first packet), then the counter, then the lengths that the next arrivals see.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        let registers = match self.published() {
            Some(published) => published.registers(),
            None => [self.min as i64, self.max as i64, self.counter as i64],
        };
        registers.into_iter().for_each(&mut *visit);
        if let Some(variation) = &self.variation {
            variation.delayed.visit_state(visit);
        }
    }

    /// A counter beyond a shorter tracking range ends it with the next packet.
    fn resume(&mut self, _window: &[Rank], state: &[i64]) {
        let [min, max, counter, ..] = *state else { return };
        let counter = (counter as u64).min(self.tracking_range);
        if let Some(published) = self.variation.as_mut().and_then(|variation| variation.published.as_mut()) {
            published.resume(min, max, counter);
        } else {
            (self.min, self.max, self.counter) = (min as u64, max as u64, counter);
        }
    }
}

impl Rifo {
    /// Min and Max of the tracking range; `None` before the first packet.
    pub fn range(&self) -> Option<(Rank, Rank)> {
        let rank = Rank::saturating;
        if let Some(published) = self.published() {
            return published.range().map(|(min, max)| (rank(min), rank(max)));
        }
        (self.min <= self.max).then(|| (rank(self.min), rank(self.max)))
    }

    #[inline]
    fn track(&mut self, rank: u64) {
        if self.counter == self.tracking_range {
            (self.min, self.max) = (rank, rank);
            self.counter = self.restart;
        } else {
            self.min = rank.min(self.min);
            self.max = rank.max(self.max);
            self.counter += 1;
        }
    }

    /// Shows the registers an arriving rank, and says whether the admission test lets it pass, for the variation.
    #[inline(never)]
    fn passes_in_variation(&mut self, rank: u64, queue: &Room) -> bool {
        let variation = self.variation.as_mut().expect("called only where there is one");
        let used = variation.delayed.used(queue);
        if let Some(published) = &mut variation.published {
            return published.passes(rank, used);
        }
        self.track(rank);
        self.admits(rank, used, queue.total())
    }

    fn published(&self) -> Option<&PublishedTest> {
        self.variation.as_ref()?.published.as_ref()
    }

    /// Whether a rank within the tracked range may enter.
    #[inline]
    fn admits(&self, rank: u64, used: u64, total: u64) -> bool {
        let range = self.max - self.min;
        range == 0 || self.test.admits(rank - self.min, range, used, total)
    }
}

impl Test {
    /// Whether `above` = r - Min of a `range` = Max - Min may enter a queue of `total` with `used` in it.
    #[inline]
    fn admits(&self, above: u64, range: u64, used: u64, total: u64) -> bool {
        let free = total - used;
        match self {
            Self::Alg1(guaranteed) => {
                used <= *guaranteed || u128::from(above) * u128::from(total) <= u128::from(free) * u128::from(range)
            }
            Self::Eq3(test) => test.admits(above, range, free),
            Self::Pow2(test) => test.admits(above, range, free),
        }
    }
}

#[cfg(test)]
mod tests;
