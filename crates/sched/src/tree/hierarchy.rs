//! Hierarchies as text: one line for each node, `101 WFQ {102, true, 1} {3, false, 2}`.
//!
//! A line has the number of a node, its policy, and its children: the number of a child, whether it is a node (`true`) or a flow
//! (`false`), and its weight (WFQ: an integer, `0.25` or `1/4`) or its priority (SP, the lowest first). A node of policy pFabric has flows only, in one
//! PIFO that their packets' ranks order. The root is the node that is not a child of any node. Empty lines and what follows `#` are not
//! read.

use super::Node;
use super::rule::Discipline;
use crate::schedulers::{Pifo, PifoParams};
use crate::{Capacity, Item};
use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use pifolab_units::Ratio;

/// A hierarchy that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    root: u64,
    nodes: BTreeMap<u64, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    line: usize,
    policy: Word,
    children: Vec<Child>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Wfq,
    Sp,
    PFabric,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Child {
    name: u64,
    is_node: bool,
    place: Place,
}

/// The last number of a child, as the policy above reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Weight(Ratio),
    Priority(u32),
}

/// Why a text is not a hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HierarchyError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there, and what would be right.
    pub problem: String,
}

impl fmt::Display for HierarchyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl core::error::Error for HierarchyError {}

impl Hierarchy {
    /// Reads a hierarchy, in O(n log n).
    ///
    /// ```
    /// use pifolab_sched::tree::Hierarchy;
    ///
    /// let hierarchy = Hierarchy::parse("101 WFQ {102, true, 1} {3, false, 2}\n102 pFabric {1, false, 1} {2, false, 1}").unwrap();
    /// assert_eq!(hierarchy.path_of(2), Some(vec![101, 102]));
    /// let tree = hierarchy.node::<pifolab_sched::Packet>().build().unwrap();
    /// assert_eq!(tree.leaves(), 2);
    /// ```
    ///
    /// # Errors
    /// The first line that is not understood; a node or a flow that has two parents, a node without a line, a cycle, two roots, or a weight
    /// of 0.
    pub fn parse(text: &str) -> Result<Self, HierarchyError> {
        let mut nodes: BTreeMap<u64, Entry> = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let (name, entry) = read_line(line, index + 1)?;
            let at = entry.line;
            if let Some(other) = nodes.insert(name, entry) {
                return Err(fault(at, format!("duplicate node {name}; line {} has it as well", other.line)));
            }
        }
        let mut parents: BTreeMap<(bool, u64), u64> = BTreeMap::new();
        for (name, entry) in &nodes {
            for child in &entry.children {
                let what = if child.is_node { "node" } else { "flow" };
                if child.is_node && !nodes.contains_key(&child.name) {
                    return Err(fault(entry.line, format!("node {} has no line of its own", child.name)));
                }
                if let Some(other) = parents.insert((child.is_node, child.name), *name) {
                    let problem =
                        format!("{what} {} is a child of node {other} as well; expected one parent", child.name);
                    return Err(fault(entry.line, problem));
                }
            }
        }
        let mut roots = nodes.iter().filter(|(name, _)| !parents.contains_key(&(true, **name)));
        let (root, _) = match (roots.next(), nodes.first_key_value()) {
            (Some(root), _) => root,
            (None, Some((name, entry))) => {
                return Err(fault(
                    entry.line,
                    format!("node {name} is in a cycle; expected a root that is not a child of any node"),
                ));
            }
            (None, None) => return Err(fault(1, "expected at least one node")),
        };
        if let Some((other, entry)) = roots.next() {
            return Err(fault(
                entry.line,
                format!("node {other} has no parent, and neither has node {root}; expected one root"),
            ));
        }
        let root = *root;
        let mut reached = BTreeSet::from([root]);
        let mut open = alloc::vec![root];
        while let Some(name) = open.pop() {
            for child in nodes[&name].children.iter().filter(|child| child.is_node) {
                reached.insert(child.name);
                open.push(child.name);
            }
        }
        match nodes.iter().find(|(name, _)| !reached.contains(name)) {
            Some((name, entry)) => {
                Err(fault(entry.line, format!("node {name} is in a cycle that the root does not reach")))
            }
            None => Ok(Self { root, nodes }),
        }
    }

    /// How many nodes it has, flows not counted.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has none: never.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The flows, in ascending order.
    pub fn flows(&self) -> Vec<u64> {
        let children = self.nodes.values().flat_map(|entry| &entry.children);
        let mut flows: Vec<u64> = children.filter(|child| !child.is_node).map(|child| child.name).collect();
        flows.sort_unstable();
        flows
    }

    /// The nodes above a flow, the root first.
    pub fn path_of(&self, flow: u64) -> Option<Vec<u64>> {
        let parent = |is_node: bool, name: u64| {
            let of = |child: &Child| child.is_node == is_node && child.name == name;
            self.nodes.iter().find(|(_, entry)| entry.children.iter().any(of)).map(|(name, _)| *name)
        };
        let mut path = Vec::new();
        let mut next = parent(false, flow);
        while let Some(name) = next {
            path.push(name);
            next = parent(true, name);
        }
        path.reverse();
        (!path.is_empty()).then_some(path)
    }

    /// The nodes of a tree: WFQ is start-time fair, SP strict; a flow is a first-in first-out leaf, and the flows of a pFabric node
    /// are one PIFO leaf. Leaves are without bound and take their flows; labels are the numbers in the text.
    ///
    /// # Panics
    /// Never: what was read is a tree.
    pub fn node<T: Item>(&self) -> Node<T> {
        // Not by recursion: a hierarchy may be as deep as it has nodes. Parents come before their children here.
        let mut order = alloc::vec![self.root];
        let mut next = 0;
        while let Some(name) = order.get(next) {
            order.extend(self.nodes[name].children.iter().filter(|child| child.is_node).map(|child| child.name));
            next += 1;
        }
        let mut built = BTreeMap::new();
        for name in order.iter().rev() {
            let node = self.node_of(*name, &mut built);
            built.insert(*name, node);
        }
        built.remove(&self.root).expect("the root is built last")
    }

    /// The node of this name, whose inner children are built already.
    fn node_of<T: Item>(&self, name: u64, built: &mut BTreeMap<u64, Node<T>>) -> Node<T> {
        let Entry { policy, children, .. } = &self.nodes[&name];
        let node = match policy {
            Word::PFabric => {
                let pifo: Pifo<T> = Pifo::new(PifoParams { capacity: Capacity::Unlimited, ..PifoParams::packets(1) })
                    .expect("a PIFO without bound");
                return Node::leaf(pifo)
                    .label(name.to_string())
                    .takes(children.iter().map(|flow| flow.name..=flow.name));
            }
            Word::Wfq => Node::inner(Discipline::Stfq),
            Word::Sp => Node::inner(Discipline::Strict),
        };
        children.iter().fold(node.label(name.to_string()), |node, child| {
            let below = if child.is_node {
                built.remove(&child.name).expect("children are built before their parents")
            } else {
                Node::fifo().label(format!("flow {}", child.name)).takes([child.name..=child.name])
            };
            node.child(match child.place {
                Place::Weight(weight) => below.weight_of(weight),
                Place::Priority(priority) => below.priority(priority.into()),
            })
        })
    }
}

