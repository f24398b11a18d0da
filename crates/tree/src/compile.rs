//! Compiles a policy to a tree of another shape: decides whether it embeds, and runs it on a complete tree, as in
//! hardware.
//!
//! Paper: Mohan et al., "Formal Abstractions for Packet Scheduling", OOPSLA 2023, sections 4 to 6. A tree embeds in
//! another if an injective map of addresses preserves the root, leaves and prefixes. Every policy of the first tree
//! then runs on the second with identical pops (Theorem 5.10).

use super::discipline::Discipline;
use super::order::{ExactOrder, ExactOrders};
use super::policy::{Number, Policy};
use super::rule::Rule;
use super::share::Share;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use pifolab_sched::Packet;
use pifolab_units::{Ratio, Time};

/// The shape of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A leaf.
    Leaf,
    /// A node with children.
    Node(Vec<Shape>),
}

/// The largest number of a node's children for which [`Shape::embeds_in`] returns an answer.
const MAX_CHILDREN: usize = 12;

impl Shape {
    /// The shape of a policy's tree.
    pub fn of(policy: &Policy) -> Self {
        match policy {
            Policy::Fifo(_) => Self::Leaf,
            _ => Self::Node(policy.children().into_iter().map(Self::of).collect()),
        }
    }

    /// A complete tree with `height` nodes above each leaf and `degree` children per node.
    pub fn complete(degree: usize, height: usize) -> Self {
        if height == 0 { Self::Leaf } else { Self::Node(alloc::vec![Self::complete(degree, height - 1); degree]) }
    }

    /// Whether this tree embeds in `other`; `None` if a node has more than 12 children.
    ///
    /// ```
    /// use pifolab_tree::Shape;
    ///
    /// let flat = Shape::Node(vec![Shape::Leaf; 3]);
    /// assert_eq!(flat.embeds_in(&Shape::complete(2, 2)), Some(true));
    /// assert_eq!(flat.embeds_in(&Shape::complete(2, 1)), Some(false), "it has fewer leaves");
    /// ```
    pub fn embeds_in(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Leaf, Self::Leaf) => Some(true),
            (Self::Node(children), Self::Node(places)) if children.len() <= MAX_CHILDREN => {
                let sets = sets_below(children, places)?;
                Some(sets[(1 << children.len()) - 1])
            }
            (Self::Node(_), Self::Node(_)) => None,
            _ => Some(false),
        }
    }
}

/// The sets of `children`, as bits of an index, that embed side by side in the trees `places`, none above another.
fn sets_below(children: &[Shape], places: &[Shape]) -> Option<Vec<bool>> {
    let mut together = alloc::vec![false; 1 << children.len()];
    together[0] = true;
    for place in places {
        let mut here = match place {
            Shape::Leaf => alloc::vec![false; together.len()],
            Shape::Node(below) => sets_below(children, below)?,
        };
        for (at, child) in children.iter().enumerate() {
            here[1 << at] |= child.embeds_in(place)?;
        }
        let before = together.clone();
        for (set, _) in here.iter().enumerate().filter(|(_, embeds)| **embeds) {
            for (other, _) in before.iter().enumerate().filter(|(other, embeds)| **embeds && set & other == 0) {
                together[set | other] = true;
            }
        }
    }
    Some(together)
}

/// A policy compiled to a complete tree of some degree.
///
/// Subtrees of the smallest height are merged, up to `degree` at a time, until the children of a node fit (Theorem
/// 6.1). The result has the smallest height of all complete trees of that degree in which the policy's tree embeds. If
/// one edge of the policy's tree becomes several edges, each has the rank of the policy's node. Leaves are first-in
/// first-out.
///
/// ```
/// use pifolab_sched::Packet;
/// use pifolab_tree::{Compiled, Policy};
/// use pifolab_units::{Rank, Ratio, Time};
///
/// let policy = Policy::parse("rr[fifo[a], fifo[b], fifo[c]]").unwrap();
/// let mut compiled = Compiled::new(&policy, 2, Ratio::ONE, 1);
/// assert_eq!((compiled.height(), compiled.address_of(0)), (2, vec![1, 0]));
/// for (id, leaf) in [(7, 2), (8, 0), (9, 2)] {
///     compiled.push(leaf, Packet { id, size: 100, ..Packet::default() }, Time::ZERO);
/// }
/// assert_eq!(compiled.pop(Time::ZERO).unwrap().id, 8);
/// ```
pub struct Compiled {
    rules: Vec<(Rule, Vec<Share>)>,
    orders: ExactOrders,
    nodes: Vec<Target>,
    leaves: Vec<Lane>,
    root: Place,
    height: usize,
}

