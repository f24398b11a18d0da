//! Drops of the lowest m ranks.

use super::{Metric, Ranks};

/// The number of dropped packets of the m lowest ranks.
pub struct LowestDrops;

impl Metric for LowestDrops {
    fn name(&self) -> &'static str {
        "drops"
    }

    fn summary(&self) -> &'static str {
        "The dropped packets of the m lowest ranks"
    }

    fn drop_price(&self, rank: u64, ranks: &Ranks) -> i64 {
        i64::from(ranks.is_counted(rank))
    }
}
