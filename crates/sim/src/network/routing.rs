//! Shortest paths, and which of several equal ones a packet takes.

use super::topology::Topology;
use std::collections::VecDeque;

/// Which of several equal-cost next hops a packet takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// By a hash of the flow, its direction and the switch: a flow keeps its path, and its acknowledgements have a path
    /// of their own. The seed picks the hash function.
    FlowHash {
        /// Seed of the hash function.
        seed: u64,
    },
    /// By the hash of the Netbench forks: as `FlowHash`, with Jenkins' integer hash in 32-bit arithmetic.
    NetbenchHash,
    /// As `NetbenchHash` where hosts are numbered after the switches, as Netbench does with hosts that it adds.
    NetbenchHashHostsLast,
    /// Every packet by itself, at random at every switch.
    Spray {
        /// Seed of the random choice.
        seed: u64,
    },
}

impl Default for Routing {
    fn default() -> Self {
        Self::FlowHash { seed: 0 }
    }
}

/// What a packet carries along to find its way: the ports ahead of it, the nearest in the lowest bits and each plus one, or
/// the hash that picks them one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route(u64);

/// How many bits of a path a port takes, and as many bits set; none where packets carry no path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortBits {
    bits: u32,
    mask: u32,
}

impl PortBits {
    /// Of a path among so many ports.
    pub(super) const fn of(ports: u32) -> Self {
        // One more number than ports: 0 is not a port.
        let bits = u32::BITS - ports.leading_zeros();
        Self { bits, mask: (1 << bits) - 1 }
    }

    /// Where packets carry no path.
    pub(super) const NONE: Self = Self { bits: 0, mask: 0 };
}

/// Marks a hash.
const HASH: u64 = 1 << 63;

impl Route {
    /// The ports are picked by `hash`.
    pub(super) const fn picked_by(hash: u32) -> Self {
        Self(HASH | hash as u64)
    }

    /// Whether this is a path that leads no further.
    #[inline(always)]
    pub(super) const fn is_at_end(self) -> bool {
        self.0 == 0
    }

    /// The next port, if this is a path; otherwise any number.
    #[inline(always)]
    pub(super) const fn ahead(self, PortBits { mask, .. }: PortBits) -> u32 {
        (self.0 as u32 & mask).wrapping_sub(1)
    }

    /// The next port of a path, which it then has behind it.
    ///
    /// # Errors
    /// The hash, where there is no path.
    #[inline(always)]
    pub(super) const fn take(&mut self, bits: PortBits) -> Result<u32, u32> {
        let route = *self;
        if route.0 & HASH != 0 {
            return Err(route.0 as u32);
        }
        self.0 = route.0 >> bits.bits;
        Ok(route.ahead(bits))
    }
}

/// Next hops from every node to every group of hosts.
#[derive(Clone, Debug)]
pub(super) struct Routes {
    routing: Routing,
    /// For each host, its group and the port of its group's node that leads to it.
    hosts: Vec<(u32, u32)>,
    groups: usize,
    /// For each (node, group): the only next hop if there is one, or where the next hops lie in `hops`.
    spans: Vec<(u32, u32)>,
    hops: Vec<u32>,
    sprayed: u64,
    /// What the hash's numbers of hosts and of switches are above their own; they wrap.
    above_own: (u32, u32),
}

impl Routes {
    /// All shortest paths of a checked topology. Hosts below the same switch form a group and share their routes.
    pub(super) fn new(topology: &Topology, routing: Routing) -> Self {
        let above_own = match routing {
            Routing::NetbenchHashHostsLast => (topology.nodes - topology.hosts, topology.hosts.wrapping_neg()),
            Routing::NetbenchHash | Routing::FlowHash { .. } | Routing::Spray { .. } => (0, 0),
        };
        let mut routes =
            Self { routing, hosts: Vec::new(), groups: 0, spans: Vec::new(), hops: Vec::new(), sprayed: 0, above_own };
        routes.rebuild(topology, &[]);
        routes
    }

    /// Computes all paths anew, without the ports that are down; those beyond the end of `down` are not.
    pub(super) fn rebuild(&mut self, topology: &Topology, down: &[bool]) {
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
        self.hosts = hosts;
        self.groups = group_nodes.len();
        self.spans.clear();
        self.hops.clear();
        let routes = self;
        let distances: Vec<Vec<u32>> =
            group_nodes.iter().map(|gate| distances_to(*gate, &into, topology.hosts)).collect();
        for ports in &ports_of {
            for distance in &distances {
                let start = routes.hops.len() as u32;
                let of = |port: &u32| distance[topology.links[*port as usize].to as usize];
                let best = ports.iter().map(of).min().unwrap_or(u32::MAX);
                if best != u32::MAX {
                    routes.hops.extend(ports.iter().filter(|port| of(port) == best));
                }
                match routes.hops[start as usize..] {
                    [only] => {
                        routes.hops.truncate(start as usize);
                        routes.spans.push((only, 1));
                    }
                    ref several => routes.spans.push((start, several.len() as u32)),
                }
            }
        }
        for (group, gate) in group_nodes.iter().enumerate() {
            // At the gate itself the last hop depends on the host, see `next_port`.
            routes.spans[*gate as usize * routes.groups + group] = (u32::MAX, 0);
        }
    }

