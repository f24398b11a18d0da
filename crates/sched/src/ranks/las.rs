//! Least attained service: the rank is the number of bytes of the flow that this port has already seen.
//!
//! Paper: Rai, Urvoy-Keller, Biersack, "Analysis of LAS Scheduling for Job Size Distributions with High Variance",
//! SIGMETRICS 2003; as a rank for PIFO: Sivaraman et al., SIGCOMM 2016, section 3.
//!
//! Parameters: none.
//!
//! Cost: O(1). A switch needs one register per flow.
//!
//! What the rank means: new and short flows go first, without knowing any flow's size.
//!
//! Deviations: bytes count when they arrive, even if the packet is then dropped (a switch counts at ingress).
//!
//! References: `docs/ranks/las.md`.

use super::PerFlow;
use crate::params::{Args, FromArgs, Info, ParamError};
use crate::{Facts, Packet, RankFn};
use pifolab_units::{Rank, Time};

/// Least attained service.
#[derive(Clone, Debug, Default)]
pub struct Las {
    seen: PerFlow<u64>,
}

impl Las {
    /// A function that has seen no byte.
    pub const fn new() -> Self {
        Self { seen: PerFlow::new() }
    }
}

impl RankFn for Las {
    #[inline]
    fn rank(&mut self, packet: &Packet, _now: Time) -> Rank {
        let seen = self.seen.get_mut(packet.flow);
        let before = *seen;
        *seen = before.saturating_add(u64::from(packet.size));
        Rank::saturating(before)
    }

    fn needs(&self) -> Facts {
        Facts::NONE
    }

    fn forget_flow(&mut self, flow: u32) {
        *self.seen.get_mut(flow) = 0;
    }

    fn flow_bytes(&self) -> usize {
        self.seen.flow_bytes()
    }
}

impl FromArgs for Las {
    const INFO: Info = Info {
        name: "las",
        summary: "Least attained service: bytes of the flow that this port has already seen.",
        paper: "Rai, Urvoy-Keller, Biersack, SIGMETRICS 2003",
        effect: "New and short flows go first; no flow size needs to be known.",
        state: "one register per flow (bytes seen)",
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

    #[test]
    fn each_flow_s_rank_is_the_bytes_that_came_before() {
        let mut las = Las::new();
        let mut rank = |flow, size| {
            las.rank(&Packet { id: 0, flow, size, rank: Rank::ZERO, arrival: Time::ZERO }, Time::ZERO).get()
        };
        assert_eq!([rank(0, 1500), rank(0, 100), rank(7, 40), rank(0, 1), rank(7, 1)], [0, 1500, 0, 1600, 40]);
    }

    #[test]
    fn dropped_bytes_stay_counted() {
        let mut las = Las::new();
        let packet = Packet { id: 0, flow: 0, size: 10, rank: Rank::ZERO, arrival: Time::ZERO };
        las.rank(&packet, Time::ZERO);
        las.on_drop(&packet, Time::ZERO);
        assert_eq!(las.rank(&packet, Time::ZERO), Rank::from(10));
    }
}
