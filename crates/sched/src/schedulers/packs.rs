//! PACKS: a sliding window of ranks decides which packets enter, and which strict-priority queue each of them takes.
//!
//! Paper: Alcoz, Vass, Namyar, Arzani, Rétvári, Vanbever, "Everything Matters in Programmable Packet Scheduling",
//! NSDI 2025, section 4.3 and Algorithm 1; section 5 for the hardware approximation.
//!
//! Parameters:
//! - B_1..B_n, the capacity of each of n queues (packets or bytes; default 8 x 10 packets, section 6.1);
//! - |W|, the window (ranks, 1 to 2^24; default 1000, section 6.1);
//! - k, the burstiness allowance (a fraction in [0, 1); default 0, section 6.1);
//! - shift: added to every rank that the window holds, not to the arriving one (section 6.1, Fig. 11; default 0);
//! - quantile, update, compare: readings of Algorithm 1;
//! - occupancy: that of each queue (Algorithm 1), or only that of the whole buffer (section 5, what a switch knows);
//! - sample s: packets 1, s+1, 2s+1, ... enter the window (section 5; default 1);
//! - arithmetic: exact, or the floating point of the published simulation;
//! - map: `occupancy`, Algorithm 1's (default), or `geometric`, fixed shares of the window's ranks, which shrink so that the
//!   slack behind the queues shrinks geometrically to eps at a given load (docs/slack.md); admission is the same;
//! - occupancy delay: by how many arrivals the lengths that the tests see are late (section 5; default 0);
//! - fall-through: whether a packet whose queue is full tries the next ones (default yes: Algorithm 1).
//!
//! Cost: one count over the window and at most n comparisons per enqueue, O(1) per dequeue. A switch needs one register
//! per window slot and the occupancy of each queue (or of the buffer).
//!
//! Deviation from PIFO: ranks that share a queue leave in arrival order; a packet that was admitted is never pushed
//! out. It drops exactly what AIFO drops (Theorem 2).
//!
//! Deviations: brackets around the fractions of Algorithm 1 are plain, not floors, and the tests are exact. Theorem 3
//! (no more inversions of the highest priority than AIFO) holds for batches, not when dequeues interleave; the tests
//! keep a counterexample.

use super::admission::{self, Admission, Arithmetic, Estimate, Quantile, Update, WindowOptions};
use super::delayed::{Delayed, OCCUPANCY_DELAY};
use super::geometric::GeometricMap;
use super::netbench::NetbenchTest;
use crate::decider::unforeseen;
use crate::params::{self, Args, FromArgs, Info, Literal, Param, ParamError, choices};
use crate::{Arriving, Capacity, Decider, Decision, DropReason, FromParams, Kept, RankInterval, Room};
use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_simd::FreePlaces;
use pifolab_units::{Rank, Ratio};

choices! {
    /// What PACKS knows about its queues.
    #[derive(Default)]
    pub enum Occupancy {
        /// How full each queue is: Algorithm 1.
        #[default]
        PerQueue = "per-queue": "how full each queue is (Algorithm 1)",
        /// Only how full the whole buffer is: the hardware approximation of section 5.
        Global = "global": "only how full the whole buffer is, of which queue i counts i/n (section 5)",
    }
}

/// What a [`Packs`](super::Packs) is built from.
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
    /// What the quantile counts.
    pub quantile: Quantile,
    /// When a rank enters the window.
    pub update: Update,
    /// Whether a quantile must be below the threshold, not at most as large.
    pub below: bool,
    /// What is known about the queues.
    pub occupancy: Occupancy,
    /// Whether a packet whose queue is full tries the next ones.
    pub fall_through: bool,
    /// Fixed shares of the window's ranks for the queues, in place of shares that follow their occupancy.
    pub map: Option<GeometricMap>,
    /// One packet in this many enters the window.
    pub sample: u32,
    /// In what numbers the tests are done.
    pub arithmetic: Arithmetic,
    /// The tests see the lengths that the arrival so many packets before found; 0 are those of now.
    pub occupancy_delay: u32,
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
            map: None,
            sample: 1,
            arithmetic: Arithmetic::default(),
            occupancy_delay: 0,
            start_window: Vec::new(),
        }
    }
}

