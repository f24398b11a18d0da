//! Slack-SP and Spring, from the formulas of docs/slack.md: quantiles in floating point, registers in whole multiples.

use crate::oracle::{Buffer, serve_first, store};
use crate::{Answer, Offer, Oracle, Settings};
use num_rational::BigRational;
use pifolab_sched::DropReason;

pub(super) fn number(fraction: &BigRational) -> f64 {
    let part = |part: &num_bigint::BigInt| i64::try_from(part).expect("it has small parts") as f64;
    part(fraction.numer()) / part(fraction.denom())
}

/// 1 - eps^(k/(n-1)).
pub(super) fn quantile(eps: &BigRational, k: usize, queues: usize) -> f64 {
    1.0 - number(eps).powf(k as f64 / (queues - 1) as f64)
}

/// Registers hold multiples of this part of a rank.
const PART: f64 = (1 << 20) as f64;

/// Slack-SP.
pub struct SlackSp {
    queues: Vec<Buffer>,
    bounds: Vec<i128>,
    /// T and the highest rank seen.
    limit: i128,
    highest: i128,
    settings: Settings,
}

impl From<Settings> for SlackSp {
    fn from(settings: Settings) -> Self {
        let queues = Buffer::all(&settings.capacities());
        let (n, ranks) = (queues.len() as i128, settings.get("ranks", 100));
        let spread = || (1..n).map(|k| k * ranks / n).collect();
        let bounds = settings.get_list("initial_bounds").unwrap_or_else(spread);
        let bounds = bounds.into_iter().map(|bound| bound.min(1 << 42) << 20).collect();
        Self { queues, bounds, limit: i128::MAX, highest: 0, settings }
    }
}

impl SlackSp {
    fn move_bound(&mut self, k: usize, above: bool) {
        let q = quantile(&self.settings.get_fraction("eps", (1, 10)), k + 1, self.queues.len());
        let proportional = self.settings.get_word("steps", "constant") == "proportional";
        let step = number(&self.settings.get_fraction("step", if proportional { (1, 128) } else { (1, 2) }));
        let scale = if proportional { (1u64 << 32) as f64 } else { PART };
        let up = (q * step * scale).round() as i128;
        let whole = (step * scale).round() as i128;
        let distance = if above { up } else { whole - up };
        let bound = self.bounds[k];
        let distance = if proportional { ((bound * distance) >> 32).max(1) } else { distance };
        self.bounds[k] += if above { distance } else { -distance };
    }

    /// T += c (target - occupancy), up to the highest rank seen; a limit up there lets everything in.
    fn refuses(&mut self, rank: i128) -> bool {
        if self.settings.get_list("admission_gain").is_none() {
            return false;
        }
        let gain = (number(&self.settings.get_fraction("admission_gain", (1, 1))) * PART).round() as i128;
        let held: usize = self.queues.iter().map(|queue| queue.held.len()).sum();
        let places: u64 = self.queues.iter().map(Buffer::total).sum();
        let target = self.settings.get("target_packets", i128::from(places) * 9 / 10);
        let is_open = self.limit >= self.highest;
        self.highest = self.highest.max(rank);
        let refused = !is_open && rank > self.limit;
        let limit = if is_open { self.limit.max(rank) } else { self.limit };
        self.limit = limit.saturating_add(gain * (target - held as i128)).min(self.highest).max(0);
        refused
    }
}

impl Oracle for SlackSp {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        let rank = i128::from(offer.rank).min(1 << 42) << 20;
        let reached: Vec<bool> = self.bounds.iter().map(|bound| rank >= *bound).collect();
        let queue = reached.iter().filter(|reached| **reached).count();
        for (k, reached) in reached.into_iter().enumerate() {
            self.move_bound(k, reached);
        }
        if self.refuses(rank) {
            return Answer::Dropped(DropReason::Admission);
        }
        let last = if self.settings.get_flag("fall_through", true) { self.queues.len() } else { queue + 1 };
        match (queue..last).find(|queue| self.queues[*queue].fits(&offer)) {
            Some(queue) => store(&mut self.queues, queue, offer),
            None => Answer::Dropped(DropReason::Full),
        }
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        serve_first(&mut self.queues)
    }
}

/// Spring; bounds and forces are multiples of 2^-32.
pub struct Spring {
    queues: Vec<Buffer>,
    bounds: Vec<i128>,
    forces: Vec<i128>,
    previous: Vec<Option<u64>>,
    highest: i128,
    settings: Settings,
}

impl From<Settings> for Spring {
    fn from(settings: Settings) -> Self {
        let queues = Buffer::all(&settings.capacities());
        let n = queues.len();
        Self {
            queues,
            bounds: (0..n as i128).map(|bound| bound << 32).collect(),
            forces: vec![0; n],
            previous: vec![None; n],
            highest: 0,
            settings,
        }
    }
}

impl Spring {
    fn push(&mut self, hit: usize, rank: u64) {
        let gain = self.settings.get_fraction("gain", (1, 128));
        let one = BigRational::from_integer((1i128 << 32).into());
        let gain = i128::try_from((gain * one).floor().to_integer()).expect("below one");
        let force = self.settings.get_word("force", "packets");
        for queue in 0..self.queues.len() {
            if force == "fill" {
                self.forces[queue] = (self.queues[queue].held.len() as i128) << 32;
            } else if queue == hit || self.settings.get_word("decays", "all") == "all" {
                self.forces[queue] -= self.forces[queue] * gain / (1 << 32);
            }
        }
        let is_inversion = self.previous[hit].is_some_and(|previous| previous > rank);
        if force == "packets" || force == "inversions" && is_inversion {
            self.forces[hit] += gain;
        }
        self.previous[hit] = Some(rank);
    }
}

impl Oracle for Spring {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        let n = self.queues.len();
        let rank = i128::from(offer.rank);
        self.highest = self.highest.max(rank);
        // ceil(b) <= r.
        let hit = (0..n).rev().find(|queue| (self.bounds[*queue] + (1 << 32) - 1) >> 32 <= rank).unwrap_or(0);
        self.push(hit, offer.rank);
        let speed = self.settings.get_fraction("speed", (1, 1));
        for i in (1..n).rev() {
            let difference = BigRational::from_integer((self.forces[i] - self.forces[i - 1]).into());
            let moved = i128::try_from((difference * &speed).trunc().to_integer()).expect("a small move");
            let mut most = self.highest.max(n as i128 - 1) << 32;
            if i + 1 < n {
                most = most.min(self.bounds[i + 1] - (1 << 32));
            }
            let bound = (self.bounds[i] + moved).min(most);
            self.bounds[i] = bound.max(self.bounds[i - 1] + (1 << 32));
        }
        store(&mut self.queues, hit, offer)
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        serve_first(&mut self.queues)
    }
}
