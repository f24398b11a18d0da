//! Facts about packets that rank functions read. [`Hints`] has their values. [`Facts`] names the facts that a function
//! needs, so that a source of packets is checked before a run.

use crate::params::{Choice, choices};
use core::ops::{BitOr, Sub};
use pifolab_units::{Bytes, Span, Time};

/// Facts about a packet that do not fit in its 32-byte descriptor. They travel beside it, by packet id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Total size of its flow, in bytes.
    pub flow_size: Bytes,
    /// Flow size minus the first byte of this segment, in bytes (pFabric).
    pub remaining: Bytes,
    /// Bytes of its flow that the receiver has not acknowledged yet (SRPT).
    pub unacknowledged: Bytes,
    /// The time by which it must reach its destination, if it has a deadline.
    pub deadline: Option<Time>,
    /// The time that the rest of its path takes without any queueing.
    pub remaining_transmission: Span,
    /// Its queueing delay on the hops so far.
    pub delay_so_far: Span,
    /// Mean queueing delay of its class over the same hops.
    pub mean_delay_so_far: Span,
    /// Header fields for classifiers.
    pub labels: Labels,
    /// The label that a scheduler or a rank function of an earlier hop wrote; 0 if none did.
    pub carried_label: u64,
}

/// Header fields of a packet beside its flow. A field that its source does not know is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// The class that its source assigns.
    pub class: u32,
    /// The sending host: its number, its IPv4 address, or the low 32 bits of its IPv6 address.
    pub source: u32,
    /// The destination host, in the same form.
    pub destination: u32,
    /// The source port of TCP or UDP.
    pub source_port: u16,
    /// The destination port of TCP or UDP.
    pub destination_port: u16,
    /// The differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// The codepoint of explicit congestion notification (RFC 3168): 0 not capable, 1 ECT(1), 2 ECT(0), 3 marked already.
    pub ecn: u8,
}

choices! {
    /// One fact about a packet, beyond its flow, its size and the time.
    #[repr(u8)]
    pub enum Fact {
        CarriedRank = "carried-rank": "The rank that the packet carries.",
        FlowSize = "flow-size": "[`Hints::flow_size`].",
        Remaining = "remaining": "[`Hints::remaining`].",
        Unacknowledged = "unacknowledged": "[`Hints::unacknowledged`].",
        Deadline = "deadline": "[`Hints::deadline`].",
        RemainingTransmission = "remaining-transmission": "[`Hints::remaining_transmission`].",
        DelaySoFar = "delay-so-far": "[`Hints::delay_so_far`].",
        MeanDelaySoFar = "mean-delay-so-far": "[`Hints::mean_delay_so_far`].",
        Class = "class": "[`Labels::class`].",
        Dscp = "dscp": "[`Labels::dscp`].",
        Hosts = "hosts": "[`Labels::source`] and [`Labels::destination`].",
        Ports = "ports": "[`Labels::source_port`] and [`Labels::destination_port`].",
        Ecn = "ecn": "[`Labels::ecn`].",
        CarriedLabel = "carried-label": "[`Hints::carried_label`], which the reader may replace.",
    }
}

/// A set of [`Fact`]s.
///
/// ```
/// use pifolab_sched::{Fact, Facts};
///
/// let needed = Facts::one(Fact::Deadline).with(Fact::RemainingTransmission);
/// let told = Facts::one(Fact::RemainingTransmission);
/// assert_eq!((needed - told).first(), Some(Fact::Deadline));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts(u16);

impl Facts {
    /// No fact.
    pub const NONE: Self = Self(0);
    /// Every fact.
    pub const ALL: Self = Self(u16::MAX);

    /// Only `fact`.
    pub const fn one(fact: Fact) -> Self {
        Self(1 << fact as u8)
    }

    /// These facts and `fact`.
    #[must_use]
    pub const fn with(self, fact: Fact) -> Self {
        Self(self.0 | 1 << fact as u8)
    }

    /// Whether `fact` is among them.
    pub const fn contains(self, fact: Fact) -> bool {
        self.0 & 1 << fact as u8 != 0
    }

    /// Whether any of them travels beside the packet in [`Hints`](crate::Hints).
    pub const fn has_hints(self) -> bool {
        self.0 & !Self::one(Fact::CarriedRank).0 != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// All of them.
    pub fn iter(self) -> impl Iterator<Item = Fact> {
        Fact::ALL.iter().copied().filter(move |fact| self.contains(*fact))
    }

    /// The first of them in the order of [`Fact`].
    pub fn first(self) -> Option<Fact> {
        self.iter().next()
    }
}

impl BitOr for Facts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Sub for Facts {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// The facts about packets that a scheduler or a rank function reads.
///
/// ```
/// use pifolab_sched::{Fact, Facts, WantedFacts};
///
/// let wanted = WantedFacts::needed(Facts::one(Fact::CarriedRank)) | WantedFacts { reads: Facts::one(Fact::FlowSize), ..WantedFacts::NONE };
/// assert!(wanted.has_hints() && !wanted.needs.contains(Fact::FlowSize));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WantedFacts {
    /// Facts that it needs about every packet. The caller checks that the source of the packets knows them all.
    pub needs: Facts,
    /// Facts that it reads where they are known; includes those that it needs.
    pub reads: Facts,
}

impl WantedFacts {
    /// Nothing.
    pub const NONE: Self = Self { needs: Facts::NONE, reads: Facts::NONE };

    /// Needs `facts` and reads no others.
    pub const fn needed(facts: Facts) -> Self {
        Self { needs: facts, reads: facts }
    }

    /// Whether any of them travels beside the packet in [`Hints`]. If not, callers need not gather hints.
    pub const fn has_hints(self) -> bool {
        self.reads.has_hints()
    }
}

impl BitOr for WantedFacts {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self { needs: self.needs | other.needs, reads: self.reads | other.reads }
    }
}

/// All of these without `facts`.
impl Sub<Facts> for WantedFacts {
    type Output = Self;

    fn sub(self, facts: Facts) -> Self {
        Self { needs: self.needs - facts, reads: self.reads - facts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_of_all_holds_each_fact_and_every_fact_but_the_carried_rank_is_a_hint() {
        assert_eq!(Facts::ALL.iter().count(), Fact::ALL.len());
        for fact in Facts::ALL.iter() {
            assert_eq!(Facts::one(fact).iter().collect::<alloc::vec::Vec<_>>(), [fact]);
            assert_eq!(Facts::one(fact).has_hints(), fact != Fact::CarriedRank);
        }
    }
}
