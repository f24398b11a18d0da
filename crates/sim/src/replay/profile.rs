//! The option sets of the published runs.

use super::{IdlePort, WireTime};
use crate::equal_times::EqualTimes;
use crate::network::{Config, EngineOptions, Routing};
use pifolab_transport::dctcp::{Cut, DctcpParams};
use pifolab_transport::{AckRank, Congestion, PlainController, RankRule, Recovery, TcpParams, TransportParams};
use pifolab_units::{Rounding, Span};

pifolab_params::choices! {
    /// A set of options under which pifolab repeats a published simulator packet by packet.
    ///
    /// [`apply`](Self::apply) and [`transport`](Self::transport) set options that a user can also set one by one; the
    /// engine has no other code for profiles. Options of schedulers are their own parameters: PIFO with `ties = heap`
    /// and one packet less than the published capacity (which the simulators never reach), AIFO with `arithmetic =
    /// netbench`, STFQ with virtual time `follow`.
    #[derive(Hash)]
    pub enum Profile {
        /// The SP-PIFO paper's fork of Netbench.
        NetbenchSpPifo = "netbench-sp-pifo": "the options of the SP-PIFO paper's simulator",
        /// The AIFO paper's fork of Netbench.
        NetbenchAifo = "netbench-aifo": "the options of the AIFO paper's simulator",
        /// The fork of Netbench in PACKS's public code (an earlier submission of the paper): the AIFO fork's order of
        /// events, and the wire time of the packet sent before.
        NetbenchPacks = "netbench-packs": "the options of the simulator in PACKS's public code",
        /// The fork of Netbench in RIFO's public code: the AIFO fork with RIFO's ports.
        NetbenchRifo = "netbench-rifo": "the options of the simulator in RIFO's public code",
    }
}

/// The transports of the Netbench forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NetbenchTransport {
    /// `tcp`
    Tcp,
    /// `dctcp`
    Dctcp,
    /// `pfabric`: starts at 30 segments, ranks by remaining size.
    Pfabric,
}

impl Profile {
    /// The options of the engine.
    pub const fn engine(self) -> EngineOptions {
        EngineOptions {
            equal_times: match self {
                Self::NetbenchSpPifo => EqualTimes::Insertion,
                Self::NetbenchAifo | Self::NetbenchPacks | Self::NetbenchRifo => EqualTimes::NetbenchBatch,
            },
            rounding: Rounding::DownToNanosecond,
            wire_time: match self {
                Self::NetbenchPacks => WireTime::OfPacketBefore,
                Self::NetbenchSpPifo | Self::NetbenchAifo | Self::NetbenchRifo => WireTime::Own,
            },
            header_bytes: 120,
            routing: Routing::NetbenchHash,
        }
    }

    /// Sets every option of the network in the profile. `config`'s transport keeps its kind, and gets the profile's
    /// details if it is one of the forks' (see [`transport`](Self::transport)). Host ports become equal to switch
    /// ports. An idle port bypasses its scheduler, unless it is set to [`IdlePort::Admission`], which the forks' AIFO
    /// and RIFO ports need.
    pub fn apply(self, config: &mut Config) {
        self.engine().apply(config);
        if matches!(config.switch_port.idle, IdlePort::Scheduler) {
            config.switch_port.idle = IdlePort::Bypass;
        }
        config.host_port = config.switch_port.clone();
    }

    /// The transport of all forks.
    pub fn transport(self, kind: NetbenchTransport) -> TransportParams {
        let pfabric = kind == NetbenchTransport::Pfabric;
        let tcp = TcpParams {
            mss_bytes: 1380,
            initial_window_segments: if pfabric { 30 } else { 3 },
            initial_ssthresh_segments: Some(30),
            max_window_bytes: 65_535,
            initial_rto: if pfabric { Span::from_ns(96_384) } else { Span::from_us(300) },
            min_rto: Span::ZERO,
            max_rto: Span::MAX,
            recovery: Recovery::Duplicates,
            duplicate_threshold: 3,
            limited_transmit: true,
            count_first_duplicates: false,
            handshake: true,
            accept_data_in_handshake: false,
            restart_timer_on_send: true,
            timeout_sets_recover: false,
            ecn: false,
        };
        let dctcp = DctcpParams { gain: 1.0 / 16.0, initial_alpha: 0.0, cut: Cut::EveryMark };
        TransportParams {
            congestion: if kind == NetbenchTransport::Dctcp {
                Congestion::Dctcp(dctcp)
            } else {
                Congestion::Plain(PlainController::NewReno)
            },
            tcp,
            rank: if pfabric { RankRule::RemainingBySequence } else { RankRule::Zero },
            ack_rank: AckRank::Zero,
        }
    }
}
