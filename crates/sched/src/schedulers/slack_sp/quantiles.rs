//! Quantiles of ranks, estimated by a few registers, for `map = shares`.
//!
//! PACKS takes quantiles from a window of a thousand ranks. Here m registers estimate them, each of which follows one
//! quantile of the ranks:
//!
//! - Before a rank is compared with a register, a fraction in [0, 1) is added to it, the phase, which turns with each packet. The
//!   share of ranks below a register is then linear between whole ranks, and the register settles where it equals its
//!   quantile.
//! - A register moves by a share of the local distance in ranks per quantile, taken from its neighbours. The share is 1
//!   over the memory, in packets. It never passes the register below it: registers that crossed would
//!   find no distance between their neighbours, and move too slowly ever to part again.
//! - The memory grows by 1 with each packet, up to 4096. Each rank beyond the last register, whose quantile is 1 - p,
//!   shortens it by the share 1 / (4096 p). It stays near 4096 while the share p of the ranks lies there. If ranks rise
//!   above all registers, which are then too slow, it falls to 4096 p: 38 packets for 80 places.
//! - The quantile of a rank is interpolated between the registers around it.

use super::range::FRACTION;
use crate::schedulers::geometric::{self, ONE};
use alloc::vec::Vec;

/// 1 as a multiple of 2^-32: quantiles and shares.
pub(super) const WHOLE: i64 = 1 << 32;
/// The lowest quantile that a register follows: 1/20.
const LOWEST: u64 = ONE / 20;
/// The highest quantiles begin this far below 1: 3/10.
const TOP: u64 = ONE / 10 * 3;
/// A register's step is 1 over the memory plus 20.
const HEAD_START: u64 = 20;
/// The longest memory, as a power of two, and the smallest rate.
const LONGEST: u32 = 12;
const LEAST_RATE: u64 = 1 << (32 - LONGEST);
/// The memory is a multiple of 2^-16 packets.
const PACKET: u32 = 16;
/// A rank beyond the last register shortens the memory by half at most: p counts as at least 1/2048.
const LEAST_BEYOND: i64 = WHOLE >> (LONGEST - 1);
/// A full turn is 2^16 phases; each packet turns by the golden section.
const TURN: u16 = 40503;
/// The smallest distance between registers in computations: 2^-10 ranks.
const NEAR: i64 = 1 << (FRACTION - 10);

#[derive(Clone, Copy, Debug)]
struct Follower {
    /// Its position, as a multiple of 2^-20 ranks.
    at: i64,
    /// Its quantile.
    quantile: i64,
    /// 2^48 over the distance of its neighbours' quantiles: scales their distance in ranks to the distance for all
    /// quantiles.
    scale: u64,
}

/// The registers that follow quantiles, and one more with the phase and the memory.
#[derive(Clone, Debug)]
pub(super) struct Quantiles {
    registers: Vec<Follower>,
    /// The gain, as a multiple of 2^-16.
    gain: u64,
    /// The smallest assumed range of all quantiles, which is also the largest step; a multiple of 2^-20 ranks.
    tenth: i64,
    /// What is added to ranks, as a multiple of 2^-16.
    phase: u16,
    /// Over how many packets the registers average, as a multiple of 2^-16.
    memory: u32,
}

impl Quantiles {
    /// `registers` of them, of which `top` follow the highest quantiles of what a buffer of `places` admits, spread over ranks 0
    /// to `range` - 1 to start with; `gain` is a multiple of 2^-16.
    pub(super) fn new(registers: usize, top: usize, places: u64, range: u64, gain: u64) -> Self {
        let quantiles = quantiles(registers, top, places);
        let register = |(place, quantile): (usize, &i64)| {
            let (before, after) = (place.saturating_sub(1), (place + 1).min(quantiles.len() - 1));
            Follower {
                at: ((i128::from(range << FRACTION) * i128::from(*quantile)) >> 32) as i64,
                quantile: *quantile,
                // Quantiles of a buffer of billions of places may be equal.
                scale: (1 << 48) / (quantiles[after] - quantiles[before]).max(1) as u64,
            }
        };
        Self {
            registers: quantiles.iter().enumerate().map(register).collect(),
            gain,
            tenth: ((range << FRACTION) / 10).max(1) as i64,
            phase: 0,
            memory: 0,
        }
    }

