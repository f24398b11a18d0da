//! DRR, Deficit Round Robin: each flow in turn sends a quantum of bytes, and keeps the unused rest for its next turn.
//!
//! Paper: Shreedhar, Varghese, "Efficient Fair Queuing using Deficit Round Robin", SIGCOMM 1995, section 3.
//!
//! Parameters:
//! - capacity (packets, default 80, or bytes), and the most packets of one flow (packets; default: only the capacity
//!   limits a flow);
//! - quantum Q (bytes, default 1514);
//! - buckets (default 1024): a flow is the bucket flow mod buckets.
//!
//! A flow that becomes backlogged joins the end of the list with a deficit of 0. At its turn the deficit grows by Q,
//! and the flow sends packets as long as the deficit covers them. Then it goes to the end of the list or, if it is
//! empty, leaves the list and loses its deficit.
//!
//! Cost: O(1) per packet if Q is at least the largest packet. A switch needs a list of flows, and a deficit and a queue for
//! each flow.
//!
//! Deviation from PIFO: ranks are ignored. A packet that does not fit is dropped ("full"). If the capacity is the only
//! limit, a flow that offers more than its share fills the buffer, and arrivals of all flows are dropped alike: shares
//! are fair where the most packets of one flow are bounded, or where senders react to drops.
//!
//! Deviations: the paper drops from the longest queue (McKenney's buffer stealing) or from the tail, as an
//! implementation likes; here it is the tail. Linux's qdisc limits each flow, but not all together. With a quantum
//! smaller than the packets, several turns are skipped at once, which does not change the order.

use crate::inspect::inspect_room;
use crate::params::{self, Args, BUCKETS, Construct, FromArgs, Info, Param, ParamError, QUANTUM};
use crate::store::FlowLists;
use crate::{Capacity, Dequeued, DropReason, Enqueued, Inspect, Item, Kept, Packet, Register, Room, Scheduler};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use pifolab_units::Time;

/// The parameters of [`Drr`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrrParams {
    /// The capacity of all queues together.
    pub capacity: Capacity,
    /// The most packets of one flow; `None` if only the capacity limits it.
    pub flow_packets: Option<u32>,
    /// Bytes that a flow may send in a turn.
    pub quantum_bytes: u32,
    /// Queues that flows share.
    pub buckets: u32,
}

/// DRR.
///
/// ```
/// use pifolab_sched::{Capacity, Dequeued, Packet, Scheduler, schedulers::{Drr, DrrParams}};
/// use pifolab_units::{Rank, Time};
///
/// let capacity = Capacity::Packets(100);
/// let mut drr = Drr::new(DrrParams { capacity, flow_packets: None, quantum_bytes: 1000, buckets: 8 }).unwrap();
/// for (id, flow, size) in [(0, 0, 1000), (1, 0, 1000), (2, 1, 500), (3, 1, 500)] {
///     let packet = Packet { id, flow, size, rank: Rank::ZERO, arrival: Time::ZERO };
///     assert!(drr.enqueue(packet, Time::ZERO).is_admitted());
/// }
/// for expected in [0, 2, 3, 1] {
///     let Dequeued::Packet { packet, .. } = drr.dequeue(Time::ZERO) else { panic!("four packets wait") };
///     assert_eq!(packet.id, expected);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Drr<T = Packet> {
    flows: Box<[Flow<T>]>,
    lists: FlowLists,
    room: Room,
    flow_packets: usize,
    quantum: u64,
    /// Whether the first flow of the list has received its quantum for this turn.
    in_turn: bool,
}

#[derive(Clone, Debug)]
struct Flow<T> {
    waiting: VecDeque<T>,
    deficit: u64,
}

