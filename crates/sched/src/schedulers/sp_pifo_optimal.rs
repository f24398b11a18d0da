//! Optimal fixed bounds: the mapping of ranks to strict-priority queues with the least expected unpifoness for a known
//! rank distribution.
//!
//! Paper: Alcoz, Dietmüller, Vanbever, "SP-PIFO", NSDI 2020, eq. 4 and 5; the paper approaches this optimum by gradient
//! descent, here it is computed.
//!
//! Parameters:
//! - n queues and their capacities (packets or bytes);
//! - weights p(0), p(1), ... of the ranks from 0 up (integers, any common scale; default: ranks 0 to 99 alike);
//! - cost of a queue: over its pairs r < r', the sum of p(r) p(r') (r' - r) (`difference`, default) or of p(r) p(r') (`one`); for
//!   the ranks lo to hi - 1, whose weights sum to P, P (hi - lo - 1) / 2 (`upper`), or `difference` over P (`exact`);
//! - combine: whether the bounds minimise the sum over queues (default) or the largest (`max`).
//!
//! Cost: O(log n) per enqueue, O(1) per dequeue; O(n R log R) once, for R ranks, by divide and conquer (`exact`: O(n R^2)). A switch needs one
//! range-match table.
//!
//! Deviation from PIFO: as fixed strict priorities; the least inversions that fixed bounds can have in expectation.
//!
//! Deviations: from the last queue back, each takes the smallest start that is optimal for the ranks below its end; under sums over
//! pairs, whose cost fulfils the quadrangle inequality, these are the smallest bounds of all. Eq. 5 counts each pair once. Costs over
//! P have as many binary places as fit in 128 bits; sums that differ by no more than their rounding count as equal.

use super::strict_priority::{StrictPriority, StrictPriorityParams};
use crate::params::{self, Args, FromArgs, Info, Param, ParamError, choices};
use crate::{Arriving, Capacity, Decider, DropReason, FromParams, RankInterval, Room, registers};
use alloc::vec::Vec;
use pifolab_units::Rank;

choices! {
    /// The cost of the ranks in one queue.
    #[derive(Default)]
    pub enum QueueCost {
        #[default]
        Difference = "difference": "the difference of the ranks of each pair",
        One = "one": "one for every pair of different ranks",
        /// P (hi - lo - 1) / 2.
        Upper = "upper": "half the queue's range of ranks times its share of packets",
        /// The sum over pairs of p(r) p(r') (r' - r), over P.
        Exact = "exact": "the differences of its pairs over its share of packets",
    }
}

choices! {
    /// How the costs of the queues are combined.
    #[derive(Default)]
    pub enum Combine {
        #[default]
        Sum = "sum": "the sum over queues is smallest",
        Max = "max": "the largest cost of a queue is smallest",
    }
}

/// The parameters of [`SpPifoOptimal`](super::SpPifoOptimal).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpPifoOptimalParams {
    /// The capacity of each queue, highest priority first.
    pub capacities: Vec<Capacity>,
    /// The weight of each rank from 0 up; at least one, not all 0.
    pub weights: Vec<u32>,
    /// The cost of a queue.
    pub cost: QueueCost,
    /// How the costs of the queues are combined.
    pub combine: Combine,
}

/// Strict-priority queues with the best fixed bounds for a rank distribution.
///
/// ```
/// use pifolab_sched::{Capacity, InspectExt, schedulers::{Combine, QueueCost, SpPifoOptimal, SpPifoOptimalParams}};
///
/// let scheduler: SpPifoOptimal = SpPifoOptimal::new(SpPifoOptimalParams {
///     capacities: vec![Capacity::Packets(10); 2],
///     weights: vec![0, 2, 1, 1, 2, 1], // the distribution of the paper's Fig. 4
///     cost: QueueCost::Difference,
///     combine: Combine::Sum,
/// }).unwrap();
/// assert_eq!(scheduler.queue_bound(1), Some(3));
/// ```
#[derive(Debug)]
pub struct SpPifoOptimal {
    fixed: StrictPriority,
}

registers!(SpPifoOptimal {} and { fixed });

impl FromParams for SpPifoOptimal {
    type Params = SpPifoOptimalParams;

