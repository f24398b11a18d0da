//! SP-PIFO, Algorithm 1.

use crate::draw::{THREE, THREE_BYTES, draw_queues};
use crate::line::{PRIORITIES, Suite, Vectors, line};
use crate::oracle::{Buffer, serve_first, store};
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};

/// SP-PIFO with bounds of any size, because nothing saturates here.
pub struct SpPifo {
    queues: Vec<Buffer>,
    bounds: Vec<i128>,
    settings: Settings,
}

impl From<Settings> for SpPifo {
    fn from(settings: Settings) -> Self {
        let queues = Buffer::all(&settings.capacities());
        Self { bounds: vec![0; queues.len()], queues, settings }
    }
}

impl SpPifo {
    /// The bounds after a push-down by a packet of `rank`. `all` includes the bound of queue 1.
    fn pushed_down(&self, rank: i128, all: bool) -> Vec<i128> {
        let old = &self.bounds;
        let fall = |queue: usize| match self.settings.get_word("push_down", "cost") {
            "cost" => old[queue] - (old[0] - rank),
            "rank" => old[queue] - rank,
            "one" => old[queue] - 1,
            _ if queue == 0 => rank,
            "queue-bound" if queue == 1 => rank,
            _ => old[queue - 1],
        };
        let clamped = |bound: i128| self.settings.maybe("clamp").map_or(bound, |floor| bound.max(floor));
        // In the first queue, a bound set to the rank itself is not clamped, because it does not fall.
        let first = if fall(0) == rank { rank } else { clamped(fall(0)) };
        let mut new: Vec<i128> = (0..old.len()).map(|queue| clamped(fall(queue))).collect();
        new[0] = if all { first } else { old[0] };
        new
    }

    fn select(bounds: &[i128], rank: i128) -> usize {
        (0..bounds.len()).rev().find(|queue| rank >= bounds[*queue]).unwrap_or(0)
    }
}

impl Oracle for SpPifo {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        let rank = i128::from(offer.rank);
        let mut bounds = self.bounds.clone();
        let queue;
        if self.settings.get_word("order", "scan-first") == "push-down-first" {
            if rank < bounds[0] {
                bounds = self.pushed_down(rank, true);
            }
            queue = Self::select(&bounds, rank);
        } else {
            queue = Self::select(&bounds, rank);
            if queue == 0 && rank < bounds[0] {
                bounds = self.pushed_down(rank, false);
            }
        }
        bounds[queue] = rank;
        let answer = store(&mut self.queues, queue, offer);
        let stored = matches!(answer, Answer::Admitted { .. });
        if stored || self.settings.get_word("on_full", "keep") == "update" {
            self.bounds = bounds;
        }
        answer
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        serve_first(&mut self.queues)
    }
}

/// Adds SP-PIFO to the suite.
pub(crate) const SUITE: Suite = Suite { lines: &[line::<SpPifo>("sp-pifo", sp_pifo, PRIORITIES)], vectors };

fn sp_pifo(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    draw_queues(source, &mut settings);
    settings.draw_word(source, "push_down", &["cost", "queue-bound", "queue-bound-old", "rank", "one"]);
    settings.draw_word(source, "on_full", &["keep", "update"]);
    settings.draw_word(source, "order", &["scan-first", "push-down-first"]);
    match source.below(4) {
        0 | 1 => {}
        2 => settings.integer("clamp", 0),
        _ => settings.integer("clamp", i128::from(source.below(60)) - 30),
    }
    settings
}

fn vectors(add: &mut Vectors) {
    for (what, push_down, on_full, order) in [
        ("cost_keep", "cost", "keep", "scan-first"),
        ("cost_update", "cost", "update", "scan-first"),
        ("rank_keep", "rank", "keep", "scan-first"),
        ("one_update", "one", "update", "scan-first"),
        ("queue_bound_keep", "queue-bound", "keep", "scan-first"),
        ("queue_bound_old_update", "queue-bound-old", "update", "scan-first"),
        ("push_down_first_cost_keep", "cost", "keep", "push-down-first"),
        ("push_down_first_cost_update", "cost", "update", "push-down-first"),
        ("push_down_first_one_keep", "one", "keep", "push-down-first"),
        ("push_down_first_queue_bound_update", "queue-bound", "update", "push-down-first"),
    ] {
        add.vector(what, Ranks::Hundred, &|s| {
            s.list("queue_capacity_packets", THREE);
            s.word("push_down", push_down);
            s.word("on_full", on_full);
            s.word("order", order);
        });
    }
    add.vector("clamp_bytes", Ranks::Hundred, &|s| {
        s.list("queue_capacity_bytes", THREE_BYTES);
        s.word("on_full", "keep");
        s.integer("clamp", 0);
    });
    add.vector("any_rank", Ranks::Any, &|s| {
        s.list("queue_capacity_packets", THREE);
        s.word("on_full", "update");
    });
}
