//! Builds a tree from nodes, or returns the first fault with the path to it.

use super::approximate::ApproximateOrder;
use super::backlog::Backlog;
use super::buffer::Buffer;
use super::classifier::{Classifier, Classify, Field, Overlap, Takes};
use super::discipline::{Charge, Discipline};
use super::node::{Kind, LeafScheduler, Node, Ordering};
use super::order::ExactOrders;
use super::parts::{Inner, Label, Labels, Link, NONE, OtherOrder, Place, Spot, Tree};
use super::releases::Forecast;
use super::rule::Rule;
use super::scheduled::ScheduledOrder;
use super::shaper::Shapers;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use pifolab_sched::params::ParamError;
use pifolab_sched::store::SlotHeap;
use pifolab_sched::{Capacity, Fact, Facts, Inspect, InspectExt, Item, Scheduler, WantedFacts};
use pifolab_units::{Rank, Ratio};

impl<T: Item> Node<T> {
    /// Builds a tree that sorts packets into leaves by their flows.
    ///
    /// # Errors
    /// As [`build_by`](Self::build_by).
    pub fn build(self) -> Result<Tree<T>, ParamError> {
        self.build_by(Field::Flow)
    }

    /// Builds a tree that sorts packets into leaves by `field`. A packet without a leaf is dropped ("admission"). A
    /// single leaf receives all packets.
    ///
    /// # Errors
    /// A node without children; a weight of 0; a label of two siblings; a value of two leaves; a leaf without values;
    /// an order that is not exact above a shaped node (if arrivals are charged); a charge on a child; a scheduler as
    /// order that holds packets or needs facts other than child, rank and size.
    pub fn build_by(self, field: Field) -> Result<Tree<T>, ParamError> {
        let plan = Plan::new(self)?;
        if plan.leaves.len() == 1 && plan.takes[0] == Takes::Values(Vec::new()) {
            return Ok(plan.finish(Classifier::Only));
        }
        for (leaf, takes) in plan.takes.iter().enumerate() {
            let Takes::Values(values) = takes else { continue };
            if values.is_empty() {
                let expected = format!("expected values of {} that this leaf takes, or the rest", field.word());
                return Err(fault(&plan.path_of(leaf), "takes", None, expected));
            }
            if let Some(value) = values.iter().map(RangeInclusive::end).find(|value| **value > field.largest()) {
                let expected = format!("expected a {} from 0 to {}", field.word(), field.largest());
                return Err(fault(&plan.path_of(leaf), "takes", Some(value.to_string()), expected));
            }
        }
        let rests = |leaf: &usize| plan.takes[*leaf] == Takes::Rest;
        let mut rests = (0..plan.takes.len()).filter(rests);
        if let (Some(first), Some(second)) = (rests.next(), rests.next()) {
            let expected = format!("expected one such leaf, but {} takes the rest as well", plan.leaf_of(first));
            return Err(fault(&plan.path_of(second), "takes", Some("\"rest\"".to_owned()), expected));
        }
        match Classifier::by_field(field, &plan.takes) {
            Ok(classifier) => Ok(plan.finish(classifier)),
            Err(Overlap { value, leaves: (one, other) }) => {
                let expected = format!(
                    "expected each {} in one leaf, but {} takes it as well",
                    field.word(),
                    plan.leaf_of(one as usize)
                );
                Err(fault(&plan.path_of(other as usize), "takes", Some(value.to_string()), expected))
            }
        }
    }

    /// Builds a tree in which `classify` chooses the leaf of each packet.
    ///
    /// # Errors
    /// As [`build_by`](Self::build_by); the values of leaves are ignored.
    pub fn build_with(self, classify: Box<Classify>) -> Result<Tree<T>, ParamError> {
        let plan = Plan::new(self)?;
        let leaves = plan.leaves.len() as u32;
        Ok(plan.finish(Classifier::Custom { classify, leaves }))
    }
}

fn fault(path: &str, key: &str, value: Option<String>, expected: impl Into<String>) -> ParamError {
    ParamError { owner: path.to_owned(), key: key.to_owned(), value, expected: expected.into() }
}

