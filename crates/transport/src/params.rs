//! What a user chooses about a transport, and the check that turns it into something that runs.

use crate::Window;
use crate::controllers::dctcp::{Dctcp, DctcpParams};
use crate::controllers::{AnyController, PlainController};
use crate::rank_rule::{AckRank, RankRule};
use crate::rows;
use crate::udp::UdpParams;
use core::fmt;
use pifolab_params::{Param, ParamError};
use pifolab_units::Span;

/// Everything about a transport. Public fields, sound defaults; [`validated`](Self::validated) checks them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransportParams {
    /// What steers the window.
    pub congestion: Congestion,
    /// Handshake, loss recovery and timers (unused by UDP, but for the segment size).
    pub tcp: TcpParams,
    /// Ranks of the segments that the sender creates.
    pub rank: RankRule,
    /// Ranks of the segments that the receiver creates.
    pub ack_rank: AckRank,
}

/// What steers the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Congestion {
    /// One that has no parameters.
    Plain(PlainController),
    /// In proportion to the marked fraction.
    Dctcp(DctcpParams),
    /// None: an open loop at a constant rate.
    Udp(UdpParams),
}

/// Handshake, loss recovery and timers. The defaults follow the RFCs where a data centre does not need otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpParams {
    /// Maximum segment size (payload), in bytes, 1 to 65,535. Default 1460 (RFC 9293 over Ethernet).
    pub mss_bytes: u32,
    /// Initial window, in segments, 1 to 65,535. Default 10 (RFC 6928).
    pub initial_window_segments: u32,
    /// Initial slow-start threshold, in segments; `None`: none ("arbitrarily high", RFC 5681). Default `None`.
    pub initial_ssthresh_segments: Option<u32>,
    /// The window never grows beyond this, in bytes, at least one segment. Default 65,535 (RFC 9293 without window
    /// scaling); raise it where rate x delay is larger.
    pub max_window_bytes: u64,
    /// Retransmission timeout before the first round-trip sample. Default 10 ms (RFC 6298: 1 s, meant for the
    /// Internet).
    pub initial_rto: Span,
    /// Floor of the timeout. Default 1 ms (RFC 6298: 1 s; Linux: 200 ms; both far above data-centre round trips).
    pub min_rto: Span,
    /// Ceiling of the timeout. Default 60 s (RFC 6298).
    pub max_rto: Span,
    /// Duplicate acknowledgements that reveal a loss, 1 to 255. Default 3 (RFC 5681).
    pub duplicate_threshold: u32,
    /// Send new data on the first two duplicates (RFC 3042). Default true.
    pub limited_transmit: bool,
    /// Count duplicates also before the first new acknowledgement, so that a lost first segment can be repaired
    /// without a timeout. Default true; false in the Netbench forks.
    pub count_first_duplicates: bool,
    /// Whether the receiver takes data that arrives before the handshake's last segment. Default true (data carries
    /// the same acknowledgement); false in the Netbench forks, where such data is ignored.
    pub accept_data_in_handshake: bool,
    /// Restart the timer at every transmission, not only when it is not running. Default false (RFC 6298, 5.1); true
    /// in the Netbench forks.
    pub restart_timer_on_send: bool,
    /// After a timeout, losses of what was outstanding do not start a fast recovery (RFC 6582, 4). Default true; false
    /// in the Netbench forks.
    pub timeout_sets_recover: bool,
    /// NewReno and CUBIC: data can carry marks (RFC 3168), and a mark cuts the window as a loss does, once per window. Default false.
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
            duplicate_threshold: 3,
            limited_transmit: true,
            count_first_duplicates: true,
            accept_data_in_handshake: true,
            restart_timer_on_send: false,
            timeout_sets_recover: true,
            ecn: false,
        }
    }
}

impl TransportParams {
    /// TCP with a controller that has no parameters, rank 0.
    pub fn plain(controller: PlainController) -> Self {
        Self {
            congestion: Congestion::Plain(controller),
            tcp: TcpParams::default(),
            rank: RankRule::Zero,
            ack_rank: AckRank::Zero,
        }
    }

