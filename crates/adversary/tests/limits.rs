//! The answers of searches that run out of memory or time, or that a user interrupts.

use pifolab_adversary::{
    Amount, Answer, Constraint, End, Error, Guidance, Initial, Limits, METRICS, Method, Problem, Ranks, Strategy,
    Subject, Trend, attack, find_metric, gap_of, library, solve,
};
use pifolab_sched::params::{Args, Choice, Value};
use std::sync::atomic::Ordering;
use std::time::Duration;

fn subject(name: &str, options: &[(&str, i128)]) -> Box<dyn Subject + Send> {
    let mut args = Args::new(name);
    for (key, value) in options {
        args.set(*key, Value::Integer(*value));
    }
    library(name, &args).unwrap().unwrap()
}

#[test]
fn an_order_within_flows_is_refused_since_searched_packets_have_none() {
    let mut args = Args::new("pifo");
    args.set("starvation_prevention", Value::Flag(true));
    let Some(Err(error)) = library("pifo", &args) else { panic!("it has no flows to keep in order") };
    let expected =
        "pifo: starvation_prevention = true: expected false, since the packets of a searched trace have no flows";
    assert_eq!(error.to_string(), expected);
    args.set("starvation_prevention", Value::Flag(false));
    assert!(library("pifo", &args).unwrap().is_ok());
}

fn guidance() -> Guidance {
    Guidance { seed: 3, evaluations: 50_000, strategies: Strategy::ALL.to_vec(), initial: None, windows: Vec::new() }
}