    fn from_params(params: SpPifoOptimalParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        let name = SpPifoOptimalParams::INFO.name;
        params::check_queue_capacities(name, &params.capacities)?;
        let most = most_weights(params.cost, params.combine);
        if params.weights.len() > most || params.weights.iter().all(|weight| *weight == 0) {
            let shown = alloc::format!("{} weights", params.weights.len());
            let expected = alloc::format!("expected 1 to {most} weights, at least one above 0");
            return Err(WEIGHTS.error_because(name, shown, expected));
        }
        let weights: Vec<u64> = params.weights.iter().copied().map(u64::from).collect();
        let bounds = optimal_bounds(&weights, params.capacities.len(), params.cost, params.combine);
        let fixed = StrictPriorityParams { capacities: params.capacities, bounds };
        let (fixed, capacities) = StrictPriority::from_params(fixed)?;
        Ok((Self { fixed }, capacities))
    }
}

impl Decider for SpPifoOptimal {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        self.fixed.decide(packet, queues)
    }

    fn ranks_of(&self, queue: usize, queues: &[Room]) -> RankInterval {
        self.fixed.ranks_of(queue, queues)
    }

    fn refused_at(&self, packet: Arriving, queues: &[Room]) -> Option<usize> {
        self.fixed.refused_at(packet, queues)
    }
}

/// The bounds of `queues` queues that cost least for ranks of these weights (the weight of rank 0 first). From the last queue back,
/// each takes the smallest start that is optimal for the ranks below its end.
///
/// ```
/// use pifolab_sched::schedulers::{Combine, QueueCost, optimal_bounds};
/// use pifolab_units::Rank;
///
/// let bounds = optimal_bounds(&[1; 60], 3, QueueCost::Upper, Combine::Max);
/// assert_eq!(bounds, [0, 20, 40].map(Rank::saturating));
/// ```
///
/// # Panics
/// If there is no queue, or more weights than 65,536 (with [`QueueCost::Exact`] and [`Combine::Sum`] 2048), or if the weights sum
/// up to more than 2^48.
pub fn optimal_bounds(weights: &[u64], queues: usize, cost: QueueCost, combine: Combine) -> Vec<Rank> {
    assert!(queues > 0 && weights.len() <= most_weights(cost, combine), "{queues} queues, {} ranks", weights.len());
    assert!(weights.iter().map(|weight| u128::from(*weight)).sum::<u128>() <= 1 << 48, "the weights are too large");
    let ranks = weights.len();
    let sums = Sums::new(weights, cost);
    // With more queues than ranks the surplus queues come first, where bounds are smallest, and stay empty.
    let used = queues.min(ranks.max(1));
    // best[r]: the least cost of the ranks below r in the queues so far; chosen[q][r]: the last of their bounds.
    let mut best: Vec<u128> = (0..=ranks).map(|end| sums.cost(0, end)).collect();
    let mut chosen: Vec<Vec<u32>> = Vec::with_capacity(used);
    for _ in 1..used {
        let mut next = alloc::vec![u128::MAX; ranks + 1];
        let mut starts = alloc::vec![0u32; ranks + 1];
        let mut layer = Layer { sums: &sums, best: &best, next: &mut next, starts: &mut starts };
        match (combine, cost) {
            (Combine::Max, _) => layer.fill_by_largest(),
            (Combine::Sum, QueueCost::Exact) => layer.fill_one_by_one(used as u128),
            (Combine::Sum, _) => layer.fill(0, ranks, 0, ranks),
        }
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

/// The step to one more queue: for each end of the covered ranks, the best start of the last queue.
struct Layer<'a> {
    sums: &'a Sums,
    best: &'a [u128],
    next: &'a mut [u128],
    starts: &'a mut [u32],
}

impl Layer<'_> {
    /// Fills the ends `from..=to`, whose best starts lie in `low..=high`: the middle one splits both ranges. For costs that
    /// fulfil the quadrangle inequality.
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

    /// Tries every start for every end. Sums that differ by no more than `rounding` count as equal.
    fn fill_one_by_one(&mut self, rounding: u128) {
        for end in 0..self.next.len() {
            let cost = |start: &usize| self.best[*start] + self.sums.cost(*start, end);
            let least = (0..=end).map(|start| cost(&start)).min().expect("there is one");
            let first = (0..=end).find(|start| cost(start) <= least + rounding).expect("the least is one");
            self.next[end] = least;
            self.starts[end] = first as u32;
        }
    }

    /// For [`Combine::Max`]: with a later start the cost of the queues before grows, and the cost of this one falls.
    fn fill_by_largest(&mut self) {
        for end in 0..self.next.len() {
            let first = |holds: &dyn Fn(usize) -> bool| {
                let (mut low, mut high) = (0, end);
                while low < high {
                    let middle = low + (high - low) / 2;
                    if holds(middle) { high = middle } else { low = middle + 1 }
                }
                low
            };
            let cost = |start: usize| self.sums.cost(start, end);
            let crossing = first(&|start| self.best[start] >= cost(start));
            let largest = |start: usize| self.best[start].max(cost(start));
            let least = largest(crossing).min(largest(crossing.saturating_sub(1)));
            self.next[end] = least;
            self.starts[end] = first(&|start| cost(start) <= least) as u32;
        }
    }
}