struct Target {
    order: ExactOrder,
    children: Vec<Place>,
}

#[derive(Clone, Copy)]
enum Place {
    Node(usize),
    Leaf(usize),
}

/// A leaf, and the edges from the root to it.
#[derive(Default)]
struct Lane {
    waiting: VecDeque<Packet>,
    steps: Vec<Step>,
}

/// An edge of the complete tree.
#[derive(Clone, Copy)]
struct Step {
    node: usize,
    child: u32,
    /// The rule that computes the edge's rank, and the child of the policy's node behind the edge.
    rule: usize,
    of: u32,
    /// Whether `node` represents the policy's node itself.
    is_node: bool,
}

/// The plan of a policy: a leaf by its number, or a node with its merged children.
enum Plan {
    Leaf(usize),
    Node(usize, Vec<Member>),
}

enum Member {
    Child(u32, Plan),
    Group(Vec<Member>),
}

impl Compiled {
    /// Compiles a policy to a complete tree of this degree. For `ps_per_byte` and `ticks_per_ps` see
    /// [`Node::of_policy`](super::Node::of_policy).
    ///
    /// # Panics
    /// If `degree` is below 2.
    pub fn new(policy: &Policy, degree: usize, ps_per_byte: Ratio, ticks_per_ps: u32) -> Self {
        assert!(degree >= 2, "a node of a complete tree has at least two children");
        let (rules, nodes, leaves) = (Vec::new(), Vec::new(), Vec::new());
        let orders = ExactOrders::default();
        let mut compiled = Self { rules, orders, nodes, leaves, root: Place::Leaf(0), height: 0 };
        let wall_clock = || Discipline::WallClock { ps_per_byte, ticks_per_ps };
        let (height, plan) = compiled.plan(policy, degree, &wall_clock);
        compiled.height = height;
        compiled.root = compiled.place(plan, &mut Vec::new());
        compiled
    }

    fn plan(&mut self, policy: &Policy, degree: usize, wall_clock: &dyn Fn() -> Discipline) -> (usize, Plan) {
        let children = policy.children();
        let (discipline, weights) = match policy {
            Policy::Fifo(_) => {
                self.leaves.push(Lane::default());
                return (0, Plan::Leaf(self.leaves.len() - 1));
            }
            Policy::WeightedFair(pairs) => {
                let weight = |(_, number): &(_, Number)| number.ratio().expect("the parser checks weights");
                (wall_clock(), pairs.iter().map(weight).collect())
            }
            Policy::RoundRobin(_) => (Discipline::RoundRobin, alloc::vec![Ratio::ONE; children.len()]),
            Policy::Strict(_) => (Discipline::Strict, alloc::vec![Ratio::ONE; children.len()]),
        };
        self.rules.push(Rule::new(discipline, &alloc::vec![0; weights.len()], &weights, false));
        let rule = self.rules.len() - 1;
        let mut open: Vec<(usize, Member)> = Vec::new();
        for (at, child) in (0..).zip(children) {
            let (height, plan) = self.plan(child, degree, wall_clock);
            open.push((height, Member::Child(at, plan)));
        }
        let top = |members: &[(usize, Member)]| members.iter().map(|(height, _)| height + 1).max().unwrap_or(0);
        while open.len() > degree {
            open.sort_by_key(|(height, _)| *height);
            let (lowest, _) = open[0];
            let alike = open.iter().take_while(|(height, _)| *height == lowest).count();
            if alike == 1 {
                // The subtree takes the space of the next higher one.
                open[0].0 = open[1].0;
                continue;
            }
            let rest = open.split_off(degree.min(alike).min(open.len() - degree + 1));
            let group = (top(&open), Member::Group(open.into_iter().map(|(_, member)| member).collect()));
            open = rest;
            open.push(group);
        }
        (top(&open), Plan::Node(rule, open.into_iter().map(|(_, member)| member).collect()))
    }

    fn place(&mut self, plan: Plan, steps: &mut Vec<Step>) -> Place {
        match plan {
            Plan::Leaf(leaf) => {
                self.leaves[leaf].steps.clone_from(steps);
                Place::Leaf(leaf)
            }
            Plan::Node(rule, members) => self.place_all(rule, members, true, steps),
        }
    }

