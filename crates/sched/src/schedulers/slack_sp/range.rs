//! The fixed-point form of ranks in bounds and registers, and the range over which these are initially spread.

use crate::params::{self, Literal, Param};
use pifolab_units::{Rank, Ratio};

/// Bounds are multiples of 2^-FRACTION ranks.
pub(super) const FRACTION: u32 = 20;
/// Proportional moves are multiples of 2^-SHARE of the bound.
pub(super) const SHARE: u32 = 32;
/// Ranks from this one on count as equal.
pub(super) const MOST: u64 = 1 << 42;

/// The rank in the fixed-point form of bounds.
#[inline(always)]
pub(super) fn fixed(rank: Rank) -> i64 {
    (rank.get().min(MOST) << FRACTION) as i64
}

/// `share` of `step` as a multiple of 2^-`bits`, to the nearest.
pub(super) fn rounded(share: u64, step: Ratio, bits: u32) -> i64 {
    let product = (u128::from(share) * u128::from(step.numerator())) << bits.min(32);
    let whole = u128::from(step.denominator()) << 62;
    i64::try_from((product + whole / 2) / whole).unwrap_or(i64::MAX)
}

pub(super) const DEFAULT_RANKS: i64 = 100;

pub(super) const RANKS: Param = Param::integer("ranks", 1, params::MAX_RANK)
    .unit("ranks")
    .usually(Literal::Integer(DEFAULT_RANKS), ", unless initial_bounds are given")
    .doc("R: the initial bounds (or registers) are spread over ranks 0 to R-1.");
