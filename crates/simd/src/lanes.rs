//! Comparisons in wide vectors: counts the ranks of a row below a bound.
//!
//! A program built for every x86-64 cannot assume any vector extension. The first call detects the processor's
//! extension (AVX-512, AVX2 or none). The result is a [`Lanes`], which containers store.

use pifolab_units::Rank;

/// A rank as the signed integer that vector units compare: the rank minus 2^63. All ranks are negative, so there is
/// room for a bound above the largest rank and for a filler above every bound.
#[inline]
pub(super) const fn lane(rank: Rank) -> i64 {
    rank.signed() ^ i64::MIN
}

/// The inverse of [`lane`].
#[inline]
pub(super) const fn rank_of(lane: i64) -> Rank {
    Rank::saturating((lane ^ i64::MIN) as u64)
}

/// A value above every bound, which no count includes.
pub(super) const FILLER: i64 = i64::MAX;

/// The widest vectors that the processor and the operating system support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    /// One rank at a time, unless the compiler vectorises the loop.
    Scalar,
    /// Four ranks at a time.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Eight ranks at a time.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Lanes {
    /// Miri cannot query a processor. The features that the program is compiled for decide.
    #[cfg(all(target_arch = "x86_64", miri))]
    pub(super) const fn detect() -> Self {
        if cfg!(target_feature = "avx512f") {
            Self::Avx512
        } else if cfg!(target_feature = "avx2") {
            Self::Avx2
        } else {
            Self::Scalar
        }
    }

    /// Detects the processor's vectors, once per program.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(super) fn detect() -> Self {
        use core::sync::atomic::{AtomicU8, Ordering};
        // Detection is slow (a virtual machine traps it), so the first result is cached. 0 = not detected.
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

    /// Other architectures count one by one. Their compilers vectorise the loop with the vectors of every processor.
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) const fn detect() -> Self {
        Self::Scalar
    }

    /// The number of `lanes` below `bound`. O(n), four or eight per step.
    #[inline(always)]
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

    /// The index of the first of `lanes` equal to `lane`. O(n), four or eight per step.
    #[inline(always)]
    pub(super) fn position(self, lanes: &[i64], lane: i64) -> Option<usize> {
        match self {
            Self::Scalar => lanes.iter().position(|other| *other == lane),
            // SAFETY: `detect` found the feature.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::position_avx2(lanes, lane) },
            // SAFETY: `detect` found the feature.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { x86::position_avx512(lanes, lane) },
        }
    }

    /// The sum of the `weights` whose lane is below `bound`. O(n), four or eight per step.
    ///
    /// # Panics
    /// If there are fewer weights than lanes.
    #[inline(always)]
    pub(super) fn weigh_below(self, lanes: &[i64], weights: &[i64], bound: i64) -> i64 {
        let weights = &weights[..lanes.len()];
        match self {
            Self::Scalar => {
                lanes.iter().zip(weights).map(|(lane, weight)| if *lane < bound { *weight } else { 0 }).sum()
            }
            // SAFETY: `detect` found the feature, and there is one weight per lane.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::weigh_below_avx2(lanes, weights, bound) },
            // SAFETY: `detect` found the feature, and there is one weight per lane.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { x86::weigh_below_avx512(lanes, weights, bound) },
        }
    }

    /// Writes `lane` at index `at` of row `row`.
    ///
    /// Writes a whole vector, because reading a vector soon after a partial write would stall.
    ///
    /// # Panics
    /// If the row does not exist.
    #[inline(always)]
    pub(super) fn replace(self, rows: &mut [Row], row: usize, at: usize, lane: i64) {
        match self {
            Self::Scalar => rows[row].0[at % 8] = lane,
            // SAFETY: `detect` found the feature.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::replace_avx2(rows, row, at, lane) },
            // SAFETY: `detect` found the feature.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { x86::replace_avx512(rows, row, at, lane) },
        }
    }

    /// The number of lanes of `rows` below `bound`.
    #[inline(always)]
    pub(super) fn count_rows(self, rows: &[Row], bound: i64) -> usize {
        match self {
            Self::Scalar => rows.iter().flat_map(|row| &row.0).map(|lane| usize::from(*lane < bound)).sum(),
            // SAFETY: `detect` found the feature.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { x86::count_rows_avx2(rows, bound) },
            // SAFETY: `detect` found the feature.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { x86::count_rows_avx512(rows, bound) },
        }
    }
}

