//! RIFO: one queue that admits a packet if its rank, relative to the range of recent ranks, is below the free share.
//!
//! Paper: Mostafaei, Pacut, Schmid, "RIFO: Pushing the Efficiency of Programmable Packet Schedulers", IEEE/ACM
//! Transactions on Networking 2025, section III and Algorithm 1; section V and Table I for the switch tables.
//!
//! Parameters:
//! - B, the capacity (packets or bytes; l is what is queued, in the same unit);
//! - T, the tracking range (packets, default 500, section VI): after T packets Min and Max restart at the rank of the
//!   next one;
//! - k, the guaranteed admission buffer (fraction of B, default 1/10, section VI);
//! - mode: `alg1` (Algorithm 1, default), `eq3` (the division-free form of eq. 3), `pow2` (the switch: eq. 3 with every
//!   factor replaced by a power of two) or `netbench` (the published simulation, which compares the reversed score with
//!   the free share);
//! - reset counter: what the counter restarts at; 1 as Algorithm 1 says (period T, default), or 0 as the text says
//!   (period T + 1);
//! - occupancy delay: by how many arrivals the length that the test sees is late (section V; default 0).
//!
//! Cost: O(1) per operation. A switch needs three registers (Min, Max, counter), and for `pow2` three tables of 15
//! entries and two of 256.
//!
//! Deviation from PIFO: what is admitted leaves first-in first-out, so RIFO approximates which packets leave, not their
//! order; admission looks at the range of ranks, not at their distribution.
//!
//! Deviations: eq. 3 is not Algorithm 1 rewritten: with k > 0 it divides the free share by 1 - k and admits more. The
//! masks of Table I taken to the letter match nothing but the power itself; exponents are floor(log2 v) here, a product
//! with a factor 0 is 0, and (1-k)B takes the nearest power of two (ties the lower one, at least 1). Where ranks or
//! capacities need more than 16 bits, the two operands of a ratio are shifted right together until the larger fits.

mod published;

use super::delayed::{Delayed, OCCUPANCY_DELAY};
use super::headroom::{Headroom, ShelteredPower, bits_above_16};
use crate::params::{self, Args, FromArgs, Info, Kind, Literal, Param, ParamError, choices};
use crate::{Arriving, Capacity, Decider, Decision, DropReason, FromParams, Kept, Room};
use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_units::{Rank, Ratio};
use published::PublishedTest;

choices! {
    /// The admission test.
    #[derive(Default)]
    pub enum RifoMode {
        /// l <= kB, or (r - Min) / (Max - Min) <= (B - l) / B.
        #[default]
        Alg1 = "alg1": "the test of Algorithm 1",
        /// (1 - k) B (r - Min) <= (B - l) (Max - Min).
        Eq3 = "eq3": "the test of eq. 3, which admits more if k > 0",
        /// As `Eq3` with each factor replaced by a power of two: the switch.
        Pow2 = "pow2": "eq. 3 on powers of two, as the switch tables compute it",
        /// l <= kB, or (Max - r) / (Max - Min) >= (B - l) / B, in the numbers and with the registers of the published
        /// simulation; the reset counter has no part in it.
        Netbench = "netbench": "the published simulation: the reversed score against the free share",
    }
}

/// What the packet counter restarts at when the tracking range does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResetCounter {
    /// The packet that restarts the range counts: period T.
    #[default]
    One,
    /// It does not: period T + 1.
    Zero,
}

/// What a [`Rifo`](super::Rifo) is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RifoParams {
    /// B: the most that the queue holds; not unlimited.
    pub capacity: Capacity,
    /// T, in packets.
    pub tracking_range: u64,
    /// k, the share of the queue that admits every rank; below 1.
    pub k: Ratio,
    /// The admission test.
    pub mode: RifoMode,
    /// What the counter restarts at.
    pub reset_counter: ResetCounter,
    /// The test sees the length that the arrival so many packets before found; 0 is that of now.
    pub occupancy_delay: u32,
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
            occupancy_delay: 0,
        }
    }
}

