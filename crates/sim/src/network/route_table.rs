//! Next hops as a table, for networks that are not regular or have links that are down.

use super::shape::Hops;
use super::topology::Topology;
use std::collections::VecDeque;

/// Returns true to stop the computation of routes, during which it is called every few milliseconds.
pub(super) type Stop<'a> = &'a dyn Fn() -> bool;

/// Next hops from every node to every group of hosts. Hosts below the same switch form a group and share their routes.
#[derive(Debug)]
pub(super) struct Table {
    /// For each host, its group and the port of its group's node that leads to it.
    hosts: Vec<(u32, u32)>,
    groups: usize,
    /// For each (node, group): the next hop if there is only one, else the range of next hops in `ports`.
    spans: Vec<(u32, u32)>,
    pub(super) ports: Vec<u32>,
}

impl Table {
    /// All shortest paths without the ports that are down; ports beyond the end of `down` are up. `None` if `stop`
    /// returns true before all are computed.
    pub(super) fn new(topology: &Topology, down: &[bool], stop: Stop<'_>) -> Option<Self> {
        let is_up = |port: u32| !down.get(port as usize).copied().unwrap_or(false);
        let nodes = topology.nodes as usize;
        let mut ports_of = vec![Vec::new(); nodes];
        let mut into = vec![Vec::new(); nodes];
        // The node that delivers to a host is the one at the far end of the host's only link, up or down.
        let mut gates = vec![u32::MAX; topology.hosts as usize];
        for (port, link) in (0..).zip(&topology.links) {
            if let Some(gate) = gates.get_mut(link.from as usize) {
                *gate = link.to;
            }
            if is_up(port) {
                ports_of[link.from as usize].push(port);
                into[link.to as usize].push(link.from);
            }
        }
        let mut group_of_node = vec![u32::MAX; nodes];
        let mut group_nodes = Vec::new();
        let mut hosts = Vec::new();
        for (host, gate) in (0..).zip(gates) {
            if gate == u32::MAX {
                // A host without a link: it cannot be reached.
                hosts.push((0, u32::MAX));
                continue;
            }
            let group = &mut group_of_node[gate as usize];
            if *group == u32::MAX {
                *group = group_nodes.len() as u32;
                group_nodes.push(gate);
            }
            let down = ports_of[gate as usize].iter().find(|port| topology.links[**port as usize].to == host);
            hosts.push((*group, down.copied().unwrap_or(u32::MAX)));
        }
        let mut distances = Vec::with_capacity(group_nodes.len());
        for gate in &group_nodes {
            if stop() {
                return None;
            }
            distances.push(distances_to(*gate, &into, topology.hosts));
        }
        let groups = group_nodes.len();
        let mut table = Self { hosts, groups, spans: Vec::with_capacity(nodes * groups), ports: Vec::new() };
        for node_ports in &ports_of {
            if stop() {
                return None;
            }
            table.add_node(topology, node_ports, &distances);
        }
        for (group, gate) in group_nodes.iter().enumerate() {
            // At the gate itself the next hop depends on the host, see `hops`.
            table.spans[*gate as usize * groups + group] = (u32::MAX, 0);
        }
        Some(table)
    }

    /// Adds the next hops of the next node, which has these ports.
    fn add_node(&mut self, topology: &Topology, node_ports: &[u32], distances: &[Vec<u32>]) {
        for distance in distances {
            let start = self.ports.len();
            let of = |port: &u32| distance[topology.links[*port as usize].to as usize];
            let best = node_ports.iter().map(of).min().unwrap_or(u32::MAX);
            if best != u32::MAX {
                self.ports.extend(node_ports.iter().filter(|port| of(port) == best));
            }
            match self.ports[start..] {
                [only] => {
                    self.ports.truncate(start);
                    self.spans.push((only, 1));
                }
                ref several => self.spans.push((start as u32, several.len() as u32)),
            }
        }
    }

    /// The next hops from `node` towards the host `dst`: one port, or a range in `ports`. `None` if there is no path.
    #[inline]
    pub(super) fn hops(&self, node: u32, dst: u32) -> Option<Hops> {
        let (group, down) = self.hosts[dst as usize];
        match self.spans[node as usize * self.groups + group as usize] {
            (u32::MAX, 0) => (down != u32::MAX).then_some(Hops { first: down, count: 1 }),
            (_, 0) => None,
            (first, count) => Some(Hops { first, count }),
        }
    }
}

/// Links from every node to `gate`; hosts do not forward.
fn distances_to(gate: u32, into: &[Vec<u32>], hosts: u32) -> Vec<u32> {
    let mut distance = vec![u32::MAX; into.len()];
    distance[gate as usize] = 0;
    let mut queue = VecDeque::from([gate]);
    while let Some(node) = queue.pop_front() {
        if node < hosts && node != gate {
            continue;
        }
        for from in &into[node as usize] {
            if distance[*from as usize] == u32::MAX {
                distance[*from as usize] = distance[node as usize] + 1;
                queue.push_back(*from);
            }
        }
    }
    distance
}
