//! Spring, from the formulas of lab/pages/slack.md.

use crate::draw::{THREE, THREE_BYTES, draw_from, draw_queues};
use crate::line::{PRIORITIES, Suite, Vectors, line};
use crate::oracle::{Buffer, serve_first, store};
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};
use num_rational::BigRational;

/// Spring. Bounds and forces are multiples of 2^-32.
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
        let force = self.settings.get_word("force_from", "packets");
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

/// Adds Spring to the suite.
pub(crate) const SUITE: Suite = Suite { lines: &[line::<Spring>("spring", spring, PRIORITIES)], vectors };

fn spring(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    draw_queues(source, &mut settings);
    settings.draw_word(source, "force_from", &["packets", "inversions", "fill"]);
    if settings.get_word("force_from", "packets") != "fill" {
        draw_from(source, &mut settings, "gain", &[[1, 5], [1, 1000], [1, 2]]);
        settings.draw_word(source, "decays", &["all", "hit"]);
    }
    draw_from(source, &mut settings, "speed", &[[1, 1], [1, 3], [20, 1]]);
    settings
}

fn vectors(add: &mut Vectors) {
    for (what, force, decays) in [
        ("packets", "packets", "all"),
        ("packets_hit", "packets", "hit"),
        ("inversions", "inversions", "all"),
        ("inversions_hit", "inversions", "hit"),
    ] {
        add.vector(what, Ranks::Hundred, &|s| {
            s.list("queue_capacity_packets", THREE);
            s.word("force_from", force);
            s.word("decays", decays);
            s.list("gain", [1, 8]);
            s.list("speed", [5, 1]);
        });
    }
    add.vector("fill_bytes", Ranks::Hundred, &|s| {
        s.list("queue_capacity_bytes", THREE_BYTES);
        s.word("force_from", "fill");
    });
}
