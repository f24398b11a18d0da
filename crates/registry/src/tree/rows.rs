//! The keys of trees, and of the children in them.

use crate::entry::{BY_RANK, Look, Traits};
use pifolab_params::{Kind, Role};
use pifolab_sched::params::{self, Info, Literal, Param};
use pifolab_tree::{Charge, DisciplineKind, Field};

pub(super) const POLICY: Param = Param::new("policy", Kind::Text).means("the tree is what child says").doc(
    "The whole tree as a text: strict[(fifo[0], 1), (rr[fifo[1], fifo[2-9]], 2)]. A leaf fifo[X] without bound takes the \
     packets X: a value of the field that classify selects, a range of values, or one of the classes. wfq needs rate_gbps.",
);
/// The key of a text form that trees had.
pub(super) const HIERARCHY: Param = Param::new("hierarchy", Kind::Text);
pub(super) const CLASSIFY: Param = Param::choice::<Field>("classify")
    .or_word(Field::Flow.word())
    .doc("The field that selects the leaf of a packet. A packet that no leaf takes is dropped (admission).");
pub(super) const CLASSES: Param = Param::new("classes", Kind::Texts).means("values have no names").doc(
    "Names for values of the field that classify selects, for leaves to take: [\"voice = 46\", \"web = 10-19\"]. Each must be taken by \
     a leaf.",
);
pub(super) const CHARGE: Param = Param::choice::<Charge>("charge").or_word(Charge::Departure.word()).doc(
    "With which packet token buckets, virtual times and deficits are charged: departure, with the packet that leaves, so that limits and \
     shares are those of what is sent; arrival, with the packet that arrives, as in the PIFO trees of the papers. Nodes with an order, \
     and those of discipline rank, rank each packet as it arrives, in both.",
);
pub(super) const DISCIPLINE: Param = Param::one_of::<DisciplineKind>(
    "discipline",
    &[
        (DisciplineKind::Drr.word(), &[QUANTUM]),
        (DisciplineKind::WallClock.word(), &[RATE]),
        (DisciplineKind::Ranked.word(), &[RANK]),
    ],
)
.usually(Literal::Word(DisciplineKind::Strict.word()), "")
.doc("How a node orders its children.");
pub(super) const ORDER: Param = Param::new("order", Kind::Component(Role::Scheduler)).means("an exact PIFO").doc(
    "What keeps the indices of the children in order in the place of a PIFO: any scheduler that needs to know nothing of packets but \
     their size (sp-pifo, pieo, scrr, fq-codel, managed, another tree). To it each index is a packet whose flow is the position of the \
     child and whose rank is that of the discipline. Its capacities count packets below the node.",
);
pub(super) const QUANTUM: Param = Param::integer("quantum_bytes", 1, 1 << 30).unit("bytes").or_integer(1_514).doc(
    "With drr: the bytes that a child of weight 1 may send in a round. The default is that of Linux, a full Ethernet frame.",
);
pub(super) const RATE: Param = Param::new("rate_gbps", Kind::Positive)
    .unit("Gb/s")
    .means("an error where the discipline or the policy says wfq")
    .doc("With wfq: the rate at which a byte of a child of weight 1 advances its finish time.");
pub(super) const RANK: Param = Param::new("rank", Kind::Component(Role::RankFunction))
    .means("an error where the discipline is rank")
    .doc("With rank: the rank function.");
pub(super) const CAPACITY_PACKETS: Param = Param::integer("capacity_packets", 1, params::MAX_PACKETS)
    .unit("packets")
    .means("only the leaves are bounded")
    .doc("The most packets held below the node; a packet that does not fit is dropped.");
pub(super) const CAPACITY_BYTES: Param = Param::integer("capacity_bytes", 1, params::MAX_BYTES)
    .unit("bytes")
    .means("only the leaves are bounded")
    .doc("The most bytes held below the node. Instead of capacity_packets.");
