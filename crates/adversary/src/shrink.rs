//! Shrinks witnesses: fewer packets, then simpler ranks, with the same gap.

use crate::meter::Judge;
use crate::metric::Amount;
use crate::problem::{Limits, Problem};
use crate::trace::Trace;

/// For a batch, the largest number of shorter traces that are tried exhaustively.
const FEW_TRACES: usize = 1 << 16;
/// The largest total number of packets of the tried traces with one packet removed and another rank changed.
const PACKETS: usize = 1 << 22;

/// A small trace with a gap of at least `least`, derived from `trace`. Packets are removed, and ranks replaced by lower
/// ones and by fewer distinct ones. Then shorter traces with other ranks are tried. The second value is the gap of the
/// result.
///
/// Removing any single packet from the result loses the gap, and so does replacing a rank everywhere by a lower one. If a
/// batch has few shorter traces (2^16), none of them has the gap. Otherwise, for up to about 70 packets and 10 ranks, removing one packet and changing the rank of another
/// loses the gap, too.
/// Once `limits` are over, the result is the smallest trace so far, of which none of this is true.
/// `None` if the whole trace has a smaller gap.
pub fn shrink(
    problem: &Problem<'_>,
    trace: &Trace,
    window: Option<&[u64]>,
    least: Amount,
    limits: &Limits,
) -> Option<(Trace, Amount)> {
    let mut judge = Judge::new(problem);
    let mut keeps = |trace: &Trace| judge.gap(trace, window).filter(|gap| *gap >= least);
    let gap = keeps(trace)?;
    let mut smallest = reduced(problem, trace.clone(), gap, &mut keeps, limits);
    while let Some((shorter, gap)) = shorter(problem, &smallest.0, &mut keeps, limits) {
        smallest = reduced(problem, shorter, gap, &mut keeps, limits);
    }
    Some(smallest)
}

/// A shorter trace with other ranks.
fn shorter(
    problem: &Problem<'_>,
    trace: &Trace,
    keeps: &mut dyn FnMut(&Trace) -> Option<Amount>,
    limits: &Limits,
) -> Option<(Trace, Amount)> {
    let mut keeps = |trace: &Trace| if limits.is_over() { None } else { keeps(trace) };
    let (packets, alphabet) = (trace.ranks.len(), problem.alphabet());
    let traces = |length: usize| alphabet.len().checked_pow(length as u32);
    let all = (0..packets).try_fold(0usize, |all, length| all.checked_add(traces(length)?));
    if trace.departures.is_empty() && all.is_some_and(|all| all <= FEW_TRACES) {
        return (0..packets).find_map(|length| {
            // In ascending order of ranks, so that the first trace with the gap has low ranks.
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

/// Removes packets of `trace` and lowers ranks while the gap remains.
fn reduced(
    problem: &Problem<'_>,
    mut trace: Trace,
    mut gap: Amount,
    keeps: &mut dyn FnMut(&Trace) -> Option<Amount>,
    limits: &Limits,
) -> (Trace, Amount) {
    loop {
        let mut changed = false;
        let mut block = trace.ranks.len().div_ceil(2).max(1);
        loop {
            let mut end = trace.ranks.len();
            while end > 0 {
                if limits.is_over() {
                    return (trace, gap);
                }
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
        // One rank replaces another everywhere: one that the trace has, so that there are fewer, or else a lower one.
        for from in known.iter().rev() {
            for to in known.iter().copied().chain(problem.ranks.lowest..*from) {
                if limits.is_over() {
                    return (trace, gap);
                }
                let fits = |to| to < *from || trace.ranks.contains(&to);
                if to == *from || !trace.ranks.contains(from) || !fits(to) {
                    continue;
                }
                let mut simpler = trace.clone();
                simpler.ranks.iter_mut().filter(|rank| *rank == from).for_each(|rank| *rank = to);
                if let Some(kept) = keeps(&simpler) {
                    (trace, gap, changed) = (simpler, kept, true);
                    break;
                }
            }
        }
        // Lower ranks, packet by packet.
        for place in 0..trace.ranks.len() {
            for rank in problem.ranks.lowest..trace.ranks[place] {
                if limits.is_over() {
                    return (trace, gap);
                }
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
