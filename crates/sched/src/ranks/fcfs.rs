//! First come, first served: the rank counts arrivals, so that an ideal scheduler is a FIFO.
//!
//! Paper: none; the baseline rank of Sivaraman et al., SIGCOMM 2016, section 3.
//!
//! Parameters: none.
//!
//! Cost: O(1). A switch needs one counter per port.
//!
//! What the rank means: the order of arrival at this port; no two packets have the same rank.
//!
//! Deviations: none.
//!
//! References: `docs/ranks/fcfs.md`.

use crate::params::{Args, FromArgs, Info, ParamError};
use crate::{Facts, Packet, RankFn};
use pifolab_units::{Rank, Time};

/// First come, first served.
#[derive(Clone, Debug, Default)]
pub struct Fcfs {
    arrivals: u64,
}

impl Fcfs {
    /// A counter at zero.
    pub const fn new() -> Self {
        Self { arrivals: 0 }
    }
}

impl RankFn for Fcfs {
    #[inline]
    fn rank(&mut self, _packet: &Packet, _now: Time) -> Rank {
        let rank = Rank::saturating(self.arrivals);
        self.arrivals += 1;
        rank
    }

    fn needs(&self) -> Facts {
        Facts::NONE
    }
}

impl FromArgs for Fcfs {
    const INFO: Info = Info {
        name: "fcfs",
        summary: "First come, first served: the rank counts arrivals at this port.",
        paper: "the baseline; Sivaraman et al., SIGCOMM 2016",
        effect: "PIFO becomes FIFO; any inversion that remains is due to the scheduler.",
        state: "one counter per port",
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
    fn ranks_count_arrivals_whatever_the_flow() {
        let mut fcfs = Fcfs::new();
        let ranks = [3, 1, 3].map(|flow| {
            fcfs.rank(&Packet { id: 9, flow, size: 1, rank: Rank::MAX, arrival: Time::ZERO }, Time::ZERO).get()
        });
        assert_eq!(ranks, [0, 1, 2]);
    }
}
