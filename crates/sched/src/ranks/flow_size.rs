//! The total size of the packet's flow: shortest job first.
//!
//! Paper: SP-PIFO section 6.2 (Fig. 12) ranks by it; the non-preemptive relative of pFabric.
//!
//! Parameters: none.
//!
//! Cost: O(1), no state; the sender writes the value into the packet.
//!
//! What the rank means: short flows go first, to the last of their packets.
//!
//! Deviations: a packet without facts (an ACK) ranks 0.
//!
//! References: `docs/ranks/flow-size.md`.

use super::hinted::hinted_rank;
use crate::params::Info;
use crate::{Fact, Facts};
use pifolab_units::Rank;

hinted_rank!(
    /// The total size of the flow, in bytes.
    FlowSize,
    needs: Facts::one(Fact::FlowSize),
    rank: |hints, _now| Rank::saturating(hints.flow_size.0),
    Info {
        name: "flow-size",
        summary: "The total size of the flow, in bytes.",
        paper: "SP-PIFO section 6.2",
        effect: "Short flows go first: shortest job first.",
        state: "none; the rank travels in the packet",
        cost: "O(1)",
        params: &[],
    }
);
