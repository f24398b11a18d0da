//! RIFO's admission test as in the public simulation.

use crate::netbench;
use pifolab_params::{Args, ParamError};
use pifolab_sched::params::FromArgs;
use pifolab_sched::schedulers::{RifoMode, RifoParams};
use pifolab_sched::{Arriving, Capacity, Decider, DropReason, Register, Room, registers};
use pifolab_units::Rank;

/// RIFO of the public simulation.
///
/// Deviations from Algorithm 1: a rank that raises Max never lowers Min. After the test of every T-th packet, the
/// counter resets Min above and Max below all ranks. (Max - r) / (Max - Min) must be *at least* the free share, so
/// above kB high ranks pass only if little space is free. Ranks are 32-bit integers, scores are 64-bit floating point,
/// and 0/0 refuses the packet.
#[derive(Debug)]
pub struct Rifo {
    range: Range,
    counter: u64,
    tracking_range: u64,
    /// The largest occupancy of at most kB.
    guaranteed: u64,
    total: u64,
}

registers!(Rifo { range, counter } and { tracking_range, guaranteed, total });

/// Min and Max.
#[derive(Clone, Copy, Debug)]
struct Range {
    min: i32,
    max: i32,
}

impl Register for Range {
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        [self.min, self.max].into_iter().for_each(|rank| visit(rank.into()));
    }

    /// Visits both ends if both were set since the last reset.
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        if 0 <= self.min && self.min <= self.max {
            [self.min, self.max].into_iter().for_each(|rank| visit(Rank::saturating(rank as u64)));
        }
    }

    fn resume(&mut self, _window: &[Rank], state: &[i64]) {
        if let [min, max] = *state {
            (self.min, self.max) = (min as i32, max as i32);
        }
    }
}

impl Rifo {
    /// Creates the decider in its initial state; also returns the capacity of its queue. The mode and the reset counter
    /// have no effect.
    pub fn new(params: &RifoParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        params.check()?;
        let total = Room::new(params.capacity).total();
        let guaranteed = netbench::guaranteed(params.k, total);
        let tracking_range = params.tracking_range;
        let range = Range { min: i32::MAX, max: 0 };
        let decider = Self { range, counter: 0, tracking_range, guaranteed, total };
        Ok((decider, vec![params.capacity]))
    }

    /// Reads the parameters that have an effect; the caller has read `mode`.
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
        // Only the low 32 bits of the rank are used.
        let (rank, used) = (packet.rank.get() as i32, queues[0].used());
        let Range { min, max } = &mut self.range;
        if rank > *max {
            *max = rank;
        } else if rank < *min {
            *min = rank;
        }
        let difference = |lower: i32| f64::from(max.wrapping_sub(lower));
        let score = difference(rank) / difference(*min);
        self.counter += 1;
        // The counter can exceed the range if a control plane has shortened it.
        if self.counter >= self.tracking_range {
            self.range = Range { min: i32::MAX, max: i32::MIN };
            self.counter = 0;
        }
        let free_share = (self.total as f64 - used as f64) / self.total as f64;
        if used <= self.guaranteed || score >= free_share { Ok(0) } else { Err(DropReason::Admission) }
    }
}
