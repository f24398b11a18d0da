//! SP-PIFO's greedy algorithm: bounds that follow a gradient.

use super::strict_priority::{StrictPriority, queue_of, uniform, unpifoness};
use crate::draw::{THREE, THREE_BYTES, draw_bounds, draw_queues};
use crate::line::{PRIORITIES, Suite, Vectors, line};
use crate::oracle::Buffer;
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};
use pifolab_sched::DropReason;

/// The greedy algorithm: each step computes its cost anew from eq. 4 and 5.
pub struct SpPifoGreedy {
    fixed: StrictPriority,
    settings: Settings,
    sample: Vec<i128>,
}

impl From<Settings> for SpPifoGreedy {
    fn from(settings: Settings) -> Self {
        let queues = Buffer::all(&settings.capacities());
        let spread = || uniform(queues.len(), settings.get("ranks", 100));
        let bounds = settings.get_list("initial_bounds").unwrap_or_else(spread);
        Self { fixed: StrictPriority { queues, bounds }, settings, sample: Vec::new() }
    }
}

/// The sums of eq. 16, taken anew from the ranks of the window: a bound moves where those of its own queue are larger.
fn by_counters(bounds: &mut [i128], ranks: &[i128], one: bool) {
    let before = bounds.to_vec();
    let sum = |queue: usize, from: i128| -> i128 {
        let held = ranks.iter().filter(|rank| queue_of(&before, **rank) == queue);
        held.map(|rank| if one { i128::from(*rank != from) } else { (rank - from).abs() }).sum()
    };
    for place in (1..bounds.len()).rev() {
        let here = before[place];
        let room = bounds.get(place + 1).is_none_or(|next| bounds[place] < *next);
        if room && sum(place - 1, here) < sum(place, here) {
            bounds[place] += 1;
        } else if bounds[place] > bounds[place - 1] && sum(place, here - 1) < sum(place - 1, here - 1) {
            bounds[place] -= 1;
        }
    }
}

/// Moves the bounds as in the paper's public code. A bound moves up to the next larger rank of its queue (at most the
/// neighbour's bound) if its queue's ranks have a larger total distance from the bound than those of the queue before.
/// Otherwise the bound moves down to the largest rank of the queue before, if the comparison at that rank has the
/// opposite result. Packets with the largest rank so far do not count in the second comparison.
fn to_seen(bounds: &mut [i128], ranks: &[i128], end: i128) {
    let before = bounds.to_vec();
    let in_queue = |queue: usize| ranks.iter().copied().filter(|rank| queue_of(&before, *rank) == queue).collect();
    for place in (1..bounds.len()).rev() {
        let (own, above): (Vec<i128>, Vec<i128>) = (in_queue(place), in_queue(place - 1));
        let here = bounds[place];
        let neighbour = |bounds: &[i128]| bounds.get(place + 1).copied().unwrap_or(end);
        let up = own.iter().copied().filter(|rank| *rank > here).min();
        let up = up.unwrap_or(i128::MAX).min(neighbour(&before));
        let mut largest = before[place - 1];
        let mut overtaken: Vec<i128> = Vec::new();
        for rank in &above {
            largest = largest.max(*rank);
            overtaken.extend(Some(*rank).filter(|rank| *rank != largest));
        }
        let below: i128 = above.iter().map(|rank| here - rank).sum();
        let beyond: i128 = own.iter().map(|rank| rank - here).sum();
        let below_largest: i128 = overtaken.iter().map(|rank| largest - rank).sum();
        let beyond_largest: i128 = own.iter().map(|rank| rank - largest).sum();
        if below < beyond && up != neighbour(bounds) {
            bounds[place] = up;
        } else if below_largest > beyond_largest && largest != bounds[place - 1] {
            bounds[place] = largest;
        }
    }
}

impl SpPifoGreedy {
    fn count(&mut self, rank: i128) {
        self.sample.push(rank);
        if self.sample.len() as i128 == self.settings.get("window_packets", 1000) {
            self.adapt();
        }
    }

