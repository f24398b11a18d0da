//! RIFO's admission test without a division: equation 3, and its approximation on the switch.

use crate::schedulers::headroom::{Headroom, ShelteredPower, bits_above_16};

/// (1 - k) B (r - Min) <= (B - l) (Max - Min), both sides multiplied by k's denominator.
#[derive(Clone, Debug)]
pub(super) struct Eq3 {
    sheltered: u128,
    denominator: u64,
}

impl Eq3 {
    pub(super) fn new(headroom: Headroom) -> Self {
        Self { sheltered: headroom.sheltered(), denominator: headroom.scale() }
    }

    /// Whether `above` = r - Min of a `range` = Max - Min passes with `free` = B - l.
    #[inline]
    pub(super) fn admits(&self, above: u64, range: u64, free: u64) -> bool {
        wide_product(self.sheltered, above) <= wide_product(u128::from(free) * u128::from(self.denominator), range)
    }
}

/// The 192-bit product, most significant part first: eq. 3 with capacities in bytes needs up to 136 bits.
#[inline]
const fn wide_product(a: u128, b: u64) -> (u128, u64) {
    let low = (a as u64 as u128) * b as u128;
    ((a >> 64) * b as u128 + (low >> 64), low as u64)
}

/// Equation 3 with each factor replaced by a power of two: the tables of section V.
#[derive(Clone, Debug)]
pub(super) struct Pow2(pub(super) ShelteredPower);

impl Pow2 {
    pub(super) fn new(headroom: Headroom) -> Self {
        Self(headroom.power())
    }

    /// As [`Eq3::admits`].
    #[inline]
    pub(super) fn admits(&self, above: u64, range: u64, free: u64) -> bool {
        let (ShelteredPower { exponent, shift }, rank_shift) = (self.0, bits_above_16(range));
        let power = |value: u64, shift: u32| (value >> shift).checked_ilog2();
        match (power(above, rank_shift), power(free, shift), power(range, rank_shift)) {
            (None, _, _) => true,
            (Some(above), Some(free), Some(range)) => exponent + above <= free + range,
            (Some(_), _, _) => false,
        }
    }
}
