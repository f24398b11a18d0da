//! Faults of trees at their construction, and classifiers.

use super::{packet, pop};
use pifolab_sched::{DropReason, Enqueued, Packet, Scheduler};
use pifolab_tree::{Charge, Discipline, Field, Node};
use pifolab_units::{Rank, Time};

#[test]
fn a_tree_that_cannot_be_built_is_refused_with_the_path() {
    let error = |node: Node| node.build().map(|_| ()).unwrap_err().to_string();
    let leaf = |flow: u64| Node::fifo().takes([flow..=flow]);
    let strict = || Node::inner(Discipline::Strict);
    assert_eq!(error(strict()), "tree: child is missing: expected at least one child");
    assert_eq!(
        error(strict().child(leaf(0)).child(strict().label("tenants").child(leaf(1).weight(0)))),
        "tree.tenants.0: weight = 0: expected a weight above 0"
    );
    assert_eq!(
        error(strict().child(leaf(0).label("web").child(leaf(1)))),
        "tree.web: child = { ... }: expected no children, since this is a leaf"
    );
    assert_eq!(
        error(strict().child(strict().takes([3..=9]).child(leaf(0)))),
        "tree.0: takes = [3..=9]: expected no values: only a leaf takes packets"
    );
    assert_eq!(
        error(strict().child(leaf(0).label("a")).child(leaf(1).label("a"))),
        "tree.a: label = \"a\": expected each child of a node once, but a sibling has the same label"
    );
    assert_eq!(
        error(strict().child(leaf(0).label("a").charge(Charge::Arrival))),
        "tree.a: charge = \"arrival\": expected the charge of a tree at its root alone"
    );
    assert_eq!(
        error(strict().child(leaf(0)).child(Node::fifo().label("web"))),
        "tree.web: takes is missing: expected values of flow that this leaf takes, or the rest"
    );
    assert_eq!(
        error(strict().child(leaf(3)).child(Node::fifo().takes([0..=2, 3..=4]))),
        "tree.1: takes = 3: expected each flow in one leaf, but leaf 0 takes it as well"
    );
    assert_eq!(
        error(strict().child(Node::fifo().takes_the_rest()).child(Node::fifo().takes_the_rest())),
        "tree.1: takes = \"rest\": expected one such leaf, but leaf 0 takes the rest as well"
    );
}

#[test]
fn a_tree_of_ten_thousand_nodes_inside_one_another_serves_every_flow() {
    let nodes = pifolab_testkit::steps(10_000, 100);
    for charge in [Charge::Departure, Charge::Arrival] {
        let leaf = |flow: u64| Node::fifo().takes([flow..=flow]);
        let deepest = Node::inner(Discipline::Strict).child(leaf(0));
        let deep = (1..nodes).fold(deepest, |below, flow| {
            let discipline = if flow % 2 == 0 { Discipline::Strict } else { Discipline::Stfq };
            Node::inner(discipline).child(leaf(flow)).child(below.priority(1))
        });
        let mut tree = deep.charge(charge).build().unwrap();
        for flow in [0, nodes / 2, nodes - 1] {
            assert!(tree.enqueue(packet(flow, flow as u32, 100, 0), Time::ZERO).is_admitted());
        }
        let mut sent: Vec<_> = std::iter::from_fn(|| pop(&mut tree, 0)).map(|packet| packet.id).collect();
        sent.sort_unstable();
        assert_eq!(sent, [0, nodes / 2, nodes - 1]);
    }
}

#[test]
fn a_function_that_names_a_leaf_that_there_is_not_drops_the_packet() {
    let leaves = Node::inner(Discipline::Strict).child(Node::fifo()).child(Node::fifo());
    let mut tree = leaves.build_with(Box::new(|packet, _| Some(packet.size / 1_000))).unwrap();
    assert!(tree.enqueue(packet(0, 0, 1_500, 0), Time::ZERO).is_admitted());
    let outcome = tree.enqueue(packet(1, 0, 9_000, 0), Time::ZERO);
    assert!(matches!(outcome, Enqueued::Dropped { reason: DropReason::Admission, .. }), "{outcome:?}");
    assert_eq!(pop(&mut tree, 0).map(|packet| packet.id), Some(0));
}

#[test]
fn packets_are_sorted_by_flow_size_or_rank() {
    for (field, offers) in [
        (Field::Flow, [(5, 100, 9, Some(0)), (6, 100, 9, Some(1)), (70_000, 1, 1, Some(0)), (8, 5, 5, None)]),
        (Field::Size, [(0, 5, 9, Some(0)), (0, 1_500, 9, None), (0, 6, 1, Some(1)), (0, 70_000, 0, Some(0))]),
        (Field::Rank, [(0, 9, 5, Some(0)), (0, 9, 7, None), (0, 9, 6, Some(1)), (0, 9, 80_000, Some(0))]),
    ] {
        let mut tree = Node::inner(Discipline::Strict)
            .child(Node::fifo().takes([5..=5, 60_000..=90_000]))
            .child(Node::fifo().takes([6..=6]))
            .build_by(field)
            .unwrap();
        for (flow, size, rank, leaf) in offers {
            let offer = Packet { id: 0, flow, size, rank: Rank::from(rank), arrival: Time::ZERO };
            match (tree.enqueue(offer, Time::ZERO), leaf) {
                (Enqueued::Admitted { queue, .. }, Some(leaf)) => assert_eq!(queue, leaf, "{field:?}"),
                (Enqueued::Dropped { reason: DropReason::Admission, .. }, None) => {}
                (outcome, leaf) => panic!("{field:?}: {outcome:?}, expected leaf {leaf:?}"),
            }
        }
    }
}
