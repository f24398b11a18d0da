//! pFabric's rank: flow size minus the first byte of the segment, fixed when the segment is made.
//!
//! Paper: Alizadeh et al., "pFabric: Minimal Near-Optimal Datacenter Transport", SIGCOMM 2013, section 4.1; SP-PIFO section 6.1.
//!
//! Parameters: none.
//!
//! Cost: O(1), no state; the sender writes the value into the packet.
//!
//! What the rank means: flows that are nearly done go first. Later segments of a flow rank lower and overtake earlier
//! ones.
//!
//! Deviations: the value belongs to the segment: a retransmission keeps it. ACKs and handshake packets rank 0.
//!
//! References: `docs/ranks/remaining-size.md`.

use super::hinted::hinted_rank;
use crate::params::Info;
use crate::{Fact, Facts};
use pifolab_units::Rank;

hinted_rank!(
    /// pFabric: flow size minus the first byte of the segment, in bytes.
    RemainingSize,
    needs: Facts::one(Fact::Remaining),
    rank: |hints, _now| Rank::saturating(hints.remaining.0),
    Info {
        name: "remaining-size",
        summary: "pFabric: flow size minus the first byte of the segment, in bytes.",
        paper: "pFabric, SIGCOMM 2013; SP-PIFO section 6.1",
        effect: "Flows that are nearly done go first (shortest remaining processing time).",
        state: "none; the rank travels in the packet",
        cost: "O(1)",
        params: &[],
    }
);
