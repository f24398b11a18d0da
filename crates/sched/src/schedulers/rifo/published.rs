//! RIFO's test as the public simulation does it.

use crate::schedulers::netbench;
use pifolab_units::Ratio;

/// The admission test of RIFO's public simulation, on every arrival and in its order.
///
/// Deviations from Algorithm 1: a rank that raises Max never lowers Min; the counter restarts Max and Min below and above
/// all ranks after the test of every T-th packet; and (Max - r) / (Max - Min) must be *at least* the free share, so that
/// beyond kB high ranks pass only where little is free. Ranks are 32-bit integers, scores 64-bit floating point: 0/0
/// refuses.
#[derive(Clone, Copy, Debug)]
pub(super) struct PublishedTest {
    min: i32,
    max: i32,
    counter: u64,
    tracking_range: u64,
    /// The largest occupancy of at most kB.
    guaranteed: u64,
    total: u64,
}

impl PublishedTest {
    pub(super) fn new(tracking_range: u64, k: Ratio, total: u64) -> Self {
        let guaranteed = netbench::guaranteed(k, total);
        Self { min: i32::MAX, max: 0, counter: 0, tracking_range, guaranteed, total }
    }

    /// Shows the registers an arriving rank, of which the low 32 bits count, and says whether it passes with `used` queued.
    pub(super) fn passes(&mut self, rank: u64, used: u64) -> bool {
        let rank = rank as i32;
        if rank > self.max {
            self.max = rank;
        } else if rank < self.min {
            self.min = rank;
        }
        let difference = |lower: i32| f64::from(self.max.wrapping_sub(lower));
        let score = difference(rank) / difference(self.min);
        self.counter += 1;
        if self.counter == self.tracking_range {
            *self = Self { min: i32::MAX, max: i32::MIN, counter: 0, ..*self };
        }
        let free_share = (self.total as f64 - used as f64) / self.total as f64;
        used <= self.guaranteed || score >= free_share
    }

    /// Min and Max, where both were set since the last restart.
    pub(super) fn range(&self) -> Option<(u64, u64)> {
        let (min, max) = (u64::try_from(self.min).ok()?, u64::try_from(self.max).ok()?);
        (min <= max).then_some((min, max))
    }

    /// Min, Max and the counter.
    pub(super) fn registers(&self) -> [i64; 3] {
        [self.min.into(), self.max.into(), self.counter as i64]
    }

    /// Goes on with these registers.
    pub(super) fn resume(&mut self, min: i64, max: i64, counter: u64) {
        (self.min, self.max, self.counter) = (min as i32, max as i32, counter.min(self.tracking_range - 1));
    }
}
