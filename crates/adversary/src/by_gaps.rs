//! Solves a metric that is not a sum of prices, by exact searches for metrics that are; see
//! [`gaps_to_pifo`](crate::metric::Metric::gaps_to_pifo).

use crate::answer::{Answer, Error, Progress};
use crate::library::pifo;
use crate::meter::Judge;
use crate::metric::Amount;
use crate::problem::Problem;
use pifolab_sched::Capacity;
use pifolab_sched::schedulers::PifoParams;

/// The best of the worst traces of these sums, and a bound for every trace. The answer is proven without a second
/// scheduler, or if the second one has no cost with the trace. `solve` is the exact search for a sum.
pub(crate) fn by_gaps(
    problem: &Problem<'_>,
    progress: &mut Progress<'_>,
    solve: &mut dyn FnMut(&Problem<'_>, &mut Progress<'_>) -> Result<Answer, Error>,
) -> Result<Answer, Error> {
    let gaps = problem.metric.gaps_to_pifo(&problem.ranks);
    let capacity = problem.a.start(None).inspect().capacity();
    let (Capacity::Packets(capacity), false, None) = (capacity, gaps.is_empty(), problem.constraint.load) else {
        return Err(Error::Unsuited(format!("{} is not a sum of prices", problem.metric.name())));
    };
    let pifo = pifo(PifoParams::packets(capacity));
    let (mut best, mut most, mut evaluations) = (None::<Answer>, None::<Amount>, 0);
    for (metric, ranks) in gaps {
        let part = Problem { b: Some(&*pifo), metric, ranks, constraint: problem.constraint.clone(), ..*problem };
        let known = best.as_ref().map(|best| best.gap);
        let answer = solve(&part, &mut |gap, steps| {
            progress(known.map_or(gap, |known| known.max(gap)), evaluations + steps);
        });
        let bound = match answer {
            Ok(answer) => {
                evaluations += answer.evaluations;
                let bound = answer.bound;
                let gap = |answer: &Answer| Judge::new(problem).gap(&answer.trace, answer.start_window.as_deref());
                let mut found = gap(&answer).map(|gap| (gap, answer));
                if found.is_none() {
                    // The second scheduler drops a packet despite `no_drops`. Search for a trace of which it drops
                    // none.
                    let part = Problem { b: problem.b, constraint: problem.constraint.clone(), ..part };
                    match solve(&part, &mut |_, _| {}) {
                        Ok(answer) => {
                            evaluations += answer.evaluations;
                            found = gap(&answer).map(|gap| (gap, answer));
                        }
                        Err(Error::Limits(_)) => {}
                        Err(error) => return Err(error),
                    }
                }
                if let Some((gap, answer)) = found
                    && best.as_ref().is_none_or(|best| gap > best.gap)
                {
                    best = Some(Answer { gap, ..answer });
                }
                bound
            }
            Err(Error::Limits(bound)) => bound,
            Err(error) => return Err(error),
        };
        let bound = bound.unwrap_or_else(|| metric.range(problem.packets, problem.sent(problem.a), &ranks).1);
        most = most.max(Some(bound));
    }
    // The second scheduler's cost can only reduce the gap.
    let Some(best) = best else { return Err(Error::Limits(most)) };
    Ok(Answer { bound: most, proven: most == Some(best.gap), evaluations, ..best })
}
