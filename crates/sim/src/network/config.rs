//! The configuration of a network run.

use super::engine::events::NUMBERS;
use super::error::ConfigError;
use super::failures::{self, LinkChange};
use super::forwarding::Forwarders;
use super::routing::Routing;
use super::shared_buffer::SharedBuffer;
use super::topology::{Link, Topology};
use crate::equal_times::EqualTimes;
use crate::replay::{IdlePort, WireTime};
use pifolab_sched::schedulers::{Pifo, PifoParams};
use pifolab_sched::{Capacity, Parts as PortScheduler};
use pifolab_transport::udp::UdpParams;
use pifolab_transport::{AnyTransport, BoxedController, BoxedTransport, Congestion, TransportParams, ValidParams};
use pifolab_units::{Rate, Rounding, Span, Time};
use pifolab_workload::Distribution;
use pifolab_workload::flows::Flow;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Everything that a run depends on besides its flows. [`Config::new`] sets defaults; every field may be changed.
#[derive(Clone, Debug)]
pub struct Config {
    /// Hosts, switches, links.
    pub topology: Topology,
    /// The transport of every flow.
    pub transport: TransportParams,
    /// Congestion controllers that replace the one of [`transport`](Self::transport); TCP only. Default: none.
    pub controller: Option<Controllers>,
    /// A user-defined transport that replaces [`transport`](Self::transport). Default: none.
    pub own_transport: Option<OwnTransport>,
    /// Hosts whose flows are UDP; only beside TCP without ECN. Default: none.
    pub udp_hosts: Vec<UdpHost>,
    /// Output ports of switches.
    pub switch_port: PortConfig,
    /// Output ports of hosts.
    pub host_port: PortConfig,
    /// How equal-cost paths share packets. Default: by flow hash.
    pub routing: Routing,
    /// Header bytes on the wire for every packet, data or not, on top of the payload. Default 40 (IPv4 + TCP without
    /// options).
    pub header_bytes: u32,
    /// Rounding of serialisation times. Default: up to the picosecond.
    pub rounding: Rounding,
    /// The packet whose serialisation time a packet from a queue takes. Default: itself.
    pub wire_time: WireTime,
    /// The order of events of equal time.
    pub equal_times: EqualTimes,
    /// The source of ranks. Default: the transport.
    pub ranks: Ranks,
    /// Links that fail and are repaired. Default: none.
    pub link_changes: Vec<LinkChange>,
    /// The memory that the ports of a switch share, on top of what each port's scheduler may hold. Default: none.
    pub shared_buffer: Option<SharedBuffer>,
    /// What forwards packets at switches in the place of [`routing`](Self::routing). Default: nothing.
    pub forwarders: Option<Forwarders>,
    /// The end of the run: later events do not happen, and incomplete flows stay unfinished.
    pub end: Time,
}

/// The options of the engine, without the ports and the transport: fields of [`Config`], with its defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// The order of events of equal time.
    pub equal_times: EqualTimes,
    /// Rounding of serialisation times.
    pub rounding: Rounding,
    /// The packet whose serialisation time a packet from a queue takes.
    pub wire_time: WireTime,
    /// Header bytes of every packet.
    pub header_bytes: u32,
    /// How equal-cost paths share packets.
    pub routing: Routing,
}

impl EngineOptions {
    /// The options without a profile. 40 bytes are the headers of IPv4 and TCP without options.
    pub const DEFAULT: Self = Self {
        equal_times: EqualTimes::DeparturesFirst,
        rounding: Rounding::UpToPicosecond,
        wire_time: WireTime::Own,
        header_bytes: 40,
        routing: Routing::FlowHash { seed: 0 },
    };

    /// Sets these options in `config`.
    pub const fn apply(self, config: &mut Config) {
        config.equal_times = self.equal_times;
        config.rounding = self.rounding;
        config.wire_time = self.wire_time;
        config.header_bytes = self.header_bytes;
        config.routing = self.routing;
    }
}