pub(super) const ALPHA: Param = Param::new("alpha", Kind::Positive).means("a child may hold all of the capacity").doc(
    "With a capacity: each child may hold alpha x (capacity - what is held below the node) at most, the dynamic threshold of \
     shared buffers.",
);
pub(super) const CHILD: Param = Param::new("child", Kind::Components(Role::Scheduler))
    .means("the tree is what policy says")
    .doc(
        "The children of the node, each a scheduler by name with its parameters, or a tree. A child may also have label, \
         weight, priority, shape_gbps and shape_burst_bytes; a leaf takes (values or classes) and rank (a rank function of \
         its own).",
    );

pub(super) const LABEL: Param = Param::new("label", Kind::Text)
    .means("its position among its siblings")
    .doc("The name of the child in paths; siblings have different labels.");
pub(super) const WEIGHT: Param =
    Param::new("weight", Kind::Positive).or_integer(1).doc("The weight of the child, if its parent is fair.");
pub(super) const PRIORITY: Param = Param::integer("priority", i64::MIN, params::MAX_RANK)
    .or_integer(0)
    .doc("The lowest is served first, if the parent is strict.");
pub(super) const TAKES: Param = Param::new("takes", Kind::Values).means("an error, unless it is the only leaf").doc(
    "The packets that a leaf takes: a value of the field that classify selects, a range such as \"10-19\", a class, a list of them, or \
     \"rest\" for all that no other leaf takes.",
);
pub(super) const SHAPE: Param = Param::new("shape_gbps", Kind::Positive)
    .unit("Gb/s")
    .means("the child is not shaped")
    .doc("The rate of a token bucket that limits the child: in any interval to rate x time + burst + one packet.");
pub(super) const SHAPE_BURST: Param = Param::integer("shape_burst_bytes", 1, params::MAX_BYTES)
    .or_integer(1_514)
    .unit("bytes")
    .doc("The most tokens in the bucket.");
pub(super) const LEAF_RANK: Param = Param::new("rank", Kind::Component(Role::RankFunction))
    .means("packets keep the rank that they carry")
    .doc("For a leaf: a rank function that ranks its packets.");

/// The keys of a child beside the parameters of its scheduler.
pub const CHILD_KEYS: &[Param] = &[LABEL, WEIGHT, PRIORITY, TAKES, SHAPE, SHAPE_BURST, LEAF_RANK];

/// The keys of an inner node that is a child.
pub(super) const INNER: &[Param] = &[
    DISCIPLINE,
    CHILD,
    CAPACITY_PACKETS,
    CAPACITY_BYTES,
    ALPHA,
    QUANTUM,
    RATE,
    RANK,
    ORDER,
    LABEL,
    WEIGHT,
    PRIORITY,
    SHAPE,
    SHAPE_BURST,
];

/// The traits of all its possible parts.
pub(crate) const TRAITS: Traits = Traits { reads_flows: true, reads_time: true, conserves_work: false, ..BY_RANK };

pub(crate) const LOOK: Look = Look { label: "Tree", colour: "#4477aa", dash: &[6, 2], marker: "+" };

pub(crate) const INFO: Info = Info {
    name: "tree",
    summary: "A tree of schedulers: inner nodes order their children, leaves are any scheduler.",
    paper: "Programmable Packet Scheduling at Line Rate, SIGCOMM 2016, section 2; Formal Abstractions for Packet \
            Scheduling, OOPSLA 2023",
    effect: "Expresses hierarchies, which no single PIFO can; each inner node is a PIFO of its children.",
    state: "A PIFO for each inner node, and the state of the leaves' schedulers.",
    cost: "O(log children) for each inner node on a path, and the cost of the leaf.",
    params: &[
        POLICY,
        CLASSIFY,
        CLASSES,
        CHARGE,
        DISCIPLINE,
        CHILD,
        CAPACITY_PACKETS,
        CAPACITY_BYTES,
        ALPHA,
        QUANTUM,
        RATE,
        RANK,
        ORDER,
    ],
};