    /// TCP NewReno, rank 0.
    pub fn new_reno() -> Self {
        Self::plain(PlainController::NewReno)
    }

    /// DCTCP as in RFC 8257, rank 0.
    pub fn dctcp() -> Self {
        Self { congestion: Congestion::Dctcp(DctcpParams::default()), ..Self::new_reno() }
    }

    /// TCP CUBIC, rank 0.
    pub fn cubic() -> Self {
        Self::plain(PlainController::Cubic)
    }

    /// Open-loop UDP, rank 0.
    pub fn udp(params: UdpParams) -> Self {
        Self { congestion: Congestion::Udp(params), ..Self::new_reno() }
    }

    /// Whether its senders answer to marks, so that their data can carry them (RFC 3168: ECT).
    pub const fn is_ecn_capable(&self) -> bool {
        matches!(self.congestion, Congestion::Dctcp(_)) || self.has_classic_ecn()
    }

    /// Whether marks are echoed until the sender says that it has answered, and answered once per window (RFC 3168, section 6.1).
    pub const fn has_classic_ecn(&self) -> bool {
        self.tcp.ecn && matches!(self.congestion, Congestion::Plain(_))
    }

    /// Checks every field.
    ///
    /// # Errors
    /// Names the first field that is out of range, its value and its range.
    pub fn validated(self) -> Result<ValidParams, ParamError> {
        let tcp = &self.tcp;
        let fault = |row: &Param, value: &dyn fmt::Display, expected: &str| {
            Err(row.error_because("transport", value, format!("expected {expected}")))
        };
        rows::MSS_BYTES.check("transport", tcp.mss_bytes)?;
        rows::INITIAL_WINDOW_SEGMENTS.check("transport", tcp.initial_window_segments)?;
        if let Some(segments) = tcp.initial_ssthresh_segments {
            rows::INITIAL_SSTHRESH_SEGMENTS.check("transport", segments)?;
        }
        if !(u64::from(tcp.mss_bytes)..=rows::MAX_BYTES).contains(&tcp.max_window_bytes) {
            let expected = format!("from {} to {}", tcp.mss_bytes, rows::MAX_BYTES);
            return fault(&rows::MAX_WINDOW_BYTES, &tcp.max_window_bytes, &expected);
        }
        rows::DUPLICATE_THRESHOLD.check("transport", tcp.duplicate_threshold)?;
        let hour = Span::from_s(3_600);
        if tcp.max_rto > hour && tcp.max_rto != Span::MAX {
            return fault(&rows::MAX_RTO, &tcp.max_rto, "at most 1 h, or unlimited");
        }
        if tcp.initial_rto == Span::ZERO || tcp.initial_rto > hour {
            return fault(&rows::INITIAL_RTO, &tcp.initial_rto, "above 0 and at most 1 h");
        }
        if tcp.min_rto > tcp.max_rto {
            return fault(&rows::MIN_RTO, &tcp.min_rto, "at most max_rto");
        }
        match &self.congestion {
            Congestion::Dctcp(dctcp) => {
                if !(dctcp.gain > 0.0 && dctcp.gain <= 1.0) {
                    return fault(&rows::GAIN, &dctcp.gain, "above 0 and at most 1");
                }
                if !(0.0..=1.0).contains(&dctcp.initial_alpha) {
                    return fault(&rows::INITIAL_ALPHA, &dctcp.initial_alpha, "from 0 to 1");
                }
            }
            Congestion::Udp(udp) => {
                rows::PAYLOAD_BYTES.check("transport", udp.payload_bytes)?;
                if udp.interval == Span::ZERO {
                    return fault(&rows::INTERVAL, &udp.interval, "above 0");
                }
            }
            Congestion::Plain(_) => {}
        }
        Ok(ValidParams(self))
    }
}

/// Parameters that passed [`TransportParams::validated`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValidParams(TransportParams);

