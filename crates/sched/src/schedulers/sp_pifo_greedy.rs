//! Greedy SP-PIFO: counts ranks over a window, then moves each bound one rank at a time while that lowers the expected
//! unpifoness.
//!
//! Paper: Alcoz, Dietmüller, Vanbever, "SP-PIFO", NSDI 2020, section 3.2, Fig. 4 and Algorithm 2 (appendix A).
//!
//! Parameters:
//! - n queues and their capacities (packets or bytes);
//! - k, the adaptation window (packets, default 1000, appendix A.4);
//! - the initial bounds q_1..q_n (ranks); or R, the size of the rank space (default 100), over which they are spread
//!   evenly. If R is given, ranks from R on are refused (`rank-out-of-range`);
//! - steps: `one` sweep over the bounds per window (default), sweeps `until-convergence` (Algorithm 2), the `counters`
//!   that appendix A.2 proposes for switches, or two other readings: `one-or-equal`, `next-seen` (see the parameter);
//! - cost of two ranks that share a queue: their `difference` (default) or `one` (section 3.1 has both).
//!
//! Cost: O(log n) per enqueue and O(1) per dequeue; after each window O(k log k) to sort it and O(n log k) per sweep. A
//! switch needs 5 n registers and would have to access them all for one packet, which the paper shows to be infeasible.
//!
//! Deviation from PIFO: as SP-PIFO; the bounds follow the rank distribution of the window before.
//!
//! Deviations: a bound moves only if the risk strictly decreases; Algorithm 2's "<= 0" (`one-or-equal`) lets bounds
//! wander over ranks that do not occur and need not converge. The price is that it can stop on a plateau short of the
//! optimum, which two bounds moved together would leave. Bounds move in the order n to 2, each seeing the moves of the
//! ones before; they never cross, and q_1 never moves. The packet that completes a window is mapped by the new bounds.

mod counters;
mod options;
mod seen;

use crate::params::ParamError;
use crate::{Arriving, Capacity, Decider, DropReason, FromParams, Kept, RankInterval, Register, Room, registers};
use alloc::vec::Vec;
use core::ops::Range;
use counters::Counters;
use options::DEFAULT_RANKS;
pub use options::{PairCost, SpPifoGreedyParams, Steps};
use pifolab_units::Rank;
use seen::Seen;

/// Greedy SP-PIFO.
///
/// ```
/// use pifolab_sched::{Capacity, InspectExt, Packet, Scheduler, schedulers::{PairCost, SpPifoGreedy, SpPifoGreedyParams, Steps}};
/// use pifolab_units::{Rank, Time};
///
/// let mut scheduler = SpPifoGreedy::new(SpPifoGreedyParams {
///     capacities: vec![Capacity::Packets(9); 2],
///     window: 7,
///     initial_bounds: vec![Rank::from(1), Rank::from(4)],
///     ranks: None,
///     steps: Steps::One,
///     cost: PairCost::Difference,
/// }).unwrap();
/// for (id, rank) in [3u32, 4, 1, 4, 5, 1, 2].into_iter().enumerate() {
///     let packet = Packet { id: id as u64, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO };
///     assert!(scheduler.enqueue(packet, Time::ZERO).is_admitted());
/// }
/// assert_eq!(scheduler.queue_bound(1), Some(3)); // the paper's Fig. 4
/// ```
#[derive(Debug)]
pub struct SpPifoGreedy {
    bounds: Vec<u64>,
    window: usize,
    ranks: Option<u64>,
    steps: Steps,
    cost: PairCost,
    sample: Sample,
    /// Replaces `sample` with [`Steps::NextSeen`].
    seen: Option<Seen>,
    /// Replaces `sample` with [`Steps::Counters`].
    counters: Option<Counters>,
}

clone_by_field!(SpPifoGreedy { bounds, window, ranks, steps, cost, sample, seen, counters });
registers!(SpPifoGreedy itself);

/// The number of ranks of a window for which memory is allocated at the start.
const PREALLOCATED: usize = 1 << 16;

/// The change of the risk by a move that would let bounds cross.
const IMPOSSIBLE: i128 = i128::MAX;

impl FromParams for SpPifoGreedy {
    type Params = SpPifoGreedyParams;

