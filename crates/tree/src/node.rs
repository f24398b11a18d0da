//! The nodes from which a tree is built.

use super::classifier::Takes;
use super::discipline::{Charge, Discipline};
use super::policy::Policy;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use pifolab_sched::schedulers::{Fifo, FifoParams, Pifo};
use pifolab_sched::{Capacity, Decider, Item, Packet, Scheduler, TokenBucket};
use pifolab_units::Ratio;

/// A node of a tree before it is built: a leaf that stores packets, or an inner node that orders its children.
///
/// ```
/// use pifolab_tree::{Discipline, Node};
/// use pifolab_sched::schedulers::{Pifo, PifoParams};
///
/// let tenant = |flow| Node::leaf(<Pifo>::new(PifoParams::packets(100)).unwrap()).takes([flow..=flow]);
/// let tenants = Node::inner(Discipline::Stfq).child(tenant(1).weight(5)).child(tenant(2).weight(3));
/// let port = Node::inner(Discipline::Strict).child(tenant(0)).child(tenants.priority(1));
/// let tree = port.build().unwrap();
/// # let _ = tree;
/// ```
pub struct Node<T: Item = Packet> {
    pub(super) label: Option<String>,
    pub(super) weight: Ratio,
    pub(super) priority: i64,
    pub(super) shaper: Option<TokenBucket>,
    pub(super) capacity: Capacity,
    pub(super) alpha: Option<Ratio>,
    pub(super) takes: Takes,
    pub(super) charge: Option<Charge>,
    pub(super) kind: Kind<T>,
    /// Whether `child` was called on a leaf.
    pub(super) refuses_child: bool,
}

pub(super) enum Kind<T: Item> {
    Leaf(LeafScheduler<T>),
    Inner { discipline: Discipline, order: Ordering, children: Children<T> },
}

/// The children of a node. Their drop is not recursive, because a tree may be as deep as it has nodes.
pub(super) struct Children<T: Item>(Vec<Node<T>>);

impl<T: Item> Children<T> {
    pub(super) fn take(&mut self) -> Vec<Node<T>> {
        core::mem::take(&mut self.0)
    }
}

impl<T: Item> Drop for Children<T> {
    fn drop(&mut self) {
        let mut open = self.take();
        while let Some(mut node) = open.pop() {
            if let Kind::Inner { children, .. } = &mut node.kind {
                open.append(&mut children.0);
            }
        }
    }
}

/// The order in which an inner node keeps the indices of its children.
pub(super) enum Ordering {
    /// An exact PIFO.
    Exact,
    /// A decider with queues of these capacities.
    Approximate(Box<dyn Decider + Send>, Vec<Capacity>),
    /// Another scheduler.
    Scheduled(Box<dyn Scheduler + Send>),
}

/// The scheduler of a leaf. Common schedulers are called without indirection.
pub enum LeafScheduler<T: Item = Packet> {
    /// First in, first out.
    Fifo(Fifo<T>),
    /// PIFO.
    Pifo(Box<Pifo<T>>),
    /// Another scheduler.
    Other(Box<dyn Scheduler<T> + Send>),
}

impl<T: Item> From<Fifo<T>> for LeafScheduler<T> {
    fn from(fifo: Fifo<T>) -> Self {
        Self::Fifo(fifo)
    }
}

impl<T: Item> From<Pifo<T>> for LeafScheduler<T> {
    fn from(pifo: Pifo<T>) -> Self {
        Self::Pifo(Box::new(pifo))
    }
}

impl<T: Item> From<Box<dyn Scheduler<T> + Send>> for LeafScheduler<T> {
    fn from(scheduler: Box<dyn Scheduler<T> + Send>) -> Self {
        Self::Other(scheduler)
    }
}

impl<T: Item> Node<T> {
    fn new(kind: Kind<T>) -> Self {
        Self {
            label: None,
            weight: Ratio::ONE,
            priority: 0,
            shaper: None,
            capacity: Capacity::Unlimited,
            alpha: None,
            takes: Takes::Values(Vec::new()),
            charge: None,
            kind,
            refuses_child: false,
        }
    }

    /// Creates a leaf that stores packets in this scheduler.
    pub fn leaf(scheduler: impl Into<LeafScheduler<T>>) -> Self {
        Self::new(Kind::Leaf(scheduler.into()))
    }

    /// Creates an unbounded first-in first-out leaf.
    ///
    /// # Panics
    /// Never, because the parameters are valid.
    pub fn fifo() -> Self {
        let fifo: Fifo<T> = Fifo::new(FifoParams { capacity: Capacity::Unlimited }).expect("a queue without bound");
        Self::leaf(fifo)
    }

