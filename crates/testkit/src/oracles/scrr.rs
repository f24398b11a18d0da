//! SCRR.

use crate::flows::{Held, draw_buckets};
use crate::line::{Suite, Vectors, line};
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};
use pifolab_sched::{Capacity, DropReason};
use std::collections::BTreeMap;

/// SCRR.
pub struct Scrr {
    held: Held,
    most: usize,
    new: Vec<u32>,
    old: Vec<u32>,
    starts: BTreeMap<u64, i128>,
    finish: BTreeMap<u32, i128>,
    dequeue: i128,
    advance: i128,
    previous: i128,
    rounds: i128,
}

impl From<Settings> for Scrr {
    fn from(settings: Settings) -> Self {
        let capacity = match settings.maybe("capacity_bytes") {
            Some(bytes) => Capacity::Bytes(bytes as u64),
            None => Capacity::Packets(settings.get("capacity_packets", 10_000) as u32),
        };
        Self {
            held: Held::new(&settings, capacity),
            most: settings.get("flow_packets", 100) as usize,
            new: Vec::new(),
            old: Vec::new(),
            starts: BTreeMap::new(),
            finish: BTreeMap::new(),
            dequeue: 0,
            advance: 0,
            previous: 0,
            rounds: 0,
        }
    }
}

impl Oracle for Scrr {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        let bucket = self.held.bucket(&offer);
        if !self.held.fits(&offer) || self.held.of(bucket).count() == self.most {
            return Answer::Dropped(DropReason::Full);
        }
        if !self.new.contains(&bucket) && !self.old.contains(&bucket) {
            self.new.push(bucket);
            self.rounds += 1;
        }
        let finish = self.finish.entry(bucket).or_insert(self.previous);
        let start = self.advance.max(*finish);
        *finish = start + i128::from(offer.size);
        self.starts.insert(offer.id, start);
        self.held.packets.push(offer);
        Answer::admitted(0)
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let Some(&bucket) = list.first() else { return Answer::Empty };
            let Some(offer) = self.held.pop(bucket) else {
                list.remove(0);
                continue;
            };
            let start = self.starts[&offer.id];
            let end = start + i128::from(offer.size);
            self.dequeue = self.dequeue.max(start);
            if self.held.packets.is_empty() {
                self.dequeue = end;
                self.previous = self.advance;
                self.advance = self.dequeue;
            }
            if self.held.of(bucket).next().is_none() || end > self.advance {
                list.remove(0);
                self.old.push(bucket);
                if self.rounds <= 0 {
                    if self.dequeue != self.advance {
                        self.previous = self.advance;
                        self.advance = self.dequeue;
                    }
                    self.rounds = (self.new.len() + self.old.len()) as i128;
                }
                self.rounds -= 1;
            }
            return Answer::Sent(offer.id);
        }
    }
}

/// Adds SCRR to the suite.
pub(crate) const SUITE: Suite = Suite { lines: &[line::<Scrr>("scrr", settings, &[])], vectors };

fn settings(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    match source.below(3) {
        0 => {}
        1 => settings.integer("capacity_packets", source.from_to(1, 40)),
        _ => settings.integer("capacity_bytes", source.from_to(1, 40_000)),
    }
    if source.once_in(3) {
        settings.integer("flow_packets", source.from_to(1, 8));
    }
    draw_buckets(source, &mut settings);
    settings
}

fn vectors(add: &mut Vectors) {
    add.vector("packets", Ranks::Few, &|s| {
        s.integer("capacity_packets", 40);
        s.integer("flow_packets", 7);
        s.integer("buckets", 1024);
    });
    add.vector("bytes", Ranks::Few, &|s| {
        s.integer("capacity_bytes", 30_000);
        s.integer("flow_packets", 100);
        s.integer("buckets", 2);
    });
}
