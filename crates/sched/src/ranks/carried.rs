//! The rank that the packet carries: an earlier hop, the sender or a trace has set it.
//!
//! Paper: the setting of SP-PIFO, AIFO, PACKS, RIFO and Exp-PIFO: "packets arrive with a rank".
//!
//! Parameters: none.
//!
//! Cost: O(1), no state.
//!
//! What the rank means: the sender defines it.
//!
//! Deviations: none.
//!
//! References: `docs/ranks/carried.md`.

use crate::params::{Args, FromArgs, Info, ParamError};
use crate::{Fact, Facts, Packet, RankFn};
use pifolab_units::{Rank, Time};

/// The rank that the packet carries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried;

impl RankFn for Carried {
    #[inline]
    fn rank(&mut self, packet: &Packet, _now: Time) -> Rank {
        packet.rank
    }

    fn needs(&self) -> Facts {
        Facts::one(Fact::CarriedRank)
    }
}

impl FromArgs for Carried {
    const INFO: Info = Info {
        name: "carried",
        summary: "The rank that the packet carries.",
        paper: "the setting of all five papers",
        effect: "The order that the sender chose.",
        state: "none",
        cost: "O(1)",
        params: &[],
    };

    fn from_args(_args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packet_s_own_rank_is_kept() {
        let packet = Packet { id: 0, flow: 0, size: 1, rank: Rank::from(77), arrival: Time::ZERO };
        assert_eq!(Carried.rank(&packet, Time::ZERO), Rank::from(77));
        assert!(!Carried.reads().has_hints());
    }
}
