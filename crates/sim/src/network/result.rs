//! The result of a run.

use super::error::ConfigError;
use super::trace_hashes::TraceHashes;
use crate::port::PortResult;
use pifolab_sched::Used;
use pifolab_units::{Span, Time};
use pifolab_workload::flows::Flow;
use std::fmt;

/// The result of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowResult {
    /// The time from the start to completion: every byte is acknowledged (TCP), or the last byte arrives (UDP). `None`
    /// if unfinished at the end.
    pub fct: Option<Span>,
    /// Bytes acknowledged at the end; with UDP, which has no acknowledgements, all bytes of a complete flow, else 0.
    pub acknowledged_bytes: u64,
    /// Data segments sent again.
    pub retransmissions: u32,
    /// Segments sent again without waiting for the retransmission timer, those of probes included.
    pub fast_retransmissions: u32,
    /// Expiries of timers at either end, including the handshake's.
    pub timeouts: u32,
    /// Loss probes sent (RFC 8985).
    pub probes: u32,
    /// Data segments whose first arrival came after that of a later segment of the flow.
    pub reordered: u32,
}

impl FlowResult {
    /// Adds the result of the other end.
    pub(super) fn add(&mut self, other: &Self) {
        self.fct = self.fct.or(other.fct);
        self.acknowledged_bytes += other.acknowledged_bytes;
        self.retransmissions += other.retransmissions;
        self.fast_retransmissions += other.fast_retransmissions;
        self.timeouts += other.timeouts;
        self.probes += other.probes;
        self.reordered += other.reordered;
    }
}

/// Sums over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events that happened.
    pub events: u64,
    /// Packet-hops: one packet, data or not, over one link.
    pub hops: u64,
    /// Packets that end points created.
    pub created: u64,
    /// Packets that reached their destination host, even if their connection was closed.
    pub delivered: u64,
    /// Packets lost on the wire of a link that failed.
    pub lost_on_wire: u64,
    /// Packets without a path to their destination.
    pub unreachable: u64,
    /// Packets dropped at any port, including those that waited for a link that failed.
    pub dropped: u64,
    /// Packets dropped at a host's own port.
    pub dropped_at_source: u64,
    /// Segments sent again without waiting for the retransmission timer, those of probes included.
    pub fast_retransmissions: u64,
    /// Expiries of timers.
    pub timeouts: u64,
    /// The largest number of packets in the network at once; 0 with events by place, whose parts are counted apart.
    pub most_in_flight: u64,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunResult {
    /// One for each flow, in the order of the list.
    pub flows: Vec<FlowResult>,
    /// One for each port, in the order of the topology's links.
    pub ports: Vec<PortResult>,
    /// Sums.
    pub counters: Counters,
    /// A hash over every event with its time, equal to that of [`Ingredient::Events`](super::Ingredient::Events).
    pub trace_hash: u64,
    /// A hash for each ingredient of the run: equal runs have equal hashes.
    pub trace_hashes: TraceHashes,
    /// What the run used of the schedulers at switches.
    pub used: Used,
    /// Whether a packet had several shortest paths to choose from.
    pub has_chosen_paths: bool,
    /// The time at which the run ended.
    pub end: Time,
}

impl Counters {
    /// Adds the counters of another part of the network.
    pub(super) fn add(&mut self, part: &Self) {
        let Self {
            events,
            hops,
            created,
            delivered,
            lost_on_wire,
            unreachable,
            dropped,
            dropped_at_source,
            fast_retransmissions,
            timeouts,
            most_in_flight,
        } = part;
        for (sum, more) in [
            (&mut self.events, events),
            (&mut self.hops, hops),
            (&mut self.created, created),
            (&mut self.delivered, delivered),
            (&mut self.lost_on_wire, lost_on_wire),
            (&mut self.unreachable, unreachable),
            (&mut self.dropped, dropped),
            (&mut self.dropped_at_source, dropped_at_source),
            (&mut self.fast_retransmissions, fast_retransmissions),
            (&mut self.timeouts, timeouts),
            (&mut self.most_in_flight, most_in_flight),
        ] {
            *sum += more;
        }
    }
}

impl RunResult {
    /// The flows that are complete, with their completion times.
    pub fn completed<'a>(&'a self, flows: &'a [Flow]) -> impl Iterator<Item = (&'a Flow, Span)> {
        flows.iter().zip(&self.flows).filter_map(|(flow, result)| Some((flow, result.fct?)))
    }
}

/// The accounts during a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// One for each port, in the order of the topology's links.
    pub ports: Vec<PortResult>,
    /// Bytes acknowledged so far, over all flows; with UDP, which has no acknowledgements, the bytes of complete flows.
    pub acknowledged_bytes: u64,
}

/// Why a run has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The flows do not fit the network.
    Config(ConfigError),
    /// No path leads from one host to another.
    Unreachable {
        /// Position of the flow in the list.
        index: usize,
        /// The flow.
        flow: Flow,
    },
    /// A scheduler, a port or the engine lost or made a packet: a bug in the simulator or in a scheduler.
    NotConserved {
        /// The account that does not balance.
        account: String,
        /// The last events before it was found, oldest first.
        events: Vec<String>,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(error) => error.fmt(f),
            Self::Unreachable { index, flow } => {
                write!(f, "flows[{index}]: no path leads from host {} to host {}", flow.src, flow.dst)
            }
            Self::NotConserved { account, events } => {
                write!(f, "packets are not conserved: {account}; the last events:")?;
                for event in events {
                    write!(f, "\n  {event}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for RunError {}

impl From<ConfigError> for RunError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}
