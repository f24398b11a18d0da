//! Compares the exact search with all traces, run one by one through the schedulers.

use pifolab_adversary::{
    Amount, Constraint, Error, Guidance, Limits, METRICS, Method, Outcome, Problem, Ranks, Strategy, Subject, Trace,
    Trend, attack, find_metric, fixed_windows, gap_of, library, library_names, shrink, solve,
};
use pifolab_sched::params::{Args, Choice, Value};
use proptest::prelude::*;

const RANKS: Ranks = Ranks { lowest: 1, highest: 3, counted: 2 };

type Made = Box<dyn Subject + Send>;

fn subject(name: &str, options: &[(&str, &str)]) -> Made {
    let mut args = Args::new(name);
    for (key, value) in options {
        let integer = |text: &str| text.parse().map(Value::Integer);
        args.set(
            *key,
            match value.contains(',') {
                true => Value::List(value.split_terminator(',').map(|part| integer(part).unwrap()).collect()),
                false => integer(value).unwrap_or_else(|_| Value::Text((*value).to_owned())),
            },
        );
    }
    library(name, &args).unwrap().unwrap()
}

fn unlimited() -> Limits {
    Limits::new(None, 1 << 28, 1)
}

/// All schedulers of the library, small enough to overflow.
fn subjects() -> Vec<Made> {
    let two = [("queues", "2"), ("queue_capacity_packets", "2")];
    let with = |more: &[(&'static str, &'static str)]| [&two[..], more].concat();
    let one = |more: &[(&'static str, &'static str)]| [&[("capacity_packets", "3")], more].concat();
    let subjects = vec![
        subject("pifo", &one(&[])),
        subject("pifo", &one(&[("ties", "heap")])),
        subject("fifo", &one(&[])),
        subject("strict-priority", &with(&[("ranks", "4")])),
        subject("sp-pifo", &two),
        subject("sp-pifo", &with(&[("order", "push-down-first"), ("on_full", "update")])),
        subject("sp-pifo-greedy", &with(&[("window_packets", "2"), ("ranks", "4")])),
        subject("sp-pifo-optimal", &with(&[("weights", "0,2,1,1")])),
        subject("slack-sp", &with(&[("initial_bounds", "2,"), ("admission_gain", "1/2")])),
        subject("spring", &with(&[("gain", "1/2")])),
        subject("aifo", &one(&[("window", "2"), ("k", "0")])),
        subject("aifo", &one(&[("window", "2"), ("sample", "2")])),
        subject("packs", &with(&[("window", "2"), ("k", "0")])),
        subject("packs", &with(&[("window", "2"), ("map", "geometric")])),
        subject("packs", &with(&[("window", "2"), ("update", "after"), ("quantile", "le")])),
        subject("rifo", &one(&[("tracking_range_packets", "3")])),
        subject("exp-pifo", &with(&[("window_packets", "3")])),
        subject("afq", &with(&[("bytes_per_round", "3000")])),
        subject("pieo", &one(&[])),
    ];
    for name in library_names() {
        assert!(subjects.iter().any(|subject| subject.name() == name), "{name} is not compared");
    }
    subjects
}

fn all_traces(packets: usize, ranks: &Ranks) -> Vec<Trace> {
    let mut traces = vec![Vec::new()];
    for _ in 0..packets {
        let longer = |trace: &Vec<u64>| {
            let trace = trace.clone();
            (ranks.lowest..=ranks.highest).map(move |rank| [&trace[..], &[rank]].concat())
        };
        traces = traces.iter().flat_map(longer).collect();
    }
    traces.into_iter().map(Trace::batch).collect()
}

/// The largest gap over all traces and start windows; `None` if no trace is allowed.
fn brute_force(problem: &Problem<'_>, windows: &[Option<Vec<u64>>]) -> Option<Amount> {
    let alphabet = problem.alphabet();
    let allowed = |trace: &Trace, window: Option<&[u64]>| {
        let drops = |subject| Outcome::of(subject, trace, window).sent.len() < trace.ranks.len();
        problem.constraint.allows(&trace.ranks, &alphabet)
            && (!problem.no_drops || !(drops(problem.a) || problem.b.is_some_and(drops)))
    };
    let traces = all_traces(problem.packets, &problem.ranks);
    let gaps = windows.iter().flat_map(|window| {
        let window = window.as_deref();
        let traces = traces.iter().filter(move |trace| allowed(trace, window));
        traces.map(move |trace| gap_of(problem, trace, window)).collect::<Vec<_>>()
    });
    gaps.max()
}

