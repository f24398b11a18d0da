//! Slack-SP: adaptive bounds of strict-priority queues, each at a fixed quantile of the ranks, so that the slack behind the
//! queues shrinks geometrically.
//!
//! No paper: docs/slack.md has the derivation; it stands in short in `geometric.rs`.
//!
//! Parameters:
//! - n queues and their capacities (packets or bytes);
//! - eps, the slack that is left for the last queue (default 1/10);
//! - step D: by how much a bound moves (ranks, default 1/2; with `steps = proportional` a share of the bound, default 1/128,
//!   for ranks that span orders of magnitude);
//! - b_1..b_{n-1}, the bounds to start with; or R, over which they are spread (default 100);
//! - fall-through: whether a packet whose queue is full tries the next ones (default yes);
//! - admission: a register T in place of tail drop; ranks above T are refused, and T follows the room that is left
//!   (`admission_gain` c in ranks per packet, `target_packets`; default none).
//!
//! Cost: n - 1 comparisons and additions per enqueue, O(1) per dequeue. A switch needs a register for each bound, and does one
//! thing with it for a packet: compare, then add one of two constants. With admission two registers more: T, and the highest
//! rank seen, which T does not exceed so that it need not come back from far above.
//!
//! Deviation from PIFO: ranks that share a queue leave in arrival order; without admission a packet is dropped for want of room
//! in its queue and those behind it, whatever its rank.
//!
//! Settled here: bounds are multiples of 2^-20 ranks, and moves are rounded to them once; ranks from 2^42 on count as equal.
//! Every arrival moves the bounds, also one that is dropped. A bound that moves in proportion moves by 2^-20 ranks at least.

mod admission;

pub use admission::SlackAdmission;

use super::geometric::{self, ONE};
use super::packs::FALL_THROUGH;
use crate::params::{self, Args, FromArgs, Info, Kind, Literal, Param, ParamError, choices};
use crate::{Arriving, Capacity, Decider, Decision, DropReason, FromParams, RankInterval, Room};
use admission::Limit;
use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_units::{Rank, Ratio};

choices! {
    /// What a step is measured in.
    #[derive(Default)]
    pub enum StepScale {
        /// Ranks.
        #[default]
        Constant = "constant": "a step is so many ranks",
        /// The bound itself.
        Proportional = "proportional": "a step is a share of the bound",
    }
}

/// What a [`SlackSp`](super::SlackSp) is built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlackSpParams {
    /// The capacity of each queue, highest priority first.
    pub capacities: Vec<Capacity>,
    /// The slack that is left for the last queue, between 0 and 1.
    pub eps: Ratio,
    /// What `step` is measured in.
    pub steps: StepScale,
    /// D.
    pub step: Ratio,
    /// b_1..b_{n-1}: one fewer than there are queues.
    pub initial_bounds: Vec<Rank>,
    /// Whether a packet whose queue is full tries the next ones.
    pub fall_through: bool,
    /// Admission by rank, if any.
    pub admission: Option<SlackAdmission>,
}

impl SlackSpParams {
    /// With the default options on `queues` queues of `packets` packets each, for ranks from 0 to 99.
    pub fn uniform(queues: usize, packets: u32) -> Self {
        Self {
            capacities: alloc::vec![Capacity::Packets(packets); queues],
            eps: Ratio::new(1, 10).expect("a tenth"),
            steps: StepScale::default(),
            step: StepScale::default().usual_step(),
            initial_bounds: spread(queues, DEFAULT_RANKS),
            fall_through: true,
            admission: None,
        }
    }
}

