//! `map = shares`: admission and queues by the quantile of a rank, which a few registers estimate.
//!
//! PACKS takes quantiles from a window of a thousand ranks. Here m registers estimate them, each of which follows one
//! quantile of the ranks (lab/pages/slack-shares.md):
//!
//! - Before a rank is compared with a register, a fraction in [0, 1) is added to it: the phase of a packet counter. The
//!   share of ranks below a register is then linear between whole ranks, and the register settles where it equals its
//!   quantile.
//! - A register moves by a share of the local distance in ranks per quantile, taken from its neighbours. The share is 1
//!   over the number of packets, and at least 1/4096.
//! - The quantile of a rank is interpolated between the registers around it.
//!
//! A packet is refused if its quantile is above the free share of the buffer plus 2/5 of a place. Queue i takes a share
//! of the quantiles proportional to its weight times its free places; weights shrink by equal factors down to
//! `last_weight`. In a burst all weights are equal, which is best when packets arrive in any order before one leaves,
//! and the 2/5 of a place are subtracted instead of added. There is a burst if for most of the last arrivals, about
//! sixteen, no packet left between them and the arrival before.

use super::range::{FRACTION, MOST, RANKS, fixed};
use crate::params::{self, Args, Kind, Literal, Param, ParamError};
use crate::schedulers::geometric::{self, ONE};
use crate::{Arriving, Capacity, DropReason, RankInterval, Room};
use alloc::vec::Vec;
use pifolab_units::Ratio;

/// The parameters of `map = shares`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlackShares {
    /// m, the registers that follow quantiles.
    pub registers: u32,
    /// The number of registers that follow the highest quantiles.
    pub top_registers: u32,
    /// The step of a register, as a multiple of the default step.
    pub gain: Ratio,
    /// The weight of the last queue; that of the first is 1.
    pub last_weight: Ratio,
    /// R: registers are initially spread over ranks 0 to R-1.
    pub ranks: u64,
}

/// 1 as a multiple of 2^-32: quantiles and shares of time.
const WHOLE: i64 = 1 << 32;
/// The lowest quantile that a register follows: 1/20.
const LOWEST: u64 = ONE / 20;
/// The highest quantiles begin this far below 1: 3/10.
const TOP: u64 = ONE / 10 * 3;
/// A register's step is 1 over the number of packets plus 20, and at least 1/4096.
const HEAD_START: u64 = 20;
const LEAST_RATE: u64 = 1 << (32 - 12);
/// A full turn of the counter is 2^16 phases; it turns by the golden section.
const TURN: u64 = 40503;
/// 2/5 of a place of the buffer, in 2^-32.
const MARGIN: i128 = 2 * (1 << 32) / 5;
/// There is a burst above this share of arrivals without a departure before them: 13/20.
const BURST: i64 = 13 * (WHOLE / 20);
/// The smallest distance between registers in computations: 2^-10 ranks.
const NEAR: i64 = 1 << (FRACTION - 10);

#[derive(Clone, Copy, Debug)]
struct Register {
    /// Its position, as a multiple of 2^-20 ranks.
    at: i64,
    /// Its quantile.
    quantile: i64,
    /// 2^48 over the distance of its neighbours' quantiles: scales their distance in ranks to the distance for all
    /// quantiles.
    scale: u64,
}

/// The registers with the rules for admission and queues.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    registers: Vec<Register>,
    /// The gain, as a multiple of 2^-16.
    gain: u64,
    /// The smallest assumed range of all quantiles, and the largest step; multiples of 2^-20 ranks.
    narrowest: i64,
    widest_step: i64,
    /// The number of packets that arrived.
    count: u64,
    /// The share of arrivals before which no packet had left.
    crowded: i64,
    departed: bool,
    /// The share of the quantiles for each free place of a queue, in 2^-62: `equal` in a burst, else `shrinking`.
    equal: Vec<u64>,
    shrinking: Vec<u64>,
}

impl crate::Register for Shares {
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.registers.iter().for_each(|register| visit(register.at));
        [self.count as i64, self.crowded, self.departed.into()].into_iter().for_each(visit);
    }

    fn resume(&mut self, _window: &[pifolab_units::Rank], state: &[i64]) {
        let Some((at, &[count, crowded, departed])) = state.split_last_chunk::<3>() else { return };
        if at.len() == self.registers.len() {
            self.registers.iter_mut().zip(at).for_each(|(register, at)| register.at = *at);
            (self.count, self.crowded, self.departed) = (count as u64, crowded, departed != 0);
        }
    }
}

