//! Shortest paths, and the choice among several equal ones.

use super::route_table::{Stop, Table};
use super::shape::{Hops, Shape};
use super::topology::Topology;
use std::sync::Arc;

/// The choice among several equal-cost next hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// By a hash of the flow, its direction and the switch: a flow keeps its path, and its acknowledgements may take
    /// another one. The seed selects the hash function.
    FlowHash {
        /// Seed of the hash function.
        seed: u64,
    },
    /// As `FlowHash`, with the hash of the Netbench forks: Jenkins' integer hash in 32-bit arithmetic.
    NetbenchHash,
    /// As `NetbenchHash` with hosts numbered after the switches, as Netbench numbers hosts that it adds.
    NetbenchHashHostsLast,
    /// Independently for each packet, at random at every switch.
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

/// The route in a packet: the ports ahead, each plus one, with the nearest in the lowest bits; or the hash that selects
/// them one by one, with the next port plus one in the upper half if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Route(u64);

/// The number of bits of a port in a path, and a mask of as many bits; 0 if packets carry no path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortBits {
    bits: u32,
    mask: u32,
}

impl PortBits {
    /// For paths in a network of this many ports.
    pub(super) const fn of(ports: u32) -> Self {
        // One more value than ports, since 0 is not a port.
        let bits = u32::BITS - ports.leading_zeros();
        Self { bits, mask: (1 << bits) - 1 }
    }

    /// For packets without a path.
    pub(super) const NONE: Self = Self { bits: 0, mask: 0 };
}

/// Marks a hash.
const HASH: u64 = 1 << 63;

impl Route {
    /// A route whose ports `hash` selects.
    pub(super) const fn picked_by(hash: u32) -> Self {
        Self(HASH | hash as u64)
    }

    /// Whether a hash selects the ports.
    #[inline(always)]
    pub(super) const fn is_picked(self) -> bool {
        self.0 & HASH != 0
    }

    /// Whether this is a path without further ports.
    #[inline(always)]
    pub(super) const fn is_at_end(self) -> bool {
        self.0 == 0
    }

    /// The next port, if it is known; otherwise any number.
    #[inline(always)]
    pub(super) const fn ahead(self, PortBits { mask, .. }: PortBits) -> u32 {
        let port = if self.is_picked() { ((self.0 & !HASH) >> 32) as u32 } else { self.0 as u32 & mask };
        port.wrapping_sub(1)
    }

    /// Takes the next port.
    ///
    /// # Errors
    /// The hash that selects it, if it is not known.
    #[inline(always)]
    pub(super) const fn take(&mut self, bits: PortBits) -> Result<u32, u32> {
        let route = *self;
        if !route.is_picked() {
            self.0 = route.0 >> bits.bits;
            return Ok((route.0 as u32 & bits.mask).wrapping_sub(1));
        }
        let hash = route.0 as u32;
        *self = Self::picked_by(hash);
        if route.0 == self.0 { Err(hash) } else { Ok(route.ahead(bits)) }
    }
}

/// The next hops of a network, and how packets choose among them.
#[derive(Clone, Debug)]
pub(super) struct Routes {
    routing: Routing,
    paths: Paths,
    sprayed: u64,
    /// Whether a packet had several next hops to choose from.
    pub(super) has_chosen: bool,
    /// The offsets from the numbers of hosts and switches to their numbers in the hash; additions wrap.
    above_own: (u32, u32),
}

/// All shortest paths.
#[derive(Clone, Debug)]
enum Paths {
    Regular(Shape),
    Listed(Arc<Table>),
}

impl Paths {
    /// The paths of `topology` without the ports that are down; ports beyond the end of `down` are up.
    fn of(topology: &Topology, down: &[bool], stop: Stop<'_>) -> Option<Self> {
        match topology.shape() {
            Some(shape) if !down.contains(&true) => Some(Self::Regular(shape)),
            _ => Some(Self::Listed(Arc::new(Table::new(topology, down, stop)?))),
        }
    }
}

