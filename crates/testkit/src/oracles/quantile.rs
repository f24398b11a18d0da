//! AIFO and PACKS: the quantile of a rank in a sliding window, in fractions.

use super::slack::number;
use crate::oracle::{Buffer, serve_first, store};
use crate::{Answer, Offer, Oracle, Settings};
use num_rational::BigRational;
use pifolab_sched::DropReason;

fn fraction(numerator: i128, denominator: i128) -> BigRational {
    BigRational::new(numerator.into(), denominator.into())
}

/// k in 32 bits.
pub(super) fn single(k: &BigRational) -> f32 {
    let part = |part: &num_bigint::BigInt| i64::try_from(part).expect("k has small parts") as f64;
    (part(k.numer()) / part(k.denom())) as f32
}

/// The latest ranks.
struct Window {
    ranks: Vec<i128>,
    size: usize,
    shift: i128,
    inclusive: bool,
}

impl Window {
    fn new(settings: &Settings, size: i128) -> Self {
        Self {
            ranks: settings.get_list("start_window").unwrap_or_default(),
            size: size as usize,
            shift: settings.get("shift", 0),
            inclusive: settings.get_word("quantile", "lt") == "le",
        }
    }

    fn push(&mut self, rank: i128) {
        self.ranks.push(rank);
        if self.ranks.len() > self.size {
            self.ranks.remove(0);
        }
    }

    fn count(&self, rank: i128) -> i128 {
        let counts = |held: &&i128| {
            let held = **held + self.shift;
            held < rank || self.inclusive && held == rank
        };
        self.ranks.iter().filter(counts).count() as i128
    }

    fn quantile(&self, rank: i128) -> BigRational {
        if self.ranks.is_empty() { fraction(0, 1) } else { fraction(self.count(rank), self.ranks.len() as i128) }
    }
}

/// AIFO, Algorithm 1.
pub struct Aifo {
    buffer: [Buffer; 1],
    window: Window,
    arrivals: i128,
    settings: Settings,
}

impl From<Settings> for Aifo {
    fn from(settings: Settings) -> Self {
        Self {
            buffer: [Buffer::new(settings.capacity())],
            window: Window::new(&settings, settings.get("window", 20)),
            arrivals: 0,
            settings,
        }
    }
}

impl Aifo {
    fn passes(&self, rank: i128) -> bool {
        let capacity = i128::from(self.buffer[0].total());
        let target = self.settings.maybe("target_packets").or(self.settings.maybe("target_bytes")).unwrap_or(capacity);
        let used = i128::from(self.buffer[0].used());
        let k = self.settings.get_fraction("k", (1, 10));
        let strict = self.settings.get_word("compare", "le") == "lt";
        let headroom = self.settings.get_flag("headroom", true);
        if self.settings.get_word("arithmetic", "exact") == "netbench" {
            // k and 1 - k in 32 bits, the rest in 64.
            let k = single(&k);
            if headroom && used as f64 <= f64::from(k) * target as f64 {
                return true;
            }
            let held = self.window.ranks.len().max(1) as f64;
            let threshold = (1.0 / f64::from(1.0f32 - k)) * (target - used) as f64 / target as f64 * held;
            let count = self.window.count(rank) as f64;
            return used <= target && if strict { count < threshold } else { count <= threshold };
        }
        let threshold = fraction(target - used, target) / (fraction(1, 1) - &k);
        let quantile = self.window.quantile(rank);
        if headroom && fraction(used, 1) <= k * fraction(target, 1) {
            return true;
        }
        if strict { quantile < threshold } else { quantile <= threshold }
    }
}

impl Oracle for Aifo {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        let rank = i128::from(offer.rank);
        let sampled = self.arrivals % self.settings.get("sample", 1) == 0;
        let before = self.settings.get_word("update", "before") == "before";
        self.arrivals += 1;
        if sampled && before {
            self.window.push(rank);
        }
        let passes = self.passes(rank);
        if sampled && !before {
            self.window.push(rank);
        }
        if passes { store(&mut self.buffer, 0, offer) } else { Answer::Dropped(DropReason::Admission) }
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        serve_first(&mut self.buffer)
    }
}

