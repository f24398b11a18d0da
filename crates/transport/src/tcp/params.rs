//! The parameters of TCP.

use super::Window;
use crate::{AckRank, RankRule, Recovery, rows};
use core::fmt;
use pifolab_params::{Param, ParamError};
use pifolab_units::Span;

/// Handshake, loss recovery and timers. The defaults follow the RFCs unless data centres need other values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpParams {
    /// Maximum segment size (payload), in bytes, 1 to 65,535. Default 1460 (RFC 9293 over Ethernet).
    pub mss_bytes: u32,
    /// Initial window, in segments, 1 to 65,535. Default 10 (RFC 6928).
    pub initial_window_segments: u32,
    /// Initial slow-start threshold, in segments; `None` is no threshold ("arbitrarily high", RFC 5681). Default
    /// `None`.
    pub initial_ssthresh_segments: Option<u32>,
    /// Upper limit of the window in bytes, at least one segment. Default 65,535 (RFC 9293 without window scaling).
    /// Raise the limit if rate x delay is larger.
    pub max_window_bytes: u64,
    /// Retransmission timeout before the first round-trip sample. Default 10 ms (RFC 6298: 1 s, intended for the
    /// Internet).
    pub initial_rto: Span,
    /// Floor of the timeout. Default 1 ms (RFC 6298: 1 s; Linux: 200 ms; both far above data-centre round trips).
    pub min_rto: Span,
    /// Ceiling of the timeout. Default 60 s (RFC 6298).
    pub max_rto: Span,
    /// How the sender detects losses. Default duplicate acknowledgements.
    pub recovery: Recovery,
    /// Number of duplicate acknowledgements that indicates a loss, 1 to 255. Default 3 (RFC 5681).
    pub duplicate_threshold: u32,
    /// Send new data on the first two duplicates (RFC 3042). Default true.
    pub limited_transmit: bool,
    /// Count duplicates also before the first new acknowledgement, so that a lost first segment can be repaired without
    /// a timeout. Default true; false in the Netbench forks.
    pub count_first_duplicates: bool,
    /// Whether a flow begins with a handshake. Without one the connection is open at the start, as one that has been idle.
    /// Default true.
    pub handshake: bool,
    /// Whether the receiver accepts data that arrives before the last segment of the handshake. Default true, because
    /// data carries the same acknowledgement. False in the Netbench forks, which ignore such data.
    pub accept_data_in_handshake: bool,
    /// Restart the timer at every transmission, not only if it is stopped. Default false (RFC 6298, 5.1); true in the
    /// Netbench forks.
    pub restart_timer_on_send: bool,
    /// After a timeout, losses of data outstanding at the timeout do not start a fast recovery (RFC 6582, 4). Default
    /// true; false in the Netbench forks.
    pub timeout_sets_recover: bool,
    /// NewReno and CUBIC: data can carry marks (RFC 3168). A mark cuts the window like a loss, once per window. Default
    /// false.
    pub ecn: bool,
}

impl Default for TcpParams {
    fn default() -> Self {
        Self {
            mss_bytes: 1460,
            initial_window_segments: 10,
            initial_ssthresh_segments: None,
            max_window_bytes: 65_535,
            initial_rto: Span::from_us(10_000),
            min_rto: Span::from_us(1_000),
            max_rto: Span::from_s(60),
            recovery: Recovery::default(),
            duplicate_threshold: 3,
            limited_transmit: true,
            count_first_duplicates: true,
            handshake: true,
            accept_data_in_handshake: true,
            restart_timer_on_send: false,
            timeout_sets_recover: true,
            ecn: false,
        }
    }
}

impl TcpParams {
    /// Checks every field.
    pub(crate) fn check(&self) -> Result<(), ParamError> {
        let fault = |row: &Param, value: &dyn fmt::Display, expected: &str| {
            Err(row.error_because("transport", value, format!("expected {expected}")))
        };
        rows::MSS_BYTES.check("transport", self.mss_bytes)?;
        rows::INITIAL_WINDOW_SEGMENTS.check("transport", self.initial_window_segments)?;
        if let Some(segments) = self.initial_ssthresh_segments {
            rows::INITIAL_SSTHRESH_SEGMENTS.check("transport", segments)?;
        }
        if !(u64::from(self.mss_bytes)..=rows::MAX_BYTES).contains(&self.max_window_bytes) {
            let expected = format!("from {} to {}", self.mss_bytes, rows::MAX_BYTES);
            return fault(&rows::MAX_WINDOW_BYTES, &self.max_window_bytes, &expected);
        }
        rows::DUPLICATE_THRESHOLD.check("transport", self.duplicate_threshold)?;
        let hour = Span::from_s(3_600);
        if self.max_rto > hour && self.max_rto != Span::MAX {
            return fault(&rows::MAX_RTO, &self.max_rto, "at most 1 h, or unlimited");
        }
        if self.initial_rto == Span::ZERO || self.initial_rto > hour {
            return fault(&rows::INITIAL_RTO, &self.initial_rto, "above 0 and at most 1 h");
        }
        if self.min_rto > self.max_rto {
            return fault(&rows::MIN_RTO, &self.min_rto, "at most max_rto");
        }
        Ok(())
    }

    /// The initial window.
    pub(super) fn window(&self) -> Window {
        let mss = f64::from(self.mss_bytes);
        Window {
            cwnd: f64::from(self.initial_window_segments) * mss,
            ssthresh: self.initial_ssthresh_segments.map_or(f64::INFINITY, |segments| f64::from(segments) * mss),
            mss,
            limit: self.max_window_bytes as f64,
        }
    }
}

/// The parameters of both ends of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Handshake, loss recovery and timers.
    pub tcp: TcpParams,
    /// Whether the receiver echoes marks until the sender confirms a cut, and the sender cuts once per window (RFC
    /// 3168, section 6.1).
    pub ecn: bool,
    /// Ranks of the segments that the sender creates.
    pub rank: RankRule,
    /// Ranks of the segments that the receiver creates.
    pub ack_rank: AckRank,
}