impl<T: Item> Drr<T> {
    /// An empty scheduler.
    ///
    /// # Errors
    /// A capacity without room, or a parameter out of range.
    pub fn new(params: DrrParams) -> Result<Self, ParamError> {
        params::check_capacity(DrrParams::INFO.name, params.capacity)?;
        if let Some(most) = params.flow_packets {
            FLOW_PACKETS.check(DrrParams::INFO.name, most)?;
        }
        QUANTUM.check(DrrParams::INFO.name, params.quantum_bytes)?;
        BUCKETS.check(DrrParams::INFO.name, params.buckets)?;
        let flow = || Flow { waiting: VecDeque::new(), deficit: 0 };
        Ok(Self {
            flows: core::iter::repeat_with(flow).take(params.buckets as usize).collect(),
            lists: FlowLists::default(),
            room: Room::new(params.capacity),
            flow_packets: params.flow_packets.map_or(usize::MAX, |most| most as usize),
            quantum: params.quantum_bytes.into(),
            in_turn: false,
        })
    }
}

impl<T: Item> Scheduler<T> for Drr<T> {
    fn enqueue(&mut self, packet: T, _now: Time) -> Enqueued<T> {
        let bucket = packet.flow() as usize % self.flows.len();
        let flow = &mut self.flows[bucket];
        if !self.room.fits(packet.size()) || flow.waiting.len() >= self.flow_packets {
            return Enqueued::Dropped { packet, reason: DropReason::Full };
        }
        if flow.waiting.is_empty() {
            flow.deficit = 0;
            self.lists.add_old(bucket as u32);
        }
        self.room.take(packet.size());
        let rank = packet.rank();
        flow.waiting.push_back(packet);
        Enqueued::Admitted { queue: 0, rank }
    }

    fn dequeue(&mut self, _now: Time) -> Dequeued<T> {
        // Only backlogged flows are in the list. With a tiny quantum there are whole rounds in which no flow can send.
        // After one such round, `skip_rounds` skips the others at once.
        let mut unserved = 0;
        loop {
            let Some((bucket, _)) = self.lists.first() else { return Dequeued::Empty };
            let flow = &mut self.flows[bucket as usize];
            if !self.in_turn {
                flow.deficit += self.quantum;
                self.in_turn = true;
            }
            let next = flow.waiting.front().map_or(0, |packet| u64::from(packet.size()));
            if next > flow.deficit {
                self.lists.first_to_old();
                self.in_turn = false;
                unserved += 1;
                if unserved == self.lists.flows() {
                    self.skip_rounds();
                    unserved = 0;
                }
                continue;
            }
            let Some(packet) = flow.waiting.pop_front() else { return Dequeued::Empty };
            flow.deficit -= next;
            self.room.release(packet.size());
            if flow.waiting.is_empty() {
                self.lists.remove_first();
                self.in_turn = false;
            }
            return Dequeued::Packet { packet, queue: 0 };
        }
    }
}

impl<T: Item> Drr<T> {
    /// Adds to every flow the quanta of the rounds in which none of them can send.
    #[cold]
    fn skip_rounds(&mut self) {
        let Self { flows, lists, quantum, .. } = self;
        let rounds = |flow: &Flow<T>| {
            let next = flow.waiting.front().map_or(0, |packet| u64::from(packet.size()));
            next.saturating_sub(flow.deficit).div_ceil(*quantum)
        };
        let least = lists.iter().map(|bucket| rounds(&flows[bucket as usize])).min().unwrap_or(0);
        for bucket in lists.iter() {
            flows[bucket as usize].deficit += least.saturating_sub(1) * *quantum;
        }
    }
}

impl<T: Item> Inspect for Drr<T> {
    inspect_room!(self => self.room);

    fn registers(&self, each: &mut dyn FnMut(&dyn Register)) {
        each(&Kept::bytes(self.flows.len() * size_of::<Flow<T>>()));
    }
}

impl<T: Item> Construct for Drr<T> {
    type Params = DrrParams;

    fn construct(params: DrrParams) -> Result<Self, ParamError> {
        Self::new(params)
    }
}

const FLOW_PACKETS: Param = Param::integer("flow_packets", 1, params::MAX_PACKETS)
    .unit("packets")
    .means("the capacity alone")
    .doc("The most packets of one flow. Without it a flow that offers too much fills the buffer, and all are dropped alike.");

