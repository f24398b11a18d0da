//! Operations, answers, and the case that joins them with settings.

use crate::{Settings, Source};
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Fact, Hints, Labels, Packet, Scheduler};
use pifolab_units::{Rank, Time};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};

/// A packet as oracles see it: like the library's, but free to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Names the packet.
    pub id: u64,
    /// Its rank.
    pub rank: u64,
    /// Its flow.
    pub flow: u32,
    /// Its size in bytes.
    pub size: u32,
    /// When it may leave, in ns.
    pub eligible_ns: u64,
    /// Its codepoint (RFC 3168); 0 cannot carry a mark. Schedulers are told it where they ask for it.
    pub ecn: u8,
}

/// One call of a scheduler, with its time in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Offers a packet.
    Enqueue(Offer, u64),
    /// Asks for one.
    Dequeue(u64),
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Stored in `queue`, and these left for it, in this order.
    Admitted {
        /// The queue, from 0.
        queue: u32,
        /// Who left.
        evicted: Vec<u64>,
    },
    /// Refused.
    Dropped(DropReason),
    /// Sent.
    Sent(u64),
    /// Sent with a mark (congestion experienced, RFC 3168).
    Marked(u64),
    /// Given up when it should have left.
    GivenUp(u64, DropReason),
    /// Only packets wait that may not leave before this time, in ns.
    NotBefore(u64),
    /// Nothing waits.
    Empty,
}

impl Answer {
    /// Stored, and no packet was pushed out.
    pub const fn admitted(queue: usize) -> Self {
        Self::Admitted { queue: queue as u32, evicted: Vec::new() }
    }

    /// What the library says, in these words.
    pub fn of_enqueue(outcome: &Enqueued) -> Self {
        match outcome {
            Enqueued::Admitted { queue, .. } => Self::admitted(*queue as usize),
            Enqueued::Evicted { queue, victims, .. } => {
                Self::Admitted { queue: *queue, evicted: victims.iter().map(|packet| packet.id).collect() }
            }
            Enqueued::Dropped { reason, .. } => Self::Dropped(*reason),
        }
    }

    /// What the library says, in these words; and whether it marks the packet.
    pub fn of_dequeue(outcome: &Dequeued, marked: bool) -> Self {
        match outcome {
            Dequeued::Packet { packet, .. } if marked => Self::Marked(packet.id),
            Dequeued::Packet { packet, .. } => Self::Sent(packet.id),
            Dequeued::NotBefore(time) => Self::NotBefore(time.as_ns()),
            Dequeued::Empty => Self::Empty,
            Dequeued::Dropped { packet, reason } => Self::GivenUp(packet.id, *reason),
        }
    }
}

impl Op {
    /// The time of the call.
    pub fn now(&self) -> Time {
        match self {
            Self::Enqueue(_, now) | Self::Dequeue(now) => Time::from_ns(*now),
        }
    }

    /// Calls a scheduler of the library.
    pub fn apply(&self, scheduler: &mut dyn Scheduler) -> Answer {
        match self {
            Self::Enqueue(offer, _) => Answer::of_enqueue(&offer.to(scheduler, self.now())),
            Self::Dequeue(_) => {
                let outcome = scheduler.dequeue(self.now());
                Answer::of_dequeue(&outcome, scheduler.take_mark())
            }
        }
    }
}

impl Offer {
    /// Offers it to a scheduler of the library, which is told the codepoint if it asks for it.
    pub(crate) fn to(&self, scheduler: &mut dyn Scheduler, now: Time) -> Enqueued {
        if scheduler.wants().needs.contains(Fact::Ecn) {
            let labels = Labels { ecn: self.ecn, ..Labels::default() };
            scheduler.hint(self.id, &Hints { labels, ..Hints::default() });
        }
        scheduler.enqueue_eligible(self.packet(now), Time::from_ns(self.eligible_ns), now)
    }

    /// The packet for the library.
    pub fn packet(&self, arrival: Time) -> Packet {
        Packet { id: self.id, flow: self.flow, size: self.size, rank: Rank::saturating(self.rank), arrival }
    }
}

/// Draws the settings of a scheduler.
pub type DrawSettings = fn(&mut Source<'_>) -> Settings;

/// Settings and operations for one scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What it is built from.
    pub settings: Settings,
    /// What is done with it.
    pub ops: Vec<Op>,
}

/// The ranks of one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// Uniform below 8: many ties.
    Few,
    /// Uniform below 100.
    Hundred,
    /// Of any order of magnitude up to 2^40.
    HeavyTailed,
    /// Any rank.
    Any,
}

impl Case {
    /// The case that these bytes stand for: every string of bytes is one.
    pub fn decode(settings: DrawSettings, bytes: &[u8]) -> Self {
        let source = &mut Source::new(bytes);
        let settings = settings(source);
        let ranks = source.pick(&[Ranks::Few, Ranks::Hundred, Ranks::HeavyTailed, Ranks::Any]);
        // Some cases ask for packets seldom, so that buffers overflow; others often, so that they run empty.
        let dequeues_in_ten = source.pick(&[4, 2, 6]);
        // Where there is nothing to mark, no bytes are spent on codepoints.
        let ops = decode_ops(source, ranks, dequeues_in_ten, settings.has("ecn"));
        Self { settings, ops }
    }

    /// Cases of up to about 150 operations; they shrink to shorter and plainer ones.
    pub fn strategy(settings: DrawSettings) -> impl Strategy<Value = Self> {
        vec(any::<u8>(), 0..600).prop_map(move |bytes| Self::decode(settings, &bytes))
    }
}

/// Operations until the source is spent; with `codepoints` half of the packets can carry a mark.
pub(crate) fn decode_ops(source: &mut Source<'_>, ranks: Ranks, dequeues_in_ten: u64, codepoints: bool) -> Vec<Op> {
    let mut ops = Vec::new();
    let mut now = 0;
    while !source.is_spent() {
        now += source.below(8).saturating_sub(3);
        if source.below(10) < dequeues_in_ten {
            ops.push(Op::Dequeue(now));
            continue;
        }
        let rank = match ranks {
            Ranks::Few => source.below(8),
            Ranks::Hundred => source.below(100),
            Ranks::HeavyTailed => {
                let bits = source.below(40) as u32;
                (1 << bits) - 1 + source.below(1 << bits.min(8))
            }
            Ranks::Any => source.bits(8) & Rank::MAX.get(),
        };
        let flow = match source.below(32) {
            31 => source.bits(4) as u32,
            flow => flow as u32 % 5,
        };
        let size = source.pick(&[1500, 40, 300, 576, 1000, 9000, 1]);
        let eligible_ns = source.pick(&[0, 0, 0, 1, 3, 9, 30]) + now;
        let ecn = if codepoints { source.pick(&[0, 2, 0, 1, 0, 3]) } else { 0 };
        ops.push(Op::Enqueue(Offer { id: ops.len() as u64, rank, flow, size, eligible_ns, ecn }, now));
    }
    ops
}

/// The unit of a capacity: one per packet, or its bytes.
pub(crate) fn cost(capacity: Capacity, size: u32) -> u64 {
    match capacity {
        Capacity::Bytes(_) => size.into(),
        Capacity::Packets(_) | Capacity::Unlimited => 1,
    }
}
