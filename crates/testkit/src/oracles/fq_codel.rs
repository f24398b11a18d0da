//! FQ-CoDel.

use crate::flows::{Held, draw_buckets, draw_quantum};
use crate::line::{Property, Suite, Vectors, line};
use crate::{Answer, Offer, Oracle, Ranks, Settings, Source};
use Property::{Evicts, EvictsAnyRank, GivesUp};
use pifolab_sched::{Capacity, DropReason};
use std::collections::{BTreeMap, BTreeSet};

/// FQ-CoDel. Times are in picoseconds, as in the library.
pub struct FqCodel {
    held: Held,
    settings: Settings,
    new: Vec<u32>,
    old: Vec<u32>,
    deficits: BTreeMap<u32, i128>,
    arrivals: BTreeMap<u64, i128>,
    queues: BTreeMap<u32, Controlled>,
}

/// The variables of RFC 8289 for one queue.
#[derive(Clone, Default)]
struct Controlled {
    first_above_time: i128,
    drop_next: i128,
    count: i128,
    lastcount: i128,
    dropping: bool,
    /// The place at which the RFC's `dequeue` continues after a drop, because each drop is a separate answer here.
    after: After,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum After {
    #[default]
    Nothing,
    /// In the loop of the dropping state.
    Loop,
    /// After the drop that enters the dropping state.
    Entering,
}

/// The decision about the packet at the head.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Sent,
    Marked,
    GivenUp,
}

impl From<Settings> for FqCodel {
    fn from(settings: Settings) -> Self {
        let capacity = Capacity::Packets(settings.get("capacity_packets", 10_240) as u32);
        Self {
            held: Held::new(&settings, capacity),
            settings,
            new: Vec::new(),
            old: Vec::new(),
            deficits: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            queues: BTreeMap::new(),
        }
    }
}

const PS_PER_NS: i128 = 1_000;

impl FqCodel {
    fn interval(&self) -> i128 {
        self.settings.get("interval_ns", 100_000_000) * PS_PER_NS
    }

    /// time + interval / sqrt(count), by trial.
    fn control_law(&self, time: i128, count: i128) -> i128 {
        let (interval, mut root) = (self.interval(), 0);
        for bit in (0..64).rev() {
            let trial = root + (1 << bit);
            if trial <= interval && trial * trial * count <= interval * interval {
                root = trial;
            }
        }
        time + root
    }

    /// The RFC's `dodequeue`: returns the packet at the head, and whether it may be dropped.
    fn dodequeue(&mut self, bucket: u32, queue: &mut Controlled, now: i128) -> (Option<Offer>, bool) {
        let Some(offer) = self.held.pop(bucket) else {
            queue.first_above_time = 0;
            return (None, false);
        };
        let target = self.settings.get("target_ns", 5_000_000) * PS_PER_NS;
        let mut ok_to_drop = false;
        if now - self.arrivals[&offer.id] < target || self.held.bytes(bucket) <= 1514 {
            queue.first_above_time = 0;
        } else if queue.first_above_time == 0 {
            queue.first_above_time = now + self.interval();
        } else if now >= queue.first_above_time {
            ok_to_drop = true;
        }
        (Some(offer), ok_to_drop)
    }

    /// Whether the packet is marked instead of dropped (RFC 8290, section 4.2.2).
    fn marks(&self, packet: &Offer) -> bool {
        self.settings.get_flag("ecn", false) && packet.ecn != 0
    }

    /// The RFC's `dequeue` up to the next packet dropped or sent. A marked packet is sent and ends the call, so the
    /// time of the next drop or mark is set before.
    fn codel(&mut self, bucket: u32, queue: &mut Controlled, now: i128) -> Option<(Offer, Fate)> {
        let (packet, ok_to_drop) = self.dodequeue(bucket, queue, now);
        let after = std::mem::take(&mut queue.after);
        let Some(packet) = packet else {
            queue.dropping = false;
            return None;
        };
        if after == After::Entering {
            return Some((packet, Fate::Sent));
        }
        if after == After::Loop && ok_to_drop {
            queue.drop_next = self.control_law(queue.drop_next, queue.count);
        }
        if queue.dropping {
            if !ok_to_drop {
                queue.dropping = false;
            } else if now >= queue.drop_next {
                queue.count += 1;
                if self.marks(&packet) {
                    queue.drop_next = self.control_law(queue.drop_next, queue.count);
                    return Some((packet, Fate::Marked));
                }
                queue.after = After::Loop;
                return Some((packet, Fate::GivenUp));
            }
        } else if ok_to_drop {
            queue.dropping = true;
            let delta = queue.count - queue.lastcount;
            queue.count = if delta > 1 && now - queue.drop_next < 16 * self.interval() { delta } else { 1 };
            queue.drop_next = self.control_law(now, queue.count);
            queue.lastcount = queue.count;
            if self.marks(&packet) {
                return Some((packet, Fate::Marked));
            }
            queue.after = After::Entering;
            return Some((packet, Fate::GivenUp));
        }
        Some((packet, Fate::Sent))
    }
}

