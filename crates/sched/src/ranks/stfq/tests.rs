use super::*;
use crate::params::Value;
use crate::{Capacity, Dequeued, DropReason, Enqueued, Held, Inspect, Item, Ranked, Scheduler, Victims};
use alloc::collections::BTreeMap;
use alloc::string::ToString;
use pifolab_units::Bytes;
use proptest::prelude::*;

fn packet(id: u64, flow: u32, size: u32) -> Packet {
    Packet { id, flow, size, rank: Rank::ZERO, arrival: Time::ZERO }
}

fn in_bytes() -> StfqParams {
    StfqParams { scale: 1, ..StfqParams::default() }
}

/// The simplest ideal PIFO: a sorted map by (rank, order of arrival) that pushes out the largest when full.
struct PlainPifo {
    packets: BTreeMap<(Rank, u64), Packet>,
    limit: usize,
    arrivals: u64,
}

impl PlainPifo {
    fn new(limit: usize) -> Self {
        Self { packets: BTreeMap::new(), limit, arrivals: 0 }
    }
}

impl Scheduler for PlainPifo {
    fn enqueue(&mut self, packet: Packet, _now: Time) -> Enqueued {
        let rank = packet.rank;
        self.packets.insert((rank, self.arrivals), packet);
        self.arrivals += 1;
        if self.packets.len() <= self.limit {
            return Enqueued::Admitted { queue: 0, rank };
        }
        let ((_, order), largest) = self.packets.pop_last().expect("it holds more than the limit");
        if order + 1 == self.arrivals {
            Enqueued::Dropped { packet: largest, reason: DropReason::Full }
        } else {
            Enqueued::Evicted { queue: 0, rank, victims: Victims::one(largest) }
        }
    }
    fn dequeue(&mut self, _now: Time) -> Dequeued {
        self.packets.pop_first().map_or(Dequeued::Empty, |(_, packet)| Dequeued::Packet { packet, queue: 0 })
    }
}

impl Inspect for PlainPifo {
    fn held(&self, queue: Option<usize>) -> Held {
        let bytes = Bytes(self.packets.values().map(|packet| u64::from(packet.size)).sum());
        Held::in_one_queue(queue, || Held { packets: self.packets.len(), bytes })
    }
    fn capacity(&self) -> Capacity {
        Capacity::Packets(self.limit as u32)
    }
}

fn send(scheduler: &mut impl Scheduler) -> Packet {
    let Dequeued::Packet { packet, .. } = scheduler.dequeue(Time::ZERO) else { panic!("a packet waits") };
    packet
}

#[test]
fn a_flow_of_weight_two_gets_two_packets_for_one() {
    let stfq = Stfq::new(StfqParams { weights: alloc::vec![2, 1], ..StfqParams::default() }).unwrap();
    let mut scheduler = Ranked::new(stfq, PlainPifo::new(100));
    for id in 0..6 {
        assert!(scheduler.enqueue(packet(id, 0, 1000), Time::ZERO).is_admitted());
        assert!(scheduler.enqueue(packet(100 + id, 1, 1000), Time::ZERO).is_admitted());
    }
    let flows: Vec<u32> = (0..9).map(|_| send(&mut scheduler).flow).collect();
    assert_eq!(flows.iter().filter(|flow| **flow == 0).count(), 6);
    // Start tags 0, 500, 1000, ... against 0, 1000, 2000, ...; ties leave in order of arrival.
    assert_eq!(flows, [0, 1, 0, 1, 0, 0, 1, 0, 0]);
}

#[test]
fn a_flow_that_returns_starts_at_the_virtual_time_and_claims_no_past() {
    let mut stfq = Stfq::new(in_bytes()).unwrap();
    for id in 0..10 {
        let mut sent = packet(id, 0, 100);
        sent.rank = stfq.rank(&sent, Time::ZERO);
        stfq.on_dequeue(&sent, Time::ZERO);
    }
    assert_eq!(stfq.rank(&packet(99, 1, 100), Time::ZERO), Rank::from(900));
}

#[test]
fn virtual_time_falls_only_if_told_to_follow() {
    for (virtual_time, expected) in [(VirtualTime::Monotone, 700), (VirtualTime::Follow, 300)] {
        let mut stfq = Stfq::new(StfqParams { virtual_time, ..in_bytes() }).unwrap();
        for rank in [700, 300] {
            stfq.on_dequeue(&Packet { rank: Rank::from(rank), ..packet(0, 0, 100) }, Time::ZERO);
        }
        assert_eq!(stfq.rank(&packet(1, 1, 100), Time::ZERO), Rank::from(expected));
    }
}

