//! Two queues: the first one is served first, and each has room of its own.
//!
//! `cargo run -p pifolab-queues --example two_priorities`

use pifolab_queues::{Capacity, Packet, PriorityQueues, Queues};

fn main() {
    let mut queues: PriorityQueues = PriorityQueues::new(&[Capacity::Packets(1), Capacity::Bytes(3000)]);
    for (id, queue) in [(0, 1), (1, 0), (2, 1)] {
        assert!(queues.rooms()[queue].fits(1500));
        queues.push_fitting(queue, Packet { id, size: 1500, ..Packet::default() });
    }
    assert!(!queues.rooms()[1].fits(1), "3000 bytes wait there");
    let mut left = Vec::new();
    while let Some(queue) = queues.first() {
        left.extend(queues.pop_from(queue).map(|packet| packet.id));
    }
    println!("packets in the order in which they left: {left:?}");
    assert_eq!(left, [1, 0, 2]);
}
