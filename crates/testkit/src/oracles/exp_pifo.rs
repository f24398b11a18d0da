//! Exp-PIFO, Algorithm 1 and the bounds of section 2.2.

use crate::draw::{THREE_BYTES, draw_queues};
use crate::line::{PRIORITIES, Suite, Vectors, line};
use crate::oracle::{Buffer, serve_first, store};
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};
use num_bigint::BigUint;

/// Exp-PIFO.
pub struct ExpPifo {
    queues: Vec<Buffer>,
    beta: u32,
    counter: i128,
    settings: Settings,
}

impl From<Settings> for ExpPifo {
    fn from(settings: Settings) -> Self {
        Self { queues: Buffer::all(&settings.capacities()), beta: 0, counter: 0, settings }
    }
}

impl ExpPifo {
    fn r_min(&self) -> u128 {
        self.settings.get("r_min", 1) as u128
    }

    /// The largest x >= 0 with r_min 2^x <= rank; 0 if there is none.
    fn log_floor(&self, rank: u128) -> u32 {
        (0..64).rev().find(|x| self.r_min() << x <= rank).unwrap_or(0)
    }

    /// The smallest x >= 0 with r_min 2^x >= rank.
    fn log_ceil(&self, rank: u128) -> u32 {
        (0..=64).find(|x| self.r_min() << x >= rank).expect("ranks are below 2^63")
    }

    /// Whether rank <= b_j = r_min 2^(beta (j-1) / (M-1)), with both sides raised to the power M-1.
    fn within_bound(&self, rank: u128, j: u32) -> bool {
        let m = self.queues.len() as u32;
        let bound = BigUint::from(self.r_min()).pow(m - 1) << (self.beta * (j - 1));
        BigUint::from(rank).pow(m - 1) <= bound
    }

    /// The queue of a rank, counted from 1.
    fn queue(&self, rank: u128) -> u32 {
        let m = self.queues.len() as u32;
        if m == 1 {
            return 1;
        }
        if self.settings.get_word("mapping", "comment") == "bounds" {
            return (1..m).find(|j| self.within_bound(rank, *j)).unwrap_or(m);
        }
        if self.beta == 0 {
            return if self.settings.get_word("beta0", "first") == "first" { 1 } else { m };
        }
        m.min((self.log_floor(rank) + 1) * (m - 1) / self.beta + 1)
    }
}

impl Oracle for ExpPifo {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        let rank = u128::from(offer.rank);
        let x =
            if self.settings.get_word("beta", "floor") == "ceil" { self.log_ceil(rank) } else { self.log_floor(rank) };
        if x > self.beta {
            self.beta = x;
        }
        self.counter += 1;
        let window = self.settings.get("window_packets", 5000);
        let at_end = self.settings.get_word("reset", "gt") == "ge";
        if self.counter > window || at_end && self.counter == window {
            self.counter = 0;
            self.beta = x;
        }
        let queue = self.queue(rank);
        store(&mut self.queues, queue as usize - 1, offer)
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        serve_first(&mut self.queues)
    }
}

/// Adds Exp-PIFO to the suite.
pub(crate) const SUITE: Suite = Suite { lines: &[line::<ExpPifo>("exp-pifo", exp_pifo, PRIORITIES)], vectors };

fn exp_pifo(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    draw_queues(source, &mut settings);
    if source.once_in(2) {
        settings.integer("window_packets", source.from_to(1, 20));
    }
    if source.once_in(2) {
        settings.integer("r_min", source.pick(&[1u64, 3, 40, 1500, 1 << 40, u64::MAX >> 1]));
    }
    settings.draw_word(source, "beta", &["floor", "ceil"]);
    settings.draw_word(source, "mapping", &["comment", "bounds"]);
    if settings.get_word("mapping", "comment") == "comment" {
        settings.draw_word(source, "beta0", &["first", "last"]);
    }
    settings.draw_word(source, "reset", &["gt", "ge"]);
    settings
}

fn vectors(add: &mut Vectors) {
    for (what, beta, mapping, reset, r_min, ranks) in [
        ("ceil", "ceil", "comment", "gt", 1, Ranks::HeavyTailed),
        ("bounds", "floor", "bounds", "gt", 1, Ranks::HeavyTailed),
        ("bounds_ceil", "ceil", "bounds", "ge", 1, Ranks::Hundred),
        ("bounds_r_min", "ceil", "bounds", "gt", 1_500, Ranks::HeavyTailed),
        ("bounds_any_rank", "floor", "bounds", "gt", 3, Ranks::Any),
    ] {
        add.vector(what, ranks, &|s| {
            s.list("queue_capacity_packets", [3, 2, 4, 2]);
            s.integer("window_packets", 12);
            s.integer("r_min", r_min);
            s.word("beta", beta);
            s.word("mapping", mapping);
            s.word("reset", reset);
            if mapping == "comment" {
                s.word("beta0", "first");
            }
        });
    }
    add.vector("bytes", Ranks::HeavyTailed, &|s| {
        s.list("queue_capacity_bytes", THREE_BYTES);
        s.integer("window_packets", 12);
        s.word("beta0", "last");
    });
}
