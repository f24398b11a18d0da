//! `map = shares`: admission and queues by the quantile of a rank, which a few registers estimate (`quantiles.rs`).
//!
//! Each of two rules gives a highest quantile for admission and one for each queue:
//!
//! - *Shares of the room*, as in PACKS. Admission ends at the free share of the buffer over the share that is kept free:
//!   4/5 shortly after the buffer was empty, 3/10 in a burst, and all of it later, when the link has been busy for long. The
//!   quantiles up to there are shared out among the queues in proportion to their weights times their free places; weights
//!   shrink by equal factors down to `last_weight`. In a burst they grow instead, which is best when packets arrive in any
//!   order before one leaves. There is a burst if for most of the last arrivals, about sixteen, no packet left between them
//!   and the arrival before.
//! - *Shares of what the link carries*, for lasting overload. There the first rule fills the last queues with packets that
//!   are never sent, and the higher the load, the fewer queues sort the others. `carried` estimates the share of the ranks,
//!   lowest first, that the link carries: it rises while the last quarter of the queues, the parked ones, are less than
//!   3/5 full, falls while they are fuller, and rises by 1/64 where nothing waits. Queue k of the m others ends at carried (1 - eps^(k/m)), so that the slack
//!   of the link shrinks geometrically (`geometric.rs`). The parked queues share the quantiles from there up to the limit
//!   of admission: carried times 6/5 minus a third of their occupancy.
//!
//! A packet that finds nothing waiting is always admitted, so that refusals never leave the link idle for long. A packet
//! whose queue and all behind it are full is dropped: it never goes before its queue, where lower ranks wait.
//!
//! While the link carries all ranks, only the first rule counts; once it carries at most half of them, only the second.
//! Between these loads the quantiles are interpolated.
//!
//! Then, outside of bursts, the last `recent` admitted packets, of which rank and queue are kept, move the packet if their
//! queues still hold packets: it goes to no queue before that of a packet with a rank up to its own, and to a queue before
//! that of a packet with a higher rank, if there is one. If both cannot hold, it goes to a queue between them. Where few
//! packets wait, this sorts nearly all of them.

use super::quantiles::{Quantiles, WHOLE};
use super::range::{FRACTION, MOST, RANKS, fixed};
use crate::params::{self, Args, Kind, Literal, Param, ParamError};
use crate::schedulers::geometric::{self, ONE};
use crate::{Arriving, Capacity, DropReason, RankInterval, Room};
use alloc::vec::Vec;
use pifolab_units::Ratio;

/// The parameters of `map = shares`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlackShares {
    /// The registers that follow quantiles.
    pub registers: u32,
    /// The number of registers that follow the highest quantiles.
    pub top_registers: u32,
    /// The step of a register, as a multiple of the default step.
    pub gain: Ratio,
    /// The weight of the last queue; that of the first is 1.
    pub last_weight: Ratio,
    /// The number of admitted packets that are remembered.
    pub recent: u32,
    /// R: registers are initially spread over ranks 0 to R-1.
    pub ranks: u64,
}

/// The share of the buffer that admission keeps free for packets of rank 0, right after it was empty: 4/5, and 3/10 in a
/// burst. It returns to all of it with a time constant of 2^8 arrivals.
const KEPT: i64 = 4 * (WHOLE / 5);
const KEPT_IN_BURST: i64 = 3 * (WHOLE / 10);
const FORGET: u32 = 8;
/// There is a burst above this share of arrivals without a departure before them: 13/20.
const BURST: i64 = 13 * (WHOLE / 20);
/// The weight of the first queue in a burst, where that of the last is 1.
const FIRST_IN_BURST: u64 = ONE / 2;
/// The occupancy at which parked queues are kept: 3/5.
const TARGET: i64 = 3 * (WHOLE / 5);
/// By how much `carried` rises at an arrival that finds nothing waiting: too much was refused.
const IDLE: i64 = WHOLE / 64;
/// `carried` moves by a share of the distance from the target that falls like that of the registers, but from 1/512.
const CARRIED_HEAD_START: u64 = 512;
const LEAST_CARRIED: i64 = WHOLE / 64;
const MOST_CARRIED: i64 = WHOLE / 20 * 21;

