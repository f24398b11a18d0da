//! Optimal fixed bounds: the mapping of ranks to strict-priority queues with the least expected unpifoness for a known
//! rank distribution.
//!
//! Paper: Alcoz, Dietmüller, Vanbever, "SP-PIFO", NSDI 2020, eq. 4 and 5; the paper approaches this optimum by gradient
//! descent, here it is computed.
//!
//! Parameters:
//! - n queues and their capacities (packets or bytes);
//! - weights p(0), p(1), ... of the ranks from 0 up (integers, any common scale; default: ranks 0 to 99 alike);
//! - cost of a pair r < r' in one queue: `difference`, r' - r (default), or `one`. The bounds minimise the sum over
//!   queues and pairs of p(r) p(r') cost.
//!
//! Cost: O(log n) per enqueue, O(1) per dequeue; O(n R log R) once, for R ranks, by divide and conquer. A switch needs one
//! range-match table.
//!
//! Departure from PIFO: as fixed strict priorities; the least inversions that fixed bounds can have in expectation.
//!
//! Deviations: among equally good bounds the smallest are taken. Eq. 5 counts each pair once. The cost of a range of
//! ranks fulfils the quadrangle inequality, so the best last bound moves one way only, and the optimal bounds form a
//! lattice whose smallest element is what is returned.

use super::strict_priority::{StrictPriority, StrictPriorityParams};
use crate::params::{self, Args, FromArgs, Info, Param, ParamError, choices};
use crate::{Arriving, Capacity, Decider, Decision, FromParams, RankInterval, Room};
use alloc::vec::Vec;
use pifolab_units::Rank;

choices! {
    /// What a pair of ranks r < r' in one queue costs.
    #[derive(Default)]
    pub enum PairCost {
        /// r' - r.
        #[default]
        Difference = "difference": "the difference of the ranks",
        /// 1.
        One = "one": "one for every pair of different ranks",
    }
}

/// What an [`SpPifoOptimal`](super::SpPifoOptimal) is built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpPifoOptimalParams {
    /// The capacity of each queue, highest priority first.
    pub capacities: Vec<Capacity>,
    /// The weight of each rank from 0 up; at least one, not all 0.
    pub weights: Vec<u32>,
    /// What a pair in one queue costs.
    pub cost: PairCost,
}

/// Strict-priority queues with the best fixed bounds for a rank distribution.
///
/// ```
/// use pifolab_sched::{Capacity, Inspect, schedulers::{PairCost, SpPifoOptimal, SpPifoOptimalParams}};
///
/// let scheduler: SpPifoOptimal = SpPifoOptimal::new(SpPifoOptimalParams {
///     capacities: vec![Capacity::Packets(10); 2],
///     weights: vec![0, 2, 1, 1, 2, 1], // the distribution of the paper's Fig. 4
///     cost: PairCost::Difference,
/// }).unwrap();
/// assert_eq!(scheduler.queue_bound(1), Some(3));
/// ```
#[derive(Debug)]
pub struct SpPifoOptimal {
    fixed: StrictPriority,
}

clone_by_field!(SpPifoOptimal { fixed });

impl FromParams for SpPifoOptimal {
    type Params = SpPifoOptimalParams;

    fn from_params(params: SpPifoOptimalParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        let name = SpPifoOptimalParams::INFO.name;
        params::check_queue_capacities(name, &params.capacities)?;
        if params.weights.len() > MAX_RANKS || params.weights.iter().all(|weight| *weight == 0) {
            let shown = alloc::format!("{} weights", params.weights.len());
            let expected = alloc::format!("expected 1 to {MAX_RANKS} weights, at least one above 0");
            return Err(WEIGHTS.error_because(name, shown, expected));
        }
        let bounds = optimal_bounds(&params.weights, params.capacities.len(), params.cost);
        let fixed = StrictPriorityParams { capacities: params.capacities, bounds };
        let (fixed, capacities) = StrictPriority::from_params(fixed)?;
        Ok((Self { fixed }, capacities))
    }
}

impl Decider for SpPifoOptimal {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Decision {
        self.fixed.decide(packet, queues)
    }