impl Routes {
    /// All shortest paths of a checked topology. `None` if `stop` returns true before all are computed.
    pub(super) fn new(topology: &Topology, routing: Routing, stop: Stop<'_>) -> Option<Self> {
        let above_own = match routing {
            Routing::NetbenchHashHostsLast => (topology.nodes - topology.hosts, topology.hosts.wrapping_neg()),
            Routing::NetbenchHash | Routing::FlowHash { .. } | Routing::Spray { .. } => (0, 0),
        };
        let paths = Paths::of(topology, &[], stop)?;
        Some(Self { routing, paths, sprayed: 0, has_chosen: false, above_own })
    }

    /// Recomputes all paths without the ports that are down. Returns false and changes nothing if `stop` returns true
    /// before the end.
    #[must_use]
    pub(super) fn rebuild(&mut self, topology: &Topology, down: &[bool], stop: Stop<'_>) -> bool {
        let paths = Paths::of(topology, down, stop);
        paths.map(|paths| self.paths = paths).is_some()
    }

    /// The route that packets from `src` to `dst` of flow `id` carry: the whole path if it is the same for all of them
    /// and short enough. `to` returns the node at the far end of a port. If routes may change, packets carry no path.
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

    /// The hash that selects the ports of packets from `src` to `dst` of flow `id`, see [`next_port`](Self::next_port).
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

    /// As [`next_port`](Self::next_port), but always the same port even if packets are sprayed.
    pub(super) fn first_port(&mut self, node: u32, dst: u32, hash: u32) -> Option<u32> {
        let sprayed = self.sprayed;
        let port = self.next_port(node, dst, hash);
        self.sprayed = sprayed;
        port
    }

    /// Enters into `route`, from which a port to `node` was taken, the next port of a packet for host `dst`, so that it can be
    /// prefetched. Not if it may change before the packet arrives there.
    pub(super) fn look_ahead(&mut self, route: &mut Route, bits: PortBits, node: u32, dst: u32) {
        if bits.bits == 0 || matches!(self.routing, Routing::Spray { .. }) {
            return;
        }
        if node == dst {
            *route = Route(0);
        } else if let Some(port) = self.next_port(node, dst, route.0 as u32) {
            route.0 |= u64::from(port + 1) << 32;
        }
    }

    /// The port by which a packet for host `dst` leaves `node`; `None` if there is no path.
    #[inline(never)]
    pub(super) fn next_port(&mut self, node: u32, dst: u32, hash: u32) -> Option<u32> {
        let Hops { first, count } = match &self.paths {
            Paths::Regular(shape) => shape.hops(node, dst),
            Paths::Listed(table) => table.hops(node, dst)?,
        };
        if count == 1 {
            return Some(first);
        }
        self.has_chosen = true;
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
        Some(match &self.paths {
            Paths::Regular(_) => first + 2 * choice,
            Paths::Listed(table) => table.ports[(first + choice) as usize],
        })
    }
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
    use super::super::topology::{FatTree, LeafSpine, Link};
    use super::*;
    use pifolab_units::{Rate, Span};
    use std::cell::Cell;