/// PACKS, Algorithm 1 and the approximation of section 5.
pub struct Packs {
    queues: Vec<Buffer>,
    window: Window,
    arrivals: i128,
    settings: Settings,
}

impl From<Settings> for Packs {
    fn from(settings: Settings) -> Self {
        Self {
            queues: Buffer::all(&settings.capacities()),
            window: Window::new(&settings, settings.get("window", 1000)),
            arrivals: 0,
            settings,
        }
    }
}

impl Packs {
    /// The share of the buffer that counts as free for queue `i`, from 1.
    fn free(&self, i: usize) -> BigRational {
        let total: i128 = self.queues.iter().map(|queue| i128::from(queue.total())).sum();
        let free = |queues: &[Buffer]| -> i128 {
            queues.iter().map(|queue| i128::from(queue.total()) - i128::from(queue.used())).sum()
        };
        if self.settings.get_word("occupancy", "per-queue") == "global" {
            fraction(free(&self.queues), total) * fraction(i as i128, self.queues.len() as i128)
        } else {
            fraction(free(&self.queues[..i]), total)
        }
    }

    /// The test of the published simulation for queue `i`, from 1.
    fn passes_in_floats(&self, i: usize, count: i128) -> bool {
        let room = |queues: &[Buffer]| queues.iter().map(Buffer::total).sum::<u64>() as f64;
        let free = |queues: &[Buffer]| queues.iter().map(|queue| queue.total() - queue.used()).sum::<u64>() as f64;
        let k = single(&self.settings.get_fraction("k", (0, 1)));
        let (share, free) = match self.settings.get_word("occupancy", "per-queue") {
            "global" => (i as f64 * (1.0 / self.queues.len() as f64), free(&self.queues)),
            _ => (1.0, free(&self.queues[..i])),
        };
        let held = self.window.ranks.len().max(1) as f64;
        let threshold = (1.0 / f64::from(1.0f32 - k)) * share * free / room(&self.queues) * held;
        match self.settings.get_word("compare", "le") {
            "lt" => (count as f64) < threshold,
            _ => count as f64 <= threshold,
        }
    }

    /// The first queue whose share, (1 - eps^(k/(n-1))) / load, is above the quantile; the last one has the rest.
    fn mapped(&self, quantile: &BigRational) -> usize {
        let n = self.queues.len();
        let (eps, load) = (self.settings.get_fraction("eps", (1, 50)), self.settings.get_fraction("load", (11, 10)));
        // Powers of eps are rounded: a quantile that is as good as equal counts as equal.
        let below = |k: &usize| number(quantile) < super::slack::quantile(&eps, *k, n) / number(&load) - 1e-12;
        (1..n).find(below).map_or(n - 1, |k| k - 1)
    }

    fn select(&self, offer: &Offer) -> Result<usize, DropReason> {
        let quantile = self.window.quantile(offer.rank.into());
        let k = self.settings.get_fraction("k", (0, 1));
        let below = self.settings.get_word("compare", "le") == "lt";
        let in_floats = self.settings.get_word("arithmetic", "exact") == "netbench";
        let passing = (0..self.queues.len()).filter(|queue| {
            if in_floats {
                return self.passes_in_floats(queue + 1, self.window.count(offer.rank.into()));
            }
            let threshold = self.free(queue + 1) / (fraction(1, 1) - &k);
            if below { quantile < threshold } else { quantile <= threshold }
        });
        let mut candidates: Vec<usize> = passing.collect();
        if !candidates.is_empty() && self.settings.get_word("map", "occupancy") == "geometric" {
            candidates = (self.mapped(&quantile)..self.queues.len()).collect();
        }
        let considered = if self.settings.get_flag("fall_through", true) { candidates.len() } else { 1 };
        let mut considered = candidates.iter().take(considered);
        match considered.find(|queue| self.queues[**queue].fits(offer)) {
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
        let queue = self.select(&offer);
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
