//! Shared by AIFO and PACKS: the quantile of a rank in a sliding window, and its exact comparison with the free space.

use super::headroom::Headroom;
use crate::params::{self, Args, Kind, Param, ParamError, choices};
use crate::{Kept, Register};
use alloc::vec::Vec;
use core::cmp::Ordering;
use pifolab_simd::{RankWindow, Window};
use pifolab_units::{Rank, Ratio};

choices! {
    /// The definition of a packet's quantile: which ranks of the window it counts.
    #[derive(Default)]
    pub enum Quantile {
        /// The lowest rank always has quantile 0. PACKS Theorem 3 and Claim 1 need this definition.
        #[default]
        Lower = "lt": "the share of ranks strictly lower than the packet's",
        LowerOrEqual = "le": "the share of ranks lower than the packet's or equal to it",
    }
}

choices! {
    /// Whether an arriving rank enters the window before or after its quantile is taken.
    #[derive(Default)]
    pub enum Update {
        #[default]
        Before = "before": "the rank enters the window, then its quantile is taken (Algorithm 1)",
        After = "after": "the quantile is taken first (AIFO's published simulation)",
    }
}

/// Which packets enter the window: 1, s + 1, 2s + 1, ...
#[derive(Clone, Copy, Debug)]
struct Sampling {
    every: u32,
    /// Packets until the next one that enters.
    left: u32,
}

impl Sampling {
    /// One packet in `every`, beginning with the first.
    ///
    /// # Errors
    /// If `every` is 0.
    fn new(owner: &str, every: u32) -> Result<Self, ParamError> {
        SAMPLE.check(owner, every)?;
        Ok(Self { every, left: 0 })
    }

    /// Whether the packet that arrives now enters the window.
    #[inline]
    fn takes_next(&mut self) -> bool {
        let taken = self.left == 0;
        self.left = if taken { self.every } else { self.left } - 1;
        taken
    }

    /// Whether every packet enters.
    const fn takes_all(&self) -> bool {
        self.every == 1
    }
}

/// The options of a window.
pub struct WindowOptions<'a> {
    /// |W|.
    pub size: u32,
    /// Added to every rank that it holds.
    pub shift: i64,
    /// Which ranks the quantile counts.
    pub quantile: Quantile,
    /// When a rank enters the window.
    pub update: Update,
    /// One packet in this many enters.
    pub sample: u32,
    /// The ranks that it holds at first, oldest first.
    pub start: &'a [Rank],
}

/// The sliding window, with its sampling and its definition of quantiles.
#[derive(Debug)]
pub struct SlidingWindow {
    window: RankWindow,
    size: usize,
    quantile: Quantile,
    update: Update,
    sampling: Sampling,
}

clone_by_field!(SlidingWindow { window, size, quantile, update, sampling });

impl SlidingWindow {
    /// The window that the options of `owner` describe.
    ///
    /// # Errors
    /// A size out of range, more ranks than it holds, or a sample of none.
    pub fn new(owner: &str, options: WindowOptions<'_>) -> Result<Self, ParamError> {
        let WindowOptions { size, shift, quantile, update, sample, start } = options;
        WINDOW.check(owner, size)?;
        if start.len() > size as usize {
            let written = alloc::format!("a list of {}", start.len());
            let expected = alloc::format!("expected at most {size} ranks, since window = {size}");
            return Err(START_WINDOW.error_because(owner, written, expected));
        }
        let mut window = RankWindow::new(size as usize).shifted_by(shift);
        for rank in start {
            window.push(*rank);
        }
        Ok(Self { window, size: size as usize, quantile, update, sampling: Sampling::new(owner, sample)? })
    }

    /// Takes in a rank.
    #[inline(always)]
    pub fn push(&mut self, rank: Rank) {
        self.window.push(rank);
    }

    /// Takes in `rank`, then returns its [`quantile`](Self::quantile).
    #[inline(always)]
    pub fn push_and_quantile(&mut self, rank: Rank) -> RankQuantile {
        let count = self.window.push_and_count_below(rank, self.bound(rank));
        // The window holds at least this rank.
        RankQuantile { count: count as u64, held: self.window.len() as u64 }
    }