    fn ranks_of(&self, queue: usize, queues: &[Room]) -> RankInterval {
        self.fixed.ranks_of(queue, queues)
    }

    fn refused_at(&self, packet: Arriving, queues: &[Room]) -> Option<usize> {
        self.fixed.refused_at(packet, queues)
    }
}

/// The bounds of `queues` queues with the least expected unpifoness for ranks of these weights (the weight of rank 0
/// first); the smallest ones among several.
///
/// # Panics
/// If there is no queue, or more than 65,536 weights.
pub fn optimal_bounds(weights: &[u32], queues: usize, cost: PairCost) -> Vec<Rank> {
    assert!(queues > 0 && weights.len() <= MAX_RANKS, "{queues} queues, {} ranks", weights.len());
    let ranks = weights.len();
    let sums = Sums::new(weights, cost);
    // More queues than ranks: the rest hold nothing, before all others, where bounds are smallest.
    let used = queues.min(ranks.max(1));
    // best[r]: the least cost of the ranks below r in the queues so far; chosen[q][r]: the last of their bounds.
    let mut best: Vec<u128> = (0..=ranks).map(|end| sums.cost(0, end)).collect();
    let mut chosen: Vec<Vec<u32>> = Vec::with_capacity(used);
    for _ in 1..used {
        let mut next = alloc::vec![u128::MAX; ranks + 1];
        let mut starts = alloc::vec![0u32; ranks + 1];
        Layer { sums: &sums, best: &best, next: &mut next, starts: &mut starts }.fill(0, ranks, 0, ranks);
        best = next;
        chosen.push(starts);
    }
    let mut bounds = alloc::vec![Rank::ZERO; queues];
    let mut end = ranks;
    for (bound, starts) in bounds.iter_mut().rev().zip(chosen.iter().rev()) {
        end = starts[end] as usize;
        *bound = Rank::saturating(end as u64);
    }
    bounds
}

/// One more queue: for each end of the ranks covered, where its queue best starts.
struct Layer<'a> {
    sums: &'a Sums,
    best: &'a [u128],
    next: &'a mut [u128],
    starts: &'a mut [u32],
}

impl Layer<'_> {
    /// Fills the ends `from..=to`, whose best starts lie in `low..=high`: the middle one splits both ranges.
    fn fill(&mut self, from: usize, to: usize, low: usize, high: usize) {
        let middle = from + (to - from) / 2;
        for start in low..=high.min(middle) {
            let cost = self.best[start] + self.sums.cost(start, middle);
            if cost < self.next[middle] {
                self.next[middle] = cost;
                self.starts[middle] = start as u32;
            }
        }
        let split = self.starts[middle] as usize;
        if from < middle {
            self.fill(from, middle - 1, low, split);
        }
        if middle < to {
            self.fill(middle + 1, to, split, high);
        }
    }
}

/// Running sums over the ranks, from which the cost of any range follows in O(1).
struct Sums {
    /// Of p(r).
    weight: Vec<u128>,
    /// Of p(r) x(r), where x is what a pair's cost is the difference of (the rank), or 1 for a cost of 1.
    moment: Vec<u128>,
    /// The cost of all ranks below in one queue.
    pairs: Vec<u128>,
    cost: PairCost,
}

impl Sums {
    fn new(weights: &[u32], cost: PairCost) -> Self {
        let mut sums = Self { weight: alloc::vec![0], moment: alloc::vec![0], pairs: alloc::vec![0], cost };
        let (mut weight, mut moment, mut pairs) = (0u128, 0u128, 0u128);
        for (rank, p) in weights.iter().enumerate() {
            let (rank, p) = (rank as u128, u128::from(*p));
            pairs += p * match cost {
                PairCost::Difference => rank * weight - moment,
                PairCost::One => weight,
            };
            weight += p;
            moment += p * rank;
            sums.weight.push(weight);
            sums.moment.push(moment);
            sums.pairs.push(pairs);
        }
        sums
    }

