//! Exact non-negative fractions, such as the headroom k of the papers. 1/10 must not depend on rounding.

use core::fmt;
use core::str::FromStr;

/// A non-negative fraction in lowest terms. Numerator and denominator are below 2^32, so a product with two 32-bit
/// factors fits in 128 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u32,
    denominator: u32,
}

/// The error of a text that is not a [`Ratio`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseRatioError;

impl Ratio {
    /// The fraction 0.
    pub const ZERO: Self = Self { numerator: 0, denominator: 1 };
    /// The fraction 1.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// `numerator / denominator` in lowest terms. `None` if the denominator is zero, or if a reduced part does not fit
    /// in 32 bits.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        if denominator == 0 {
            return None;
        }
        let divisor = greatest_common_divisor(numerator.into(), denominator.into()) as u64;
        Some(Self {
            numerator: u32::try_from(numerator / divisor).ok()?,
            denominator: u32::try_from(denominator / divisor).ok()?,
        })
    }

    /// The numerator in lowest terms.
    pub const fn numerator(self) -> u64 {
        self.numerator as u64
    }

    /// The denominator in lowest terms, at least 1.
    pub const fn denominator(self) -> u64 {
        self.denominator as u64
    }

    /// The nearest double, for display and plots only.
    pub fn as_f64(self) -> f64 {
        f64::from(self.numerator) / f64::from(self.denominator)
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        (self.numerator() * other.denominator()).cmp(&(other.numerator() * self.denominator()))
    }
}

/// The largest number that divides both `a` and `b`.
pub const fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl FromStr for Ratio {
    type Err = ParseRatioError;

    /// Parses `7/10`, `0.7` or `1`. A decimal number is parsed exactly, not as the nearest binary one.
    fn from_str(text: &str) -> Result<Self, ParseRatioError> {
        let digits = |part: &str| {
            let plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            if plain { part.parse::<u64>().map_err(|_| ParseRatioError) } else { Err(ParseRatioError) }
        };
        let text = text.trim();
        if let Some((numerator, denominator)) = text.split_once('/') {
            return Self::new(digits(numerator.trim())?, digits(denominator.trim())?).ok_or(ParseRatioError);
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let places = u32::try_from(fraction.len()).map_err(|_| ParseRatioError)?;
        let scale = 10u64.checked_pow(places).ok_or(ParseRatioError)?;
        let numerator = digits(whole)?
            .checked_mul(scale)
            .and_then(|value| value.checked_add(digits(fraction).ok()?))
            .ok_or(ParseRatioError)?;
        Self::new(numerator, scale).ok_or(ParseRatioError)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.denominator == 1 {
            write!(f, "{}", self.numerator)
        } else {
            write!(f, "{}/{}", self.numerator, self.denominator)
        }
    }
}

impl fmt::Display for ParseRatioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a fraction such as 1/10 or 0.1")
    }
}

impl core::error::Error for ParseRatioError {}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn decimals_are_read_as_written() {
        assert_eq!("0.1".parse(), Ok(Ratio::new(1, 10).unwrap()));
        assert_eq!("7/10".parse::<Ratio>().unwrap(), "0.70".parse().unwrap());
        assert_eq!("1".parse(), Ok(Ratio::ONE));
        assert_eq!(Ratio::new(2, 20).unwrap().to_string(), "1/10");
    }

    #[test]
    fn what_is_no_fraction_is_refused() {
        for text in ["", ".", "-1", "1/0", "1/2/3", "0.1e3", "+0.5", "nan", "0.00000000000000000000001"] {
            assert_eq!(text.parse::<Ratio>(), Err(ParseRatioError), "{text}");
        }
    }

    #[test]
    fn order_is_by_value() {
        assert!(Ratio::new(1, 3).unwrap() < Ratio::new(2, 5).unwrap());
    }
}
