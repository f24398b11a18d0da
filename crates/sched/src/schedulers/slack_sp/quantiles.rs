//! Quantiles of ranks, estimated by a few registers, for `map = shares`.
//!
//! PACKS takes quantiles from a window of a thousand ranks. Here m registers estimate them, each of which follows one
//! quantile of the ranks:
//!
//! - Before a rank is compared with a register, a fraction in [0, 1) is added to it: the phase of a packet counter. The
//!   share of ranks below a register is then linear between whole ranks, and the register settles where it equals its
//!   quantile.
//! - A register moves by a share of the local distance in ranks per quantile, taken from its neighbours. The share is 1
//!   over the number of packets, and at least 1/4096. It never passes the register below it: registers that crossed would
//!   find no distance between their neighbours, and move too slowly ever to part again.
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
/// A register's step is 1 over the number of packets plus 20, and at least 1/4096.
const HEAD_START: u64 = 20;
const LEAST_RATE: u64 = 1 << (32 - 12);
/// A full turn of the counter is 2^16 phases; it turns by the golden section.
const TURN: u64 = 40503;
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

/// The registers that follow quantiles, and the counter of packets.
#[derive(Clone, Debug)]
pub(super) struct Quantiles {
    registers: Vec<Follower>,
    /// The gain, as a multiple of 2^-16.
    gain: u64,
    /// The smallest assumed range of all quantiles, which is also the largest step; a multiple of 2^-20 ranks.
    tenth: i64,
    /// The number of packets that arrived.
    count: u64,
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
            count: 0,
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

    /// 1 over the number of packets plus `head_start`, and at least 1/4096, in 2^-32.
    pub(super) fn rate(&self, head_start: u64) -> i64 {
        ((1 << 32) / self.count.saturating_add(head_start)).max(LEAST_RATE) as i64
    }

    /// Moves every register for a rank; they stay in order.
    pub(super) fn learn(&mut self, rank: i64) {
        self.count = self.count.wrapping_add(1);
        let phase = self.count.wrapping_mul(TURN) & 0xffff;
        let dithered = rank + ((phase as i64) << (FRACTION - 16));
        let rate = i128::from((self.rate(HEAD_START) as u64 * self.gain) >> 16);
        let last = self.registers.len() - 1;
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

impl crate::Register for Quantiles {
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.registers.iter().for_each(|register| visit(register.at));
        visit(self.count as i64);
    }

    fn resume(&mut self, _window: &[pifolab_units::Rank], state: &[i64]) {
        let Some((count, at)) = state.split_last() else { return };
        if at.len() == self.registers.len() {
            self.registers.iter_mut().zip(at).for_each(|(register, at)| register.at = *at);
            self.count = *count as u64;
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
