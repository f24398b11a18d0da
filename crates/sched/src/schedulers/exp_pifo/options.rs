//! The options of Exp-PIFO.

use super::bounds::MAX_QUEUES;
use crate::Capacity;
use crate::params::{self, Args, FromArgs, Info, Param, ParamError, choices};
use alloc::vec::Vec;

choices! {
    /// How log2(rank) - gamma is rounded for the exponent beta.
    #[derive(Default)]
    pub enum BetaRounding {
        /// The highest ranks lie above the last bound and go to the last queue.
        #[default]
        Floor = "floor": "rounded down (Algorithm 1)",
        Ceil = "ceil": "rounded up (Fig. 2)",
    }
}

/// How a rank is mapped to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// The formula in the comment of Algorithm 1.
    Comment {
        /// The queue while beta is 0.
        beta0: BetaZero,
    },
    /// The bounds of section 2.2.
    Bounds,
}

choices! {
    /// The queue of every packet while beta is 0.
    #[derive(Default)]
    pub enum BetaZero {
        #[default]
        First = "first": "queue 1, where the prose puts ranks up to b_1",
        Last = "last": "queue M, what hardware that saturates does",
    }
}

choices! {
    /// When the window ends.
    #[derive(Default)]
    pub enum Reset {
        #[default]
        Gt = "gt": "when the counter exceeds C (Algorithm 1)",
        Ge = "ge": "when the counter reaches C (the text)",
    }
}

/// The parameters of [`ExpPifo`](crate::schedulers::ExpPifo).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpPifoParams {
    /// The capacity of each queue, highest priority first.
    pub capacities: Vec<Capacity>,
    /// C, in packets.
    pub window: u64,
    /// r_min, at least 1.
    pub r_min: u64,
    /// How the exponent is rounded.
    pub beta: BetaRounding,
    /// How ranks are mapped to queues.
    pub mapping: Mapping,
    /// When the window ends.
    pub reset: Reset,
}

impl ExpPifoParams {
    /// The paper's scheduler on `queues` queues of `packets` packets each: C = 5000, r_min = 1.
    pub fn uniform(queues: usize, packets: u32) -> Self {
        Self {
            capacities: alloc::vec![Capacity::Packets(packets); queues],
            window: 5000,
            r_min: 1,
            beta: BetaRounding::default(),
            mapping: Mapping::Comment { beta0: BetaZero::default() },
            reset: Reset::default(),
        }
    }

    /// # Errors
    /// A value out of its range.
    pub(super) fn check(&self) -> Result<(), ParamError> {
        let (name, queues) = (Self::INFO.name, self.capacities.len());
        params::check_queue_capacities(name, &self.capacities)?;
        WINDOW.check(name, self.window)?;
        R_MIN.check(name, self.r_min)?;
        if self.mapping == Mapping::Bounds && queues > MAX_QUEUES {
            let expected = alloc::format!("expected at most {MAX_QUEUES} queues with mapping = bounds");
            return Err(params::QUEUES.error_because(name, queues, expected));
        }
        Ok(())
    }
}

const WINDOW: Param = Param::integer("window_packets", 1, 1 << 32).unit("packets").or_integer(5000).doc(
    "C: after this many packets the exponent restarts at that of the next packet. The paper's evaluation uses 5000.",
);

const R_MIN: Param = Param::integer("r_min", 1, params::MAX_RANK).unit("ranks").or_integer(1).doc(
    "The smallest rank that matters, the bound of the first queue. Where ranks are bytes the paper takes the size \
          of the largest packet, 1500.",
);

const BETA: Param = Param::choice::<BetaRounding>("beta")
    .or_word(BetaRounding::Floor.word())
    .doc("How log2(rank / r_min) is rounded for the exponent.");

choices! {
    /// How a rank is mapped to a queue.
    pub enum MappingKind {
        Comment = "comment": "the formula in the comment of Algorithm 1",
        Bounds = "bounds": "the bounds of section 2.2, for at most 32 queues",
    }
}

const MAPPING: Param = Param::choice::<MappingKind>("mapping")
    .or_word(MappingKind::Comment.word())
    .doc("How a rank is mapped to a queue.");

const BETA0: Param = Param::choice::<BetaZero>("beta0")
    .or_word(BetaZero::First.word())
    .doc("The queue of every packet while the exponent is 0 and mapping = comment would divide by it.");

const RESET: Param = Param::choice::<Reset>("reset").or_word(Reset::Gt.word()).doc("When the window ends.");

impl FromArgs for ExpPifoParams {
    const INFO: Info = Info {
        name: "exp-pifo",
        summary: "Strict-priority queues whose bounds grow exponentially up to the highest recent rank.",
        paper: "Exp-PIFO, CoNEXT 2025, section 2.2, Algorithm 1",
        effect: "Ranks that share a queue leave in arrival order, and high ranks share wide queues; a packet is \
                    dropped when its own queue is full, whatever its rank.",
        state: "two registers (exponent, counter) and two look-up tables (0.14 and 2.5 kB)",
        cost: "O(1) per operation; O(log queues) per enqueue with mapping = bounds",
        params: &[
            params::QUEUES,
            params::QUEUE_CAPACITY_PACKETS,
            params::QUEUE_CAPACITY_BYTES,
            WINDOW,
            R_MIN,
            BETA,
            MAPPING,
            BETA0,
            RESET,
        ],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self {
            capacities: params::read_queue_capacities(args)?,
            window: args.given(&WINDOW)?,
            r_min: args.given(&R_MIN)?,
            beta: args.given(&BETA)?,
            mapping: match args.given(&MAPPING)? {
                MappingKind::Comment => Mapping::Comment { beta0: args.given(&BETA0)? },
                // beta0 stays unread: it has no effect here.
                MappingKind::Bounds => Mapping::Bounds,
            },
            reset: args.given(&RESET)?,
        })
    }
}
