//! FQ-CoDel: flows take turns by deficit round robin, new flows go first, and CoDel keeps each queue short.
//!
//! Source: RFC 8290 (2018), section 4, with the control loop of RFC 8289; the default queue discipline of Linux distributions.
//!
//! Parameters (defaults of RFC 8290, section 5.2):
//! - capacity (packets, default 10,240);
//! - quantum (bytes, default 1514), buckets (default 1024; a flow is the bucket flow mod buckets);
//! - target (5 ms) and interval (100 ms) of CoDel;
//! - drop batch: the most packets that leave at once when the capacity is exceeded (default 64);
//! - ECN: packets that can carry a mark are marked where CoDel would drop them (default off; RFC 8290, section 4.2.2).
//!
//! Cost: O(1) per operation; O(buckets) when the capacity is exceeded. A switch needs two lists of flows and, for each flow, a
//! deficit, CoDel's registers and a queue with arrival times.
//!
//! Deviation from PIFO: ranks are ignored. A full buffer drops from the head of the queue with the most bytes, half of
//! it but at most a batch ("pushed-out"; "full" for the arriving packet itself, which may be among them). CoDel drops
//! packets at dequeue ("aqm") or, with ECN, marks and sends them. A full buffer always drops.
//!
//! Deviations: flows are dense numbers and not hashed. CoDel drops nothing from a queue with a backlog of at most 1514
//! bytes, in the RFC one maximum packet.

mod options;

use crate::codel::{Codel, CodelTarget};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
pub use options::FqCodelParams;
use pifolab_sched::params::{Construct, ParamError};
use pifolab_sched::store::FlowLists;
use pifolab_sched::{
    Capacity, Dequeued, DropReason, Enqueued, Fact, Facts, Hints, Inspect, Item, Kept, Packet, Register, Room,
    Scheduler, Victims, WantedFacts,
};
use pifolab_units::Time;

/// FQ-CoDel.
///
/// ```
/// use pifolab_aqm::FqCodel;
/// use pifolab_sched::{Dequeued, Packet, Scheduler, params::{Args, FromArgs}};
/// use pifolab_units::{Rank, Time};
///
/// let mut fair = <FqCodel>::build(Args::new("fq-codel")).unwrap();
/// for (id, flow) in [(0, 0), (1, 0), (2, 0), (3, 1)] {
///     let packet = Packet { id, flow, size: 1500, rank: Rank::ZERO, arrival: Time::ZERO };
///     assert!(fair.enqueue(packet, Time::ZERO).is_admitted());
/// }
/// // A quantum of 1514 bytes pays for a second packet of 1500 bytes, which is then owed.
/// for expected in [0, 1, 3, 2] {
///     let Dequeued::Packet { packet, .. } = fair.dequeue(Time::ZERO) else { panic!("four packets wait") };
///     assert_eq!(packet.id, expected);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct FqCodel<T = Packet> {
    flows: Box<[Flow<T>]>,
    lists: FlowLists,
    /// The account of everything held, without a bound: a packet is stored before others are pushed out.
    room: Room,
    capacity: u32,
    quantum: i64,
    set: CodelTarget,
    drop_batch: usize,
    ecn: bool,
    /// The id of the next arrival, if it can carry a mark.
    capable: Option<u64>,
    mark: bool,
}

/// A waiting packet.
#[derive(Clone, Debug)]
struct Held<T> {
    packet: T,
    arrival: Time,
    /// Whether it can carry a mark.
    capable: bool,
}

#[derive(Clone, Debug)]
struct Flow<T> {
    waiting: VecDeque<Held<T>>,
    bytes: u64,
    deficit: i64,
    listed: bool,
    codel: Codel,
}

/// The backlog from which CoDel drops nothing: a full Ethernet frame.
const MOST_BYTES: u64 = 1_514;

impl<T: Item> FqCodel<T> {
    /// An empty scheduler.
    ///
    /// # Errors
    /// A capacity without room, or a parameter out of range.
    pub fn new(params: FqCodelParams) -> Result<Self, ParamError> {
        params.check()?;
        let flow = || Flow { waiting: VecDeque::new(), bytes: 0, deficit: 0, listed: false, codel: Codel::default() };
        Ok(Self {
            flows: core::iter::repeat_with(flow).take(params.buckets as usize).collect(),
            lists: FlowLists::default(),
            room: Room::new(Capacity::Unlimited),
            capacity: params.capacity_packets,
            quantum: params.quantum_bytes.into(),
            set: CodelTarget { target: params.target, interval: params.interval, most_bytes: MOST_BYTES },
            drop_batch: params.drop_batch as usize,
            ecn: params.ecn,
            capable: None,
            mark: false,
        })
    }

