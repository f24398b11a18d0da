//! Slack-SP, from the formulas of lab/pages/slack.md. Quantiles are floating point; registers are whole multiples.

#[path = "slack_sp/shares.rs"]
mod shares;

use crate::draw::{THREE, THREE_BYTES, draw_from, draw_queues};
use crate::line::{PRIORITIES, Suite, Vectors, line};
use crate::oracle::{Buffer, number, serve_first, store};
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};
use num_rational::BigRational;
use pifolab_sched::DropReason;
use shares::Shares;

/// 1 - eps^(k/(n-1)).
pub(super) fn quantile(eps: &BigRational, k: usize, queues: usize) -> f64 {
    1.0 - number(eps).powf(k as f64 / (queues - 1) as f64)
}

/// The number of units per rank in registers.
const PART: f64 = (1 << 20) as f64;

/// Slack-SP.
pub enum SlackSp {
    /// As on the scheduler's page.
    Bounds(Bounds),
    /// With `map = shares`.
    Shares(Shares),
}

impl From<Settings> for SlackSp {
    fn from(settings: Settings) -> Self {
        match settings.get_word("map", "bounds") {
            "bounds" => Self::Bounds(settings.into()),
            _ => Self::Shares(settings.into()),
        }
    }
}

impl Oracle for SlackSp {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        match self {
            Self::Bounds(bounds) => bounds.enqueue(offer),
            Self::Shares(shares) => shares.enqueue(offer),
        }
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        match self {
            Self::Bounds(bounds) => serve_first(&mut bounds.queues),
            Self::Shares(shares) => shares.dequeue(),
        }
    }
}

/// Slack-SP with a bound before each queue except the first.
pub struct Bounds {
    queues: Vec<Buffer>,
    bounds: Vec<i128>,
    /// `limit` is T; `highest` is the highest rank so far.
    limit: i128,
    highest: i128,
    settings: Settings,
}

impl From<Settings> for Bounds {
    fn from(settings: Settings) -> Self {
        let queues = Buffer::all(&settings.capacities());
        let (n, ranks) = (queues.len() as i128, settings.get("ranks", 100));
        let spread = || (1..n).map(|k| k * ranks / n).collect();
        let bounds = settings.get_list("initial_bounds").unwrap_or_else(spread);
        let bounds = bounds.into_iter().map(|bound| bound.min(1 << 42) << 20).collect();
        Self { queues, bounds, limit: i128::MAX, highest: 0, settings }
    }
}

impl Bounds {
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

    /// T += c (target - occupancy), at most the highest rank so far; a limit of that rank admits all packets.
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

impl Bounds {
    fn enqueue(&mut self, offer: Offer) -> Answer {
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
}

/// Adds Slack-SP to the suite.
pub(crate) const SUITE: Suite = Suite { lines: &[line::<SlackSp>("slack-sp", slack_sp, PRIORITIES)], vectors };

fn slack_sp(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    if source.once_in(3) {
        return slack_shares(source, settings);
    }
    let queues = draw_queues(source, &mut settings);
    draw_from(source, &mut settings, "eps", &[[1, 50], [1, 3], [1, 4], [9, 10]]);
    settings.draw_word(source, "steps", &["constant", "proportional"]);
    match settings.get_word("steps", "constant") {
        "constant" => draw_from(source, &mut settings, "step", &[[1, 8], [1, 1], [7, 3], [40, 1]]),
        _ => draw_from(source, &mut settings, "step", &[[1, 16], [1, 1000], [2, 3]]),
    }
    match source.below(3) {
        0 => settings.list("initial_bounds", (1..queues).map(|_| source.below(100)).collect::<Vec<_>>()),
        1 => settings.integer("ranks", source.pick(&[1u64, 100, 1 << 45])),
        _ => {}
    }
    if source.once_in(3) {
        settings.flag("fall_through", source.once_in(2));
    }
    if source.once_in(3) {
        settings.list("admission_gain", source.pick(&[[1u64, 1], [1, 10], [25, 2]]));
        settings.integer("target_packets", source.below(20));
    }
    settings
}

fn slack_shares(source: &mut Source<'_>, mut settings: Settings) -> Settings {
    settings.word("map", "shares");
    let queues = source.pick(&[1, 2, 3, 4, 5, 9]);
    settings.list("queue_capacity_packets", (0..queues).map(|_| 1 + source.below(6)).collect::<Vec<_>>());
    let registers = 2 + source.below(14);
    settings.integer("registers", registers);
    settings.integer("top_registers", 1 + source.below(registers - 1));
    draw_from(source, &mut settings, "gain", &[[2, 1], [1, 8], [7, 3], [64, 1]]);
    draw_from(source, &mut settings, "eps", &[[1, 50], [1, 3], [1, 4], [9, 10]]);
    draw_from(source, &mut settings, "last_weight", &[[1, 1], [1, 10], [2, 3]]);
    if source.once_in(2) {
        settings.integer("ranks", source.pick(&[1u64, 10, 1 << 45]));
    }
    if source.once_in(2) {
        settings.integer("recent", source.pick(&[0u64, 1, 8]));
    }
    settings
}

fn vectors(add: &mut Vectors) {
    add.vector("packets", Ranks::Hundred, &|s| {
        s.list("queue_capacity_packets", THREE);
        s.list("eps", [1, 10]);
        s.list("step", [4, 1]);
    });
    add.vector("bytes_without_fall_through", Ranks::Hundred, &|s| {
        s.list("queue_capacity_bytes", THREE_BYTES);
        s.list("initial_bounds", [10, 60]);
        s.flag("fall_through", false);
    });
    add.vector("proportional_any_rank", Ranks::Any, &|s| {
        s.list("queue_capacity_packets", THREE);
        s.word("steps", "proportional");
        s.list("step", [1, 8]);
        s.integer("ranks", 1i128 << 40);
    });
    add.vector("admission", Ranks::Hundred, &|s| {
        s.list("queue_capacity_packets", THREE);
        s.list("admission_gain", [2, 1]);
        s.integer("target_packets", 4);
    });
    add.vector("shares", Ranks::Hundred, &|s| {
        s.word("map", "shares");
        s.list("queue_capacity_packets", THREE);
    });
    add.vector("shares_great_gain", Ranks::Hundred, &|s| {
        s.word("map", "shares");
        s.list("queue_capacity_packets", THREE);
        s.list("gain", [64, 1]);
    });
    add.vector("shares_any_rank", Ranks::Any, &|s| {
        s.word("map", "shares");
        s.list("queue_capacity_packets", THREE);
        s.integer("registers", 5);
        s.integer("top_registers", 1);
        s.list("gain", [1, 3]);
        s.list("last_weight", [1, 4]);
        s.integer("ranks", 1i128 << 40);
    });
}