/// A tree without its classifier.
struct Plan<T: Item> {
    inner: Vec<Inner>,
    orders: ExactOrders,
    links: Vec<Link>,
    ways: Vec<Link>,
    leaves: Vec<LeafScheduler<T>>,
    spots: Vec<Spot>,
    labels: Labels,
    takes: Vec<Takes>,
    shapers: Shapers,
    shaped: Vec<(u32, u32)>,
    queues: u32,
    asks: bool,
    has_scheduled: bool,
    wants: WantedFacts,
    charge: Charge,
    has_indices: bool,
}

impl<T: Item> Plan<T> {
    fn new(root: Node<T>) -> Result<Self, ParamError> {
        let mut plan = Self {
            inner: Vec::new(),
            orders: ExactOrders::default(),
            links: Vec::new(),
            ways: Vec::new(),
            leaves: Vec::new(),
            spots: Vec::new(),
            labels: Labels::default(),
            takes: Vec::new(),
            shapers: Shapers::default(),
            shaped: Vec::new(),
            queues: 0,
            asks: false,
            has_scheduled: false,
            wants: WantedFacts::NONE,
            charge: root.charge.unwrap_or(Charge::Departure),
            has_indices: false,
        };
        let root = Node { charge: None, ..root };
        // A shaper belongs below a parent, so a shaped root gets one.
        let root = if root.shaper.is_some() { Node::inner(Discipline::Strict).child(root) } else { root };
        // Without recursion, because a tree may be as deep as it has nodes.
        let mut open = alloc::vec![(root, NONE, 0)];
        while let Some((node, parent, child)) = open.pop() {
            plan.add(node, parent, child, &mut open)?;
        }
        Ok(plan)
    }