impl Shares {
    pub(super) fn new(owner: &str, params: SlackShares, capacities: &[Capacity]) -> Result<Self, ParamError> {
        REGISTERS.check(owner, params.registers)?;
        if !(1..params.registers).contains(&params.top_registers) {
            let expected = alloc::format!("expected at least 1 and fewer than registers = {}", params.registers);
            return Err(TOP_REGISTERS.error_because(owner, params.top_registers, expected));
        }
        RANKS.check(owner, params.ranks)?;
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
        let quantiles = quantiles(params.registers as usize, params.top_registers as usize, places.iter().sum());
        let range = params.ranks.min(MOST);
        let register = |(place, quantile): (usize, &i64)| {
            let (before, after) = (place.saturating_sub(1), (place + 1).min(quantiles.len() - 1));
            Register {
                at: ((i128::from(range << FRACTION) * i128::from(*quantile)) >> 32) as i64,
                quantile: *quantile,
                scale: (1 << 48) / (quantiles[after] - quantiles[before]) as u64,
            }
        };
        let queues = capacities.len();
        let last =
            ((u128::from(params.last_weight.numerator()) << 62) / u128::from(params.last_weight.denominator())) as u64;
        let factor = queues.checked_sub(1).filter(|steps| *steps > 0).map_or(ONE, |steps| geometric::root(last, steps));
        let weights: Vec<u64> = (0..queues).map(|queue| geometric::power(factor, queue)).collect();
        let all: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
        let share = |(weight, places): (&u64, &u64)| ((u128::from(*weight) << 62) / all) as u64 / places;
        Ok(Self {
            registers: quantiles.iter().enumerate().map(register).collect(),
            gain,
            narrowest: ((range << FRACTION) / 25).max(1) as i64,
            widest_step: ((range << FRACTION) / 10).max(1) as i64,
            count: 0,
            crowded: 0,
            departed: false,
            equal: places.iter().map(|places| ONE / queues as u64 / places).collect(),
            shrinking: weights.iter().zip(&places).map(share).collect(),
        })
    }

    /// The queue of an arriving packet; all registers move.
    pub(super) fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        let rank = fixed(packet.rank);
        let quantile = self.quantile(rank);
        self.learn(rank);
        let target = if core::mem::take(&mut self.departed) { 0 } else { WHOLE };
        self.crowded += (target - self.crowded) >> 4;
        let margin = if self.in_burst() { -MARGIN } else { MARGIN };
        let (places, room) =
            queues.iter().fold((0, 0), |(places, all), room| (places + room.total(), all + free(room)));
        if i128::from(quantile) * i128::from(places) > (i128::from(room) << 32) + margin {
            return Err(DropReason::Admission);
        }
        let with_room = queues.iter().enumerate().filter(|(_, room)| free(room) > 0);
        let mut last = queues.len() - 1;
        for ((queue, _), end) in with_room.zip(self.ends(queues)) {
            if quantile <= end {
                return Ok(queue);
            }
            last = queue;
        }
        Ok(last)
    }

    /// Records that a packet left.
    #[inline(always)]
    pub(super) fn note_departure(&mut self) {
        self.departed = true;
    }

    /// The ranks that `queue` takes: up to the end of its share of the quantiles if it has room, else none.
    pub(super) fn ranks_of(&self, queue: usize, queues: &[Room]) -> RankInterval {
        let numbers = queues.iter().enumerate().filter(|(_, room)| free(room) > 0).map(|(number, _)| number);
        let Some((_, end)) = numbers.zip(self.ends(queues)).find(|(number, _)| *number == queue) else {
            return RankInterval::up_to(-1);
        };
        // A binary search, since the quantile never falls as ranks rise.
        let (mut within, mut beyond) = (-1, (MOST + 1) as i64);
        while within + 1 < beyond {
            let rank = within + (beyond - within) / 2;
            let passes = self.quantile(rank << FRACTION) <= end;
            *if passes { &mut within } else { &mut beyond } = rank;
        }
        RankInterval::up_to(within)
    }

    fn in_burst(&self) -> bool {
        self.crowded > BURST
    }

    /// The highest quantile of each queue that has room.
    fn ends<'a>(&'a self, queues: &'a [Room]) -> impl Iterator<Item = i64> + 'a {
        let shares = if self.in_burst() { &self.equal } else { &self.shrinking };
        let mut end = 0;
        queues.iter().zip(shares).filter(|(room, _)| free(room) > 0).map(move |(room, share)| {
            end += share * free(room);
            (end >> 30) as i64
        })
    }

    /// The share of ranks below this one, in 2^-32.
    fn quantile(&self, rank: i64) -> i64 {
        let registers = &self.registers;
        let (mut reached, mut low, mut high) = (0, i64::MIN, i64::MAX);
        for register in registers {
            if register.at <= rank {
                reached += 1;
                low = low.max(register.at);
            } else {
                high = high.min(register.at);
            }
        }
        // Below the first and above the last register, the line through the two nearest is extended.
        let place = reached.clamp(1, registers.len() - 1);
        let [before, after] = [&registers[place - 1], &registers[place]];
        let rise = after.quantile - before.quantile;
        let found = match reached {
            0 => before.quantile - part(rise, before.at - rank, (after.at - before.at).max(NEAR)),
            all if all == registers.len() => {
                after.quantile + part(rise, rank - after.at, (after.at - before.at).max(NEAR))
            }
            _ => before.quantile + part(rise, rank - low, high - low),
        };
        found.clamp(0, WHOLE)
    }

    /// Moves every register for a rank.
    fn learn(&mut self, rank: i64) {
        self.count = self.count.wrapping_add(1);
        let phase = self.count.wrapping_mul(TURN) & 0xffff;
        let dithered = rank + ((phase as i64) << (FRACTION - 16));
        let rate = ((1 << 32) / self.count.saturating_add(HEAD_START)).max(LEAST_RATE);
        let rate = i128::from((rate * self.gain) >> 16);
        let last = self.registers.len() - 1;
        let mut before = self.registers[0].at;
        for place in 0..=last {
            let after = self.registers[(place + 1).min(last)].at;
            let register = &mut self.registers[place];
            // The last register has no neighbour above. Ranks are sparser there, so the distance below counts twice.
            let distance =
                if place == last { 2 * (i128::from(after) - i128::from(before)) } else { (after - before).into() };
            let width = ((distance * i128::from(register.scale)) >> 16).max(self.narrowest.into());
            let step = ((width * rate) >> 32).min(self.widest_step.into()) as i64;
            let up = ((i128::from(step) * i128::from(register.quantile)) >> 32) as i64;
            before = register.at;
            register.at += if dithered >= register.at { up } else { up - step };
        }
    }
}