    /// Creates an inner node without children, which keeps their indices in an exact PIFO.
    pub fn inner(discipline: Discipline) -> Self {
        Self::new(Kind::Inner { discipline, order: Ordering::Exact, children: Children(Vec::new()) })
    }

    /// Adds a child. A leaf with a child is an error when the tree is built.
    #[must_use]
    pub fn child(mut self, child: Self) -> Self {
        match &mut self.kind {
            Kind::Inner { children, .. } => children.0.push(child),
            Kind::Leaf(_) => self.refuses_child = true,
        }
        self
    }

    /// Keeps the indices of the children in first-in first-out queues of these capacities, chosen by `decider`
    /// (SP-PIFO, PACKS and others) instead of a PIFO. Capacities count child indices.
    ///
    /// # Panics
    /// If the node is a leaf.
    #[must_use]
    pub fn ordered_by(mut self, decider: Box<dyn Decider + Send>, capacities: Vec<Capacity>) -> Self {
        match &mut self.kind {
            Kind::Inner { order, .. } => *order = Ordering::Approximate(decider, capacities),
            Kind::Leaf(_) => panic!("a leaf has no children to order"),
        }
        self
    }

    /// Keeps the indices of the children in this empty scheduler: PIEO, SCRR, FQ-CoDel, a managed scheduler, another
    /// tree. The scheduler receives each index as a packet, a *reference*. The reference's flow is the child's position
    /// among its siblings, and its rank that of the discipline. Its size and eligible time are those of the packet that
    /// created it.
    ///
    /// - A packet whose reference the scheduler refuses is refused by the tree; nothing else changes.
    /// - For a reference that the scheduler pushes out or drops, the child's next packet leaves: pushed out, or dropped
    ///   for the scheduler's reason. If the child holds its packets back, the reference is kept until the child can
    ///   send.
    /// - A reference whose packet no longer exists (refused, pushed out or dropped by its leaf) is skipped when the
    ///   scheduler returns it. Until then it uses space in the scheduler. Once a child has more of them than a 64th of
    ///   the scheduler's capacity in packets (at most 1,024), the child's next packet reuses one, with its rank. A
    ///   packet that is pushed out or dropped gives up its child's reference with the largest rank, of equal ranks the
    ///   latest.
    /// - While the scheduler lets nothing leave, the node is skipped like a leaf that holds packets back.
    ///
    /// Building the tree fails if the scheduler needs further facts about packets, such as labels or ECN capability. It
    /// also fails above a shaped node. For deciders, [`ordered_by`](Self::ordered_by) is faster and leaves no unused
    /// references.
    ///
    /// ```
    /// use pifolab_sched::schedulers::{Scrr, ScrrParams};
    /// use pifolab_tree::{Discipline, Node};
    /// use pifolab_sched::{Capacity, Dequeued, Packet, Scheduler};
    /// use pifolab_units::{Rank, Time};
    ///
    /// let params = ScrrParams { capacity: Capacity::Unlimited, flow_packets: 100, buckets: 2 };
    /// let mut tree = Node::inner(Discipline::Strict)
    ///     .child(Node::fifo().takes([0..=0]))
    ///     .child(Node::fifo().takes([1..=1]))
    ///     .ordered_by_scheduler(Box::new(<Scrr>::new(params).unwrap()))
    ///     .build()
    ///     .unwrap();
    /// for (id, flow) in [(0, 0), (1, 0), (2, 0), (3, 1), (4, 1)] {
    ///     let packet = Packet { id, flow, size: 1500, rank: Rank::ZERO, arrival: Time::ZERO };
    ///     assert!(tree.enqueue(packet, Time::ZERO).is_admitted());
    /// }
    /// // SCRR lets the children take turns, whatever their priorities.
    /// let sent = core::iter::from_fn(|| match tree.dequeue(Time::ZERO) {
    ///     Dequeued::Packet { packet, .. } => Some(packet.id),
    ///     _ => None,
    /// });
    /// assert_eq!(sent.collect::<Vec<_>>(), [0, 3, 1, 4, 2]);
    /// ```
    ///
    /// # Panics
    /// If the node is a leaf.
    #[must_use]
    pub fn ordered_by_scheduler(mut self, scheduler: Box<dyn Scheduler + Send>) -> Self {
        match &mut self.kind {
            Kind::Inner { order, .. } => *order = Ordering::Scheduled(scheduler),
            Kind::Leaf(_) => panic!("a leaf has no children to order"),
        }
        self
    }

