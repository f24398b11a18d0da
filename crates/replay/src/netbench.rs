//! The arithmetic of the published simulations, all of them forks of Netbench: k and 1 - k are 32-bit floating point, the rest
//! is 64-bit.

use pifolab_units::Ratio;

/// k as they hold it.
fn narrow(k: Ratio) -> f32 {
    (k.numerator() as f64 / k.denominator() as f64) as f32
}

/// The largest occupancy of at most kB, a 64-bit product.
pub(crate) fn guaranteed(k: Ratio, capacity: u64) -> u64 {
    // An integer is at most a product if it is at most the floor.
    (f64::from(narrow(k)) * capacity as f64) as u64
}

/// The test of AIFO and PACKS: whether a quantile is at most, or below, the free share over 1 - k.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NetbenchTest {
    /// 1 / (1 - k).
    scale: f64,
    /// Whether the quantile must be below.
    below: bool,
}

impl NetbenchTest {
    pub(crate) fn new(k: Ratio, below: bool) -> Self {
        Self::with_narrow(narrow(k), below)
    }

    /// The same for a k that is 32-bit already.
    pub(crate) fn with_narrow(k: f32, below: bool) -> Self {
        Self { scale: 1.0 / f64::from(1.0 - k), below }
    }

    /// Whether `count` of `held` ranks pass where `free` of `total` packets or bytes are free, of which `share` counts: (i + 1) / n
    /// for queue i where only the whole buffer is known, else 1.
    #[inline(always)]
    pub(crate) fn passes(self, (count, held): (u64, u64), share: f64, free: u64, total: u64) -> bool {
        // In this order: 1 / (1 - k) * ((i + 1) * (1 / n)) * (C - c) / C * |W|.
        let threshold = self.scale * share * free as f64 / total as f64 * held as f64;
        if self.below { (count as f64) < threshold } else { count as f64 <= threshold }
    }
}