/// The registers, and what follows from the parameters.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    quantiles: Quantiles,
    /// The share of arrivals before which no packet had left.
    crowded: i64,
    departed: bool,
    /// How lately an arrival found nothing waiting: 1 there, and smaller by 2^-8 with each arrival since.
    emptied: i64,
    /// The share of the ranks that the link carries.
    carried: i64,
    /// As a multiple of 2^-16.
    gain: i64,
    /// Rank and queue of packets that were admitted last, in a ring; `u32::MAX` where there was none yet.
    recent: Vec<(i64, u32)>,
    oldest: usize,
    /// The weight of each free place of a queue, in 2^-62 of all places': `growing` in a burst, else `shrinking`.
    growing: Vec<u64>,
    shrinking: Vec<u64>,
    /// 1 - eps^(k/m) for the m queues before the parked ones.
    reach: Vec<i64>,
}

impl crate::Register for Shares {
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        visit(self.recent.len() as i64);
        self.quantiles.visit_state(visit);
        let (newer, older) = (&self.recent[..self.oldest], &self.recent[self.oldest..]);
        older.iter().chain(newer).flat_map(|(rank, queue)| [*rank, i64::from(*queue)]).for_each(&mut *visit);
        [self.crowded, self.departed.into(), self.emptied, self.carried].into_iter().for_each(visit);
    }

    /// What was admitted last is forgotten, since it says which queue of the scheduler before took which rank.
    fn resume(&mut self, window: &[pifolab_units::Rank], state: &[i64]) {
        let Some((rest, &[crowded, departed, emptied, carried])) = state.split_last_chunk::<4>() else { return };
        let Some((&recent, rest)) = rest.split_first() else { return };
        if recent == self.recent.len() as i64 && rest.len() == self.quantiles.numbers() + 2 * self.recent.len() {
            self.quantiles.resume(window, &rest[..self.quantiles.numbers()]);
            (self.crowded, self.departed) = (crowded, departed != 0);
            (self.emptied, self.carried) = (emptied, carried);
        }
    }
}

impl Shares {
    pub(super) fn new(
        owner: &str,
        params: SlackShares,
        eps: Ratio,
        capacities: &[Capacity],
    ) -> Result<Self, ParamError> {
        REGISTERS.check(owner, params.registers)?;
        if !(1..params.registers).contains(&params.top_registers) {
            let expected = alloc::format!("expected at least 1 and fewer than registers = {}", params.registers);
            return Err(TOP_REGISTERS.error_because(owner, params.top_registers, expected));
        }
        RANKS.check(owner, params.ranks)?;
        RECENT.check(owner, params.recent)?;
        if params.last_weight == Ratio::ZERO || params.last_weight > Ratio::ONE {
            return Err(LAST_WEIGHT.error_because(owner, params.last_weight, "expected a fraction above 0, at most 1"));
        }
        let gain = ((u128::from(params.gain.numerator()) << 16) / u128::from(params.gain.denominator())) as u64;
        if !(1..=1 << 22).contains(&gain) {
            return Err(GAIN.error_because(owner, params.gain, "expected a number from 1/65536 to 64"));
        }
        let mut places = Vec::new();
        for capacity in capacities {
            let Capacity::Packets(packets) = capacity else {
                let expected = "map = shares counts places: expected queue_capacity_packets";
                return Err(params::QUEUE_CAPACITY_BYTES.error_because(owner, "given", expected));
            };
            places.push(u64::from(*packets));
        }
        let (registers, top) = (params.registers as usize, params.top_registers as usize);
        let queues = capacities.len();
        let per_place = |weights: &[u64]| -> Vec<u64> {
            let all: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
            let share = |(weight, places): (&u64, &u64)| ((u128::from(*weight) << 62) / all) as u64 / places;
            weights.iter().zip(&places).map(share).collect()
        };
        let last =
            ((u128::from(params.last_weight.numerator()) << 62) / u128::from(params.last_weight.denominator())) as u64;
        let mut growing = weights(queues, FIRST_IN_BURST);
        growing.reverse();
        let reach = geometric::shares(owner, &geometric::EPS, eps, queues - parked(queues) + 1)?;
        Ok(Self {
            quantiles: Quantiles::new(registers, top, places.iter().sum(), params.ranks.min(MOST), gain),
            crowded: 0,
            departed: false,
            emptied: WHOLE,
            carried: MOST_CARRIED,
            gain: gain as i64,
            recent: alloc::vec![(0, u32::MAX); params.recent as usize],
            oldest: 0,
            growing: per_place(&growing),
            shrinking: per_place(&weights(queues, last)),
            reach: reach.into_iter().map(|share| (share >> 30) as i64).collect(),
        })
    }