    fn from_params(params: SpPifoGreedyParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        params.check()?;
        let bounds: Vec<u64> = params.initial_bounds.iter().map(|bound| bound.get()).collect();
        let decider = Self {
            counters: (params.steps == Steps::Counters).then(|| Counters::new(bounds.len(), params.cost)),
            cost: params.cost,
            seen: (params.steps == Steps::NextSeen).then(|| Seen::new(&bounds, params.ranks.unwrap_or(DEFAULT_RANKS))),
            bounds,
            window: params.window as usize,
            ranks: params.ranks,
            steps: params.steps,
            sample: Sample::with_capacity(params.window as usize),
        };
        Ok((decider, params.capacities))
    }
}

impl Decider for SpPifoGreedy {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        let rank = packet.rank.get();
        if self.ranks.is_some_and(|ranks| rank >= ranks) {
            return Err(DropReason::RankOutOfRange);
        }
        let mut queue = self.queue_of(rank);
        if let Some(counters) = &mut self.counters {
            counters.note(rank, queue, &self.bounds);
            if counters.packets == self.window {
                counters.move_bounds(&mut self.bounds);
                queue = self.queue_of(rank);
            }
        } else if self.seen.is_none() {
            self.sample(rank);
            queue = self.queue_of(rank);
        }
        if let Some(seen) = &mut self.seen {
            // The paper's simulator counts what it has enqueued.
            if queues[queue].fits(packet.size) {
                seen.note(rank, queue, &self.bounds);
                if seen.packets == self.window {
                    seen.move_bounds(&mut self.bounds);
                }
            }
        }
        Ok(queue)
    }

    fn ranks_of(&self, queue: usize, _queues: &[Room]) -> RankInterval {
        let bound = self.bounds.get(queue).map(|bound| Rank::saturating(*bound).signed());
        bound.map_or(RankInterval::default(), RankInterval::from)
    }

    fn refused_at(&self, packet: Arriving, _queues: &[Room]) -> Option<usize> {
        let rank = packet.rank.get();
        self.ranks.is_none_or(|ranks| rank < ranks).then(|| self.queue_of(rank))
    }
}

impl Register for SpPifoGreedy {
    /// The ranks of a window are stored only if they are sorted at its end. Their memory is allocated at the start.
    fn kept(&self) -> Kept {
        let sample = if self.seen.is_none() && self.counters.is_none() { self.window } else { 0 };
        let places = sample.min(PREALLOCATED);
        Kept { window_ranks: sample - places, ..Kept::bytes(places * (size_of::<u64>() + size_of::<i128>())) }
    }

    /// The bounds, then how many ranks the window holds so far, then these in ascending order: their order of arrival has no
    /// effect.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.bounds.iter().for_each(|bound| visit(*bound as i64));
        if let Some(seen) = &self.seen {
            return seen.visit_state(visit);
        }
        if let Some(counters) = &self.counters {
            return counters.visit_state(visit);
        }
        visit(self.sample.ranks.len() as i64);
        let mut ranks = self.sample.ranks.clone();
        ranks.sort_unstable();
        ranks.iter().for_each(|rank| visit(*rank as i64));
    }
}

impl SpPifoGreedy {
    /// The last queue whose bound the rank reaches; queue 1 if none.
    #[inline(always)]
    fn queue_of(&self, rank: u64) -> usize {
        self.bounds.partition_point(|bound| *bound <= rank).saturating_sub(1)
    }

    /// Records a rank; the last rank of a window moves the bounds.
    #[inline]
    fn sample(&mut self, rank: u64) {
        self.sample.ranks.push(rank);
        if self.sample.ranks.len() == self.window {
            self.adapt();
        }
    }

    fn adapt(&mut self) {
        self.sample.sort();
        while self.sweep() && self.steps == Steps::UntilConvergence {}
        self.sample.clear();
    }

    /// Moves each bound by at most one rank, and returns whether any moved.
    fn sweep(&mut self) -> bool {
        let mut moved = false;
        let least = i128::from(self.steps == Steps::OneOrEqual);
        for queue in (1..self.bounds.len()).rev() {
            let up = self.increment(queue);
            let down = self.decrement(queue);
            if up < least && up <= down {
                self.bounds[queue] += 1;
                moved = true;
            } else if down < least && down < up {
                self.bounds[queue] -= 1;
                moved = true;
            }
        }
        moved
    }

    /// The change of the risk, in units of 1/k^2, if the lowest rank of `queue` moves to the queue above (eq. 9).
    fn increment(&self, queue: usize) -> i128 {
        let rank = self.bounds[queue];
        let (own, above) = (self.ranks_of(queue), self.ranks_of(queue - 1));
        if own.is_empty() {
            return IMPOSSIBLE;
        }
        self.sample.count(rank..rank + 1) * (self.costs(above, rank) - self.costs(own, rank))
    }

