//! The trait of metrics: prices of drops and of overtaking, and the values that follow from them.

use super::amount::Amount;
use crate::outcome::{Fate, Outcome};

/// The ranks of packets, and the number of the lowest ranks that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// The lowest rank.
    pub lowest: u64,
    /// R, the highest rank.
    pub highest: u64,
    /// m, the number of ranks from `lowest` that the metrics of the lowest ranks use.
    pub counted: u64,
}

impl Ranks {
    /// R - r.
    pub fn weight(&self, rank: u64) -> i64 {
        self.highest.saturating_sub(rank) as i64
    }

    /// Whether `rank` is one of the m lowest.
    pub fn is_counted(&self, rank: u64) -> bool {
        rank.saturating_sub(self.lowest) < self.counted
    }
}

/// A cost of a trace for a scheduler.
pub trait Metric: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// A description in one sentence that begins with a capital letter.
    fn summary(&self) -> &'static str;

    /// The price of the drop of a packet of rank `rank`.
    fn drop_price(&self, rank: u64, ranks: &Ranks) -> i64 {
        let _ = (rank, ranks);
        0
    }

    /// The price of a packet of rank `first` leaving while a packet of rank `later` waits.
    fn overtake_price(&self, first: u64, later: u64, ranks: &Ranks) -> i64 {
        let _ = (first, later, ranks);
        0
    }

    /// Whether the metric is the sum of its prices.
    fn is_additive(&self) -> bool {
        true
    }

    /// Whether the metric is a function of the sum of its prices and the number of packets sent, proportional to the
    /// sum.
    fn is_priced(&self) -> bool {
        true
    }

    /// The cost of a run with this sum of prices and `sent` packets sent, proportional to the sum.
    fn finish(&self, sum: i64, sent: u64) -> Amount {
        let _ = sent;
        Amount::from(sum)
    }

    /// The cost of a whole run.
    fn value(&self, outcome: &Outcome, ranks: &Ranks) -> Amount {
        self.finish(self.sum_of_prices(outcome, ranks), outcome.sent.len() as u64)
    }

    /// The sums of prices, with their ranks, that replace a metric that is not itself a sum of prices.
    ///
    /// The metric's cost of every batch is the largest of their gaps to a PIFO of the same capacity.
    fn gaps_to_pifo(&self, ranks: &Ranks) -> Vec<(&'static dyn Metric, Ranks)> {
        let _ = ranks;
        Vec::new()
    }

    /// The smallest and the largest possible cost of a trace of `packets` packets with at most `sent` sent, from the
    /// prices only.
    fn range(&self, packets: usize, sent: usize, ranks: &Ranks) -> (Amount, Amount) {
        let (mut drop, mut pair) = ((0, 0), (0, 0));
        for rank in ranks.lowest..=ranks.highest {
            let widen = |range: (i64, i64), price: i64| (range.0.min(price), range.1.max(price));
            drop = widen(drop, self.drop_price(rank, ranks));
            for first in ranks.lowest..=ranks.highest {
                pair = widen(pair, self.overtake_price(first, rank, ranks));
            }
        }
        // Of two packets, at most one waits while the other leaves.
        let (packets, pairs) = (packets as i64, sent as i64 * (sent as i64 - 1) / 2);
        let sum = |drop: i64, pair: i64| {
            Amount::from(packets.saturating_mul(drop).saturating_add(pairs.saturating_mul(pair)))
        };
        (sum(drop.0, pair.0), sum(drop.1, pair.1))
    }

    /// The sum of the prices of a run.
    fn sum_of_prices(&self, outcome: &Outcome, ranks: &Ranks) -> i64 {
        let price = |packet: usize| {
            let rank = outcome.ranks[packet];
            match outcome.fates[packet] {
                Fate::Dropped(_) => self.drop_price(rank, ranks),
                Fate::Sent { .. } => {
                    let overtakers = outcome.overtakers(packet).iter();
                    overtakers.map(|first| self.overtake_price(outcome.ranks[*first as usize], rank, ranks)).sum()
                }
            }
        };
        (0..outcome.ranks.len()).map(price).sum()
    }
}
