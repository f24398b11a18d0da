//! Regular networks, whose next hops are computed from the numbers of nodes and ports.
//!
//! Cost: O(1) per hop and no memory, where a table of next hops takes 8 bytes for each node and group of hosts: 1.2 GB in a
//! fat tree of 65,536 hosts.

/// The numbering and the links of a regular network. Hosts come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Leaves, each linked to every spine; then spines.
    LeafSpine { hosts_per_leaf: u32, leaves: u32, spines: u32 },
    /// Edge switches, aggregation switches and cores of a fat tree of switches with 2 `half` ports, pod by pod.
    FatTree { half: u32 },
}

/// The next hops from a node towards a host: `count` ports from `first` on, every second number.
pub(super) struct Hops {
    pub(super) first: u32,
    pub(super) count: u32,
}

impl Hops {
    const fn only(port: u32) -> Self {
        Self { first: port, count: 1 }
    }

    /// The ports towards the upper ends of `count` links from `link` on.
    const fn up(link: u32, count: u32) -> Self {
        Self { first: 2 * link, count }
    }

    /// The port that leads towards the lower end of a link.
    const fn down(link: u32) -> Self {
        Self::only(2 * link + 1)
    }
}

impl Shape {
    pub(super) const fn hosts(self) -> u32 {
        match self {
            Self::LeafSpine { hosts_per_leaf, leaves, .. } => hosts_per_leaf * leaves,
            Self::FatTree { half } => 2 * half * half * half,
        }
    }

    pub(super) const fn nodes(self) -> u32 {
        match self {
            Self::LeafSpine { leaves, spines, .. } => self.hosts() + leaves + spines,
            Self::FatTree { half } => self.hosts() + 5 * half * half,
        }
    }

    /// The number of links, each in both directions.
    pub(super) const fn links(self) -> u64 {
        match self {
            Self::LeafSpine { leaves, spines, .. } => self.hosts() as u64 + leaves as u64 * spines as u64,
            Self::FatTree { .. } => 3 * self.hosts() as u64,
        }
    }

    /// The lower and the upper end of each link, in the order of their numbers; those of hosts come first.
    pub(super) fn ends(self) -> impl Iterator<Item = (u32, u32)> {
        let hosts = self.hosts();
        let (below, edges, above) = match self {
            Self::LeafSpine { hosts_per_leaf, leaves, spines } => (hosts_per_leaf, leaves, spines),
            Self::FatTree { half } => (half, 2 * half * half, half),
        };
        let (half, aggregations) = match self {
            Self::LeafSpine { .. } => (u32::MAX, 0),
            Self::FatTree { half } => (half, edges),
        };
        let second = hosts + edges;
        let hosts_up = (0..hosts).map(move |host| (host, hosts + host / below));
        // Pod by pod; all leaves are in the first.
        let edges_up = (0..edges)
            .flat_map(move |edge| (0..above).map(move |up| (hosts + edge, second + edge / half * above + up)));
        let aggregations_up = (0..aggregations).flat_map(move |aggregation| {
            (0..above).map(move |up| (second + aggregation, second + edges + aggregation % half * above + up))
        });
        hosts_up.chain(edges_up).chain(aggregations_up)
    }

    /// The next hops from `node` towards the host `dst`, which is another node.
    #[inline]
    pub(super) fn hops(self, node: u32, dst: u32) -> Hops {
        let hosts = self.hosts();
        let Some(switch) = node.checked_sub(hosts) else { return Hops::up(node, 1) };
        match self {
            Self::LeafSpine { hosts_per_leaf, leaves, spines } => {
                let gate = dst / hosts_per_leaf;
                if switch == gate {
                    Hops::down(dst)
                } else if switch < leaves {
                    Hops::up(hosts + switch * spines, spines)
                } else {
                    Hops::down(hosts + gate * spines + (switch - leaves))
                }
            }
            Self::FatTree { half } => {
                let edges = 2 * half * half;
                let gate = dst / half;
                let pod = gate / half;
                if switch == gate {
                    Hops::down(dst)
                } else if switch < edges {
                    Hops::up(hosts + switch * half, half)
                } else if switch < 2 * edges {
                    let aggregation = switch - edges;
                    if aggregation / half == pod {
                        Hops::down(hosts + gate * half + aggregation % half)
                    } else {
                        Hops::up(2 * hosts + aggregation * half, half)
                    }
                } else {
                    let core = switch - 2 * edges;
                    Hops::down(2 * hosts + (pod * half + core / half) * half + core % half)
                }
            }
        }
    }
}