    /// The queue of an arriving packet; all registers move.
    pub(super) fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        let rank = fixed(packet.rank);
        let quantile = self.quantiles.of(rank);
        self.quantiles.learn(rank);
        let target = if core::mem::take(&mut self.departed) { 0 } else { WHOLE };
        self.crowded += (target - self.crowded) >> 4;
        let idle = nothing_waits(queues);
        self.emptied = if idle { WHOLE } else { self.emptied - (self.emptied >> FORGET) };
        let occupied = self.occupied(queues);
        let rate = product(self.quantiles.rate(CARRIED_HEAD_START), self.gain << 16);
        self.carried += product(TARGET - occupied, rate) + if idle { IDLE } else { 0 };
        self.carried = self.carried.clamp(LEAST_CARRIED, MOST_CARRIED);
        if quantile > self.limit(queues, occupied) {
            return Err(DropReason::Admission);
        }
        let with_room = queues.iter().enumerate().filter(|(_, room)| free(room) > 0).map(|(queue, _)| queue);
        let reached = with_room.zip(self.ends(queues, occupied)).find(|(_, end)| quantile <= *end);
        let chosen = reached.map_or(queues.len() - 1, |(queue, _)| queue);
        if free(&queues[chosen]) == 0 {
            // Every queue that takes so high a rank is full: the packet is dropped. It may not go before its queue.
            return Ok(chosen);
        }
        let chosen = if self.in_burst() { chosen } else { self.beside_recent(rank, chosen, queues) };
        if !self.recent.is_empty() {
            self.recent[self.oldest] = (rank, chosen as u32);
            self.oldest = (self.oldest + 1) % self.recent.len();
        }
        Ok(chosen)
    }

    /// The queue nearest to `chosen` that is not before the queue of a recent packet of a rank up to this one, and is before the
    /// queue of each recent packet of a higher rank. `chosen` itself if that one is full.
    fn beside_recent(&self, rank: i64, chosen: usize, queues: &[Room]) -> usize {
        let (mut first, mut last) = (0, queues.len() - 1);
        for (other, queue) in &self.recent {
            let queue = *queue as usize;
            match queues.get(queue) {
                Some(room) if room.packets() > 0 && *other <= rank => first = first.max(queue),
                Some(room) if room.packets() > 0 => last = last.min(queue.saturating_sub(1)),
                _ => {}
            }
        }
        let beside = chosen.clamp(first.min(last), last.max(first));
        if free(&queues[beside]) > 0 { beside } else { chosen }
    }

    /// Records that a packet left.
    #[inline(always)]
    pub(super) fn note_departure(&mut self) {
        self.departed = true;
    }

    /// The ranks that `queue` takes by quantile, without the last admitted packets: up to its end if it has room, else none.
    pub(super) fn ranks_of(&self, queue: usize, queues: &[Room]) -> RankInterval {
        let numbers = queues.iter().enumerate().filter(|(_, room)| free(room) > 0).map(|(number, _)| number);
        let occupied = self.occupied(queues);
        let limit = self.limit(queues, occupied);
        let Some((_, end)) = numbers.zip(self.ends(queues, occupied)).find(|(number, _)| *number == queue) else {
            return RankInterval::up_to(-1);
        };
        // The last queue takes all that is admitted.
        let end = if queue + 1 == queues.len() { limit } else { end.min(limit) };
        // A binary search, since the quantile never falls as ranks rise.
        let (mut within, mut beyond) = (-1, (MOST + 1) as i64);
        while within + 1 < beyond {
            let rank = within + (beyond - within) / 2;
            let passes = self.quantiles.of(rank << FRACTION) <= end;
            *if passes { &mut within } else { &mut beyond } = rank;
        }
        // Ranks from `MOST` on count as equal.
        RankInterval::up_to(if within == MOST as i64 { i64::MAX } else { within })
    }

    fn in_burst(&self) -> bool {
        self.crowded > BURST
    }

    /// How full the parked queues are.
    fn occupied(&self, queues: &[Room]) -> i64 {
        let parked = queues[self.reach.len()..].iter();
        let (packets, places) =
            parked.fold((0, 0), |(packets, places), room| (packets + room.packets() as u64, places + room.total()));
        ((packets << 32) / places) as i64
    }

    /// The point between the two rules' quantiles that belongs to the load.
    fn between(&self, of_room: i64, of_link: i64) -> i64 {
        of_room + product(of_link - of_room, (2 * (WHOLE - self.carried)).clamp(0, WHOLE))
    }

    /// The highest quantile that is admitted.
    fn limit(&self, queues: &[Room], occupied: i64) -> i64 {
        if nothing_waits(queues) { WHOLE } else { self.between(self.room_limit(queues), self.link_limit(occupied)) }
    }

    /// The highest quantile that is admitted by the free places.
    fn room_limit(&self, queues: &[Room]) -> i64 {
        let kept = if self.in_burst() { KEPT_IN_BURST } else { KEPT };
        let kept = WHOLE - product(WHOLE - kept, self.emptied);
        let (places, room) =
            queues.iter().fold((0, 0), |(places, all), room| (places + room.total(), all + free(room)));
        let limit = (i128::from(room) << 64) / (i128::from(places) * i128::from(kept));
        limit.min(WHOLE.into()) as i64
    }

    /// The highest quantile that is admitted by what the link carries.
    fn link_limit(&self, occupied: i64) -> i64 {
        product(self.carried, WHOLE / 5 * 6 - occupied / 3)
    }

    /// The highest quantile of each queue that has room.
    fn ends<'a>(&'a self, queues: &'a [Room], occupied: i64) -> impl Iterator<Item = i64> + 'a {
        let shares = if self.in_burst() { &self.growing } else { &self.shrinking };
        let low = self.reach.last().map_or(0, |reach| product(self.carried, *reach));
        let parked = (queues.len() - self.reach.len()) as i64;
        let width = (self.link_limit(occupied) - low).max(0);
        let room_limit = i128::from(self.room_limit(queues));
        let all: u64 = queues.iter().zip(shares).map(|(room, share)| share * free(room)).sum();
        let mut end = 0;
        let with_room = queues.iter().zip(shares).enumerate().filter(|(_, (room, _))| free(room) > 0);
        with_room.map(move |(queue, (room, share))| {
            end += share * free(room);
            let of_link = match self.reach.get(queue) {
                Some(reach) => product(self.carried, *reach),
                None => low + width * (queue - self.reach.len() + 1) as i64 / parked,
            };
            let of_room = room_limit * i128::from(end) / i128::from(all.max(1));
            self.between(of_room as i64, of_link)
        })
    }
}

