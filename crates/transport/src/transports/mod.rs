//! The list of transports: the user's parameters, their validation, and the construction of each transport.

pub mod udp;

use self::udp::{Udp, UdpParams};
use crate::dctcp::{Dctcp, DctcpParams};
use crate::tcp::controllers::{AnyController, PlainController};
use crate::tcp::{BoxedController, Setup, Tcp, TcpParams};
use crate::{AckRank, BoxedTransport, Counts, End, Progress, RankRule, Segment, Timer, Transport};
use pifolab_params::ParamError;
use pifolab_units::Time;

/// The parameters of a transport. All fields are public and have defaults; [`validated`](Self::validated) checks them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransportParams {
    /// The transport; for TCP, its congestion controller.
    pub congestion: Congestion,
    /// Handshake, loss recovery and timers; used by TCP only.
    pub tcp: TcpParams,
    /// Ranks of the segments that the sender creates.
    pub rank: RankRule,
    /// Ranks of the segments that the receiver creates.
    pub ack_rank: AckRank,
}

impl TransportParams {
    /// TCP with a controller without parameters, rank 0.
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

    /// Whether a window limits the sender, so that a controller can control it.
    pub fn has_window(&self) -> bool {
        self.congestion.controller().is_some()
    }

    /// Payload bytes of a full segment.
    pub const fn segment_bytes(&self) -> u32 {
        self.congestion.segment_bytes(&self.tcp)
    }

    /// The number of packets that both ends send for a flow of `bytes` without losses.
    pub const fn packets_of(&self, bytes: u64) -> u64 {
        self.congestion.packets_for(&self.tcp, bytes.div_ceil(self.segment_bytes() as u64))
    }

    /// Whether senders react to marks, so that their data can carry marks (RFC 3168: ECT).
    pub const fn is_ecn_capable(&self) -> bool {
        self.congestion.answers_marks(&self.tcp)
    }

    /// Whether the receiver echoes marks until the sender confirms a cut, and the sender cuts once per window (RFC
    /// 3168, section 6.1).
    pub const fn has_classic_ecn(&self) -> bool {
        self.tcp.ecn && matches!(self.congestion, Congestion::Plain(_))
    }

    /// Checks every field.
    ///
    /// # Errors
    /// Returns the first field that is out of range, its value and its range.
    pub fn validated(self) -> Result<ValidParams, ParamError> {
        self.tcp.check()?;
        self.congestion.check()?;
        Ok(ValidParams(self))
    }
}

/// The transports; for TCP, by congestion controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Congestion {
    /// TCP with a controller without parameters.
    Plain(PlainController),
    /// TCP that cuts its window in proportion to the marked fraction.
    Dctcp(DctcpParams),
    /// An open loop at a constant rate, without a window.
    Udp(UdpParams),
}

impl Congestion {
    /// Checks every field.
    fn check(&self) -> Result<(), ParamError> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Dctcp(dctcp) => dctcp.check(),
            Self::Udp(udp) => udp.check(),
        }
    }

    /// The congestion controller of TCP; `None` for other transports.
    fn controller(&self) -> Option<AnyController> {
        match self {
            Self::Plain(plain) => Some(plain.controller()),
            Self::Dctcp(params) => Some(AnyController::Dctcp(Dctcp::new(*params))),
            Self::Udp(_) => None,
        }
    }

    /// Whether senders react to marks; `tcp` holds the parameters of TCP.
    const fn answers_marks(&self, tcp: &TcpParams) -> bool {
        match self {
            Self::Plain(_) => tcp.ecn,
            Self::Dctcp(_) => true,
            Self::Udp(_) => false,
        }
    }

    /// The number of packets that both ends send for a flow of `segments` segments without losses.
    const fn packets_for(&self, tcp: &TcpParams, segments: u64) -> u64 {
        match self {
            // One acknowledgement per segment, and the three packets of the handshake.
            Self::Plain(_) | Self::Dctcp(_) => 2 * segments + if tcp.handshake { 3 } else { 0 },
            Self::Udp(_) => segments,
        }
    }

    /// Payload bytes of a full segment; `tcp` holds the parameters of TCP.
    const fn segment_bytes(&self, tcp: &TcpParams) -> u32 {
        match self {
            Self::Plain(_) | Self::Dctcp(_) => tcp.mss_bytes,
            Self::Udp(udp) => udp.payload_bytes,
        }
    }
}