#[test]
fn a_dropped_packet_gives_its_share_back_unless_switched_off() {
    for (give_back, expected) in [(true, 100), (false, 200)] {
        let mut stfq = Stfq::new(StfqParams { give_back, ..in_bytes() }).unwrap();
        stfq.rank(&packet(0, 0, 100), Time::ZERO);
        let mut refused = packet(1, 0, 100);
        refused.rank = stfq.rank(&refused, Time::ZERO);
        stfq.on_drop(&refused, Time::ZERO);
        assert_eq!(stfq.rank(&packet(2, 0, 100), Time::ZERO), Rank::from(expected));
    }
}

#[test]
fn an_evicted_packet_gives_back_to_its_own_flow_not_to_the_arrival_s() {
    let mut scheduler = Ranked::new(Stfq::new(in_bytes()).unwrap(), PlainPifo::new(2));
    assert!(scheduler.enqueue(packet(0, 0, 100), Time::ZERO).is_admitted());
    assert!(scheduler.enqueue(packet(1, 0, 100), Time::ZERO).is_admitted());
    let outcome = scheduler.enqueue(packet(2, 1, 50), Time::ZERO);
    let Enqueued::Evicted { victims, .. } = outcome else { panic!("rank 100 leaves for rank 0: {outcome:?}") };
    assert_eq!(victims.iter().map(|victim| victim.id).collect::<Vec<_>>(), [1]);
    // Flow 0 is back at 100; flow 1 stands at 50.
    let mut stfq = scheduler.rank_fn().clone();
    assert_eq!(stfq.rank(&packet(3, 0, 1), Time::ZERO), Rank::from(100));
    assert_eq!(stfq.rank(&packet(4, 1, 1), Time::ZERO), Rank::from(50));
}

#[test]
fn ranks_are_in_1024ths_of_a_byte_by_default() {
    let mut stfq = Stfq::build(Args::new("stfq")).unwrap();
    stfq.rank(&packet(0, 0, 1500), Time::ZERO);
    assert_eq!(stfq.rank(&packet(1, 0, 1500), Time::ZERO), Rank::from(1500 * 1024));
}

#[test]
fn parameters_from_text_are_checked() {
    let mut args = Args::new("stfq");
    args.set("weights", Value::List(alloc::vec![Value::Integer(3), Value::Integer(0)]));
    let error = Stfq::build(args).unwrap_err();
    assert_eq!(error.to_string(), "stfq: weights = 0: expected a list of integers from 1 to 1048576");
    let mut args = Args::new("stfq");
    args.set("weights", Value::Text("1,2".into()));
    let said = "stfq: weights = \"1,2\": expected a list of integers from 1 to 1048576, such as [1, 2]";
    assert_eq!(Stfq::build(args).unwrap_err().to_string(), said);
    let mut args = Args::new("stfq");
    args.set("wieghts", Value::Integer(1));
    assert_eq!(Stfq::build(args).unwrap_err().expected, "unknown key; did you mean weights?");
    assert_eq!(Stfq::new(StfqParams { scale: 0, ..in_bytes() }).unwrap_err().key, "scale");
    assert_eq!(Stfq::new(StfqParams { weights: alloc::vec![0], ..in_bytes() }).unwrap_err().key, "weights");
}

#[test]
fn relative_ranks_say_how_far_a_flow_is_ahead_of_the_port() {
    let mut stfq = Stfq::new(StfqParams { relative: true, ..in_bytes() }).unwrap();
    let offer = |stfq: &mut Stfq, id, flow| Packet {
        rank: stfq.rank(&packet(id, flow, 100), Time::ZERO),
        ..packet(id, flow, 100)
    };
    let first: Vec<_> = (0..3).map(|id| offer(&mut stfq, id, 0)).collect();
    assert_eq!(first.iter().map(|packet| packet.rank.get()).collect::<Vec<_>>(), [0, 100, 200]);
    stfq.on_dequeue(&first[0], Time::ZERO);
    stfq.on_dequeue(&first[1], Time::ZERO);
    // V is 100 now: flow 0's next start tag is 300, another flow starts at once.
    let fourth = offer(&mut stfq, 3, 0);
    assert_eq!((fourth.rank.get(), offer(&mut stfq, 4, 1).rank.get()), (200, 0));
    // The tag of a dropped packet is forgotten, and its share is given back.
    stfq.on_drop(&fourth, Time::ZERO);
    assert_eq!(offer(&mut stfq, 5, 0).rank.get(), 200);
    // A packet with the id of one whose departure was not reported replaces it.
    let again = offer(&mut stfq, 5, 2);
    stfq.on_dequeue(&again, Time::ZERO);
    assert_eq!(stfq.now, 100);
}

