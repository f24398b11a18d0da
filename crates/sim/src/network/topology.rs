//! Hosts, switches and the links between them.

use super::ConfigError;
use super::net::NUMBERS;
use pifolab_units::{Rate, Span};

/// One direction of a link: an output port of `from` that leads to `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The node whose port it is.
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

/// A leaf-spine fabric. Host h hangs on leaf h / `hosts_per_leaf`; every leaf is linked to every spine.
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
        let mut topology = Topology { hosts, nodes, links: Vec::new() };
        for host in 0..hosts {
            topology.connect(host, hosts + host / self.hosts_per_leaf, self.access_rate, self.delay);
        }
        for leaf in hosts..hosts + self.leaves {
            for spine in hosts + self.leaves..nodes {
                topology.connect(leaf, spine, self.fabric_rate, self.delay);
            }
        }
        Ok(topology)
    }
}

impl Topology {
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
    pub(super) fn check(&self) -> Result<(), ConfigError> {
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
                return Err(ConfigError::new("topology", &place, text, &format!("between nodes below {}", self.nodes)));
            }
            if link.from == link.to {
                return Err(ConfigError::new("topology", &place, text, "between two different nodes"));
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