    /// Sets the name in paths and messages. The default is the position among the siblings.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// Sets the weight for a fair parent. The default is 1.
    #[must_use]
    pub fn weight(self, weight: u32) -> Self {
        self.weight_of(Ratio::new(weight.into(), 1).expect("the denominator is 1"))
    }

    /// Sets the weight to a fraction.
    #[must_use]
    pub fn weight_of(self, weight: Ratio) -> Self {
        Self { weight, ..self }
    }

    /// Sets the priority for a strict parent, which serves the lowest first. The default is 0.
    #[must_use]
    pub fn priority(self, priority: i64) -> Self {
        Self { priority, ..self }
    }

    /// Limits the packets held below the node; an arriving packet that does not fit is refused. By default only leaves
    /// are bounded.
    #[must_use]
    pub fn capacity(self, capacity: Capacity) -> Self {
        Self { capacity, ..self }
    }

    /// Shares the capacity among the children by dynamic thresholds. Each child may use `alpha` times the free space;
    /// an arriving packet above that is refused. No child takes the whole buffer, and the reserve for others grows with
    /// the number of active children.
    #[must_use]
    pub fn alpha(self, alpha: Ratio) -> Self {
        Self { alpha: Some(alpha), ..self }
    }

    /// Shapes the node's packets to the rate of a token bucket before its parent.
    #[must_use]
    pub fn shaped(self, bucket: TokenBucket) -> Self {
        Self { shaper: Some(bucket), ..self }
    }

    /// Sets the charge of the whole tree, whose root this node must be. The default is [`Charge::Departure`].
    #[must_use]
    pub fn charge(self, charge: Charge) -> Self {
        Self { charge: Some(charge), ..self }
    }

    /// Sets the values of the classifier's field whose packets belong to this leaf.
    #[must_use]
    pub fn takes(self, values: impl IntoIterator<Item = RangeInclusive<u64>>) -> Self {
        Self { takes: Takes::Values(values.into_iter().collect()), ..self }
    }

    /// Makes this leaf receive all packets that belong to no other leaf.
    #[must_use]
    pub fn takes_the_rest(self) -> Self {
        Self { takes: Takes::Rest, ..self }
    }

    /// Replaces every leaf by `change(leaf)`, from left to right.
    #[must_use]
    pub fn each_leaf(mut self, change: &mut dyn FnMut(Self) -> Self) -> Self {
        match &mut self.kind {
            Kind::Leaf(_) => return change(self),
            Kind::Inner { children, .. } => {
                children.0 = children.take().into_iter().map(|child| child.each_leaf(change)).collect();
            }
        }
        self
    }

    /// Creates the nodes of a policy, with unbounded first-in first-out leaves labelled with their classes. Leaf i
    /// receives the value i. For `ps_per_byte` and `ticks_per_ps` see [`Discipline::WallClock`].
    ///
    /// # Panics
    /// Never, because the weights of a parsed policy are above 0.
    pub fn of_policy(policy: &Policy, ps_per_byte: Ratio, ticks_per_ps: u32) -> Self {
        let mut leaves = 0;
        Self::of(policy, &mut leaves, &|| Discipline::WallClock { ps_per_byte, ticks_per_ps })
    }

    fn of(policy: &Policy, leaves: &mut u64, wall_clock: &dyn Fn() -> Discipline) -> Self {
        let weights = match policy {
            Policy::WeightedFair(children) => children.iter().map(|(_, weight)| weight.ratio()).collect(),
            _ => Vec::new(),
        };
        let mut node = match policy {
            Policy::Fifo(class) => {
                let leaf = *leaves;
                *leaves += 1;
                Self::fifo().label(class.clone()).takes([leaf..=leaf])
            }
            Policy::RoundRobin(_) => Self::inner(Discipline::RoundRobin),
            // Policies are in normal order, so positions are priorities.
            Policy::Strict(_) => Self::inner(Discipline::Strict),
            Policy::WeightedFair(_) => Self::inner(wall_clock()),
        };
        let children = policy.children();
        for (position, below) in children.iter().enumerate() {
            let mut child = Self::of(below, leaves, wall_clock);
            // A node's default name is its position. If a sibling class has the same name, the node gets a name that no
            // class has.
            let position_is_taken =
                |sibling: &&Policy| matches!(sibling, Policy::Fifo(class) if *class == position.to_string());
            if !matches!(below, Policy::Fifo(_)) && children.iter().any(position_is_taken) {
                child = child.label(format!("({position})"));
            }
            if let Some(weight) = weights.get(position) {
                child = child.weight_of(weight.expect("the parser checks weights"));
            }
            node = node.child(child);
        }
        node
    }
}
