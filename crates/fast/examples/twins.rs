//! The twin of PACKS decides as the paper's loop does.
//!
//! `cargo run -p pifolab-fast --example twins`

use pifolab_fast::{Form, Packs, scheduler};
use pifolab_sched::Packet;
use pifolab_sched::schedulers::PacksParams;
use pifolab_units::{Rank, Time};

fn main() {
    let params = PacksParams::uniform(8, 10, 1000);
    let mut fast = scheduler::<Packs>(params.clone(), Form::Twins).expect("the parameters are valid");
    let mut plain = scheduler::<Packs>(params, Form::Plain).expect("the parameters are valid");
    let (mut admitted, mut dropped) = (0, 0);
    for id in 0..1000 {
        let rank = Rank::from((id * 37 % 101) as u32);
        let packet = || Packet { id, flow: 0, size: 1500, rank, arrival: Time::ZERO };
        let outcome = fast.enqueue(packet(), Time::ZERO).is_admitted();
        assert_eq!(outcome, plain.enqueue(packet(), Time::ZERO).is_admitted());
        if outcome {
            admitted += 1
        } else {
            dropped += 1
        }
        if id % 2 == 0 {
            assert_eq!(format!("{:?}", fast.dequeue(Time::ZERO)), format!("{:?}", plain.dequeue(Time::ZERO)));
        }
    }
    println!("both admitted {admitted} packets and dropped {dropped}");
    assert!(admitted > 500 && dropped > 0);
}
