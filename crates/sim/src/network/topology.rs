//! Hosts, switches and the links between them.

use super::engine::events::NUMBERS;
use super::error::ConfigError;
use super::shape::Shape;
use pifolab_units::{Bytes, Rate, Rounding, Span};
use std::iter::once;

/// One direction of a link: an output port of `from` that leads to `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The node that has the port.
    pub from: u32,
    /// The node at the far end.
    pub to: u32,
    /// Its rate.
    pub rate: Rate,
    /// Its propagation delay.
    pub delay: Span,
}

/// A network: nodes `0 .. hosts` are hosts, the others up to `nodes` are switches. The position of a link in `links`
/// is its port's number, and the order of a node's links is the order in which equal-cost routing counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Number of hosts.
    pub hosts: u32,
    /// Number of nodes, hosts included.
    pub nodes: u32,
    /// Every direction of every link.
    pub links: Vec<Link>,
}

/// A leaf-spine fabric. Host h is linked to leaf h / `hosts_per_leaf`; every leaf is linked to every spine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafSpine {
    /// Number of leaves, at least 1.
    pub leaves: u32,
    /// Number of spines, at least 1 (0 with a single leaf).
    pub spines: u32,
    /// Hosts below each leaf, at least 1.
    pub hosts_per_leaf: u32,
    /// Rate of the links between hosts and leaves.
    pub access_rate: Rate,
    /// Rate of the links between leaves and spines.
    pub fabric_rate: Rate,
    /// Propagation delay of every link.
    pub delay: Span,
}

impl LeafSpine {
    /// The papers' fabric: 144 hosts, 9 leaves, 4 spines, 20 ns links; the fabric's links are four times as fast as
    /// the hosts'.
    pub fn papers(access_gbps: u64) -> Self {
        Self {
            leaves: 9,
            spines: 4,
            hosts_per_leaf: 16,
            access_rate: Rate::from_gbps(access_gbps),
            fabric_rate: Rate::from_gbps(4 * access_gbps),
            delay: Span::from_ns(20),
        }
    }

    /// The network. Hosts come first, then leaves, then spines.
    ///
    /// # Errors
    /// If a number is zero, or several leaves have no spine.
    pub fn topology(&self) -> Result<Topology, ConfigError> {
        for (key, value) in [("leaves", self.leaves), ("hosts_per_leaf", self.hosts_per_leaf)] {
            if value == 0 {
                return Err(ConfigError::new("topology", key, value, "at least 1"));
            }
        }
        if self.spines == 0 && self.leaves > 1 {
            return Err(ConfigError::new(
                "topology",
                "spines",
                self.spines,
                "at least 1 where there are several leaves",
            ));
        }
        let too_many = || ConfigError::new("topology", "hosts_per_leaf", self.hosts_per_leaf, "fewer than 2^31 nodes");
        let hosts =
            self.leaves.checked_mul(self.hosts_per_leaf).filter(|hosts| *hosts < 1 << 30).ok_or_else(too_many)?;
        let nodes =
            hosts.checked_add(self.leaves + self.spines).filter(|nodes| *nodes < 1 << 31).ok_or_else(too_many)?;
        let Self { hosts_per_leaf, leaves, spines, .. } = *self;
        let shape = Shape::LeafSpine { hosts_per_leaf, leaves, spines };
        debug_assert_eq!((shape.hosts(), shape.nodes()), (hosts, nodes));
        Ok(Topology::of_shape(shape, self.access_rate, self.fabric_rate, self.delay))
    }
}

/// A three-tier fat tree of switches with k ports (M. Al-Fares et al., "A Scalable, Commodity Data Center Network
/// Architecture", SIGCOMM 2008): k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores, (k/2)^2 hosts per pod.
/// Aggregation switch a of every pod is linked to the cores a k/2 .. (a + 1) k/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FatTree {
    /// Ports of a switch; even, from 2 to [`MOST_PORTS`](Self::MOST_PORTS).
    pub k: u32,
    /// Rate of the links between hosts and edge switches.
    pub access_rate: Rate,
    /// Rate of all other links; equal to the access rate for full bisection bandwidth.
    pub fabric_rate: Rate,
    /// Propagation delay of every link.
    pub delay: Span,
}

