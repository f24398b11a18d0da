//! What a trace costs a scheduler. A metric is one file here and one line in [`METRICS`]; the searches know none by name.
//!
//! Most metrics are sums of *prices*: what the drop of a packet costs, and what it costs that one packet leaves before
//! another one that was waiting. The exact search merges states of such metrics. A metric that is not such a sum says so with
//! [`Metric::is_additive`], overrides [`Metric::finish`] or [`Metric::value`], and is searched by enumeration and by guided
//! search.

mod excess_drops;
mod lowest_drops;
mod lowest_inversions;
mod weighted_delay;
mod weighted_drops;
mod weighted_inversions;

use crate::outcome::{Fate, Outcome};
use std::cmp::Ordering;
use std::fmt;

/// The ranks that packets may have, and which of them count as the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// The lowest rank.
    pub lowest: u64,
    /// R, the highest rank.
    pub highest: u64,
    /// m: the metrics of the lowest ranks look at this many, counted from `lowest`.
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

/// A cost that a scheduler has with a trace.
pub trait Metric: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// What it measures, in one sentence that starts with a capital letter.
    fn summary(&self) -> &'static str;

    /// What the drop of a packet of rank `rank` costs.
    fn drop_price(&self, rank: u64, ranks: &Ranks) -> i64 {
        let _ = (rank, ranks);
        0
    }

    /// What it costs that a packet of rank `first` leaves while one of rank `later` waits.
    fn overtake_price(&self, first: u64, later: u64, ranks: &Ranks) -> i64 {
        let _ = (first, later, ranks);
        0
    }

    /// Whether it is the sum of its prices, and nothing else.
    fn is_additive(&self) -> bool {
        true
    }

    /// Whether it follows from the sum of its prices and the number of packets sent.
    fn is_priced(&self) -> bool {
        true
    }

    /// The cost of a run with this sum of prices in which `sent` packets were sent.
    fn finish(&self, sum: i64, sent: u64) -> Amount {
        let _ = sent;
        Amount::from(sum)
    }

    /// The cost of a whole run.
    fn value(&self, outcome: &Outcome, ranks: &Ranks) -> Amount {
        self.finish(self.sum_of_prices(outcome, ranks), outcome.sent.len() as u64)
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

/// Every metric.
pub const METRICS: &[&dyn Metric] = &[
    &weighted_drops::WeightedDrops,
    &weighted_inversions::WeightedInversions,
    &lowest_inversions::LowestInversions,
    &lowest_drops::LowestDrops,
    &weighted_delay::WeightedDelay,
    &excess_drops::ExcessDrops,
];

/// The metric `name`.
pub fn find_metric(name: &str) -> Option<&'static dyn Metric> {
    METRICS.iter().copied().find(|metric| metric.name() == name)
}

/// An exact fraction: what a metric measures.
#[derive(Clone, Copy, Debug)]
pub struct Amount {
    numerator: i64,
    denominator: i64,
}

impl Amount {
    /// 0.
    pub const ZERO: Self = Self { numerator: 0, denominator: 1 };

    /// `numerator` / `denominator`.
    ///
    /// # Panics
    /// If the denominator is not positive.
    pub fn new(numerator: i64, denominator: i64) -> Self {
        assert!(denominator > 0, "a denominator of {denominator}");
        let divisor = gcd(numerator.unsigned_abs(), denominator.unsigned_abs()).max(1) as i64;
        Self { numerator: numerator / divisor, denominator: denominator / divisor }
    }

    /// The integer, if it is one.
    pub fn integer(self) -> Option<i64> {
        (self.denominator == 1).then_some(self.numerator)
    }

    /// The numerator and the denominator, which have no common divisor.
    pub fn parts(self) -> (i64, i64) {
        (self.numerator, self.denominator)
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl std::ops::Sub for Amount {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let numerator = self.numerator * other.denominator - other.numerator * self.denominator;
        Self::new(numerator, self.denominator * other.denominator)
    }
}

impl From<i64> for Amount {
    fn from(value: i64) -> Self {
        Self { numerator: value, denominator: 1 }
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Amount {}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = i128::from(self.numerator) * i128::from(other.denominator);
        left.cmp(&(i128::from(other.numerator) * i128::from(self.denominator)))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => self.numerator.fmt(f),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_sched::DropReason;

    const RANKS: Ranks = Ranks { lowest: 1, highest: 5, counted: 2 };

    /// Ranks 4, 2, 1, 3: 4 leaves when 2 and 1 wait, 3 arrives, 2 and 3 leave, 1 is dropped.
    fn interleaved() -> Outcome {
        Outcome {
            ranks: vec![4, 2, 1, 3],
            fates: vec![
                Fate::Sent { place: 0 },
                Fate::Sent { place: 2 },
                Fate::Dropped(DropReason::PushedOut),
                Fate::Sent { place: 1 },
            ],
            left_before: vec![0, 0, 0, 1],
            sent: vec![0, 3, 1],
            capacity: Some(3),
        }
    }

    fn value(name: &str) -> Amount {
        find_metric(name).unwrap().value(&interleaved(), &RANKS)
    }

    #[test]
    fn each_metric_says_of_interleaved_departures_what_its_page_says() {
        // Rank 1 is lost: 5 - 1.
        assert_eq!(value("WD"), Amount::from(4));
        // Rank 2 waited while 4 and 3 left; rank 3 came after 4 had left, and 2 is lower.
        assert_eq!(value("WI"), Amount::from(3 * 2));
        assert_eq!(value("inversions"), Amount::from(2));
        assert_eq!(value("drops"), Amount::from(1));
        // Rank 4 waited for none, 2 for two packets (weight 3), 3 for none: (0 + 6 + 0) / 3.
        assert_eq!(value("delay"), Amount::from(2));
        // A PIFO of three packets pushes nothing out: when 3 arrives, it holds 2 and 4 (1 has left).
        assert_eq!(value("excess-drops"), Amount::from(1));
    }

    #[test]
    fn amounts_are_exact() {
        let third = Amount::new(2, 6);
        assert_eq!(third.to_string(), "1/3");
        assert_eq!((third - Amount::new(1, 3)).integer(), Some(0));
        assert!(third > Amount::new(33, 100) && Amount::new(-1, 2) < Amount::ZERO);
    }

    #[test]
    fn names_are_unique() {
        for (index, metric) in METRICS.iter().enumerate() {
            assert!(METRICS[..index].iter().all(|other| other.name() != metric.name()), "{}", metric.name());
        }
    }
}
