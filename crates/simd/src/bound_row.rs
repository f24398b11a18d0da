//! Eight small bounds in two vectors that every processor supports.

use super::quad::Quad;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// Eight bounds in non-decreasing order, all below 2^31 - 1.
///
/// Every write replaces whole vectors. The bound that a rank replaces is unpredictable, and reading a vector soon after
/// a partial write would stall.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct BoundRow([Quad; 2]);

/// The result of comparing the bounds with a rank.
#[derive(Clone, Copy, Debug)]
pub struct Reached(Kind);

/// 16 bits per bound, all set if the bound is above the rank. The first bound always counts as reached.
#[cfg(target_arch = "x86_64")]
type Kind = __m128i;
/// The index of the last reached bound.
#[cfg(not(target_arch = "x86_64"))]
type Kind = usize;

impl BoundRow {
    /// A value above every bound and every rank: no rank reaches it.
    pub const NEVER: i32 = i32::MAX;

    /// Creates a row of these bounds in non-decreasing order. Unused bounds are [`NEVER`](Self::NEVER).
    pub const fn new([a, b, c, d, e, f, g, h]: [i32; 8]) -> Self {
        Self([Quad::new([a, b, c, d]), Quad::new([e, f, g, h])])
    }

    /// Creates a row of at most eight bounds. `None` if there are more, if one decreases, or if one is not below 2^31 -
    /// 1.
    pub fn of(bounds: &[i64]) -> Option<Self> {
        let mut row = [Self::NEVER; 8];
        if bounds.len() > row.len() || !bounds.is_sorted() {
            return None;
        }
        for (narrow, bound) in row.iter_mut().zip(bounds) {
            *narrow = i32::try_from(*bound).ok().filter(|bound| *bound != Self::NEVER)?;
        }
        Some(Self::new(row))
    }

    /// The bounds.
    #[inline(always)]
    pub const fn to_array(self) -> [i32; 8] {
        let ([a, b, c, d], [e, f, g, h]) = (self.0[0].to_array(), self.0[1].to_array());
        [a, b, c, d, e, f, g, h]
    }

    /// The first bound.
    #[inline(always)]
    pub const fn first(self) -> i32 {
        self.0[0].to_array()[0]
    }
}

#[cfg(target_arch = "x86_64")]
impl BoundRow {
    /// Compares the bounds with `rank`, which must not be [`NEVER`](Self::NEVER).
    #[inline(always)]
    pub fn reach(&self, rank: i32) -> Reached {
        let rank = Quad::splat(rank);
        // SAFETY: every x86-64 has SSE2.
        Reached(unsafe {
            let above = _mm_packs_epi32(rank.less(self.0[0]).vector(), rank.less(self.0[1]).vector());
            _mm_and_si128(above, _mm_set_epi16(-1, -1, -1, -1, -1, -1, -1, 0))
        })
    }

    /// Replaces the last [reached](Self::reach) bound.
    #[inline(always)]
    pub fn replace(&mut self, Reached(above): Reached, bound: i32) {
        let bound = Quad::splat(bound);
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            let next_is_above = _mm_or_si128(_mm_srli_si128(above, 2), _mm_set_epi16(-1, 0, 0, 0, 0, 0, 0, 0));
            let last = _mm_andnot_si128(above, next_is_above);
            self.0[0] = self.0[0].replaced(bound, Quad::of(_mm_unpacklo_epi16(last, last)));
            self.0[1] = self.0[1].replaced(bound, Quad::of(_mm_unpackhi_epi16(last, last)));
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Reached {
    /// The index of the last reached bound, from 0; 0 if none is reached.
    #[inline(always)]
    pub fn last(self) -> usize {
        // SAFETY: every x86-64 has SSE2.
        let above = unsafe { _mm_movemask_epi8(self.0) } as u32;
        // Two bits per bound, from the second bound on.
        (((above >> 2) | 1 << 14).trailing_zeros() / 2) as usize
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl BoundRow {
    /// Compares the bounds with `rank`, which must not be [`NEVER`](Self::NEVER).
    #[inline(always)]
    pub fn reach(&self, rank: i32) -> Reached {
        Reached(self.to_array()[1..].iter().map(|bound| usize::from(*bound <= rank)).sum())
    }

    /// Replaces the last [reached](Self::reach) bound.
    #[inline(always)]
    pub fn replace(&mut self, Reached(last): Reached, bound: i32) {
        let mut bounds = self.to_array();
        bounds[last] = bound;
        *self = Self::new(bounds);
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Reached {
    /// The index of the last reached bound, from 0; 0 if none is reached.
    #[inline(always)]
    pub const fn last(self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(pifolab_testkit::cases(500))]

        #[test]
        fn the_last_bound_that_is_reached_is_found_and_replaced(
            mut bounds in proptest::array::uniform8(prop_oneof![-5i32..20, Just(i32::MIN), any::<i32>()]),
            used in 1usize..=8,
            rank in prop_oneof![0i32..20, Just(i32::MAX - 1), 0..i32::MAX],
            bound in any::<i32>(),
        ) {
            bounds[used..].fill(BoundRow::NEVER);
            bounds.sort_unstable();
            let mut row = BoundRow::new(bounds);
            let reached = row.reach(rank);
            let last = bounds.partition_point(|bound| *bound <= rank).saturating_sub(1);
            prop_assert_eq!((row.first(), row.to_array(), reached.last()), (bounds[0], bounds, last));
            row.replace(reached, bound);
            bounds[last] = bound;
            prop_assert_eq!(row.to_array(), bounds);
        }
    }
}
