//! The options of greedy SP-PIFO.

use crate::Capacity;
use crate::params::{self, Args, FromArgs, Info, Param, ParamError, choices};
use crate::schedulers::strict_priority::{check_bounds, read_bounds, uniform_bounds};
use alloc::vec::Vec;
use pifolab_units::Rank;

choices! {
    /// The number of sweeps over the bounds after a window.
    #[derive(Default)]
    pub enum Steps {
        /// Once: each bound moves by at most one rank.
        #[default]
        One = "one": "each bound moves by at most one rank per window",
        /// Until no bound moves.
        UntilConvergence = "until-convergence": "bounds move until none does (Algorithm 2)",
        /// Once, also if the risk stays the same: Algorithm 2 as printed.
        OneOrEqual = "one-or-equal": "each bound moves by at most one rank per window, also if the risk stays the same (Algorithm 2 to the letter)",
        /// Once, over all ranks up to the next one in the window, as the paper's simulator does.
        NextSeen = "next-seen": "each bound moves at most to the next rank in the window, which counts admitted packets (the public code)",
        /// Once, by four counters per bound in place of the ranks of the window.
        Counters = "counters": "each bound moves by one rank per window where four counters say so (appendix A.2)",
    }
}

choices! {
    /// The cost of a pair of ranks that share a queue.
    #[derive(Default)]
    pub enum PairCost {
        #[default]
        Difference = "difference": "the difference of the two ranks",
        One = "one": "one for every pair of different ranks",
    }
}

impl PairCost {
    /// The cost of two ranks in one queue.
    #[inline(always)]
    pub(super) fn between(self, one: u64, other: u64) -> i128 {
        match self {
            Self::Difference => one.abs_diff(other).into(),
            Self::One => (one != other).into(),
        }
    }
}

/// The parameters of [`SpPifoGreedy`](crate::schedulers::SpPifoGreedy).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpPifoGreedyParams {
    /// The capacity of each queue, highest priority first.
    pub capacities: Vec<Capacity>,
    /// k, in packets.
    pub window: u32,
    /// The bounds before the first window is complete; they never decrease.
    pub initial_bounds: Vec<Rank>,
    /// R: ranks from R on are refused.
    pub ranks: Option<u64>,
    /// The number of sweeps over the bounds.
    pub steps: Steps,
    /// The cost of a pair of ranks that share a queue; [`Steps::NextSeen`] takes their difference only.
    pub cost: PairCost,
}

impl SpPifoGreedyParams {
    /// # Errors
    /// A value out of its range, or a cost that the public code does not have.
    pub(super) fn check(&self) -> Result<(), ParamError> {
        let name = Self::INFO.name;
        params::check_queue_capacities(name, &self.capacities)?;
        WINDOW.check(name, self.window)?;
        check_bounds(name, &INITIAL_BOUNDS, &self.initial_bounds, self.capacities.len())?;
        if self.steps == Steps::NextSeen && self.cost != PairCost::Difference {
            return Err(COST.error_because(name, self.cost.word(), "expected difference with steps = next-seen"));
        }
        self.ranks.map_or(Ok(()), |ranks| RANKS.check(name, ranks))
    }
}

/// The default size of the rank space, from the paper's simulations.
pub(super) const DEFAULT_RANKS: u64 = 100;

const WINDOW: Param = Param::integer("window_packets", 1, params::MAX_PACKETS)
    .unit("packets")
    .or_integer(1000)
    .doc("k: the bounds adapt to the ranks of each group of this many packets. The appendix chooses 1000.");

const INITIAL_BOUNDS: Param = Param::integers("initial_bounds", 0, params::MAX_RANK)
    .unit("ranks")
    .means("the ranks 0..ranks-1 are spread evenly")
    .doc("The smallest rank of each queue until the first window is complete, highest priority first.");

const RANKS: Param = Param::integer("ranks", 1, params::MAX_RANK)
    .unit("ranks")
    .means("any rank is taken, and initial bounds that are not given are spread over 0..99")
    .doc("The size of the rank space; packets with this rank or a higher one are refused.");

const STEPS: Param = Param::choice::<Steps>("steps")
    .or_word(Steps::One.word())
    .doc("The number of sweeps over the bounds after a window.");

const COST: Param = Param::choice::<PairCost>("cost")
    .or_word(PairCost::Difference.word())
    .doc("The cost of two ranks that share a queue (section 3.1 has both).");

impl FromArgs for SpPifoGreedyParams {
    const INFO: Info = Info {
        name: "sp-pifo-greedy",
        summary: "Counts ranks over a window, then moves each bound towards the least expected unpifoness.",
        paper: "SP-PIFO, NSDI 2020, section 3.2, Algorithm 2",
        effect: "Ranks that share a queue leave in arrival order; a packet is dropped when its own queue is full, \
                    whatever its rank; bounds follow the window before.",
        state: "five registers per queue, all accessed by one packet per window (infeasible on the paper's switch)",
        cost: "O(log queues) per enqueue, O(1) per dequeue; O(window log window) after each window",
        params: &[
            params::QUEUES,
            params::QUEUE_CAPACITY_PACKETS,
            params::QUEUE_CAPACITY_BYTES,
            WINDOW,
            INITIAL_BOUNDS,
            RANKS,
            STEPS,
            COST,
        ],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        let capacities = params::read_queue_capacities(args)?;
        let ranks = args.get(&RANKS)?;
        let initial_bounds = match read_bounds(args, &INITIAL_BOUNDS)? {
            Some(bounds) => bounds,
            None => uniform_bounds(capacities.len(), ranks.unwrap_or(DEFAULT_RANKS)),
        };
        let (window, steps, cost) = (args.given(&WINDOW)?, args.given(&STEPS)?, args.given(&COST)?);
        Ok(Self { capacities, window, initial_bounds, ranks, steps, cost })
    }
}
