//! pFabric's rate control as in the papers' simulations: NewReno with a full initial window.
//!
//! Paper: Alizadeh et al., "pFabric: minimal near-optimal datacenter transport", SIGCOMM 2013, section 4.2.
//! Parameters: the initial window and threshold, in segments (30 in the Netbench forks that the SP-PIFO and AIFO papers
//! used; there is no slow start); the initial timeout (three fabric round trips in the forks).
//! Rank: the flow's bytes from this segment to the end ([`RankRule::RemainingSize`]); acknowledgements have rank 0.
//! Deviations: in the paper's design the window grows by slow start after timeouts only, and five timeouts start probe
//! packets. The simulations behind SP-PIFO, AIFO, PACKS and RIFO have neither, and this file follows them: it keeps
//! NewReno's fast recovery and halving.

use crate::{AckRank, RankRule, TcpParams, TransportParams};

/// Initial window and threshold, in segments (the Netbench forks).
pub const WINDOW_SEGMENTS: u32 = 30;

impl TransportParams {
    /// pFabric: NewReno with an initial window of [`WINDOW_SEGMENTS`], no slow start, and ranks by remaining size.
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
