//! Bounds that do not follow each packet: fixed, greedy, optimal.

use crate::oracle::{Buffer, serve_first, store};
use crate::{Answer, Offer, Oracle, Settings};
use num_rational::BigRational;
use pifolab_sched::DropReason;

/// The queue of a rank: the last whose bound it reaches, or the first.
fn queue_of(bounds: &[i128], rank: i128) -> usize {
    (0..bounds.len()).rev().find(|queue| rank >= bounds[*queue]).unwrap_or(0)
}

/// ceil(i R / n).
fn uniform(queues: usize, ranks: i128) -> Vec<i128> {
    let queues = queues as i128;
    (0..queues).map(|queue| (queue * ranks + queues - 1) / queues).collect()
}

/// The unpifoness of eq. 4 and 5: over pairs r < r' in one queue, p(r) p(r') cost.
fn unpifoness(distribution: &[(i128, u128)], bounds: &[i128], one: bool) -> u128 {
    let mut sum = 0;
    for (low, p) in distribution {
        for (high, q) in distribution {
            if low < high && queue_of(bounds, *low) == queue_of(bounds, *high) {
                sum += p * q * if one { 1 } else { (high - low) as u128 };
            }
        }
    }
    sum
}

/// What bounds cost, with nothing rounded.
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

    /// Of a queue that takes the ranks from `start` to below `end`.
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

    /// The least cost of the ranks below `end` in so many queues, the last of which starts at `start`.
    fn with_last(&self, start: usize, end: usize, before: usize) -> BigRational {
        let (others, last) = (self.least(start, before), self.of(start, end));
        if self.takes_largest { others.max(last) } else { others + last }
    }

    /// The least cost of the ranks below `end` in so many queues.
    fn least(&self, end: usize, queues: usize) -> BigRational {
        if queues == 1 {
            return self.of(0, end);
        }
        (0..=end).map(|start| self.with_last(start, end, queues - 1)).min().expect("there is a start")
    }
}

/// Strict priority with fixed bounds.
pub struct StrictPriority {
    queues: Vec<Buffer>,
    bounds: Vec<i128>,
}

impl From<Settings> for StrictPriority {
    fn from(settings: Settings) -> Self {
        let queues = Buffer::all(&settings.capacities());
        let spread = || uniform(queues.len(), settings.get("ranks", 100));
        let bounds = settings.get_list("bounds").unwrap_or_else(spread);
        Self { queues, bounds }
    }
}

impl Oracle for StrictPriority {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        store(&mut self.queues, queue_of(&self.bounds, offer.rank.into()), offer)
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        serve_first(&mut self.queues)
    }
}

/// Optimal fixed bounds: all of them are tried. From the last queue back, the smallest start that is optimal is taken.
pub struct Optimal(StrictPriority);

impl From<Settings> for Optimal {
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

impl Oracle for Optimal {
    fn enqueue(&mut self, offer: Offer, now: u64) -> Answer {
        self.0.enqueue(offer, now)
    }

    fn dequeue(&mut self, now: u64) -> Answer {
        self.0.dequeue(now)
    }
}

/// The greedy algorithm: the risk of each step is computed anew from eq. 4 and 5.
pub struct Greedy {
    fixed: StrictPriority,
    settings: Settings,
    sample: Vec<i128>,
}

impl From<Settings> for Greedy {
    fn from(settings: Settings) -> Self {
        let queues = Buffer::all(&settings.capacities());
        let spread = || uniform(queues.len(), settings.get("ranks", 100));
        let bounds = settings.get_list("initial_bounds").unwrap_or_else(spread);
        Self { fixed: StrictPriority { queues, bounds }, settings, sample: Vec::new() }
    }
}

/// As the paper's public code: a bound goes to the next rank up if the packets behind it lie further away in sum than
/// those before it, or else down to the largest one before if that is the other way round from there. Where no larger rank
/// came, the next one up is where the neighbour was. Packets that were the largest when they came do not count downwards.
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

impl Greedy {
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
                let now = unpifoness(&distribution, bounds, false) as i128;
                let change = |step: i128| {
                    let mut moved = bounds.clone();
                    moved[place] += step;
                    let crosses = !moved.is_sorted();
                    if crosses { i128::MAX } else { unpifoness(&distribution, &moved, false) as i128 - now }
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

impl Oracle for Greedy {
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
