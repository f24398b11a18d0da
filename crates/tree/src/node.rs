//! What a tree is built from.

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
    /// Whether a child was added to it though it is a leaf.
    pub(super) refuses_child: bool,
}

pub(super) enum Kind<T: Item> {
    Leaf(LeafScheduler<T>),
    Inner { discipline: Discipline, order: Ordering, children: Children<T> },
}

/// The children of a node, which are not dropped by recursion: nodes may be as deep as there are many.
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

/// How an inner node keeps the indices of its children in order.
pub(super) enum Ordering {
    /// An exact PIFO.
    Exact,
    /// A decider joined to queues of these capacities.
    Approximate(Box<dyn Decider + Send>, Vec<Capacity>),
    /// Any scheduler.
    Scheduled(Box<dyn Scheduler + Send>),
}

/// The scheduler of a leaf. The common ones are called without indirection.
pub enum LeafScheduler<T: Item = Packet> {
    /// First in, first out.
    Fifo(Fifo<T>),
    /// PIFO.
    Pifo(Box<Pifo<T>>),
    /// Any other.
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

    /// A leaf that stores packets in this scheduler.
    pub fn leaf(scheduler: impl Into<LeafScheduler<T>>) -> Self {
        Self::new(Kind::Leaf(scheduler.into()))
    }

    /// A first-in first-out leaf without bound.
    ///
    /// # Panics
    /// Never: such a queue can be built.
    pub fn fifo() -> Self {
        let fifo: Fifo<T> = Fifo::new(FifoParams { capacity: Capacity::Unlimited }).expect("a queue without bound");
        Self::leaf(fifo)
    }

    /// An inner node without children yet, which keeps their indices in an exact PIFO.
    pub fn inner(discipline: Discipline) -> Self {
        Self::new(Kind::Inner { discipline, order: Ordering::Exact, children: Children(Vec::new()) })
    }

    /// Adds a child. If this is a leaf, the tree cannot be built.
    #[must_use]
    pub fn child(mut self, child: Self) -> Self {
        match &mut self.kind {
            Kind::Inner { children, .. } => children.0.push(child),
            Kind::Leaf(_) => self.refuses_child = true,
        }
        self
    }

    /// Keeps the indices of the children in first-in first-out queues of these capacities, for which `decider` decides:
    /// SP-PIFO, PACKS and the like in the place of a PIFO. Capacities count child indices.
    ///
    /// # Panics
    /// If this is a leaf.
    #[must_use]
    pub fn ordered_by(mut self, decider: Box<dyn Decider + Send>, capacities: Vec<Capacity>) -> Self {
        match &mut self.kind {
            Kind::Inner { order, .. } => *order = Ordering::Approximate(decider, capacities),
            Kind::Leaf(_) => panic!("a leaf has no children to order"),
        }
        self
    }

    /// Keeps the indices of the children in this scheduler, which holds nothing yet: PIEO, SCRR, FQ-CoDel, a managed scheduler,
    /// another tree. Each index is a packet to it, a reference: its flow is the child's position among its siblings, its rank that of
    /// the discipline, and its size, and the time from which on it may leave, are those of the packet that brought it.
    ///
    /// - What the scheduler refuses the tree refuses; nothing else changes.
    /// - For a reference that it pushes out or gives up, the packet leaves that the child would hand out next: pushed out, or dropped
    ///   for the scheduler's reason. If the child holds its packets back, the reference is kept until it no longer does.
    /// - A reference whose packet is gone (refused or pushed out by its leaf, or given up) is passed over when it comes up. Until then
    ///   it takes room in the scheduler: once those of a child are more than a 64th of its capacity in packets (or 1,024), the next packet
    ///   of that child takes one over, with its rank. Of a packet that is pushed out or given up it is the reference of its child with
    ///   the largest rank, of equal ones the latest.
    /// - While the scheduler lets nothing leave the node is passed over, as a leaf is that holds packets back.
    ///
    /// The tree cannot be built if the scheduler needs to know more of packets than this, such as a label or whether they can
    /// carry a mark, or above a shaped node. For deciders [`ordered_by`](Self::ordered_by) is faster and leaves nothing behind.
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
    /// If this is a leaf.
    #[must_use]
    pub fn ordered_by_scheduler(mut self, scheduler: Box<dyn Scheduler + Send>) -> Self {
        match &mut self.kind {
            Kind::Inner { order, .. } => *order = Ordering::Scheduled(scheduler),
            Kind::Leaf(_) => panic!("a leaf has no children to order"),
        }
        self
    }

    /// What it is called in paths and messages; without this, its position among its siblings.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// Its weight, where its parent is fair; 1 without this.
    #[must_use]
    pub fn weight(self, weight: u32) -> Self {
        self.weight_of(Ratio::new(weight.into(), 1).expect("the denominator is 1"))
    }

    /// Its weight as a fraction.
    #[must_use]
    pub fn weight_of(self, weight: Ratio) -> Self {
        Self { weight, ..self }
    }

    /// Its priority, where its parent is strict: the lowest is served first; 0 without this.
    #[must_use]
    pub fn priority(self, priority: i64) -> Self {
        Self { priority, ..self }
    }

    /// The most that is held below it; an arriving packet that does not fit is refused. By default only the
    /// leaves are bounded.
    #[must_use]
    pub fn capacity(self, capacity: Capacity) -> Self {
        Self { capacity, ..self }
    }

    /// Shares its capacity among its children by dynamic thresholds: each may hold `alpha` x what is free, so that no child takes all and
    /// what is left for others grows with their number. An arriving packet beyond that is refused.
    #[must_use]
    pub fn alpha(self, alpha: Ratio) -> Self {
        Self { alpha: Some(alpha), ..self }
    }

    /// Holds its packets back from its parent to the rate of a token bucket.
    #[must_use]
    pub fn shaped(self, bucket: TokenBucket) -> Self {
        Self { shaper: Some(bucket), ..self }
    }

    /// What the whole tree charges, of which this is the root; [`Charge::Departure`] without this.
    #[must_use]
    pub fn charge(self, charge: Charge) -> Self {
        Self { charge: Some(charge), ..self }
    }

    /// The values of the classifier's field for which this leaf takes packets.
    #[must_use]
    pub fn takes(self, values: impl IntoIterator<Item = RangeInclusive<u64>>) -> Self {
        Self { takes: Takes::Values(values.into_iter().collect()), ..self }
    }

    /// This leaf takes every packet that no other leaf takes.
    #[must_use]
    pub fn takes_the_rest(self) -> Self {
        Self { takes: Takes::Rest, ..self }
    }

    /// With every leaf changed by `change`, from left to right.
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

    /// The nodes of a policy, with first-in first-out leaves without bound that are labelled with their classes. Leaf i takes
    /// the value i. `ps_per_byte` and `ticks_per_ps` are what [`Discipline::WallClock`] needs to know.
    ///
    /// # Panics
    /// Never: a policy that was parsed has weights above 0.
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
            // Their order is normal: positions are priorities.
            Policy::Strict(_) => Self::inner(Discipline::Strict),
            Policy::WeightedFair(_) => Self::inner(wall_clock()),
        };
        let children = policy.children();
        for (position, below) in children.iter().enumerate() {
            let mut child = Self::of(below, leaves, wall_clock);
            // A node is called by its position. Where a class beside it is called so, too, it gets a name that no class has.
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
