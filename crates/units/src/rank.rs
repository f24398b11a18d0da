//! Ranks: a packet's position in the order of service.

use core::fmt;

/// A packet's rank: an integer from 0 to 2^63 - 1. Smaller ranks leave first.
///
/// The highest bit is unused, so that differences of ranks, and bounds that move by them (SP-PIFO's may become
/// negative), fit in an `i64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(u64);

impl Rank {
    /// The smallest rank, served first.
    pub const ZERO: Self = Self(0);
    /// The largest rank, 2^63 - 1.
    pub const MAX: Self = Self(i64::MAX as u64);

    /// The rank `value`; `None` above [`Rank::MAX`].
    pub const fn new(value: u64) -> Option<Self> {
        if value <= Self::MAX.0 { Some(Self(value)) } else { None }
    }

    /// The rank `value`, or [`Rank::MAX`] if it is larger.
    pub const fn saturating(value: u64) -> Self {
        if value <= Self::MAX.0 { Self(value) } else { Self::MAX }
    }

    /// The rank as an unsigned integer.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The rank as a signed integer, for arithmetic with bounds that may be negative.
    pub const fn signed(self) -> i64 {
        self.0 as i64
    }
}

impl From<u32> for Rank {
    fn from(value: u32) -> Self {
        Self(u64::from(value))
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_stop_at_two_to_the_63_minus_one() {
        assert_eq!(Rank::new(i64::MAX as u64), Some(Rank::MAX));
        assert_eq!(Rank::new(1 << 63), None);
        assert_eq!(Rank::saturating(u64::MAX), Rank::MAX);
    }
}
