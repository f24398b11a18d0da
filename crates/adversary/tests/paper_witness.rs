//! Whether a trace with as few inversions as PACKS (NSDI 2025) counts in its Fig. 20 and 21 can be the worst one. It also is
//! an example of a metric that the library does not have.

use pifolab_adversary::{Amount, Constraint, Limits, Metric, Problem, Ranks, Subject, library, solve};
use pifolab_sched::params::{Args, Value};

/// WI, of which each inversion of the lowest rank costs one less.
struct Discounted;

impl Metric for Discounted {
    fn name(&self) -> &'static str {
        "WI-discounted"
    }

    fn summary(&self) -> &'static str {
        "WI minus the inversions of the lowest rank"
    }

    fn overtake_price(&self, first: u64, later: u64, ranks: &Ranks) -> i64 {
        if first > later { ranks.weight(later) - i64::from(later == ranks.lowest) } else { 0 }
    }
}

fn subject(name: &str, more: &[(&str, Value)]) -> Box<dyn Subject + Send> {
    let mut args = Args::new(name);
    args.set("queues", Value::Integer(3)).set("queue_capacity_packets", Value::Integer(15));
    for (key, value) in more {
        args.set(*key, value.clone());
    }
    library(name, &args).unwrap().unwrap()
}

/// The most of WI minus rank 1's inversions, over all traces: a trace with n inversions of rank 1 has a gap of at most n more.
fn most_discounted(a: &dyn Subject, b: &dyn Subject) -> Amount {
    let problem = Problem {
        a,
        b: Some(b),
        metric: &Discounted,
        ranks: Ranks { lowest: 1, highest: 11, counted: 1 },
        packets: 15,
        no_drops: true,
        free_window: false,
        constraint: Constraint::default(),
    };
    let answer = solve(&problem, None, &Limits::new(None, 8 << 30, 2), &mut |_, _| {}).unwrap();
    println!("{} against {}: {answer:?}", a.name(), b.name());
    answer.bound.unwrap()
}

#[test]
#[ignore = "minutes"]
fn no_trace_with_the_papers_few_inversions_of_rank_1_is_the_worst() {
    let sp_pifo = subject("sp-pifo", &[("order", Value::Text("push-down-first".to_owned()))]);
    let packs = |window: [i128; 4]| {
        let window = window.map(Value::Integer).to_vec();
        subject("packs", &[("window", Value::Integer(4)), ("start_window", Value::List(window))])
    };
    // The optima are 611 and 725.
    let most = most_discounted(&*sp_pifo, &*packs([1, 1, 1, 1]));
    assert!(most < Amount::from(611 - 20), "Fig. 20: {most}");
    let most = most_discounted(&*packs([1, 1, 11, 11]), &*sp_pifo);
    assert!(most < Amount::from(725 - 24), "Fig. 21: {most}");
}
