//! What a tree consists of.

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

/// A tree of schedulers, which is a scheduler.
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
    /// Inner nodes, a parent before its children. The root is the first, or there is none and one leaf.
    pub(super) inner: Box<[Inner]>,
    /// The exact orders of all nodes with what disciplines know of the children, and in the same places the children.
    pub(super) orders: ExactOrders,
    pub(super) links: Box<[Link]>,
    /// Of a plain tree: the children, past those nodes that have one child only.
    pub(super) ways: Box<[Link]>,
    /// Where packets are looked for first.
    pub(super) root: Link,
    pub(super) leaves: Box<[LeafScheduler<T>]>,
    pub(super) spots: Box<[Spot]>,
    pub(super) labels: Labels,
    pub(super) classifier: Classifier,
    pub(super) charge: Charge,
    /// Whether a node has an index for each packet below it.
    pub(super) has_indices: bool,
    /// Of a tree that charges what leaves.
    pub(super) backlog: Backlog,
    pub(super) shapers: Shapers,
    /// The parent of each shaper's node, and the position of that node.
    pub(super) shaped: Box<[(u32, u32)]>,
    /// Leaves that are passed over, and until when; behind them inner nodes whose schedulers let nothing leave before some time; and
    /// behind those shapers whose buckets are in debt.
    pub(super) asleep: SlotHeap<(Time, u32)>,
    pub(super) sleepers: usize,
    /// How many of them are inner nodes.
    pub(super) held: usize,
    pub(super) packets: usize,
    pub(super) bytes: u64,
    /// Whether an inner node may refuse a packet.
    pub(super) asks: bool,
    /// Whether a scheduler orders the children of an inner node.
    pub(super) has_scheduled: bool,
    /// Why such a node could not say which child is next.
    pub(super) stopped: Option<Stopped>,
    /// References that schedulers have pushed out for the packet that arrives, with their nodes.
    pub(super) displaced: Vec<(u32, u32)>,
    /// Packets that have left their leaves, and of which the answer that was due could not tell, with their queues.
    pub(super) leaving: VecDeque<(T, u32)>,
    /// Whether none does, and a packet is sorted by its descriptor alone.
    pub(super) is_simple: bool,
    /// Whether moreover all leaves are first-in first-out, all orders exact, all disciplines the tree's own, and no node shaped:
    /// nothing is ever refused but by a leaf, held back, pushed out or passed over.
    pub(super) is_plain: bool,
    pub(super) wants: WantedFacts,
    pub(super) hinted: Option<(u64, Hints)>,
    /// Whether a leaf may mark packets, and whether one has just done so.
    pub(super) may_mark: bool,
    pub(super) mark: bool,
    pub(super) forecast: Forecast,
}

/// Where a node or a leaf is. In a [plain](Tree::is_plain) tree a node with one child is left out, since only that child can be
/// next.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The inner node above; [`NONE`] at the root.
    pub(super) parent: u32,
    /// Its position among the children of that node.
    pub(super) child: u32,
    /// The shaper before its parent; [`NONE`] if there is none.
    pub(super) shaper: u32,
}

pub(super) const NONE: u32 = u32::MAX;

/// One cache line: a packet touches that of every node on its path twice.
#[repr(align(64))]
pub(super) struct Inner {
    pub(super) place: Place,
    /// The child that is next in the exact order, among those that are awake.
    pub(super) next: Link,
    pub(super) order: ExactOrder,
    pub(super) rule: Rule,
    /// What stands in the place of the exact order.
    pub(super) other: Option<Box<OtherOrder>>,
    /// What is held below, if that has a bound.
    pub(super) buffer: Option<Box<Buffer>>,
}

const _: () = assert!(size_of::<Inner>() == 64);

/// An order of children other than an exact PIFO.
pub(super) enum OtherOrder {
    /// A decider and queues.
    Decided(ApproximateOrder),
    /// Any scheduler.
    Scheduled(ScheduledOrder),
}

/// Why a node cannot say which child is next.
pub(super) enum Stopped {
    /// Its scheduler has given up this reference.
    GivenUp(u32, DropReason),
    /// Its scheduler lets nothing leave before this time.
    NotBefore(Time),
}

/// A child, by its number among inner nodes or leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Link(u32);

impl Link {
    /// No child.
    pub(super) const NONE: Self = Self(NONE);
    /// Added to the number of a leaf.
    const LEAVES: u32 = 1 << 31;

    pub(super) const fn inner(node: usize) -> Self {
        Self(node as u32)
    }

    pub(super) const fn leaf(leaf: usize) -> Self {
        Self(leaf as u32 | Self::LEAVES)
    }

    /// The number of the leaf, or else of the inner node.
    #[inline(always)]
    pub(super) const fn get(self) -> Result<usize, usize> {
        if self.0 < Self::LEAVES { Err(self.0 as usize) } else { Ok((self.0 & !Self::LEAVES) as usize) }
    }
}

/// What a leaf is to the tree.
#[derive(Clone, Copy)]
pub(super) struct Spot {
    pub(super) place: Place,
    /// The number of its first queue among those of all leaves.
    pub(super) first_queue: u32,
    pub(super) asleep: bool,
}

/// What nodes are called, and where they are.
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