/// PACKS.
///
/// ```
/// use pifolab_sched::{Enqueued, Packet, Scheduler, schedulers::{Packs, PacksParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut packs = Packs::new(PacksParams::uniform(2, 2, 4)).unwrap();
/// let mut queue_of = |rank: u32| {
///     let packet = Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO };
///     match packs.enqueue(packet, Time::ZERO) {
///         Enqueued::Admitted { queue, .. } => Some(queue),
///         _ => None,
///     }
/// };
/// assert_eq!(queue_of(5), Some(0)); // no lower rank seen yet
/// assert_eq!(queue_of(9), Some(1)); // one rank of two is lower: above 1/4, within 3/4
/// ```
#[derive(Debug)]
pub struct Packs {
    estimate: Estimate,
    admission: Admission,
    occupancy: Occupancy,
    fall_through: bool,
    /// Of the geometric map: the first quantile, as a multiple of 2^-62, that each queue but the last does not take any more.
    ends: Option<Box<[u64]>>,
    /// The test in floating point, where it is wanted.
    netbench: Option<NetbenchTest>,
    /// What the tests see of the queues.
    delayed: Delayed,
    /// For Algorithm 1 as printed: every rank enters the window first, and of at most eight queues, which count packets, each
    /// for itself, a full one is passed over.
    plain: Option<Plain>,
    /// The highest rank seen: queue bounds are looked for up to there.
    highest: Rank,
}

clone_by_field!(Packs { estimate, admission, occupancy, fall_through, ends, netbench, plain, highest, delayed });

/// What makes the usual test short.
#[derive(Debug)]
struct Plain {
    /// The free packets of the queues.
    free: FreePlaces,
    /// How many free packets each count of a full window asks for; empty for large windows.
    least: Box<[u64]>,
}

clone_by_field!(Plain { free, least });

impl Plain {
    /// Up to this many ranks what they ask for is worked out beforehand: 32 KB at most.
    const TABULATED: u32 = 1 << 12;

    fn new(rooms: &[Room], admission: &Admission, window: u32) -> Option<Self> {
        let free = FreePlaces::new(rooms.iter().map(Room::total))?;
        let counts = if window <= Self::TABULATED { window + 1 } else { 0 };
        Some(Self { free, least: (0..counts.into()).map(|count| admission.least((count, window.into()))).collect() })
    }

    /// As [`Packs::scan`]: takes a place in the queue with which the free packets reach what the test asks for. That one has
    /// a free packet itself; if the test asks for none, it is the first that has one.
    #[inline(always)]
    fn take(&mut self, admission: &Admission, quantile: (u64, u64)) -> (usize, bool) {
        // Counts from 0 to the window's size are tabulated; the window is full if it holds as many ranks.
        let (count, held) = quantile;
        let least = match self.least.get(count as usize) {
            Some(least_of_full) if held + 1 == self.least.len() as u64 => *least_of_full,
            _ => admission.least(quantile),
        };
        (self.free.take(least), least == 0)
    }
}

impl FromParams for Packs {
    type Params = PacksParams;

    fn from_params(params: PacksParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        let name = PacksParams::INFO.name;
        params::check_queue_capacities(name, &params.capacities)?;
        K.check_fraction(name, params.k)?;
        SHIFT.check(name, params.shift)?;
        let window = WindowOptions {
            size: params.window,
            shift: params.shift,
            quantile: params.quantile,
            update: params.update,
            sample: params.sample,
            start: &params.start_window,
        };
        let estimate = Estimate::new(name, window)?;
        let rooms: Vec<Room> = params.capacities.iter().map(|capacity| Room::new(*capacity)).collect();
        let netbench = (params.arithmetic == Arithmetic::Netbench).then(|| NetbenchTest::new(params.k, params.below));
        let plain = netbench.is_none()
            && estimate.enters_first()
            && params.occupancy_delay == 0
            && params.occupancy == Occupancy::PerQueue
            && params.fall_through
            && params.map.is_none()
            && !params.below
            && !rooms.iter().any(Room::counts_bytes);
        let parts = match params.occupancy {
            Occupancy::PerQueue => 1,
            Occupancy::Global => rooms.len() as u64,
        };
        let admission = Admission::new(params.k, rooms.iter().map(Room::total).sum(), parts, params.window);
        let decider = Self {
            plain: if plain { Plain::new(&rooms, &admission, params.window) } else { None },
            estimate,
            admission: if params.below { admission.strictly() } else { admission },
            occupancy: params.occupancy,
            fall_through: params.fall_through,
            ends: match params.map {
                Some(map) => Some(map.ends(name, params.capacities.len())?.into()),
                None => None,
            },
            netbench,
            delayed: Delayed::new(name, params.occupancy_delay, &params.capacities)?,
            highest: params.start_window.iter().copied().max().unwrap_or(Rank::ZERO),
        };
        Ok((decider, params.capacities))
    }
}

