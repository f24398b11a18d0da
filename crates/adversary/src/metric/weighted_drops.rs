//! WD: drops weighted by priority, the first metric of PACKS (NSDI 2025), appendix B.

use super::{Metric, Ranks};

/// The sum over dropped packets of R - r.
pub struct WeightedDrops;

impl Metric for WeightedDrops {
    fn name(&self) -> &'static str {
        "WD"
    }

    fn summary(&self) -> &'static str {
        "The sum over dropped packets of R - r (refused, pushed out, or given up at dequeue)"
    }

    fn drop_price(&self, rank: u64, ranks: &Ranks) -> i64 {
        ranks.weight(rank)
    }
}
