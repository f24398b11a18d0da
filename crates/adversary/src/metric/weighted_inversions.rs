//! WI: inversions weighted by the priority of the packet that waits, the second metric of PACKS (NSDI 2025), appendix B.

use super::{Metric, Ranks};

/// The sum, over sent packets, of R - r for each packet of a higher rank that was sent while the packet waited.
pub struct WeightedInversions;

impl Metric for WeightedInversions {
    fn name(&self) -> &'static str {
        "WI"
    }

    fn summary(&self) -> &'static str {
        "The sum over sent packets of R - r for each packet of a higher rank that was sent while it waited"
    }

    fn overtake_price(&self, first: u64, later: u64, ranks: &Ranks) -> i64 {
        if first > later { ranks.weight(later) } else { 0 }
    }
}
