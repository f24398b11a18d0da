//! Mean rank-weighted delay.

use super::{Amount, Metric, Ranks};

/// The mean over sent packets of R - r times the number of packets sent while the packet waited.
pub struct WeightedDelay;

impl Metric for WeightedDelay {
    fn name(&self) -> &'static str {
        "delay"
    }

    fn summary(&self) -> &'static str {
        "The mean over sent packets of R - r times the packets sent between its arrival and its departure"
    }

    fn overtake_price(&self, _first: u64, later: u64, ranks: &Ranks) -> i64 {
        ranks.weight(later)
    }

    fn is_additive(&self) -> bool {
        false
    }

    /// At most k packets left while the packet with k earlier departures waited.
    fn range(&self, _packets: usize, sent: usize, ranks: &Ranks) -> (Amount, Amount) {
        (Amount::ZERO, Amount::new(ranks.weight(ranks.lowest).saturating_mul(sent.saturating_sub(1) as i64), 2))
    }

    fn finish(&self, sum: i64, sent: u64) -> Amount {
        if sent == 0 { Amount::ZERO } else { Amount::new(sum, sent as i64) }
    }
}
