//! Drops beyond those of a PIFO, rank by rank.

use super::{Amount, Metric, Ranks};
use crate::outcome::{Fate, Outcome};
use std::collections::BTreeMap;

/// The sum over ranks of the drops that a PIFO of the same capacity has not, on the same arrivals and departures.
pub struct ExcessDrops;

impl Metric for ExcessDrops {
    fn name(&self) -> &'static str {
        "excess-drops"
    }

    fn summary(&self) -> &'static str {
        "The sum over ranks of the drops beyond those of a PIFO of the same capacity on the same trace"
    }

    fn is_additive(&self) -> bool {
        false
    }

    fn is_priced(&self) -> bool {
        false
    }

    fn range(&self, packets: usize, _ranks: &Ranks) -> (Amount, Amount) {
        (Amount::ZERO, Amount::from(packets as i64))
    }

    fn value(&self, outcome: &Outcome, _ranks: &Ranks) -> Amount {
        let mut beyond: BTreeMap<u64, i64> = BTreeMap::new();
        for (rank, fate) in outcome.ranks.iter().zip(&outcome.fates) {
            *beyond.entry(*rank).or_default() += i64::from(matches!(fate, Fate::Dropped(_)));
        }
        let capacity = outcome.capacity.map_or(usize::MAX, |packets| packets as usize);
        // Ranks held, highest last: of a PIFO only they matter.
        let mut held: Vec<u64> = Vec::new();
        let mut left = 0;
        for (rank, left_before) in outcome.ranks.iter().zip(&outcome.left_before) {
            let leaving = (*left_before - left) as usize;
            left = *left_before;
            held.drain(..leaving.min(held.len()));
            held.insert(held.partition_point(|other| other <= rank), *rank);
            if held.len() > capacity {
                let dropped = held.pop().expect("it has just grown");
                *beyond.get_mut(&dropped).expect("every rank of the trace has an entry") -= 1;
            }
        }
        Amount::from(beyond.values().map(|excess| (*excess).max(0)).sum::<i64>())
    }
}
