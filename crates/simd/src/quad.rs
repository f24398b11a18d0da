//! Four small integers in one vector that every processor supports. Its methods are always inlined, while wider vectors
//! need a call.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// Four integers.
///
/// On x86-64, explicit SSE2 intrinsics, because the compiler generates scalar code from loops.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(super) struct Quad(Lanes);

#[cfg(target_arch = "x86_64")]
type Lanes = __m128i;
#[cfg(not(target_arch = "x86_64"))]
type Lanes = [i32; 4];

impl Quad {
    pub(super) const fn new(lanes: [i32; 4]) -> Self {
        // SAFETY: both types are four integers, and all bit patterns are valid.
        Self(unsafe { core::mem::transmute::<[i32; 4], Lanes>(lanes) })
    }

    pub(super) const fn to_array(self) -> [i32; 4] {
        // SAFETY: as in `new`.
        unsafe { core::mem::transmute::<Lanes, [i32; 4]>(self.0) }
    }

    /// The lanes of all vectors as integers.
    #[inline(always)]
    pub(super) const fn lanes_of<const N: usize>(vectors: &mut [Self; N]) -> &mut [[i32; 4]; N] {
        // SAFETY: as in `new`; the alignment of a vector is at least that of four integers.
        unsafe { core::mem::transmute::<&mut [Self; N], &mut [[i32; 4]; N]>(vectors) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Quad {
    #[inline(always)]
    pub(super) const fn of(vector: __m128i) -> Self {
        Self(vector)
    }

    #[inline(always)]
    pub(super) const fn vector(self) -> __m128i {
        self.0
    }

    /// A vector with `lane` in all four lanes.
    #[inline(always)]
    pub(super) fn splat(lane: i32) -> Self {
        // SAFETY: every x86-64 has SSE2.
        Self(unsafe { _mm_set1_epi32(lane) })
    }

    /// A mask: all bits (-1) in lanes in which `self` is less than `other`, else 0.
    #[inline(always)]
    pub(super) fn less(self, other: Self) -> Self {
        // SAFETY: every x86-64 has SSE2.
        Self(unsafe { _mm_cmplt_epi32(self.0, other.0) })
    }

    /// Adds lane by lane, wrapping.
    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        // SAFETY: every x86-64 has SSE2.
        Self(unsafe { _mm_add_epi32(self.0, other.0) })
    }

    /// Subtracts lane by lane, wrapping.
    #[inline(always)]
    pub(super) fn minus(self, other: Self) -> Self {
        // SAFETY: every x86-64 has SSE2.
        Self(unsafe { _mm_sub_epi32(self.0, other.0) })
    }

    /// The bits of `other` where `mask` is set, else the bits of `self`.
    #[inline(always)]
    pub(super) fn replaced(self, other: Self, mask: Self) -> Self {
        // SAFETY: every x86-64 has SSE2.
        Self(unsafe { _mm_or_si128(_mm_andnot_si128(mask.0, self.0), _mm_and_si128(mask.0, other.0)) })
    }

    /// The index of the first lane set in two masks (all bits or none in each lane); 8 if none is set.
    #[inline(always)]
    pub(super) fn first_set(low: Self, high: Self) -> usize {
        // SAFETY: every x86-64 has SSE2.
        let bits = unsafe { _mm_movemask_epi8(_mm_packs_epi32(low.0, high.0)) } as u32;
        // Two bits per lane.
        ((bits | 1 << 16).trailing_zeros() / 2) as usize
    }

    /// The index of the first lane not set in two masks; 8 if all are set.
    #[inline(always)]
    pub(super) fn first_clear(low: Self, high: Self) -> usize {
        // SAFETY: every x86-64 has SSE2.
        let bits = unsafe { _mm_movemask_epi8(_mm_packs_epi32(low.0, high.0)) } as u32;
        (bits.trailing_ones() / 2) as usize
    }

    /// The sum of the lanes, which must be from 0 to 255.
    #[inline(always)]
    pub(super) fn small_sum(self) -> usize {
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            let halves = _mm_sad_epu8(self.0, _mm_setzero_si128());
            _mm_cvtsi128_si64(_mm_add_epi64(halves, _mm_unpackhi_epi64(halves, halves))) as usize
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Quad {
    /// A vector with `lane` in all four lanes.
    #[inline(always)]
    pub(super) fn splat(lane: i32) -> Self {
        Self([lane; 4])
    }

    #[inline(always)]
    fn each(self, other: Self, lane: impl Fn(i32, i32) -> i32) -> Self {
        Self(core::array::from_fn(|at| lane(self.0[at], other.0[at])))
    }

    /// A mask: all bits (-1) in lanes in which `self` is less than `other`, else 0.
    #[inline(always)]
    pub(super) fn less(self, other: Self) -> Self {
        self.each(other, |lane, other| -i32::from(lane < other))
    }

    /// Adds lane by lane, wrapping.
    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        self.each(other, i32::wrapping_add)
    }

    /// Subtracts lane by lane, wrapping.
    #[inline(always)]
    pub(super) fn minus(self, other: Self) -> Self {
        self.each(other, i32::wrapping_sub)
    }

    /// The bits of `other` where `mask` is set, else the bits of `self`.
    #[inline(always)]
    pub(super) fn replaced(self, other: Self, mask: Self) -> Self {
        Self(core::array::from_fn(|at| self.0[at] & !mask.0[at] | other.0[at] & mask.0[at]))
    }

    /// The index of the first lane set in two masks (all bits or none in each lane); 8 if none is set.
    #[inline(always)]
    pub(super) fn first_set(low: Self, high: Self) -> usize {
        low.0.iter().chain(&high.0).take_while(|lane| **lane == 0).count()
    }

    /// The index of the first lane not set in two masks; 8 if all are set.
    #[inline(always)]
    pub(super) fn first_clear(low: Self, high: Self) -> usize {
        low.0.iter().chain(&high.0).take_while(|lane| **lane != 0).count()
    }

    /// The sum of the lanes, which must be from 0 to 255.
    #[inline(always)]
    pub(super) fn small_sum(self) -> usize {
        self.0.iter().sum::<i32>() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_four_integers() {
        let (a, b) = (Quad::new([1, -5, i32::MAX, 7]), Quad::new([2, -5, i32::MIN, 0]));
        assert_eq!(a.less(b).to_array(), [-1, 0, 0, 0]);
        assert_eq!(a.plus(b).to_array(), [3, -10, -1, 7]);
        assert_eq!(a.minus(b).to_array(), [-1, 0, -1, 7]);
        assert_eq!(a.replaced(b, Quad::new([0, 0, -1, -1])).to_array(), [1, -5, i32::MIN, 0]);
        assert_eq!(Quad::splat(3).to_array(), [3; 4]);
        let (none, all) = (Quad::splat(0), Quad::splat(-1));
        let third = Quad::new([0, 0, -1, 0]);
        assert_eq!([Quad::first_set(third, all), Quad::first_set(none, third), Quad::first_set(none, none)], [2, 6, 8]);
        let but_third = Quad::new([-1, -1, 0, -1]);
        let clear =
            [Quad::first_clear(but_third, none), Quad::first_clear(all, but_third), Quad::first_clear(all, all)];
        assert_eq!(clear, [2, 6, 8]);
        let mut both = [a, b];
        Quad::lanes_of(&mut both)[1][2] = 9;
        assert_eq!(both.map(Quad::to_array), [[1, -5, i32::MAX, 7], [2, -5, 9, 0]]);
        assert_eq!(Quad::new([255, 1, 0, 2]).small_sum(), 258);
    }
}
