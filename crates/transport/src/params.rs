//! What a user chooses about a transport, and the check that turns it into something that runs.

use crate::dctcp::DctcpParams;
use crate::udp::UdpParams;
use crate::{AckRank, AnyTransport, BoxedController, Congestion, PlainController, RankRule, TcpParams};
use pifolab_params::ParamError;

/// Everything about a transport. Public fields, sound defaults; [`validated`](Self::validated) checks them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransportParams {
    /// Which transport; TCP by what steers its window.
    pub congestion: Congestion,
    /// Handshake, loss recovery and timers; only TCP has them.
    pub tcp: TcpParams,
    /// Ranks of the segments that the sender creates.
    pub rank: RankRule,
    /// Ranks of the segments that the receiver creates.
    pub ack_rank: AckRank,
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

    /// Whether a window limits what its senders send, which a controller may steer.
    pub fn has_window(&self) -> bool {
        self.congestion.controller().is_some()
    }

    /// Payload bytes of a full segment.
    pub const fn segment_bytes(&self) -> u32 {
        self.congestion.segment_bytes(&self.tcp)
    }

    /// Whether its senders answer to marks, so that their data can carry them (RFC 3168: ECT).
    pub const fn is_ecn_capable(&self) -> bool {
        self.congestion.answers_marks(&self.tcp)
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
        self.tcp.check()?;
        self.congestion.check()?;
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
        self.0.segment_bytes()
    }

    /// The largest flow that segment numbers reach, in bytes.
    pub fn max_flow_bytes(&self) -> u64 {
        u64::from(u32::MAX - 1) * u64::from(self.segment_bytes())
    }

    /// The transport of a flow of `size_bytes`; `controller` steers its window in the place of its own, if it has one.
    ///
    /// # Panics
    /// If `size_bytes` is 0 or above [`max_flow_bytes`](Self::max_flow_bytes).
    pub fn connect(&self, size_bytes: u64, controller: Option<BoxedController>) -> AnyTransport {
        self.0.congestion.connect(self, size_bytes, controller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_units::Span;

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