impl Oracle for FqCodel {
    fn enqueue(&mut self, offer: Offer, now_ns: u64) -> Answer {
        let bucket = self.held.bucket(&offer);
        if !self.new.contains(&bucket) && !self.old.contains(&bucket) {
            self.new.push(bucket);
            self.deficits.insert(bucket, self.settings.get("quantum_bytes", 1514));
        }
        self.arrivals.insert(offer.id, i128::from(now_ns) * PS_PER_NS);
        let full = !self.held.fits(&offer);
        self.held.packets.push(offer);
        if !full {
            return Answer::admitted(0);
        }
        let buckets: BTreeSet<u32> = self.held.packets.iter().map(|offer| self.held.bucket(offer)).collect();
        let most = buckets.iter().map(|bucket| self.held.bytes(*bucket)).max().expect("one is held");
        let fattest = *buckets.iter().find(|bucket| self.held.bytes(**bucket) == most).expect("one has the most");
        let half = self.held.of(fattest).count().div_ceil(2).min(self.settings.get("drop_batch", 64) as usize);
        let evicted: Vec<u64> = (0..half).filter_map(|_| self.held.pop(fattest)).map(|offer| offer.id).collect();
        if evicted == [offer.id] {
            return Answer::Dropped(DropReason::Full);
        }
        Answer::Admitted { queue: 0, evicted }
    }

    fn dequeue(&mut self, now_ns: u64) -> Answer {
        let now = i128::from(now_ns) * PS_PER_NS;
        loop {
            let from_new = !self.new.is_empty();
            let Some(&bucket) = (if from_new { &self.new } else { &self.old }).first() else { return Answer::Empty };
            if self.deficits[&bucket] <= 0 {
                *self.deficits.entry(bucket).or_default() += self.settings.get("quantum_bytes", 1514);
                if from_new {
                    self.new.remove(0)
                } else {
                    self.old.remove(0)
                };
                self.old.push(bucket);
                continue;
            }
            let mut queue = self.queues.remove(&bucket).unwrap_or_default();
            let decided = self.codel(bucket, &mut queue, now);
            self.queues.insert(bucket, queue);
            match decided {
                Some((offer, Fate::GivenUp)) => return Answer::GivenUp(offer.id, DropReason::Aqm),
                Some((offer, fate)) => {
                    *self.deficits.entry(bucket).or_default() -= i128::from(offer.size);
                    return if fate == Fate::Marked { Answer::Marked(offer.id) } else { Answer::Sent(offer.id) };
                }
                None if from_new => {
                    self.new.remove(0);
                    self.old.push(bucket);
                }
                None => {
                    self.old.remove(0);
                }
            }
        }
    }
}

/// Adds FQ-CoDel to the suite.
pub(crate) const SUITE: Suite =
    Suite { lines: &[line::<FqCodel>("fq-codel", settings, &[Evicts, EvictsAnyRank, GivesUp])], vectors };

fn settings(source: &mut Source<'_>) -> Settings {
    let mut settings = Settings::default();
    if source.once_in(2) {
        settings.integer("capacity_packets", source.from_to(1, 40));
    }
    draw_quantum(source, &mut settings);
    if source.once_in(2) {
        settings.integer("drop_batch", source.from_to(1, 5));
    }
    if source.below(4) > 0 {
        settings.integer("target_ns", source.from_to(1, 20));
        settings.integer("interval_ns", source.from_to(2, 40));
    }
    draw_buckets(source, &mut settings);
    if source.below(3) > 0 {
        settings.flag("ecn", source.below(4) > 0);
    }
    settings
}

/// The vectors contain no drops at dequeue, because their delays stay below the target.
fn vectors(add: &mut Vectors) {
    add.vector("packets", Ranks::Few, &|s| {
        s.integer("capacity_packets", 20);
        s.integer("quantum_bytes", 1_514);
        s.integer("buckets", 1024);
    });
    add.vector("drops_from_the_longest_queue", Ranks::Few, &|s| {
        s.integer("capacity_packets", 9);
        s.integer("quantum_bytes", 300);
        s.integer("buckets", 3);
        s.integer("drop_batch", 2);
    });
}