    fn place_all(&mut self, rule: usize, members: Vec<Member>, is_node: bool, steps: &mut Vec<Step>) -> Place {
        let node = self.nodes.len();
        self.nodes.push(Target { order: self.orders.add(members.len()), children: Vec::new() });
        for (child, member) in (0..).zip(members) {
            steps.push(Step { node, child, rule, of: 0, is_node });
            let place = match member {
                Member::Child(of, plan) => {
                    steps.iter_mut().filter(|step| step.rule == rule).for_each(|step| step.of = of);
                    self.place(plan, steps)
                }
                Member::Group(members) => self.place_all(rule, members, false, steps),
            };
            steps.pop();
            self.nodes[node].children.push(place);
        }
        Place::Node(node)
    }

    /// The number of nodes above each leaf of the complete tree.
    pub const fn height(&self) -> usize {
        self.height
    }

    /// The address in the complete tree of the policy's leaf `leaf`.
    pub fn address_of(&self, leaf: usize) -> Vec<u32> {
        let mut address: Vec<u32> = self.leaves[leaf].steps.iter().map(|step| step.child).collect();
        // In a subtree that is higher than necessary, the leftmost leaf below represents this leaf.
        address.resize(self.height, 0);
        address
    }

    /// Pushes a packet into leaf `leaf` of the policy.
    pub fn push(&mut self, leaf: usize, packet: Packet, now: Time) {
        let Self { rules, orders, nodes, leaves, .. } = self;
        let (mut rank, arrival) = (0, orders.arrive());
        for step in &leaves[leaf].steps {
            if step.is_node {
                let (rule, shares) = &mut rules[step.rule];
                rank = rule.rank_of(&mut shares[step.of as usize], step.of, false, &packet, now);
            }
            // Several children of the policy's node may share one edge, so ranks on it can decrease.
            orders.push(nodes[step.node].order, step.child, rank, arrival, false);
        }
        leaves[leaf].waiting.push_back(packet);
    }

