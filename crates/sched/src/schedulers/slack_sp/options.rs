//! The options of Slack-SP.

use super::admission::{self, SlackAdmission};
use super::range::{DEFAULT_RANKS, FRACTION, RANKS, SHARE, rounded};
use super::shares::{self, SlackShares};
use crate::Capacity;
use crate::params::{self, Args, FromArgs, Info, Kind, Literal, Param, ParamError, choices};
use crate::schedulers::geometric::{self, ONE};
use crate::schedulers::strict_priority::read_bounds;
use alloc::vec::Vec;
use pifolab_units::{Rank, Ratio};

choices! {
    /// How the queue of a packet is chosen.
    enum Map {
        Bounds = "bounds": "a bound before each queue but the first, at a fixed quantile of the ranks",
        Shares = "shares": "the quantile of the rank, of which queues take shares that follow their free places; refuses by rank",
    }
}

choices! {
    /// The unit of a step.
    #[derive(Default)]
    pub enum StepScale {
        /// Ranks.
        #[default]
        Constant = "constant": "a step is so many ranks",
        /// The bound itself.
        Proportional = "proportional": "a step is a share of the bound",
    }
}

/// The parameters of [`SlackSp`](crate::schedulers::SlackSp).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlackSpParams {
    /// The capacity of each queue, highest priority first.
    pub capacities: Vec<Capacity>,
    /// The slack that is left for the last queue, between 0 and 1.
    pub eps: Ratio,
    /// The unit of `step`.
    pub steps: StepScale,
    /// D.
    pub step: Ratio,
    /// b_1..b_{n-1}: one fewer than there are queues.
    pub initial_bounds: Vec<Rank>,
    /// Whether a packet whose queue is full tries the next ones.
    pub fall_through: bool,
    /// Admission by rank, if any.
    pub admission: Option<SlackAdmission>,
    /// Shares of the free space. If given, only the capacities above apply.
    pub shares: Option<SlackShares>,
}

impl SlackSpParams {
    /// The default options on `queues` queues of `packets` packets each, for ranks from 0 to 99.
    pub fn uniform(queues: usize, packets: u32) -> Self {
        Self::with_capacities(alloc::vec![Capacity::Packets(packets); queues])
    }

    fn with_capacities(capacities: Vec<Capacity>) -> Self {
        Self {
            eps: Ratio::new(1, 10).expect("a tenth"),
            steps: StepScale::default(),
            step: StepScale::default().usual_step(),
            initial_bounds: spread(capacities.len(), DEFAULT_RANKS as u64),
            capacities,
            fall_through: true,
            admission: None,
            shares: None,
        }
    }

    /// # Errors
    /// The wrong number of bounds, or a step out of its range.
    pub(super) fn check_bounds(&self) -> Result<(), ParamError> {
        let name = Self::INFO.name;
        let bounds = self.capacities.len() - 1;
        if self.initial_bounds.len() != bounds {
            let shown = alloc::format!("a list of {}", self.initial_bounds.len());
            let expected = alloc::format!("expected {bounds} bounds, one fewer than there are queues");
            return Err(INITIAL_BOUNDS.error_because(name, shown, expected));
        }
        let too_wide = self.steps == StepScale::Proportional && self.step >= Ratio::ONE;
        if too_wide || rounded(ONE, self.step, self.steps.bits()) < 2 {
            let expected = match self.steps {
                StepScale::Constant => "expected a number of ranks, 1/524288 or more",
                StepScale::Proportional => "expected a share of the bound below 1 and not below 2^-31",
            };
            return Err(STEP.error_because(name, self.step, expected));
        }
        Ok(())
    }
}

impl StepScale {
    /// The number of bits b: moves are multiples of 2^-b ranks, or of 2^-b of the bound.
    pub(super) const fn bits(self) -> u32 {
        match self {
            Self::Constant => FRACTION,
            Self::Proportional => SHARE,
        }
    }

