//! The best fixed bounds for a known distribution of ranks (SP-PIFO, eq. 4 and 5).

use super::strict_priority::{StrictPriority, unpifoness};
use crate::draw::{THREE, THREE_BYTES};
use crate::line::{PRIORITIES, Suite, Vectors, line};
use crate::oracle::Buffer;
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};
use num_rational::BigRational;

/// The costs of bounds, without rounding.
struct Costs {
    weights: Vec<u128>,
    cost: String,
    takes_largest: bool,
}

impl Costs {
    fn new(settings: &Settings) -> Self {
        let weights = settings.get_list("weights").unwrap_or_else(|| vec![1; 100]);
        Self {
            weights: weights.into_iter().map(|weight| weight as u128).collect(),
            cost: settings.get_word("cost", "difference").to_owned(),
            takes_largest: settings.get_word("combine", "sum") == "max",
        }
    }

    /// The cost of a queue with the ranks from `start` to below `end`.
    fn of(&self, start: usize, end: usize) -> BigRational {
        let whole = |number: u128| BigRational::from_integer(number.into());
        let own: Vec<(i128, u128)> = (start..end).map(|rank| (rank as i128, self.weights[rank])).collect();
        let mass: u128 = own.iter().map(|(_, p)| p).sum();
        match self.cost.as_str() {
            "upper" => whole(mass * own.len().saturating_sub(1) as u128) / whole(2),
            "exact" if mass == 0 => whole(0),
            "exact" => whole(unpifoness(&own, &[0], false)) / whole(mass),
            cost => whole(unpifoness(&own, &[0], cost == "one")),
        }
    }

    /// The least cost of the ranks below `end` with `before` queues and a last queue that begins at `start`.
    fn with_last(&self, start: usize, end: usize, before: usize) -> BigRational {
        let (others, last) = (self.least(start, before), self.of(start, end));
        if self.takes_largest { others.max(last) } else { others + last }
    }

    /// The least cost of the ranks below `end` in `queues` queues.
    fn least(&self, end: usize, queues: usize) -> BigRational {
        if queues == 1 {
            return self.of(0, end);
        }
        (0..=end).map(|start| self.with_last(start, end, queues - 1)).min().expect("there is a start")
    }
}

/// The optimal fixed bounds, by trying all bounds. From the last queue back, each queue has the smallest optimal start.
pub struct SpPifoOptimal(StrictPriority);

impl From<Settings> for SpPifoOptimal {
    fn from(settings: Settings) -> Self {
        let queues = Buffer::all(&settings.capacities());
        let costs = Costs::new(&settings);
        let mut bounds = vec![0; queues.len()];
        let mut end = costs.weights.len();
        for queue in (1..queues.len()).rev() {
            let least = costs.least(end, queue + 1);
            let is_best = |start: &usize| costs.with_last(*start, end, queue) == least;
            end = (0..=end).find(is_best).expect("the least cost has a start");
            bounds[queue] = end as i128;
        }
        Self(StrictPriority { queues, bounds })
    }
}

impl Oracle for SpPifoOptimal {
    fn enqueue(&mut self, offer: Offer, now: u64) -> Answer {
        self.0.enqueue(offer, now)
    }

    fn dequeue(&mut self, now: u64) -> Answer {
        self.0.dequeue(now)
    }
}

/// Adds SP-PIFO-optimal to the suite.
pub(crate) const SUITE: Suite =
    Suite { lines: &[line::<SpPifoOptimal>("sp-pifo-optimal", optimal, PRIORITIES)], vectors };

fn optimal(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    // Few queues and ranks, because the oracle tries all bounds.
    let queues = source.from_to(1, 4);
    settings.integer("queues", queues);
    let (capacity, most) =
        if source.once_in(4) { ("queue_capacity_bytes", 6_000) } else { ("queue_capacity_packets", 6) };
    settings.integer(capacity, source.from_to(1, most));
    let mut weights: Vec<u64> = (0..source.from_to(1, 9)).map(|_| source.below(6)).collect();
    weights[0] += u64::from(weights.iter().all(|weight| *weight == 0));
    settings.list("weights", weights);
    settings.draw_word(source, "cost", &["difference", "one", "upper", "exact"]);
    settings.draw_word(source, "combine", &["sum", "max"]);
    settings
}

fn vectors(add: &mut Vectors) {
    for (what, cost) in [("difference", "difference"), ("one", "one")] {
        add.vector(what, Ranks::Few, &|s| {
            s.list("queue_capacity_packets", THREE);
            s.list("weights", [9, 0, 3, 3, 1, 0, 0, 5]);
            s.word("cost", cost);
        });
    }
    add.vector("bytes", Ranks::Few, &|s| {
        s.list("queue_capacity_bytes", THREE_BYTES);
        s.list("weights", [1, 2, 3, 4, 5, 6, 7, 8]);
        s.word("cost", "difference");
    });
    for (what, cost, combine) in [
        ("upper_sum", "upper", "sum"),
        ("exact_sum", "exact", "sum"),
        ("upper_max", "upper", "max"),
        ("exact_max", "exact", "max"),
    ] {
        add.vector(what, Ranks::Few, &|s| {
            s.list("queue_capacity_packets", THREE);
            s.list("weights", [9, 0, 3, 3, 1, 0, 0, 5]);
            s.word("cost", cost);
            s.word("combine", combine);
        });
    }
}
