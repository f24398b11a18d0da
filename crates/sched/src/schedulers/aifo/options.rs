//! The options of AIFO.

use crate::params::{self, Args, FromArgs, Info, Literal, Param, ParamError};
use crate::schedulers::admission::{self, Quantile, Update, WindowOptions};
use crate::{Capacity, Room};
use alloc::vec::Vec;
use pifolab_units::{Rank, Ratio};

/// The parameters of [`Aifo`](crate::schedulers::Aifo).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AifoParams {
    /// The capacity of the queue.
    pub capacity: Capacity,
    /// C in the admission test, in the unit of the capacity; by default the capacity.
    pub target: Option<u64>,
    /// |W|.
    pub window: u32,
    /// k, below 1.
    pub k: Ratio,
    /// One packet in this many enters the window.
    pub sample: u32,
    /// Which ranks the quantile counts.
    pub quantile: Quantile,
    /// When a rank enters the window.
    pub update: Update,
    /// Ranks that the window starts with, oldest first.
    pub start_window: Vec<Rank>,
}

impl AifoParams {
    /// The paper's scheduler with `packets` packets and its settings: |W| = 20, k = 1/10, every packet sampled.
    ///
    /// # Panics
    /// Never: 1/10 is a fraction.
    pub fn packets(packets: u32) -> Self {
        Self {
            capacity: Capacity::Packets(packets),
            target: None,
            window: 20,
            k: Ratio::new(1, 10).expect("1/10 is a fraction"),
            sample: 1,
            quantile: Quantile::default(),
            update: Update::default(),
            start_window: Vec::new(),
        }
    }

    /// # Errors
    /// A value out of its range.
    pub fn check(&self) -> Result<(), ParamError> {
        let name = Self::INFO.name;
        params::check_bounded_capacity(name, self.capacity)?;
        if let Some(target) = self.target {
            let row = if let Capacity::Bytes(_) = self.capacity { &TARGET_BYTES } else { &TARGET_PACKETS };
            row.check(name, target)?;
        }
        K.check_fraction(name, self.k)
    }

    /// C.
    pub fn target(&self) -> u64 {
        self.target.unwrap_or_else(|| Room::new(self.capacity).total())
    }

    /// The window and how ranks enter it.
    pub fn window(&self) -> WindowOptions<'_> {
        WindowOptions {
            size: self.window,
            shift: 0,
            quantile: self.quantile,
            update: self.update,
            sample: self.sample,
            start: &self.start_window,
        }
    }
}

const TARGET_PACKETS: Param = Param::integer("target_packets", 1, params::MAX_PACKETS)
    .unit("packets")
    .means("the capacity")
    .doc("C, the occupancy that the admission test aims at, where it differs from the physical capacity.");

const TARGET_BYTES: Param = Param::integer("target_bytes", 1, params::MAX_BYTES)
    .unit("bytes")
    .means("the capacity")
    .doc("C in bytes, beside capacity_bytes.");

const WINDOW: Param = admission::WINDOW.or_integer(20);

const K: Param = admission::K.or(Literal::Fraction(1, 10));

impl FromArgs for AifoParams {
    const INFO: Info = Info {
        name: "aifo",
        summary: "One first-in first-out queue behind a test that compares the quantile of a rank with the free space.",
        paper: "AIFO, SIGCOMM 2021, section 4.2, Algorithm 1",
        effect: "It approximates which packets PIFO sends, not their order; an admitted packet is never pushed out.",
        state: "one register per window slot and a sampling counter",
        cost: "a count over the window per enqueue beyond the headroom, O(1) per dequeue",
        params: &[
            params::CAPACITY_PACKETS,
            params::CAPACITY_BYTES,
            TARGET_PACKETS,
            TARGET_BYTES,
            WINDOW,
            K,
            admission::SAMPLE,
            admission::QUANTILE,
            admission::UPDATE,
            admission::START_WINDOW,
        ],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        let capacity = params::read_capacity(args)?;
        let target = match capacity {
            Capacity::Bytes(_) => args.get(&TARGET_BYTES)?,
            Capacity::Packets(_) | Capacity::Unlimited => args.get(&TARGET_PACKETS)?,
        };
        Ok(Self {
            capacity,
            target,
            window: args.given(&WINDOW)?,
            k: args.given(&K)?,
            sample: args.given(&admission::SAMPLE)?,
            quantile: admission::read_quantile(args)?,
            update: admission::read_update(args)?,
            start_window: admission::read_start_window(args)?,
        })
    }
}