    /// Takes the packet at the head of `bucket`.
    fn pop(&mut self, bucket: usize) -> Option<Held<T>> {
        let flow = &mut self.flows[bucket];
        let held = flow.waiting.pop_front()?;
        flow.bytes -= u64::from(held.packet.size());
        self.room.release(held.packet.size());
        Some(held)
    }

    /// The bucket with the most bytes, the first of equal ones.
    fn fattest(&self) -> usize {
        let bytes = |bucket: &usize| (self.flows[*bucket].bytes, core::cmp::Reverse(*bucket));
        (0..self.flows.len()).max_by_key(bytes).unwrap_or(0)
    }
}

impl<T: Item> Scheduler<T> for FqCodel<T> {
    fn enqueue(&mut self, packet: T, now: Time) -> Enqueued<T> {
        let (size, rank) = (packet.size(), packet.rank());
        let bucket = packet.flow() as usize % self.flows.len();
        let capable = self.capable.take() == Some(packet.id());
        let flow = &mut self.flows[bucket];
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.quantum;
            self.lists.add_new(bucket as u32);
        }
        flow.bytes += u64::from(size);
        flow.waiting.push_back(Held { packet, arrival: now, capable });
        self.room.take(size);
        if self.room.packets() <= self.capacity as usize {
            return Enqueued::Admitted { queue: 0, rank };
        }
        let fattest = self.fattest();
        let most = self.flows[fattest].waiting.len().div_ceil(2).min(self.drop_batch);
        let Held { packet: first, .. } = self.pop(fattest).expect("the queue of the most bytes holds a packet");
        if fattest == bucket && self.flows[bucket].waiting.is_empty() {
            return Enqueued::Dropped { packet: first, reason: DropReason::Full };
        }
        let mut victims = Victims::one(first);
        for _ in 1..most {
            if let Some(held) = self.pop(fattest) {
                victims.push(held.packet);
            }
        }
        Enqueued::Evicted { queue: 0, rank, victims }
    }

    fn dequeue(&mut self, now: Time) -> Dequeued<T> {
        loop {
            let Some((bucket, is_new)) = self.lists.first() else { return Dequeued::Empty };
            let flow = &mut self.flows[bucket as usize];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                self.lists.first_to_old();
                continue;
            }
            let Some(Held { packet, arrival, capable }) = self.pop(bucket as usize) else {
                let flow = &mut self.flows[bucket as usize];
                flow.codel.ran_empty();
                if is_new {
                    // The emptied flow waits a round: otherwise a flow that sends now and then would always go first.
                    self.lists.first_to_old();
                } else {
                    flow.listed = false;
                    self.lists.remove_first();
                }
                continue;
            };
            let flow = &mut self.flows[bucket as usize];
            if flow.codel.gives_up(&self.set, now.since(arrival), flow.bytes, now, capable) {
                if !capable {
                    return Dequeued::Dropped { packet, reason: DropReason::Aqm };
                }
                self.mark = true;
            }
            flow.deficit -= i64::from(packet.size());
            return Dequeued::Packet { packet, queue: 0 };
        }
    }

    fn hint(&mut self, id: u64, hints: &Hints) {
        self.capable = (self.ecn && hints.labels.ecn != 0).then_some(id);
    }

    fn wants(&self) -> WantedFacts {
        if self.ecn { WantedFacts::needed(Facts::one(Fact::Ecn)) } else { WantedFacts::NONE }
    }

    fn take_mark(&mut self) -> bool {
        core::mem::take(&mut self.mark)
    }
}

impl<T: Item> Inspect for FqCodel<T> {
    fn held(&self, queue: Option<usize>) -> pifolab_sched::Held {
        pifolab_sched::Held::in_one_queue(queue, || self.room.held())
    }

    fn capacity(&self) -> Capacity {
        Capacity::Packets(self.capacity)
    }

    fn registers(&self, each: &mut dyn FnMut(&dyn Register)) {
        each(&Kept::bytes(self.flows.len() * size_of::<Flow<T>>()));
    }
}

impl<T: Item> Construct for FqCodel<T> {
    type Params = FqCodelParams;