impl Decider for Packs {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Decision {
        let rank = packet.rank;
        self.highest = self.highest.max(rank);
        let (queue, passed) = match &mut self.plain {
            Some(plain) => plain.take(&self.admission, self.estimate.push_and_quantile(rank)),
            None => self.scan_with_options(packet, queues),
        };
        if queue < queues.len() {
            // What is free now was looked at, unless the accounts come late.
            return if self.delayed.is_late() { Decision::queue(queue) } else { Decision::queue_with_room(queue) };
        }
        // A branch: what is stored where would otherwise wait until it is known that the packet is not refused.
        Decision::refuse(if unforeseen(passed) { DropReason::Full } else { DropReason::Admission })
    }

    #[inline(always)]
    fn serve(&mut self, first: usize, _queues: &[Room]) -> usize {
        match &mut self.plain {
            // What is free tells it sooner than the queues do, and is told of the departure.
            Some(plain) => plain.free.give_back_first(),
            None => first,
        }
    }

    fn keeps_accounts(&self) -> bool {
        self.plain.is_some()
    }

    fn drop_accounts(&mut self) {
        self.plain = None;
    }

    /// With the geometric map the largest rank, up to the highest seen, whose quantile belongs to `queue` or one before it; else
    /// equation 11 with the window and the occupancy of now: the largest rank, up to the highest seen, whose quantile
    /// passes the test of `queue`; -1 if none does.
    fn ranks_of(&self, queue: usize, queues: &[Room]) -> RankInterval {
        if let Some(end) = self.ends.as_ref().and_then(|ends| ends.get(queue)) {
            // The counts below this end of all that the window holds.
            let most = (u128::from(*end) * u128::from(self.estimate.held())).checked_sub(1);
            let rank = most.map(|most| self.estimate.largest_rank_with((most >> 62) as u64, self.highest));
            return RankInterval::up_to(rank.unwrap_or(-1));
        }
        let Some(free_parts) = self.free_parts(self.delayed.seen(queues)).nth(queue) else {
            return RankInterval::default();
        };
        let count = self.admission.largest_count(self.estimate.held(), free_parts);
        RankInterval::up_to(count.map_or(-1, |count| self.estimate.largest_rank_with(count, self.highest)))
    }

    /// The first queue whose test the packet passed. With update `after` its rank has changed the window since.
    fn refused_at(&self, packet: Arriving, queues: &[Room]) -> Option<usize> {
        if self.estimate.enters_last() {
            return None;
        }
        let quantile = self.estimate.quantile(packet.rank);
        let first = self.refusing(quantile, self.delayed.seen(queues));
        (first < queues.len()).then(|| self.mapped(quantile).unwrap_or(first))
    }

    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        self.estimate.visit_window(visit);
    }

    fn kept(&self) -> Kept {
        self.estimate.kept(&self.delayed)
    }

    /// What is free in the queues is known from their accounts, and the highest rank seen decides nothing.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.estimate.visit_state(&self.delayed, visit);
    }

    fn resume(&mut self, window: &[Rank], _state: &[i64]) {
        self.estimate.resume(window);
        self.highest = window.iter().copied().fold(self.highest, Rank::max);
    }
}

impl Packs {
    /// Takes note of the rank, then [`scan`](Self::scan)s the accounts that this arrival sees.
    #[inline(never)]
    fn scan_with_options(&mut self, packet: Arriving, queues: &[Room]) -> (usize, bool) {
        let quantile = self.estimate.sample_and_quantile(packet.rank);
        let found = self.scan(quantile, packet.size, self.delayed.seen(queues));
        self.delayed.record(queues);
        found
    }