/// Running sums over the ranks, from which the cost of any range follows in O(1).
struct Sums {
    /// Sums of p(r).
    weight: Vec<u128>,
    /// Sums of p(r) x(r), where x is the rank if a pair costs the difference of its ranks, and 1 if it costs 1.
    moment: Vec<u128>,
    /// The cost of all pairs of ranks below in one queue.
    pairs: Vec<u128>,
    cost: QueueCost,
    /// Binary places of a cost that is a fraction.
    places: u32,
}

impl Sums {
    fn new(weights: &[u64], cost: QueueCost) -> Self {
        let (weight, moment, pairs) = (alloc::vec![0], alloc::vec![0], alloc::vec![0]);
        let mut sums = Self { weight, moment, pairs, cost, places: 0 };
        let (mut weight, mut moment, mut pairs) = (0u128, 0u128, 0u128);
        for (rank, p) in weights.iter().enumerate() {
            let (rank, p) = (rank as u128, u128::from(*p));
            pairs += p * match cost {
                QueueCost::One => weight,
                _ => rank * weight - moment,
            };
            weight += p;
            moment += p * rank;
            sums.weight.push(weight);
            sums.moment.push(moment);
            sums.pairs.push(pairs);
        }
        sums.places = pairs.leading_zeros().saturating_sub(8).min(64);
        sums
    }

    /// The cost of the ranks `start..end` in one queue.
    fn cost(&self, start: usize, end: usize) -> u128 {
        let weight = self.weight[end] - self.weight[start];
        match self.cost {
            QueueCost::Upper => weight * (end - start).saturating_sub(1) as u128,
            QueueCost::Exact if weight == 0 => 0,
            QueueCost::Exact => (self.pairs_of(start, end, weight) << self.places) / weight,
            QueueCost::Difference | QueueCost::One => self.pairs_of(start, end, weight),
        }
    }

    /// The cost of all pairs below `end`, without those below `start` and without those across.
    fn pairs_of(&self, start: usize, end: usize, weight: u128) -> u128 {
        let across = match self.cost {
            QueueCost::One => self.weight[start] * weight,
            _ => {
                let moment = self.moment[end] - self.moment[start];
                self.weight[start] * moment - self.moment[start] * weight
            }
        };
        self.pairs[end] - self.pairs[start] - across
    }
}

/// The most weights for which bounds are found in reasonable time.
pub const fn most_weights(cost: QueueCost, combine: Combine) -> usize {
    match (cost, combine) {
        (QueueCost::Exact, Combine::Sum) => 2048,
        _ => MAX_RANKS,
    }
}

/// The most ranks: 2^16 of the largest weights keep every product below 2^128.
const MAX_RANKS: usize = 1 << 16;

const WEIGHTS: Param = Param::integers("weights", 0, u32::MAX as u64)
    .means("ranks 0 to 99 are equally frequent")
    .doc("How frequent each rank is, from rank 0 up, on any common scale.");

const COST: Param =
    Param::choice::<QueueCost>("cost").or_word(QueueCost::Difference.word()).doc("The cost of the ranks in one queue.");