proptest! {
    #![proptest_config(pifolab_testkit::cases(256))]

    /// Under a scheduler that reads no ranks the relative rank is the absolute one less the virtual time, at each arrival.
    #[test]
    fn relative_ranks_are_start_tags_less_the_virtual_time(
        steps in proptest::collection::vec((0_u32..4, 1_u32..2000, 0_usize..3), 1..pifolab_testkit::steps(200, 60) as usize),
        follow in any::<bool>(),
    ) {
        let virtual_time = if follow { VirtualTime::Follow } else { VirtualTime::Monotone };
        let params = StfqParams { virtual_time, ..StfqParams::default() };
        let mut absolute = Stfq::new(params.clone()).unwrap();
        let mut relative = Stfq::new(StfqParams { relative: true, ..params }).unwrap();
        let mut queue = alloc::collections::VecDeque::new();
        for (id, (flow, size, leave)) in (0..).zip(steps) {
            let offered = packet(id, flow, size);
            let ranks = (absolute.rank(&offered, Time::ZERO), relative.rank(&offered, Time::ZERO));
            prop_assert_eq!(ranks.0.get() - absolute.now, ranks.1.get());
            if queue.len() == 5 {
                absolute.on_drop(&Packet { rank: ranks.0, ..offered.describe(Time::ZERO) }, Time::ZERO);
                relative.on_drop(&Packet { rank: ranks.1, ..offered }, Time::ZERO);
            } else {
                queue.push_back((offered, ranks));
            }
            for _ in 0..leave {
                let Some((sent, ranks)) = queue.pop_front() else { break };
                absolute.on_dequeue(&Packet { rank: ranks.0, ..sent.describe(Time::ZERO) }, Time::ZERO);
                relative.on_dequeue(&Packet { rank: ranks.1, ..sent }, Time::ZERO);
            }
            prop_assert_eq!(absolute.now, relative.now);
            prop_assert_eq!(relative.held.as_ref().map(Vec::len), Some(queue.len()));
        }
    }

    /// Goyal et al., Theorem 1: in any interval in which flows f and m stay backlogged, what they send divided by
    /// their weights differs by at most l_f/w_f + l_m/w_m. Flow 2 comes and goes. Weights are powers of two, so that
    /// the tags are exact.
    #[test]
    fn backlogged_flows_share_by_weight_within_one_packet_of_each(
        exponents in proptest::array::uniform3(0u32..4),
        steps in proptest::collection::vec((40u32..=1500, 40u32..=1500, proptest::option::of(40u32..=1500)), 1..pifolab_testkit::steps(400, 60) as usize),
    ) {
        let weights: Vec<u32> = exponents.iter().map(|exponent| 1 << exponent).collect();
        let stfq = Stfq::new(StfqParams { weights: weights.clone(), ..StfqParams::default() }).unwrap();
        let mut scheduler = Ranked::new(stfq, PlainPifo::new(usize::MAX));
        let mut waiting = [0u32; 3];
        let mut sent = [0i64; 2];
        let (mut lead, mut highest, mut lowest) = (0i64, 0i64, 0i64);
        let mut id = 0;
        for (first, second, third) in steps {
            for (flow, size) in [(0u32, Some(first)), (1, Some(second)), (2, third)] {
                // Flows 0 and 1 always have a packet waiting; flow 2 sends when the drawn case has a packet for it.
                while let Some(size) = size.filter(|_| flow == 2 || waiting[flow as usize] < 2) {
                    prop_assert!(scheduler.enqueue(packet(id, flow, size), Time::ZERO).is_admitted());
                    id += 1;
                    waiting[flow as usize] += 1;
                    if flow == 2 {
                        break;
                    }
                }
            }
            let left = send(&mut scheduler);
            waiting[left.flow as usize] -= 1;
            if left.flow < 2 {
                sent[left.flow as usize] += i64::from(left.size);
                lead = sent[0] * 8 / i64::from(weights[0]) - sent[1] * 8 / i64::from(weights[1]);
                highest = highest.max(lead);
                lowest = lowest.min(lead);
            }
        }
        let bound: i64 = weights[..2].iter().map(|weight| 1500 * 8 / i64::from(*weight)).sum();
        prop_assert!(highest - lowest <= bound, "{} apart, bound {bound} (bytes x 8)", highest - lowest);
        prop_assert!(lead.abs() <= bound);
    }
}