/// The number of parked queues: the last quarter.
fn parked(queues: usize) -> usize {
    (queues / 4).max(1)
}

/// Weights from 1 down to `last` by equal factors, in 2^-62.
fn weights(queues: usize, last: u64) -> Vec<u64> {
    let factor = queues.checked_sub(1).filter(|steps| *steps > 0).map_or(ONE, |steps| geometric::root(last, steps));
    (0..queues).map(|queue| geometric::power(factor, queue)).collect()
}

/// The product of two multiples of 2^-32.
fn product(a: i64, b: i64) -> i64 {
    ((i128::from(a) * i128::from(b)) >> 32) as i64
}

fn nothing_waits(queues: &[Room]) -> bool {
    queues.iter().all(|room| room.packets() == 0)
}

/// Free places of a queue that counts packets.
fn free(room: &Room) -> u64 {
    room.total() - room.packets() as u64
}

pub(super) const REGISTERS: Param = Param::integer("registers", 2, 64).or_integer(9).doc(
    "How many registers follow quantiles of the ranks; a counter of packets, one register for bursts, one for idle times \
     and one for the load come on top, and one for each recent packet. With map = shares only.",
);

pub(super) const TOP_REGISTERS: Param = Param::integer("top_registers", 1, 63).usually(Literal::Integer(5), ", or half the registers, rounded up, if that is less").doc(
    "How many of them follow the highest quantiles, 7/10 and above, where packets are refused. With map = shares only.",
);

pub(super) const GAIN: Param = Param::new("gain", Kind::Positive).or_integer(1).doc(
    "The step of registers: larger steps follow changes of ranks faster, and are noisier. With map = shares only.",
);

pub(super) const LAST_WEIGHT: Param = Param::new("last_weight", Kind::Positive).or(Literal::Fraction(3, 5)).doc(
    "The weight of the last queue, where that of the first is 1 and those between shrink by equal factors: what share of the \
     quantiles a free place takes; 1 is PACKS's map below saturation. With map = shares only.",
);

pub(super) const RECENT: Param = Param::integer("recent", 0, 64).or_integer(3).unit("packets").doc(
    "How many of the last admitted packets are remembered, so that a packet goes behind those of lower ranks and before those \
     of higher ones. With map = shares only.",
);

impl SlackShares {
    pub(super) fn read(args: &mut Args) -> Result<Self, ParamError> {
        let registers: u32 = args.given(&REGISTERS)?;
        Ok(Self {
            registers,
            top_registers: args
                .get(&TOP_REGISTERS)?
                .unwrap_or_else(|| TOP_REGISTERS.usual::<u32>().min(registers.div_ceil(2))),
            gain: args.given(&GAIN)?,
            last_weight: args.given(&LAST_WEIGHT)?,
            recent: args.given(&RECENT)?,
            ranks: args.usual(&RANKS)?,
        })
    }
}
