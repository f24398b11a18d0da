//! The packet-level network: topology, transports, ports with any scheduler, and the engine that runs flows over them.
//!
//! A run has three steps: fill a [`Config`] (it documents every field that changes results), check it with
//! [`Network::new`], and run flows:
//!
//! ```
//! use pifolab_sim::network::{Config, Flow, LeafSpine, Network, PortConfig};
//! use pifolab_sched::Capacity;
//! use pifolab_transport::TransportParams;
//! use pifolab_units::Time;
//!
//! let topology = LeafSpine::papers(1).topology().unwrap();
//! let ports = PortConfig::drop_tail(Capacity::Bytes(146_000)).with_ecn(14_600);
//! let config = Config::new(topology, TransportParams::dctcp(), ports, Time::from_ns(1_000_000));
//! let network = Network::new(config).unwrap();
//! let flows = [Flow { id: 0, src: 0, dst: 143, bytes: 1_460, start: Time::ZERO }];
//! let result = network.run(&flows, &mut ()).unwrap();
//! // Four trips (SYN, SYN+ACK, data, ACK) over access, fabric, fabric and access link, 20 ns each; the last segment of
//! // the handshake shares the host's port with the data that follows it.
//! let empty = 40 * (8 + 2 + 2 + 8) + 4 * 20;
//! let full = 1_500 * (8 + 2 + 2 + 8) + 4 * 20;
//! let fct = result.flows[0].fct.unwrap();
//! assert_eq!(fct.as_ns(), 3 * empty + 40 * 8 + full);
//! ```
//!
//! [`Network::ideal_fcts`] returns the completion times to which slowdowns are relative. [`Simulation`] runs flows in
//! steps, for progress displays and clean interruption. Observers (see [`observer`](crate::observer)) watch every port.
//! [`Profile`] names the option sets of the published runs.
//!
//! # What is modelled
//! Output-queued switches without internal delay, store and forward. A port is a scheduler and a serialiser; links have
//! a rate and a delay and lose nothing. Hosts have one port each. With [`EqualTimes::DeparturesFirst`] the engine has
//! one event per packet and hop: a port decides what to send when it is next accessed, for the time at which the wire
//! became free.
//!
//! # Invariants
//! At every port and over the whole network packets and bytes are conserved. This is checked during the run and at its
//! end; a violation ends the run with [`RunError::NotConserved`] and the events before it.

mod config;
mod engine;
mod error;
mod failures;
mod forwarding;
mod ideal;
mod result;
mod route_table;
mod routing;
mod shape;
mod shared_buffer;
mod simulation;
mod topology;
mod trace_hashes;

pub use crate::equal_times::EqualTimes;
pub use crate::port::PortResult;
pub use crate::replay::{IdlePort, NetbenchLiveWindow, NetbenchTransport, Profile, WireTime};
pub use config::{
    Config, Controllers, EngineOptions, MakeController, MakeScheduler, MakeTransport, OwnTransport, PortConfig,
    PortInfo, QueueDiscipline, Ranks, Shared, UdpHost,
};
pub use engine::parts::{PartedRun, Watch, Windows};
pub use error::ConfigError;
pub use failures::LinkChange;
pub use forwarding::{Forwarder, Forwarders, MakeForwarder, Onward};
/// The scheduler of a port. Pass schedulers of the library unboxed: then a port without an observer stores handles of
/// eight bytes in them, and [`IdlePort::Admission`] can skip the rank function when a packet leaves.
pub use pifolab_sched::Parts as PortScheduler;
pub use pifolab_workload::flows::Flow;
pub use result::{Counters, FlowResult, RunError, RunResult, Snapshot};
pub use routing::Routing;
pub use shared_buffer::SharedBuffer;
pub use simulation::{Network, Simulation};
pub use topology::*;
pub use trace_hashes::{Ingredient, TraceHashes};
