//! The exact search from a problem to an answer, or the reason why there is no answer.

use crate::answer::{Answer, Error, Progress};
use crate::automaton::{Automaton, Failure, Layer, Out};
use crate::by_gaps::by_gaps;
use crate::exact;
use crate::guided::{Guidance, Initial, guide};
use crate::joint::{Apart, Pairs, Product};
use crate::meter::Judge;
use crate::metric::Amount;
use crate::outcome::Outcome;
use crate::problem::{Limits, Problem};
use crate::trace::Trace;
use crate::variation;
use crate::windows::from_fixed_windows;
use pifolab_sched::params::choices;

/// The largest number of ranks; the exact search numbers them by bytes.
const MOST_RANKS: usize = 255;
/// The largest number of packets. Proofs for more packets would not end.
const MOST_PACKETS: usize = 200;
/// The largest number of nodes per layer in a first attempt.
const SOON: usize = 1 << 16;
/// The largest number of traces that are enumerated instead of searched.
const FEW_TRACES: f64 = 3e6;

choices! {
    /// The method of a search.
    pub enum Method {
        /// Also the guided search if the exact one finds nothing within its limits.
        Auto = "auto": "the exact search if it applies, else all traces if there are few, else the guided search",
        Exact = "exact": "the exact search",
        Enumerate = "enumerate": "all traces, one by one",
        Guided = "guided": "the guided search",
    }
}

/// The worst trace by the given method.
pub fn attack(
    problem: &Problem<'_>,
    method: Method,
    guidance: &Guidance,
    limits: &Limits,
    progress: &mut Progress<'_>,
) -> Result<Answer, Error> {
    let mut search = |problem: &Problem<'_>, guidance: &Guidance, limits: &Limits, progress: &mut Progress<'_>| {
        by_method(problem, method, guidance, limits, progress)
    };
    if problem.searched_window().is_none() {
        return search(problem, guidance, limits, progress);
    }
    if matches!(method, Method::Exact | Method::Enumerate) {
        starts(problem)?;
    }
    from_fixed_windows(problem, guidance, limits, progress, &mut search)
}

/// The worst trace by the given method, over all start windows at once.
fn by_method(
    problem: &Problem<'_>,
    method: Method,
    guidance: &Guidance,
    limits: &Limits,
    progress: &mut Progress<'_>,
) -> Result<Answer, Error> {
    let initial = guidance.initial.as_ref();
    let found = match method {
        Method::Exact => solve(problem, initial, limits, progress),
        Method::Enumerate => try_all(problem, limits),
        // No time for a search, so only a few traces are tried, as if every other method had failed.
        Method::Guided if limits.is_over() => Err(Error::Limits(None)),
        Method::Guided => guide(problem, guidance, limits, progress),
        Method::Auto => match solve(problem, initial, limits, progress) {
            Ok(answer) if !answer.proven => go_on(problem, guidance, limits, progress, answer),
            Err(Error::Unsuited(_)) if has_few_traces(problem) => try_all(problem, limits),
            Err(Error::Limits(bound)) if !limits.is_over() => {
                let few = has_few_traces(problem);
                let found = if few { try_all(problem, limits) } else { guide(problem, guidance, limits, progress) };
                let found = found.map_err(|error| with_bound(error, bound));
                found.map(|answer| if answer.proven { answer } else { bounded(problem, answer, bound) })
            }
            Err(Error::Unsuited(_)) if !limits.is_over() => {
                let found = guide(problem, guidance, limits, progress);
                // The prices give a useful bound for batches, but not for long runs on a link.
                if problem.constraint.load.is_none() {
                    found.map(|answer| bounded(problem, answer, None))
                } else {
                    found
                }
            }
            Err(Error::Unsuited(_)) => Err(Error::Limits(None)),
            answer => answer,
        },
    };
    match found {
        Err(Error::Limits(bound)) => make_do(problem, guidance, bound),
        found => found,
    }
}

/// The best of a few traces, if the limits were reached before any trace was complete. The bound is `bound`, or follows
/// from the prices.
fn make_do(problem: &Problem<'_>, guidance: &Guidance, bound: Option<Amount>) -> Result<Answer, Error> {
    const PACKETS: usize = 1 << 18;
    let evaluations = (PACKETS / problem.packets).clamp(8, 512) as u64;
    let guidance = Guidance { evaluations, ..guidance.clone() };
    let limits = Limits::new(None, 0, 1);
    let answer = guide(problem, &guidance, &limits, &mut |_, _| {}).map_err(|error| with_bound(error, bound))?;
    Ok(bounded(problem, answer, bound))
}

/// The error of another search, with the bound of the exact search.
fn with_bound(error: Error, bound: Option<Amount>) -> Error {
    match error {
        Error::NoneFound(tried, _) => Error::NoneFound(tried, bound),
        Error::Limits(_) => Error::Limits(bound),
        error => error,
    }
}

