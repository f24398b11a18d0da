//! The cost of a trace for a scheduler. Each metric is one file here and one line in [`METRICS`]. The searches depend
//! on no particular metric.
//!
//! Most metrics are sums of *prices*: the price of the drop of a packet, and the price of one packet leaving before a
//! waiting one. The exact search merges states for such metrics. A metric that is not such a sum returns false from
//! [`Metric::is_additive`], and overrides [`Metric::finish`] or [`Metric::value`]. Enumeration and the guided search
//! handle it.

mod amount;
mod excess_drops;
mod lowest_drops;
mod lowest_inversions;
mod prices;
mod sum;
mod weighted_delay;
mod weighted_drops;
mod weighted_inversions;

pub use amount::Amount;
pub use prices::{Metric, Ranks};
pub use sum::Sum;

/// All metrics.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Fate, Outcome};
    use pifolab_sched::DropReason;

    const RANKS: Ranks = Ranks { lowest: 1, highest: 5, counted: 2 };

    /// Ranks 4, 2, 1, 3: 4 leaves while 2 and 1 wait, 3 arrives, then 3 and 2 leave; 1 is dropped.
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
        // Rank 2 waited while 4 and 3 left. Rank 3 arrived after 4 left, and 2 is lower.
        assert_eq!(value("WI"), Amount::from(3 * 2));
        assert_eq!(value("inversions"), Amount::from(2));
        assert_eq!(value("drops"), Amount::from(1));
        // No packet left while 4 or 3 waited; two packets left while 2 (weight 3) waited: (0 + 6 + 0) / 3.
        assert_eq!(value("delay"), Amount::from(2));
        // A PIFO of three packets pushes nothing out: at the arrival of 3 it holds 2 and 4, because 1 has left.
        assert_eq!(value("excess-drops"), Amount::from(1));
    }

    #[test]
    fn names_are_unique() {
        for (index, metric) in METRICS.iter().enumerate() {
            assert!(METRICS[..index].iter().all(|other| other.name() != metric.name()), "{}", metric.name());
        }
    }
}
