//! What a byte costs each child of a node in units of rank, exactly.

use alloc::vec::Vec;
use pifolab_units::{Ratio, greatest_common_divisor};

/// Units of rank for a byte at weight 1, at most: with weights of few digits bytes / weight is a whole number of such units.
/// 2^63 of them are 2^47 bytes at weight 1.
pub(super) const UNITS: u32 = 1 << 16;

/// Bytes to units of rank, child by child: bytes x value of a byte / weight.
///
/// The unit is chosen so fine that every child's byte is a whole number of units, if that is possible within the limit. If
/// it is not, the limit is the unit, and a child's remainder is carried from one packet to the next, so that the error of a
/// finish tag stays below one unit however many packets follow one another.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    pub(super) units: u64,
    pub(super) per_byte: Vec<Fraction>,
}

/// What a byte of a child costs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fraction {
    pub(super) numerator: u64,
    pub(super) denominator: u64,
    /// What is left of the last division.
    pub(super) rest: u64,
}

impl Costs {
    /// For a byte that is worth `value` at weight 1, in units of at most 1 / `limit`.
    ///
    /// Weights are above 0.
    pub(super) fn new(value: Ratio, weights: &[Ratio], limit: u32) -> Self {
        let fractions: Vec<(u128, u128)> = weights
            .iter()
            .map(|weight| {
                let numerator = u128::from(value.numerator()) * u128::from(weight.denominator());
                let denominator = u128::from(value.denominator()) * u128::from(weight.numerator());
                let divisor = greatest_common_divisor(numerator, denominator).max(1);
                (numerator / divisor, denominator / divisor)
            })
            .collect();
        let limit = u128::from(limit.max(1));
        let common = fractions.iter().try_fold(1u128, |common, (_, denominator)| {
            let common = common / greatest_common_divisor(common, *denominator) * denominator;
            (common <= limit).then_some(common)
        });
        let units = common.unwrap_or(limit);
        let per_byte = fractions.iter().map(|(numerator, denominator)| {
            let divisor = greatest_common_divisor(units, *denominator);
            let numerator = u64::try_from(numerator * (units / divisor)).unwrap_or(u64::MAX);
            Fraction { numerator, denominator: (denominator / divisor) as u64, rest: 0 }
        });
        Self { units: units as u64, per_byte: per_byte.collect() }
    }
}

impl Fraction {
    /// What `bytes` more cost; `anew` if they start at a whole unit, and nothing is left of the last division.
    #[inline(always)]
    pub(super) fn charge(&mut self, bytes: u32, anew: bool) -> u128 {
        if self.denominator == 1 { u128::from(bytes) * u128::from(self.numerator) } else { self.divide(bytes, anew) }
    }

    #[inline(never)]
    fn divide(&mut self, bytes: u32, anew: bool) -> u128 {
        let Self { numerator, denominator, rest } = self;
        let exact = u128::from(bytes) * u128::from(*numerator) + if anew { 0 } else { u128::from(*rest) };
        // The long division takes several times as long as the short one.
        if let Ok(exact) = u64::try_from(exact) {
            *rest = exact % *denominator;
            return (exact / *denominator).into();
        }
        *rest = (exact % u128::from(*denominator)) as u64;
        exact / u128::from(*denominator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(numerator: u64, denominator: u64) -> Ratio {
        Ratio::new(numerator, denominator).unwrap()
    }

    #[test]
    fn bytes_over_weights_are_whole_numbers_where_the_unit_can_be_fine_enough() {
        let mut costs = Costs::new(Ratio::ONE, &[ratio(5, 1), ratio(3, 1), ratio(1, 2)], 1 << 16);
        assert_eq!([0, 1, 2].map(|child| costs.per_byte[child].charge(100, false)), [300, 500, 3_000]);
        assert_eq!(costs.units, 15);
    }

    #[test]
    fn a_remainder_is_carried_where_it_cannot() {
        let primes = [ratio(257, 1), ratio(263, 1), ratio(269, 1)];
        let mut costs = Costs::new(Ratio::ONE, &primes, 1 << 16);
        let packets = pifolab_testkit::steps(1_000_000, 2_000);
        for (child, weight) in primes.iter().enumerate() {
            let total: u128 = (0..packets).map(|_| costs.per_byte[child].charge(1, false)).sum();
            let exact = packets * (1 << 16) / weight.numerator();
            assert_eq!(total, u128::from(exact), "weight {weight}");
        }
    }
}
