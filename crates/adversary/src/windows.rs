//! The search for the start window, which begins with the worst traces of a few fixed windows. A search over all
//! windows at once rarely reaches the gap of a search with one of them.

use crate::answer::{Answer, Error, Progress};
use crate::guided::{Guidance, Initial};
use crate::machine::{Machine, Order, Subject};
use crate::meter::Judge;
use crate::metric::Amount;
use crate::problem::{Limits, Problem};
use crate::trace::Trace;

/// The fixed start windows with which a search of `problem` with a free window begins; empty if the window is not
/// searched.
///
/// They combine the lowest and the highest rank of the alphabet in a few patterns, because most worst cases start at
/// its ends.
pub fn fixed_windows(problem: &Problem<'_>) -> Vec<Vec<u64>> {
    let Some(size) = problem.searched_window() else { return Vec::new() };
    let (low, high) = (problem.ranks.lowest, problem.ranks.highest);
    let is_high: [fn(usize, usize) -> bool; 6] = [
        |_, _| false,
        |_, _| true,
        |place, size| 2 * place >= size,
        |place, size| 2 * place < size,
        |place, _| place % 2 == 1,
        |place, _| place % 2 == 0,
    ];
    let mut windows: Vec<Vec<u64>> = Vec::new();
    for is_high in is_high {
        let window: Vec<u64> = (0..size).map(|place| if is_high(place, size) { high } else { low }).collect();
        if !windows.contains(&window) {
            windows.push(window);
        }
    }
    windows
}

/// A scheduler whose window starts with these ranks.
struct Started<'a> {
    subject: &'a dyn Subject,
    window: &'a [u64],
}

impl Subject for Started<'_> {
    fn name(&self) -> &str {
        self.subject.name()
    }

    fn start(&self, _window: Option<&[u64]>) -> Box<dyn Machine> {
        self.subject.start(Some(self.window))
    }

    fn order(&self) -> Order {
        self.subject.order()
    }

    fn window(&self) -> Option<usize> {
        None
    }
}

/// A search method.
pub(crate) type Search<'a> =
    dyn FnMut(&Problem<'_>, &Guidance, &Limits, &mut Progress<'_>) -> Result<Answer, Error> + 'a;

/// The worst trace of `problem` with a free window by `search`. The search begins with the best of the traces found for
/// fixed windows. These share half of the time; each has the evaluations of `guidance`.
pub(crate) fn from_fixed_windows(
    problem: &Problem<'_>,
    guidance: &Guidance,
    limits: &Limits,
    progress: &mut Progress<'_>,
    search: &mut Search<'_>,
) -> Result<Answer, Error> {
    let mut windows = guidance.windows.clone();
    windows.extend(fixed_windows(problem).into_iter().filter(|window| !guidance.windows.contains(window)));
    let (mut best, mut evaluations) = (None::<(Amount, Initial)>, 0);
    for (number, window) in windows.iter().enumerate() {
        if limits.is_over() {
            break;
        }
        let start = |subject| Started { subject, window };
        let (a, b) = (start(problem.a), problem.b.map(start));
        let fixed = Problem {
            a: &a,
            b: b.as_ref().map(|b| b as &dyn Subject),
            free_window: false,
            constraint: problem.constraint.clone(),
            ..*problem
        };
        let part = limits.part(1, 2 * windows.len() as u32 - number as u32);
        let known = best.as_ref().map(|(gap, _)| *gap);
        let mut told = |gap: Amount, steps| progress(known.map_or(gap, |known| known.max(gap)), evaluations + steps);
        match search(&fixed, &Guidance { initial: None, ..guidance.clone() }, &part, &mut told) {
            Ok(answer) => {
                evaluations += answer.evaluations;
                if known.is_none_or(|known| answer.gap > known) {
                    let initial = Initial { ranks: answer.trace.ranks, window: Some(window.clone()), evaluations: 0 };
                    best = Some((answer.gap, initial));
                }
            }
            Err(Error::NoneFound(tried, _)) => evaluations += tried,
            // No trace with this window, or none in time. If the free window fails for the same reason, its search
            // returns the error.
            Err(_) => {}
        }
    }
    let mut guidance = guidance.clone();
    if let Some((gap, found)) = &best {
        let given = guidance.initial.as_ref().and_then(|initial| gap_of_initial(problem, initial));
        if given.is_none_or(|given| *gap > given) {
            let evaluations = guidance.initial.map_or(0, |initial| initial.evaluations);
            guidance.initial = Some(Initial { evaluations, ..found.clone() });
        }
    }
    let known = best.as_ref().map(|(gap, _)| *gap);
    let mut told = |gap: Amount, steps| progress(known.map_or(gap, |known| known.max(gap)), evaluations + steps);
    let found = search(problem, &guidance, limits, &mut told);
    let Some((gap, Initial { ranks, window, .. })) = best else {
        return found.map(|answer| Answer { evaluations: answer.evaluations + evaluations, ..answer });
    };
    let (bound, tried) = match found {
        Ok(answer) if answer.gap >= gap => {
            return Ok(Answer { evaluations: answer.evaluations + evaluations, ..answer });
        }
        Ok(answer) => (answer.bound, answer.evaluations),
        Err(Error::Limits(bound)) => (bound, 0),
        Err(Error::NoneFound(tried, bound)) => (bound, tried),
        Err(error) => return Err(error),
    };
    Ok(Answer {
        gap,
        bound,
        proven: bound == Some(gap),
        trace: Trace { ranks, departures: problem.constraint.departures(problem.packets) },
        start_window: window,
        evaluations: evaluations + tried,
    })
}

/// The gap of an initial trace, if it is a trace of this problem.
fn gap_of_initial(problem: &Problem<'_>, initial: &Initial) -> Option<Amount> {
    let departures = problem.constraint.departures(problem.packets);
    let trace = Trace { ranks: initial.ranks.clone(), departures };
    Judge::new(problem).gap(&trace, initial.window.as_deref())
}