impl StepScale {
    fn usual_step(self) -> Ratio {
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

/// A bound and its moves, as multiples of 2^-20 ranks, or of 2^-32 of the bound.
#[derive(Clone, Copy, Debug)]
struct Bound {
    at: i64,
    up: i64,
    down: i64,
}

const FRACTION: u32 = 20;
const SHARE: u32 = 32;
/// Ranks from here on count as equal.
const MOST: u64 = 1 << 42;

/// The rank as a bound is written.
#[inline(always)]
fn fixed(rank: Rank) -> i64 {
    (rank.get().min(MOST) << FRACTION) as i64
}

/// Slack-SP.
///
/// ```
/// use pifolab_sched::{Enqueued, Inspect, Packet, Scheduler, schedulers::{SlackSp, SlackSpParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut scheduler = SlackSp::new(SlackSpParams::uniform(8, 10)).unwrap();
/// let packet = Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(30), arrival: Time::ZERO };
/// let outcome = scheduler.enqueue(packet, Time::ZERO);
/// assert_eq!(outcome, Enqueued::Admitted { queue: 2, rank: Rank::from(30) }); // above 100/8 and 200/8
/// ```
#[derive(Debug)]
pub struct SlackSp {
    bounds: Vec<Bound>,
    steps: StepScale,
    fall_through: bool,
    limit: Option<Box<Limit>>,
    /// The queue that the last packet was meant for, if it was not refused before.
    meant: Option<u32>,
}

clone_by_field!(SlackSp { bounds, steps, fall_through, limit, meant });

impl FromParams for SlackSp {
    type Params = SlackSpParams;

    fn from_params(params: SlackSpParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        let name = SlackSpParams::INFO.name;
        params::check_queue_capacities(name, &params.capacities)?;
        let shares = geometric::shares(name, &EPS, params.eps, params.capacities.len())?;
        if params.initial_bounds.len() != shares.len() {
            let shown = alloc::format!("a list of {}", params.initial_bounds.len());
            let expected = alloc::format!("expected {} bounds, one fewer than there are queues", shares.len());
            return Err(INITIAL_BOUNDS.error_because(name, shown, expected));
        }
        let bits = match params.steps {
            StepScale::Constant => FRACTION,
            StepScale::Proportional => SHARE,
        };
        let too_wide = params.steps == StepScale::Proportional && params.step >= Ratio::ONE;
        let whole = rounded(ONE, params.step, bits);
        if too_wide || whole < 2 {
            let expected = match params.steps {
                StepScale::Constant => "expected a number of ranks, 1/524288 or more",
                StepScale::Proportional => "expected a share of the bound below 1 and not below 2^-31",
            };
            return Err(STEP.error_because(name, params.step, expected));
        }
        let bound = |(rank, share): (&Rank, u64)| {
            let up = rounded(share, params.step, bits);
            Bound { at: fixed(*rank), up, down: whole - up }
        };
        let bounds = params.initial_bounds.iter().zip(shares).map(bound).collect();
        let limit = params.admission.map(|admission| {
            let gain = rounded(ONE, admission.gain, FRACTION);
            Box::new(Limit::new(gain, admission.target_packets))
        });
        let (steps, fall_through) = (params.steps, params.fall_through);
        Ok((Self { bounds, steps, fall_through, limit, meant: None }, params.capacities))
    }
}

/// `share` of `step` as a multiple of 2^-`bits`, to the nearest.
fn rounded(share: u64, step: Ratio, bits: u32) -> i64 {
    let product = (u128::from(share) * u128::from(step.numerator())) << bits.min(32);
    let whole = u128::from(step.denominator()) << 62;
    i64::try_from((product + whole / 2) / whole).unwrap_or(i64::MAX)
}

impl Decider for SlackSp {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Decision {
        let rank = fixed(packet.rank);
        let mut queue = 0;
        for bound in &mut self.bounds {
            let above = rank >= bound.at;
            queue += usize::from(above);
            bound.at += match self.steps {
                StepScale::Constant if above => bound.up,
                StepScale::Constant => -bound.down,
                StepScale::Proportional if above => share_of(bound.at, bound.up),
                StepScale::Proportional => -share_of(bound.at, bound.down),
            };
        }
        if let Some(limit) = &mut self.limit
            && limit.refuses(rank, queues)
        {
            self.meant = None;
            return Decision::refuse(DropReason::Admission);
        }
        self.meant = Some(queue as u32);
        if self.fall_through {
            let free = (queue..queues.len()).find(|queue| queues[*queue].fits(packet.size));
            queue = free.unwrap_or(queue);
        }
        Decision::queue(queue)
    }

    /// The queue takes ranks that reach so many bounds as there are queues before it: bounds may have crossed.
    fn ranks_of(&self, queue: usize, _queues: &[Room]) -> RankInterval {
        let place = |number: usize| {
            let below = |(other, bound): (usize, &Bound)| (bound.at, other) < (self.bounds[number].at, number);
            self.bounds.iter().enumerate().filter(|other| below(*other)).count()
        };
        let bound = (0..self.bounds.len()).find(|number| place(*number) + 1 == queue);
        let lowest = bound.map(|number| (self.bounds[number].at + (1 << FRACTION) - 1) >> FRACTION);
        RankInterval::from(if queue == 0 { 0 } else { lowest.unwrap_or(i64::MAX) })
    }

    fn refused_at(&self, _packet: Arriving, _queues: &[Room]) -> Option<usize> {
        self.meant.map(|queue| queue as usize)
    }

    /// The bounds; with admission the limit and the highest rank seen.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.bounds.iter().for_each(|bound| visit(bound.at));
        if let Some(limit) = &self.limit {
            visit(limit.at);
            visit(limit.highest);
        }
    }

    /// Registers stay while there are as many of them. With other queues each bound follows another quantile: all start anew.
    fn resume(&mut self, _window: &[Rank], state: &[i64]) {
        let (bounds, limit) = state.split_at(self.bounds.len().min(state.len()));
        if bounds.len() + limit.len() != self.bounds.len() + if self.limit.is_some() { 2 } else { 0 } {
            return;
        }
        for (bound, at) in self.bounds.iter_mut().zip(bounds) {
            bound.at = *at;
        }
        if let (Some(mine), &[at, highest]) = (&mut self.limit, limit) {
            (mine.at, mine.highest) = (at, highest);
        }
    }
}

impl SlackSp {
    /// The bounds, highest priority first: where each stands, by how much it rises for a rank that reaches it, and by how much
    /// it falls for one that does not. In multiples of 2^-20 ranks; with `steps = proportional` the moves are multiples of
    /// 2^-32 of the bound.
    pub fn registers(&self) -> impl Iterator<Item = (i64, i64, i64)> + '_ {
        self.bounds.iter().map(|bound| (bound.at, bound.up, bound.down))
    }