    /// Whether every rank enters before its quantile is taken, as in [`push_and_quantile`](Self::push_and_quantile).
    pub fn enters_first(&self) -> bool {
        self.sampling.takes_all() && self.update == Update::Before
    }

    /// Whether ranks enter after their quantiles are taken.
    pub fn enters_last(&self) -> bool {
        self.update == Update::After
    }

    /// Takes in a rank if it is its turn.
    #[inline(always)]
    pub fn sample(&mut self, rank: Rank) {
        if self.sampling.takes_next() {
            self.push(rank);
        }
    }

    /// W.update(r) and W.quantile(r): takes in the rank if it is its turn, and returns its quantile, computed before or
    /// after that as `update` requires.
    #[inline(always)]
    pub fn take_in(&mut self, rank: Rank) -> RankQuantile {
        match self.update {
            _ if !self.sampling.takes_next() => self.quantile(rank),
            Update::Before => self.push_and_quantile(rank),
            Update::After => {
                let quantile = self.quantile(rank);
                self.push(rank);
                quantile
            }
        }
    }

    /// The quantile of `rank`. An empty window gives 0/1.
    #[inline(always)]
    pub fn quantile(&self, rank: Rank) -> RankQuantile {
        RankQuantile { count: self.window.count_below(self.bound(rank)) as u64, held: self.held() }
    }

    /// The highest quantile that a rank can have once it has entered the window. A full window has the highest.
    pub fn highest_quantile(&self) -> RankQuantile {
        let held = self.size as u64;
        RankQuantile { count: held - u64::from(self.quantile == Quantile::Lower), held }
    }

    /// The bound below which ranks count.
    #[inline(always)]
    fn bound(&self, rank: Rank) -> u64 {
        rank.get() + u64::from(self.quantile == Quantile::LowerOrEqual)
    }

    /// The denominator of quantiles.
    #[inline(always)]
    pub fn held(&self) -> u64 {
        self.window.len().max(1) as u64
    }

    /// The largest rank up to `highest` for which at most `count` ranks count; -1 if there is none.
    pub fn largest_rank_with(&self, count: u64, highest: Rank) -> i64 {
        let place = self.window.at_place(usize::try_from(count).unwrap_or(usize::MAX));
        let rank = match (place, self.quantile) {
            (None, _) => i128::from(highest.get()),
            (Some(rank), Quantile::Lower) => rank,
            (Some(rank), Quantile::LowerOrEqual) => rank - 1,
        };
        rank.clamp(-1, i128::from(highest.get())) as i64
    }
}

impl Register for SlidingWindow {
    /// Calls `visit` with the ranks held, oldest first.
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        self.window.iter().for_each(visit);
    }

    /// What the window keeps in memory.
    fn kept(&self) -> Kept {
        Kept { window_ranks: self.size, ..Kept::bytes(RankWindow::bytes_of_index(self.size)) }
    }

    /// The number of ranks held, then the ranks, oldest first; then the packets until the next one that enters the
    /// window. If the next rank enters before a quantile is taken, the oldest rank of a full window will leave before
    /// any quantile counts it, and is left out.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        visit(self.window.len() as i64);
        let leaving = usize::from(self.enters_first() && self.window.len() == self.size);
        self.window.iter().skip(leaving).for_each(|rank| visit(rank.signed()));
        visit(self.sampling.left.into());
    }

    /// Keeps the newest ranks for which it has places.
    fn resume(&mut self, window: &[Rank], _state: &[i64]) {
        self.window = self.window.emptied();
        window[window.len().saturating_sub(self.size)..].iter().for_each(|rank| self.window.push(*rank));
    }
}

/// The highest rank seen, where the search for bounds ends. No decision depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Highest(Rank);

impl Highest {
    /// The highest of these ranks; 0 if there are none.
    pub(super) fn of(ranks: &[Rank]) -> Self {
        Self(ranks.iter().copied().max().unwrap_or(Rank::ZERO))
    }

    /// Updates it with a rank.
    #[inline(always)]
    pub(super) fn note(&mut self, rank: Rank) {
        self.0 = self.0.max(rank);
    }

    /// The rank.
    pub(super) const fn get(self) -> Rank {
        self.0
    }
}

impl Register for Highest {
    fn visit_state(&self, _visit: &mut dyn FnMut(i64)) {}

