//! Link rates, and the transmission time of bytes.

use crate::{Bytes, Span};
use core::fmt;

/// A rate in bits per second, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// The rounding of a serialisation time that is not a whole number of picoseconds (or nanoseconds).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// Up to the next picosecond, so that a link is never faster than its rate. The default.
    #[default]
    UpToPicosecond,
    /// Down to the nanosecond, as in Netbench.
    DownToNanosecond,
}

impl Rate {
    /// The fastest link that [`Span`] can represent: one byte lasts a picosecond. On a faster link, packets of
    /// different sizes could have the same serialisation time.
    pub const FASTEST_LINK: Self = Self(8_000_000_000_000);

    /// A rate of `bps` bits per second; `None` for zero.
    pub const fn from_bps(bps: u64) -> Option<Self> {
        if bps == 0 { None } else { Some(Self(bps)) }
    }

    /// A rate of `gbps` Gb/s.
    ///
    /// # Panics
    /// If `gbps` is zero or the rate exceeds 2^64 bit/s.
    pub const fn from_gbps(gbps: u64) -> Self {
        match gbps.checked_mul(1_000_000_000) {
            Some(bps) if bps != 0 => Self(bps),
            _ => panic!("a rate must lie between 1 bit/s and 2^64 bit/s"),
        }
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The transmission time of `bytes`.
    ///
    /// # Panics
    /// If the time exceeds [`Span::MAX`] (213 days). [`checked_serialisation`](Self::checked_serialisation) returns
    /// `None` instead.
    pub fn serialisation(self, bytes: Bytes, rounding: Rounding) -> Span {
        self.checked_serialisation(bytes, rounding).expect("a serialisation time exceeds 213 days")
    }

    /// The transmission time of `bytes`; `None` if it exceeds [`Span::MAX`].
    pub fn checked_serialisation(self, bytes: Bytes, rounding: Rounding) -> Option<Span> {
        const PS_PER_S: u128 = 1_000_000_000_000;
        let numerator = u128::from(bytes.0) * 8 * PS_PER_S;
        let ps = match rounding {
            Rounding::UpToPicosecond => numerator.div_ceil(u128::from(self.0)),
            Rounding::DownToNanosecond => numerator / u128::from(self.0) / 1_000 * 1_000,
        };
        u64::try_from(ps).ok().map(Span::from_ps)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, bps) in [("Gb/s", 1_000_000_000), ("Mb/s", 1_000_000), ("kb/s", 1_000)] {
            if self.0.is_multiple_of(bps) {
                return write!(f, "{} {unit}", self.0 / bps);
            }
        }
        write!(f, "{} b/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_frame_takes_twelve_microseconds_at_one_gigabit() {
        let rate = Rate::from_gbps(1);
        assert_eq!(rate.serialisation(Bytes(1500), Rounding::UpToPicosecond), Span::from_us(12));
    }

    #[test]
    fn rounding_is_what_was_asked_for() {
        let rate = Rate::from_gbps(11);
        assert_eq!(rate.serialisation(Bytes(1500), Rounding::UpToPicosecond), Span::from_ps(1_090_910));
        assert_eq!(rate.serialisation(Bytes(1500), Rounding::DownToNanosecond), Span::from_ns(1_090));
    }

    #[test]
    fn a_serialisation_time_that_does_not_fit_is_none() {
        let rate = Rate::from_bps(1).unwrap();
        let bytes = Bytes(u64::from(u32::MAX));
        assert_eq!(rate.checked_serialisation(bytes, Rounding::UpToPicosecond), None);
        assert_eq!(rate.checked_serialisation(Bytes(1), Rounding::UpToPicosecond), Some(Span::from_s(8)));
        let one = Rate::FASTEST_LINK.checked_serialisation(Bytes(1), Rounding::UpToPicosecond);
        assert_eq!(one, Some(Span::from_ps(1)));
    }
}
