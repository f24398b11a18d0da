//! The keys of networks in files, of failures, and of records.

use pifolab_params::{Kind, Param};

/// The keys of a network in a file.
pub(crate) const TOPOLOGY_FILE: &[Param] = &[
    Param::new("title", Kind::Text).means("none").doc("The title of the network."),
    Param::integer("hosts", 1, 1 << 24).doc("Hosts: nodes 0 to hosts - 1."),
    Param::integer("switches", 0, 1 << 24).doc("Switches: the nodes after the hosts."),
    Param::new("rate", Kind::Rate).means("each link has its own").doc("The rate of links without their own."),
    Param::new("delay", Kind::Time)
        .means("each link has its own")
        .doc("The propagation delay of links without their own."),
    Param::new("link", Kind::Tables(FILE_LINK))
        .doc("The links, each in both directions; their order is that of equal-cost next hops."),
];

/// The keys of a link in a file.
pub(crate) const FILE_LINK: &[Param] = &[
    Param::integer("a", 0, 1 << 25).doc("One end."),
    Param::integer("b", 0, 1 << 25).doc("The other end."),
    Param::new("rate", Kind::Rate).means("the rate at the top").doc("The rate of either direction."),
    Param::new("delay", Kind::Time).means("the delay at the top").doc("The propagation delay."),
];

/// The keys of a `[[link_failure]]`.
pub(crate) const LINK_FAILURE: &[Param] = &[
    Param::new("link", Kind::Text)
        .doc("The link, both directions of it: two nodes by name or number, leaf0-spine1 or 144-153."),
    Param::new("at", Kind::Time)
        .doc("When it fails: packets that wait for it or are on its wires are lost, and routes are computed again."),
    Param::new("repair", Kind::Time).means("never").doc("When it is repaired."),
];

/// The keys of `[switch_buffer]`.
pub(crate) const SWITCH_BUFFER: &[Param] = &[
    Param::integer("shared_bytes", 1, 1 << 40).doc("The memory that all ports of one switch share."),
    Param::new("alpha", Kind::Positive).doc(
        "A packet is refused where a port's queue has reached alpha times what is free of the memory (dynamic \
              thresholds, Choudhury and Hahne 1998); a number or a fraction such as \"1/2\".",
    ),
];

/// The keys of `[record]`.
pub(crate) const RECORD: &[Param] = &[
    Param::new("sample_interval", Kind::Time).means("queues are not sampled").doc(
        "Occupancy and queue bounds are sampled at the first event of a port at or after each multiple of this time.",
    ),
    Param::new("sample_ports", Kind::Texts)
        .means("[\"switches\"]")
        .doc("The ports to sample: FROM->TO with names or numbers of nodes (leaf0->spine1), or all, switches, hosts."),
    Param::new("packet_log", Kind::Texts)
        .means("packets are not logged")
        .doc("The ports where every enqueue, dequeue, drop and eviction is logged, written as in sample_ports."),
    Param::new("arrival_order", Kind::Texts)
        .means("not recorded")
        .doc("The hosts where the data packets that arrive are logged in order."),
    Param::new("frames", Kind::Texts)
        .means("not recorded")
        .doc("The hosts where the bytes of all packets that arrive are kept; only beside [switch], whose program writes them."),
    Param::new("throughput_interval", Kind::Time).means("not recorded").doc(
        "The payload that reaches its receiver for the first time is summed up by flow over intervals of this length.",
    ),
    Param::new("reordering", Kind::Flag).or_flag(false).doc(
        "Whether to count for each flow the data packets that arrive after one that was sent later, and their extent (RFC 4737).",
    ),
    Param::integer("max_rows", 1, 1 << 32).or_integer(1000000).doc(
        "No more rows than this are kept of each kind (of samples: of each port); the manifest says how many were \
              left out.",
    ),
];
