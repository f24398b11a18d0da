//! PACKS: compares the quantile of a rank with the free space of each queue.

use super::aifo::{Window, draw_window, fraction, set_window, single};
use crate::draw::{THREE, THREE_BYTES, draw_delay, draw_from, draw_queues};
use crate::line::{PRIORITIES, Suite, Vectors, line};
use crate::oracle::{Buffer, Found, number, serve_first, store};
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};
use num_rational::BigRational;
use pifolab_sched::DropReason;

/// PACKS, Algorithm 1 and the approximation of section 5.
pub struct Packs {
    queues: Vec<Buffer>,
    found: Found,
    window: Window,
    arrivals: i128,
    settings: Settings,
}

impl From<Settings> for Packs {
    fn from(settings: Settings) -> Self {
        Self {
            queues: Buffer::all(&settings.capacities()),
            found: Found::default(),
            window: Window::new(&settings, settings.get("window", 1000)),
            arrivals: 0,
            settings,
        }
    }
}

impl Packs {
    /// The share of the buffer that counts as free for queue `i`, counted from 1; `queues` may be delayed.
    fn free(&self, queues: &[Buffer], i: usize) -> BigRational {
        let total: i128 = queues.iter().map(|queue| i128::from(queue.total())).sum();
        let free = |queues: &[Buffer]| -> i128 {
            queues.iter().map(|queue| i128::from(queue.total()) - i128::from(queue.used())).sum()
        };
        if self.settings.get_word("occupancy", "per-queue") == "global" {
            fraction(free(queues), total) * fraction(i as i128, queues.len() as i128)
        } else {
            fraction(free(&queues[..i]), total)
        }
    }

    /// The test of the published simulation for queue `i`, counted from 1.
    fn passes_in_floats(&self, queues: &[Buffer], i: usize, count: i128) -> bool {
        let room = |queues: &[Buffer]| queues.iter().map(Buffer::total).sum::<u64>() as f64;
        let free = |queues: &[Buffer]| queues.iter().map(|queue| queue.total() - queue.used()).sum::<u64>() as f64;
        let k = single(&self.settings.get_fraction("k", (0, 1)));
        let (share, free) = match self.settings.get_word("occupancy", "per-queue") {
            "global" => (i as f64 * (1.0 / queues.len() as f64), free(queues)),
            _ => (1.0, free(&queues[..i])),
        };
        let held = self.window.ranks.len().max(1) as f64;
        let threshold = (1.0 / f64::from(1.0f32 - k)) * share * free / room(queues) * held;
        match self.settings.get_word("compare", "le") {
            "lt" => (count as f64) < threshold,
            _ => count as f64 <= threshold,
        }
    }

    /// The first queue whose share, (1 - eps^(k/(n-1))) / load, is above the quantile; otherwise the last queue.
    fn mapped(&self, quantile: &BigRational) -> usize {
        let n = self.queues.len();
        let (eps, load) = (self.settings.get_fraction("eps", (1, 50)), self.settings.get_fraction("load", (11, 10)));
        // Powers of eps are rounded, so nearly equal quantiles count as equal.
        let below = |k: &usize| number(quantile) < super::slack_sp::quantile(&eps, *k, n) / number(&load) - 1e-12;
        (1..n).find(below).map_or(n - 1, |k| k - 1)
    }

    /// Chooses the queue of the packet; `queues` may be delayed.
    fn select(&self, queues: &[Buffer], offer: &Offer) -> Result<usize, DropReason> {
        let quantile = self.window.quantile(offer.rank.into());
        let k = self.settings.get_fraction("k", (0, 1));
        let below = self.settings.get_word("compare", "le") == "lt";
        let in_floats = self.settings.get_word("arithmetic", "exact") == "netbench";
        let passing = (0..queues.len()).filter(|queue| {
            if in_floats {
                return self.passes_in_floats(queues, queue + 1, self.window.count(offer.rank.into()));
            }
            let threshold = self.free(queues, queue + 1) / (fraction(1, 1) - &k);
            if below { quantile < threshold } else { quantile <= threshold }
        });
        let mut candidates: Vec<usize> = passing.collect();
        if !candidates.is_empty() && self.settings.get_word("map", "occupancy") == "geometric" {
            candidates = (self.mapped(&quantile)..queues.len()).collect();
        }
        let considered = if self.settings.get_flag("fall_through", true) { candidates.len() } else { 1 };
        let mut considered = candidates.iter().take(considered);
        match considered.find(|queue| queues[**queue].fits(offer)) {
            Some(queue) => Ok(*queue),
            None if candidates.is_empty() => Err(DropReason::Admission),
            None => Err(DropReason::Full),
        }
    }
}