    fn resume(&mut self, window: &[Rank], _state: &[i64]) {
        window.iter().for_each(|rank| self.note(*rank));
    }
}

/// W.quantile(r): `count` of the `held` ranks of a window, at least one. Comparison with a [`Limit`] is exact: both
/// sides are multiplied out to integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankQuantile {
    /// The ranks that count.
    pub count: u64,
    /// The ranks held.
    pub held: u64,
}

/// The share 1 / (1 - k) * free / total * part / parts of a [`Threshold`], with which quantiles are compared.
#[derive(Clone, Copy, Debug)]
pub struct Limit<'a> {
    threshold: &'a Threshold,
    /// free * part; below 0 where more is queued than the total.
    free_parts: i64,
}

impl PartialEq<Limit<'_>> for RankQuantile {
    #[inline(always)]
    fn eq(&self, limit: &Limit<'_>) -> bool {
        self.partial_cmp(limit) == Some(Ordering::Equal)
    }
}

impl PartialOrd<Limit<'_>> for RankQuantile {
    #[inline(always)]
    fn partial_cmp(&self, Limit { threshold, free_parts }: &Limit<'_>) -> Option<Ordering> {
        let Threshold { weight, scale, small, below } = **threshold;
        Some(if small {
            let weighed = (self.count * weight as u64) as i64 + i64::from(below);
            weighed.cmp(&(free_parts * (self.held * scale) as i64))
        } else {
            let weighed = (u128::from(self.count) * weight) as i128 + i128::from(below);
            weighed.cmp(&(i128::from(*free_parts) * i128::from(self.held * scale)))
        })
    }
}

/// The common part of all [`Limit`]s of a buffer: 1 / (1 - k), the total and the parts, as integers.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// total * parts * (denominator - numerator of k): the weight of one counted rank.
    weight: u128,
    /// The denominator of k.
    scale: u64,
    /// Whether all products fit in 63 bits.
    small: bool,
    /// Whether limits lie below the share, by less than quantiles differ.
    below: bool,
}

impl Threshold {
    /// The threshold of headroom `k`, a buffer of `total` packets or bytes divided into `parts`, and quantiles over at
    /// most `window` ranks.
    pub fn new(k: Ratio, total: u64, parts: u64, window: u32) -> Self {
        let headroom = Headroom::new(k, total);
        let whole = u128::from(total) * u128::from(parts);
        // No product exceeds window * total * parts * denominator: at most 2^24 * 2^50 * 2^10 * 2^32 = 2^116.
        let largest = u128::from(window) * (whole + 1) * u128::from(k.denominator());
        Self {
            weight: headroom.sheltered() * u128::from(parts),
            scale: headroom.scale(),
            small: largest <= i64::MAX as u128,
            below: false,
        }
    }

    /// The same, but a quantile that is exactly the share lies above the limit.
    #[must_use]
    pub const fn strictly(self) -> Self {
        Self { below: true, ..self }
    }

    /// The limit with `free_parts = free * part`.
    #[inline(always)]
    pub const fn limit(&self, free_parts: i64) -> Limit<'_> {
        Limit { threshold: self, free_parts }
    }

    /// The least `free_parts` whose limit the quantile does not exceed. At most the total times the parts, and one more where
    /// limits lie below.
    #[inline(always)]
    pub fn least(&self, RankQuantile { count, held }: RankQuantile) -> u64 {
        let unit = held * self.scale;
        if self.small {
            (count * self.weight as u64 + u64::from(self.below)).div_ceil(unit)
        } else {
            (u128::from(count) * self.weight + u128::from(self.below)).div_ceil(u128::from(unit)) as u64
        }
    }

    /// The largest count whose quantile does not exceed the limit, if there is one.
    pub(super) fn largest_count(&self, held: u64, free_parts: u64) -> Option<u64> {
        let product = u128::from(free_parts) * u128::from(held * self.scale);
        let count = product.checked_sub(u128::from(self.below))? / self.weight;
        Some(u64::try_from(count).unwrap_or(u64::MAX))
    }
}

/// `window`; each scheduler gives the row its own default.
pub(super) const WINDOW: Param =
    Param::integer("window", 1, 1 << 24).unit("ranks").doc("How many recent ranks the quantile is taken over.");

