//! PACKS's test as the published simulation does it.

use super::options::{Occupancy, PacksParams};
use crate::Room;
use crate::schedulers::admission::Arithmetic;
use crate::schedulers::netbench::NetbenchTest;

/// The test in floating point.
#[derive(Clone, Copy, Debug)]
pub(super) struct PublishedTest {
    test: NetbenchTest,
    occupancy: Occupancy,
}

impl PublishedTest {
    /// The test of these options, if it is to be done in floating point.
    pub(super) fn new(params: &PacksParams) -> Option<Self> {
        let test = NetbenchTest::new(params.k, params.below);
        (params.arithmetic == Arithmetic::Netbench).then_some(Self { test, occupancy: params.occupancy })
    }

    /// How many of `queues` a quantile does not pass before the first that it passes. `free_parts` is the free space that counts
    /// for each queue in turn, times the parts that the whole is cut into.
    #[inline(always)]
    pub(super) fn refusing(
        &self,
        quantile: (u64, u64),
        free_parts: impl Iterator<Item = u64>,
        queues: &[Room],
    ) -> usize {
        let total: u64 = queues.iter().map(Room::total).sum();
        let passes = |queue: usize, free_parts: u64| {
            let (share, free) = match self.occupancy {
                Occupancy::PerQueue => (1.0, free_parts),
                Occupancy::Global => {
                    ((queue + 1) as f64 * (1.0 / queues.len() as f64), free_parts / (queue as u64 + 1))
                }
            };
            self.test.passes(quantile, share, free, total)
        };
        free_parts.enumerate().take_while(|(queue, free_parts)| !passes(*queue, *free_parts)).count()
    }
}