    /// Adds a node, and pushes its children onto `open`, the first one last.
    fn add(
        &mut self,
        node: Node<T>,
        parent: u32,
        child: u32,
        open: &mut Vec<(Node<T>, u32, u32)>,
    ) -> Result<(), ParamError> {
        let Node { label, shaper, capacity, alpha, takes, charge, kind, refuses_child, .. } = node;
        let label = Label { text: label, parent, child };
        if let Some(charge) = charge {
            let expected = "expected the charge of a tree at its root alone";
            return Err(fault(&self.labels.path(&label), "charge", Some(format!("{:?}", charge.word())), expected));
        }
        let shaper = match shaper {
            Some(bucket) => {
                if self.charge.is_arrival() {
                    self.refuse_other_order_above(parent)?;
                }
                self.shaped.push((parent, child));
                self.shapers.add(bucket)
            }
            None => NONE,
        };
        let place = Place { parent, child, shaper };
        let mut link_to = |link: Link| {
            let Some(parent) = self.inner.get(parent as usize) else { return };
            let place = parent.order.place(child);
            self.links.resize(self.links.len().max(place + 1), Link::NONE);
            self.links[place] = link;
        };
        let (discipline, order, children) = match kind {
            Kind::Leaf(mut scheduler) => {
                if refuses_child {
                    let expected = "expected no children, since this is a leaf";
                    return Err(fault(&self.labels.path(&label), "child", Some("{ ... }".to_owned()), expected));
                }
                if capacity != Capacity::Unlimited {
                    let expected = "expected the capacity of a leaf among the parameters of its scheduler";
                    return Err(fault(&self.labels.path(&label), "capacity", Some(capacity.to_string()), expected));
                }
                link_to(Link::leaf(self.leaves.len()));
                let (queues, wants) = look_at(&mut scheduler);
                self.wants = self.wants | wants;
                self.leaves.push(scheduler);
                self.spots.push(Spot { place, first_queue: self.queues, asleep: false });
                self.labels.leaves.push(label);
                self.queues += queues as u32;
                self.takes.push(takes);
                return Ok(());
            }
            Kind::Inner { discipline, order, mut children } => (discipline, order, children.take()),
        };
        link_to(Link::inner(self.inner.len()));
        let refused = |key, value, expected: &str| Err(fault(&self.labels.path(&label), key, value, expected));
        if takes != Takes::Values(Vec::new()) {
            return refused("takes", Some(takes.to_string()), "expected no values: only a leaf takes packets");
        }
        if children.is_empty() {
            return refused("child", None, "expected at least one child");
        }
        let weights: Vec<Ratio> = children.iter().map(|child| child.weight).collect();
        let priorities: Vec<i64> = children.iter().map(|child| child.priority).collect();
        let names: Vec<String> = children.iter().enumerate().map(|(at, child)| child.name(at)).collect();
        let path_of = |at: usize| format!("{}.{}", self.labels.path(&label), names[at]);
        if let Some(at) = weights.iter().position(|weight| *weight == Ratio::ZERO) {
            return Err(fault(&path_of(at), "weight", Some("0".to_owned()), "expected a weight above 0"));
        }
        let mut sorted: Vec<usize> = (0..names.len()).collect();
        sorted.sort_by_key(|at| &names[*at]);
        if let Some(pair) = sorted.windows(2).find(|pair| names[pair[0]] == names[pair[1]]) {
            let expected = "expected each child of a node once, but a sibling has the same label";
            return Err(fault(&path_of(pair[1]), "label", Some(format!("{:?}", names[pair[1]])), expected));
        }
        if let Discipline::Ranked(function) = &discipline {
            self.wants = self.wants | WantedFacts { needs: function.needs(), reads: function.reads() };
        }
        let other = match order {
            Ordering::Exact => None,
            Ordering::Approximate(_, capacities) if capacities.is_empty() => {
                return refused("order", None, "expected at least one queue");
            }
            Ordering::Approximate(decider, capacities) => {
                self.asks = true;
                let order = ApproximateOrder::new(decider, &capacities, children.len());
                Some(Box::new(OtherOrder::Decided(order)))
            }
            Ordering::Scheduled(scheduler) => {
                if !scheduler.is_empty() {
                    return refused("order", None, "expected a scheduler that holds nothing yet");
                }
                // References have a rank.
                if let Some(fact) = (scheduler.wants().needs - Facts::one(Fact::CarriedRank)).first() {
                    let expected = format!(
                        "expected a scheduler that needs to know nothing of packets but child, rank and size, but this one needs {}",
                        fact.word()
                    );
                    return refused("order", Some("{ ... }".to_owned()), &expected);
                }
                (self.asks, self.has_scheduled) = (true, true);
                Some(Box::new(OtherOrder::Scheduled(ScheduledOrder::new(scheduler, children.len()))))
            }
        };
        let bounded = capacity != Capacity::Unlimited;
        if let Some(alpha) = alpha {
            let wrong = |expected| refused("alpha", Some(alpha.to_string()), expected);
            if alpha == Ratio::ZERO {
                return wrong("expected a number above 0");
            }
            if !bounded {
                return wrong("expected a capacity of the node, of which its children may hold a share");
            }
        }
        self.asks |= bounded;
        let at = self.inner.len() as u32;
        let order = self.orders.add(children.len());
        let (rule, shares) = Rule::new(discipline, &priorities, &weights, other.is_none() && !self.charge.is_arrival());
        self.has_indices |= !matches!(rule, Rule::Heads(_));
        for (child, share) in (0..).zip(shares) {
            *self.orders.tag(order, child) = share.tag.into();
            *self.orders.share(order, child) = share;
        }
        let buffer = bounded.then(|| Box::new(Buffer::new(capacity, alpha, children.len())));
        self.inner.push(Inner { place, next: Link::NONE, order, rule, other, buffer });
        self.labels.inner.push(label);
        let first = open.len();
        open.extend((0..).zip(children).map(|(position, child)| (child, at, position)));
        open[first..].reverse();
        Ok(())
    }

    /// Rejects a shaped node whose indices would enter a decider or a scheduler.
    fn refuse_other_order_above(&self, mut at: u32) -> Result<(), ParamError> {
        while let Some(node) = self.inner.get(at as usize) {
            if node.other.is_some() {
                let path = self.labels.path(&self.labels.inner[at as usize]);
                let expected = "expected an exact order above a shaped node, or charge = \"departure\": any other order may refuse what was admitted \
                     already";
                return Err(fault(&path, "order", Some("{ ... }".to_owned()), expected));
            }
            at = node.place.parent;
        }
        Ok(())
    }

    /// The path to `leaf`.
    fn path_of(&self, leaf: usize) -> String {
        self.labels.path(&self.labels.leaves[leaf])
    }

    /// The name of `leaf` in messages about another leaf: its path inside the tree, without the tree's name.
    fn leaf_of(&self, leaf: usize) -> String {
        let path = self.path_of(leaf);
        format!("leaf {}", path.split_once('.').map_or(path.as_str(), |(_, inside)| inside))
    }

