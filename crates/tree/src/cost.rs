//! The exact cost of a byte of each child of a node, in units of rank.

use alloc::vec::Vec;
use pifolab_units::{Ratio, greatest_common_divisor};

/// The finest units of rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finest {
    /// The largest number of units in 1.
    pub(super) units: u64,
    /// The largest number of units for a byte of the child with the smallest weight, unless a unit is 1.
    pub(super) byte: u64,
}

impl Finest {
    /// For finish tags of 63 bits, in which a byte of the smallest weight costs 1.
    pub(super) const RANKS: Self = Self { units: 1 << 16, byte: 1 << 16 };
    /// For tags of 107 bits.
    pub(super) const TAGS: Self = Self { units: 1 << 36, byte: 1 << 48 };
}

/// Converts bytes to units of rank for each child: bytes x value of a byte / weight.
///
/// The unit is the coarsest one in which every child's byte is a whole number of units, if the limit allows it.
/// Otherwise the unit is the limit, and each child's remainder carries over to its next packet. The error of a finish
/// tag then stays below one unit for any number of packets.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    pub(super) units: u64,
    pub(super) per_byte: Vec<Fraction>,
}

/// The cost of one byte of a child.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fraction {
    pub(super) numerator: u64,
    pub(super) denominator: u64,
    /// The remainder of the last division.
    pub(super) rest: u64,
}

impl Costs {
    /// Creates the costs if a byte is worth `value` at weight 1. Weights must be above 0.
    pub(super) fn new(value: Ratio, weights: &[Ratio], finest: Finest) -> Self {
        let fractions: Vec<(u128, u128)> = weights
            .iter()
            .map(|weight| {
                let numerator = u128::from(value.numerator()) * u128::from(weight.denominator());
                let denominator = u128::from(value.denominator()) * u128::from(weight.numerator());
                reduced(numerator, denominator)
            })
            .collect();
        let dearest = fractions.iter().map(|(numerator, denominator)| numerator.div_ceil(*denominator)).max();
        let limit = (finest.byte / u64::try_from(dearest.unwrap_or(1)).unwrap_or(u64::MAX)).clamp(1, finest.units);
        let common = fractions.iter().try_fold(1u128, |common, (_, denominator)| {
            let common = (common / greatest_common_divisor(common, *denominator)).checked_mul(*denominator)?;
            (common <= limit.into()).then_some(common)
        });
        let units = common.map_or(limit, |common| common as u64);
        let per_byte = fractions.iter().map(|(numerator, denominator)| {
            let divisor = greatest_common_divisor(units.into(), *denominator);
            let numerator = numerator.saturating_mul(u128::from(units) / divisor);
            Fraction::new(numerator, denominator / divisor, 64)
        });
        Self { units, per_byte: per_byte.collect() }
    }
}

/// Reduces a fraction to lowest terms.
fn reduced(numerator: u128, denominator: u128) -> (u128, u128) {
    let divisor = greatest_common_divisor(numerator, denominator).max(1);
    (numerator / divisor, denominator / divisor)
}

impl Fraction {
    /// Creates a fraction above 0 with a numerator of 64 bits and a denominator of `bits` bits. A fraction that is not
    /// exact is rounded down, by a part in 2^62 or less than one part of the denominator.
    pub(super) fn new(numerator: u128, denominator: u128, bits: u32) -> Self {
        let (mut numerator, mut denominator) = reduced(numerator, denominator);
        if numerator > u64::MAX.into() || denominator >> bits != 0 {
            let beyond = 64 - denominator.leading_zeros().min(64);
            (numerator, denominator) = (numerator >> beyond, denominator >> beyond);
            let whole = numerator / denominator;
            let places = whole.leading_zeros().saturating_sub(65).min(bits - 1);
            let rest = ((numerator % denominator) << places) / denominator;
            (numerator, denominator) = ((whole << places | rest).max(1), 1 << places);
        }
        Self { numerator: u64::try_from(numerator).unwrap_or(u64::MAX), denominator: denominator as u64, rest: 0 }
    }

    /// The numerator of `bytes` as a fraction with this denominator, which must have at most 32 bits.
    #[inline(always)]
    pub(super) fn parts(&self, bytes: u32) -> u64 {
        u64::from(bytes) * self.denominator
    }

    /// The cost of `bytes` further bytes. With `anew` they start at a whole unit, so the remainder of the last division
    /// is discarded.
    #[inline(always)]
    pub(super) fn charge(&mut self, bytes: u32, anew: bool) -> u128 {
        if self.denominator == 1 { u128::from(bytes) * u128::from(self.numerator) } else { self.divide(bytes, anew) }
    }

    #[inline(never)]
    fn divide(&mut self, bytes: u32, anew: bool) -> u128 {
        let Self { numerator, denominator, rest } = self;
        let exact = u128::from(bytes) * u128::from(*numerator) + if anew { 0 } else { u128::from(*rest) };
        // The 128-bit division takes several times as long as the 64-bit one.
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
        let mut costs = Costs::new(ratio(1, 2), &[ratio(5, 1), ratio(3, 1), ratio(1, 2)], Finest::RANKS);
        assert_eq!([0, 1, 2].map(|child| costs.per_byte[child].charge(100, false)), [300, 500, 3_000]);
        assert_eq!(costs.units, 30);
    }

    #[test]
    fn a_remainder_is_carried_where_it_cannot() {
        let primes = [ratio(257, 1), ratio(263, 1), ratio(269, 1)];
        let mut costs = Costs::new(Ratio::ONE, &primes, Finest { byte: u64::MAX, ..Finest::RANKS });
        let packets = pifolab_testkit::steps(1_000_000, 2_000);
        for (child, weight) in primes.iter().enumerate() {
            let total: u128 = (0..packets).map(|_| costs.per_byte[child].charge(1, false)).sum();
            let exact = packets * (1 << 16) / weight.numerator();
            assert_eq!(total, u128::from(exact), "weight {weight}");
        }
    }
}