/// Compiles `$body` once per kind of vectors and runs the version for `$lanes`, so that the methods of [`Lanes`] become
/// plain instructions. The body can use `$known`, a constant for the compiler, and its arguments, but no other names.
macro_rules! in_lanes {
    ($lanes:expr, ($known:ident $(, $argument:ident: $type:ty = $value:expr)* $(,)?) -> $result:ty $body:block) => {{
        use $crate::lanes::Lanes;
        #[inline(always)]
        fn compiled($known: Lanes $(, $argument: $type)*) -> $result $body
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,popcnt")]
        fn compiled_avx2($($argument: $type),*) -> $result {
            compiled(Lanes::Avx2 $(, $argument)*)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,popcnt")]
        fn compiled_avx512($($argument: $type),*) -> $result {
            compiled(Lanes::Avx512 $(, $argument)*)
        }
        match $lanes {
            Lanes::Scalar => compiled(Lanes::Scalar $(, $value)*),
            // SAFETY: `detect` found the feature.
            #[cfg(target_arch = "x86_64")]
            Lanes::Avx2 => unsafe { compiled_avx2($($value),*) },
            // SAFETY: `detect` found the feature.
            #[cfg(target_arch = "x86_64")]
            Lanes::Avx512 => unsafe { compiled_avx512($($value),*) },
        }
    }};
}
pub(super) use in_lanes;

/// Writes a lane at an index of one of the rows, then counts the lanes of all rows below a bound.
///
/// # Safety
/// The processor must support the vectors for which [`Lanes::step`] chose the function.
pub(super) type Step = unsafe fn(rows: &mut [Row], row: usize, at: usize, lane: i64, bound: i64) -> usize;

impl Lanes {
    /// The [`Step`] for `rows` rows. Few rows use half-wide vectors even if wide ones exist: wide vectors lower the
    /// clock of all other code, and few rows do not compensate for that.
    pub(super) fn step(self, rows: usize) -> Step {
        match (self, rows) {
            (Self::Scalar, _) => |rows, row, at, lane, bound| {
                Self::Scalar.replace(rows, row, at, lane);
                Self::Scalar.count_rows(rows, bound)
            },
            #[cfg(target_arch = "x86_64")]
            (Self::Avx2, _) | (Self::Avx512, 0..=4) => x86::step_avx2,
            #[cfg(target_arch = "x86_64")]
            (Self::Avx512, _) => x86::step_avx512,
        }
    }
}

/// Eight lanes in one cache line, the size of one wide vector.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Row(pub(super) [i64; 8]);

#[cfg(target_arch = "x86_64")]
mod x86 {
    #[cfg(not(miri))]
    use super::Lanes;
    use super::Row;
    #[cfg(not(miri))]
    use core::arch::asm;
    use core::arch::x86_64::*;

    /// The register states that the operating system saves, from XCR0.
    #[cfg(not(miri))]
    #[target_feature(enable = "xsave")]
    fn saved_by_system() -> u64 {
        // SAFETY: the caller checked OSXSAVE, so register 0 is readable.
        unsafe { _xgetbv(0) }
    }

    /// Reads the first part of a CPUID leaf.
    #[cfg(not(miri))]
    #[allow(unused_unsafe, reason = "the function is safe in later versions of Rust than the oldest that is supported")]
    fn cpuid(leaf: u32) -> CpuidResult {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { __cpuid_count(leaf, 0) }
    }

    #[cfg(not(miri))]
    pub(super) fn ask() -> Lanes {
        const OSXSAVE: u32 = 1 << 27; // leaf 1, ecx
        const POPCNT: u32 = 1 << 23; // leaf 1, ecx
        const AVX2: u32 = 1 << 5; // leaf 7, ebx
        const AVX512F: u32 = 1 << 16; // leaf 7, ebx
        const YMM: u64 = 0b110; // XCR0: xmm and ymm state
        const ZMM: u64 = 0b1110_0110; // and mask, upper and high zmm state
        if cpuid(0).eax < 7 {
            return Lanes::Scalar;
        }
        let (basic, extended) = (cpuid(1).ecx, cpuid(7).ebx);
        if basic & (OSXSAVE | POPCNT) != OSXSAVE | POPCNT {
            return Lanes::Scalar;
        }
        // SAFETY: OSXSAVE implies XSAVE.
        let saved = unsafe { saved_by_system() };
        if extended & (AVX512F | AVX2) == AVX512F | AVX2 && saved & ZMM == ZMM {
            Lanes::Avx512
        } else if extended & AVX2 != 0 && saved & YMM == YMM {
            Lanes::Avx2
        } else {
            Lanes::Scalar
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn count_below_avx2(lanes: &[i64], bound: i64) -> usize {
        let (rows, rest) = lanes.as_chunks::<4>();
        let mut count = 0;
        for row in rows {
            count += below_avx2(row, bound).count_ones() as usize;
        }
        for lane in rest {
            count += usize::from(*lane < bound);
        }
        count
    }

    /// A mask with one bit per lane, set if the lane is below `bound`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn below_avx2(row: &[i64; 4], bound: i64) -> u32 {
        // SAFETY: the row holds four lanes; the load needs no alignment.
        let row = unsafe { _mm256_loadu_si256(row.as_ptr().cast()) };
        _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(_mm256_set1_epi64x(bound), row))) as u32
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn position_avx2(lanes: &[i64], lane: i64) -> Option<usize> {
        let wide = _mm256_set1_epi64x(lane);
        let (rows, rest) = lanes.as_chunks::<4>();
        for (index, row) in rows.iter().enumerate() {
            // SAFETY: the row holds four lanes; the load needs no alignment.
            let row = unsafe { _mm256_loadu_si256(row.as_ptr().cast()) };
            let equal = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(wide, row)));
            if equal != 0 {
                return Some(4 * index + equal.trailing_zeros() as usize);
            }
        }
        rest.iter().position(|other| *other == lane).map(|at| 4 * rows.len() + at)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn weigh_below_avx2(lanes: &[i64], weights: &[i64], bound: i64) -> i64 {
        let wide = _mm256_set1_epi64x(bound);
        let (rows, rest) = lanes.as_chunks::<4>();
        let (weight_rows, weight_rest) = weights.as_chunks::<4>();
        let mut sum = _mm256_setzero_si256();
        for (row, weights) in rows.iter().zip(weight_rows) {
            // SAFETY: rows hold four lanes; the loads need no alignment.
            let (row, weights) =
                unsafe { (_mm256_loadu_si256(row.as_ptr().cast()), _mm256_loadu_si256(weights.as_ptr().cast())) };
            sum = _mm256_add_epi64(sum, _mm256_and_si256(_mm256_cmpgt_epi64(wide, row), weights));
        }
        let mut parts = [0i64; 4];
        // SAFETY: `parts` holds four lanes; the store needs no alignment.
        unsafe { _mm256_storeu_si256(parts.as_mut_ptr().cast(), sum) };
        let tail: i64 =
            rest.iter().zip(weight_rest).map(|(lane, weight)| if *lane < bound { *weight } else { 0 }).sum();
        parts.iter().sum::<i64>() + tail
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn replace_avx2(rows: &mut [Row], row: usize, at: usize, lane: i64) {
        let half = &mut rows[row].0.as_chunks_mut::<4>().0[at / 4 % 2];
        let place = _mm256_cmpeq_epi64(_mm256_setr_epi64x(0, 1, 2, 3), _mm256_set1_epi64x((at % 4) as i64));
        // SAFETY: the half holds four lanes; load and store need no alignment.
        unsafe {
            let old = _mm256_loadu_si256(half.as_ptr().cast());
            let new = _mm256_blendv_epi8(old, _mm256_set1_epi64x(lane), place);
            _mm256_storeu_si256(half.as_mut_ptr().cast(), new);
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn count_rows_avx2(rows: &[Row], bound: i64) -> usize {
        let wide = _mm256_set1_epi64x(bound);
        let [mut low, mut high] = [_mm256_setzero_si256(); 2];
        for row in rows {
            let row = row.0.as_ptr().cast::<__m256i>();
            // A true comparison is -1.
            // SAFETY: the row holds two aligned vectors.
            unsafe {
                low = _mm256_sub_epi64(low, _mm256_cmpgt_epi64(wide, _mm256_load_si256(row)));
                high = _mm256_sub_epi64(high, _mm256_cmpgt_epi64(wide, _mm256_load_si256(row.add(1))));
            }
        }
        let four = _mm256_add_epi64(low, high);
        let two = _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256::<1>(four));
        _mm_cvtsi128_si64(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two))) as usize
    }

    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn step_avx2(rows: &mut [Row], row: usize, at: usize, lane: i64, bound: i64) -> usize {
        replace_avx2(rows, row, at, lane);
        count_rows_avx2(rows, bound)
    }

    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) fn step_avx512(rows: &mut [Row], row: usize, at: usize, lane: i64, bound: i64) -> usize {
        replace_avx512(rows, row, at, lane);
        count_rows_avx512(rows, bound)
    }

    #[inline]
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

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn position_avx512(lanes: &[i64], lane: i64) -> Option<usize> {
        let wide = _mm512_set1_epi64(lane);
        let (rows, rest) = lanes.as_chunks::<8>();
        for (index, row) in rows.iter().enumerate() {
            // SAFETY: the row holds eight lanes; the load needs no alignment.
            let equal = _mm512_cmpeq_epi64_mask(unsafe { _mm512_loadu_epi64(row.as_ptr()) }, wide);
            if equal != 0 {
                return Some(8 * index + equal.trailing_zeros() as usize);
            }
        }
        rest.iter().position(|other| *other == lane).map(|at| 8 * rows.len() + at)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn weigh_below_avx512(lanes: &[i64], weights: &[i64], bound: i64) -> i64 {
        let wide = _mm512_set1_epi64(bound);
        let (rows, rest) = lanes.as_chunks::<8>();
        let (weight_rows, weight_rest) = weights.as_chunks::<8>();
        let mut sum = _mm512_setzero_si512();
        for (row, weights) in rows.iter().zip(weight_rows) {
            // SAFETY: rows hold eight lanes; the loads need no alignment.
            let (row, weights) = unsafe { (_mm512_loadu_epi64(row.as_ptr()), _mm512_loadu_epi64(weights.as_ptr())) };
            sum = _mm512_mask_add_epi64(sum, _mm512_cmplt_epi64_mask(row, wide), sum, weights);
        }
        let tail: i64 =
            rest.iter().zip(weight_rest).map(|(lane, weight)| if *lane < bound { *weight } else { 0 }).sum();
        _mm512_reduce_add_epi64(sum) + tail
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn replace_avx512(rows: &mut [Row], row: usize, at: usize, lane: i64) {
        let row = &mut rows[row].0;
        // SAFETY: the row holds eight lanes and is one aligned cache line.
        unsafe {
            let old = _mm512_load_epi64(row.as_ptr());
            #[cfg_attr(miri, expect(unused_mut, reason = "Miri runs no assembly"))]
            let mut new = _mm512_mask_set1_epi64(old, 1 << (at % 8), lane);
            // The compiler would turn this into a masked store, after which the next read of the row stalls.
            #[cfg(not(miri))]
            asm!("/* {0} */", inout(zmm_reg) new, options(pure, nomem, nostack, preserves_flags));
            _mm512_store_epi64(row.as_mut_ptr(), new);
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,popcnt")]
    pub(super) fn count_rows_avx512(rows: &[Row], bound: i64) -> usize {
        let wide = _mm512_set1_epi64(bound);
        let mut count = 0;
        for row in rows {
            // SAFETY: the row holds eight lanes and is one aligned cache line.
            let row = unsafe { _mm512_load_epi64(row.0.as_ptr()) };
            count += _mm512_cmplt_epi64_mask(row, wide).count_ones() as usize;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// All widths that this machine supports.
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
                let weights: Vec<i64> = (1..=len as i64).collect();
                let weighed =
                    |bound| lanes.iter().zip(&weights).filter(|(lane, _)| **lane < bound).map(|(_, w)| *w).sum::<i64>();
                for width in widths() {
                    assert_eq!(width.count_below(&lanes, bound), below, "{width:?}");
                    assert_eq!(width.count_below(&lanes, bound + 1), up_to, "{width:?}");
                    assert_eq!(width.weigh_below(&lanes, &weights, bound), weighed(bound), "{width:?}");
                    let first = lanes.iter().position(|lane| *lane == bound);
                    assert_eq!(width.position(&lanes, bound), first, "{width:?}");
                }
            }
        }
    }

    #[test]
    fn every_width_replaces_one_lane_and_counts_the_row_anew() {
        for width in widths() {
            for (row, at) in (0..5).flat_map(|row| (0..8).map(move |at| (row, at))) {
                let mut rows = [Row([FILLER; 8]); 5];
                // SAFETY: the machine supports this width.
                let counted = unsafe { width.step(rows.len())(&mut rows, row, at, 5, 6) };
                assert_eq!(counted, 1, "{width:?}");
                let mut expected = [[FILLER; 8]; 5];
                expected[row][at] = 5;
                assert_eq!(rows.map(|row| row.0), expected, "{width:?}");
                assert_eq!(width.count_rows(&rows, 5), 0, "{width:?}");
                width.replace(&mut rows, row, at, 4);
                assert_eq!(width.count_rows(&rows, 5), 1, "{width:?}");
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
