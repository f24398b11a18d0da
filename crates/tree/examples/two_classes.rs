//! A tree that serves two flows in turn.
//!
//! `cargo run -p pifolab-tree --example two_classes`

use pifolab_sched::{Dequeued, Packet, Scheduler};
use pifolab_tree::{Discipline, Node};
use pifolab_units::{Rank, Time};

fn main() {
    let leaf = |flow: u64| Node::fifo().takes([flow..=flow]);
    let root = Node::inner(Discipline::RoundRobin).child(leaf(0)).child(leaf(1));
    let mut tree = root.build().expect("the tree is complete");
    for (id, flow) in [(0, 0), (1, 0), (2, 1), (3, 1)] {
        let packet = Packet { id, flow, size: 1500, rank: Rank::ZERO, arrival: Time::ZERO };
        assert!(tree.enqueue(packet, Time::ZERO).is_admitted());
    }
    let mut left = Vec::new();
    while let Dequeued::Packet { packet, .. } = tree.dequeue(Time::ZERO) {
        left.push(packet.id);
    }
    println!("packets in the order in which they left: {left:?}");
    assert_eq!(left, [0, 2, 1, 3]);
}