fn check(problem: &Problem<'_>, windows: &[Option<Vec<u64>>]) {
    let named = || format!("{} {} against {:?}", problem.metric.name(), problem.a.name(), problem.b.map(Subject::name));
    let limits = Limits::new(None, 1 << 28, 2);
    match (solve(problem, None, &limits, &mut |_, _| {}), brute_force(problem, windows)) {
        (Ok(answer), Some(most)) => {
            assert_eq!((answer.gap, answer.bound, answer.proven), (most, Some(most), true), "{}", named());
            assert_eq!(gap_of(problem, &answer.trace, answer.start_window.as_deref()), most, "{}", named());
        }
        (Err(Error::Impossible), None) => {}
        (answer, most) => panic!("{}: {answer:?}, but by brute force {most:?}", named()),
    }
}

#[test]
fn exact_search_equals_brute_force_for_every_ordered_pair_of_schedulers() {
    let subjects = subjects();
    for metric in ["WD", "WI"] {
        for a in &subjects {
            for b in subjects.iter().map(|b| Some(&**b as &dyn Subject)).chain([None]) {
                let metric = find_metric(metric).unwrap();
                let problem = Problem {
                    a: &**a,
                    b,
                    metric,
                    ranks: RANKS,
                    packets: 5,
                    no_drops: false,
                    free_window: false,
                    constraint: Constraint::default(),
                };
                check(&problem, &[None]);
            }
        }
    }
}

#[test]
fn exact_search_equals_brute_force_without_drops_and_with_a_free_window() {
    let subjects = subjects();
    let windows: Vec<_> = all_traces(2, &RANKS).into_iter().map(|trace| Some(trace.ranks)).collect();
    let windowed: Vec<&Made> = subjects.iter().filter(|subject| subject.window().is_some()).collect();
    assert_eq!(windowed.len(), 5);
    for metric in METRICS.iter().copied().filter(|metric| metric.is_additive()) {
        for a in &windowed {
            for b in subjects.iter().map(|b| Some(&**b as &dyn Subject)).chain([None]) {
                for (packets, no_drops) in [(4, false), (3, true)] {
                    let problem = Problem {
                        a: &***a,
                        b,
                        metric,
                        ranks: RANKS,
                        packets,
                        no_drops,
                        free_window: true,
                        constraint: Constraint::default(),
                    };
                    check(&problem, &windows);
                }
            }
        }
    }
}

#[test]
fn a_mean_delay_is_searched_exactly_where_no_packet_may_be_dropped() {
    let subjects = subjects();
    let metric = find_metric("delay").unwrap();
    let mut compared = 0;
    for a in &subjects {
        for b in subjects.iter().map(|b| Some(&**b as &dyn Subject)).chain([None]) {
            let (free_window, constraint) = (false, Constraint::default());
            let (a, no_drops) = (&**a, true);
            let problem = Problem { a, b, metric, ranks: RANKS, packets: 3, no_drops, free_window, constraint };
            check(&problem, &[None]);
            compared += 1;
        }
    }
    assert!(compared > 200);
}

#[test]
fn drops_beyond_a_pifo_have_a_proof_for_one_scheduler_and_a_bound_for_two() {
    let subjects = subjects();
    let metric = find_metric("excess-drops").unwrap();
    let mut loose = 0;
    for a in &subjects {
        for b in subjects.iter().map(|b| Some(&**b as &dyn Subject)).chain([None]) {
            let (no_drops, free_window, constraint) = (false, false, Constraint::default());
            let problem = Problem { a: &**a, b, metric, ranks: RANKS, packets: 6, no_drops, free_window, constraint };
            let most = brute_force(&problem, &[None]).unwrap();
            let limits = Limits::new(None, 1 << 28, 1);
            let answer = solve(&problem, None, &limits, &mut |_, _| {}).unwrap();
            let named = format!("{} against {:?}: {answer:?}, not {most}", a.name(), b.map(Subject::name));
            let bound = answer.bound.unwrap();
            assert!(answer.gap <= most && most <= bound && bound < Amount::from(6), "{named}");
            assert_eq!(answer.proven, answer.gap == bound, "{named}");
            assert!(b.is_some_and(|b| b.name() != "pifo") || answer.proven, "{named}");
            loose += u32::from(!answer.proven);
        }
    }
    assert!(loose > 0, "no pair has an answer that only a guided search improves");
}