impl FatTree {
    /// The most ports that a switch may have: half a million hosts.
    pub const MOST_PORTS: u32 = 128;

    /// The network. Hosts come first, then edge switches, aggregation switches and cores, each pod by pod.
    ///
    /// # Errors
    /// If k is odd, 0, or above [`MOST_PORTS`](Self::MOST_PORTS).
    pub fn topology(&self) -> Result<Topology, ConfigError> {
        if self.k == 0 || !self.k.is_multiple_of(2) || self.k > Self::MOST_PORTS {
            let expected = format!("an even number from 2 to {}", Self::MOST_PORTS);
            return Err(ConfigError::new("topology", "k", self.k, &expected));
        }
        Ok(Topology::of_shape(Shape::FatTree { half: self.k / 2 }, self.access_rate, self.fabric_rate, self.delay))
    }
}

/// Two switches joined by one link, with hosts on either side: `left` hosts first, then `right`, then the left switch and
/// the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dumbbell {
    /// Hosts at the left switch, at least 1.
    pub left: u32,
    /// Hosts at the right switch, at least 1.
    pub right: u32,
    /// Rate of the hosts' links.
    pub access_rate: Rate,
    /// Rate of the link between the switches.
    pub bottleneck_rate: Rate,
    /// Propagation delay of every link.
    pub delay: Span,
}

impl Dumbbell {
    /// The network.
    ///
    /// # Errors
    /// If a side has no hosts, or more than 2^28.
    pub fn topology(&self) -> Result<Topology, ConfigError> {
        for (key, value) in [("left_hosts", self.left), ("right_hosts", self.right)] {
            if value == 0 || value > 1 << 28 {
                return Err(ConfigError::new("topology", key, value, "from 1 to 2^28"));
            }
        }
        let hosts = self.left + self.right;
        let mut topology = Topology { hosts, nodes: hosts + 2, links: Vec::new() };
        for host in 0..hosts {
            topology.connect(host, hosts + u32::from(host >= self.left), self.access_rate, self.delay);
        }
        topology.connect(hosts, hosts + 1, self.bottleneck_rate, self.delay);
        Ok(topology)
    }
}

impl Topology {
    /// The ports of each node, in the order of their numbers.
    pub fn ports_of(&self) -> Vec<Vec<u32>> {
        let mut ports_of = vec![Vec::new(); self.nodes as usize];
        for (port, link) in (0..).zip(&self.links) {
            ports_of[link.from as usize].push(port);
        }
        ports_of
    }

    /// The shortest delay of a link; 0 if there is none.
    pub fn shortest_delay(&self) -> Span {
        self.links.iter().map(|link| link.delay).min().unwrap_or(Span::ZERO)
    }

    /// The longest time of a packet over a link: half of the largest time, 106 days.
    pub const LONGEST_PASSAGE: Span = Span::from_ps(u64::MAX / 2);

    /// The longest time that a packet of `bytes` takes over a link, serialisation and delay.
    ///
    /// # Errors
    /// The first link over which it takes longer than [`LONGEST_PASSAGE`](Self::LONGEST_PASSAGE).
    pub fn slowest_link(&self, bytes: u32, rounding: Rounding) -> Result<Span, Link> {
        let bytes = Bytes(bytes.into());
        let mut slowest = Span::ZERO;
        let mut before = None;
        for link in &self.links {
            // Links of one kind are consecutive.
            if before == Some((link.rate, link.delay)) {
                continue;
            }
            let time = link.rate.checked_serialisation(bytes, rounding).map(|time| time.saturating_add(link.delay));
            slowest = slowest.max(time.filter(|time| *time <= Self::LONGEST_PASSAGE).ok_or(*link)?);
            before = Some((link.rate, link.delay));
        }
        Ok(slowest)
    }

    /// Whether its links and numbers are those of a [`LeafSpine`], [`FatTree`] or
    /// [`single_switch`](Self::single_switch). Routes are then computed without memory as long as no link is down.
    pub fn is_regular(&self) -> bool {
        self.shape().is_some()
    }

