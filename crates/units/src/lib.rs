//! Exact quantities: time, rates, sizes, ranks and ratios. Every rounding is explicit.
//!
//! Every quantity is an integer newtype, so results do not depend on the machine, the optimiser or the order of
//! additions. In texts (TOML, CSV, command line, Python keywords), the key's name contains the unit.
#![no_std]
#![forbid(unsafe_code)]

mod dscp;
mod in_place;
mod rank;
mod rate;
mod ratio;
mod time;

pub use dscp::{PHBS, ParseRankMapError, Phb, RankMap, behaviour};
pub use rank::Rank;
pub use rate::{Rate, Rounding};
pub use ratio::{ParseRatioError, Ratio, greatest_common_divisor};
pub use time::{Span, Time};

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl core::ops::Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl core::ops::AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl core::ops::Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl core::ops::SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl core::fmt::Display for Bytes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} B", self.0)
    }
}

/// The example in the readme.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
