//! A scheduler of your own that chooses the queue of an arriving packet: two queues, and a threshold between them.
//!
//! `cargo run -p pifolab-sched --example own_decider`

use pifolab_sched::{Arriving, Capacity, Decider, Dequeued, DropReason, Packet, Queued, Room, Scheduler, registers};
use pifolab_units::{Rank, Time};

/// Ranks below the threshold go to the first queue, which is served first; all others go to the second.
struct Threshold {
    lowest: Rank,
}

registers!(Threshold {} and { lowest });

impl Decider for Threshold {
    fn decide(&mut self, packet: Arriving, _queues: &[Room]) -> Result<usize, DropReason> {
        // A queue without room drops the packet.
        Ok(usize::from(packet.rank >= self.lowest))
    }
}

fn main() {
    let capacities = [Capacity::Packets(10), Capacity::Packets(40)];
    let mut scheduler: Queued<Threshold, Packet> =
        Queued::with_decider(Threshold { lowest: Rank::from(50u32) }, &capacities);
    for (id, rank) in [70u32, 20, 90, 10].into_iter().enumerate() {
        let packet = Packet { id: id as u64, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO };
        assert!(scheduler.enqueue(packet, Time::ZERO).is_admitted());
    }
    let mut left = Vec::new();
    while let Dequeued::Packet { packet, .. } = scheduler.dequeue(Time::ZERO) {
        left.push(packet.rank.get());
    }
    println!("ranks in the order in which they left: {left:?}");
    assert_eq!(left, [20, 10, 70, 90]);
}
