//! PACKS's admission test as in the published simulation.

use crate::netbench::NetbenchTest;
use pifolab_params::ParamError;
use pifolab_sched::schedulers::{Occupancy, PacksParams, QuantileTest, RankQuantile, deciders};
use pifolab_sched::{Arriving, Capacity, Decider, DropReason, FromParams, RankInterval, Register, Registers, Room};

/// PACKS with its test in floating point.
#[derive(Clone, Debug)]
pub struct Packs {
    packs: deciders::Packs,
    test: NetbenchTest,
    occupancy: Occupancy,
    fall_through: bool,
}

impl Packs {
    /// Creates the decider in its initial state; also returns the capacities of its queues.
    pub fn new(params: PacksParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        let test = NetbenchTest::new(params.k, params.below);
        let (occupancy, fall_through) = (params.occupancy, params.fall_through);
        let (packs, capacities) = deciders::Packs::from_params(params)?;
        Ok((Self { packs, test, occupancy, fall_through }, capacities))
    }
}

impl QuantileTest for Packs {
    fn packs(&mut self) -> &mut deciders::Packs {
        &mut self.packs
    }

    fn packs_now(&self) -> &deciders::Packs {
        &self.packs
    }

    fn first(&self, quantile: RankQuantile, queues: &[Room]) -> Option<usize> {
        let total: u64 = queues.iter().map(Room::total).sum();
        self.packs.free(queues).enumerate().position(|(queue, free)| {
            let (share, free) = match self.occupancy {
                Occupancy::PerQueue => (1.0, free),
                Occupancy::Global => ((queue + 1) as f64 * (1.0 / queues.len() as f64), free / (queue as u64 + 1)),
            };
            self.test.passes(quantile, share, free, total)
        })
    }
}

impl Registers for Packs {
    fn registers(&self, each: &mut dyn FnMut(&dyn Register)) {
        self.packs.registers(each);
    }

    fn registers_mut(&mut self, each: &mut dyn FnMut(&mut dyn Register)) {
        self.packs.registers_mut(each);
    }
}

impl Decider for Packs {
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        let quantile = self.packs.take_in(packet.rank);
        let first = self.first(quantile, queues).ok_or(DropReason::Admission)?;
        let last = if self.fall_through { queues.len() } else { first + 1 };
        (first..last).find(|queue| queues[*queue].fits(packet.size)).ok_or(DropReason::Full)
    }

    /// The ranks that the exact test admits.
    fn ranks_of(&self, queue: usize, queues: &[Room]) -> RankInterval {
        self.packs.ranks_of(queue, queues)
    }

    fn refused_at(&self, packet: Arriving, queues: &[Room]) -> Option<usize> {
        let window = self.packs.window();
        self.first(window.quantile(packet.rank), queues).filter(|_| !window.enters_last())
    }
}
