//! Exp-PIFO: strict-priority queues whose bounds grow exponentially up to the highest rank seen lately; one register
//! describes them all.
//!
//! Paper: Mostafaei, Ezzati, Cuijpers, Schmid, "EXP-PIFO: Scalable and Efficient Programmable Packet Scheduling",
//! CoNEXT 2025, section 2.2 and Algorithm 1.
//!
//! Parameters:
//! - M queues and their capacities (packets or bytes);
//! - C, the window (packets, default 5000, section 3.1): after C packets the exponent beta restarts at the next one's;
//! - r_min, the smallest rank that matters (ranks, default 1; the paper takes 1500 where ranks are bytes), gamma = log2
//!   r_min;
//! - beta: `floor` (Algorithm 1, default) or `ceil` (Fig. 2): how log2(rank) - gamma is rounded for the exponent;
//! - mapping: `comment` is the formula in the comment of Algorithm 1, queue ((x+1)(M-1)) div beta + 1 (default);
//!   `bounds` is section 2.2: queue j holds ranks in (b_{j-1}, b_j], b_j = r_min 2^(beta (j-1)/(M-1)), queue M the rest;
//! - beta0: the queue while beta is 0, where the formula divides by zero: `first` (default) or `last`;
//! - reset: whether the window ends when the counter exceeds C (`gt`, Algorithm 1, default) or reaches it (`ge`).
//!
//! Cost: O(1) per enqueue (`bounds`: O(log M)), O(1) per dequeue; all in integers. A switch needs two registers (beta
//! and the counter) and two look-up tables (about 0.14 and 2.5 kB, section 2.3).
//!
//! Deviation from PIFO: ranks that share a queue leave in arrival order, and the queues of high ranks are exponentially
//! wider; a packet is dropped when its own queue is full, whatever its rank.
//!
//! Deviations: the prose form of compute_queue_id, ((x+1)/(M-1)) div beta + 1, maps nearly everything to queue 1 and is
//! not offered. The two mappings differ: for 25 of the ranks 1 to 127 with M = 3 and beta = 6. `bounds` takes at most
//! 32 queues, what the paper calls usual, since its bounds are computed exactly beforehand.

mod bounds;

use crate::params::{self, Args, FromArgs, Info, Param, ParamError, choices};
use crate::{Arriving, Capacity, Decider, Decision, FromParams, RankInterval, Room};
use alloc::vec::Vec;
use bounds::BoundTable;
use pifolab_units::Rank;

choices! {
    /// How log2(rank) - gamma is rounded for the exponent beta.
    #[derive(Default)]
    pub enum BetaRounding {
        /// Down: Algorithm 1. The highest ranks lie above the last bound and go to the last queue.
        #[default]
        Floor = "floor": "rounded down (Algorithm 1)",
        /// Up: Fig. 2.
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
        /// Queue 1, where the prose puts ranks up to b_1.
        #[default]
        First = "first": "queue 1, where the prose puts ranks up to b_1",
        /// Queue M, what hardware that saturates a division by zero does.
        Last = "last": "queue M, what hardware that saturates does",
    }
}

choices! {
    /// When the window ends.
    #[derive(Default)]
    pub enum Reset {
        /// When the counter exceeds C: Algorithm 1.
        #[default]
        Gt = "gt": "when the counter exceeds C (Algorithm 1)",
        /// When it reaches C: the text.
        Ge = "ge": "when the counter reaches C (the text)",
    }
}

/// What an [`ExpPifo`](super::ExpPifo) is built from.
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
}

/// Exp-PIFO.
///
/// ```
/// use pifolab_sched::{Enqueued, Packet, Scheduler, schedulers::{ExpPifo, ExpPifoParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut scheduler = ExpPifo::new(ExpPifoParams::uniform(3, 10)).unwrap();
/// let mut queue_of = |rank: u32| {
///     let packet = Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO };
///     let Enqueued::Admitted { queue, .. } = scheduler.enqueue(packet, Time::ZERO) else { panic!("there is room") };
///     queue
/// };
/// // Rank 64 sets beta to 6; x = 6, 2 and 0 then give queues 3, 2 and 1.
/// assert_eq!([64, 5, 1].map(&mut queue_of), [2, 1, 0]);
/// ```
#[derive(Debug)]
pub struct ExpPifo {
    /// M - 1, the last queue.
    last: usize,
    beta: u32,
    counter: u64,
    /// The window ends when the counter reaches this: C or C + 1.
    window_end: u64,
    r_min: u64,
    rounding: BetaRounding,
    map: Map,
}

clone_by_field!(ExpPifo { last, beta, counter, window_end, r_min, rounding, map });

#[derive(Debug)]
enum Map {
    Comment(BetaZero),
    Bounds(BoundTable),
}

clone_by_variant!(Map { Comment, Bounds });