/// A host whose flows are UDP, beside those of the other hosts, which are TCP. Datagrams have the size of TCP's segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpHost {
    /// The host.
    pub host: u32,
    /// The time between two datagrams of a flow, above 0.
    pub interval: Span,
}

/// Makes the congestion controllers of flows.
#[derive(Clone)]
pub struct Controllers(pub Arc<MakeController>);

/// Makes the congestion controller of a flow when it starts.
pub type MakeController = dyn Fn(&Flow) -> BoxedController + Send + Sync;

impl fmt::Debug for Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Controllers(..)")
    }
}

/// A transport that the library does not have.
#[derive(Clone)]
pub struct OwnTransport {
    /// Payload bytes of a full segment, from 1 to 65,535. Segment n of a flow begins with its byte n times this.
    pub segment_bytes: u32,
    /// Whether its senders react to marks, so that its data can carry them (RFC 3168: ECT).
    pub is_ecn_capable: bool,
    /// Makes the transport of a flow when it starts.
    pub make: Arc<MakeTransport>,
}

/// Makes the transport of a flow when it starts.
pub type MakeTransport = dyn Fn(&Flow) -> BoxedTransport + Send + Sync;

impl fmt::Debug for OwnTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnTransport(..)")
    }
}

/// The transports of a run's flows.
#[derive(Clone, Debug)]
pub(super) enum Transports {
    Named {
        params: ValidParams,
        controller: Option<Controllers>,
        /// Hosts with another transport, in order.
        udp: Vec<(u32, ValidParams)>,
    },
    Own(OwnTransport),
}

impl Transports {
    /// The transport of `flow`, which starts now.
    pub(super) fn connect(&self, flow: &Flow) -> AnyTransport {
        match self {
            Self::Named { params, controller, udp } => match udp.binary_search_by_key(&flow.src, |(host, _)| *host) {
                Ok(at) => udp[at].1.connect(flow.bytes, None),
                Err(_) => params.connect(flow.bytes, controller.as_ref().map(|Controllers(make)| make(flow))),
            },
            Self::Own(own) => AnyTransport::Other((own.make)(flow)),
        }
    }

    /// Whether every flow has the library's TCP, with one of its controllers.
    pub(super) fn are_tcp(&self) -> bool {
        matches!(self, Self::Named { params, controller: None, udp } if params.params().has_window() && udp.is_empty())
    }

    /// Payload bytes of a full segment.
    pub(super) fn segment_bytes(&self) -> u32 {
        match self {
            Self::Named { params, .. } => params.segment_bytes(),
            Self::Own(own) => own.segment_bytes,
        }
    }

    /// The largest flow that segment numbers reach, in bytes.
    pub(super) fn max_flow_bytes(&self) -> u64 {
        match self {
            Self::Named { params, .. } => params.max_flow_bytes(),
            Self::Own(own) => u64::from(u32::MAX - 1) * u64::from(own.segment_bytes),
        }
    }

    /// Whether data can carry marks.
    pub(super) fn is_ecn_capable(&self) -> bool {
        match self {
            Self::Named { params, .. } => params.params().is_ecn_capable(),
            Self::Own(own) => own.is_ecn_capable,
        }
    }
}

/// The source of the ranks that packets carry into ports. Rank functions at ports may overwrite them.
#[derive(Clone, Debug, Default)]
pub enum Ranks {
    /// The transport's rank rule.
    #[default]
    Transport,
    /// Drawn for each packet independently, data and acknowledgements alike (SP-PIFO Fig. 5 and 6).
    Drawn {
        /// The distribution of ranks.
        distribution: Arc<Distribution>,
        /// Seed of the stream named `packet-ranks`.
        seed: u64,
    },
}