fn fault(line: usize, problem: impl Into<String>) -> HierarchyError {
    HierarchyError { line, problem: problem.into() }
}

fn read_line(text: &str, line: usize) -> Result<(u64, Entry), HierarchyError> {
    const FORM: &str = "expected a line such as 101 WFQ {102, true, 1} {3, false, 2}";
    let (head, rest) = text.split_at(text.find('{').unwrap_or(text.len()));
    let mut words = head.split_whitespace();
    let (Some(name), Some(policy), None) = (words.next(), words.next(), words.next()) else {
        return Err(fault(line, FORM));
    };
    let name =
        number(name).ok_or_else(|| fault(line, format!("node {name:?}: expected an integer from 0 to 2^63 - 1")))?;
    let policy = match policy {
        "WFQ" => Word::Wfq,
        "SP" => Word::Sp,
        "pFabric" => Word::PFabric,
        other => return Err(fault(line, format!("policy {other:?}: expected WFQ, SP or pFabric"))),
    };
    let mut children = Vec::new();
    let mut rest = rest.trim();
    while !rest.is_empty() {
        let body = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let (body, after) =
            body.ok_or_else(|| fault(line, format!("{rest:?}: expected {{child, true or false, number}}")))?;
        let child = read_child(body, policy).map_err(|problem| fault(line, format!("{{{body}}}: {problem}")))?;
        if child.is_node && policy == Word::PFabric {
            return Err(fault(line, format!("{{{body}}}: a pFabric node has flows only")));
        }
        children.push(child);
        rest = after.trim_start();
    }
    if children.is_empty() {
        return Err(fault(line, format!("node {name} has no children; {FORM}")));
    }
    Ok((name, Entry { line, policy, children }))
}