const COMBINE: Param = Param::choice::<Combine>("combine")
    .or_word(Combine::Sum.word())
    .doc("Whether the costs of the queues are added up or the largest counts.");

impl FromArgs for SpPifoOptimalParams {
    const INFO: Info = Info {
        name: "sp-pifo-optimal",
        summary: "The fixed bounds with the least expected unpifoness for a known rank distribution.",
        paper: "SP-PIFO, NSDI 2020, eq. 4 and 5",
        effect: "Ranks that share a queue leave in arrival order; a packet is dropped when its own queue is full, \
                    whatever its rank; nothing adapts.",
        state: "one range-match table with an entry per queue",
        cost: "O(log queues) per enqueue, O(1) per dequeue; O(queues x ranks x log ranks) once",
        params: &[params::QUEUES, params::QUEUE_CAPACITY_PACKETS, params::QUEUE_CAPACITY_BYTES, WEIGHTS, COST, COMBINE],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self {
            capacities: params::read_queue_capacities(args)?,
            weights: args.get(&WEIGHTS)?.unwrap_or_else(|| alloc::vec![1; 100]),
            cost: args.given(&COST)?,
            combine: args.given(&COMBINE)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::SpPifoOptimal;
    use alloc::string::ToString;

    fn bounds(weights: &[u64], queues: usize, cost: QueueCost) -> Vec<u64> {
        optimal_bounds(weights, queues, cost, Combine::Sum).into_iter().map(Rank::get).collect()
    }

    #[test]
    fn the_optimum_of_the_papers_figure_4_is_what_its_gradient_finds() {
        assert_eq!(bounds(&[0, 2, 1, 1, 2, 1], 2, QueueCost::Difference), [0, 3]);
    }

    #[test]
    fn equally_frequent_ranks_are_spread_evenly() {
        assert_eq!(bounds(&[1; 60], 3, QueueCost::Difference), [0, 20, 40]);
        assert_eq!(bounds(&[7; 60], 3, QueueCost::One), [0, 20, 40]);
    }

    #[test]
    fn a_cost_of_one_separates_frequent_ranks_and_a_difference_separates_distant_ones() {
        let weights = [9, 9, 0, 0, 0, 0, 0, 0, 0, 2];
        assert_eq!(bounds(&weights, 2, QueueCost::One), [0, 1]);
        assert_eq!(bounds(&weights, 2, QueueCost::Difference), [0, 2], "2 to 9 are as good: the smallest is taken");
    }

    #[test]
    fn spare_queues_come_first_and_hold_nothing() {
        assert_eq!(bounds(&[1, 1], 4, QueueCost::Difference), [0, 0, 0, 1]);
        assert_eq!(bounds(&[5], 3, QueueCost::One), [0, 0, 0]);
    }

    #[test]
    fn the_largest_weights_and_ranks_do_not_overflow() {
        let ranks = pifolab_testkit::steps(MAX_RANKS as u64, 64);
        let found = bounds(&alloc::vec![u32::MAX.into(); ranks as usize], 2, QueueCost::Difference);
        assert_eq!(found, [0, ranks / 2]);
    }

    #[test]
    fn the_largest_cost_counts_or_the_sum_of_all() {
        let found = |cost, combine| {
            let bounds = optimal_bounds(&[8, 1, 1, 1, 1, 1, 1, 1], 2, cost, combine);
            bounds.into_iter().map(Rank::get).collect::<Vec<_>>()
        };
        // Upper: 9 x 1 and 6 x 5; 10 x 2 and 5 x 4; 11 x 3 and 4 x 3.
        assert_eq!(found(QueueCost::Upper, Combine::Max), [0, 3]);
        assert_eq!(found(QueueCost::Upper, Combine::Sum), [0, 2]);
    }

    #[test]
    fn weights_that_say_nothing_are_refused() {
        for weights in [alloc::vec![], alloc::vec![0, 0]] {
            let capacities = alloc::vec![Capacity::Packets(1)];
            let params = SpPifoOptimalParams { capacities, weights, cost: QueueCost::One, combine: Combine::Sum };
            let error = <SpPifoOptimal>::new(params).unwrap_err().to_string();
            assert!(error.ends_with("expected 1 to 65536 weights, at least one above 0"), "{error}");
        }
    }
}
