//! Strict priority with fixed bounds.

use crate::draw::{THREE, THREE_BYTES, draw_bounds, draw_queues};
use crate::line::{PRIORITIES, Suite, Vectors, line};
use crate::oracle::{Buffer, serve_first, store};
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};

/// The queue of a rank: the last queue whose bound is at most the rank, or the first queue.
pub(super) fn queue_of(bounds: &[i128], rank: i128) -> usize {
    (0..bounds.len()).rev().find(|queue| rank >= bounds[*queue]).unwrap_or(0)
}

/// ceil(i R / n).
pub(super) fn uniform(queues: usize, ranks: i128) -> Vec<i128> {
    let queues = queues as i128;
    (0..queues).map(|queue| (queue * ranks + queues - 1) / queues).collect()
}

/// The unpifoness of eq. 4 and 5: the sum over pairs r < r' in one queue of p(r) p(r') cost.
pub(super) fn unpifoness(distribution: &[(i128, u128)], bounds: &[i128], one: bool) -> u128 {
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

/// Strict priority with fixed bounds.
pub struct StrictPriority {
    pub(super) queues: Vec<Buffer>,
    pub(super) bounds: Vec<i128>,
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

/// Adds strict priority to the suite.
pub(crate) const SUITE: Suite =
    Suite { lines: &[line::<StrictPriority>("strict-priority", strict_priority, PRIORITIES)], vectors };

fn strict_priority(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    let queues = draw_queues(source, &mut settings);
    match source.below(3) {
        0 => {}
        1 => settings.integer("ranks", source.pick(&[1u64, 7, 100, u64::MAX >> 1])),
        _ => draw_bounds(source, &mut settings, "bounds", queues),
    }
    settings
}

fn vectors(add: &mut Vectors) {
    add.vector("bounds", Ranks::Hundred, &|s| {
        s.list("queue_capacity_packets", THREE);
        s.list("bounds", [0, 20, 70]);
    });
    add.vector("bounds_bytes", Ranks::Hundred, &|s| {
        s.list("queue_capacity_bytes", THREE_BYTES);
        s.list("bounds", [5, 30, 30]);
    });
    add.vector("even", Ranks::Hundred, &|s| {
        s.integer("queues", 6);
        s.integer("queue_capacity_packets", 2);
        s.integer("ranks", 100);
    });
}