impl ValidParams {
    /// What was validated.
    pub fn params(&self) -> &TransportParams {
        &self.0
    }

    /// Payload bytes of a full segment.
    pub fn segment_bytes(&self) -> u32 {
        match &self.0.congestion {
            Congestion::Udp(udp) => udp.payload_bytes,
            _ => self.0.tcp.mss_bytes,
        }
    }

    /// The largest flow that segment numbers reach, in bytes.
    pub fn max_flow_bytes(&self) -> u64 {
        u64::from(u32::MAX - 1) * u64::from(self.segment_bytes())
    }

    pub(crate) fn controller(&self) -> AnyController {
        match self.0.congestion {
            Congestion::Dctcp(params) => AnyController::Dctcp(Dctcp::new(params)),
            Congestion::Plain(plain) => plain.controller(),
            Congestion::Udp(_) => PlainController::NewReno.controller(),
        }
    }

    pub(crate) fn window(&self) -> Window {
        let tcp = &self.0.tcp;
        let mss = f64::from(tcp.mss_bytes);
        Window {
            cwnd: f64::from(tcp.initial_window_segments) * mss,
            ssthresh: tcp.initial_ssthresh_segments.map_or(f64::INFINITY, |segments| f64::from(segments) * mss),
            mss,
            limit: tcp.max_window_bytes as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bad_field_is_named_with_its_value_and_range() {
        type Spoil = fn(&mut TransportParams);
        let cases: [(Spoil, &str); 9] = [
            (|p| p.tcp.mss_bytes = 0, "transport: mss_bytes = 0: expected an integer from 1 to 65535"),
            (
                |p| p.tcp.initial_window_segments = 0,
                "transport: initial_window_segments = 0: expected an integer from 1 to 65535",
            ),
            (
                |p| p.tcp.initial_ssthresh_segments = Some(0),
                "transport: initial_ssthresh_segments = 0: expected an integer from 1 to 4294967295",
            ),
            (|p| p.tcp.max_window_bytes = 9, "transport: max_window_bytes = 9: expected from 1460 to 1099511627776"),
            (
                |p| p.tcp.duplicate_threshold = 0,
                "transport: duplicate_threshold = 0: expected an integer from 1 to 255",
            ),
            (|p| p.tcp.initial_rto = Span::ZERO, "transport: initial_rto = 0 ps: expected above 0 and at most 1 h"),
            (|p| p.tcp.min_rto = Span::from_s(61), "transport: min_rto = 61 s: expected at most max_rto"),
            (
                |p| p.congestion = Congestion::Dctcp(DctcpParams { gain: 0.0, ..DctcpParams::default() }),
                "transport: gain = 0: expected above 0 and at most 1",
            ),
            (
                |p| {
                    p.congestion = Congestion::Dctcp(DctcpParams { initial_alpha: f64::NAN, ..DctcpParams::default() });
                },
                "transport: initial_alpha = NaN: expected from 0 to 1",
            ),
        ];
        for (spoil, message) in cases {
            let mut params = TransportParams::new_reno();
            spoil(&mut params);
            assert_eq!(params.validated().unwrap_err().to_string(), message);
        }
        let udp = UdpParams { payload_bytes: 0, interval: Span::from_us(1) };
        assert_eq!(
            TransportParams::udp(udp).validated().unwrap_err().to_string(),
            "transport: payload_bytes = 0: expected an integer from 1 to 65535"
        );
        let udp = UdpParams { payload_bytes: 1, interval: Span::ZERO };
        assert_eq!(
            TransportParams::udp(udp).validated().unwrap_err().to_string(),
            "transport: interval = 0 ps: expected above 0"
        );
        let mut params = TransportParams::new_reno();
        params.tcp.max_rto = Span::from_s(3_601);
        assert_eq!(
            params.validated().unwrap_err().to_string(),
            "transport: max_rto = 3601 s: expected at most 1 h, or unlimited"
        );
    }
}