    fn construct(params: FqCodelParams) -> Result<Self, ParamError> {
        Self::new(params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use pifolab_sched::InspectExt;
    use pifolab_sched::params::{Args, FromArgs, Value};
    use pifolab_units::Rank;

    fn packet(id: u64, flow: u32, size: u32) -> Packet {
        Packet { id, flow, size, rank: Rank::ZERO, arrival: Time::ZERO }
    }

    fn fair(settings: &[(&'static str, i128)]) -> FqCodel {
        let mut args = Args::new("fq-codel");
        for (name, value) in settings {
            args.set(*name, Value::Integer(*value));
        }
        FqCodel::build(args).unwrap()
    }

    #[test]
    fn a_full_buffer_drops_half_of_the_longest_queue_from_its_head() {
        let mut fair = fair(&[("capacity_packets", 5)]);
        for (id, flow, size) in [(0, 0, 100), (1, 1, 900), (2, 1, 900), (3, 1, 900), (4, 0, 100)] {
            assert!(fair.enqueue(packet(id, flow, size), Time::ZERO).is_admitted());
        }
        let Enqueued::Evicted { victims, .. } = fair.enqueue(packet(5, 0, 100), Time::ZERO) else {
            panic!("the buffer is full")
        };
        assert_eq!(victims.iter().map(|packet| packet.id).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(fair.len(), 4);
    }

    #[test]
    fn a_packet_that_can_carry_a_mark_is_marked_where_it_would_be_given_up() {
        let settings = [("target_ns", 100), ("interval_ns", 400), ("quantum_bytes", 100_000)];
        let run = |ecn: bool, codepoint: u8| {
            let mut args = Args::new("fq-codel");
            for (name, value) in settings {
                args.set(name, Value::Integer(value));
            }
            args.set("ecn", Value::Flag(ecn));
            let mut fair = <FqCodel>::build(args).unwrap();
            assert_eq!(fair.wants().needs.contains(Fact::Ecn), ecn);
            for id in 0..40 {
                let labels = pifolab_sched::Labels { ecn: codepoint, ..Default::default() };
                fair.hint(id, &Hints { labels, ..Default::default() });
                assert!(fair.enqueue(packet(id, 0, 1_000), Time::ZERO).is_admitted());
            }
            let (mut dropped, mut marked, mut sent) = (Vec::new(), Vec::new(), 0);
            for ns in 0..400 {
                let now = Time::from_ns(1_000 + ns * 100);
                match fair.dequeue(now) {
                    Dequeued::Packet { packet, .. } => {
                        sent += 1;
                        marked.extend(fair.take_mark().then_some(packet.id));
                    }
                    Dequeued::Dropped { packet, .. } => {
                        assert!(!fair.take_mark());
                        dropped.push(packet.id);
                    }
                    _ => {}
                }
            }
            (dropped, marked, sent)
        };
        let (dropped, marked, sent) = run(true, 0);
        assert!(dropped.len() > 2 && marked.is_empty() && sent + dropped.len() == 40, "{dropped:?}");
        assert_eq!(run(false, 2), (dropped.clone(), marked, sent), "without the option codepoints play no part");
        for codepoint in [1, 2, 3] {
            let (dropped, marked, sent) = run(true, codepoint);
            assert!(dropped.is_empty() && marked.len() > 2 && sent == 40, "{marked:?}");
        }
        // The first packet is marked when it would have been dropped.
        assert_eq!(run(true, 2).1[0], dropped[0]);
    }

    #[test]
    fn a_flow_that_has_just_begun_goes_before_those_that_wait() {
        let mut fair = fair(&[("quantum_bytes", 100)]);
        for id in 0..3 {
            assert!(fair.enqueue(packet(id, 0, 100), Time::ZERO).is_admitted());
        }
        assert!(matches!(fair.dequeue(Time::ZERO), Dequeued::Packet { packet, .. } if packet.id == 0));
        assert!(fair.enqueue(packet(9, 1, 100), Time::ZERO).is_admitted());
        assert!(matches!(fair.dequeue(Time::ZERO), Dequeued::Packet { packet, .. } if packet.id == 9));
    }

    #[test]
    fn a_packet_that_waited_too_long_for_an_interval_is_given_up_at_dequeue() {
        let mut fair = fair(&[("target_ns", 1_000), ("interval_ns", 2_000)]);
        for id in 0..9 {
            assert!(fair.enqueue(packet(id, 0, 1_000), Time::ZERO).is_admitted());
        }
        assert!(matches!(fair.dequeue(Time::from_ns(1_000)), Dequeued::Packet { packet, .. } if packet.id == 0));
        let outcome = fair.dequeue(Time::from_ns(3_000));
        assert!(matches!(outcome, Dequeued::Dropped { packet, reason: DropReason::Aqm } if packet.id == 1));
        assert!(matches!(fair.dequeue(Time::from_ns(3_000)), Dequeued::Packet { packet, .. } if packet.id == 2));
    }
}