/// RIFO.
///
/// ```
/// use pifolab_sched::{Packet, Scheduler, schedulers::{Rifo, RifoParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut rifo = Rifo::new(RifoParams::packets(2)).unwrap();
/// let packet = |id, rank: u32| Packet { id, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO };
/// assert!(rifo.enqueue(packet(0, 1), Time::ZERO).is_admitted());
/// // Ranks 1 to 9 were seen; rank 9 would need an empty queue, rank 5 a queue that is at most half full.
/// assert!(!rifo.enqueue(packet(1, 9), Time::ZERO).is_admitted());
/// assert!(rifo.enqueue(packet(2, 5), Time::ZERO).is_admitted());
/// assert_eq!(rifo.decider().range().map(|(min, max)| (min.get(), max.get())), Some((1, 9)));
/// ```
#[derive(Clone, Debug)]
pub struct Rifo {
    /// Smallest and largest rank of the tracking range; `min > max` before the first packet.
    min: u64,
    max: u64,
    counter: u64,
    tracking_range: u64,
    restart: u64,
    test: Test,
    /// What departs from Algorithm 1, if anything does.
    options: Option<Box<Options>>,
}

#[derive(Clone, Debug)]
struct Options {
    /// In the mode of the published simulation all that decides; the registers above stay unused.
    published: Option<PublishedTest>,
    /// What the test sees of the queue.
    delayed: Delayed,
}

/// The admission test, with what can be computed beforehand.
#[derive(Clone, Debug)]
enum Test {
    /// l <= `guaranteed` passes whatever the rank: floor(kB).
    Alg1 {
        guaranteed: u64,
    },
    /// Both sides of eq. 3 multiplied by k's denominator.
    Eq3 {
        sheltered: u128,
        denominator: u64,
    },
    Pow2(ShelteredPower),
}

impl FromParams for Rifo {
    type Params = RifoParams;

    fn from_params(params: RifoParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        let name = RifoParams::INFO.name;
        params::check_bounded_capacity(name, params.capacity)?;
        TRACKING_RANGE.check(name, params.tracking_range)?;
        K.check_fraction(name, params.k)?;
        let total = Room::new(params.capacity).total();
        let published =
            (params.mode == RifoMode::Netbench).then(|| PublishedTest::new(params.tracking_range, params.k, total));
        let delayed = Delayed::new(name, params.occupancy_delay, &[params.capacity])?;
        let decider = Self {
            test: Test::new(params.mode, params.k, total),
            min: u64::MAX,
            max: 0,
            counter: 0,
            tracking_range: params.tracking_range,
            restart: match params.reset_counter {
                ResetCounter::One => 1,
                ResetCounter::Zero => 0,
            },
            options: (published.is_some() || delayed.is_late()).then(|| Box::new(Options { published, delayed })),
        };
        Ok((decider, alloc::vec![params.capacity]))
    }
}

impl Decider for Rifo {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Decision {
        let (rank, queue) = (packet.rank.get(), &queues[0]);
        let passes = if self.options.is_none() {
            self.track(rank);
            self.admits(rank, queue.used(), queue.total())
        } else {
            self.passes_with_options(rank, queue)
        };
        Decision::queue_if(passes, 0, DropReason::Admission)
    }

    #[inline(always)]
    fn serves_by_priority(&self) -> bool {
        true
    }

    /// Its two registers stand for a window: Min, then Max.
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        if let Some((min, max)) = self.range() {
            visit(min);
            visit(max);
        }
    }

    fn kept(&self) -> Kept {
        self.options.as_ref().map_or(Kept::default(), |options| options.delayed.kept())
    }

    /// Min and Max (-1 and 0 before the first packet), then the counter, then the lengths that the next arrivals see.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        let registers = match self.published() {
            Some(published) => published.registers(),
            None => [self.min as i64, self.max as i64, self.counter as i64],
        };
        registers.into_iter().for_each(&mut *visit);
        if let Some(options) = &self.options {
            options.delayed.visit_state(visit);
        }
    }

    /// A counter beyond a shorter tracking range ends it with the next packet.
    fn resume(&mut self, _window: &[Rank], state: &[i64]) {
        let [min, max, counter, ..] = *state else { return };
        let counter = (counter as u64).min(self.tracking_range);
        if let Some(published) = self.options.as_mut().and_then(|options| options.published.as_mut()) {
            published.resume(min, max, counter);
        } else {
            (self.min, self.max, self.counter) = (min as u64, max as u64, counter);
        }
    }
}