#[test]
fn without_drops_no_scheduler_has_drops_beyond_a_pifo_and_a_trace_shows_it_wherever_there_is_one() {
    let subjects = subjects();
    let metric = find_metric("excess-drops").unwrap();
    for a in &subjects {
        for b in subjects.iter().map(|b| Some(&**b as &dyn Subject)).chain([None]) {
            for packets in 2..=4 {
                let (no_drops, free_window, constraint) = (true, false, Constraint::default());
                let problem = Problem { a: &**a, b, metric, ranks: RANKS, packets, no_drops, free_window, constraint };
                check(&problem, &[None]);
            }
        }
    }
}

#[test]
fn no_trace_is_an_error_not_a_gap() {
    let fifo = subject("fifo", &[("capacity_packets", "3")]);
    let metric = find_metric("WD").unwrap();
    let problem = Problem {
        a: &*fifo,
        b: None,
        metric,
        ranks: RANKS,
        packets: 4,
        no_drops: true,
        free_window: false,
        constraint: Constraint::default(),
    };
    assert_eq!(solve(&problem, None, &Limits::new(None, 1 << 28, 1), &mut |_, _| {}).unwrap_err(), Error::Impossible);
}

#[test]
fn exact_search_equals_brute_force_under_constraints() {
    let subjects = subjects();
    let constraints = [
        Constraint { multiset: Some(vec![2, 1, 2]), ..Constraint::default() },
        Constraint { flows: Some((2, Trend::Rising)), ..Constraint::default() },
        Constraint { flows: Some((1, Trend::Falling)), benign: vec![(1, 3), (3, 1)], ..Constraint::default() },
    ];
    for constraint in constraints {
        for a in &subjects {
            for b in [&subjects[0], &subjects[4]] {
                let metric = find_metric("WI").unwrap();
                let (b, constraint) = (Some(&**b as &dyn Subject), constraint.clone());
                let problem = Problem {
                    a: &**a,
                    b,
                    metric,
                    ranks: RANKS,
                    packets: 5,
                    no_drops: false,
                    free_window: false,
                    constraint,
                };
                check(&problem, &[None]);
            }
        }
    }
}

fn guidance(seed: u64) -> Guidance {
    Guidance { seed, evaluations: 20_000, strategies: Strategy::ALL.to_vec(), initial: None, windows: Vec::new() }
}

