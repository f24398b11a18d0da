//! RIFO's test as the public simulation does it.

use crate::netbench;
use pifolab_params::{Args, ParamError};
use pifolab_sched::params::FromArgs;
use pifolab_sched::schedulers::{RifoMode, RifoParams};
use pifolab_sched::{Arriving, Capacity, Decider, DropReason, Room};
use pifolab_units::Rank;

/// RIFO of the public simulation.
///
/// Deviations from Algorithm 1: a rank that raises Max never lowers Min; the counter restarts Max and Min below and above
/// all ranks after the test of every T-th packet; and (Max - r) / (Max - Min) must be *at least* the free share, so that
/// beyond kB high ranks pass only where little is free. Ranks are 32-bit integers, scores 64-bit floating point: 0/0
/// refuses.
#[derive(Clone, Copy, Debug)]
pub struct Rifo {
    min: i32,
    max: i32,
    counter: u64,
    tracking_range: u64,
    /// The largest occupancy of at most kB.
    guaranteed: u64,
    total: u64,
}

impl Rifo {
    /// The decider in its first state, and the capacity of its queue. The mode and the reset counter have no effect.
    ///
    /// # Errors
    /// The first parameter that cannot be accepted.
    pub fn new(params: &RifoParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        params.check()?;
        let total = Room::new(params.capacity).total();
        let guaranteed = netbench::guaranteed(params.k, total);
        let tracking_range = params.tracking_range;
        let decider = Self { min: i32::MAX, max: 0, counter: 0, tracking_range, guaranteed, total };
        Ok((decider, vec![params.capacity]))
    }

    /// Reads the parameters that have an effect; `mode` was read.
    ///
    /// # Errors
    /// The first that cannot be accepted.
    pub fn read(args: &mut Args) -> Result<RifoParams, ParamError> {
        let row = |name| RifoParams::INFO.row(name);
        Ok(RifoParams {
            tracking_range: args.given(row("tracking_range_packets"))?,
            k: args.given(row("k"))?,
            mode: RifoMode::default(),
            capacity: pifolab_sched::params::read_capacity(args)?,
            reset_counter: Default::default(),
        })
    }
}

impl Decider for Rifo {
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        // The low 32 bits count.
        let (rank, used) = (packet.rank.get() as i32, queues[0].used());
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
        if used <= self.guaranteed || score >= free_share { Ok(0) } else { Err(DropReason::Admission) }
    }

    fn serves_by_priority(&self) -> bool {
        true
    }

    /// Min and Max, where both were set since the last restart.
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        if 0 <= self.min && self.min <= self.max {
            [self.min, self.max].into_iter().for_each(|register| visit(Rank::saturating(register as u64)));
        }
    }

    /// Min, Max and the counter.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        [self.min.into(), self.max.into(), self.counter as i64].into_iter().for_each(visit);
    }

    fn resume(&mut self, _window: &[Rank], state: &[i64]) {
        let [min, max, counter, ..] = *state else { return };
        (self.min, self.max) = (min as i32, max as i32);
        self.counter = (counter as u64).min(self.tracking_range).min(self.tracking_range - 1);
    }
}