    /// The gain of admission, in multiples of 2^-20 ranks for each packet, and its target in packets; `None` without it.
    pub fn admission(&self) -> Option<(i64, i64)> {
        self.limit.as_ref().map(|limit| (limit.gain, limit.target))
    }
}

/// A share of a bound, a multiple of 2^-32; at least the smallest move.
#[inline(always)]
fn share_of(bound: i64, share: i64) -> i64 {
    (((i128::from(bound) * i128::from(share)) >> SHARE) as i64).max(1)
}

const DEFAULT_RANKS: u64 = 100;

const EPS: Param = geometric::EPS.or(Literal::Fraction(1, 10));

const STEPS: Param = Param::choice::<StepScale>("steps").or_word(StepScale::Constant.word()).doc(
    "What a step is measured in: proportional for ranks that span orders of magnitude (bytes, deadlines, virtual times).",
);

const STEP: Param = Param::new("step", Kind::Positive).means("1/2 rank; with steps = proportional 1/128 of the bound").doc(
    "D: a bound with the share q of arrivals below it rises by q D for a rank that reaches it and falls by (1 - q) D for \
     one that does not. Small steps are quieter, large ones follow changes sooner.",
);

const INITIAL_BOUNDS: Param = Param::integers("initial_bounds", 0, params::MAX_RANK)
    .unit("ranks")
    .means("k R / n, where R = ranks")
    .doc("b_1 to b_(n-1), the lowest ranks of queues 1 to n-1 to start with; one fewer than there are queues.");

const RANKS: Param = Param::integer("ranks", 1, params::MAX_RANK)
    .unit("ranks")
    .means("100, unless initial_bounds are given")
    .doc("R: the initial bounds are spread evenly over ranks 0 to R-1.");