/// A scheduler with a window of `size` ranks, which may start with given ranks.
fn windowed(name: &str, size: usize, start: Option<&[u64]>) -> Made {
    let size = size.to_string();
    let start: Option<String> = start.map(|ranks| ranks.iter().map(|rank| format!("{rank},")).collect());
    let mut options = vec![("window", size.as_str())];
    match name {
        "aifo" => options.extend([("capacity_packets", "4"), ("k", "0")]),
        _ => options.extend([("queues", "2"), ("queue_capacity_packets", "2"), ("k", "0")]),
    }
    options.extend(start.as_deref().map(|ranks| ("start_window", ranks)));
    subject(name, &options)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_free_window_finds_no_less_than_the_windows_that_it_begins_with(
        sides in (0usize..2, 0usize..3),
        sizes in (1usize..4, 1usize..4),
        method in prop::sample::select(Method::ALL),
        metric in prop::sample::select(vec!["WD", "WI", "delay", "excess-drops"]),
        packets in 4usize..9,
        highest in 2u64..5,
        memory in prop::sample::select(vec![0usize, 1 << 14, 1 << 28]),
        load in prop::sample::select(vec![None, Some("1.5")]),
        given in prop::collection::vec(1u64..5, 3),
        seed in 1u64..100,
    ) {
        let names = ["aifo", "packs", "pifo"];
        let make = |side: usize, size: usize, window: Option<&[u64]>| match names[side] {
            "pifo" => subject("pifo", &[("capacity_packets", "4")]),
            name => windowed(name, size, window.map(|window| &window[window.len() - size..])),
        };
        let size = if names[sides.1] == "pifo" { sizes.0 } else { sizes.0.max(sizes.1) };
        let given: Vec<u64> = given.into_iter().take(size).map(|rank| rank.min(highest)).collect();
        // A number of packets whose traces are enumerated quickly.
        let packets = if method == Method::Enumerate { packets.min(5) } else { packets };
        let limits = || Limits::new(None, memory, 2);
        let guidance = Guidance { evaluations: 200, windows: vec![given.clone()], ..guidance(seed) };
        let by = |window: Option<&[u64]>| {
            let (a, b) = (make(sides.0, sizes.0, window), make(sides.1, sizes.1, window));
            let problem = Problem {
                a: &*a,
                b: Some(&*b),
                metric: find_metric(metric).unwrap(),
                ranks: Ranks { lowest: 1, highest, counted: 1 },
                packets,
                no_drops: false,
                free_window: window.is_none(),
                constraint: Constraint { load: load.map(|load| load.parse().unwrap()), ..Constraint::default() },
            };
            let found = attack(&problem, method, &guidance, &limits(), &mut |_, _| {});
            if let Ok(answer) = &found {
                assert_eq!(gap_of(&problem, &answer.trace, answer.start_window.as_deref()), answer.gap);
                assert!(answer.bound.is_none_or(|bound| bound >= answer.gap), "{answer:?}");
            }
            (found, fixed_windows(&problem))
        };
        let (free, windows) = by(None);
        prop_assert!(windows.iter().all(|window| window.len() == size));
        for window in windows.iter().chain([&given]) {
            match (&free, by(Some(window)).0) {
                (Ok(free), Ok(fixed)) => prop_assert!(free.gap >= fixed.gap, "{window:?}: {free:?} {fixed:?}"),
                (Err(Error::Unsuited(_)), Err(Error::Unsuited(_))) => {}
                (free, fixed) => prop_assert!(false, "{window:?}: {free:?} {fixed:?}"),
            }
        }
    }

    #[test]
    fn a_shrunk_trace_loses_its_gap_without_any_packet_and_with_any_rank_lowered(
        sides in (0usize..19, 0usize..20),
        metric in 0..METRICS.len(),
        packets in prop::collection::vec((2u64..8, 0u32..4), 1..12),
        is_batch in any::<bool>(),
    ) {
        let subjects = subjects();
        let problem = Problem {
            a: &*subjects[sides.0],
            b: subjects.get(sides.1).map(|b| &**b as &dyn Subject),
            metric: METRICS[metric],
            ranks: Ranks { lowest: 1, highest: 7, counted: 1 },
            packets: packets.len(),
            no_drops: false,
            free_window: false,
            constraint: Constraint::default(),
        };
        prop_assume!(problem.check().is_ok());
        let (ranks, departures): (_, Vec<u32>) = packets.into_iter().unzip();
        let trace = Trace { ranks, departures: if is_batch { Vec::new() } else { departures } };
        let least = gap_of(&problem, &trace, None);
        let (shrunk, kept) = shrink(&problem, &trace, None, least, &unlimited()).unwrap();
        prop_assert!(kept >= least && gap_of(&problem, &shrunk, None) == kept);
        for place in 0..shrunk.ranks.len() {
            prop_assert!(gap_of(&problem, &shrunk.without(place), None) < least, "{shrunk:?} without {place}");
            for lower in 1..shrunk.ranks[place] {
                let lowered = |rank: &u64| if *rank == shrunk.ranks[place] { lower } else { *rank };
                let other = Trace { ranks: shrunk.ranks.iter().map(lowered).collect(), ..shrunk.clone() };
                prop_assert!(gap_of(&problem, &other, None) < least, "{shrunk:?} {other:?}");
            }
        }
    }

    #[test]
    fn no_shorter_trace_keeps_the_gap_of_a_shrunk_one(
        sides in (0usize..19, 0usize..20),
        metric in 0..METRICS.len(),
        ranks in prop::collection::vec(1u64..4, 0..8),
        half in any::<bool>(),
    ) {
        let subjects = subjects();
        let problem = Problem {
            a: &*subjects[sides.0],
            b: subjects.get(sides.1).map(|b| &**b as &dyn Subject),
            metric: METRICS[metric],
            ranks: RANKS,
            packets: ranks.len(),
            no_drops: false,
            free_window: false,
            constraint: Constraint::default(),
        };
        let trace = Trace::batch(ranks);
        let gap = gap_of(&problem, &trace, None);
        let (numerator, denominator) = gap.parts();
        let least = if half && numerator > 0 { Amount::new(numerator, 2 * denominator) } else { gap };
        let (shrunk, kept) = shrink(&problem, &trace, None, least, &unlimited()).unwrap();
        prop_assert!(kept >= least && gap_of(&problem, &shrunk, None) == kept);
        prop_assert!(shrunk.ranks.len() <= trace.ranks.len());
        for length in 0..shrunk.ranks.len() {
            for other in all_traces(length, &RANKS) {
                prop_assert!(gap_of(&problem, &other, None) < least, "{shrunk:?} {other:?}");
            }
        }
    }
}