    /// The shape of this network, if it is regular: the same nodes and links with the same numbers.
    pub(super) fn shape(&self) -> Option<Shape> {
        let Self { hosts, nodes, links } = self;
        let hosts_per_leaf = links.iter().step_by(2).take_while(|link| link.to == *hosts).count() as u32;
        let leaves = hosts.checked_div(hosts_per_leaf)?;
        let spines = nodes.checked_sub(*hosts)?.checked_sub(leaves)?;
        let half = (1..=64).find(|half| 2 * half * half * half >= *hosts)?;
        let fits = |shape: &Shape| {
            let sizes = (shape.hosts(), shape.nodes(), 2 * shape.links());
            sizes == (*hosts, *nodes, links.len() as u64)
                && links
                    .iter()
                    .map(|link| (link.from, link.to))
                    .eq(shape.ends().flat_map(|(lower, upper)| once((lower, upper)).chain(once((upper, lower)))))
        };
        let leaf_spine = Shape::LeafSpine { hosts_per_leaf, leaves, spines };
        // Leaves without spines do not reach one another.
        let is_connected = spines > 0 || leaves == 1;
        [Some(leaf_spine).filter(|_| is_connected), Some(Shape::FatTree { half })].into_iter().flatten().find(fits)
    }

    fn of_shape(shape: Shape, access_rate: Rate, fabric_rate: Rate, delay: Span) -> Self {
        let mut topology = Self { hosts: shape.hosts(), nodes: shape.nodes(), links: Vec::new() };
        for (lower, upper) in shape.ends() {
            let rate = if lower < topology.hosts { access_rate } else { fabric_rate };
            topology.connect(lower, upper, rate, delay);
        }
        topology
    }

    /// `hosts` hosts around one switch.
    ///
    /// # Errors
    /// If there is no host, or more than 2^28.
    pub fn single_switch(hosts: u32, rate: Rate, delay: Span) -> Result<Self, ConfigError> {
        if hosts == 0 || hosts > 1 << 28 {
            return Err(ConfigError::new("topology", "hosts", hosts, "from 1 to 2^28"));
        }
        let mut topology = Self { hosts, nodes: hosts + 1, links: Vec::new() };
        for host in 0..hosts {
            topology.connect(host, hosts, rate, delay);
        }
        Ok(topology)
    }

    /// Two hosts joined by one link (SP-PIFO Fig. 5).
    pub fn two_hosts(rate: Rate, delay: Span) -> Self {
        let mut topology = Self { hosts: 2, nodes: 2, links: Vec::new() };
        topology.connect(0, 1, rate, delay);
        topology
    }

    /// Adds a link in both directions.
    pub fn connect(&mut self, a: u32, b: u32, rate: Rate, delay: Span) {
        self.links.push(Link { from: a, to: b, rate, delay });
        self.links.push(Link { from: b, to: a, rate, delay });
    }

    /// Checks that the nodes of every link exist and differ, that no direction is listed twice, and that every host has
    /// exactly one link out.
    ///
    /// # Errors
    /// Names the invalid link or host.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.hosts == 0 || self.hosts > self.nodes {
            return Err(ConfigError::new(
                "topology",
                "hosts",
                self.hosts,
                "at least 1 and at most the number of nodes",
            ));
        }
        if self.links.len() >= NUMBERS as usize {
            return Err(ConfigError::new("topology", "links", self.links.len(), "fewer than 2^30"));
        }
        let mut out = vec![0u32; self.hosts as usize];
        let mut seen = std::collections::BTreeSet::new();
        for (number, link) in self.links.iter().enumerate() {
            let place = format!("links[{number}]");
            let text = format!("{} -> {}", link.from, link.to);
            if link.from >= self.nodes || link.to >= self.nodes {
                return Err(ConfigError::new("topology", &place, text, &format!("nodes below {}", self.nodes)));
            }
            if link.from == link.to {
                return Err(ConfigError::new("topology", &place, text, "two different nodes"));
            }
            if !seen.insert((link.from, link.to)) {
                return Err(ConfigError::new(
                    "topology",
                    &place,
                    text,
                    "listed once (parallel links are not supported)",
                ));
            }
            if let Some(count) = out.get_mut(link.from as usize) {
                *count += 1;
            }
        }
        match out.iter().position(|count| *count != 1) {
            Some(host) => {
                let text = format!("{} links out", out[host]);
                Err(ConfigError::new("topology", &format!("host {host}"), text, "exactly 1"))
            }
            None => Ok(()),
        }
    }
}
