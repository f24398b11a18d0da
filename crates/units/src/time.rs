//! Instants and spans of time, in picoseconds.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// Picoseconds per nanosecond.
const PS_PER_NS: u64 = 1_000;
/// Picoseconds per second.
const PS_PER_S: u64 = 1_000_000_000_000;

/// A point in time: picoseconds since the start of the run. Holds 213 days.
///
/// Sums and differences are checked in every build: an overflow panics and never wraps. Code that accepts external
/// times checks them first, so that sums in a run do not overflow. If "never" is a valid result, use
/// [`saturating_add`](Self::saturating_add).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A span of time in picoseconds. Sums and differences are checked like those of [`Time`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// The last representable instant; means "never".
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// The instant `ns` nanoseconds after the start.
    ///
    /// # Panics
    /// If the instant exceeds [`Time::MAX`].
    pub const fn from_ns(ns: u64) -> Self {
        Self(Span::from_ns(ns).0)
    }

    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds since the start, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / PS_PER_NS
    }

    /// Seconds since the start, for display and plots only.
    pub fn as_s_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// The span since `earlier`.
    ///
    /// # Panics
    /// If `earlier` is later than `self`.
    #[inline]
    pub const fn since(self, earlier: Self) -> Span {
        Span(difference(self.0, earlier.0))
    }

    /// `self + span`, or [`Time::MAX`] if the sum overflows.
    pub const fn saturating_add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// The empty span.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A span of `ns` nanoseconds.
    ///
    /// # Panics
    /// If the span exceeds [`Span::MAX`].
    pub const fn from_ns(ns: u64) -> Self {
        match ns.checked_mul(PS_PER_NS) {
            Some(ps) => Self(ps),
            None => panic!("a span in nanoseconds exceeds 2^64 ps"),
        }
    }

    /// A span of `us` microseconds.
    ///
    /// # Panics
    /// If the span exceeds [`Span::MAX`].
    pub const fn from_us(us: u64) -> Self {
        match us.checked_mul(1_000 * PS_PER_NS) {
            Some(ps) => Self(ps),
            None => panic!("a span in microseconds exceeds 2^64 ps"),
        }
    }

    /// A span of `s` seconds.
    ///
    /// # Panics
    /// If the span exceeds [`Span::MAX`].
    pub const fn from_s(s: u64) -> Self {
        match s.checked_mul(PS_PER_S) {
            Some(ps) => Self(ps),
            None => panic!("a span in seconds exceeds 2^64 ps"),
        }
    }

    /// `self + other`, or [`Span::MAX`] if the sum overflows.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / PS_PER_NS
    }

    /// Seconds, for display and plots only.
    pub fn as_s_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
}

/// The sum of two numbers of picoseconds.
#[inline]
const fn sum(a: u64, b: u64) -> u64 {
    match a.checked_add(b) {
        Some(sum) => sum,
        None => beyond(),
    }
}

/// The difference of two numbers of picoseconds.
#[inline]
const fn difference(a: u64, b: u64) -> u64 {
    match a.checked_sub(b) {
        Some(difference) => difference,
        None => before(),
    }
}

#[cold]
#[inline(never)]
const fn beyond() -> ! {
    panic!("a time exceeds 2^64 ps, 213 days")
}

#[cold]
#[inline(never)]
const fn before() -> ! {
    panic!("a span of time would be negative")
}

impl Add<Span> for Time {
    type Output = Self;
    #[inline]
    fn add(self, span: Span) -> Self {
        Self(sum(self.0, span.0))
    }
}

impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    #[inline]
    fn sub(self, span: Span) -> Self {
        Self(difference(self.0, span.0))
    }
}

impl Add for Span {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(sum(self.0, other.0))
    }
}

impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(difference(self.0, other.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

impl fmt::Display for Span {
    /// Prints the largest unit that represents the span exactly: `1.5 us` prints as `1500 ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, ps) in [("s", PS_PER_S), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", PS_PER_NS)] {
            if self.0 != 0 && self.0.is_multiple_of(ps) {
                return write!(f, "{} {unit}", self.0 / ps);
            }
        }
        write!(f, "{} ps", self.0)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn spans_print_in_the_largest_exact_unit() {
        assert_eq!(Span::from_s(2).to_string(), "2 s");
        assert_eq!(Span::from_ns(1_500).to_string(), "1500 ns");
        assert_eq!(Span::from_ps(1).to_string(), "1 ps");
        assert_eq!(Span::ZERO.to_string(), "0 ps");
    }

    #[test]
    fn time_and_span_add_and_subtract_exactly() {
        let start = Time::from_ns(20);
        let end = start + Span::from_ps(1);
        assert_eq!(end.since(start), Span::from_ps(1));
        assert_eq!(end.as_ns(), 20);
        assert_eq!(Time::MAX.saturating_add(Span::from_ps(1)), Time::MAX);
    }

    #[test]
    #[cfg_attr(not(panic = "unwind"), ignore = "a panic ends the program here")]
    fn no_sum_or_difference_wraps_in_any_build() {
        let panics = |body: fn() -> u64| std::panic::catch_unwind(body).is_err();
        assert!(panics(|| (Time::MAX + Span::from_ps(1)).as_ps()));
        assert!(panics(|| (Span::MAX + Span::from_ps(1)).as_ps()));
        assert!(panics(|| (Time::ZERO - Span::from_ps(1)).as_ps()));
        assert!(panics(|| (Span::ZERO - Span::from_ps(1)).as_ps()));
        assert!(panics(|| Time::ZERO.since(Time::from_ps(1)).as_ps()));
        assert!(panics(|| {
            let mut time = Time::MAX;
            time += Span::from_ps(1);
            time.as_ps()
        }));
        assert_eq!(Span::MAX.saturating_add(Span::from_ps(1)), Span::MAX);
    }
}