impl FromArgs for SlackSpParams {
    const INFO: Info = Info {
        name: "slack-sp",
        summary: "Bounds at fixed quantiles of the ranks, so that the slack behind strict-priority queues shrinks \
                  geometrically.",
        paper: "none; docs/slack.md",
        effect: "Ranks that share a queue leave in arrival order; a packet is dropped when its queue and those behind \
                    it are full, whatever its rank (or, with admission, when its rank is above the limit).",
        state: "one register for each bound, one fewer than queues; with admission two more",
        cost: "O(queues) per enqueue, O(1) per dequeue",
        params: &[
            params::QUEUES,
            params::QUEUE_CAPACITY_PACKETS,
            params::QUEUE_CAPACITY_BYTES,
            EPS,
            STEPS,
            STEP,
            INITIAL_BOUNDS,
            RANKS,
            FALL_THROUGH,
            admission::GAIN,
            admission::TARGET,
        ],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        let capacities = params::read_queue_capacities(args)?;
        let steps: StepScale = args.given(&STEPS)?;
        // `ranks` stays unread beside bounds, and `target_packets` without a gain: they have no effect there.
        let initial_bounds = match super::strict_priority::read_bounds(args, &INITIAL_BOUNDS)? {
            Some(bounds) => bounds,
            None => spread(capacities.len(), args.get(&RANKS)?.unwrap_or(DEFAULT_RANKS)),
        };
        let admission = SlackAdmission::read(args, Self::INFO.name, &capacities)?;
        Ok(Self {
            step: args.get(&STEP)?.unwrap_or_else(|| steps.usual_step()),
            eps: args.given(&EPS)?,
            fall_through: args.given(&FALL_THROUGH)?,
            capacities,
            steps,
            initial_bounds,
            admission,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::SlackSp as Joined;
    use crate::{Dequeued, Inspect, Packet, Scheduler};
    use alloc::string::ToString;
    use pifolab_units::Time;

    fn packet(rank: u64) -> Packet {
        Packet { id: 0, flow: 0, size: 1500, rank: Rank::saturating(rank), arrival: Time::ZERO }
    }

    /// Offers ranks 0 to 99 in a scattered order, over and over, each of which leaves at once.
    fn settle(scheduler: &mut Joined, scale: u64) {
        for turn in 0..20_000 {
            let _ = scheduler.enqueue(packet(turn * 37 % 100 * scale), Time::ZERO);
            let _ = scheduler.dequeue(Time::ZERO);
        }
    }

    #[test]
    fn each_bound_settles_where_its_share_of_ranks_lies_below() {
        let mut scheduler: Joined = Joined::new(SlackSpParams::uniform(8, 10)).unwrap();
        settle(&mut scheduler, 1);
        for (queue, quantile) in [(1, 28), (2, 48), (3, 63), (4, 73), (5, 81), (6, 86), (7, 90)] {
            let bound = scheduler.queue_bound(queue).unwrap();
            assert!((bound - quantile).abs() <= 2, "queue {queue}: {bound}, not {quantile}");
        }
    }

    #[test]
    fn proportional_steps_find_bounds_a_million_times_higher() {
        let params = SlackSpParams {
            steps: StepScale::Proportional,
            step: StepScale::Proportional.usual_step(),
            ..SlackSpParams::uniform(4, 10)
        };
        let mut scheduler: Joined = Joined::new(params).unwrap();
        settle(&mut scheduler, 1_000_000);
        for (queue, quantile) in [(1, 54), (2, 78), (3, 90)] {
            let bound = scheduler.queue_bound(queue).unwrap() / 1_000_000;
            assert!((bound - quantile).abs() <= 3, "queue {queue}: {bound}, not {quantile}");
        }
    }

    #[test]
    fn a_full_queue_passes_packets_on_to_those_behind_it_unless_it_may_not() {
        for (fall_through, held) in [(true, 6), (false, 2)] {
            let params = SlackSpParams { fall_through, ..SlackSpParams::uniform(3, 2) };
            let mut scheduler: Joined = Joined::new(params).unwrap();
            (0..9).for_each(|_| drop(scheduler.enqueue(packet(0), Time::ZERO)));
            assert_eq!(scheduler.len(), held);
        }
    }

    #[test]
    fn admission_refuses_high_ranks_before_the_buffer_is_full_and_none_once_it_is_empty() {
        let admission = SlackAdmission { gain: Ratio::ONE, target_packets: 2 };
        let params = SlackSpParams { admission: Some(admission), ..SlackSpParams::uniform(2, 10) };
        let mut scheduler: Joined = Joined::new(params).unwrap();
        let mut admits = |rank| scheduler.enqueue(packet(rank), Time::ZERO).is_admitted();
        (0..60).for_each(|turn| _ = admits(turn * 7 % 50));
        assert!(!admits(49) && admits(0));
        while matches!(scheduler.dequeue(Time::ZERO), Dequeued::Packet { .. }) {}
        // The limit rises by the two packets that are missing, at each arrival.
        for rank in core::iter::repeat_n(0, 40).chain([49, 60, 1000]) {
            assert!(scheduler.enqueue(packet(rank), Time::ZERO).is_admitted(), "{rank}");
            let _ = scheduler.dequeue(Time::ZERO);
        }
    }

    #[test]
    fn it_goes_on_with_the_bounds_of_another_one_that_has_as_many_queues() {
        let mut before: Joined = Joined::new(SlackSpParams::uniform(4, 10)).unwrap();
        settle(&mut before, 1);
        let mut state = Vec::new();
        before.visit_state(&mut |number| state.push(number));
        for queues in [2, 4, 5] {
            let mut after: Joined = Joined::new(SlackSpParams::uniform(queues, 10)).unwrap();
            let fresh = after.queue_bound(1);
            after.resume(&[], &state);
            let expected = if queues == 4 { before.queue_bound(1) } else { fresh };
            assert_eq!(after.queue_bound(1), expected, "{queues} queues");
        }
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let said = |change: &dyn Fn(&mut SlackSpParams)| {
            let mut params = SlackSpParams::uniform(4, 10);
            change(&mut params);
            Joined::<Packet>::new(params).unwrap_err().to_string()
        };
        let bounds = said(&|params| params.initial_bounds.truncate(2));
        assert!(bounds.ends_with("expected 3 bounds, one fewer than there are queues"), "{bounds}");
        let eps = said(&|params| params.eps = Ratio::ZERO);
        assert!(eps.ends_with("expected a fraction above 0 and below 1, such as 0.1 or 1/10"), "{eps}");
        let step = said(&|params| params.step = Ratio::new(1, 1 << 30).unwrap());
        assert!(step.ends_with("expected a number of ranks, 1/524288 or more"), "{step}");
        let share = said(&|params| {
            params.steps = StepScale::Proportional;
            params.step = Ratio::ONE;
        });
        assert!(share.ends_with("expected a share of the bound below 1 and not below 2^-31"), "{share}");
    }
}
