//! FQ-CoDel serves a flow of one packet before the backlog of another flow.
//!
//! `cargo run -p pifolab-aqm --example fair_flows`

use pifolab_aqm::FqCodel;
use pifolab_sched::params::{Args, FromArgs};
use pifolab_sched::{Dequeued, Packet, Scheduler};
use pifolab_units::{Rank, Time};

fn main() {
    let mut queue = <FqCodel>::build(Args::new("fq-codel")).expect("all its parameters have defaults");
    for (id, flow) in [(0, 7), (1, 7), (2, 7), (3, 8)] {
        let packet = Packet { id, flow, size: 1514, rank: Rank::ZERO, arrival: Time::ZERO };
        assert!(queue.enqueue(packet, Time::ZERO).is_admitted());
    }
    let mut left = Vec::new();
    while let Dequeued::Packet { packet, .. } = queue.dequeue(Time::ZERO) {
        left.push((packet.flow, packet.id));
    }
    println!("flow and packet in the order in which they left: {left:?}");
    assert_eq!(left, [(7, 0), (8, 3), (7, 1), (7, 2)]);
}