impl FromParams for ExpPifo {
    type Params = ExpPifoParams;

    /// Beta and the counter start at 0.
    fn from_params(params: ExpPifoParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        let name = ExpPifoParams::INFO.name;
        params::check_queue_capacities(name, &params.capacities)?;
        WINDOW.check(name, params.window)?;
        R_MIN.check(name, params.r_min)?;
        let count = params.capacities.len();
        let decider = Self {
            last: count - 1,
            beta: 0,
            counter: 0,
            window_end: match params.reset {
                Reset::Gt => params.window + 1,
                Reset::Ge => params.window,
            },
            r_min: params.r_min,
            rounding: params.beta,
            map: match params.mapping {
                Mapping::Comment { beta0 } => Map::Comment(beta0),
                Mapping::Bounds if count > bounds::MAX_QUEUES => {
                    let expected =
                        alloc::format!("expected at most {} queues with mapping = bounds", bounds::MAX_QUEUES);
                    return Err(params::QUEUES.error_because(name, count, expected));
                }
                Mapping::Bounds => Map::Bounds(BoundTable::new(count, params.r_min)),
            },
        };
        Ok((decider, params.capacities))
    }
}

impl Decider for ExpPifo {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, _queues: &[Room]) -> Decision {
        Decision::queue(self.select(packet.rank.get()))
    }

    #[inline(always)]
    fn serves_by_priority(&self) -> bool {
        true
    }

    /// The largest rank of `queue` under the mapping by bounds, rounded down; the last queue has none.
    fn ranks_of(&self, queue: usize, _queues: &[Room]) -> RankInterval {
        let bound = match &self.map {
            Map::Comment(_) => None,
            Map::Bounds(table) => table.bound(self.beta, queue).map(Rank::saturating).map(Rank::signed),
        };
        bound.map_or(RankInterval::default(), RankInterval::up_to)
    }

    fn refused_at(&self, packet: Arriving, _queues: &[Room]) -> Option<usize> {
        let rank = packet.rank.get();
        Some(self.queue_of(self.log_floor(rank), rank))
    }

    /// Beta, then the counter.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        visit(self.beta.into());
        visit(self.counter as i64);
    }

    fn resume(&mut self, _window: &[Rank], state: &[i64]) {
        let [beta, counter] = *state else { return };
        (self.beta, self.counter) = (beta as u32, counter as u64);
    }
}

impl ExpPifo {
    /// The exponent: the bounds reach r_min 2^beta.
    pub const fn beta(&self) -> u32 {
        self.beta
    }

    /// max(0, floor(log2(rank / r_min))), exactly.
    #[inline]
    fn log_floor(&self, rank: u64) -> u32 {
        if rank < self.r_min {
            return 0;
        }
        // Shifted by the difference of their lengths r_min is as long as the rank, and at most one too far.
        let difference = rank.ilog2() - self.r_min.ilog2();
        difference - u32::from(self.r_min << difference > rank)
    }

    /// Takes note of a rank whose logarithm, rounded down, is `x`.
    #[inline]
    fn move_exponent(&mut self, x: u32, rank: u64) {
        let exponent = match self.rounding {
            BetaRounding::Floor => x,
            BetaRounding::Ceil => x + u32::from(self.r_min << x < rank),
        };
        self.beta = self.beta.max(exponent);
        self.counter += 1;
        if self.counter >= self.window_end {
            self.counter = 0;
            self.beta = exponent;
        }
    }

    /// Takes note of a rank and names its queue. A call costs less here than its code between that of other packets.
    #[inline(never)]
    fn select(&mut self, rank: u64) -> usize {
        let x = self.log_floor(rank);
        self.move_exponent(x, rank);
        self.queue_of(x, rank)
    }

    /// The queue of `rank`, whose x is this, under the present exponent.
    #[inline]
    fn queue_of(&self, x: u32, rank: u64) -> usize {
        let last = self.last;
        match &self.map {
            Map::Comment(BetaZero::Last) if self.beta == 0 => last,
            Map::Comment(BetaZero::First) if self.beta == 0 => 0,
            Map::Comment(_) => (((x + 1) * last as u32 / self.beta) as usize).min(last),
            Map::Bounds(table) => table.queue(self.beta, rank),
        }
    }
}

const WINDOW: Param = Param::integer("window_packets", 1, 1 << 32)
    .unit("packets")
    .or_integer(5000)
    .doc("C: after this many packets the exponent restarts at the next packet's. 5000 is the paper's evaluation.");

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
        /// [`Mapping::Comment`].
        Comment = "comment": "the formula in the comment of Algorithm 1",
        /// [`Mapping::Bounds`].
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
        summary: "Strict-priority queues whose bounds grow exponentially up to the highest rank seen lately.",
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

#[cfg(test)]
mod tests;