/// One kind of output port.
#[derive(Clone, Debug)]
pub struct PortConfig {
    /// The queue discipline.
    pub discipline: QueueDiscipline,
    /// Marks a packet (congestion experienced) that arrives when at least this many bytes wait. Default: never.
    pub ecn_threshold_bytes: Option<u64>,
    /// Marks a packet that arrives when at least this many packets wait, in addition to the threshold in bytes.
    /// Default: never.
    pub ecn_threshold_packets: Option<u32>,
    /// The treatment of a packet that arrives at an idle port. Default: the scheduler, like any other packet.
    pub idle: IdlePort,
    /// Whether the packet on the wire counts against the capacity; only for drop-tail ports. Default: no.
    pub in_service_occupies_buffer: bool,
}

/// The queue discipline of a port, which orders and drops packets.
#[derive(Clone)]
pub enum QueueDiscipline {
    /// First in, first out, with tail drop.
    DropTail(Capacity),
    /// Any scheduler, made once for each port.
    Scheduler(Arc<MakeScheduler>),
}

/// Makes the scheduler of a port, which may share state with the other ports of the same run.
pub type MakeScheduler = dyn Fn(&PortInfo, &mut Shared) -> PortScheduler + Send + Sync;

/// State shared by the ports of one run: one value of each requested type, new for each run.
#[derive(Default)]
pub struct Shared(Vec<Box<dyn Any>>);

impl Shared {
    /// Whether no state was requested.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of this type, created at the first request.
    ///
    /// # Panics
    /// Never: the value is found by its type.
    pub fn of<S: Default + 'static>(&mut self) -> &mut S {
        let place = self.0.iter().position(|value| value.is::<S>()).unwrap_or_else(|| {
            self.0.push(Box::new(S::default()));
            self.0.len() - 1
        });
        self.0[place].downcast_mut().expect("it was found by its type")
    }
}

/// The port for which a scheduler is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// The port's number: the position of its link in the topology.
    pub port: u32,
    /// The node that has the port.
    pub from: u32,
    /// The node at the far end.
    pub to: u32,
    /// The link's rate.
    pub rate: Rate,
}

impl Config {
    /// The defaults, with host ports from [`PortConfig::for_hosts`].
    pub fn new(topology: Topology, transport: TransportParams, switch_port: PortConfig, end: Time) -> Self {
        let host_port = switch_port.for_hosts();
        let EngineOptions { equal_times, rounding, wire_time, header_bytes, routing } = EngineOptions::DEFAULT;
        Self {
            topology,
            transport,
            controller: None,
            own_transport: None,
            udp_hosts: Vec::new(),
            switch_port,
            host_port,
            routing,
            header_bytes,
            rounding,
            wire_time,
            equal_times,
            ranks: Ranks::default(),
            link_changes: Vec::new(),
            shared_buffer: None,
            forwarders: None,
            end,
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.topology.check()?;
        failures::check(&self.topology, &self.link_changes)?;
        if let Some(buffer) = &self.shared_buffer {
            buffer.check()?;
        }
        if self.forwarders.is_some() {
            if !self.link_changes.is_empty() {
                return Err(ConfigError::new("network", "link_changes", "given", "none beside a forwarder"));
            }
            if matches!(self.switch_port.idle, IdlePort::Bypass | IdlePort::Ranked) {
                let expected = "scheduler or admission: a forwarder has every packet pass its ports' schedulers";
                return Err(ConfigError::new("switch_port", "idle", self.switch_port.idle.word(), expected));
            }
        }
        if self.header_bytes > 65_535 {
            return Err(ConfigError::new("network", "header_bytes", self.header_bytes, "at most 65535"));
        }
        for (owner, port) in [("switch_port", &self.switch_port), ("host_port", &self.host_port)] {
            let key = "in_service_occupies_buffer";
            if port.in_service_occupies_buffer && matches!(port.discipline, QueueDiscipline::Scheduler(_)) {
                return Err(ConfigError::new(owner, key, true, "false: only drop-tail ports can count it"));
            }
            if let QueueDiscipline::DropTail(capacity @ (Capacity::Packets(0) | Capacity::Bytes(0))) = port.discipline {
                return Err(ConfigError::new(owner, "capacity", capacity, "more than 0"));
            }
        }
        Ok(())
    }

    /// The checked transports of the flows.
    pub(super) fn transports(&self) -> Result<Transports, ConfigError> {
        let has_window = self.own_transport.is_none() && self.transport.has_window();
        if self.own_transport.is_some() && !self.udp_hosts.is_empty() {
            return Err(ConfigError::new("network", "udp_hosts", "given", "none beside an own transport"));
        }
        if self.controller.is_some() && !has_window {
            return Err(ConfigError::new("network", "controller", "given", "none: only TCP has a window to steer"));
        }
        match &self.own_transport {
            None => {
                let mut udp = self.udp_hosts.iter().map(|udp| self.udp(*udp)).collect::<Result<Vec<_>, _>>()?;
                udp.sort_unstable_by_key(|(host, _)| *host);
                if let Some(twice) = udp.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                    return Err(ConfigError::new("udp_hosts", "host", twice[0].0, "every host once"));
                }
                Ok(Transports::Named { params: self.transport.validated()?, controller: self.controller.clone(), udp })
            }
            Some(own) if (1..=65_535).contains(&own.segment_bytes) => Ok(Transports::Own(own.clone())),
            Some(own) => {
                Err(ConfigError::new("own_transport", "segment_bytes", own.segment_bytes, "an integer from 1 to 65535"))
            }
        }
    }