#[test]
fn guided_search_finds_the_optimum_of_small_problems_on_any_number_of_workers() {
    let subjects = subjects();
    for metric in METRICS {
        let packs = subjects.iter().find(|subject| subject.name() == "packs").unwrap();
        for a in [&subjects[4], packs] {
            let b = Some(&*subjects[0] as &dyn Subject);
            let constraint = Constraint::default();
            let problem = Problem {
                a: &**a,
                b,
                metric: *metric,
                ranks: RANKS,
                packets: 5,
                no_drops: false,
                free_window: false,
                constraint,
            };
            let most = brute_force(&problem, &[None]).unwrap();
            let by = |workers| {
                let limits = Limits::new(None, 1 << 28, workers);
                attack(&problem, Method::Guided, &guidance(7), &limits, &mut |_, _| {}).unwrap()
            };
            let (one, three) = (by(1), by(3));
            assert_eq!(one.gap, most, "{}", metric.name());
            assert_eq!((one.gap, &one.trace, one.evaluations), (three.gap, &three.trace, three.evaluations));
            let limits = Limits::new(None, 1 << 28, 1);
            let all = attack(&problem, Method::Enumerate, &guidance(7), &limits, &mut |_, _| {}).unwrap();
            assert_eq!((all.gap, all.proven), (most, true));
        }
    }
}

#[test]
fn interleaved_departures_are_searched_and_measured_alike() {
    let subjects = subjects();
    let constraint = Constraint { load: Some("1.5".parse().unwrap()), burst: 3, ..Constraint::default() };
    for metric in METRICS {
        let (a, b) = (&*subjects[4], Some(&*subjects[0] as &dyn Subject));
        let problem = Problem {
            a,
            b,
            metric: *metric,
            ranks: RANKS,
            packets: 7,
            no_drops: false,
            free_window: false,
            constraint: constraint.clone(),
        };
        let limits = Limits::new(None, 1 << 28, 1);
        let all = attack(&problem, Method::Auto, &guidance(1), &limits, &mut |_, _| {}).unwrap();
        let guided = attack(&problem, Method::Guided, &guidance(1), &limits, &mut |_, _| {}).unwrap();
        assert!(all.proven && !guided.proven);
        assert_eq!(all.trace.departures, [0, 0, 2, 0, 0, 2, 0]);
        assert_eq!(gap_of(&problem, &all.trace, None), all.gap, "{}", metric.name());
        assert_eq!(guided.gap, all.gap, "{}", metric.name());
    }
}

#[test]
fn a_shrunk_witness_loses_its_gap_with_any_packet_taken_out() {
    let subjects = subjects();
    let metric = find_metric("WI").unwrap();
    let (a, b) = (&*subjects[4], Some(&*subjects[0] as &dyn Subject));
    let ranks = Ranks { lowest: 1, highest: 6, counted: 1 };
    let problem = Problem {
        a,
        b,
        metric,
        ranks,
        packets: 9,
        no_drops: false,
        free_window: false,
        constraint: Constraint::default(),
    };
    let answer = solve(&problem, None, &Limits::new(None, 1 << 28, 1), &mut |_, _| {}).unwrap();
    for least in [answer.gap, Amount::new(answer.gap.integer().unwrap(), 2)] {
        let (trace, gap) = shrink(&problem, &answer.trace, None, least, &unlimited()).unwrap();
        assert!(gap >= least && gap_of(&problem, &trace, None) == gap);
        for place in 0..trace.ranks.len() {
            let without = trace.without(place);
            assert!(gap_of(&problem, &without, None) < least, "{trace:?} without {place}");
            for other in 0..without.ranks.len() {
                for rank in 1..=6 {
                    let mut changed = without.clone();
                    changed.ranks[other] = rank;
                    assert!(gap_of(&problem, &changed, None) < least, "{trace:?}: {changed:?}");
                }
            }
        }
    }
}