impl Rifo {
    /// Min and Max of the tracking range; `None` before the first packet.
    pub fn range(&self) -> Option<(Rank, Rank)> {
        let rank = Rank::saturating;
        if let Some(published) = self.published() {
            return published.range().map(|(min, max)| (rank(min), rank(max)));
        }
        (self.min <= self.max).then(|| (rank(self.min), rank(self.max)))
    }

    #[inline]
    fn track(&mut self, rank: u64) {
        if self.counter == self.tracking_range {
            (self.min, self.max) = (rank, rank);
            self.counter = self.restart;
        } else {
            self.min = rank.min(self.min);
            self.max = rank.max(self.max);
            self.counter += 1;
        }
    }

    /// Shows the registers an arriving rank, and says whether the admission test lets it pass, for whatever options.
    #[inline(never)]
    fn passes_with_options(&mut self, rank: u64, queue: &Room) -> bool {
        let options = self.options.as_mut().expect("called only where there are some");
        let used = options.delayed.used(queue);
        if let Some(published) = &mut options.published {
            return published.passes(rank, used);
        }
        self.track(rank);
        self.admits(rank, used, queue.total())
    }

    fn published(&self) -> Option<&PublishedTest> {
        self.options.as_ref()?.published.as_ref()
    }

    /// Whether a rank within the tracked range may enter.
    #[inline]
    fn admits(&self, rank: u64, used: u64, total: u64) -> bool {
        let range = self.max - self.min;
        range == 0 || self.test.admits(rank - self.min, range, used, total)
    }
}

impl Test {
    fn new(mode: RifoMode, k: Ratio, capacity: u64) -> Self {
        let headroom = Headroom::new(k, capacity);
        match mode {
            RifoMode::Alg1 => Self::Alg1 { guaranteed: headroom.guaranteed() },
            RifoMode::Eq3 | RifoMode::Netbench => {
                Self::Eq3 { sheltered: headroom.sheltered(), denominator: headroom.scale() }
            }
            RifoMode::Pow2 => Self::Pow2(headroom.power()),
        }
    }

    /// Whether `above` = r - Min of a `range` = Max - Min may enter a queue of `total` with `used` in it.
    #[inline]
    fn admits(&self, above: u64, range: u64, used: u64, total: u64) -> bool {
        let free = total - used;
        match *self {
            Self::Alg1 { guaranteed } => {
                used <= guaranteed || u128::from(above) * u128::from(total) <= u128::from(free) * u128::from(range)
            }
            Self::Eq3 { sheltered, denominator } => {
                wide_product(sheltered, above) <= wide_product(u128::from(free) * u128::from(denominator), range)
            }
            Self::Pow2(ShelteredPower { exponent, shift }) => {
                let rank_shift = bits_above_16(range);
                let power = |value: u64, shift: u32| (value >> shift).checked_ilog2();
                match (power(above, rank_shift), power(free, shift), power(range, rank_shift)) {
                    (None, _, _) => true,
                    (Some(above), Some(free), Some(range)) => exponent + above <= free + range,
                    (Some(_), _, _) => false,
                }
            }
        }
    }
}

/// The 192-bit product, most significant part first: eq. 3 with capacities in bytes needs up to 136 bits.
#[inline]
const fn wide_product(a: u128, b: u64) -> (u128, u64) {
    let low = (a as u64 as u128) * b as u128;
    ((a >> 64) * b as u128 + (low >> 64), low as u64)
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
        params: &[
            params::CAPACITY_PACKETS,
            params::CAPACITY_BYTES,
            TRACKING_RANGE,
            K,
            MODE,
            RESET_COUNTER,
            OCCUPANCY_DELAY,
        ],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        let mode = args.given(&MODE)?;
        Ok(Self {
            capacity: params::read_capacity(args)?,
            tracking_range: args.given(&TRACKING_RANGE)?,
            k: args.given(&K)?,
            mode,
            reset_counter: match mode {
                // The counter stays unread: it has no effect here.
                RifoMode::Netbench => ResetCounter::default(),
                RifoMode::Alg1 | RifoMode::Eq3 | RifoMode::Pow2 => match args.given::<u8>(&RESET_COUNTER)? {
                    0 => ResetCounter::Zero,
                    _ => ResetCounter::One,
                },
            },
            occupancy_delay: args.given(&OCCUPANCY_DELAY)?,
        })
    }
}

#[cfg(test)]
mod tests;
