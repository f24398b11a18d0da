//! The arithmetic of the published simulations, which are forks of Netbench: k and 1 - k are 32-bit floating point, the
//! rest is 64-bit.

use pifolab_sched::schedulers::RankQuantile;
use pifolab_units::Ratio;

/// Converts k to the forks' 32-bit format.
fn narrow(k: Ratio) -> f32 {
    (k.numerator() as f64 / k.denominator() as f64) as f32
}

/// The largest occupancy of at most kB, computed as a 64-bit product.
pub(crate) fn guaranteed(k: Ratio, capacity: u64) -> u64 {
    // An integer is at most a product exactly if it is at most the product's floor.
    (f64::from(narrow(k)) * capacity as f64) as u64
}

/// The test of AIFO and PACKS: whether a quantile is at most, or below, the free share over 1 - k.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NetbenchTest {
    /// 1 / (1 - k).
    scale: f64,
    /// Whether the quantile must be below the threshold.
    below: bool,
}

impl NetbenchTest {
    pub(crate) fn new(k: Ratio, below: bool) -> Self {
        Self::with_narrow(narrow(k), below)
    }

    /// Creates the test for a k that is already 32-bit.
    pub(crate) fn with_narrow(k: f32, below: bool) -> Self {
        Self { scale: 1.0 / f64::from(1.0 - k), below }
    }

    /// Whether a rank passes for which `count` of `held` ranks in the window are lower, with `free` of `total` packets
    /// or bytes free. `share` multiplies the free space: (i + 1) / n for queue i if the test uses the whole buffer,
    /// else 1.
    #[inline(always)]
    pub(crate) fn passes(self, RankQuantile { count, held }: RankQuantile, share: f64, free: u64, total: u64) -> bool {
        // The factors in this order: 1 / (1 - k) * ((i + 1) * (1 / n)) * (C - c) / C * |W|.
        let threshold = self.scale * share * free as f64 / total as f64 * held as f64;
        if self.below { (count as f64) < threshold } else { count as f64 <= threshold }
    }
}