    /// What the ranks `start..end` cost in one queue: all pairs below `end`, without those below `start` and without
    /// those across.
    fn cost(&self, start: usize, end: usize) -> u128 {
        let weight = self.weight[end] - self.weight[start];
        let across = match self.cost {
            PairCost::Difference => {
                let moment = self.moment[end] - self.moment[start];
                self.weight[start] * moment - self.moment[start] * weight
            }
            PairCost::One => self.weight[start] * weight,
        };
        self.pairs[end] - self.pairs[start] - across
    }
}

/// The most ranks: 2^16 of the largest weights keep every product below 2^128.
const MAX_RANKS: usize = 1 << 16;

const WEIGHTS: Param = Param::integers("weights", 0, u32::MAX as u64)
    .means("ranks 0 to 99 are equally frequent")
    .doc("How frequent each rank is, from rank 0 up, on any common scale.");

const COST: Param = Param::choice::<PairCost>("cost")
    .or_word(PairCost::Difference.word())
    .doc("What a pair of ranks in one queue costs.");

impl FromArgs for SpPifoOptimalParams {
    const INFO: Info = Info {
        name: "sp-pifo-optimal",
        summary: "The fixed bounds with the least expected unpifoness for a known rank distribution.",
        paper: "SP-PIFO, NSDI 2020, eq. 4 and 5",
        departure: "Ranks that share a queue leave in arrival order; a packet is dropped when its own queue is full, \
                    whatever its rank; nothing adapts.",
        state: "one range-match table with an entry per queue",
        cost: "O(log queues) per enqueue, O(1) per dequeue; O(queues x ranks x log ranks) once",
        params: &[params::QUEUES, params::QUEUE_CAPACITY_PACKETS, params::QUEUE_CAPACITY_BYTES, WEIGHTS, COST],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self {
            capacities: params::read_queue_capacities(args)?,
            weights: args.get(&WEIGHTS)?.unwrap_or_else(|| alloc::vec![1; 100]),
            cost: args.given(&COST)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::SpPifoOptimal;
    use alloc::string::ToString;

    fn bounds(weights: &[u32], queues: usize, cost: PairCost) -> Vec<u64> {
        optimal_bounds(weights, queues, cost).into_iter().map(Rank::get).collect()
    }

    #[test]
    fn the_optimum_of_the_papers_figure_4_is_what_its_gradient_finds() {
        assert_eq!(bounds(&[0, 2, 1, 1, 2, 1], 2, PairCost::Difference), [0, 3]);
    }

    #[test]
    fn equally_frequent_ranks_are_spread_evenly() {
        assert_eq!(bounds(&[1; 60], 3, PairCost::Difference), [0, 20, 40]);
        assert_eq!(bounds(&[7; 60], 3, PairCost::One), [0, 20, 40]);
    }

    #[test]
    fn a_cost_of_one_separates_frequent_ranks_and_a_difference_separates_distant_ones() {
        let weights = [9, 9, 0, 0, 0, 0, 0, 0, 0, 2];
        assert_eq!(bounds(&weights, 2, PairCost::One), [0, 1]);
        assert_eq!(bounds(&weights, 2, PairCost::Difference), [0, 2], "2 to 9 are as good: the smallest is taken");
    }

    #[test]
    fn spare_queues_come_first_and_hold_nothing() {
        assert_eq!(bounds(&[1, 1], 4, PairCost::Difference), [0, 0, 0, 1]);
        assert_eq!(bounds(&[5], 3, PairCost::One), [0, 0, 0]);
    }

    #[test]
    fn the_largest_weights_and_ranks_do_not_overflow() {
        let found = bounds(&alloc::vec![u32::MAX; MAX_RANKS], 2, PairCost::Difference);
        assert_eq!(found, [0, MAX_RANKS as u64 / 2]);
    }

    #[test]
    fn weights_that_say_nothing_are_refused() {
        for weights in [alloc::vec![], alloc::vec![0, 0]] {
            let capacities = alloc::vec![Capacity::Packets(1)];
            let params = SpPifoOptimalParams { capacities, weights, cost: PairCost::One };
            let error = <SpPifoOptimal>::new(params).unwrap_err().to_string();
            assert!(error.ends_with("expected 1 to 65536 weights, at least one above 0"), "{error}");
        }
    }
}