    fn adapt(&mut self) {
        if self.settings.get_word("steps", "one") == "next-seen" {
            to_seen(&mut self.fixed.bounds, &std::mem::take(&mut self.sample), self.settings.get("ranks", 100));
            return;
        }
        let one = self.settings.get_word("cost", "difference") == "one";
        if self.settings.get_word("steps", "one") == "counters" {
            by_counters(&mut self.fixed.bounds, &std::mem::take(&mut self.sample), one);
            return;
        }
        let mut distribution: Vec<(i128, u128)> = Vec::new();
        for rank in std::mem::take(&mut self.sample) {
            match distribution.iter_mut().find(|(known, _)| *known == rank) {
                Some((_, count)) => *count += 1,
                None => distribution.push((rank, 1)),
            }
        }
        let bounds = &mut self.fixed.bounds;
        let steps = self.settings.get_word("steps", "one");
        let least = i128::from(steps == "one-or-equal");
        loop {
            let before = bounds.clone();
            for place in (1..bounds.len()).rev() {
                let now = unpifoness(&distribution, bounds, one) as i128;
                let change = |step: i128| {
                    let mut moved = bounds.clone();
                    moved[place] += step;
                    let crosses = !moved.is_sorted();
                    if crosses { i128::MAX } else { unpifoness(&distribution, &moved, one) as i128 - now }
                };
                let (up, down) = (change(1), change(-1));
                if up < least && up <= down {
                    bounds[place] += 1;
                } else if down < least && down < up {
                    bounds[place] -= 1;
                }
            }
            if steps != "until-convergence" || *bounds == before {
                return;
            }
        }
    }
}

impl Oracle for SpPifoGreedy {
    fn enqueue(&mut self, offer: Offer, now: u64) -> Answer {
        let rank = i128::from(offer.rank);
        if self.settings.maybe("ranks").is_some_and(|ranks| rank >= ranks) {
            return Answer::Dropped(DropReason::RankOutOfRange);
        }
        let admitted_only = self.settings.get_word("steps", "one") == "next-seen";
        let early = (!admitted_only).then(|| self.count(rank));
        let answer = self.fixed.enqueue(offer, now);
        if early.is_none() && matches!(answer, Answer::Admitted { .. }) {
            self.count(rank);
        }
        answer
    }

    fn dequeue(&mut self, now: u64) -> Answer {
        self.fixed.dequeue(now)
    }
}

/// Adds SP-PIFO-greedy to the suite.
pub(crate) const SUITE: Suite =
    Suite { lines: &[line::<SpPifoGreedy>("sp-pifo-greedy", greedy, PRIORITIES)], vectors };

fn greedy(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    let queues = draw_queues(source, &mut settings);
    settings.integer("window_packets", source.from_to(1, 24));
    if source.once_in(2) {
        draw_bounds(source, &mut settings, "initial_bounds", queues);
    }
    if source.once_in(2) {
        settings.integer("ranks", source.pick(&[8u64, 100, 1 << 40]));
    }
    settings.draw_word(source, "steps", &["one", "until-convergence", "one-or-equal", "next-seen", "counters"]);
    if settings.get_word("steps", "one") != "next-seen" {
        settings.draw_word(source, "cost", &["difference", "one"]);
    }
    settings
}

fn vectors(add: &mut Vectors) {
    for (what, steps) in [("one_step", "one"), ("until_convergence", "until-convergence")] {
        add.vector(what, Ranks::Hundred, &|s| {
            s.list("queue_capacity_packets", THREE);
            s.integer("window_packets", 20);
            s.list("initial_bounds", [0, 10, 20]);
            s.integer("ranks", 100);
            s.word("steps", steps);
        });
    }
    add.vector("rank_out_of_range", Ranks::Few, &|s| {
        s.list("queue_capacity_bytes", THREE_BYTES);
        s.integer("window_packets", 7);
        s.list("initial_bounds", [0, 2, 4]);
        s.integer("ranks", 6);
        s.word("steps", "one");
    });
}
