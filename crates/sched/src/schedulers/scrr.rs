//! SCRR, Self-Clocked Round Robin: round robin with rounds in virtual time, so that a flow may send several small
//! packets in its turn.
//!
//! Paper: Sharafzadeh, Matson, Tourrilhes, Sharma, Ghorbani, "Self-Clocked Round-Robin Packet Scheduling", NSDI 2025; the
//! public qdisc `jean2/scrr`.
//!
//! Parameters:
//! - capacity (packets, default 10,000, or bytes), and the most packets of one flow (packets, default 100);
//! - buckets (default 1024): a flow is the bucket flow mod buckets.
//!
//! A packet's start tag is max(virtual_advance, its flow's virtual_finish); its length is added to the flow's finish.
//! The first flow of the list of new flows is served, else that of the list of old ones. It keeps its turn as long as
//! its next packet ends within virtual_advance, else it goes to the tail of the old list. When as many turns have
//! passed as there are flows, virtual_advance moves to the largest start tag served.
//!
//! Cost: O(1) per operation. A switch needs two lists of flows, and a finish tag and a queue for each flow.
//!
//! Deviation from PIFO: ranks are ignored. A packet beyond either limit is dropped ("full").
//!
//! Deviations: the qdisc hashes flows with a random key; here flows are dense numbers, so that the same run gives the
//! same result. Tags saturate at 2^64 - 1 bytes instead of wrapping.

use crate::inspect::inspect_room;
use crate::params::{self, Args, BUCKETS, Construct, FromArgs, Info, Literal, Param, ParamError};
use crate::store::FlowLists;
use crate::{Capacity, Dequeued, DropReason, Enqueued, Inspect, Item, Kept, Packet, Register, Room, Scheduler};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use pifolab_units::Time;

/// The parameters of [`Scrr`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScrrParams {
    /// The capacity of all queues together.
    pub capacity: Capacity,
    /// The most packets of one flow.
    pub flow_packets: u32,
    /// Queues that flows share.
    pub buckets: u32,
}

/// SCRR.
///
/// ```
/// use pifolab_sched::{Capacity, Dequeued, Packet, Scheduler, schedulers::{Scrr, ScrrParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut scrr = Scrr::new(ScrrParams { capacity: Capacity::Packets(100), flow_packets: 10, buckets: 8 }).unwrap();
/// for (id, flow) in [(0, 0), (1, 0), (2, 1)] {
///     let packet = Packet { id, flow, size: 1000, rank: Rank::ZERO, arrival: Time::ZERO };
///     assert!(scrr.enqueue(packet, Time::ZERO).is_admitted());
/// }
/// for expected in [0, 2, 1] {
///     let Dequeued::Packet { packet, .. } = scrr.dequeue(Time::ZERO) else { panic!("three packets wait") };
///     assert_eq!(packet.id, expected);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Scrr<T = Packet> {
    flows: Box<[Flow<T>]>,
    lists: FlowLists,
    room: Room,
    flow_packets: usize,
    /// The largest start tag served.
    virtual_dequeue: u64,
    /// The end of the present round, in virtual time.
    virtual_advance: u64,
    /// The end of the round before.
    virtual_previous: u64,
    /// Turns until the round ends.
    rounds_advance: i64,
}

#[derive(Clone, Debug)]
struct Flow<T> {
    /// Packets with their start tags.
    waiting: VecDeque<(T, u64)>,
    /// `None` for a flow that has never sent a packet.
    virtual_finish: Option<u64>,
    listed: bool,
}

impl<T: Item> Scrr<T> {
    /// An empty scheduler.
    ///
    /// # Errors
    /// A capacity without room, or a parameter out of range.
    pub fn new(params: ScrrParams) -> Result<Self, ParamError> {
        params::check_capacity(ScrrParams::INFO.name, params.capacity)?;
        FLOW_PACKETS.check(ScrrParams::INFO.name, params.flow_packets)?;
        BUCKETS.check(ScrrParams::INFO.name, params.buckets)?;
        let flow = || Flow { waiting: VecDeque::new(), virtual_finish: None, listed: false };
        Ok(Self {
            flows: core::iter::repeat_with(flow).take(params.buckets as usize).collect(),
            lists: FlowLists::default(),
            room: Room::new(params.capacity),
            flow_packets: params.flow_packets as usize,
            virtual_dequeue: 0,
            virtual_advance: 0,
            virtual_previous: 0,
            rounds_advance: 0,
        })
    }

    /// Counts the completed turn of a flow.
    fn count_turn(&mut self) {
        if self.rounds_advance <= 0 {
            if self.virtual_dequeue != self.virtual_advance {
                self.virtual_previous = self.virtual_advance;
                self.virtual_advance = self.virtual_dequeue;
            }
            self.rounds_advance = self.lists.flows() as i64;
        }
        self.rounds_advance -= 1;
    }
}

