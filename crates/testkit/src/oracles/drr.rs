//! DRR.

use crate::draw::single_buffer;
use crate::flows::{Held, draw_buckets, draw_quantum};
use crate::line::{Suite, Vectors, line};
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};
use pifolab_sched::DropReason;
use std::collections::BTreeMap;

/// DRR as in its paper, one quantum at a time.
pub struct Drr {
    held: Held,
    most: usize,
    quantum: u64,
    active: Vec<u32>,
    deficits: BTreeMap<u32, u64>,
    got: bool,
}

impl From<Settings> for Drr {
    fn from(settings: Settings) -> Self {
        Self {
            held: Held::new(&settings, settings.capacity()),
            most: settings.maybe("flow_packets").map_or(usize::MAX, |most| most as usize),
            quantum: settings.get("quantum_bytes", 1514) as u64,
            active: Vec::new(),
            deficits: BTreeMap::new(),
            got: false,
        }
    }
}

impl Oracle for Drr {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        let bucket = self.held.bucket(&offer);
        if !self.held.fits(&offer) || self.held.of(bucket).count() == self.most {
            return Answer::Dropped(DropReason::Full);
        }
        if self.held.of(bucket).next().is_none() {
            self.active.push(bucket);
            self.deficits.insert(bucket, 0);
        }
        self.held.packets.push(offer);
        Answer::admitted(0)
    }

    fn dequeue(&mut self, _: u64) -> Answer {
        while let Some(&bucket) = self.active.first() {
            let deficit = self.deficits.get_mut(&bucket).expect("an active flow has one");
            if !self.got {
                *deficit += self.quantum;
                self.got = true;
            }
            let size = u64::from(self.held.of(bucket).next().expect("an active flow is backlogged").size);
            if size <= *deficit {
                *deficit -= size;
                let offer = self.held.pop(bucket).expect("it was seen");
                if self.held.of(bucket).next().is_none() {
                    self.active.remove(0);
                    self.got = false;
                }
                return Answer::Sent(offer.id);
            }
            self.active.rotate_left(1);
            self.got = false;
        }
        Answer::Empty
    }
}

/// Adds DRR to the suite.
pub(crate) const SUITE: Suite = Suite { lines: &[line::<Drr>("drr", settings, &[])], vectors };

fn settings(source: &mut Source<'_>) -> Settings {
    let mut settings = single_buffer(source);
    if source.once_in(3) {
        settings.integer("flow_packets", source.from_to(1, 8));
    }
    draw_quantum(source, &mut settings);
    draw_buckets(source, &mut settings);
    settings
}

fn vectors(add: &mut Vectors) {
    add.vector("packets", Ranks::Few, &|s| {
        s.integer("capacity_packets", 12);
        s.integer("quantum_bytes", 1_500);
        s.integer("buckets", 1024);
    });
    add.vector("small_quantum", Ranks::Few, &|s| {
        s.integer("capacity_bytes", 20_000);
        s.integer("quantum_bytes", 100);
        s.integer("buckets", 3);
    });
    add.vector("flow_limit", Ranks::Few, &|s| {
        s.integer("capacity_packets", 30);
        s.integer("flow_packets", 4);
        s.integer("quantum_bytes", 700);
        s.integer("buckets", 5);
    });
}
