//! Compares trees with a second implementation of their rules, and checks properties that follow from the rules.

mod buffers;
mod building;
mod drawn;
mod fairness;
mod second_form;
mod shaping;

use pifolab_sched::schedulers::{Pifo, PifoParams};
use pifolab_sched::{Dequeued, Packet, Scheduler};
use pifolab_units::{Rank, Time};

/// Linear congruential numbers, identical on every machine.
struct Draws(u64);

impl Draws {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

fn packet(id: u64, flow: u32, size: u32, now: u64) -> Packet {
    Packet { id, flow, size, rank: Rank::from(id as u32 % 97), arrival: Time::from_ps(now) }
}

fn pop(tree: &mut impl Scheduler, now: u64) -> Option<Packet> {
    match tree.dequeue(Time::from_ps(now)) {
        Dequeued::Packet { packet, .. } => Some(packet),
        Dequeued::Empty => None,
        other => panic!("{other:?}"),
    }
}

fn pifo(packets: u32) -> Pifo {
    Pifo::new(PifoParams::packets(packets)).unwrap()
}