    /// Pops the next packet.
    pub fn pop(&mut self, now: Time) -> Option<Packet> {
        let mut place = self.root;
        let leaf = loop {
            match place {
                Place::Leaf(leaf) => break leaf,
                Place::Node(node) => {
                    let Target { order, children } = &self.nodes[node];
                    place = children[order.child(self.orders.next(*order)?) as usize];
                }
            }
        };
        let Self { rules, orders, nodes, leaves, .. } = self;
        let packet = leaves[leaf].waiting.pop_front()?;
        for step in &leaves[leaf].steps {
            let (rank, _) = orders.pop(nodes[step.node].order, step.child);
            if step.is_node {
                let (rule, shares) = &mut rules[step.rule];
                rule.on_pop(|| &mut shares[step.of as usize], step.of, rank, &packet, now);
            }
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;

    const POLICIES: [&str; 6] = [
        "fifo[a]",
        "rr[fifo[a], fifo[b], fifo[c], fifo[d], fifo[e], fifo[f], fifo[g]]",
        "strict[(fifo[a], 1), (fifo[b], 2), (rr[fifo[c], fifo[d], fifo[e]], 3), (fifo[f], 4)]",
        "wfq[(fifo[a], 3), (fifo[b], 2), (rr[fifo[c], fifo[d], fifo[e]], 1), (strict[(fifo[f], 1), (fifo[g], 2)], 5), (fifo[h], 1)]",
        "rr[rr[rr[rr[fifo[a], fifo[b]], fifo[c]], fifo[d]], fifo[e], fifo[f], fifo[g], fifo[h]]",
        "rr[strict[(wfq[(fifo[a], 1), (fifo[b], 2), (fifo[c], 3)], 1)]]",
    ];

    #[test]
    fn a_compiled_policy_pops_what_the_policy_pops() {
        let steps = pifolab_testkit::steps(20_000, 80);
        for text in POLICIES {
            let policy = Policy::parse(text).unwrap();
            for degree in [2, 3, 5] {
                let popped = Compiled::new(&policy, degree, Ratio::ONE, 30).compare(&policy, Ratio::ONE, 30, steps);
                assert!(popped.is_ok_and(|popped| popped > steps / 4), "{policy}, degree {degree}: {popped:?}");
            }
        }
    }

    #[test]
    fn a_policy_that_was_compiled_otherwise_is_told_apart() {
        let [one, other] = ["wfq[(fifo[a], 1), (fifo[b], 2)]", "wfq[(fifo[a], 2), (fifo[b], 1)]"]
            .map(|text| Policy::parse(text).unwrap());
        let compiled = Compiled::new(&other, 2, Ratio::ONE, 30);
        assert!(compiled.compare(&one, Ratio::ONE, 30, 1_000).is_err());
    }

    #[test]
    fn addresses_are_those_of_a_complete_tree_and_no_leaf_is_above_another() {
        for text in POLICIES {
            let policy = Policy::parse(text).unwrap();
            for degree in [2, 3] {
                let compiled = Compiled::new(&policy, degree, Ratio::ONE, 1);
                let mut addresses: Vec<Vec<u32>> =
                    (0..compiled.leaves.len()).map(|leaf| compiled.address_of(leaf)).collect();
                assert!(addresses.iter().all(|address| address.len() == compiled.height()));
                assert!(addresses.iter().flatten().all(|child| (*child as usize) < degree));
                addresses.sort();
                addresses.dedup();
                assert_eq!(addresses.len(), policy.classes().len(), "{policy}");
                assert_eq!(compiled.nodes.iter().filter(|node| node.children.len() > degree).count(), 0);
                let complete = Shape::complete(degree, compiled.height());
                assert_eq!(Shape::of(&policy).embeds_in(&complete), Some(true));
            }
        }
        // Seven leaves below one node need exactly three levels of a binary tree.
        assert_eq!(Compiled::new(&Policy::parse(POLICIES[1]).unwrap(), 2, Ratio::ONE, 1).height(), 3);
    }

    /// The smallest height of a complete tree in which `shape` fits: each child needs degree^height leaves.
    fn least_height(shape: &Shape, degree: u128) -> u32 {
        let Shape::Node(children) = shape else { return 0 };
        let heights: Vec<u32> = children.iter().map(|child| least_height(child, degree)).collect();
        let room = heights.iter().map(|height| degree.pow(*height)).sum();
        (heights.iter().max().map_or(1, |height| height + 1)..).find(|height| degree.pow(*height) >= room).unwrap()
    }

    #[test]
    fn no_complete_tree_that_a_policy_embeds_in_is_lower_than_the_compiled_one() {
        let mut state = 1u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..pifolab_testkit::steps(2_000, 20) {
            let mut names = 0;
            let text = random_text(&mut draw, 4, &mut names);
            let policy = Policy::parse(&text).unwrap();
            for degree in [2, 3, 4, 7] {
                let height = Compiled::new(&policy, degree, Ratio::ONE, 1).height();
                assert_eq!(
                    height,
                    least_height(&Shape::of(&policy), degree as u128) as usize,
                    "{text}, degree {degree}"
                );
            }
        }
    }

    fn random_text(draw: &mut dyn FnMut(u64) -> u64, depth: u32, names: &mut u32) -> String {
        if depth == 0 || draw(5) == 0 {
            *names += 1;
            return format!("fifo[{names}]");
        }
        let children: Vec<String> =
            (0..[1, 2, 3, 5, 9][draw(5) as usize]).map(|_| random_text(draw, depth - 1, names)).collect();
        format!("rr[{}]", children.join(", "))
    }

    #[test]
    fn a_tree_embeds_only_where_root_leaves_and_prefixes_can_be_kept() {
        let shape = |text: &str| Shape::of(&Policy::parse(text).unwrap());
        let two_two = shape("rr[rr[fifo[a], fifo[b]], rr[fifo[c], fifo[d]]]");
        let flat = shape("rr[fifo[a], fifo[b], fifo[c], fifo[d]]");
        assert_eq!(flat.embeds_in(&two_two), Some(true));
        assert_eq!(two_two.embeds_in(&flat), Some(false), "no node of the flat tree has two leaves but the root");
        assert_eq!(two_two.embeds_in(&two_two), Some(true));
        assert_eq!(flat.embeds_in(&shape("rr[fifo[a], fifo[b], fifo[c]]")), Some(false), "fewer leaves");
        let chain = shape("rr[rr[rr[fifo[a], fifo[b]], fifo[c]], fifo[d]]");
        assert_eq!(chain.embeds_in(&two_two), Some(false), "it is too low");
        assert_eq!(two_two.embeds_in(&chain), Some(false), "it has no two nodes side by side");
        assert_eq!(flat.embeds_in(&chain), Some(true));
        assert_eq!(Shape::Leaf.embeds_in(&flat), Some(false), "the root is not a leaf");
        assert_eq!(Shape::Node(alloc::vec![Shape::Leaf; 13]).embeds_in(&Shape::complete(2, 4)), None);
    }
}