    /// The change of the risk if the highest rank of the queue above moves to `queue` (eq. 10).
    fn decrement(&self, queue: usize) -> i128 {
        let above = self.ranks_of(queue - 1);
        if self.bounds[queue] <= self.bounds[queue - 1] {
            return IMPOSSIBLE;
        }
        let rank = self.bounds[queue] - 1;
        let own = self.ranks_of(queue);
        self.sample.count(rank..rank + 1) * (self.costs(own, rank) - self.costs(above, rank))
    }

    /// The sum of the costs between `from` and the packets whose ranks are in `ranks`; `from` lies at or beyond an end.
    fn costs(&self, ranks: Range<u64>, from: u64) -> i128 {
        match self.cost {
            PairCost::Difference => self.sample.distance(ranks, from),
            PairCost::One => {
                let equal = if ranks.contains(&from) { self.sample.count(from..from + 1) } else { 0 };
                self.sample.count(ranks) - equal
            }
        }
    }

    /// The ranks that `queue` takes: from its bound up to the next one; queue 1 also those below its bound.
    fn ranks_of(&self, queue: usize) -> Range<u64> {
        let start = if queue == 0 { 0 } else { self.bounds[queue] };
        start..self.bounds.get(queue + 1).copied().unwrap_or(u64::MAX)
    }
}

/// The ranks of one window, sorted when it is complete, with running sums.
#[derive(Debug)]
struct Sample {
    ranks: Vec<u64>,
    /// `sums[i]` is the sum of the `i` smallest ranks.
    sums: Vec<i128>,
}

clone_by_field!(Sample { ranks, sums });

impl Sample {
    fn with_capacity(window: usize) -> Self {
        let capacity = window.min(PREALLOCATED);
        Self { ranks: Vec::with_capacity(capacity), sums: Vec::with_capacity(capacity + 1) }
    }

    fn sort(&mut self) {
        self.ranks.sort_unstable();
        self.sums.clear();
        self.sums.push(0);
        let mut sum = 0;
        for rank in &self.ranks {
            sum += i128::from(*rank);
            self.sums.push(sum);
        }
    }

    fn clear(&mut self) {
        self.ranks.clear();
    }

    fn places(&self, ranks: Range<u64>) -> Range<usize> {
        let place = |rank: u64| self.ranks.partition_point(|held| *held < rank);
        place(ranks.start)..place(ranks.end)
    }

    /// The number of packets with one of these ranks.
    fn count(&self, ranks: Range<u64>) -> i128 {
        self.places(ranks).len() as i128
    }

