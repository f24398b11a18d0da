//! The ranks that transports write into their segments.

use pifolab_units::Rank;

pifolab_params::choices! {
    /// The rank that a sender writes into each segment, fixed when the segment is created. Ranks that depend on a port
    /// (STFQ, LSTF, ...) come from a rank function at that port instead.
    #[derive(Default)]
    pub enum RankRule {
        #[default]
        Zero = "zero": "0",
        /// pFabric: flow size minus the offset of the segment's first byte, in bytes. A retransmission has the same
        /// rank.
        RemainingSize = "remaining-size": "flow size minus the first byte of the segment (pFabric)",
        /// Like `RemainingSize`, but by TCP sequence number: the SYN has number 0 and the first byte number 1. Ranks of
        /// data are therefore smaller by one, but never below 0 (the Netbench forks).
        RemainingBySequence = "remaining-by-sequence": "the same by TCP sequence number, smaller by one (the profiles' pFabric)",
        FlowSize = "flow-size": "the size of the flow",
        /// Unacknowledged bytes at the time of sending (SRPT).
        Unacknowledged = "unacknowledged": "bytes not acknowledged yet (SRPT)",
    }
}

impl RankRule {
    /// The rank of a segment in a flow of `size` bytes, after `before` bytes of the flow, of which `acknowledged` bytes
    /// are acknowledged.
    pub fn rank(self, size: u64, before: u64, acknowledged: u64) -> Rank {
        let left = size - before;
        Rank::saturating(match self {
            Self::Zero => 0,
            Self::RemainingSize => left,
            Self::RemainingBySequence => left.saturating_sub(1),
            Self::FlowSize => size,
            Self::Unacknowledged => size - acknowledged,
        })
    }
}

pifolab_params::choices! {
    /// The rank of acknowledgements and of the receiver's handshake segment.
    #[derive(Default)]
    pub enum AckRank {
        #[default]
        Zero = "zero": "0, the highest priority",
        /// The bytes of the flow that have not arrived in order. Acknowledgements then compete like the data that they
        /// acknowledge.
        Remaining = "remaining": "the bytes of the flow that have not arrived in order yet",
    }
}
