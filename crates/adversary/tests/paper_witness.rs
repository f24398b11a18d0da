//! Whether a trace with as few inversions of the lowest rank as PACKS (NSDI 2025) counts in its Fig. 20 and 21 can be a worst
//! one. It also is an example of a metric that the library does not have.

use pifolab_adversary::{Amount, Constraint, Limits, Metric, Problem, Ranks, Subject, library, solve};
use pifolab_sched::params::{Args, Value};

/// WI, of which each inversion of the lowest rank costs `discount` less.
struct Discounted {
    discount: i64,
}

impl Metric for Discounted {
    fn name(&self) -> &'static str {
        "WI-discounted"
    }

    fn summary(&self) -> &'static str {
        "WI minus the inversions of the lowest rank"
    }

    fn overtake_price(&self, first: u64, later: u64, ranks: &Ranks) -> i64 {
        if first > later { ranks.weight(later) - self.discount * i64::from(later == ranks.lowest) } else { 0 }
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

/// The largest gap in WI that a trace can have in which `a` makes at most so many inversions of rank 1, for any discount: the
/// largest discounted gap of all traces, and the discount of those inversions.
fn most_with_few(a: &dyn Subject, b: &dyn Subject, inversions: i64, discount: i64) -> i64 {
    let problem = Problem {
        a,
        b: Some(b),
        metric: &Discounted { discount },
        ranks: Ranks { lowest: 1, highest: 11, counted: 1 },
        packets: 15,
        no_drops: true,
        free_window: false,
        constraint: Constraint::default(),
    };
    let answer = solve(&problem, None, &Limits::new(None, 8 << 30, 2), &mut |_, _| {}).unwrap();
    println!("{} against {}, discount {discount}: {answer:?}", a.name(), b.name());
    let bound = answer.bound.and_then(Amount::integer).unwrap();
    bound + discount * inversions
}

#[test]
#[ignore = "a minute with optimisation, many without"]
fn no_trace_with_the_papers_few_inversions_of_rank_1_is_a_worst_one() {
    let sp_pifo = subject("sp-pifo", &[("order", Value::Text("push-down-first".to_owned()))]);
    let packs = |window: [i128; 4]| {
        let window = window.map(Value::Integer).to_vec();
        subject("packs", &[("window", Value::Integer(4)), ("start_window", Value::List(window))])
    };
    for discount in [1, 3, 6, 10] {
        // The optima are 611 and 725.
        let most = most_with_few(&*sp_pifo, &*packs([1, 1, 1, 1]), 20, discount);
        println!("Fig. 20: {most}");
        let most = most_with_few(&*packs([1, 1, 11, 11]), &*sp_pifo, 24, discount);
        println!("Fig. 21: {most}");
    }
}
