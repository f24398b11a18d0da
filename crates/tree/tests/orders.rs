//! Nodes of trees whose children a decider orders: packets are conserved, and a refusal by a leaf changes no state.

use pifolab_aqm::{CodelPolicy, Managed};
use pifolab_sched::schedulers::{
    ExpPifo, ExpPifoParams, Fifo, FifoParams, Packs, PacksParams, Pifo, PifoParams, SpPifo, SpPifoParams,
    StrictPriority, StrictPriorityParams,
};
use pifolab_sched::{Capacity, Decider, Dequeued, Enqueued, InspectExt, Packet, Scheduler};
use pifolab_tree::{Charge, Discipline, Node, Tree};
use pifolab_units::{Rank, Span, Time};

struct Draws(u64);

impl Draws {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

type Order = (Box<dyn Decider + Send>, Vec<Capacity>);

fn parts<D: Decider + Send + 'static>((decider, capacities): (D, Vec<Capacity>)) -> Order {
    (Box::new(decider), capacities)
}

fn orders() -> Vec<(&'static str, Order)> {
    let bytes = PacksParams { capacities: vec![Capacity::Bytes(9_000); 4], ..PacksParams::uniform(4, 6, 20) };
    vec![
        ("sp-pifo", parts(<SpPifo>::new(SpPifoParams::uniform(4, 6)).unwrap().into_parts())),
        ("packs", parts(<Packs>::new(PacksParams::uniform(4, 6, 20)).unwrap().into_parts())),
        ("packs in bytes", parts(<Packs>::new(bytes).unwrap().into_parts())),
        ("exp-pifo", parts(<ExpPifo>::new(ExpPifoParams::uniform(4, 6)).unwrap().into_parts())),
    ]
}

fn fifo(packets: u32) -> Node {
    let fifo: Fifo = Fifo::new(FifoParams { capacity: Capacity::Packets(packets) }).unwrap();
    Node::leaf(fifo)
}

fn packet(id: u64, flow: u32, rank: u32, size: u32) -> Packet {
    Packet { id, flow, size, rank: Rank::from(rank), arrival: Time::ZERO }
}

#[test]
fn a_decider_orders_all_that_waits_whatever_leaves_refuse_push_out_or_give_up() {
    for (name, (decider, capacities)) in orders() {
        let codel = CodelPolicy::new(Span::from_ns(40), Span::from_ns(100), 1);
        let below = <Pifo>::new(PifoParams::packets(9)).unwrap();
        let managed: Box<dyn Scheduler + Send> = Box::new(Managed::new(codel, below));
        let pifo: Pifo = Pifo::new(PifoParams::packets(3)).unwrap();
        let mut tree: Tree = Node::inner(Discipline::Stfq)
            .child(fifo(2).takes([0..=0]))
            .child(Node::leaf(pifo).takes([1..=1]))
            .child(Node::leaf(managed).takes([2..=2]))
            .ordered_by(decider, capacities)
            .build()
            .unwrap();
        let (mut draws, mut held, mut gone) = (Draws(5), 0, [0; 3]);
        let steps = pifolab_testkit::steps(20_000, 200);
        for step in 0..2 * steps {
            let now = Time::from_ns(step * 10);
            if step < steps && draws.below(9) < 5 {
                let size = 40 + draws.below(1_460) as u32;
                held += 1;
                match tree.enqueue(packet(step, draws.below(3) as u32, draws.below(50) as u32, size), now) {
                    Enqueued::Admitted { .. } => {}
                    Enqueued::Evicted { victims, .. } => {
                        held -= victims.len();
                        gone[0] += 1;
                    }
                    Enqueued::Dropped { .. } => {
                        held -= 1;
                        gone[1] += 1;
                    }
                }
            } else {
                match tree.dequeue(now) {
                    Dequeued::Packet { .. } => held -= 1,
                    Dequeued::Dropped { .. } => {
                        held -= 1;
                        gone[2] += 1;
                    }
                    Dequeued::Empty => assert_eq!(held, 0, "{name}: step {step}"),
                    Dequeued::NotBefore(time) => panic!("{name}: nothing holds a packet back until {time}"),
                }
            }
            assert_eq!(tree.len(), held, "{name}: step {step}");
        }
        assert_eq!(held, 0, "{name}");
        assert!(cfg!(miri) || gone.iter().all(|packets| *packets > 9), "{name}: {gone:?}");
    }
}

#[test]
fn what_is_refused_below_a_decider_leaves_no_trace_in_turns_and_shares() {
    // With one queue per rank, the decider's order is that of a PIFO.
    type Make = fn() -> Discipline;
    let disciplines: [Make; 3] =
        [|| Discipline::RoundRobin, || Discipline::Drr { quantum_bytes: 2 }, || Discipline::Stfq];
    for discipline in disciplines {
        let node = || {
            let children = (0..3u64).map(|flow| fifo(2).takes([flow..=flow]).weight(1));
            children.fold(Node::inner(discipline()), Node::child)
        };
        let queues = 1_024;
        let (decider, capacities) =
            <StrictPriority>::new(StrictPriorityParams::uniform(queues, 1_000, queues as u64)).unwrap().into_parts();
        let mut exact = node().charge(Charge::Arrival).build().unwrap();
        let mut decided = node().ordered_by(Box::new(decider), capacities).build().unwrap();
        let (mut draws, mut refused) = (Draws(11), 0);
        for id in 0..500 {
            if draws.below(3) < 2 {
                // The first child offers more than the others, and most of its packets are refused.
                let flow = [0, 0, 0, 0, 1, 2][draws.below(6) as usize];
                let size = 1 + draws.below(3) as u32;
                let outcome = exact.enqueue(packet(id, flow, 0, size), Time::ZERO);
                refused += usize::from(!outcome.is_admitted());
                assert_eq!(decided.enqueue(packet(id, flow, 0, size), Time::ZERO), outcome);
            } else {
                let expected = exact.dequeue(Time::ZERO);
                assert_eq!(decided.dequeue(Time::ZERO), expected, "{:?}: operation {id}", discipline());
            }
        }
        assert!(refused > 50, "{refused}");
    }
}