    /// The transport of a host whose flows are UDP.
    fn udp(&self, UdpHost { host, interval }: UdpHost) -> Result<(u32, ValidParams), ConfigError> {
        if host >= self.topology.hosts {
            let expected = format!("a host below {}, their number", self.topology.hosts);
            return Err(ConfigError::new("udp_hosts", "host", host, &expected));
        }
        if !self.transport.has_window() || self.transport.is_ecn_capable() {
            return Err(ConfigError::new("udp_hosts", "host", host, "none but beside TCP that reads no marks"));
        }
        let udp = UdpParams { payload_bytes: self.transport.segment_bytes(), interval };
        let params = TransportParams { congestion: Congestion::Udp(udp), ..self.transport };
        Ok((host, params.validated()?))
    }

    /// Whether no link fails, no memory is shared, no rank is drawn and no program forwards.
    pub(super) fn is_plain(&self) -> bool {
        let extra = self.shared_buffer.is_some() || self.forwarders.is_some();
        self.link_changes.is_empty() && !extra && matches!(self.ranks, Ranks::Transport)
    }

    /// Checks that no time of a run can overflow: each is the sum of an instant of the run and one passage of a link.
    pub(super) fn check_times(&self, segment_bytes: u32) -> Result<(), ConfigError> {
        let bytes = segment_bytes + self.header_bytes;
        let slowest = match self.topology.slowest_link(bytes, self.rounding) {
            Ok(slowest) => slowest,
            Err(Link { from, to, rate, delay }) => {
                let value = format!("{rate} and a delay of {delay} for packets of {bytes} bytes");
                let expected = format!("passed within {} s", Topology::LONGEST_PASSAGE.as_ps() / 1_000_000_000_000);
                return Err(ConfigError::new("topology", &format!("link {from} -> {to}"), value, &expected));
            }
        };
        let last = Time::MAX - slowest;
        if self.end > last {
            return Err(ConfigError::new("network", "end", self.end, &format!("at most {last}")));
        }
        Ok(())
    }

