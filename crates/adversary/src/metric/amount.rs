//! The exact values of metrics.

use std::cmp::Ordering;
use std::fmt;

/// An exact fraction, the value of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    numerator: i64,
    denominator: i64,
}

impl Amount {
    /// 0.
    pub const ZERO: Self = Self { numerator: 0, denominator: 1 };

    /// `numerator` / `denominator`.
    ///
    /// # Panics
    /// If the denominator is not positive.
    pub fn new(numerator: i64, denominator: i64) -> Self {
        assert!(denominator > 0, "a denominator of {denominator}");
        let divisor = gcd(numerator.unsigned_abs(), denominator.unsigned_abs()).max(1) as i64;
        Self { numerator: numerator / divisor, denominator: denominator / divisor }
    }

    /// The value, if it is an integer.
    pub fn integer(self) -> Option<i64> {
        (self.denominator == 1).then_some(self.numerator)
    }

    /// The quotient by `unit`, if it is an integer.
    pub(crate) fn times(self, unit: Self) -> Option<i64> {
        Self::new(self.numerator * unit.denominator, self.denominator * unit.numerator).integer()
    }

    /// The numerator and the denominator in lowest terms.
    pub fn parts(self) -> (i64, i64) {
        (self.numerator, self.denominator)
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl std::ops::Sub for Amount {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let numerator = self.numerator * other.denominator - other.numerator * self.denominator;
        Self::new(numerator, self.denominator * other.denominator)
    }
}

impl std::ops::Mul<i64> for Amount {
    type Output = Self;

    fn mul(self, times: i64) -> Self {
        Self::new(self.numerator * times, self.denominator)
    }
}

impl From<i64> for Amount {
    fn from(value: i64) -> Self {
        Self { numerator: value, denominator: 1 }
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Amount {}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = i128::from(self.numerator) * i128::from(other.denominator);
        left.cmp(&(i128::from(other.numerator) * i128::from(self.denominator)))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => self.numerator.fmt(f),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact() {
        let third = Amount::new(2, 6);
        assert_eq!(third.to_string(), "1/3");
        assert_eq!((third - Amount::new(1, 3)).integer(), Some(0));
        assert!(third > Amount::new(33, 100) && Amount::new(-1, 2) < Amount::ZERO);
    }
}