    pub(super) fn usual_step(self) -> Ratio {
        let (numerator, denominator) = match self {
            Self::Constant => (1, 2),
            Self::Proportional => (1, 128),
        };
        Ratio::new(numerator, denominator).expect("two small numbers")
    }
}

/// k R / n for k = 1..n-1.
fn spread(queues: usize, ranks: u64) -> Vec<Rank> {
    let bound = |queue: usize| (u128::from(ranks) * queue as u128 / queues as u128) as u64;
    (1..queues).map(bound).map(Rank::saturating).collect()
}

pub(super) const EPS: Param = geometric::EPS.or(Literal::Fraction(1, 10));

const STEPS: Param = Param::choice::<StepScale>("steps")
    .or_word(StepScale::Constant.word())
    .doc("The unit of a step: proportional for ranks that span orders of magnitude (bytes, deadlines, virtual times).");

const STEP: Param = Param::new("step", Kind::Positive).means("1/2 rank; with steps = proportional 1/128 of the bound").doc(
    "D: a bound with the share q of arrivals below it rises by q D for a rank that reaches it and falls by (1 - q) D for \
     one that does not. Small steps are quieter, large ones follow changes sooner.",
);

const INITIAL_BOUNDS: Param = Param::integers("initial_bounds", 0, params::MAX_RANK)
    .unit("ranks")
    .means("k R / n, where R = ranks")
    .doc("b_1 to b_(n-1), the lowest ranks of queues 1 to n-1 to start with; one fewer than there are queues.");

const MAP: Param = Param::choice::<Map>("map")
    .or_word(Map::Bounds.word())
    .doc("How the queue of a packet is chosen, and whether the packet is refused.");

impl FromArgs for SlackSpParams {
    const INFO: Info = Info {
        name: "slack-sp",
        summary: "Bounds at fixed quantiles of the ranks, so that the slack behind strict-priority queues shrinks \
                  geometrically.",
        paper: "none; docs/schedulers/slack-sp.md",
        effect: "Ranks that share a queue leave in arrival order; a packet is dropped when its queue and those behind \
                    it are full, whatever its rank (or, with admission, when its rank is above the limit).",
        state: "one register for each bound, one fewer than queues; with admission two more; with map = shares 16",
        cost: "O(queues) per enqueue, with map = shares O(queues + registers + recent); O(1) per dequeue",
        params: &[
            params::QUEUES,
            params::QUEUE_CAPACITY_PACKETS,
            params::QUEUE_CAPACITY_BYTES,
            EPS,
            STEPS,
            STEP,
            INITIAL_BOUNDS,
            RANKS,
            params::FALL_THROUGH,
            admission::GAIN,
            admission::TARGET,
            MAP,
            shares::REGISTERS,
            shares::TOP_REGISTERS,
            shares::GAIN,
            shares::LAST_WEIGHT,
            shares::RECENT,
        ],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        let capacities = params::read_queue_capacities(args)?;
        if args.given::<Map>(&MAP)? == Map::Shares {
            // The parameters of bounds, except eps, stay unread, because they have no effect.
            let shares = Some(SlackShares::read(args)?);
            return Ok(Self { shares, eps: args.given(&EPS)?, ..Self::with_capacities(capacities) });
        }
        let steps: StepScale = args.given(&STEPS)?;
        // `ranks` stays unread if bounds are given, and `target_packets` without a gain, because they have no effect.
        let initial_bounds = match read_bounds(args, &INITIAL_BOUNDS)? {
            Some(bounds) => bounds,
            None => spread(capacities.len(), args.usual(&RANKS)?),
        };
        let admission = SlackAdmission::read(args, Self::INFO.name, &capacities)?;
        Ok(Self {
            step: args.get(&STEP)?.unwrap_or_else(|| steps.usual_step()),
            eps: args.given(&EPS)?,
            fall_through: args.given(&params::FALL_THROUGH)?,
            capacities,
            steps,
            initial_bounds,
            admission,
            shares: None,
        })
    }
}
