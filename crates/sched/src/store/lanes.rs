//! Counting in wide vectors: how many of a row of ranks lie below a bound.
//!
//! The processor is asked once which vectors it has (AVX-512, AVX2 or none), since a program built for every x86-64
//! must not assume any. The answer is a [`Lanes`], which a container keeps.

use pifolab_units::Rank;

/// A rank as the signed integer that vector units compare: 2^63 lower, so that all ranks are negative and both a
/// bound one above the largest rank and a filler above every bound exist.
#[inline]
pub(super) const fn lane(rank: Rank) -> i64 {
    rank.signed() ^ i64::MIN
}

/// The rank that [`lane`] made.
#[inline]
pub(super) const fn rank_of(lane: i64) -> Rank {
    Rank::saturating((lane ^ i64::MIN) as u64)
}

/// A value above every bound: counts nowhere.
pub(super) const FILLER: i64 = i64::MAX;

/// The widest vectors that this processor and operating system offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    /// One rank at a time (or whatever the compiler makes of it).
    Scalar,
    /// Four ranks at a time.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Eight ranks at a time.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Lanes {
    /// Asks the processor, once per program.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn detect() -> Self {
        use core::sync::atomic::{AtomicU8, Ordering};
        // Asking is slow (a virtual machine traps it); whoever asks first tells the others. 0 = not asked yet.
        static ANSWER: AtomicU8 = AtomicU8::new(0);
        match ANSWER.load(Ordering::Relaxed) {
            1 => Self::Scalar,
            2 => Self::Avx2,
            3 => Self::Avx512,
            _ => {
                let lanes = x86::ask();
                let answer = match lanes {
                    Self::Scalar => 1,
                    Self::Avx2 => 2,
                    Self::Avx512 => 3,
                };
                ANSWER.store(answer, Ordering::Relaxed);
                lanes
            }
        }
    }

    /// Other architectures count one by one; their compilers vectorise the loop with what every processor has.
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) const fn detect() -> Self {
        Self::Scalar
    }

    /// How many of `lanes` lie below `bound`. O(n), four or eight per step.
    #[inline]
    pub(super) fn count_below(self, lanes: &[i64], bound: i64) -> usize {
        match self {
            Self::Scalar => lanes.iter().map(|lane| usize::from(*lane < bound)).sum(),
            // SAFETY: `detect` found the feature.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::count_below_avx2(lanes, bound) },
            // SAFETY: `detect` found the feature.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { x86::count_below_avx512(lanes, bound) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lanes;
    use core::arch::x86_64::{
        __cpuid, __cpuid_count, __m256i, _mm256_castsi256_pd, _mm256_cmpgt_epi64, _mm256_loadu_si256,
        _mm256_movemask_pd, _mm256_set1_epi64x, _mm512_cmplt_epi64_mask, _mm512_loadu_epi64,
        _mm512_mask_cmplt_epi64_mask, _mm512_maskz_loadu_epi64, _mm512_set1_epi64, _xgetbv,
    };

    /// The operating system must save the registers too: it says so in XCR0.
    #[target_feature(enable = "xsave")]
    fn saved_by_system() -> u64 {
        // SAFETY: the caller saw OSXSAVE, so register 0 may be read.
        unsafe { _xgetbv(0) }
    }

    pub(super) fn ask() -> Lanes {
        const OSXSAVE: u32 = 1 << 27; // leaf 1, ecx
        const POPCNT: u32 = 1 << 23; // leaf 1, ecx
        const AVX2: u32 = 1 << 5; // leaf 7, ebx
        const AVX512F: u32 = 1 << 16; // leaf 7, ebx
        const YMM: u64 = 0b110; // XCR0: xmm and ymm state
        const ZMM: u64 = 0b1110_0110; // and mask, upper and high zmm state
        if __cpuid(0).eax < 7 {
            return Lanes::Scalar;
        }
        let (basic, extended) = (__cpuid(1).ecx, __cpuid_count(7, 0).ebx);
        if basic & (OSXSAVE | POPCNT) != OSXSAVE | POPCNT {
            return Lanes::Scalar;
        }
        // SAFETY: OSXSAVE implies XSAVE.
        let saved = unsafe { saved_by_system() };
        if extended & AVX512F != 0 && saved & ZMM == ZMM {
            Lanes::Avx512
        } else if extended & AVX2 != 0 && saved & YMM == YMM {
            Lanes::Avx2
        } else {
            Lanes::Scalar
        }
    }

    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn count_below_avx2(lanes: &[i64], bound: i64) -> usize {
        let wide = _mm256_set1_epi64x(bound);
        let mut count = 0;
        let (rows, rest) = lanes.as_chunks::<4>();
        for row in rows {
            // SAFETY: the row holds four lanes; the load needs no alignment.
            let row = unsafe { _mm256_loadu_si256(row.as_ptr().cast::<__m256i>()) };
            count += _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(wide, row))).count_ones() as usize;
        }
        for lane in rest {
            count += usize::from(*lane < bound);
        }
        count
    }

    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) fn count_below_avx512(lanes: &[i64], bound: i64) -> usize {
        let wide = _mm512_set1_epi64(bound);
        let mut count = 0;
        let (rows, rest) = lanes.as_chunks::<8>();
        for row in rows {
            // SAFETY: the row holds eight lanes; the load needs no alignment.
            let row = unsafe { _mm512_loadu_epi64(row.as_ptr()) };
            count += _mm512_cmplt_epi64_mask(row, wide).count_ones() as usize;
        }
        if !rest.is_empty() {
            let mask = (1u8 << rest.len()) - 1;
            // SAFETY: the mask keeps the load within `rest`.
            let row = unsafe { _mm512_maskz_loadu_epi64(mask, rest.as_ptr()) };
            count += _mm512_mask_cmplt_epi64_mask(mask, row, wide).count_ones() as usize;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Every width that this machine can run.
    fn widths() -> Vec<Lanes> {
        match Lanes::detect() {
            Lanes::Scalar => alloc::vec![Lanes::Scalar],
            #[cfg(target_arch = "x86_64")]
            Lanes::Avx2 => alloc::vec![Lanes::Scalar, Lanes::Avx2],
            #[cfg(target_arch = "x86_64")]
            Lanes::Avx512 => alloc::vec![Lanes::Scalar, Lanes::Avx2, Lanes::Avx512],
        }
    }

    #[test]
    fn every_width_counts_the_same() {
        let ranks = [0, 5, 3, u64::MAX >> 1, (u64::MAX >> 1) - 1, 3, 1 << 40, 7, 2, 3, 9, 9, 8, 1, 0, 6, 4, 11, 12];
        for len in 0..=ranks.len() {
            let lanes: Vec<i64> = ranks[..len].iter().map(|rank| lane(Rank::saturating(*rank))).collect();
            for bound in [0, 1, 3, 4, 9, 1 << 40, u64::MAX >> 1] {
                let below = ranks[..len].iter().filter(|rank| **rank < bound).count();
                let up_to = ranks[..len].iter().filter(|rank| **rank <= bound).count();
                let bound = lane(Rank::saturating(bound));
                for width in widths() {
                    assert_eq!(width.count_below(&lanes, bound), below, "{width:?}");
                    assert_eq!(width.count_below(&lanes, bound + 1), up_to, "{width:?}");
                }
            }
        }
    }

    #[test]
    fn lanes_keep_the_order_of_ranks_and_stay_below_the_filler() {
        assert!(lane(Rank::ZERO) < lane(Rank::from(1)));
        assert!(lane(Rank::from(1)) < lane(Rank::MAX));
        assert!(lane(Rank::MAX) + 1 < FILLER);
        assert_eq!(rank_of(lane(Rank::MAX)), Rank::MAX);
        assert_eq!(rank_of(lane(Rank::from(9))), Rank::from(9));
    }
}
