//! AIFO: the quantile of a rank in a sliding window, computed in fractions.

use crate::draw::{draw_capacity, draw_delay};
use crate::line::{FIFO, Suite, Vectors, line};
use crate::oracle::{Buffer, Found, serve_first, store};
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};
use num_rational::BigRational;
use pifolab_sched::DropReason;

pub(super) fn fraction(numerator: i128, denominator: i128) -> BigRational {
    BigRational::new(numerator.into(), denominator.into())
}

/// Rounds k to 32 bits.
pub(super) fn single(k: &BigRational) -> f32 {
    let part = |part: &num_bigint::BigInt| i64::try_from(part).expect("k has small parts") as f64;
    (part(k.numer()) / part(k.denom())) as f32
}

/// The window of the latest ranks.
pub(super) struct Window {
    pub(super) ranks: Vec<i128>,
    size: usize,
    shift: i128,
    inclusive: bool,
}

impl Window {
    pub(super) fn new(settings: &Settings, size: i128) -> Self {
        Self {
            ranks: settings.get_list("start_window").unwrap_or_default(),
            size: size as usize,
            shift: settings.get("shift", 0),
            inclusive: settings.get_word("quantile", "lt") == "le",
        }
    }

    pub(super) fn push(&mut self, rank: i128) {
        self.ranks.push(rank);
        if self.ranks.len() > self.size {
            self.ranks.remove(0);
        }
    }

    pub(super) fn count(&self, rank: i128) -> i128 {
        let counts = |held: &&i128| {
            let held = **held + self.shift;
            held < rank || self.inclusive && held == rank
        };
        self.ranks.iter().filter(counts).count() as i128
    }

    pub(super) fn quantile(&self, rank: i128) -> BigRational {
        if self.ranks.is_empty() { fraction(0, 1) } else { fraction(self.count(rank), self.ranks.len() as i128) }
    }
}

/// AIFO, Algorithm 1.
pub struct Aifo {
    buffer: [Buffer; 1],
    found: Found,
    window: Window,
    arrivals: i128,
    settings: Settings,
}

impl From<Settings> for Aifo {
    fn from(settings: Settings) -> Self {
        Self {
            buffer: [Buffer::new(settings.capacity())],
            found: Found::default(),
            window: Window::new(&settings, settings.get("window", 20)),
            arrivals: 0,
            settings,
        }
    }
}

impl Aifo {
    fn passes(&self, rank: i128, used: i128) -> bool {
        let capacity = i128::from(self.buffer[0].total());
        let target = self.settings.maybe("target_packets").or(self.settings.maybe("target_bytes")).unwrap_or(capacity);
        let k = self.settings.get_fraction("k", (1, 10));
        let strict = self.settings.get_word("compare", "le") == "lt";
        let headroom = self.settings.get_flag("headroom", true);
        if self.settings.get_word("arithmetic", "exact") == "netbench" {
            // k and 1 - k are 32-bit, the rest is 64-bit.
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
        let seen = self.found.seen(&self.buffer, &self.settings);
        let passes = self.passes(rank, seen[0].used().into());
        if sampled && !before {
            self.window.push(rank);
        }
        if passes { store(&mut self.buffer, 0, offer) } else { Answer::Dropped(DropReason::Admission) }
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        serve_first(&mut self.buffer)
    }
}

/// Adds AIFO to the suite.
pub(crate) const SUITE: Suite = Suite { lines: &[line::<Aifo>("aifo", aifo, FIFO)], vectors };

/// Draws the window and the headroom.
pub(super) fn draw_window(source: &mut Source<'_>, settings: &mut Settings) {
    let window = source.pick(&[1u64, 2, 4, 7, 16, 20, 70, 130]);
    settings.integer("window", window);
    settings.draw_fraction(source, "k");
    settings.draw_word(source, "quantile", &["lt", "le"]);
    settings.draw_word(source, "update", &["before", "after"]);
    if source.once_in(3) {
        let held = source.from_to(1, window);
        let start: Vec<u64> = (0..held).map(|_| source.below(100)).collect();
        settings.list("start_window", start);
    }
}

/// Sets the window of a vector.
pub(super) fn set_window(s: &mut Settings, window: u64, k: [u64; 2], quantile: &str, update: &str) {
    s.integer("window", window);
    s.list("k", k);
    s.word("quantile", quantile);
    s.word("update", update);
}

fn aifo(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    let capacity = draw_capacity(source, &mut settings);
    draw_window(source, &mut settings);
    settings.draw_word(source, "compare", &["le", "lt"]);
    settings.draw_word(source, "arithmetic", &["exact", "netbench"]);
    if source.once_in(3) {
        settings.integer("sample", source.from_to(1, 5));
    }
    if source.once_in(3) {
        settings.flag("headroom", source.once_in(2));
    }
    if source.once_in(4) {
        let name = if settings.maybe("capacity_bytes").is_some() { "target_bytes" } else { "target_packets" };
        settings.integer(name, source.from_to(1, 2 * capacity));
    }
    draw_delay(source, &mut settings);
    settings
}

fn vectors(add: &mut Vectors) {
    add.vector("bytes", Ranks::Hundred, &|s| {
        s.integer("capacity_bytes", 9_000);
        set_window(s, 16, [1, 10], "lt", "before");
    });
    add.vector("target_below_capacity", Ranks::Hundred, &|s| {
        s.integer("capacity_packets", 12);
        s.integer("target_packets", 8);
        set_window(s, 16, [1, 4], "lt", "before");
    });
    add.vector("strict_sampled", Ranks::Hundred, &|s| {
        s.integer("capacity_packets", 10);
        set_window(s, 8, [1, 5], "lt", "after");
        s.word("compare", "lt");
        s.integer("sample", 3);
    });
    add.vector("published_arithmetic", Ranks::Hundred, &|s| {
        s.integer("capacity_packets", 20);
        set_window(s, 20, [7, 10], "lt", "after");
        s.word("compare", "lt");
        s.word("arithmetic", "netbench");
    });
    add.vector("late_length", Ranks::Hundred, &|s| {
        s.integer("capacity_packets", 8);
        set_window(s, 16, [1, 10], "lt", "before");
        s.integer("occupancy_delay_packets", 3);
    });
    add.vector("any_rank_wide_window", Ranks::Any, &|s| {
        s.integer("capacity_packets", 10);
        set_window(s, 100, [0, 1], "le", "before");
    });
}
