//! Plain inversions of the lowest m ranks.

use super::{Metric, Ranks};

/// The sum, over sent packets of the m lowest ranks, of the packets of a higher rank that were sent while the packet
/// waited.
pub struct LowestInversions;

impl Metric for LowestInversions {
    fn name(&self) -> &'static str {
        "inversions"
    }

    fn summary(&self) -> &'static str {
        "For each sent packet of the m lowest ranks, the packets of a higher rank that were sent while it waited"
    }

    fn overtake_price(&self, first: u64, later: u64, ranks: &Ranks) -> i64 {
        i64::from(first > later && ranks.is_counted(later))
    }
}