/// The answer of another search, with the bound of the exact search, or the bound that follows from the prices.
fn bounded(problem: &Problem<'_>, answer: Answer, bound: Option<Amount>) -> Answer {
    let range = |subject| problem.metric.range(problem.packets, problem.sent(subject), &problem.ranks);
    let most = range(problem.a).1;
    let widest = problem.b.map_or(most, |b| most - range(b).0);
    let bound = bound.map_or(widest, |bound| bound.min(widest));
    Answer { bound: Some(bound), proven: bound == answer.gap, ..answer }
}

/// Whether the constraints allow few enough traces to try all of them.
fn has_few_traces(problem: &Problem<'_>) -> bool {
    let (constraint, ranks) = (&problem.constraint, problem.alphabet().len());
    let own = problem.packets - constraint.benign.len();
    let traces = match (&constraint.multiset, constraint.flows) {
        // Each rank takes some of the remaining places.
        (Some(multiset), _) => {
            let places = |(left, orders): (usize, f64), count: &u32| {
                let count = *count as usize;
                (left - count, orders * binomial(left, count))
            };
            multiset.iter().fold((own, 1.0), places).1
        }
        // A flow is determined by the number of its packets of each rank.
        (None, Some((flows, _))) => {
            let packets = |flow: usize| own.saturating_sub(flow).div_ceil(flows);
            (0..flows.min(own)).map(|flow| binomial(packets(flow) + ranks - 1, ranks - 1)).product()
        }
        (None, None) => (ranks as f64).powi(own as i32),
    };
    let window = problem.searched_window().unwrap_or(0);
    traces * (ranks as f64).powi(window as i32) <= FEW_TRACES
}

/// The number of ways to choose `some` of `all`.
fn binomial(all: usize, some: usize) -> f64 {
    (0..some).fold(1.0, |ways, one| ways * (all - one) as f64 / (one + 1) as f64)
}

/// Whether the gap is a sum of prices, or proportional to one.
fn is_sum(problem: &Problem<'_>) -> bool {
    problem.metric.is_additive() || (problem.no_drops && problem.metric.is_priced())
}

/// Continues with another search from the answer of an exact search that ended before its bound, because of the memory
/// or the metric.
fn go_on(
    problem: &Problem<'_>,
    guidance: &Guidance,
    limits: &Limits,
    progress: &mut Progress<'_>,
    answer: Answer,
) -> Result<Answer, Error> {
    if has_few_traces(problem)
        && let Ok(all) = try_all(problem, limits)
    {
        return Ok(all);
    }
    let initial = Initial { ranks: answer.trace.ranks.clone(), window: answer.start_window.clone(), evaluations: 0 };
    let guidance = Guidance { initial: Some(initial), ..guidance.clone() };
    let found = if limits.is_over() { None } else { guide(problem, &guidance, limits, progress).ok() };
    let evaluations = answer.evaluations + found.as_ref().map_or(0, |found| found.evaluations);
    let bound = answer.bound;
    let best = found.filter(|found| found.gap > answer.gap).unwrap_or(answer);
    Ok(bounded(problem, Answer { evaluations, ..best }, bound))
}

/// Tries all traces.
fn try_all(problem: &Problem<'_>, limits: &Limits) -> Result<Answer, Error> {
    let (best, evaluations, complete) = variation::enumerate(problem, limits, &starts(problem)?);
    let Some(best) = best else { return Err(if complete { Error::Impossible } else { Error::Limits(None) }) };
    Ok(Answer {
        gap: best.gap,
        bound: complete.then_some(best.gap),
        proven: complete,
        trace: Trace { ranks: best.own, departures: problem.constraint.departures(problem.packets) },
        start_window: best.window,
        evaluations,
    })
}