    /// What packets from `src` to `dst` of flow `id` carry along: the whole path, if it is the same for all of them and short
    /// enough. `to` tells where a port leads. Packets carry no path where routes may change.
    pub(super) fn route(&mut self, src: u32, dst: u32, id: u64, bits: PortBits, to: impl Fn(u32) -> u32) -> Route {
        let hash = self.path_hash(src, dst, id);
        let bits = bits.bits;
        if bits == 0 || matches!(self.routing, Routing::Spray { .. }) {
            return Route::picked_by(hash);
        }
        let (mut node, mut path, mut length) = (src, 0, 0);
        while node != dst {
            match self.next_port(node, dst, hash) {
                Some(port) if length + bits < 64 => {
                    path |= u64::from(port + 1) << length;
                    length += bits;
                    node = to(port);
                }
                _ => return Route::picked_by(hash),
            }
        }
        Route(path)
    }

    /// What picks the ports of packets from `src` to `dst` of flow `id`, see [`next_port`](Self::next_port).
    pub(super) fn path_hash(&self, src: u32, dst: u32, id: u64) -> u32 {
        match self.routing {
            Routing::FlowHash { seed } => {
                let pair = (u64::from(src) << 32 | u64::from(dst)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (mix64(pair ^ mix64(id ^ mix64(seed))) >> 32) as u32
            }
            Routing::NetbenchHash | Routing::NetbenchHashHostsLast => {
                let number = |host: u32| host.wrapping_add(self.above_own.0) as i32;
                let flow = jenkins(id as i32);
                jenkins(number(src).wrapping_add(jenkins(number(dst).wrapping_add(flow)))) as u32
            }
            Routing::Spray { .. } => 0,
        }
    }

    /// As [`next_port`](Self::next_port), but always the same among equals where packets are sprayed.
    pub(super) fn first_port(&mut self, node: u32, dst: u32, hash: u32) -> Option<u32> {
        let sprayed = self.sprayed;
        let port = self.next_port(node, dst, hash);
        self.sprayed = sprayed;
        port
    }

    /// The port by which a packet for host `dst` leaves `node`; `None` if there is no path.
    #[inline(never)]
    pub(super) fn next_port(&mut self, node: u32, dst: u32, hash: u32) -> Option<u32> {
        let (group, down) = self.hosts[dst as usize];
        let (start, count) = self.spans[node as usize * self.groups + group as usize];
        if count == 1 {
            return Some(start);
        }
        if count == 0 {
            return (start == u32::MAX && down != u32::MAX).then_some(down);
        }
        let choice = match self.routing {
            Routing::FlowHash { .. } => {
                // Multiply-shift with a factor that differs from switch to switch, so that the choices at successive
                // switches are independent.
                let factor = (u64::from(node) << 1 | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
                let mixed = (u64::from(hash) | 1 << 32).wrapping_mul(factor) >> 32;
                (((mixed & 0xffff_ffff) * u64::from(count)) >> 32) as u32
            }
            // Hosts have one link, so that the node is a switch.
            Routing::NetbenchHash | Routing::NetbenchHashHostsLast => {
                jenkins((node.wrapping_add(self.above_own.1) as i32).wrapping_add(hash as i32)) as u32 % count
            }
            Routing::Spray { seed } => {
                self.sprayed += 1;
                (((mix64(seed ^ self.sprayed) >> 32) * u64::from(count)) >> 32) as u32
            }
        };
        Some(self.hops[(start + choice) as usize])
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

/// Robert Jenkins' 32-bit integer hash, then the absolute value (of which the smallest integer has none).
const fn jenkins(value: i32) -> i32 {
    let mut a = value;
    a = a.wrapping_add(0x7ed5_5d16).wrapping_add(a << 12);
    a = (a ^ 0xc761_c23c_u32 as i32) ^ (a >> 19);
    a = a.wrapping_add(0x1656_67b1).wrapping_add(a << 5);
    a = a.wrapping_add(0xd3a2_646c_u32 as i32) ^ (a << 9);
    a = a.wrapping_add(0xfd70_46c5_u32 as i32).wrapping_add(a << 3);
    a = (a ^ 0xb55a_4f09_u32 as i32) ^ (a >> 16);
    a.wrapping_abs()
}

/// The finaliser of SplitMix64.
const fn mix64(mut value: u64) -> u64 {
    value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::super::topology::LeafSpine;
    use super::*;

    fn walk(routes: &mut Routes, topology: &Topology, src: u32, dst: u32, id: u64) -> Vec<u32> {
        let hash = routes.path_hash(src, dst, id);
        let (mut node, mut path) = (src, vec![src]);
        while node != dst {
            node = topology.links[routes.next_port(node, dst, hash).unwrap() as usize].to;
            path.push(node);
        }
        path
    }

    #[test]
    fn paths_are_shortest_and_a_flow_keeps_its_own() {
        let topology = LeafSpine::papers(1).topology().unwrap();
        for routing in [Routing::default(), Routing::NetbenchHash] {
            let mut routes = Routes::new(&topology, routing);
            assert_eq!(walk(&mut routes, &topology, 0, 15, 3), [0, 144, 15]);
            let path = walk(&mut routes, &topology, 0, 143, 3);
            assert_eq!((path.len(), path[1], path[3]), (5, 144, 152));
            assert_eq!(path, walk(&mut routes, &topology, 0, 143, 3));
        }
    }

    #[test]
    fn a_path_that_packets_carry_is_the_one_that_the_hash_picks() {
        let topology = LeafSpine::papers(1).topology().unwrap();
        let mut routes = Routes::new(&topology, Routing::default());
        let to = |port: u32| topology.links[port as usize].to;
        let bits = PortBits::of(topology.links.len() as u32);
        for id in 0..200 {
            let mut route = routes.route(5, 100, id, bits, to);
            let carried: Vec<_> = [(); 4].iter().map(|()| to(route.take(bits).unwrap())).collect();
            assert_eq!(carried, walk(&mut routes, &topology, 5, 100, id)[1..]);
            // Where routes may change, and where the path is too long to be carried, the hash stays in charge.
            let hash = routes.path_hash(5, 100, id);
            assert_eq!(routes.route(5, 100, id, PortBits::NONE, to).take(PortBits::NONE), Err(hash));
            let wide = PortBits::of(1 << 15);
            assert_eq!(routes.route(5, 100, id, wide, to).take(wide), Err(hash));
        }
    }

    #[test]
    fn flows_spread_evenly_over_the_spines() {
        let topology = LeafSpine::papers(1).topology().unwrap();
        for routing in
            [Routing::default(), Routing::FlowHash { seed: 9 }, Routing::NetbenchHash, Routing::Spray { seed: 1 }]
        {
            let mut routes = Routes::new(&topology, routing);
            let mut used = [0u32; 4];
            for id in 0..8_000 {
                let path = walk(&mut routes, &topology, (id % 16) as u32, 16 + (id % 128) as u32, id);
                used[(path[2] - 153) as usize] += 1;
            }
            // 2000 each, standard deviation 39: five of them.
            assert!(used.iter().all(|count| (1_800..2_200).contains(count)), "{routing:?} {used:?}");
        }
    }

    /// After the 13 switches host 3 is number 16, and the first leaf is number 0.
    #[test]
    fn hosts_may_be_numbered_after_the_switches() {
        let topology = LeafSpine::papers(1).topology().unwrap();
        let routes = |routing| Routes::new(&topology, routing);
        let (plain, last) = (routes(Routing::NetbenchHash), routes(Routing::NetbenchHashHostsLast));
        assert_eq!(last.path_hash(3, 100, 7), plain.path_hash(3 + 13, 100 + 13, 7));
        let leaf =
            |mut routes: Routes, hash| routes.next_port(144, 100, hash).map(|port| topology.links[port as usize].to);
        let chosen = (jenkins(5) as u32 % 4 + 153, jenkins(144 + 5) as u32 % 4 + 153);
        assert_eq!((leaf(last, 5), leaf(plain, 5)), (Some(chosen.0), Some(chosen.1)));
    }

    #[test]
    fn two_hosts_reach_each_other_directly() {
        let topology = Topology::two_hosts(pifolab_units::Rate::from_gbps(1), pifolab_units::Span::ZERO);
        let mut routes = Routes::new(&topology, Routing::default());
        assert_eq!(walk(&mut routes, &topology, 1, 0, 0), [1, 0]);
    }

    #[test]
    fn hosts_do_not_forward() {
        let mut topology = LeafSpine::papers(1).topology().unwrap();
        // Without leaf 0's links to the spines, its hosts reach each other only.
        topology.links.retain(|link| link.from.min(link.to) != 144);
        let mut routes = Routes::new(&topology, Routing::default());
        assert!(routes.next_port(144, 143, 0).is_none());
        assert_eq!(walk(&mut routes, &topology, 0, 1, 0), [0, 144, 1]);
    }
}