/// `rise` times `run` over `distance`.
fn part(rise: i64, run: i64, distance: i64) -> i64 {
    let all = i128::from(rise) * i128::from(run);
    let part = match i64::try_from(all) {
        Ok(all) => all / distance,
        Err(_) => i64::try_from(all / i128::from(distance)).unwrap_or(WHOLE),
    };
    part.min(WHOLE)
}

/// Free places of a queue that counts packets.
fn free(room: &Room) -> u64 {
    room.total() - room.packets() as u64
}

/// The highest quantiles are 1 - 3/10 f^j for j = 0, 1, ..; the last is 3/4 of a place of the buffer below 1. The
/// others are spread evenly from 1/20 up.
fn quantiles(registers: usize, top: usize, places: u64) -> Vec<i64> {
    let nearest = (ONE / 4 * 3 / places).min(TOP / 2);
    let factor = match top {
        1 => ONE,
        _ => geometric::root(((u128::from(nearest) << 62) / u128::from(TOP)) as u64, top - 1),
    };
    let from = if top == 1 { nearest } else { TOP };
    let below = |power: u64| ONE - ((u128::from(from) * u128::from(power)) >> 62) as u64;
    let (even, lowest_top) = ((registers - top) as u64, ONE - from);
    let evenly = (0..even).map(|place| LOWEST + (lowest_top - LOWEST) / even * place);
    let high = (0..top).map(|place| below(geometric::power(factor, place)));
    evenly.chain(high).map(|quantile| (quantile >> 30) as i64).collect()
}

pub(super) const REGISTERS: Param = Param::integer("registers", 2, 64).or_integer(14).doc(
    "How many registers follow quantiles of the ranks; with the counter of packets and the register that tells bursts there \
     are two more. With map = shares only.",
);

pub(super) const TOP_REGISTERS: Param = Param::integer("top_registers", 1, 63).usually(Literal::Integer(6), ", or half the registers if that is less").doc(
    "How many of them follow the highest quantiles, 7/10 and above, where packets are refused. With map = shares only.",
);

pub(super) const GAIN: Param = Param::new("gain", Kind::Positive).or_integer(2).doc(
    "The step of registers: larger steps follow changes of ranks faster, and are noisier. With map = shares only.",
);

pub(super) const LAST_WEIGHT: Param = Param::new("last_weight", Kind::Positive).or(Literal::Fraction(3, 5)).doc(
    "The weight of the last queue, where that of the first is 1 and those between shrink by equal factors: what share of the \
     quantiles a free place takes; 1 is PACKS's map. With map = shares only.",
);

impl SlackShares {
    pub(super) fn read(args: &mut Args) -> Result<Self, ParamError> {
        let registers: u32 = args.given(&REGISTERS)?;
        Ok(Self {
            registers,
            top_registers: args.get(&TOP_REGISTERS)?.unwrap_or_else(|| TOP_REGISTERS.usual::<u32>().min(registers / 2)),
            gain: args.given(&GAIN)?,
            last_weight: args.given(&LAST_WEIGHT)?,
            ranks: args.usual(&RANKS)?,
        })
    }
}
