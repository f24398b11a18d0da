//! pFabric's rank: flow size minus the first byte of the segment, fixed when the segment is made.
//!
//! Paper: Alizadeh et al., "pFabric: Minimal Near-Optimal Datacenter Transport", SIGCOMM 2013, section 4.1; SP-PIFO section 6.1.
//!
//! Parameters: none.
//!
//! Cost: O(1), no state; the sender writes the value into the packet.
//!
//! What the rank means: flows that are nearly done go first; of one flow, later segments rank lower and overtake earlier ones.
//!
//! Deviations: the value belongs to the segment: a retransmission keeps it. ACKs and handshake packets rank 0.
//!
//! References: `docs/ranks/remaining-size.md`.

use super::Hinted;
use crate::params::{Args, FromArgs, Info, ParamError};
use crate::{Hints, Packet, RankFn};
use pifolab_units::{Rank, Time};

/// pFabric: flow size minus the first byte of the segment, in bytes.
#[derive(Clone, Debug, Default)]
pub struct RemainingSize {
    hinted: Hinted,
}

impl RemainingSize {
    /// Nothing to remember yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl RankFn for RemainingSize {
    #[inline]
    fn rank(&mut self, packet: &Packet, _now: Time) -> Rank {
        Rank::saturating(self.hinted.take(packet.id).remaining.0)
    }

    #[inline]
    fn hint(&mut self, id: u64, hints: &Hints) {
        self.hinted.put(id, hints);
    }

    fn wants_hints(&self) -> bool {
        true
    }
}

impl FromArgs for RemainingSize {
    const INFO: Info = Info {
        name: "remaining-size",
        summary: "pFabric: flow size minus the first byte of the segment, in bytes.",
        paper: "pFabric, SIGCOMM 2013; SP-PIFO section 6.1",
        departure: "Flows that are nearly done go first (shortest remaining processing time).",
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
        let mut rank_fn = RemainingSize::new();
        assert!(rank_fn.wants_hints());
        let hints = Hints {
            flow_size: Bytes(30_000),
            remaining: Bytes(20_000),
            unacknowledged: Bytes(25_000),
            ..Hints::default()
        };
        rank_fn.hint(3, &hints);
        assert_eq!(rank_fn.rank(&packet, Time::ZERO), Rank::from(20_000));
        assert_eq!(rank_fn.rank(&packet, Time::ZERO), Rank::ZERO);
        rank_fn.hint(3, &Hints { remaining: Bytes(u64::MAX), ..Hints::default() });
        assert_eq!(rank_fn.rank(&packet, Time::ZERO), Rank::MAX);
    }
}