/// Parameters that passed [`TransportParams::validated`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValidParams(TransportParams);

impl ValidParams {
    /// The validated parameters.
    pub fn params(&self) -> &TransportParams {
        &self.0
    }

    /// Payload bytes of a full segment.
    pub fn segment_bytes(&self) -> u32 {
        self.0.segment_bytes()
    }

    /// The largest flow in bytes that 32-bit segment numbers allow.
    pub fn max_flow_bytes(&self) -> u64 {
        u64::from(u32::MAX - 1) * u64::from(self.segment_bytes())
    }

    /// Creates the transport of a flow of `size_bytes`. `controller` replaces the built-in controller, if the transport
    /// has a window.
    ///
    /// # Panics
    /// If `size_bytes` is 0 or above [`max_flow_bytes`](Self::max_flow_bytes).
    pub fn connect(&self, size_bytes: u64, controller: Option<BoxedController>) -> AnyTransport {
        let Self(TransportParams { congestion, tcp, rank, ack_rank }) = *self;
        let most = self.max_flow_bytes();
        assert!(size_bytes > 0 && size_bytes <= most, "a flow of {size_bytes} B cannot be sent");
        match congestion {
            Congestion::Plain(_) | Congestion::Dctcp(_) => {
                let own = congestion.controller().expect("TCP has a controller");
                let controller = controller.map_or(own, AnyController::Other);
                let setup = Setup { tcp, ecn: self.0.has_classic_ecn(), rank, ack_rank };
                AnyTransport::Tcp(Tcp::new(&setup, controller, size_bytes))
            }
            Congestion::Udp(udp) => AnyTransport::Other(Box::new(Udp::new(udp, rank, size_bytes))),
        }
    }
}

/// Any transport. TCP is one flat value, because most runs have many TCP flows.
#[allow(
    clippy::large_enum_variant,
    reason = "boxing TCP would be a further access to memory for each packet that arrives"
)]
pub enum AnyTransport {
    /// TCP.
    Tcp(Tcp),
    /// A transport from outside of this enum.
    Other(BoxedTransport),
}

/// The methods of [`Transport`], with `send` compiled for TCP.
impl AnyTransport {
    /// See [`Transport::start`].
    #[inline]
    pub fn start(&mut self, now: Time, send: &mut impl FnMut(Segment)) {
        match self {
            Self::Tcp(tcp) => tcp.sender.start(now, send),
            Self::Other(other) => other.start(now, send),
        }
    }

    /// See [`Transport::handle_segment`].
    #[inline(always)]
    pub fn handle_segment(&mut self, segment: &Segment, now: Time, send: &mut impl FnMut(Segment)) -> Progress {
        match self {
            Self::Tcp(tcp) => tcp.take(segment, now, send),
            Self::Other(other) => other.handle_segment(segment, now, send),
        }
    }

    /// See [`Transport::handle_timeout`].
    #[inline]
    pub fn handle_timeout(&mut self, end: End, now: Time, send: &mut impl FnMut(Segment)) -> Progress {
        match self {
            Self::Tcp(tcp) => tcp.expire(end, now, send),
            Self::Other(other) => other.handle_timeout(end, now, send),
        }
    }

    /// See [`Transport::timer`].
    #[inline(always)]
    pub fn timer(&self, end: End) -> Timer {
        match self {
            Self::Tcp(tcp) => tcp.timer(end),
            Self::Other(other) => other.timer(end),
        }
    }

    /// See [`Transport::acknowledged_bytes`].
    pub fn acknowledged_bytes(&self) -> u64 {
        match self {
            Self::Tcp(tcp) => tcp.acknowledged_bytes(),
            Self::Other(other) => other.acknowledged_bytes(),
        }
    }

    /// See [`Transport::counts`].
    pub fn counts(&self) -> Counts {
        match self {
            Self::Tcp(tcp) => tcp.counts(),
            Self::Other(other) => other.counts(),
        }
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
