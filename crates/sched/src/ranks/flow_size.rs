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
//! Deviations: a packet of which nothing was said (an ACK) ranks 0.
//!
//! References: `docs/ranks/flow-size.md`.

use super::Hinted;
use crate::params::{Args, FromArgs, Info, ParamError};
use crate::{Hints, Packet, RankFn};
use pifolab_units::{Rank, Time};

/// The total size of the flow, in bytes.
#[derive(Clone, Debug, Default)]
pub struct FlowSize {
    hinted: Hinted,
}

impl FlowSize {
    /// Nothing to remember yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl RankFn for FlowSize {
    #[inline]
    fn rank(&mut self, packet: &Packet, _now: Time) -> Rank {
        Rank::saturating(self.hinted.take(packet.id).flow_size.0)
    }

    #[inline]
    fn hint(&mut self, id: u64, hints: &Hints) {
        self.hinted.put(id, hints);
    }

    fn wants_hints(&self) -> bool {
        true
    }
}

impl FromArgs for FlowSize {
    const INFO: Info = Info {
        name: "flow-size",
        summary: "The total size of the flow, in bytes.",
        paper: "SP-PIFO section 6.2",
        departure: "Short flows go first: shortest job first.",
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
        let mut rank_fn = FlowSize::new();
        assert!(rank_fn.wants_hints());
        let hints = Hints {
            flow_size: Bytes(30_000),
            remaining: Bytes(20_000),
            unacknowledged: Bytes(25_000),
            ..Hints::default()
        };
        rank_fn.hint(3, &hints);
        assert_eq!(rank_fn.rank(&packet, Time::ZERO), Rank::from(30_000));
        assert_eq!(rank_fn.rank(&packet, Time::ZERO), Rank::ZERO);
        rank_fn.hint(3, &Hints { flow_size: Bytes(u64::MAX), ..Hints::default() });
        assert_eq!(rank_fn.rank(&packet, Time::ZERO), Rank::MAX);
    }
}
