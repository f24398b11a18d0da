//! Operations, answers, and cases, which combine operations with settings.

use crate::{Settings, Source};
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Fact, Hints, Labels, Packet, Scheduler};
use pifolab_units::{Rank, Time};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};

/// A packet for oracles: like the library's, but `Copy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The packet's id.
    pub id: u64,
    /// Its rank.
    pub rank: u64,
    /// Its flow.
    pub flow: u32,
    /// Its size in bytes.
    pub size: u32,
    /// The earliest departure time, in ns.
    pub eligible_ns: u64,
    /// The codepoint (RFC 3168); with 0 the packet cannot carry a mark. Passed to schedulers that declare the fact.
    pub ecn: u8,
}

/// One call of a scheduler, with its time in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Offers a packet.
    Enqueue(Offer, u64),
    /// Requests a packet.
    Dequeue(u64),
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Stored in `queue`, after pushing out the packets `evicted`, in this order.
    Admitted {
        /// The queue, from 0.
        queue: u32,
        /// The ids of the packets pushed out.
        evicted: Vec<u64>,
    },
    /// Refused.
    Dropped(DropReason),
    /// Sent.
    Sent(u64),
    /// Sent with a mark (congestion experienced, RFC 3168).
    Marked(u64),
    /// Dropped at the dequeue.
    GivenUp(u64, DropReason),
    /// No waiting packet may leave before this time, in ns.
    NotBefore(u64),
    /// No packet waits.
    Empty,
}

impl Answer {
    /// Stored without pushing out a packet.
    pub const fn admitted(queue: usize) -> Self {
        Self::Admitted { queue: queue as u32, evicted: Vec::new() }
    }

    /// Converts the library's outcome of an enqueue.
    pub fn of_enqueue(outcome: &Enqueued) -> Self {
        match outcome {
            Enqueued::Admitted { queue, .. } => Self::admitted(*queue as usize),
            Enqueued::Evicted { queue, victims, .. } => {
                Self::Admitted { queue: *queue, evicted: victims.iter().map(|packet| packet.id).collect() }
            }
            Enqueued::Dropped { reason, .. } => Self::Dropped(*reason),
        }
    }

    /// Converts the library's outcome of a dequeue; `marked` if the library marked the packet.
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

    /// Applies the operation to a scheduler of the library.
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
    /// Offers the packet to a scheduler of the library, with the codepoint if the scheduler declares that fact.
    pub(crate) fn to(&self, scheduler: &mut dyn Scheduler, now: Time) -> Enqueued {
        if scheduler.wants().needs.contains(Fact::Ecn) {
            let labels = Labels { ecn: self.ecn, ..Labels::default() };
            scheduler.hint(self.id, &Hints { labels, ..Hints::default() });
        }
        scheduler.enqueue_eligible(self.packet(now), Time::from_ns(self.eligible_ns), now)
    }

    /// Converts to the library's packet.
    pub fn packet(&self, arrival: Time) -> Packet {
        Packet { id: self.id, flow: self.flow, size: self.size, rank: Rank::saturating(self.rank), arrival }
    }
}

/// Draws the settings of a scheduler.
pub type DrawSettings = fn(&mut Source<'_>) -> Settings;

/// Settings and operations for one scheduler.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The settings of the scheduler.
    pub settings: Settings,
    /// The operations.
    pub ops: Vec<Op>,
}

/// The distribution of the ranks of one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranks {
    /// Uniform below 8, with many ties.
    Few,
    /// Uniform below 100.
    Hundred,
    /// Of any order of magnitude up to 2^40.
    HeavyTailed,
    /// Any rank.
    Any,
}

impl Case {
    /// Decodes a case from bytes; every byte string is a valid case.
    pub fn decode(settings: DrawSettings, bytes: &[u8]) -> Self {
        let source = &mut Source::new(bytes);
        let settings = settings(source);
        let ranks = source.pick(&[Ranks::Few, Ranks::Hundred, Ranks::HeavyTailed, Ranks::Any]);
        // Some cases dequeue rarely, so that buffers overflow; others often, so that buffers become empty.
        let dequeues_in_ten = source.pick(&[4, 2, 6]);
        // Without ECN, no bytes are spent on codepoints.
        let ops = decode_ops(source, ranks, dequeues_in_ten, settings.has("ecn"));
        Self { settings, ops }
    }

    /// Generates cases of up to about 150 operations, which shrink to shorter and simpler ones.
    pub fn strategy(settings: DrawSettings) -> impl Strategy<Value = Self> {
        vec(any::<u8>(), 0..600).prop_map(move |bytes| Self::decode(settings, &bytes))
    }
}

/// Decodes operations until the source is spent. With `codepoints`, half of the packets can carry a mark.
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

/// The packet's cost in the capacity's unit: 1, or its bytes.
pub(crate) fn cost(capacity: Capacity, size: u32) -> u64 {
    match capacity {
        Capacity::Bytes(_) => size.into(),
        Capacity::Packets(_) | Capacity::Unlimited => 1,
    }
}