impl<T: Item> Scheduler<T> for Scrr<T> {
    fn enqueue(&mut self, packet: T, _now: Time) -> Enqueued<T> {
        let bucket = packet.flow() as usize % self.flows.len();
        let flow = &mut self.flows[bucket];
        if !self.room.fits(packet.size()) || flow.waiting.len() >= self.flow_packets {
            return Enqueued::Dropped { packet, reason: DropReason::Full };
        }
        if !flow.listed {
            flow.listed = true;
            self.lists.add_new(bucket as u32);
            self.rounds_advance += 1;
        }
        let start = flow.virtual_finish.unwrap_or(self.virtual_previous).max(self.virtual_advance);
        flow.virtual_finish = Some(start.saturating_add(packet.size().into()));
        self.room.take(packet.size());
        let rank = packet.rank();
        flow.waiting.push_back((packet, start));
        Enqueued::Admitted { queue: 0, rank }
    }

    fn dequeue(&mut self, _now: Time) -> Dequeued<T> {
        loop {
            let Some((bucket, _)) = self.lists.first() else { return Dequeued::Empty };
            let flow = &mut self.flows[bucket as usize];
            let Some((packet, start)) = flow.waiting.pop_front() else {
                flow.listed = false;
                self.lists.remove_first();
                continue;
            };
            let is_empty = flow.waiting.is_empty();
            let end = start.saturating_add(packet.size().into());
            self.room.release(packet.size());
            self.virtual_dequeue = self.virtual_dequeue.max(start);
            if self.room.packets() == 0 {
                self.virtual_dequeue = end;
                self.virtual_previous = self.virtual_advance;
                self.virtual_advance = end;
            }
            if is_empty || end > self.virtual_advance {
                self.lists.first_to_old();
                self.count_turn();
            }
            return Dequeued::Packet { packet, queue: 0 };
        }
    }
}

impl<T: Item> Inspect for Scrr<T> {
    inspect_room!(self => self.room);

    fn registers(&self, each: &mut dyn FnMut(&dyn Register)) {
        each(&Kept::bytes(self.flows.len() * size_of::<Flow<T>>()));
    }
}

const CAPACITY_PACKETS: Param = Param::integer("capacity_packets", 1, params::MAX_PACKETS)
    .unit("packets")
    .usually(Literal::Integer(10_000), " packets, unless capacity_bytes is given")
    .doc("The capacity in packets. The default is that of the public qdisc.");

const FLOW_PACKETS: Param = Param::integer("flow_packets", 1, params::MAX_PACKETS)
    .unit("packets")
    .or_integer(100)
    .doc("The most packets of one flow. The default is that of the public qdisc.");

impl<T: Item> Construct for Scrr<T> {
    type Params = ScrrParams;

    fn construct(params: ScrrParams) -> Result<Self, ParamError> {
        Self::new(params)
    }
}

impl FromArgs for ScrrParams {
    const INFO: Info = Info {
        name: "scrr",
        summary: "Self-clocked round robin: virtual time defines rounds, and small packets share a turn.",
        paper: "SCRR, NSDI 2025",
        effect: "Ranks are ignored: flows take turns, fairly in bytes; a packet beyond the limits is dropped.",
        state: "two lists of flows, and for each flow a finish tag and a queue",
        cost: "O(1) per operation",
        params: &[CAPACITY_PACKETS, params::CAPACITY_BYTES, FLOW_PACKETS, BUCKETS],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self {
            capacity: params::read_capacity_by(args, &CAPACITY_PACKETS)?,
            flow_packets: args.given(&FLOW_PACKETS)?,
            buckets: args.given(&BUCKETS)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use pifolab_units::Rank;

    fn order(offers: &[(u32, u32)]) -> Vec<u64> {
        let mut scrr =
            Scrr::new(ScrrParams { capacity: Capacity::Unlimited, flow_packets: 100, buckets: 1024 }).unwrap();
        for (id, (flow, size)) in (0..).zip(offers) {
            let packet = Packet { id, flow: *flow, size: *size, rank: Rank::ZERO, arrival: Time::ZERO };
            assert!(scrr.enqueue(packet, Time::ZERO).is_admitted());
        }
        let sent = core::iter::from_fn(|| match scrr.dequeue(Time::ZERO) {
            Dequeued::Packet { packet, .. } => Some(packet.id),
            _ => None,
        });
        sent.collect()
    }

    #[test]
    fn flows_of_equal_packets_take_turns() {
        assert_eq!(order(&[(0, 9), (0, 9), (0, 9), (1, 9), (1, 9), (2, 9)]), [0, 3, 5, 1, 4, 2]);
    }

    #[test]
    fn small_packets_share_a_turn_with_a_large_one() {
        // After the first round virtual_advance lies at 1000: five packets of 200 end within it.
        let offers =
            [(0, 1000), (0, 1000), (1, 200), (1, 200), (1, 200), (1, 200), (1, 200), (0, 1000), (1, 200), (1, 200)];
        assert_eq!(order(&offers), [0, 2, 1, 3, 4, 5, 6, 8, 7, 9]);
    }
}
