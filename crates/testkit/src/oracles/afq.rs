//! AFQ.

use crate::draw::draw_queues;
use crate::line::{FIFO, Suite, Vectors, line};
use crate::oracle::{Buffer, store};
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};
use pifolab_sched::DropReason;
use std::collections::HashMap;

/// AFQ, with one counter per flow or with the sketch.
pub struct Afq {
    queues: Vec<Buffer>,
    round: u128,
    bids: HashMap<(usize, u64), u128>,
    settings: Settings,
}

impl From<Settings> for Afq {
    fn from(settings: Settings) -> Self {
        Self { queues: Buffer::all(&settings.capacities()), round: 0, bids: HashMap::new(), settings }
    }
}

impl Afq {
    /// The cells of a flow: its own cell, or one cell per row of the sketch. The sketch uses multiply-shift with fixed
    /// odd multipliers, which are part of the scheduler's definition.
    fn cells(&self, flow: u32) -> Vec<(usize, u64)> {
        if self.settings.get_word("counters", "exact") == "exact" {
            return vec![(0, flow.into())];
        }
        let multipliers = [5_700_357_409_661_599_243u64, 15_975_348_984_942_515_101];
        let cell = |(row, multiplier): (usize, u64)| {
            let product = u128::from(multiplier) * u128::from(flow) % (1 << 64);
            (row, (product / (1 << 50)) as u64)
        };
        multipliers.into_iter().enumerate().map(cell).collect()
    }
}

impl Oracle for Afq {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        let per_round = self.settings.get("bytes_per_round", 320) as u128;
        let n = self.queues.len() as u128;
        let cells = self.cells(offer.flow);
        let last = cells.iter().map(|cell| self.bids.get(cell).copied().unwrap_or(0)).min().expect("a flow has a cell");
        let bid = last.max(self.round * per_round) + u128::from(offer.size);
        let ahead = bid / per_round - self.round;
        let at_horizon = self.settings.get_word("horizon", "ge") == "ge";
        if ahead > n || at_horizon && ahead == n {
            return Answer::Dropped(DropReason::Admission);
        }
        let answer = store(&mut self.queues, (bid / per_round % n) as usize, offer);
        if matches!(answer, Answer::Admitted { .. }) {
            for cell in cells {
                let held = self.bids.entry(cell).or_insert(0);
                *held = bid.max(*held);
            }
        }
        answer
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        if self.queues.iter().all(|queue| queue.held.is_empty()) {
            return Answer::Empty;
        }
        loop {
            let current = (self.round % self.queues.len() as u128) as usize;
            match self.queues[current].pop() {
                Some(offer) => return Answer::Sent(offer.id),
                None => self.round += 1,
            }
        }
    }
}

/// Adds AFQ to the suite.
pub(crate) const SUITE: Suite = Suite { lines: &[line::<Afq>("afq", afq, FIFO)], vectors };

fn afq(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    draw_queues(source, &mut settings);
    if source.once_in(2) {
        settings.integer("bytes_per_round", source.pick(&[1u64, 80, 1500, 3000, 1 << 40]));
    }
    settings.draw_word(source, "horizon", &["ge", "gt"]);
    settings.draw_word(source, "counters", &["exact", "sketch"]);
    settings
}

fn vectors(add: &mut Vectors) {
    for (what, horizon, counters) in [("ge_exact", "ge", "exact"), ("gt_sketch", "gt", "sketch")] {
        add.vector(what, Ranks::Few, &|s| {
            s.integer("queues", 4);
            s.integer("queue_capacity_packets", 4);
            s.integer("bytes_per_round", 1_000);
            s.word("horizon", horizon);
            s.word("counters", counters);
        });
    }
    add.vector("bytes", Ranks::Few, &|s| {
        s.integer("queues", 5);
        s.integer("queue_capacity_bytes", 3_000);
        s.integer("bytes_per_round", 1_500);
        s.word("horizon", "ge");
    });
}