    /// Algorithm 1 for whatever options: the first queue that `quantile` passes and that has room; a number beyond all if
    /// there is none; and whether it passes any queue.
    fn scan(&self, quantile: (u64, u64), size: u32, queues: &[Room]) -> (usize, bool) {
        let (first, count) = (self.refusing(quantile, queues), queues.len());
        // The geometric map leaves to Algorithm 1's test whether the packet enters, not where.
        let mapped = if first < count { self.mapped(quantile).unwrap_or(first) } else { count };
        let last = if self.fall_through { count } else { count.min(mapped + 1) };
        let queue = (mapped..last).find(|queue| queues[*queue].fits(size)).unwrap_or(usize::MAX);
        (queue, first < count)
    }

    /// The queue of `quantile` by the geometric map, if that is wanted.
    fn mapped(&self, (count, held): (u64, u64)) -> Option<usize> {
        let reaches = |end: &&u64| u128::from(count) << 62 >= u128::from(**end) * u128::from(held);
        self.ends.as_ref().map(|ends| ends.iter().take_while(reaches).count())
    }

    /// How many queues `quantile` does not pass. Free space only adds up, so they are the first ones.
    fn refusing(&self, quantile: (u64, u64), queues: &[Room]) -> usize {
        let Some(test) = &self.netbench else {
            let least = self.admission.least(quantile);
            return self.free_parts(queues).filter(|free_parts| *free_parts < least).count();
        };
        let total: u64 = queues.iter().map(Room::total).sum();
        let passes = |queue: usize, free_parts: u64| {
            let (share, free) = match self.occupancy {
                Occupancy::PerQueue => (1.0, free_parts),
                Occupancy::Global => {
                    ((queue + 1) as f64 * (1.0 / queues.len() as f64), free_parts / (queue as u64 + 1))
                }
            };
            test.passes(quantile, share, free, total)
        };
        self.free_parts(queues).enumerate().take_while(|(queue, free_parts)| !passes(*queue, *free_parts)).count()
    }

    /// The free space that counts for each queue in turn, times the parts that the whole is cut into.
    #[inline]
    fn free_parts(&self, queues: &[Room]) -> impl Iterator<Item = u64> {
        let free = |room: &Room| room.total() - room.used();
        let whole = match self.occupancy {
            Occupancy::PerQueue => None,
            Occupancy::Global => Some(queues.iter().map(free).sum::<u64>()),
        };
        let mut sum = 0;
        queues.iter().map(move |room| {
            sum += whole.unwrap_or_else(|| free(room));
            sum
        })
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

choices! {
    /// How a quantile is mapped to a queue.
    enum Map {
        Occupancy = "occupancy": "the queues' shares are their free places (Algorithm 1)",
        Geometric = "geometric": "the queues' shares are fixed, and shrink so that slack shrinks geometrically",
    }
}

const MAP: Param = Param::choice::<Map>("map")
    .or_word(Map::Occupancy.word())
    .doc("How the quantile of an admitted packet is mapped to a queue. Admission is the same.");

const OCCUPANCY: Param = Param::choice::<Occupancy>("occupancy")
    .or_word(Occupancy::PerQueue.word())
    .doc("What is known about the queues; global is the approximation of the switch implementation.");

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
            MAP,
            GeometricMap::EPS,
            GeometricMap::LOAD,
            admission::SAMPLE,
            admission::ARITHMETIC,
            OCCUPANCY_DELAY,
            admission::START_WINDOW,
        ],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        // Without the geometric map eps and load stay unread: they have no effect.
        let map = match args.given(&MAP)? {
            Map::Occupancy => None,
            Map::Geometric => {
                Some(GeometricMap { eps: args.given(&GeometricMap::EPS)?, load: args.given(&GeometricMap::LOAD)? })
            }
        };
        Ok(Self {
            capacities: params::read_queue_capacities(args)?,
            map,
            window: args.given(&WINDOW)?,
            k: args.given(&K)?,
            shift: args.given(&SHIFT)?,
            quantile: admission::read_quantile(args)?,
            update: admission::read_update(args)?,
            below: args.given::<Comparison>(&COMPARE)? == Comparison::Below,
            occupancy: args.given(&OCCUPANCY)?,
            fall_through: args.given(&params::FALL_THROUGH)?,
            sample: args.given(&admission::SAMPLE)?,
            arithmetic: args.given(&admission::ARITHMETIC)?,
            occupancy_delay: args.given(&OCCUPANCY_DELAY)?,
            start_window: admission::read_start_window(args)?,
        })
    }
}

#[cfg(test)]
mod tests;
