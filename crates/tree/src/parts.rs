//! The parts of a tree.

use super::approximate::ApproximateOrder;
use super::backlog::Backlog;
use super::buffer::Buffer;
use super::classifier::Classifier;
use super::discipline::Charge;
use super::node::LeafScheduler;
use super::order::{ExactOrder, ExactOrders};
use super::releases::Forecast;
use super::rule::Rule;
use super::scheduled::ScheduledOrder;
use super::shaper::Shapers;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;
use pifolab_sched::store::SlotHeap;
use pifolab_sched::{DropReason, Hints, Item, Packet, WantedFacts};
use pifolab_units::Time;

/// A tree of schedulers, itself a scheduler.
///
/// ```
/// use pifolab_tree::{Discipline, Node};
/// use pifolab_sched::{Dequeued, Packet, Scheduler};
/// use pifolab_units::{Rank, Time};
///
/// let leaf = |flow: u64| Node::fifo().takes([flow..=flow]);
/// let mut tree = Node::inner(Discipline::RoundRobin).child(leaf(0)).child(leaf(1)).build().unwrap();
/// for (id, flow) in [(0, 0), (1, 0), (2, 1)] {
///     let packet = Packet { id, flow, size: 1500, rank: Rank::ZERO, arrival: Time::ZERO };
///     assert!(tree.enqueue(packet, Time::ZERO).is_admitted());
/// }
/// let sent = core::iter::from_fn(|| match tree.dequeue(Time::ZERO) {
///     Dequeued::Packet { packet, .. } => Some(packet.id),
///     _ => None,
/// });
/// assert_eq!(sent.collect::<Vec<_>>(), [0, 2, 1]);
/// ```
pub struct Tree<T: Item = Packet> {
    /// Inner nodes, parents before children. The root is the first; a tree of a single leaf has none.
    pub(super) inner: Box<[Inner]>,
    /// The exact orders of all nodes with the shares of the children; `links` holds the children at the same places.
    pub(super) orders: ExactOrders,
    pub(super) links: Box<[Link]>,
    /// In a plain tree, the children without the nodes that have only one child.
    pub(super) ways: Box<[Link]>,
    /// The first node or leaf of each search for a packet.
    pub(super) root: Link,
    pub(super) leaves: Box<[LeafScheduler<T>]>,
    pub(super) spots: Box<[Spot]>,
    pub(super) labels: Labels,
    pub(super) classifier: Classifier,
    pub(super) charge: Charge,
    /// Whether some node has one index per packet below it.
    pub(super) has_indices: bool,
    /// The children with packets, in a tree that charges departures.
    pub(super) backlog: Backlog,
    pub(super) shapers: Shapers,
    /// The parent of each shaper's node, and the position of the node.
    pub(super) shaped: Box<[(u32, u32)]>,
    /// The sleepers and their wake times. Leaves come first, then inner nodes whose schedulers hold packets back, then
    /// shapers whose buckets are in debt.
    pub(super) asleep: SlotHeap<(Time, u32)>,
    pub(super) sleepers: usize,
    /// The number of inner nodes among the sleepers.
    pub(super) held: usize,
    pub(super) packets: usize,
    pub(super) bytes: u64,
    /// Whether an inner node may refuse a packet.
    pub(super) asks: bool,
    /// Whether a scheduler orders the children of some inner node.
    pub(super) has_scheduled: bool,
    /// The reason why such a node has no next child.
    pub(super) stopped: Option<Stopped>,
    /// References that schedulers have pushed out for the arriving packet, with their nodes.
    pub(super) displaced: Vec<(u32, u32)>,
    /// Packets that have left their leaves but are not yet reported, with their queues.
    pub(super) leaving: VecDeque<(T, u32)>,
    /// Whether no inner node may refuse a packet, and packets are sorted by their descriptors only.
    pub(super) is_simple: bool,
    /// Whether the tree is simple, and all leaves are first-in first-out, all orders exact, all disciplines the tree's
    /// own, and no node shaped. Only leaves then refuse packets; nothing is held back, pushed out or skipped.
    pub(super) is_plain: bool,
    pub(super) wants: WantedFacts,
    pub(super) hinted: Option<(u64, Hints)>,
    /// Whether a leaf may mark packets, and whether the last packet is marked.
    pub(super) may_mark: bool,
    pub(super) mark: bool,
    pub(super) forecast: Forecast,
}

/// The position of a node or a leaf. In a [plain](Tree::is_plain) tree, nodes with one child are omitted, because only
/// that child can be next.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The inner node above; [`NONE`] at the root.
    pub(super) parent: u32,
    /// The position among the children of that node.
    pub(super) child: u32,
    /// The shaper below the parent; [`NONE`] without one.
    pub(super) shaper: u32,
}

pub(super) const NONE: u32 = u32::MAX;

/// One cache line. A packet accesses the line of every node on its path twice.
#[repr(align(64))]
pub(super) struct Inner {
    pub(super) place: Place,
    /// The next child in the exact order, among the awake ones.
    pub(super) next: Link,
    pub(super) order: ExactOrder,
    pub(super) rule: Rule,
    /// The order that replaces the exact one.
    pub(super) other: Option<Box<OtherOrder>>,
    /// The buffer, if the node has a capacity.
    pub(super) buffer: Option<Box<Buffer>>,
}

const _: () = assert!(size_of::<Inner>() == 64);

/// An order of children other than an exact PIFO.
pub(super) enum OtherOrder {
    /// A decider and queues.
    Decided(ApproximateOrder),
    /// A scheduler.
    Scheduled(ScheduledOrder),
}

/// The reason why a node has no next child.
pub(super) enum Stopped {
    /// Its scheduler has dropped this reference.
    GivenUp(u32, DropReason),
    /// Its scheduler lets nothing leave before this time.
    NotBefore(Time),
}

/// A child, by its number among the inner nodes or the leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Link(u32);

impl Link {
    /// No child.
    pub(super) const NONE: Self = Self(NONE);
    /// The offset of leaf numbers.
    const LEAVES: u32 = 1 << 31;

    pub(super) const fn inner(node: usize) -> Self {
        Self(node as u32)
    }

    pub(super) const fn leaf(leaf: usize) -> Self {
        Self(leaf as u32 | Self::LEAVES)
    }

    /// The number of the leaf (`Ok`) or of the inner node (`Err`).
    #[inline(always)]
    pub(super) const fn get(self) -> Result<usize, usize> {
        if self.0 < Self::LEAVES { Err(self.0 as usize) } else { Ok((self.0 & !Self::LEAVES) as usize) }
    }
}

/// A leaf's position and state in the tree.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    pub(super) place: Place,
    /// The number of its first queue among the queues of all leaves.
    pub(super) first_queue: u32,
    pub(super) asleep: bool,
}

/// The labels and positions of all nodes.
#[derive(Default)]
pub(super) struct Labels {
    pub(super) inner: Vec<Label>,
    pub(super) leaves: Vec<Label>,
}

pub(super) struct Label {
    pub(super) text: Option<String>,
    /// The inner node above; [`NONE`] at the root.
    pub(super) parent: u32,
    pub(super) child: u32,
}