/// Solves `problem` exactly, or as far as `limits` allow. A known trace lets the search discard all states that cannot
/// exceed it.
pub fn solve(
    problem: &Problem<'_>,
    initial: Option<&Initial>,
    limits: &Limits,
    progress: &mut Progress<'_>,
) -> Result<Answer, Error> {
    if !is_sum(problem) {
        return by_gaps(problem, progress, &mut |part, progress| solve(part, initial, limits, progress));
    }
    // The value in the gap of a price of 1.
    let unit =
        if problem.metric.is_additive() { Amount::from(1) } else { problem.metric.finish(1, problem.packets as u64) };
    if problem.constraint.load.is_some() {
        return Err(Error::Unsuited("packets leave between arrivals".to_owned()));
    }
    let alphabet = problem.alphabet();
    if alphabet.len() > MOST_RANKS {
        return Err(Error::Unsuited(format!("there are more than {MOST_RANKS} ranks")));
    }
    if problem.packets > MOST_PACKETS {
        return Err(Error::Unsuited(format!("there are more than {MOST_PACKETS} packets")));
    }
    let starts = starts(problem)?;
    let automaton = |subject| Automaton::build(subject, problem, &starts, &alphabet, limits);
    let failed = |failure| match failure {
        Failure::TooLarge => Error::Limits(None),
        Failure::Order => Error::Unsuited(format!("{} has a price for the order of departures", problem.metric.name())),
    };
    let none = || Ok(nothing(alphabet.len(), problem.packets, starts.len()));
    let (a, b) = if limits.workers > 1 {
        std::thread::scope(|scope| {
            let b = scope.spawn(|| problem.b.map_or_else(none, automaton));
            (automaton(problem.a), b.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    } else {
        (automaton(problem.a), problem.b.map_or_else(none, automaton))
    };
    let (mut a, b) = (a.map_err(failed)?, b.map_err(failed)?);
    if !problem.constraint.is_free() {
        a = a.constrained(&problem.constraint, &alphabet);
    }
    let pairs = Pairs::new(a.queues, b.queues, &alphabet, problem.metric, &problem.ranks);
    let mut told = |gap: i64, steps: u64| progress(unit * gap, steps);
    let known = initial.and_then(|initial| known(problem, initial, unit, &alphabet, &starts));
    let apart = || {
        let prices: Vec<i64> = alphabet.iter().map(|rank| problem.metric.drop_price(*rank, &problem.ranks)).collect();
        Apart::new(&a, &b, &pairs, &prices)
    };
    // The automata and the product each use at most the other shares.
    let share = limits.memory / 3;
    // If only drops have a price, the separate automata often soon prove a result that needs a large product otherwise.
    let mut found = None;
    if !pairs.matter() {
        let soon = exact::search(&apart(), &pairs, limits, share, SOON, known.clone(), &mut told);
        found = Some(soon).filter(|found| found.best.as_ref().is_none_or(|best| best.0 == found.bound));
    }
    let found = found.unwrap_or_else(|| match Product::build(&a, &b, &pairs, limits) {
        Some(product) => {
            // The remaining memory, with a reserve for uncounted data.
            let left = limits.memory.saturating_sub(a.bytes() + b.bytes() + product.bytes()) / 3 * 2;
            exact::search(&product, &pairs, limits, left.max(share), usize::MAX, known, &mut told)
        }
        None => exact::search(&apart(), &pairs, limits, share, usize::MAX, known, &mut told),
    });
    let Some((gap, symbols, start)) = found.best else {
        return Err(match found.bound {
            i64::MIN => Error::Impossible,
            bound => Error::Limits(Some(unit * bound)),
        });
    };
    let trace = Trace::batch(symbols.iter().map(|symbol| alphabet[usize::from(*symbol)]).collect());
    let window = starts[start].clone();
    let replayed = gap_of(problem, &trace, window.as_deref());
    assert_eq!(replayed, unit * gap, "{trace:?}: the schedulers and their automata disagree");
    Ok(Answer {
        gap: unit * gap,
        bound: Some(unit * found.bound),
        proven: found.bound == gap,
        trace,
        start_window: window,
        evaluations: a.offers + b.offers + found.steps,
    })
}

/// Converts a trace of an earlier search to the exact search's form, if it is a trace of this problem.
fn known(
    problem: &Problem<'_>,
    initial: &Initial,
    unit: Amount,
    alphabet: &[u64],
    starts: &[Option<Vec<u64>>],
) -> Option<(i64, Vec<u8>, usize)> {
    let Initial { ranks, window, .. } = initial;
    let start = starts.iter().position(|start| start == window)?;
    if ranks.len() != problem.packets || !problem.constraint.allows(ranks, alphabet) {
        return None;
    }
    let gap = Judge::new(problem).gap(&Trace::batch(ranks.clone()), window.as_deref())?.times(unit)?;
    let symbols = ranks.iter().map(|rank| alphabet.partition_point(|known| known < rank) as u8).collect();
    Some((gap, symbols, start))
}

/// metric(a) - metric(b) of one trace, from a run of both schedulers.
pub fn gap_of(problem: &Problem<'_>, trace: &Trace, window: Option<&[u64]>) -> Amount {
    let value = |subject| problem.metric.value(&Outcome::of(subject, trace, window), &problem.ranks);
    let a = value(problem.a);
    problem.b.map_or(a, |b| a - value(b))
}

/// The start windows.
fn starts(problem: &Problem<'_>) -> Result<Vec<Option<Vec<u64>>>, Error> {
    let Some(size) = problem.searched_window() else { return Ok(vec![None]) };
    let alphabet = problem.alphabet();
    const MOST: usize = 1 << 20;
    let count = alphabet.len().checked_pow(size as u32).filter(|count| *count <= MOST);
    let Some(count) = count else {
        return Err(Error::Unsuited(format!("there are more than {MOST} windows of {size} ranks to start with")));
    };
    let window = |number: usize| {
        let rank = |place: usize| alphabet[number / alphabet.len().pow(place as u32) % alphabet.len()];
        Some((0..size).map(rank).collect())
    };
    Ok((0..count).map(window).collect())
}

/// The automaton of no scheduler.
fn nothing(symbols: usize, packets: usize, starts: usize) -> Automaton {
    let layer = || Layer { next: vec![0; symbols], out: vec![0; symbols] };
    Automaton {
        symbols,
        start: vec![0; starts],
        layers: (0..packets).map(|_| layer()).collect(),
        outs: vec![Out { queue: None, price: 0 }],
        queues: 0,
        offers: 0,
    }
}