pub(super) const K: Param = Param::new("k", Kind::Fraction).doc(
    "The headroom: the share of the buffer up to which every rank is admitted, so that bursts pass. Taken exactly \
          as written: 0.1 is 1/10.",
);

pub(super) const QUANTILE: Param = Param::choice::<Quantile>("quantile").or_word(Quantile::Lower.word()).doc(
    "What the quantile of a rank is. The hardware text counts registers that the rank is lower than; that would drop \
          the lowest rank first and cannot be meant.",
);

pub(super) const UPDATE: Param = Param::choice::<Update>("update")
    .or_word(Update::Before.word())
    .doc("Whether an arriving rank enters the window before or after its quantile is taken.");

pub(super) const SAMPLE: Param = Param::integer("sample", 1, u32::MAX as u64).unit("packets").or_integer(1).doc(
    "One packet in this many enters the window, beginning with the first: a small window then spans more time \
     (AIFO section 4.4).",
);

pub(super) const START_WINDOW: Param = Param::integers("start_window", 0, params::MAX_RANK)
    .unit("ranks")
    .means("the window starts empty and divides by the ranks that it holds")
    .doc(
        "Ranks that the window holds before the first packet, oldest first. A switch whose registers start at 0 has a \
          list of zeros.",
    );

/// Reads [`QUANTILE`].
pub(super) fn read_quantile(args: &mut Args) -> Result<Quantile, ParamError> {
    args.given(&QUANTILE)
}

/// Reads [`UPDATE`].
pub(super) fn read_update(args: &mut Args) -> Result<Update, ParamError> {
    args.given(&UPDATE)
}

/// Reads [`START_WINDOW`].
pub(super) fn read_start_window(args: &mut Args) -> Result<Vec<Rank>, ParamError> {
    let rank = |rank| Rank::new(rank).expect("the table's range fits");
    Ok(args.get::<Vec<u64>>(&START_WINDOW)?.unwrap_or_default().into_iter().map(rank).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(pifolab_testkit::cases(256))]

        #[test]
        fn narrow_and_wide_arithmetic_agree_at_the_edge(
            denominator in 1u64..=u64::from(u32::MAX),
            k in 0u64..1000,
            total in 1u64..1 << 20,
            window in 1u32..1 << 12,
            part in 1u64..=8,
            draw in any::<(u64, u64)>(),
        ) {
            let k = Ratio::new(k % denominator, denominator).unwrap();
            let admission = Threshold::new(k, total, 8, window);
            let wide = Threshold { small: false, ..admission };
            let held = draw.0 % u64::from(window) + 1;
            let free_parts = draw.1 % (total + 1) * part;
            for (admission, wide) in [(admission, wide), (admission.strictly(), wide.strictly())] {
                let passes = |quantile: RankQuantile, free_parts: u64| quantile <= admission.limit(free_parts as i64);
                let edge = admission.largest_count(held, free_parts).map(|edge| edge.min(held));
                for count in edge.unwrap_or(0).saturating_sub(1)..=edge.map_or(0, |edge| (edge + 1).min(held)) {
                    let quantile = RankQuantile { count, held };
                    for free_parts in [free_parts as i64, -(free_parts as i64)] {
                        let [narrow, wide] = [admission, wide].map(|threshold| quantile.partial_cmp(&threshold.limit(free_parts)));
                        prop_assert_eq!(narrow, wide);
                    }
                    prop_assert_eq!(passes(quantile, free_parts), edge.is_some_and(|edge| count <= edge));
                    let least = admission.least(quantile);
                    prop_assert_eq!(least, wide.least(quantile));
                    prop_assert!(passes(quantile, least));
                    prop_assert!(least == 0 || !passes(quantile, least - 1));
                }
            }
        }
    }

    #[test]
    fn seven_tenths_is_exact() {
        // (1 / (1 - 7/10)) * 3/20 = 1/2: ten ranks of twenty pass, which a floating-point k would not guarantee.
        let admission = Threshold::new("0.7".parse().unwrap(), 20, 1, 20);
        let [ten, eleven] = [10, 11].map(|count| RankQuantile { count, held: 20 });
        assert!(ten == admission.limit(3) && eleven > admission.limit(3));
        assert!(ten > admission.strictly().limit(3));
    }
}
