//! The segments that two end points exchange.

use pifolab_units::{Rank, Time};

/// The bits of a segment's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// Opens the connection.
    pub const SYN: Self = Self(1);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(2);
    /// Echoes a congestion mark to the sender.
    pub const ECE: Self = Self(4);
    /// Travels from the receiver to the sender.
    pub const REVERSE: Self = Self(8);
    /// The network was congested on the way (set by a queue, not by an end point).
    pub const CE: Self = Self(16);
    /// The sender has cut its window (RFC 3168: CWR).
    pub const CWR: Self = Self(32);
    /// Retransmitted data, which must not be marked under ECN of RFC 3168 (section 6.1.5).
    pub const NOT_ECT: Self = Self(64);

    /// All bits as a number.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union of both sets of bits.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One segment. Sequence and acknowledgement numbers count segments, not bytes: data segment `k` carries the bytes `k *
/// mss ..` of its flow. 32 bits suffice for flows of terabytes, and a bitmap can store a set of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The time of creation. In an acknowledgement, the creation time of the acknowledged segment.
    pub stamp: Time,
    /// The rank that the transport assigns at creation.
    pub rank: Rank,
    /// For data, the number of the segment carried; otherwise the number of the next segment to send.
    pub seq: u32,
    /// The number of the first segment that has not arrived in order (if [`Flags::ACK`]).
    pub ack: u32,
    /// Position in the receiver's [`SackLog`](crate::SackLog). All entries before it are selectively acknowledged.
    pub sack: u32,
    /// Payload in bytes; 0 for all segments but data.
    pub payload_bytes: u16,
    /// Header bits.
    pub flags: Flags,
}

impl Segment {
    /// Whether the segment travels from the flow's source to its destination.
    pub const fn from_sender(&self) -> bool {
        !self.flags.has(Flags::REVERSE)
    }
}