    /// Checks the flows against the network: hosts exist and differ, sizes fit, starts do not decrease, ids are unique.
    pub(super) fn check_flows(&self, flows: &[Flow], max_bytes: u64) -> Result<(), ConfigError> {
        if flows.len() >= NUMBERS as usize {
            return Err(ConfigError::new("flows", "length", flows.len(), "fewer than 2^30"));
        }
        let hosts = self.topology.hosts;
        let mut before = Time::ZERO;
        for (index, flow) in flows.iter().enumerate() {
            let wrong = |key, value: &dyn fmt::Display, expected: &str| {
                Err(ConfigError::new(&format!("flows[{index}] (flow {})", flow.id), key, value, expected))
            };
            for (key, host) in [("src", flow.src), ("dst", flow.dst)] {
                if host >= hosts {
                    return wrong(key, &host, &format!("a host, 0 to {}", hosts - 1));
                }
            }
            if flow.src == flow.dst {
                return wrong("dst", &flow.dst, "another host than src");
            }
            if flow.bytes == 0 || flow.bytes > max_bytes {
                return wrong("bytes", &flow.bytes, &format!("from 1 to {max_bytes} (2^32 - 2 segments)"));
            }
            if flow.start < before {
                return wrong("start", &flow.start, &format!("{before}, where the flow before starts, or later"));
            }
            before = flow.start;
        }
        let mut names: Vec<(u64, usize)> = flows.iter().enumerate().map(|(index, flow)| (flow.id, index)).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => {
                let expected = format!("a unique id; flows[{}] has the same", pair[0].1);
                Err(ConfigError::new(&format!("flows[{}]", pair[1].1), "id", pair[1].0, &expected))
            }
            None => Ok(()),
        }
    }
}

impl PortConfig {
    /// First in, first out, with tail drop.
    pub fn drop_tail(capacity: Capacity) -> Self {
        Self::with_discipline(QueueDiscipline::DropTail(capacity))
    }

    /// Any scheduler; `make` makes one for each port.
    pub fn scheduler<S: Into<PortScheduler>>(make: impl Fn(&PortInfo) -> S + Send + Sync + 'static) -> Self {
        Self::with_discipline(QueueDiscipline::Scheduler(Arc::new(move |info, _| make(info).into())))
    }

    /// As [`scheduler`](Self::scheduler), with a value that all ports of a run share.
    pub fn sharing<V: Default + 'static, S: Into<PortScheduler>>(
        make: impl Fn(&PortInfo, &mut V) -> S + Send + Sync + 'static,
    ) -> Self {
        Self::with_discipline(QueueDiscipline::Scheduler(Arc::new(move |info, shared| make(info, shared.of()).into())))
    }

    /// The default host ports for these switch ports. They have no limit, since a host has memory for its own
    /// connections. If the switches schedule, they send in the order of ranks (first in, first out for equal ranks),
    /// since another order at the first hop would defeat the scheduling in the fabric. They mark as the switches do, so
    /// that ECN transports also react to the queue at their own interface.
    ///
    /// # Panics
    /// Never: an unlimited PIFO needs no parameters.
    pub fn for_hosts(&self) -> Self {
        let ports = match self.discipline {
            QueueDiscipline::DropTail(_) => Self::drop_tail(Capacity::Unlimited),
            QueueDiscipline::Scheduler(_) => Self::scheduler(|_| {
                let params = PifoParams { capacity: Capacity::Unlimited, ..PifoParams::packets(1) };
                <Pifo>::new(params).expect("an unlimited PIFO needs no parameters")
            }),
        };
        Self {
            ecn_threshold_bytes: self.ecn_threshold_bytes,
            ecn_threshold_packets: self.ecn_threshold_packets,
            ..ports
        }
    }

    fn with_discipline(discipline: QueueDiscipline) -> Self {
        Self {
            discipline,
            ecn_threshold_bytes: None,
            ecn_threshold_packets: None,
            idle: IdlePort::default(),
            in_service_occupies_buffer: false,
        }
    }

    /// Marks packets that arrive when at least `threshold_bytes` wait.
    pub fn with_ecn(self, threshold_bytes: u64) -> Self {
        Self { ecn_threshold_bytes: Some(threshold_bytes), ..self }
    }
}

impl fmt::Debug for QueueDiscipline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DropTail(capacity) => f.debug_tuple("DropTail").field(capacity).finish(),
            Self::Scheduler(_) => f.write_str("Scheduler(..)"),
        }
    }
}
