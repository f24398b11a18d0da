//! The options of RIFO.

use crate::Capacity;
use crate::params::{self, Args, FromArgs, Info, Kind, Literal, Param, ParamError, choices};
use pifolab_units::Ratio;

choices! {
    /// The admission test.
    #[derive(Default)]
    pub enum RifoMode {
        /// l <= kB, or (r - Min) / (Max - Min) <= (B - l) / B.
        #[default]
        Alg1 = "alg1": "the test of Algorithm 1",
        /// (1 - k) B (r - Min) <= (B - l) (Max - Min).
        Eq3 = "eq3": "the test of eq. 3, which admits more if k > 0",
        /// As `Eq3` with each factor replaced by a power of two, as on the switch.
        Pow2 = "pow2": "eq. 3 on powers of two, as the switch tables compute it",
    }
}

/// The value at which the packet counter restarts with the tracking range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResetCounter {
    /// The packet that restarts the range counts: period T.
    #[default]
    One = 1,
    /// The packet that restarts the range does not count: period T + 1.
    Zero = 0,
}

/// The parameters of [`Rifo`](crate::schedulers::Rifo).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RifoParams {
    /// B, the capacity of the queue; not unlimited.
    pub capacity: Capacity,
    /// T, in packets.
    pub tracking_range: u64,
    /// k, the share of the queue that admits every rank; below 1.
    pub k: Ratio,
    /// The admission test.
    pub mode: RifoMode,
    /// The value at which the counter restarts.
    pub reset_counter: ResetCounter,
}

impl RifoParams {
    /// Algorithm 1 with the paper's T = 500 and k = 1/10 on a queue of `packets` packets.
    pub fn packets(packets: u32) -> Self {
        Self {
            capacity: Capacity::Packets(packets),
            tracking_range: 500,
            k: Ratio::new(1, 10).expect("ten is not zero"),
            mode: RifoMode::default(),
            reset_counter: ResetCounter::default(),
        }
    }

    /// # Errors
    /// A value out of its range.
    pub fn check(&self) -> Result<(), ParamError> {
        let name = Self::INFO.name;
        params::check_bounded_capacity(name, self.capacity)?;
        TRACKING_RANGE.check(name, self.tracking_range)?;
        K.check_fraction(name, self.k)
    }
}

const TRACKING_RANGE: Param = Param::integer("tracking_range_packets", 1, 1 << 32).unit("packets").or_integer(500).doc(
    "T: after this many packets Min and Max restart at the rank of the next packet. 500 is the paper's evaluation.",
);

const K: Param = Param::new("k", Kind::Fraction)
    .or(Literal::Fraction(1, 10))
    .doc("The share of the queue within which every rank is admitted; 0.1 is the paper's evaluation.");

const MODE: Param = Param::choice::<RifoMode>("mode").or_word(RifoMode::Alg1.word()).doc("The admission test.");

const RESET_COUNTER: Param = Param::integer("reset_counter", 0, 1).unit("packets").or_integer(1).doc(
    "What the packet counter restarts at: 1 as in Algorithm 1 (period T), 0 as in the paper's text (period T + 1).",
);

impl FromArgs for RifoParams {
    const INFO: Info = Info {
        name: "rifo",
        summary: "One queue; a packet enters if its place in the range of recent ranks is below the free share.",
        paper: "RIFO, IEEE/ACM ToN 2025, section III, Algorithm 1",
        effect: "Admitted packets leave in arrival order; admission knows the range of ranks, not their distribution.",
        state: "three registers (Min, Max, counter); pow2 adds three tables of 15 entries and two of 256",
        cost: "O(1) per operation",
        params: &[params::CAPACITY_PACKETS, params::CAPACITY_BYTES, TRACKING_RANGE, K, MODE, RESET_COUNTER],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self {
            capacity: params::read_capacity(args)?,
            tracking_range: args.given(&TRACKING_RANGE)?,
            k: args.given(&K)?,
            mode: args.given(&MODE)?,
            reset_counter: match args.given::<u8>(&RESET_COUNTER)? {
                0 => ResetCounter::Zero,
                _ => ResetCounter::One,
            },
        })
    }
}