/// SP-PIFO against PACKS, `packets` packets of 7 ranks.
fn with_problem<T>(metric: &str, packets: usize, body: impl FnOnce(&Problem<'_>) -> T) -> T {
    let a = subject("sp-pifo", &[("queues", 3), ("queue_capacity_packets", 4)]);
    let b = subject("packs", &[("queues", 3), ("queue_capacity_packets", 4), ("window", 4)]);
    body(&Problem {
        a: &*a,
        b: Some(&*b),
        metric: find_metric(metric).unwrap(),
        ranks: Ranks { lowest: 1, highest: 7, counted: 1 },
        packets,
        no_drops: false,
        free_window: false,
        constraint: Constraint::default(),
    })
}

fn is_sound(problem: &Problem<'_>, answer: &Answer) {
    assert_eq!(gap_of(problem, &answer.trace, answer.start_window.as_deref()), answer.gap);
    let bound = answer.bound.unwrap();
    assert!(bound >= answer.gap);
    assert_eq!(answer.proven, bound == answer.gap);
}

#[test]
fn a_search_that_is_ended_before_its_first_trace_still_has_an_answer_and_a_bound() {
    for metric in METRICS {
        for &method in Method::ALL {
            with_problem(metric.name(), 13, |problem| {
                let cancelled = Limits::new(None, 1 << 28, 2);
                cancelled.cancelled.store(true, Ordering::Relaxed);
                let late = Limits::new(Some(Duration::ZERO), 1 << 28, 1);
                for limits in [cancelled, late] {
                    match attack(problem, method, &guidance(), &limits, &mut |_, _| {}) {
                        Ok(answer) => is_sound(problem, &answer),
                        Err(Error::Unsuited(_)) => assert!(method == Method::Exact && !metric.is_additive()),
                        Err(error) => panic!("{} {method:?}: {error:?}", metric.name()),
                    }
                }
            });
        }
    }
}

#[test]
fn little_memory_yields_the_best_answer_and_a_bound() {
    let most = with_problem("WI", 7, |problem| {
        solve(problem, None, &Limits::new(None, 1 << 30, 2), &mut |_, _| {}).unwrap().gap
    });
    for memory in [0, 1 << 16, 1 << 20, 1 << 24, 1 << 30] {
        with_problem("WI", 7, |problem| {
            let limits = Limits::new(None, memory, 2);
            let answer = attack(problem, Method::Exact, &guidance(), &limits, &mut |_, _| {}).unwrap();
            is_sound(problem, &answer);
            assert!(answer.gap <= most && answer.bound.unwrap() >= most, "{memory} bytes: {answer:?}");
            assert_eq!(
                limits.reached().filter(|_| !answer.proven),
                (!answer.proven).then_some(End::Memory),
                "{memory}"
            );
        });
    }
}

#[test]
fn out_of_memory_the_search_goes_on_without_a_proof_alike_on_any_number_of_workers() {
    const MEMORY: usize = 1 << 25;
    let by = |method, workers| {
        with_problem("WI", 18, |problem| {
            let answer =
                attack(problem, method, &guidance(), &Limits::new(None, MEMORY, workers), &mut |_, _| {}).unwrap();
            is_sound(problem, &answer);
            answer
        })
    };
    let (exact, goes_on) = (by(Method::Exact, 1), by(Method::Auto, 1));
    assert!(!goes_on.proven && goes_on.gap >= exact.gap && goes_on.bound <= exact.bound, "{exact:?} {goes_on:?}");
    assert!(goes_on.evaluations >= exact.evaluations + guidance().evaluations, "{goes_on:?}");
    let again = by(Method::Auto, 2);
    assert_eq!((again.gap, &again.trace, again.bound), (goes_on.gap, &goes_on.trace, goes_on.bound));
}

#[test]
fn a_trace_without_drops_is_found_where_they_are_rare_and_one_that_is_not_found_is_not_called_impossible() {
    let queues = [("queues", 3), ("queue_capacity_packets", 5)];
    let a = subject("sp-pifo", &queues);
    let b = subject("packs", &[queues.as_slice(), &[("window", 4)]].concat());
    let problem = |packets| Problem {
        a: &*a,
        b: Some(&*b),
        metric: find_metric("WI").unwrap(),
        ranks: Ranks { lowest: 1, highest: 11, counted: 1 },
        packets,
        no_drops: true,
        free_window: false,
        constraint: Constraint::default(),
    };
    // All places are filled at the end: almost no trace in a million does that.
    let full = problem(15);
    let mut gaps = Vec::new();
    for (method, memory) in [(Method::Guided, 0), (Method::Auto, 0), (Method::Auto, 1 << 24)] {
        let answer = attack(&full, method, &guidance(), &Limits::new(None, memory, 2), &mut |_, _| {}).unwrap();
        assert_eq!(gap_of(&full, &answer.trace, None), answer.gap);
        assert!(method == Method::Guided || answer.bound.unwrap() >= answer.gap, "{answer:?}");
        gaps.push(answer.gap);
    }
    assert!(gaps.iter().all(|gap| *gap > Amount::from(100)), "{gaps:?}");
    // Without any time: the best of a few traces.
    let late = Limits::new(Some(Duration::ZERO), 1 << 24, 1);
    is_sound(&full, &attack(&full, Method::Auto, &guidance(), &late, &mut |_, _| {}).unwrap());
    let more = attack(&problem(16), Method::Guided, &guidance(), &Limits::new(None, 0, 1), &mut |_, _| {});
    assert!(matches!(more, Err(Error::NoneFound(tried, None)) if tried >= 50_000), "{more:?}");
}

#[test]
fn few_traces_whose_ranks_rise_are_tried_one_by_one_where_memory_does_not_suffice() {
    with_problem("WI", 13, |problem| {
        let constraint = Constraint { flows: Some((1, Trend::Rising)), ..Constraint::default() };
        let problem = Problem { constraint, ..*problem };
        let by = |memory| attack(&problem, Method::Auto, &guidance(), &Limits::new(None, memory, 1), &mut |_, _| {});
        let (little, enough) = (by(0).unwrap(), by(1 << 28).unwrap());
        assert!(little.proven && enough.proven, "{little:?} {enough:?}");
        // 19! / (13! 6!)
        assert_eq!((little.gap, little.evaluations), (enough.gap, 27_132), "{little:?}");
    });
}

#[test]
fn few_orders_of_given_ranks_are_tried_one_by_one_where_memory_does_not_suffice() {
    // 9! / (2! 5!) orders.
    let multiset = Some(vec![2, 1, 1, 0, 0, 0, 5]);
    with_problem("WI", 9, |problem| {
        let constraint = Constraint { multiset: multiset.clone(), ..Constraint::default() };
        let problem = Problem { constraint, ..*problem };
        let by = |memory| attack(&problem, Method::Auto, &guidance(), &Limits::new(None, memory, 1), &mut |_, _| {});
        let (little, enough) = (by(0).unwrap(), by(1 << 28).unwrap());
        assert!(little.proven && enough.proven, "{little:?} {enough:?}");
        assert!(little.gap > Amount::from(0));
        assert_eq!((little.gap, little.evaluations), (enough.gap, 1512), "{little:?}");
    });
}

#[test]
fn a_search_goes_on_from_an_earlier_answer() {
    with_problem("WI", 9, |problem| {
        let by = |method, initial| {
            let guidance = Guidance { initial, evaluations: 3_000, ..guidance() };
            attack(problem, method, &guidance, &Limits::new(None, 1 << 28, 2), &mut |_, _| {}).unwrap()
        };
        let of = |answer: &Answer| {
            Some(Initial {
                ranks: answer.trace.ranks.clone(),
                window: answer.start_window.clone(),
                evaluations: answer.evaluations,
            })
        };
        let first = by(Method::Guided, None);
        let second = by(Method::Guided, of(&first));
        assert!(second.gap >= first.gap && second.evaluations >= 2 * first.evaluations, "{first:?} {second:?}");
        assert_eq!(by(Method::Guided, of(&first)).trace, second.trace);
        let (exact, known) = (by(Method::Exact, None), by(Method::Exact, of(&second)));
        assert_eq!((known.gap, known.bound, known.proven), (exact.gap, exact.bound, true));
        // With the best trace known, the search finds nothing better, but still proves it.
        let best = by(Method::Exact, of(&exact));
        assert_eq!((best.gap, best.proven, &best.trace), (exact.gap, true, &exact.trace));
    });
}

#[test]
fn the_page_names_every_metric_method_and_strategy() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/attack.md")).unwrap();
    for name in METRICS.iter().map(|metric| metric.name()) {
        assert!(page.contains(&format!("`{name}`")), "metric {name}");
    }
    for method in Method::ALL {
        assert!(page.contains(&format!("\n| `{}` |", method.word())), "method {}", method.word());
    }
    let guided = page.lines().find(|line| line.starts_with("| `guided` |")).unwrap();
    let words = guided.split(|c: char| !c.is_alphanumeric()).collect::<Vec<_>>();
    for strategy in Strategy::ALL {
        assert!(words.contains(&strategy.word()), "strategy {}", strategy.word());
    }
}
