//! The same packets through four schedulers: how often a packet leaves while one of lower rank waits, and how many are lost.
//!
//! `cargo run -p pifolab-sched --example compare`

use pifolab_sched::schedulers::{Fifo, FifoParams, Packs, PacksParams, Pifo, PifoParams, SpPifo, SpPifoParams};
use pifolab_sched::{Capacity, Dequeued, Enqueued, Packet, Scheduler};
use pifolab_units::{Rank, Time};

/// Eleven packets arrive for every ten that leave; their ranks are uniform in 0..100.
fn run(name: &str, mut scheduler: impl Scheduler<Packet>) {
    let (mut waiting, mut inversions, mut lost) = ([0i64; 100], 0, 0);
    // Any generator will do; the library itself draws no random numbers.
    let mut state = 1u64;
    for id in 0..100_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let rank = (state >> 33) % 100;
        let packet = Packet { id, flow: 0, size: 1500, rank: Rank::from(rank as u32), arrival: Time::ZERO };
        waiting[rank as usize] += 1;
        // Refused and pushed-out packets are returned.
        let gone: Vec<Packet> = match scheduler.enqueue(packet, Time::ZERO) {
            Enqueued::Admitted { .. } => Vec::new(),
            Enqueued::Evicted { victims, .. } => victims.into_iter().collect(),
            Enqueued::Dropped { packet, .. } => vec![packet],
        };
        for packet in gone {
            waiting[packet.rank.get() as usize] -= 1;
            lost += 1;
        }
        if id % 11 != 0
            && let Dequeued::Packet { packet, .. } = scheduler.dequeue(Time::ZERO)
        {
            let rank = packet.rank.get() as usize;
            waiting[rank] -= 1;
            inversions += i32::from(waiting[..rank].iter().any(|count| *count > 0));
        }
    }
    println!("{name:8} {inversions:6} inversions, {lost:6} packets lost");
}

fn main() {
    run("fifo", Fifo::new(FifoParams { capacity: Capacity::Packets(80) }).unwrap());
    run("sp-pifo", SpPifo::new(SpPifoParams::uniform(8, 10)).unwrap());
    run("packs", Packs::new(PacksParams::uniform(8, 10, 20)).unwrap());
    run("pifo", Pifo::new(PifoParams::packets(80)).unwrap());
}
