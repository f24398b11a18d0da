//! Drops in excess of a PIFO's, rank by rank.

use super::lowest_drops::LowestDrops;
use super::{Amount, Metric, Ranks};
use crate::outcome::{Fate, Outcome};
use std::collections::BTreeMap;

/// The sum over ranks of the drops in excess of those of a PIFO with the same capacity, arrivals and departures.
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

    /// Each excess drop of a rank corresponds to a packet of this rank that the PIFO sends.
    fn range(&self, _packets: usize, sent: usize, _ranks: &Ranks) -> (Amount, Amount) {
        (Amount::ZERO, Amount::from(sent as i64))
    }

    /// In a batch, a PIFO drops all packets above some rank, none below, and some of that rank. No rank above has
    /// excess drops, and every drop below counts. Drops of that rank count as far as they exceed the PIFO's. The cost
    /// is therefore the largest excess of drops of the m lowest ranks, over all m.
    fn gaps_to_pifo(&self, ranks: &Ranks) -> Vec<(&'static dyn Metric, Ranks)> {
        (1..=ranks.highest - ranks.lowest + 1)
            .map(|counted| (&LowestDrops as &'static dyn Metric, Ranks { counted, ..*ranks }))
            .collect()
    }

    fn value(&self, outcome: &Outcome, _ranks: &Ranks) -> Amount {
        let mut beyond: BTreeMap<u64, i64> = BTreeMap::new();
        for (rank, fate) in outcome.ranks.iter().zip(&outcome.fates) {
            *beyond.entry(*rank).or_default() += i64::from(matches!(fate, Fate::Dropped(_)));
        }
        let capacity = outcome.capacity.map_or(usize::MAX, |packets| packets as usize);
        // The ranks held, highest last. A PIFO's drops depend only on them.
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
