//! PACKS with a geometric map: fixed shares of the window's ranks belong to the queues, and shrink so that the slack behind the
//! queues shrinks geometrically to eps at a given load. Admission is that of PACKS.
//!
//! No paper: lab/pages/slack.md.
//!
//! Parameters: those of PACKS; eps and load ([`GeometricMap`]).
//!
//! Cost: that of PACKS.
//!
//! Deviation from PIFO: that of PACKS.

use super::admission::RankQuantile;
use super::packs::{Packs, PacksParams};
use crate::params::{FromArgs, ParamError};
use crate::schedulers::geometric::{Ends, GeometricMap};
use crate::{Arriving, Decider, DropReason, RankInterval, Room, registers};

/// PACKS with a test of quantiles: the one of Algorithm 1, or another.
pub trait QuantileTest: Decider {
    /// The PACKS inside, with its window.
    fn packs(&mut self) -> &mut Packs;

    /// The PACKS inside, read-only.
    fn packs_now(&self) -> &Packs;

    /// The first queue whose test the quantile passes.
    fn first(&self, quantile: RankQuantile, queues: &[Room]) -> Option<usize>;
}

impl QuantileTest for Packs {
    fn packs(&mut self) -> &mut Packs {
        self
    }

    fn packs_now(&self) -> &Packs {
        self
    }

    fn first(&self, quantile: RankQuantile, queues: &[Room]) -> Option<usize> {
        Packs::first(self, quantile, queues)
    }
}

/// PACKS with a geometric map.
#[derive(Debug)]
pub struct GeometricPacks<P> {
    packs: P,
    /// The quantiles that each queue takes.
    ends: Ends,
}

registers!(<P> GeometricPacks around packs {} and { ends });

impl<P: QuantileTest> GeometricPacks<P> {
    /// Gives `packs` this map of its `queues` queues.
    ///
    /// # Errors
    /// An eps or a load out of its range.
    pub fn new(packs: P, map: GeometricMap, queues: usize) -> Result<Self, ParamError> {
        Ok(Self { packs, ends: map.ends(PacksParams::INFO.name, queues)? })
    }

    /// The queue of a quantile that passes the test of any queue.
    fn meant(&self, quantile: RankQuantile, queues: &[Room]) -> Option<usize> {
        self.packs.first(quantile, queues).map(|_| self.ends.queue(quantile))
    }
}

impl<P: QuantileTest> Decider for GeometricPacks<P> {
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        let quantile = self.packs.packs().take_in(packet.rank);
        let first = self.meant(quantile, queues).ok_or(DropReason::Admission)?;
        let last = if self.packs.packs_now().falls_through() { queues.len() } else { first + 1 };
        (first..last).find(|queue| queues[*queue].fits(packet.size)).ok_or(DropReason::Full)
    }

    /// The largest rank, up to the highest seen, whose quantile belongs to `queue` or one before it; for the last queue that of
    /// PACKS.
    fn ranks_of(&self, queue: usize, queues: &[Room]) -> RankInterval {
        if self.ends.is_last(queue) {
            return self.packs.ranks_of(queue, queues);
        }
        let packs = self.packs.packs_now();
        let (window, highest) = (packs.window(), packs.highest());
        let count = self.ends.largest_count(queue, window.held());
        RankInterval::up_to(count.map_or(-1, |count| window.largest_rank_with(count, highest)))
    }

    fn refused_at(&self, packet: Arriving, queues: &[Room]) -> Option<usize> {
        let window = self.packs.packs_now().window();
        self.meant(window.quantile(packet.rank), queues).filter(|_| !window.enters_last())
    }
}
