//! Bytes of the flow that are not acknowledged yet when the segment is sent: shortest remaining processing time to the letter.
//!
//! Paper: Schrage, Miller, 1966; pFabric (SIGCOMM 2013) section 4.1 approximates it.
//!
//! Parameters: none.
//!
//! Cost: O(1), no state; the sender writes the value into the packet.
//!
//! What the rank means: flows that are nearly done go first; of one flow, segments of one window have equal ranks and stay in order.
//!
//! Deviations: ACKs and handshake packets rank 0.
//!
//! References: `docs/ranks/unacknowledged.md`.

use super::Hinted;
use crate::params::{Args, FromArgs, Info, ParamError};
use crate::{Hints, Packet, RankFn};
use pifolab_units::{Rank, Time};

/// Bytes of the flow not yet acknowledged (SRPT), in bytes.
#[derive(Clone, Debug, Default)]
pub struct Unacknowledged {
    hinted: Hinted,
}

impl Unacknowledged {
    /// Nothing to remember yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl RankFn for Unacknowledged {
    #[inline]
    fn rank(&mut self, packet: &Packet, _now: Time) -> Rank {
        Rank::saturating(self.hinted.take(packet.id).unacknowledged.0)
    }

    #[inline]
    fn hint(&mut self, id: u64, hints: &Hints) {
        self.hinted.put(id, hints);
    }

    fn wants_hints(&self) -> bool {
        true
    }
}

impl FromArgs for Unacknowledged {
    const INFO: Info = Info {
        name: "unacknowledged",
        summary: "Bytes of the flow not yet acknowledged (SRPT), in bytes.",
        paper: "SRPT; pFabric, SIGCOMM 2013, section 4.1",
        departure: "Flows that are nearly done go first; segments of one window keep their order.",
        state: "none; the rank travels in the packet",
        cost: "O(1)",
        params: &[],
    };

    fn from_args(_args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_units::Bytes;

    #[test]
    fn the_rank_is_the_hint_and_zero_without_one() {
        let packet = Packet { id: 3, flow: 0, size: 1500, rank: Rank::from(9), arrival: Time::ZERO };
        let mut rank_fn = Unacknowledged::new();
        assert!(rank_fn.wants_hints());
        let hints = Hints {
            flow_size: Bytes(30_000),
            remaining: Bytes(20_000),
            unacknowledged: Bytes(25_000),
            ..Hints::default()
        };
        rank_fn.hint(3, &hints);
        assert_eq!(rank_fn.rank(&packet, Time::ZERO), Rank::from(25_000));
        assert_eq!(rank_fn.rank(&packet, Time::ZERO), Rank::ZERO);
        rank_fn.hint(3, &Hints { unacknowledged: Bytes(u64::MAX), ..Hints::default() });
        assert_eq!(rank_fn.rank(&packet, Time::ZERO), Rank::MAX);
    }
}