impl FromArgs for DrrParams {
    const INFO: Info = Info {
        name: "drr",
        summary: "Deficit round robin: each flow in turn sends a quantum of bytes, and keeps the unused rest.",
        paper: "DRR, SIGCOMM 1995, section 3",
        effect: "Ranks are ignored: flows take turns, fairly in bytes.",
        state: "a list of flows, and for each flow a deficit and a queue",
        cost: "O(1) per operation if the quantum is at least the largest packet",
        params: &[params::CAPACITY_PACKETS, params::CAPACITY_BYTES, FLOW_PACKETS, QUANTUM, BUCKETS],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self {
            capacity: params::read_capacity(args)?,
            flow_packets: args.get(&FLOW_PACKETS)?,
            quantum_bytes: args.given(&QUANTUM)?,
            buckets: args.given(&BUCKETS)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use pifolab_units::Rank;

    fn drr(quantum_bytes: u32) -> Drr {
        let capacity = Capacity::Packets(1_000);
        Drr::new(DrrParams { capacity, flow_packets: None, quantum_bytes, buckets: 8 }).unwrap()
    }

    fn order(drr: &mut Drr, offers: &[(u32, u32)]) -> Vec<u64> {
        for (id, (flow, size)) in (0..).zip(offers) {
            let packet = Packet { id, flow: *flow, size: *size, rank: Rank::ZERO, arrival: Time::ZERO };
            assert!(drr.enqueue(packet, Time::ZERO).is_admitted());
        }
        let sent = core::iter::from_fn(|| match drr.dequeue(Time::ZERO) {
            Dequeued::Packet { packet, .. } => Some(packet.id),
            _ => None,
        });
        sent.collect()
    }

    #[test]
    fn what_a_flow_could_not_use_counts_in_its_next_turn() {
        // Figures 2 and 3 of the paper: a quantum of 500 and packets of 200, 750, 20; 500, 500; 200, 600, 100; 50, 700, 180.
        let sizes = [
            (0, 200),
            (0, 750),
            (0, 20),
            (1, 500),
            (1, 500),
            (2, 200),
            (2, 600),
            (2, 100),
            (3, 50),
            (3, 700),
            (3, 180),
        ];
        // Flow 0 sends 200 and keeps 300; in its second turn the deficit of 800 pays for 750 and 20.
        assert_eq!(order(&mut drr(500), &sizes), [0, 3, 5, 8, 1, 2, 4, 6, 7, 9, 10]);
    }

    #[test]
    fn rounds_in_which_no_flow_can_send_are_counted_without_a_walk() {
        let mut drr = drr(1);
        let large = 1 << 30;
        assert_eq!(order(&mut drr, &[(0, large), (1, large / 2), (0, 1), (1, 1)]), [1, 3, 0, 2]);
    }

    #[test]
    fn a_flow_that_ran_empty_forgets_its_deficit() {
        let mut drr = drr(1_000);
        assert_eq!(order(&mut drr, &[(0, 100)]), [0]);
        // Without the 900 bytes left over, flow 0 sends one packet in its turn.
        assert_eq!(order(&mut drr, &[(0, 600), (0, 600), (1, 600)]), [0, 2, 1]);
    }

    #[test]
    fn a_flow_that_offers_too_much_takes_no_room_of_others() {
        let capacity = Capacity::Packets(4);
        let mut drr =
            Drr::new(DrrParams { capacity, flow_packets: Some(2), quantum_bytes: 1_000, buckets: 8 }).unwrap();
        let mut admitted = |id, flow| {
            let packet = Packet { id, flow, size: 1_000, rank: Rank::ZERO, arrival: Time::ZERO };
            drr.enqueue(packet, Time::ZERO).is_admitted()
        };
        assert_eq!([0, 1, 2, 3].map(|id| admitted(id, 0)), [true, true, false, false]);
        assert_eq!([4, 5, 6].map(|id| admitted(id, 1)), [true, true, false]);
        assert!(!admitted(7, 2), "the capacity holds for all flows together");
    }
}