    fn computed(topology: &Topology, routing: Routing) -> Routes {
        Routes::new(topology, routing, &|| false).expect("nobody stops it")
    }

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
            let mut routes = computed(&topology, routing);
            assert_eq!(walk(&mut routes, &topology, 0, 15, 3), [0, 144, 15]);
            let path = walk(&mut routes, &topology, 0, 143, 3);
            assert_eq!((path.len(), path[1], path[3]), (5, 144, 152));
            assert_eq!(path, walk(&mut routes, &topology, 0, 143, 3));
        }
    }

    #[test]
    fn a_path_that_packets_carry_is_the_one_that_the_hash_picks() {
        let topology = LeafSpine::papers(1).topology().unwrap();
        let mut routes = computed(&topology, Routing::default());
        let to = |port: u32| topology.links[port as usize].to;
        let bits = PortBits::of(topology.links.len() as u32);
        for id in 0..200 {
            let mut route = routes.route(5, 100, id, bits, to);
            let carried: Vec<_> = [(); 4].iter().map(|()| to(route.take(bits).unwrap())).collect();
            assert_eq!(carried, walk(&mut routes, &topology, 5, 100, id)[1..]);
            // If routes may change, or the path is too long to be carried, the hash selects the ports.
            let hash = routes.path_hash(5, 100, id);
            assert_eq!(routes.route(5, 100, id, PortBits::NONE, to).take(PortBits::NONE), Err(hash));
            let wide = PortBits::of(1 << 15);
            assert_eq!(routes.route(5, 100, id, wide, to).take(wide), Err(hash));
        }
    }

    #[test]
    fn the_port_that_packets_know_ahead_is_the_one_that_the_hash_picks() {
        let rate = Rate::from_gbps(1);
        let topology = FatTree { k: 8, access_rate: rate, fabric_rate: rate, delay: Span::ZERO }.topology().unwrap();
        let bits = PortBits::of(topology.links.len() as u32);
        for routing in [Routing::default(), Routing::NetbenchHash] {
            let mut routes = computed(&topology, routing);
            for id in 0..2_000 {
                let (src, dst) = (id as u32 % 128, (id as u32 * 31 + 1) % 128);
                let mut route = Route::picked_by(routes.path_hash(src, dst, id));
                let (mut node, mut path) = (src, vec![src]);
                while node != dst {
                    let port = match route.take(bits) {
                        Ok(port) => port,
                        // Only at first.
                        Err(hash) if node == src => routes.next_port(node, dst, hash).unwrap(),
                        Err(_) => panic!("the next port is unknown"),
                    };
                    node = topology.links[port as usize].to;
                    path.push(node);
                    routes.look_ahead(&mut route, bits, node, dst);
                }
                assert!(route.is_at_end());
                assert_eq!(path, walk(&mut routes, &topology, src, dst, id));
            }
        }
    }

    #[test]
    fn ports_that_may_change_are_not_known_ahead() {
        let topology = LeafSpine::papers(1).topology().unwrap();
        let bits = PortBits::of(topology.links.len() as u32);
        for (routing, bits) in [(Routing::Spray { seed: 1 }, bits), (Routing::default(), PortBits::NONE)] {
            let mut routes = computed(&topology, routing);
            let mut route = Route::picked_by(7);
            routes.look_ahead(&mut route, bits, 144, 100);
            assert_eq!(route, Route::picked_by(7));
            assert_eq!(routes.sprayed, 0);
        }
    }

    #[test]
    fn flows_spread_evenly_over_the_spines() {
        let topology = LeafSpine::papers(1).topology().unwrap();
        for routing in
            [Routing::default(), Routing::FlowHash { seed: 9 }, Routing::NetbenchHash, Routing::Spray { seed: 1 }]
        {
            let mut routes = computed(&topology, routing);
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
        let routes = |routing| computed(&topology, routing);
        let (plain, last) = (routes(Routing::NetbenchHash), routes(Routing::NetbenchHashHostsLast));
        assert_eq!(last.path_hash(3, 100, 7), plain.path_hash(3 + 13, 100 + 13, 7));
        let leaf =
            |mut routes: Routes, hash| routes.next_port(144, 100, hash).map(|port| topology.links[port as usize].to);
        let chosen = (jenkins(5) as u32 % 4 + 153, jenkins(144 + 5) as u32 % 4 + 153);
        assert_eq!((leaf(last, 5), leaf(plain, 5)), (Some(chosen.0), Some(chosen.1)));
    }

    /// An irregular network: no regular one has a link between two leaves.
    fn irregular() -> Topology {
        let mut topology = LeafSpine::papers(1).topology().unwrap();
        topology.connect(144, 145, Rate::from_gbps(1), Span::ZERO);
        topology
    }

    /// However large the network, little is computed between two calls of `stop`, so that Ctrl-C works.
    #[test]
    fn routes_are_given_up_when_they_are_no_longer_wanted() {
        let topology = irregular();
        let calls = Cell::new(0);
        let stop_at = |wanted| {
            calls.set(0);
            let calls = &calls;
            move || calls.replace(calls.get() + 1) == wanted
        };
        assert!(Routes::new(&topology, Routing::default(), &stop_at(u32::MAX)).is_some());
        let all = 9 + topology.nodes;
        assert_eq!(calls.get(), all, "once for each leaf, then once for each node");
        let mut routes = computed(&topology, Routing::default());
        let before = walk(&mut routes, &topology, 0, 143, 3);
        for wanted in 0..all {
            assert!(Routes::new(&topology, Routing::default(), &stop_at(wanted)).is_none());
            assert_eq!(calls.get(), wanted + 1);
            assert!(!routes.rebuild(&topology, &[true], &stop_at(wanted)));
            assert_eq!(walk(&mut routes, &topology, 0, 143, 3), before);
        }
    }

    #[test]
    fn the_hops_of_a_regular_network_are_those_of_its_table() {
        let rate = Rate::from_gbps(1);
        let leaf_spine = |leaves, spines, hosts_per_leaf| {
            LeafSpine { leaves, spines, hosts_per_leaf, ..LeafSpine::papers(1) }.topology().unwrap()
        };
        let fat_tree = |k| FatTree { k, access_rate: rate, fabric_rate: rate, delay: Span::ZERO }.topology().unwrap();
        let sizes = [(1, 0, 5), (1, 3, 4), (2, 1, 3), (5, 3, 1), (4, 4, 4), (9, 4, 16), (3, 7, 2)];
        let regular = sizes.into_iter().map(|(leaves, spines, hosts)| leaf_spine(leaves, spines, hosts));
        let regular = regular.chain([2, 4, 6, 8, 10].map(fat_tree));
        for topology in regular.chain([Topology::single_switch(7, rate, Span::ZERO).unwrap()]) {
            let shape = topology.shape().expect("it is regular");
            let table = Table::new(&topology, &[], &|| false).unwrap();
            for (node, dst) in (0..topology.nodes).flat_map(|node| (0..topology.hosts).map(move |dst| (node, dst))) {
                if node == dst {
                    continue;
                }
                let (computed, listed) = (shape.hops(node, dst), table.hops(node, dst).unwrap());
                assert_eq!(computed.count, listed.count, "{shape:?}: {node} to {dst}");
                for choice in 0..listed.count {
                    let port =
                        if listed.count == 1 { listed.first } else { table.ports[(listed.first + choice) as usize] };
                    assert_eq!(computed.first + 2 * choice, port, "{shape:?}: {node} to {dst}");
                }
            }
        }
    }

    #[test]
    fn a_network_that_differs_in_one_link_is_not_regular() {
        let rate = Rate::from_gbps(1);
        let fat_tree = FatTree { k: 4, access_rate: rate, fabric_rate: rate, delay: Span::ZERO }.topology().unwrap();
        for topology in [LeafSpine::papers(1).topology().unwrap(), fat_tree] {
            for link in 0..topology.links.len() {
                let mut other = topology.clone();
                other.links.swap(link, (link + 1) % topology.links.len());
                assert_eq!(other.shape(), None, "links {link} and the next are exchanged");
                other = topology.clone();
                other.links.remove(link);
                assert_eq!(other.shape(), None, "link {link} is missing");
            }
        }
        let two_leaves = Topology { hosts: 2, nodes: 4, links: Vec::new() };
        let linked = |a, b| [(a, b), (b, a)].map(|(from, to)| Link { from, to, rate, delay: Span::ZERO });
        let links = [linked(0, 2), linked(1, 3)].concat();
        assert_eq!(Topology { links, ..two_leaves }.shape(), None, "the leaves do not reach one another");
    }

    #[test]
    fn two_hosts_reach_each_other_directly() {
        let topology = Topology::two_hosts(Rate::from_gbps(1), Span::ZERO);
        let mut routes = computed(&topology, Routing::default());
        assert_eq!(walk(&mut routes, &topology, 1, 0, 0), [1, 0]);
    }

    #[test]
    fn hosts_do_not_forward() {
        let mut topology = LeafSpine::papers(1).topology().unwrap();
        // Without leaf 0's links to the spines, its hosts reach each other only.
        topology.links.retain(|link| link.from.min(link.to) != 144);
        let mut routes = computed(&topology, Routing::default());
        assert!(routes.next_port(144, 143, 0).is_none());
        assert_eq!(walk(&mut routes, &topology, 0, 1, 0), [0, 144, 1]);
    }
}
