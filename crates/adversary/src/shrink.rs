//! Witnesses made small: the fewest packets, then the simplest ranks, that keep a gap.

use crate::meter::Judge;
use crate::metric::Amount;
use crate::problem::Problem;
use crate::trace::Trace;

/// The part of `trace` that is left when packets are taken out, and ranks replaced by lower ones and by fewer different
/// ones, as long as the gap stays at `least` or above. Taking any single packet out of the result loses it. The second value
/// is the gap of the result.
///
/// `None` if the whole trace does not have this gap.
pub fn shrink(problem: &Problem<'_>, trace: &Trace, window: Option<&[u64]>, least: Amount) -> Option<(Trace, Amount)> {
    let mut judge = Judge::new(problem);
    let mut keeps = |trace: &Trace| judge.gap(trace, window).filter(|gap| *gap >= least);
    let mut gap = keeps(trace)?;
    let mut trace = trace.clone();
    loop {
        let mut changed = false;
        let mut block = trace.ranks.len().div_ceil(2).max(1);
        loop {
            let mut end = trace.ranks.len();
            while end > 0 {
                let start = end.saturating_sub(block);
                let mut shorter = trace.clone();
                for place in (start..end).rev() {
                    shorter = shorter.without(place);
                }
                if let Some(kept) = keeps(&shorter) {
                    (trace, gap, changed) = (shorter, kept, true);
                }
                end = start;
            }
            if block == 1 {
                break;
            }
            block = block.div_ceil(2);
        }
        let mut known = trace.ranks.clone();
        known.sort_unstable();
        known.dedup();
        // Fewer different ranks: one becomes another everywhere.
        for from in known.iter().rev() {
            for to in known.iter().filter(|to| *to != from) {
                let mut simpler = trace.clone();
                simpler.ranks.iter_mut().filter(|rank| *rank == from).for_each(|rank| *rank = *to);
                if simpler != trace
                    && let Some(kept) = keeps(&simpler)
                {
                    (trace, gap, changed) = (simpler, kept, true);
                    break;
                }
            }
        }
        // Lower ranks, packet by packet.
        for place in 0..trace.ranks.len() {
            for rank in problem.ranks.lowest..trace.ranks[place] {
                let is_new = !trace.ranks.contains(&rank);
                let mut simpler = trace.clone();
                simpler.ranks[place] = rank;
                if !is_new && let Some(kept) = keeps(&simpler) {
                    (trace, gap, changed) = (simpler, kept, true);
                    break;
                }
            }
        }
        if !changed {
            return Some((trace, gap));
        }
    }
}
