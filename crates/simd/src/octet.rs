//! Eight small counters in one vector that every processor supports.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// Eight unsigned integers.
///
/// On x86-64, explicit SSE2 intrinsics. The compiler vectorises loops over so few lanes only in some contexts.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Octet(Lanes);

#[cfg(target_arch = "x86_64")]
type Lanes = __m128i;
#[cfg(not(target_arch = "x86_64"))]
type Lanes = [u16; 8];

impl Octet {
    pub(super) const ZERO: Self = Self::new([0; 8]);

    pub(super) const fn new(lanes: [u16; 8]) -> Self {
        // SAFETY: both types are eight integers, and all bit patterns are valid.
        Self(unsafe { core::mem::transmute::<[u16; 8], Lanes>(lanes) })
    }
}

#[cfg(target_arch = "x86_64")]
impl Octet {
    #[inline(always)]
    pub(super) const fn of(vector: __m128i) -> Self {
        Self(vector)
    }

    /// Adds lane by lane, wrapping.
    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        // SAFETY: every x86-64 has SSE2.
        Self(unsafe { _mm_add_epi16(self.0, other.0) })
    }

    /// Subtracts lane by lane, wrapping.
    #[inline(always)]
    pub(super) fn minus(self, other: Self) -> Self {
        // SAFETY: every x86-64 has SSE2.
        Self(unsafe { _mm_sub_epi16(self.0, other.0) })
    }

    /// The bitwise AND.
    #[inline(always)]
    pub(super) fn and(self, other: Self) -> Self {
        // SAFETY: every x86-64 has SSE2.
        Self(unsafe { _mm_and_si128(self.0, other.0) })
    }

    /// The sum of all lanes, wrapping at 2^16.
    #[inline(always)]
    pub(super) fn sum(self) -> u16 {
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            let four = _mm_add_epi16(self.0, _mm_unpackhi_epi64(self.0, self.0));
            let two = _mm_add_epi16(four, _mm_srli_epi64::<32>(four));
            _mm_cvtsi128_si32(_mm_add_epi16(two, _mm_srli_epi32::<16>(two))) as u16
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Octet {
    #[inline(always)]
    fn each(self, other: Self, lane: impl Fn(u16, u16) -> u16) -> Self {
        Self(core::array::from_fn(|at| lane(self.0[at], other.0[at])))
    }

    /// Adds lane by lane, wrapping.
    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        self.each(other, u16::wrapping_add)
    }

    /// Subtracts lane by lane, wrapping.
    #[inline(always)]
    pub(super) fn minus(self, other: Self) -> Self {
        self.each(other, u16::wrapping_sub)
    }

    /// The bitwise AND.
    #[inline(always)]
    pub(super) fn and(self, other: Self) -> Self {
        self.each(other, |lane, other| lane & other)
    }

    /// The sum of all lanes, wrapping at 2^16.
    #[inline(always)]
    pub(super) fn sum(self) -> u16 {
        self.0.iter().fold(0, |sum, lane| sum.wrapping_add(*lane))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_eight_integers() {
        let (a, b) = (Octet::new([1, 2, 3, 4, 5, 6, 7, 65_000]), Octet::new([7, 0, 65_535, 0, 1, 2, 0, 8]));
        assert_eq!(a.sum(), 65_028);
        assert_eq!(b.sum(), 17);
        assert_eq!(a.plus(b).sum(), 65_045);
        assert_eq!(a.minus(a).sum(), 0);
        assert_eq!(a.minus(b).plus(b).and(a).sum(), a.sum());
        assert_eq!(a.and(b).sum(), 1 + 3 + 1 + 2 + 8);
        assert_eq!(Octet::new([0, 0, 0, 0, 0, 9, 0, 0]).sum(), 9);
    }
}