fn read_child(body: &str, policy: Word) -> Result<Child, String> {
    let parts: Vec<&str> = body.split(',').map(str::trim).collect();
    let [name, is_node, place] = parts[..] else { return Err("expected child, true or false, number".to_owned()) };
    let weight = || place.parse().ok().filter(|weight| *weight > Ratio::ZERO).map(Place::Weight);
    let priority = || place.parse().ok().map(Place::Priority);
    Ok(Child {
        name: number(name).ok_or_else(|| format!("child {name:?}: expected an integer from 0 to 2^63 - 1"))?,
        is_node: match is_node {
            "true" => true,
            "false" => false,
            other => return Err(format!("{other:?}: expected true for a node or false for a flow")),
        },
        place: if policy == Word::Wfq {
            weight().ok_or_else(|| {
                format!("{place:?}: expected a weight above 0 that is a fraction of integers below 2^32, such as 3, 0.25 or 1/4")
            })?
        } else {
            priority().ok_or_else(|| format!("{place:?}: expected an integer from 0 to 2^32 - 1"))?
        },
    })
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|value| *value <= i64::MAX as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dequeued, Packet, Scheduler};
    use core::fmt::Write as _;
    use pifolab_units::{Rank, Time};

    #[test]
    fn a_hierarchy_of_ten_thousand_nodes_becomes_a_tree_that_serves_every_flow() {
        let nodes = pifolab_testkit::steps(10_000, 300);
        // Each node has three nodes below, as far as there are, and a flow of its own.
        let mut text = String::new();
        for name in 0..nodes {
            let policy = if name % 2 == 0 { "WFQ" } else { "SP" };
            write!(text, "{name} {policy} {{{name}, false, {}}}", 1 + name % 7).unwrap();
            for child in (3 * name + 1..=3 * name + 3).filter(|child| *child < nodes) {
                write!(text, " {{{child}, true, {}}}", 1 + child % 5).unwrap();
            }
            text.push('\n');
        }
        let hierarchy = Hierarchy::parse(&text).unwrap();
        assert_eq!((hierarchy.len(), hierarchy.flows().len()), (nodes as usize, nodes as usize));
        assert_eq!(hierarchy.path_of(13), Some(alloc::vec![0, 1, 4, 13]));
        let mut tree = hierarchy.node::<Packet>().build().unwrap();
        for flow in 0..nodes {
            let packet = Packet { id: flow, flow: flow as u32, size: 100, rank: Rank::ZERO, arrival: Time::ZERO };
            assert!(tree.enqueue(packet, Time::ZERO).is_admitted());
        }
        let mut served = BTreeSet::new();
        while let Dequeued::Packet { packet, .. } = tree.dequeue(Time::ZERO) {
            served.insert(packet.flow);
        }
        assert_eq!(served.len() as u64, nodes);
    }

    #[test]
    fn a_hierarchy_may_be_as_deep_as_it_has_nodes() {
        let nodes = pifolab_testkit::steps(10_000, 300);
        let mut text = String::new();
        for name in 0..nodes {
            let policy = if name % 2 == 0 { "WFQ" } else { "SP" };
            write!(text, "{name} {policy} {{{name}, false, 1}}").unwrap();
            if name + 1 < nodes {
                write!(text, " {{{}, true, 2}}", name + 1).unwrap();
            }
            text.push('\n');
        }
        let hierarchy = Hierarchy::parse(&text).unwrap();
        // What is not built is given up without recursion as well.
        drop(hierarchy.node::<Packet>());
        let mut tree = hierarchy.node::<Packet>().build().unwrap();
        let deepest = nodes as usize - 1;
        assert_eq!(tree.leaf_path(deepest).split('/').count(), nodes as usize);
        for flow in [nodes as u32 - 1, 0] {
            let packet = Packet { id: flow.into(), flow, size: 100, rank: Rank::ZERO, arrival: Time::ZERO };
            assert!(tree.enqueue(packet, Time::ZERO).is_admitted());
        }
        let Dequeued::Packet { packet, .. } = tree.dequeue(Time::ZERO) else { panic!("two packets wait") };
        assert_eq!(packet.flow, nodes as u32 - 1, "both have the same rank at the root, and this one came first");
        // One child each: the nodes are left out, from below.
        let mut text: String = (1..nodes).map(|name| format!("{name} SP {{{}, true, 1}}\n", name + 1)).collect();
        write!(text, "{nodes} SP {{7, false, 1}} {{8, false, 2}}").unwrap();
        assert_eq!(Hierarchy::parse(&text).unwrap().node::<Packet>().build().unwrap().leaves(), 2);
    }

    #[test]
    fn policies_are_what_their_words_say() {
        let text = "# a port\n7 SP {8, true, 2} {1, false, 1}\n\n8 WFQ {9, true, 1} {2, false, 3} # tenants\n9 pFabric {3, false, 1} {4, false, 1}";
        let hierarchy = Hierarchy::parse(text).unwrap();
        assert_eq!(hierarchy.flows(), [1, 2, 3, 4]);
        assert_eq!(hierarchy.path_of(4), Some(alloc::vec![7, 8, 9]));
        assert_eq!(hierarchy.path_of(5), None);
        let mut tree = hierarchy.node::<Packet>().build().unwrap();
        assert_eq!(tree.leaf_path(2), "flow 1");
        assert_eq!(tree.leaf_path(0), "8/9");
        for (id, (flow, rank)) in (0..).zip([(3, 9u32), (4, 1), (2, 0), (2, 0), (2, 0), (2, 0), (1, 0)]) {
            let packet = Packet { id, flow, size: 100, rank: Rank::from(rank), arrival: Time::ZERO };
            assert!(tree.enqueue(packet, Time::ZERO).is_admitted());
        }
        let order: Vec<u32> = core::iter::from_fn(|| match tree.dequeue(Time::ZERO) {
            Dequeued::Packet { packet, .. } => Some(packet.flow),
            _ => None,
        })
        .collect();
        // Flow 1 first; then node 9, of weight 1, against flow 2, of weight 3; the lower rank first inside node 9.
        assert_eq!(order, [1, 4, 2, 2, 2, 3, 2]);
    }

    #[test]
    fn weights_may_be_fractions() {
        let served = |weights: [&str; 2]| {
            let [one, other] = weights;
            let text = format!("1 WFQ {{1, false, {one}}} {{2, false, {other}}}");
            let mut tree = Hierarchy::parse(&text).unwrap().node::<Packet>().build().unwrap();
            for id in 0..40 {
                let flow = 1 + (id % 2) as u32;
                let packet = Packet { id, flow, size: 700, rank: Rank::ZERO, arrival: Time::ZERO };
                assert!(tree.enqueue(packet, Time::ZERO).is_admitted());
            }
            let flows = core::iter::from_fn(|| match tree.dequeue(Time::ZERO) {
                Dequeued::Packet { packet, .. } => Some(packet.flow),
                _ => None,
            });
            flows.collect::<Vec<_>>()
        };
        let whole = served(["1", "4"]);
        assert_eq!(whole[..10].iter().filter(|flow| **flow == 2).count(), 8, "{whole:?}");
        for weights in [["0.25", "1"], ["1/4", "1.0"], ["0.2", "0.8"]] {
            assert_eq!(served(weights), whole, "{weights:?}");
        }
    }

    #[test]
    fn what_is_not_a_hierarchy_is_refused_with_its_line() {
        let error = |text: &str| Hierarchy::parse(text).unwrap_err().to_string();
        assert_eq!(error(""), "line 1: expected at least one node");
        assert_eq!(
            error("1 WFQ"),
            "line 1: node 1 has no children; expected a line such as 101 WFQ {102, true, 1} {3, false, 2}"
        );
        assert_eq!(error("x WFQ {1, false, 1}"), "line 1: node \"x\": expected an integer from 0 to 2^63 - 1");
        assert_eq!(error("1 DRR {1, false, 1}"), "line 1: policy \"DRR\": expected WFQ, SP or pFabric");
        for weight in ["0", "-1", "x", "4294967296", "1/0"] {
            assert_eq!(
                error(&format!("1 WFQ {{1, false, {weight}}}")),
                format!(
                    "line 1: {{1, false, {weight}}}: {weight:?}: expected a weight above 0 that is a fraction of integers below 2^32, such as 3, 0.25 or 1/4"
                )
            );
        }
        assert_eq!(
            error("1 SP {1, false, 0.5}"),
            "line 1: {1, false, 0.5}: \"0.5\": expected an integer from 0 to 2^32 - 1"
        );
        assert_eq!(
            error("1 WFQ {1, maybe, 1}"),
            "line 1: {1, maybe, 1}: \"maybe\": expected true for a node or false for a flow"
        );
        assert_eq!(error("1 WFQ {2, true, 1}"), "line 1: node 2 has no line of its own");
        assert_eq!(error("1 pFabric {2, true, 1}"), "line 1: {2, true, 1}: a pFabric node has flows only");
        assert_eq!(error("1 SP {1, false, 1}\n1 SP {2, false, 1}"), "line 2: duplicate node 1; line 1 has it as well");
        assert_eq!(
            error("1 SP {2, true, 1} {2, true, 2}\n2 SP {1, false, 1}"),
            "line 1: node 2 is a child of node 1 as well; expected one parent"
        );
        assert_eq!(
            error("1 SP {5, false, 1} {2, true, 2}\n2 SP {5, false, 1}"),
            "line 2: flow 5 is a child of node 1 as well; expected one parent"
        );
        assert_eq!(
            error("1 SP {2, true, 1}\n2 SP {1, true, 1}"),
            "line 1: node 1 is in a cycle; expected a root that is not a child of any node"
        );
        assert_eq!(
            error("1 SP {1, false, 1}\n2 SP {3, true, 1}\n3 SP {2, true, 1}"),
            "line 2: node 2 is in a cycle that the root does not reach"
        );
        assert_eq!(
            error("1 SP {1, false, 1}\n2 SP {2, false, 1}"),
            "line 2: node 2 has no parent, and neither has node 1; expected one root"
        );
    }
}
