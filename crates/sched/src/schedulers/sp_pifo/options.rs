//! The options of SP-PIFO.

use crate::Capacity;
use crate::params::{self, Args, FromArgs, Info, Param, ParamError, choices};
use alloc::vec::Vec;

choices! {
    /// How far the bounds of the lower-priority queues fall after an inversion in queue 1.
    #[derive(Default)]
    pub enum PushDown {
        #[default]
        Cost = "cost": "by the size of the inversion, q_1 - r (Algorithm 1)",
        QueueBound = "queue-bound": "to the bound of the queue above; q_2 takes the new q_1",
        QueueBoundOld = "queue-bound-old": "to the bound of the queue above; q_2 takes the old q_1",
        Rank = "rank": "by the rank of the packet",
        One = "one": "by one",
    }
}

choices! {
    /// Whether a packet that finds its queue full still moves the bounds.
    #[derive(Default)]
    pub enum OnFull {
        #[default]
        Keep = "keep": "bounds stay (the published simulations)",
        Update = "update": "bounds move (Algorithm 1 to the letter)",
    }
}

/// A floor for the bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clamp {
    /// Bounds may turn negative.
    #[default]
    Free,
    /// Pushed-down bounds stop here.
    AtLeast(i64),
}

choices! {
    /// Whether the queue is chosen before or after the bounds are pushed down.
    #[derive(Default)]
    pub enum Order {
        #[default]
        ScanFirst = "scan-first": "the queue is chosen, then bounds fall (Algorithm 1)",
        /// All bounds fall first if the rank is below q_1, then the queue is chosen: MetaOpt's model.
        PushDownFirst = "push-down-first": "bounds fall, then the queue is chosen (MetaOpt's model)",
    }
}

/// The parameters of [`SpPifo`](crate::schedulers::SpPifo).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpPifoParams {
    /// The capacity of each queue, highest priority first.
    pub capacities: Vec<Capacity>,
    /// How bounds fall after an inversion.
    pub push_down: PushDown,
    /// Whether a drop moves the bounds.
    pub on_full: OnFull,
    /// A floor for the bounds.
    pub clamp: Clamp,
    /// Whether the queue is chosen before or after the push-down.
    pub order: Order,
}

impl SpPifoParams {
    /// The paper's scheduler on `queues` queues of `packets` packets each.
    pub fn uniform(queues: usize, packets: u32) -> Self {
        Self {
            capacities: alloc::vec![Capacity::Packets(packets); queues],
            push_down: PushDown::default(),
            on_full: OnFull::default(),
            clamp: Clamp::default(),
            order: Order::default(),
        }
    }

    /// # Errors
    /// A value out of its range.
    pub(super) fn check(&self) -> Result<(), ParamError> {
        params::check_queue_capacities(Self::INFO.name, &self.capacities)
    }
}

const PUSH_DOWN: Param = Param::choice::<PushDown>("push_down").or_word(PushDown::Cost.word()).doc(
    "How far the bounds of the other queues fall after an inversion in the highest-priority queue (paper Fig. 5c).",
);

const ON_FULL: Param = Param::choice::<OnFull>("on_full").or_word(OnFull::Keep.word()).doc(
    "Whether a packet that finds its queue full moves the bounds all the same. It changes uniform-rank inversions \
          by a third.",
);

const CLAMP: Param = Param::integer("clamp", -i64::MAX, params::MAX_RANK)
    .unit("ranks")
    .means("bounds may turn negative")
    .doc("A floor at which pushed-down bounds stop.");

const ORDER: Param = Param::choice::<Order>("order")
    .or_word(Order::ScanFirst.word())
    .doc("Whether the queue is chosen before or after the bounds are pushed down.");

impl FromArgs for SpPifoParams {
    const INFO: Info = Info {
        name: "sp-pifo",
        summary: "Adaptive bounds map ranks to strict-priority queues; each bound follows the ranks of its queue.",
        paper: "SP-PIFO, NSDI 2020, section 3.3, Algorithm 1",
        effect: "Ranks that share a queue leave in arrival order; a packet is dropped when its own queue is full, \
                    whatever its rank.",
        state: "one register per queue (the bound)",
        cost: "O(queues) per enqueue, O(1) per dequeue",
        params: &[
            params::QUEUES,
            params::QUEUE_CAPACITY_PACKETS,
            params::QUEUE_CAPACITY_BYTES,
            PUSH_DOWN,
            ON_FULL,
            CLAMP,
            ORDER,
        ],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self {
            capacities: params::read_queue_capacities(args)?,
            push_down: args.given(&PUSH_DOWN)?,
            on_full: args.given(&ON_FULL)?,
            clamp: args.get(&CLAMP)?.map_or(Clamp::Free, Clamp::AtLeast),
            order: args.given(&ORDER)?,
        })
    }
}
