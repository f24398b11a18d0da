//! The keys of networks, and of what is recorded in them, written down once.

use crate::fields::{Absent, Field, What};

/// The keys of `[topology]`.
pub(crate) const TOPOLOGY: &[Field] = &[
    Field {
        name: "kind",
        what: What::Choice(&[
            ("leaf-spine", "hosts below leaves, every leaf linked to every spine"),
            ("two-hosts", "two hosts and one link between them"),
            ("fat-tree", "three tiers of switches with k ports each"),
            ("dumbbell", "two switches and the link between them, hosts on either side"),
            ("single-switch", "hosts around one switch"),
            ("file", "a file: pifolab's own TOML, or a .topology file of Netbench"),
        ]),
        absent: Absent::Required,
        doc: "Which network.",
    },
    Field { name: "leaves", what: What::Integer(1, 1 << 20), absent: Absent::Required, doc: "Leaf switches." },
    Field {
        name: "spines",
        what: What::Integer(0, 1 << 20),
        absent: Absent::Required,
        doc: "Spine switches; 0 with a single leaf.",
    },
    Field {
        name: "hosts_per_leaf",
        what: What::Integer(1, 1 << 20),
        absent: Absent::Required,
        doc: "Hosts below each leaf; host h hangs on leaf h / hosts_per_leaf.",
    },
    Field {
        name: "k",
        what: What::Integer(2, 128),
        absent: Absent::Required,
        doc: "Ports of every switch of a fat tree, even: k^3/4 hosts.",
    },
    Field {
        name: "hosts",
        what: What::Integer(2, 1 << 28),
        absent: Absent::Required,
        doc: "Hosts around a single switch.",
    },
    Field {
        name: "left_hosts",
        what: What::Integer(1, 1 << 28),
        absent: Absent::Required,
        doc: "Hosts at the first switch of a dumbbell; they come first.",
    },
    Field {
        name: "right_hosts",
        what: What::Integer(1, 1 << 28),
        absent: Absent::Required,
        doc: "Hosts at the second switch of a dumbbell.",
    },
    Field {
        name: "file",
        what: What::Text,
        absent: Absent::Required,
        doc: "The network, relative to the scenario's own file.",
    },
    Field {
        name: "access_rate",
        what: What::Rate,
        absent: Absent::Means("not allowed where hosts have no links of their own"),
        doc: "The rate of the links between hosts and switches.",
    },
    Field {
        name: "fabric_rate",
        what: What::Rate,
        absent: Absent::Means("leaf-spine: oversubscription is given; fat-tree and .topology files: the access rate"),
        doc: "The rate of the links between switches.",
    },
    Field {
        name: "oversubscription",
        what: What::Positive,
        absent: Absent::Means("fabric_rate is given"),
        doc: "For leaf-spine, instead of fabric_rate: what the hosts of a leaf can send, as a multiple of what the leaf's \
              links to the spines can carry; rounded to whole bits per second.",
    },
    Field {
        name: "bottleneck_rate",
        what: What::Rate,
        absent: Absent::Means("only a dumbbell has one"),
        doc: "The rate of the link between the switches of a dumbbell.",
    },
    Field {
        name: "rate",
        what: What::Rate,
        absent: Absent::Means("only two hosts and a single switch have one"),
        doc: "The rate of the link of two hosts, or of every link of a single switch.",
    },
    Field { name: "delay", what: What::Time, absent: Absent::Required, doc: "The propagation delay of every link." },
];

