//! Programs that forward packets at switches, in the place of the network's own routes.

use super::topology::Topology;
use pifolab_sched::{Labels, Packet, Scheduler};
use pifolab_units::Time;
use std::fmt;
use std::sync::Arc;

/// Forwards packets at all switches of one run.
pub trait Forwarder {
    /// A packet has reached the switch at the end of the link `link`. Returns its way on, or `None`: it is lost.
    fn forward(&mut self, packet: &Packet, labels: &Labels, link: u32, now: Time) -> Option<Onward>;

    /// The scheduler of the switch's port at the beginning of the link `link`, around `inside`, which orders packets.
    fn around(&mut self, link: u32, inside: Box<dyn Scheduler>) -> Box<dyn Scheduler>;

    /// Calls `read` with the bytes of the packet of this id, as the last switch sent them.
    fn with_frame(&self, packet: u64, read: &mut dyn FnMut(&[u8]));
}

/// Where a packet goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Onward {
    /// The number of the port.
    pub port: u32,
    /// Bytes on the wire from here on.
    pub size: u32,
}

/// Makes the forwarder of each run.
#[derive(Clone)]
pub struct Forwarders(pub Arc<MakeForwarder>);

/// Makes the forwarder of a run over a topology.
pub type MakeForwarder = dyn Fn(&Topology) -> Box<dyn Forwarder> + Send + Sync;

impl fmt::Debug for Forwarders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Forwarders(..)")
    }
}

/// The forwarder of a run, and which ports share a switch: they depart in the order of time, since they share registers.
pub(super) struct Forwarding {
    pub(super) forwarder: Box<dyn Forwarder>,
    /// The node of each port.
    pub(super) node_of: Vec<u32>,
    /// The ports of each node.
    pub(super) ports_of: Vec<Vec<u32>>,
}

impl Forwarding {
    pub(super) fn new(Forwarders(make): &Forwarders, topology: &Topology) -> Box<Self> {
        let node_of = topology.links.iter().map(|link| link.from).collect();
        Box::new(Self { forwarder: make(topology), node_of, ports_of: topology.ports_of() })
    }
}
