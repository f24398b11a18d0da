//! The options of PACKS.

use crate::Capacity;
use crate::params::{self, Args, FromArgs, Info, Literal, Param, ParamError, choices};
use crate::schedulers::admission::{self, Quantile, Update, WindowOptions};
use alloc::vec::Vec;
use pifolab_units::{Rank, Ratio};

choices! {
    /// The occupancy that PACKS reads.
    #[derive(Default)]
    pub enum Occupancy {
        #[default]
        PerQueue = "per-queue": "how full each queue is (Algorithm 1)",
        Global = "global": "only how full the whole buffer is, of which queue i counts i/n (section 5)",
    }
}

impl Occupancy {
    /// The number of parts into which the free space of `queues` queues is divided.
    pub fn parts(self, queues: usize) -> u64 {
        match self {
            Self::PerQueue => 1,
            Self::Global => queues as u64,
        }
    }
}

/// The parameters of [`Packs`](crate::schedulers::Packs).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacksParams {
    /// The capacity of each queue, highest priority first.
    pub capacities: Vec<Capacity>,
    /// |W|.
    pub window: u32,
    /// k, below 1.
    pub k: Ratio,
    /// Added to every rank that the window holds.
    pub shift: i64,
    /// Which ranks the quantile counts.
    pub quantile: Quantile,
    /// When a rank enters the window.
    pub update: Update,
    /// Whether a quantile must be below the threshold; otherwise at most as large.
    pub below: bool,
    /// The occupancy that is read.
    pub occupancy: Occupancy,
    /// Whether a packet whose queue is full tries the next ones.
    pub fall_through: bool,
    /// One packet in this many enters the window.
    pub sample: u32,
    /// Ranks that the window starts with, oldest first.
    pub start_window: Vec<Rank>,
}

impl PacksParams {
    /// The paper's scheduler on `queues` queues of `packets` packets each, with a window of `window` ranks and k = 0.
    pub fn uniform(queues: usize, packets: u32, window: u32) -> Self {
        Self {
            capacities: alloc::vec![Capacity::Packets(packets); queues],
            window,
            k: Ratio::ZERO,
            shift: 0,
            quantile: Quantile::default(),
            update: Update::default(),
            below: false,
            occupancy: Occupancy::default(),
            fall_through: true,
            sample: 1,
            start_window: Vec::new(),
        }
    }

    /// # Errors
    /// A value out of its range.
    pub fn check(&self) -> Result<(), ParamError> {
        let name = Self::INFO.name;
        params::check_queue_capacities(name, &self.capacities)?;
        K.check_fraction(name, self.k)?;
        SHIFT.check(name, self.shift)
    }

    /// The window and how ranks enter it.
    pub fn window(&self) -> WindowOptions<'_> {
        WindowOptions {
            size: self.window,
            shift: self.shift,
            quantile: self.quantile,
            update: self.update,
            sample: self.sample,
            start: &self.start_window,
        }
    }
}

const WINDOW: Param = admission::WINDOW.or_integer(1000);

const K: Param = admission::K.or(Literal::Fraction(0, 1));

const SHIFT: Param = Param::integer("shift", -i64::MAX, params::MAX_RANK).unit("ranks").or_integer(0).doc(
    "Added to every rank that the window holds, not to the arriving one: how PACKS behaves when the window tells a \
          wrong distribution (section 6.1, Fig. 11).",
);

choices! {
    /// How the quantile is compared with the thresholds.
    enum Comparison {
        AtMost = "le": "a queue takes a packet whose quantile is at most its threshold (Algorithm 1)",
        Below = "lt": "its quantile must be below: what the negative shifts of Fig. 11 need",
    }
}

const COMPARE: Param = Param::choice::<Comparison>("compare")
    .or_word(Comparison::AtMost.word())
    .doc("How the quantile is compared with the thresholds.");

const OCCUPANCY: Param = Param::choice::<Occupancy>("occupancy")
    .or_word(Occupancy::PerQueue.word())
    .doc("The occupancy that the test reads; global is the approximation of the switch implementation.");

impl FromArgs for PacksParams {
    const INFO: Info = Info {
        name: "packs",
        summary: "The quantile of a rank in a sliding window decides whether a packet enters and which queue it takes.",
        paper: "PACKS, NSDI 2025, section 4.3, Algorithm 1",
        effect: "Ranks that share a queue leave in arrival order; an admitted packet is never pushed out.",
        state: "one register per window slot, and the occupancy of each queue (or of the buffer)",
        cost: "a count over the window and up to one comparison per queue per enqueue, O(1) per dequeue",
        params: &[
            params::QUEUES,
            params::QUEUE_CAPACITY_PACKETS,
            params::QUEUE_CAPACITY_BYTES,
            WINDOW,
            K,
            SHIFT,
            admission::QUANTILE,
            admission::UPDATE,
            COMPARE,
            OCCUPANCY,
            params::FALL_THROUGH,
            admission::SAMPLE,
            admission::START_WINDOW,
        ],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self {
            capacities: params::read_queue_capacities(args)?,
            window: args.given(&WINDOW)?,
            k: args.given(&K)?,
            shift: args.given(&SHIFT)?,
            quantile: admission::read_quantile(args)?,
            update: admission::read_update(args)?,
            below: args.given::<Comparison>(&COMPARE)? == Comparison::Below,
            occupancy: args.given(&OCCUPANCY)?,
            fall_through: args.given(&params::FALL_THROUGH)?,
            sample: args.given(&admission::SAMPLE)?,
            start_window: admission::read_start_window(args)?,
        })
    }
}