impl Oracle for Packs {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        let before = self.settings.get_word("update", "before") == "before";
        let sampled = self.arrivals % self.settings.get("sample", 1) == 0;
        self.arrivals += 1;
        if sampled && before {
            self.window.push(offer.rank.into());
        }
        let seen = self.found.seen(&self.queues, &self.settings);
        let queue = self.select(&seen, &offer);
        if sampled && !before {
            self.window.push(offer.rank.into());
        }
        match queue {
            Ok(queue) => store(&mut self.queues, queue, offer),
            Err(reason) => Answer::Dropped(reason),
        }
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        serve_first(&mut self.queues)
    }
}

/// Adds PACKS to the suite.
pub(crate) const SUITE: Suite = Suite { lines: &[line::<Packs>("packs", packs, PRIORITIES)], vectors };

fn packs(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    draw_queues(source, &mut settings);
    draw_window(source, &mut settings);
    settings.draw_word(source, "compare", &["le", "lt"]);
    settings.draw_word(source, "occupancy", &["per-queue", "global"]);
    settings.draw_word(source, "arithmetic", &["exact", "netbench"]);
    if source.once_in(3) {
        settings.integer("sample", source.from_to(1, 5));
    }
    if source.once_in(3) {
        settings.flag("fall_through", source.once_in(2));
    }
    settings.draw_word(source, "map", &["occupancy", "geometric"]);
    if settings.get_word("map", "occupancy") == "geometric" {
        draw_from(source, &mut settings, "eps", &[[1, 10], [1, 3], [9, 10]]);
        draw_from(source, &mut settings, "load", &[[1, 1], [2, 1], [1, 2]]);
    }
    if source.once_in(3) {
        settings.integer("shift", i128::from(source.below(200)) - 100);
    }
    draw_delay(source, &mut settings);
    settings
}

fn vectors(add: &mut Vectors) {
    for (what, shift) in [("shift_up", 30), ("shift_down", -30)] {
        add.vector(what, Ranks::Hundred, &|s| {
            s.list("queue_capacity_packets", THREE);
            set_window(s, 20, [1, 10], "lt", "before");
            s.integer("shift", shift);
        });
    }
    add.vector("geometric", Ranks::Hundred, &|s| {
        s.list("queue_capacity_packets", THREE);
        set_window(s, 20, [1, 10], "lt", "before");
        s.word("map", "geometric");
        s.list("eps", [1, 10]);
    });
    add.vector("bytes", Ranks::Hundred, &|s| {
        s.list("queue_capacity_bytes", THREE_BYTES);
        set_window(s, 20, [1, 10], "lt", "before");
    });
    add.vector("global_bytes", Ranks::Hundred, &|s| {
        s.list("queue_capacity_bytes", THREE_BYTES);
        set_window(s, 20, [0, 1], "le", "after");
        s.word("occupancy", "global");
    });
    add.vector("global_no_fall_through", Ranks::Few, &|s| {
        s.list("queue_capacity_packets", THREE);
        set_window(s, 8, [1, 3], "lt", "before");
        s.word("occupancy", "global");
        s.flag("fall_through", false);
    });
    add.vector("late_lengths", Ranks::Hundred, &|s| {
        s.list("queue_capacity_packets", THREE);
        set_window(s, 20, [1, 10], "lt", "before");
        s.integer("occupancy_delay_packets", 2);
    });
    add.vector("start_window_any_rank", Ranks::Any, &|s| {
        s.list("queue_capacity_packets", THREE);
        set_window(s, 8, [0, 1], "lt", "before");
        s.list("start_window", [1 << 62, 1 << 61, 7]);
    });
}
