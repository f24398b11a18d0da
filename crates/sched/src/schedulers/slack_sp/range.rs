//! Ranks as bounds and registers hold them, and the range over which these are spread at first.

use crate::params::{self, Param};
use pifolab_units::Rank;

/// Bounds are multiples of 2^-FRACTION ranks.
pub(super) const FRACTION: u32 = 20;
/// Ranks from here on count as equal.
pub(super) const MOST: u64 = 1 << 42;

/// The rank as a bound is written.
#[inline(always)]
pub(super) fn fixed(rank: Rank) -> i64 {
    (rank.get().min(MOST) << FRACTION) as i64
}

pub(super) const DEFAULT_RANKS: u64 = 100;

pub(super) const RANKS: Param = Param::integer("ranks", 1, params::MAX_RANK)
    .unit("ranks")
    .means("100, unless initial_bounds are given")
    .doc("R: the initial bounds (or registers) are spread over ranks 0 to R-1.");
