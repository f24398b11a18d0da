//! Bytes of the flow that are not acknowledged yet when the segment is sent: exact shortest remaining processing time.
//!
//! Paper: Schrage, Miller, 1966; pFabric (SIGCOMM 2013) section 4.1 approximates it.
//!
//! Parameters: none.
//!
//! Cost: O(1), no state; the sender writes the value into the packet.
//!
//! What the rank means: flows that are nearly done go first. Segments of one window of a flow have equal ranks and stay
//! in order.
//!
//! Deviations: ACKs and handshake packets rank 0.
//!
//! References: `docs/ranks/unacknowledged.md`.

use super::hinted::hinted_rank;
use crate::params::Info;
use crate::{Fact, Facts};
use pifolab_units::Rank;

hinted_rank!(
    /// Bytes of the flow not yet acknowledged (SRPT), in bytes.
    Unacknowledged,
    needs: Facts::one(Fact::Unacknowledged),
    rank: |hints, _now| Rank::saturating(hints.unacknowledged.0),
    Info {
        name: "unacknowledged",
        summary: "Bytes of the flow not yet acknowledged (SRPT), in bytes.",
        paper: "SRPT; pFabric, SIGCOMM 2013, section 4.1",
        effect: "Flows that are nearly done go first; segments of one window keep their order.",
        state: "none; the rank travels in the packet",
        cost: "O(1)",
        params: &[],
    }
);