    /// The count of numbers in its state.
    pub(super) fn numbers(&self) -> usize {
        self.registers.len() + 1
    }

    /// The share of ranks below this one, in 2^-32.
    pub(super) fn of(&self, rank: i64) -> i64 {
        let registers = &self.registers;
        let reached = registers.iter().filter(|register| register.at <= rank).count();
        // Below the first and above the last register, the line through the two nearest is extended.
        let place = reached.clamp(1, registers.len() - 1);
        let [before, after] = [&registers[place - 1], &registers[place]];
        let (rise, distance) = (after.quantile - before.quantile, (after.at - before.at).max(NEAR));
        let found = match reached {
            0 => before.quantile - part(rise, before.at - rank, distance),
            all if all == registers.len() => after.quantile + part(rise, rank - after.at, distance),
            _ => before.quantile + part(rise, rank - before.at, after.at - before.at),
        };
        found.clamp(0, WHOLE)
    }

    /// 1 over the memory plus `head_start`, and at least 1/4096, in 2^-32.
    pub(super) fn rate(&self, head_start: u64) -> i64 {
        ((1 << 32) / (u64::from(self.memory >> PACKET) + head_start)).max(LEAST_RATE) as i64
    }

    /// Moves every register for a rank; they stay in order.
    pub(super) fn learn(&mut self, rank: i64) {
        self.phase = self.phase.wrapping_add(TURN);
        let dithered = rank + (i64::from(self.phase) << (FRACTION - 16));
        let last = self.registers.len() - 1;
        self.remember(dithered >= self.registers[last].at);
        let rate = i128::from((self.rate(HEAD_START) as u64 * self.gain) >> 16);
        let (mut before, mut lower) = (self.registers[0].at, i64::MIN);
        for place in 0..=last {
            let after = self.registers[(place + 1).min(last)].at;
            let register = &mut self.registers[place];
            // The last register has no neighbour above. Ranks are sparser there, so the distance below counts twice.
            let distance =
                if place == last { 2 * (i128::from(after) - i128::from(before)) } else { (after - before).into() };
            let width = ((distance * i128::from(register.scale)) >> 16).max(self.tenth.into());
            let step = ((width * rate) >> 32).min(self.tenth.into()) as i64;
            let up = ((i128::from(step) * i128::from(register.quantile)) >> 32) as i64;
            before = register.at;
            register.at = (before + if dithered >= before { up } else { up - step }).max(lower);
            lower = register.at;
        }
    }
}

impl Quantiles {
    /// Lengthens the memory by a packet, and shortens it by a share if the rank lies `beyond` the last register.
    fn remember(&mut self, beyond: bool) {
        let longer = u64::from(self.memory) + (1 << PACKET);
        let above = (WHOLE - self.registers[self.registers.len() - 1].quantile).max(LEAST_BEYOND) as u64;
        let lost = if beyond { (longer << (32 - LONGEST)) / above } else { 0 };
        self.memory = (longer - lost).min(1 << (LONGEST + PACKET)) as u32;
    }
}

impl crate::Register for Quantiles {
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.registers.iter().for_each(|register| visit(register.at));
        visit(i64::from(self.memory) << 16 | i64::from(self.phase));
    }

    fn resume(&mut self, _window: &[pifolab_units::Rank], state: &[i64]) {
        let Some((memory, at)) = state.split_last() else { return };
        if at.len() == self.registers.len() {
            self.registers.iter_mut().zip(at).for_each(|(register, at)| register.at = *at);
            (self.memory, self.phase) = ((*memory >> 16) as u32, *memory as u16);
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

/// The highest quantiles are 1 - 3/10 f^j for j = 0, 1, ..; the last is 3/4 of a place of the buffer below 1, at
/// most 3/20. If there is only one, it is that last one. The others are spread evenly from 1/20 up.
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
