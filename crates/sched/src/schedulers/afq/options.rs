//! The options of AFQ.

use crate::Capacity;
use crate::params::{self, Args, FromArgs, Info, Param, ParamError, choices};
use alloc::vec::Vec;

choices! {
    /// The treatment of a packet exactly n rounds ahead.
    #[derive(Default)]
    pub enum Horizon {
        /// Refused from n rounds ahead on.
        #[default]
        Ge = "ge": "a packet n rounds ahead or more is refused",
        /// Refused beyond n rounds ahead; at exactly n it joins the queue being served.
        Gt = "gt": "a packet exactly n rounds ahead joins the queue being served (the published simulations)",
    }
}

choices! {
    /// How the last bid of each flow is kept.
    #[derive(Default)]
    pub enum Counters {
        /// One counter per flow.
        #[default]
        Exact = "exact": "one counter per flow",
        /// A count-min sketch: 2 rows of 16,384 cells; flows that collide in both rows share the larger bid.
        Sketch = "sketch": "a count-min sketch of 2 x 16,384 cells, as a switch would",
    }
}

/// The parameters of [`Afq`](crate::schedulers::Afq).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AfqParams {
    /// The capacity of each queue.
    pub capacities: Vec<Capacity>,
    /// Bytes that each flow may send in a round.
    pub bytes_per_round: u64,
    /// The treatment of a packet exactly n rounds ahead.
    pub horizon: Horizon,
    /// How bids are kept.
    pub counters: Counters,
}

impl AfqParams {
    /// # Errors
    /// A value out of its range.
    pub(super) fn check(&self) -> Result<(), ParamError> {
        let name = Self::INFO.name;
        params::check_queue_capacities(name, &self.capacities)?;
        BYTES_PER_ROUND.check(name, self.bytes_per_round)
    }
}

const BYTES_PER_ROUND: Param = Param::integer("bytes_per_round", 1, params::MAX_BYTES)
    .unit("bytes")
    .or_integer(320)
    .doc("The bytes that each flow may send in a round. The papers give 320 to 8 queues and 80 to 32.");

const HORIZON: Param = Param::choice::<Horizon>("horizon")
    .or_word(Horizon::Ge.word())
    .doc("The treatment of a packet exactly as many rounds ahead as there are queues.");

const COUNTERS: Param =
    Param::choice::<Counters>("counters").or_word(Counters::Exact.word()).doc("How the last bid of each flow is kept.");

impl FromArgs for AfqParams {
    const INFO: Info = Info {
        name: "afq",
        summary: "Approximate fair queueing: a calendar of queues, one round of service each.",
        paper: "AFQ, NSDI 2018 (the comparison of SP-PIFO Fig. 9-10 and AIFO Fig. 13)",
        effect: "Ranks are ignored: packets leave round by round, and in arrival order within a round; a packet too \
                    many rounds ahead is dropped.",
        state: "the round number and one bid per flow (or a sketch of 2 x 16,384 bids)",
        cost: "O(1) per enqueue with one division, O(queues) at most per dequeue",
        params: &[
            params::QUEUES,
            params::QUEUE_CAPACITY_PACKETS,
            params::QUEUE_CAPACITY_BYTES,
            BYTES_PER_ROUND,
            HORIZON,
            COUNTERS,
        ],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self {
            capacities: params::read_queue_capacities(args)?,
            bytes_per_round: args.given(&BYTES_PER_ROUND)?,
            horizon: args.given(&HORIZON)?,
            counters: args.given(&COUNTERS)?,
        })
    }
}