    /// The value of [`Tree::is_plain`] for a simple tree.
    fn is_plain(&self) -> bool {
        self.shaped.is_empty()
            && self.leaves.iter().all(|leaf| matches!(leaf, LeafScheduler::Fifo(_)))
            && self.inner.iter().all(|node| node.other.is_none() && !matches!(node.rule, Rule::Ranked(_)))
    }

    /// Bypasses nodes with one child, in both directions.
    fn leave_out_only_children(&mut self, root: Link) -> Link {
        let mut children = alloc::vec![0u32; self.inner.len()];
        for label in self.labels.inner.iter().chain(&self.labels.leaves) {
            if let Some(children) = children.get_mut(label.parent as usize) {
                *children += 1;
            }
        }
        // Parents precede their children.
        for node in 0..self.inner.len() {
            let place = self.inner[node].place;
            self.inner[node].place = self.past(place, &children);
        }
        for leaf in 0..self.spots.len() {
            let place = self.spots[leaf].place;
            self.spots[leaf].place = self.past(place, &children);
        }
        // Bottom-up, so that each node is visited once in trees of any depth.
        let mut downs: Vec<Link> = (0..self.inner.len()).map(Link::inner).collect();
        let mut ways = self.links.clone();
        let down = |downs: &[Link], link: Link| link.get().map_or_else(|node| downs[node], |_| link);
        for node in (0..self.inner.len()).rev() {
            let order = self.inner[node].order;
            for child in 0..children[node] {
                let place = order.place(child);
                ways[place] = down(&downs, self.links[place]);
            }
            if children[node] == 1 {
                downs[node] = ways[order.place(0)];
            }
        }
        self.ways = ways;
        down(&downs, root)
    }

    /// The place above a node's only child is that of the node.
    fn past(&self, place: Place, children: &[u32]) -> Place {
        if children.get(place.parent as usize) == Some(&1) { self.inner[place.parent as usize].place } else { place }
    }

    fn finish(mut self, classifier: Classifier) -> Tree<T> {
        let wants = self.wants | WantedFacts::needed(classifier.needs());
        let is_simple = !self.asks && !wants.has_hints() && classifier.reads_descriptors();
        let mut root = self.inner.first().map_or(Link::leaf(0), |_| Link::inner(0));
        let is_plain = is_simple && self.is_plain();
        if is_plain {
            root = self.leave_out_only_children(root);
        }
        Tree {
            backlog: Backlog::new(self.orders.places()),
            charge: self.charge,
            has_indices: self.has_indices,
            inner: self.inner.into(),
            orders: self.orders,
            ways: self.ways.into(),
            links: self.links.into(),
            leaves: self.leaves.into(),
            spots: self.spots.into(),
            labels: self.labels,
            root,
            is_simple,
            is_plain,
            classifier,
            shapers: self.shapers,
            shaped: self.shaped.into(),
            asleep: SlotHeap::default(),
            sleepers: 0,
            held: 0,
            has_scheduled: self.has_scheduled,
            stopped: None,
            displaced: Vec::new(),
            leaving: VecDeque::new(),
            packets: 0,
            bytes: 0,
            asks: self.asks,
            wants,
            hinted: None,
            may_mark: wants.needs.contains(Fact::Ecn),
            mark: false,
            forecast: Forecast::default(),
        }
    }
}

impl Labels {
    /// The path to a node: `tree.tenants.1`.
    fn path<'a>(&'a self, mut label: &'a Label) -> String {
        let mut names = Vec::new();
        while let Some(parent) = self.inner.get(label.parent as usize) {
            names.push(label.text.clone().unwrap_or_else(|| label.child.to_string()));
            label = parent;
        }
        names.push("tree".to_owned());
        names.reverse();
        names.join(".")
    }
}

impl<T: Item> Node<T> {
    /// The label, or the position among the siblings.
    fn name(&self, position: usize) -> String {
        self.label.clone().unwrap_or_else(|| position.to_string())
    }
}

/// The number of a leaf's queues, and the facts that its scheduler needs.
fn look_at<T: Item>(scheduler: &mut LeafScheduler<T>) -> (usize, WantedFacts) {
    match scheduler {
        LeafScheduler::Fifo(fifo) => (fifo.queues(), WantedFacts::NONE),
        LeafScheduler::Pifo(pifo) => (pifo.queues(), WantedFacts::NONE),
        LeafScheduler::Other(other) => (other.queues(), other.wants()),
    }
}

const _: () = assert!(Rank::MAX.get() < u64::MAX, "a key of the order is never NONE");
