//! Witnesses made small: few packets, then simple ranks, that keep a gap.

use crate::meter::Judge;
use crate::metric::Amount;
use crate::problem::Problem;
use crate::trace::Trace;

/// Of a batch all shorter traces are tried if they are at most so many.
const FEW_TRACES: usize = 1 << 16;
/// With one packet less and another rank elsewhere, traces are tried if they have at most so many packets together.
const PACKETS: usize = 1 << 22;

/// A small trace with a gap of `least` or above, from `trace`: packets are taken out, and ranks replaced by lower ones and by fewer
/// different ones; then shorter traces of other ranks are tried. The second value is the gap of the result.
///
/// Taking any single packet out of the result loses the gap. If a batch has few shorter traces (2^16), none of them keeps it;
/// else, of up to about 70 packets and 10 ranks, taking out one packet and changing the rank of another one loses it, too.
///
/// `None` if the whole trace does not have this gap.
pub fn shrink(problem: &Problem<'_>, trace: &Trace, window: Option<&[u64]>, least: Amount) -> Option<(Trace, Amount)> {
    let mut judge = Judge::new(problem);
    let mut keeps = |trace: &Trace| judge.gap(trace, window).filter(|gap| *gap >= least);
    let gap = keeps(trace)?;
    let mut smallest = reduced(problem, trace.clone(), gap, &mut keeps);
    while let Some((shorter, gap)) = shorter(problem, &smallest.0, &mut keeps) {
        smallest = reduced(problem, shorter, gap, &mut keeps);
    }
    Some(smallest)
}

/// A shorter trace of other ranks.
fn shorter(
    problem: &Problem<'_>,
    trace: &Trace,
    keeps: &mut dyn FnMut(&Trace) -> Option<Amount>,
) -> Option<(Trace, Amount)> {
    let (packets, alphabet) = (trace.ranks.len(), problem.alphabet());
    let traces = |length: usize| alphabet.len().checked_pow(length as u32);
    let all = (0..packets).try_fold(0usize, |all, length| all.checked_add(traces(length)?));
    if trace.departures.is_empty() && all.is_some_and(|all| all <= FEW_TRACES) {
        return (0..packets).find_map(|length| {
            // In the order of their ranks: the first that keeps the gap has low ones.
            (0..traces(length)?).find_map(|number| {
                let rank = |place: usize| alphabet[number / alphabet.len().pow(place as u32) % alphabet.len()];
                let trace = Trace::batch((0..length).rev().map(rank).collect());
                keeps(&trace).map(|gap| (trace, gap))
            })
        });
    }
    if packets.saturating_pow(3).saturating_mul(alphabet.len()) > PACKETS {
        return None;
    }
    (0..packets).find_map(|taken| {
        let shorter = trace.without(taken);
        (0..shorter.ranks.len()).find_map(|place| {
            alphabet.iter().find_map(|rank| {
                let mut other = shorter.clone();
                other.ranks[place] = *rank;
                keeps(&other).map(|gap| (other, gap))
            })
        })
    })
}

/// `trace` without the packets and with lower ranks where the gap allows it.
fn reduced(
    problem: &Problem<'_>,
    mut trace: Trace,
    mut gap: Amount,
    keeps: &mut dyn FnMut(&Trace) -> Option<Amount>,
) -> (Trace, Amount) {
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
            return (trace, gap);
        }
    }
}