/// The keys of a network in a file.
pub(crate) const TOPOLOGY_FILE: &[Field] = &[
    Field { name: "title", what: What::Text, absent: Absent::Means("none"), doc: "What the network is." },
    Field {
        name: "hosts",
        what: What::Integer(1, 1 << 24),
        absent: Absent::Required,
        doc: "Hosts; they are the nodes from 0 up.",
    },
    Field {
        name: "switches",
        what: What::Integer(0, 1 << 24),
        absent: Absent::Required,
        doc: "Switches; they are the nodes behind the hosts.",
    },
    Field {
        name: "rate",
        what: What::Rate,
        absent: Absent::Means("each link has its own"),
        doc: "The rate of links without their own.",
    },
    Field {
        name: "delay",
        what: What::Time,
        absent: Absent::Means("each link has its own"),
        doc: "The propagation delay of links without their own.",
    },
    Field {
        name: "link",
        what: What::Tables(FILE_LINK),
        absent: Absent::Required,
        doc: "The links, each in both directions; their order is that of equal-cost next hops.",
    },
];

/// The keys of a link in a file.
pub(crate) const FILE_LINK: &[Field] = &[
    Field { name: "a", what: What::Integer(0, 1 << 25), absent: Absent::Required, doc: "One end." },
    Field { name: "b", what: What::Integer(0, 1 << 25), absent: Absent::Required, doc: "The other end." },
    Field {
        name: "rate",
        what: What::Rate,
        absent: Absent::Means("the rate at the top"),
        doc: "The rate of either direction.",
    },
    Field {
        name: "delay",
        what: What::Time,
        absent: Absent::Means("the delay at the top"),
        doc: "The propagation delay.",
    },
];

/// The keys of a `[[link_failure]]`.
pub(crate) const LINK_FAILURE: &[Field] = &[
    Field {
        name: "link",
        what: What::Text,
        absent: Absent::Required,
        doc: "The link, both directions of it: two nodes by name or number, leaf0-spine1 or 144-153.",
    },
    Field {
        name: "at",
        what: What::Time,
        absent: Absent::Required,
        doc: "When it fails: what waits for it and what is on its wires is lost, and routes are computed anew.",
    },
    Field { name: "repair", what: What::Time, absent: Absent::Means("never"), doc: "When it is repaired." },
];

/// The keys of `[switch_buffer]`.
pub(crate) const SWITCH_BUFFER: &[Field] = &[
    Field {
        name: "shared_bytes",
        what: What::Integer(1, 1 << 40),
        absent: Absent::Required,
        doc: "The memory that all ports of one switch share.",
    },
    Field {
        name: "alpha",
        what: What::Positive,
        absent: Absent::Required,
        doc: "A packet is refused where a port's queue has reached alpha times what is free of the memory (dynamic \
              thresholds, Choudhury and Hahne 1998); a number or a fraction such as \"1/2\".",
    },
];

/// The keys of `[record]`.
pub(crate) const RECORD: &[Field] = &[
    Field {
        name: "sample_interval",
        what: What::Time,
        absent: Absent::Means("queues are not sampled"),
        doc: "Occupancy and queue bounds are sampled at the first event of a port at or after each multiple of this time.",
    },
    Field {
        name: "sample_ports",
        what: What::Texts,
        absent: Absent::Means("[\"switches\"]"),
        doc: "The ports to sample: FROM->TO with names or numbers of nodes (leaf0->spine1), or all, switches, hosts.",
    },
    Field {
        name: "packet_log",
        what: What::Texts,
        absent: Absent::Means("packets are not logged"),
        doc: "The ports where every enqueue, dequeue, drop and eviction is logged, written as in sample_ports.",
    },
    Field {
        name: "arrival_order",
        what: What::Texts,
        absent: Absent::Means("not recorded"),
        doc: "The hosts where the data packets that arrive are logged in order.",
    },
    Field {
        name: "throughput_interval",
        what: What::Time,
        absent: Absent::Means("not recorded"),
        doc: "The payload that reaches its receiver for the first time is summed up by flow over intervals of this length.",
    },
    Field {
        name: "max_rows",
        what: What::Integer(1, 1 << 32),
        absent: Absent::Default("1000000"),
        doc: "No more rows than this are kept of each kind (of samples: of each port); the manifest says how many were \
              left out.",
    },
];