    /// The sum of |r - `from`| over the packets whose rank r is in `ranks`; `from` lies at or beyond an end.
    fn distance(&self, ranks: Range<u64>, from: u64) -> i128 {
        let places = self.places(ranks);
        let sum = self.sums[places.end] - self.sums[places.start];
        (sum - places.len() as i128 * i128::from(from)).abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::SpPifoGreedy;
    use crate::schedulers::strict_priority::uniform_bounds;
    use crate::{Enqueued, Inspect, Packet, Scheduler};
    use alloc::string::ToString;
    use pifolab_units::Time;

    fn greedy(queues: &[u32], window: u32, steps: Steps) -> SpPifoGreedy {
        SpPifoGreedy::new(SpPifoGreedyParams {
            capacities: alloc::vec![Capacity::Packets(1000); queues.len()],
            window,
            initial_bounds: queues.iter().copied().map(Rank::from).collect(),
            ranks: None,
            steps,
            cost: PairCost::Difference,
        })
        .unwrap()
    }

    fn offer(scheduler: &mut SpPifoGreedy, rank: u32) -> Enqueued {
        let packet = Packet { id: 0, flow: 0, size: 100, rank: Rank::from(rank), arrival: Time::ZERO };
        scheduler.enqueue(packet, Time::ZERO)
    }

    /// The expected unpifoness in units of 1/k^2 (eq. 4 and 5), computed independently.
    fn unpifoness(ranks: &[u64], bounds: &[u64]) -> u64 {
        cost_of(ranks, bounds, PairCost::Difference) as u64
    }

    fn cost_of(ranks: &[u64], bounds: &[u64], cost: PairCost) -> i128 {
        let queue = |rank: u64| bounds.iter().rposition(|bound| rank >= *bound).unwrap_or(0);
        let pairs = ranks.iter().flat_map(|a| ranks.iter().map(move |b| (*a, *b)));
        let shared = pairs.filter(|(a, b)| a < b && queue(*a) == queue(*b));
        shared.map(|(a, b)| if cost == PairCost::One { 1 } else { (b - a).into() }).sum()
    }

    #[test]
    fn reproduces_the_papers_figure_4() {
        let sequence = [3, 4, 1, 4, 5, 1, 2];
        let risk = |second| unpifoness(&sequence, &[1, second]);
        assert_eq!([4, 5, 3].map(risk), [9, 25, 8]);

        let mut scheduler = greedy(&[1, 4], 7, Steps::One);
        scheduler.decider.sample.ranks = sequence.to_vec();
        scheduler.decider.sample.sort();
        assert_eq!(scheduler.decider.increment(1), 25 - 9);
        assert_eq!(scheduler.decider.decrement(1), 8 - 9);
        scheduler.decider.adapt();
        assert_eq!(scheduler.decider.bounds, [1, 3]);
    }

    #[test]
    fn predicted_changes_of_the_risk_are_the_changes() {
        let ranks: Vec<u64> = (0..pifolab_testkit::steps(200, 40)).map(|i| (i * i * 31 + i * 17) % 40).collect();
        for cost in [PairCost::Difference, PairCost::One] {
            let mut scheduler = greedy(&[0, 9, 20, 33], 1000, Steps::One);
            scheduler.decider.cost = cost;
            scheduler.decider.sample.ranks = ranks.clone();
            scheduler.decider.sample.sort();
            let before = cost_of(&ranks, &scheduler.decider.bounds, cost);
            for queue in 1..4 {
                for (change, predicted) in
                    [(1, scheduler.decider.increment(queue)), (-1, scheduler.decider.decrement(queue))]
                {
                    let mut bounds = scheduler.decider.bounds.clone();
                    bounds[queue] = bounds[queue].wrapping_add_signed(change);
                    assert_eq!(cost_of(&ranks, &bounds, cost) - before, predicted, "queue {queue} by {change}");
                }
            }
        }
    }

    proptest::proptest! {
        /// A single bound, so that no other one moves before it. Ranks 0 to 19 all occur: the change of the risk is 0
        /// only where the sums are equal.
        #[test]
        fn counters_move_a_bound_where_a_step_lowers_the_risk(
            more in proptest::collection::vec(0_u64..20, 0..60),
            bound in 1_u32..19,
            one: bool,
        ) {
            let ranks: Vec<u64> = (0..20).chain(more).collect();
            let mut scheduler = greedy(&[0, bound], ranks.len() as u32, Steps::Counters);
            let cost = if one { PairCost::One } else { PairCost::Difference };
            scheduler.decider.counters = Some(Counters::new(2, cost));
            for rank in &ranks {
                proptest::prop_assert!(offer(&mut scheduler, *rank as u32).is_admitted());
            }
            let now = cost_of(&ranks, &[0, bound.into()], cost);
            let lower = |step: i64| {
                let moved = u64::from(bound).wrapping_add_signed(step);
                (cost_of(&ranks, &[0, moved], cost) < now).then_some(moved)
            };
            let expected = lower(1).or(lower(-1)).unwrap_or(bound.into());
            proptest::prop_assert_eq!(&scheduler.decider.bounds[..], &[0, expected][..]);
        }
    }

    #[test]
    fn the_public_codes_step_has_one_cost_only() {
        let params = SpPifoGreedyParams {
            capacities: alloc::vec![Capacity::Packets(9); 2],
            window: 2,
            initial_bounds: uniform_bounds(2, 8),
            ranks: None,
            steps: Steps::NextSeen,
            cost: PairCost::One,
        };
        assert_eq!(
            <SpPifoGreedy>::new(params).unwrap_err().to_string(),
            "sp-pifo-greedy: cost = one: expected difference with steps = next-seen"
        );
    }

    /// Appendix A argues that no single step leads to the optimum; plateaus are the gap. Here queues of 19, 20 and 21
    /// ranks: either bound moved alone only swaps two sizes, moved together they would give 20, 20 and 20.
    #[test]
    fn converged_bounds_cannot_be_improved_by_one_step_but_perhaps_by_two() {
        let mut scheduler = greedy(&[0, 1, 2], 300, Steps::UntilConvergence);
        for i in 0..300u32 {
            assert!(offer(&mut scheduler, i * 7 % 60).is_admitted());
        }
        assert_eq!(scheduler.decider.bounds, [0, 19, 39]);
        let ranks: Vec<u64> = (0..60).collect();
        let risk = |bounds: [u64; 3]| unpifoness(&ranks, &bounds);
        for step in [[0, 18, 39], [0, 20, 39], [0, 19, 38], [0, 19, 40]] {
            assert!(risk(step) >= risk([0, 19, 39]), "{step:?}");
        }
        assert!(risk([0, 20, 40]) < risk([0, 19, 39]));
    }

    #[test]
    fn bounds_never_cross_and_stay_where_no_packet_is() {
        let mut scheduler = greedy(&[0, 5, 5], 4, Steps::UntilConvergence);
        for rank in [2, 5, 5, 9] {
            let _ = offer(&mut scheduler, rank);
        }
        assert!(scheduler.decider.bounds.is_sorted(), "{:?}", scheduler.decider.bounds);
    }

    #[test]
    fn to_the_letter_bounds_wander_over_ranks_that_the_window_lacks() {
        let mut strict = greedy(&[0, 5], 4, Steps::One);
        let mut literal = greedy(&[0, 5], 4, Steps::OneOrEqual);
        for _ in 0..4 {
            for rank in [1, 2, 8, 9] {
                let _ = (offer(&mut strict, rank), offer(&mut literal, rank));
            }
        }
        // Between 3 and 8 the risk does not change; at 8 a step up would raise it, a step down not.
        assert_eq!((&strict.decider.bounds[..], &literal.decider.bounds[..]), (&[0, 5][..], &[0, 7][..]));
    }

    #[test]
    fn the_simulators_step_leads_to_the_next_rank_that_was_seen() {
        let mut scheduler = greedy(&[0, 1], 4, Steps::NextSeen);
        for rank in [40, 50, 60, 70] {
            assert!(offer(&mut scheduler, rank).is_admitted());
        }
        assert_eq!(scheduler.decider.bounds, [0, 40]);
    }

    /// The public code's rank space ends at 100: no bound goes there, although a packet may have that rank.
    #[test]
    fn the_last_bound_stays_inside_the_rank_space() {
        let mut scheduler = greedy(&[0, 50], 3, Steps::NextSeen);
        for rank in [100, 100, 120] {
            assert!(offer(&mut scheduler, rank).is_admitted());
        }
        assert_eq!(scheduler.decider.bounds, [0, 50]);
        for rank in [100, 60, 120] {
            assert!(offer(&mut scheduler, rank).is_admitted());
        }
        assert_eq!(scheduler.decider.bounds, [0, 60]);
    }

    /// 7 was the largest when it came: it stays out of the sum, although 9 came later.
    #[test]
    fn the_largest_rank_so_far_does_not_count_downwards() {
        let mut scheduler = greedy(&[0, 10], 3, Steps::NextSeen);
        for rank in [7, 9, 10] {
            assert!(offer(&mut scheduler, rank).is_admitted());
        }
        assert_eq!(scheduler.decider.bounds, [0, 10]);
        for rank in [9, 7, 10] {
            assert!(offer(&mut scheduler, rank).is_admitted());
        }
        assert_eq!(scheduler.decider.bounds, [0, 9]);
    }

    #[test]
    fn ranks_outside_a_declared_rank_space_come_back() {
        let mut params = SpPifoGreedyParams {
            capacities: alloc::vec![Capacity::Packets(9); 2],
            window: 2,
            initial_bounds: uniform_bounds(2, 8),
            ranks: Some(8),
            steps: Steps::One,
            cost: PairCost::Difference,
        };
        let mut scheduler = SpPifoGreedy::new(params.clone()).unwrap();
        assert!(matches!(
            offer(&mut scheduler, 8),
            Enqueued::Dropped { reason: DropReason::RankOutOfRange, packet: Packet { id: 0, .. } }
        ));
        assert_eq!(scheduler.refused_at(0, 100, Rank::from(8)), None);
        assert!(offer(&mut scheduler, 7).is_admitted());
        assert_eq!(scheduler.refused_at(0, 100, Rank::from(7)), Some(1));
        params.window = 0;
        let error = <SpPifoGreedy>::new(params).unwrap_err();
        assert_eq!(
            error.to_string(),
            "sp-pifo-greedy: window_packets = 0: expected an integer from 1 to 16777216 (packets)"
        );
    }
}
