//! pFabric's rate control as the papers' simulations have it: NewReno that starts at full speed.
//!
//! Paper: Alizadeh et al., "pFabric: minimal near-optimal datacenter transport", SIGCOMM 2013, section 4.2.
//! Parameters: the initial window and threshold, in segments (there is no slow start; 30 in the Netbench forks that
//! the SP-PIFO and AIFO papers used); the initial timeout (three fabric round trips there).
//! Rank: the bytes of the flow from this segment on ([`RankRule::RemainingSize`]); acknowledgements have rank 0.
//! Deviations: the paper's own design grows the window like slow start does after a timeout only, and sends probe
//! packets after five of them. The simulations behind SP-PIFO, AIFO, PACKS and RIFO do not, and neither does this:
//! it keeps NewReno's fast recovery and halving.

use crate::{AckRank, RankRule, TcpParams, TransportParams};

/// Start values of the window, in segments (the Netbench forks).
pub const WINDOW_SEGMENTS: u32 = 30;

impl TransportParams {
    /// pFabric: NewReno with a start window of [`WINDOW_SEGMENTS`], no slow start, and ranks by remaining size.
    pub fn pfabric() -> Self {
        Self {
            tcp: TcpParams {
                initial_window_segments: WINDOW_SEGMENTS,
                initial_ssthresh_segments: Some(WINDOW_SEGMENTS),
                ..TcpParams::default()
            },
            rank: RankRule::RemainingSize,
            ack_rank: AckRank::Zero,
            ..Self::new_reno()
        }
    }
}
