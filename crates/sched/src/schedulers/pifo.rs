//! PIFO, push-in first-out: keeps the lowest ranks and sends the lowest first. All other schedulers approximate it.
//!
//! Paper: Sivaraman et al., "Programmable Packet Scheduling at Line Rate", SIGCOMM 2016 (the abstraction); as the
//! reference of the comparisons: SP-PIFO (NSDI 2020) section 2, AIFO (SIGCOMM 2021) Fig. 2, PACKS (NSDI 2025) Fig. 2.
//!
//! Parameters:
//! - capacity C (packets or bytes; default 80 packets, as in the papers). When the buffer is full the highest rank
//!   leaves, among equals the latest arrival, which may be the arriving packet itself;
//! - ranks: a declared rank space 0..ranks-1, 1 to 2^24; gives constant cost at any occupancy for at most 4 bytes and
//!   about one bit per rank (above 2^16 ranks, only ranks that are held have look-up pages). By default any rank is
//!   accepted;
//! - ties: `fifo` (default), or `heap`, the order of equal ranks in the SP-PIFO and AIFO papers' simulator. There the
//!   arriving packet joins the heap first, and the victim is the last, in the order of the heap's array, of those with
//!   the highest rank: it may be the arriving packet or a much earlier one;
//! - starvation prevention (off): the flow that holds the lowest rank sends its earliest packet, whatever that packet's own
//!   rank: pFabric (SIGCOMM 2013), as AIFO section 3 describes it. Under ranks by remaining size later packets of a flow have
//!   lower ranks, and a PIFO sends them first.
//!
//! Cost: O(1) to send; a search and a short shift in sorted blocks to store; O(log_64 ranks) for both with a declared
//! rank space; O(log C) with heap ties, O(C) to evict; O(C) to send and to evict with starvation prevention. No switch
//! offers it: it needs a sorted buffer at line rate.
//!
//! Deviation from PIFO: none; with starvation prevention the order within a flow is that of arrival, which no PIFO can
//! give (AIFO section 3). With a capacity in bytes, an arrival that would not fit even without all packets of higher
//! rank is refused, and no packet is pushed out.
//!
//! Deviations: a capacity of C packets holds C packets (the papers' simulator holds C - 1: give it that capacity).
//! `heap` counts packets only, as that simulator does.

mod handle_pifo;

pub use handle_pifo::HandlePifo;

use crate::inspect::inspect_room;
use crate::params::{self, Args, Construct, FromArgs, Info, Param, ParamError, choices};
use crate::store::{ArrayHeap, DoubleEnded, FlowOrder, RankBuckets, Sorted};
use crate::{
    Capacity, Dequeued, DropReason, Enqueued, Inspect, Item, Kept, Packet, Register, Room, Scheduler, Victims,
};
use pifolab_units::{Rank, Time};

choices! {
    /// Which of several packets of equal rank leaves first, and which is pushed out.
    #[derive(Default)]
    pub enum Ties {
        #[default]
        Fifo = "fifo": "the earliest arrival leaves first, the latest is pushed out",
        Heap = "heap": "the order of a binary heap in an array (the SP-PIFO and AIFO papers' simulator)",
    }
}

/// The parameters of [`Pifo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PifoParams {
    /// The capacity of the buffer.
    pub capacity: Capacity,
    /// The size of the rank space, if it is bounded: ranks are 0..ranks-1.
    pub ranks: Option<u32>,
    /// The order of equal ranks.
    pub ties: Ties,
    /// Whether the flow that holds the lowest rank sends its earliest packet instead.
    pub starvation_prevention: bool,
}

impl PifoParams {
    /// The row of `starvation_prevention`.
    pub const STARVATION_PREVENTION: Param = Param::flag("starvation_prevention").or_flag(false).doc(
        "Whether the flow that holds the lowest rank sends its earliest packet first, as pFabric does, so that no flow's packets \
              overtake one another. It takes ties = fifo and no bounded rank space.",
    );

    /// The textbook PIFO of `packets` packets: any rank, ties first-in first-out.
    pub const fn packets(packets: u32) -> Self {
        Self { capacity: Capacity::Packets(packets), ranks: None, ties: Ties::Fifo, starvation_prevention: false }
    }
}

/// A push-in first-out queue.
///
/// ```
/// use pifolab_sched::{Enqueued, Packet, Scheduler, schedulers::{Pifo, PifoParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut pifo = Pifo::new(PifoParams::packets(1)).unwrap();
/// let packet = |id, rank: u32| Packet { id, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO };
/// assert!(pifo.enqueue(packet(1, 7), Time::ZERO).is_admitted());
/// let Enqueued::Evicted { victims, .. } = pifo.enqueue(packet(2, 3), Time::ZERO) else { panic!("it was full") };
/// assert_eq!(victims.iter().next().unwrap().id, 1);
/// ```
#[derive(Debug)]
// Aligned, because an account that spans two cache lines makes it up to a sixth slower.
#[repr(align(64))]
pub struct Pifo<T = Packet> {
    order: Order<T>,
    room: Room,
}

clone_by_field!(<T> Pifo { order, room });

#[derive(Debug)]
enum Order<T> {
    Sorted(Sorted<T>),
    Buckets(RankBuckets<T>),
    Heap(ArrayHeap<T>),
    Flows(FlowOrder<T>),
}

clone_by_variant!(<T> Order { Sorted, Buckets, Heap, Flows });

/// Containers are allocated for at most this many packets and grow with the backlog: of the thousands of ports of a
/// network, few hold many packets.
const PREALLOCATED_PACKETS: u32 = 16;

impl<T: Item> Pifo<T> {
    /// An empty queue.
    ///
    /// # Errors
    /// A capacity without room, a rank space that is empty or too large, heap ties beside a capacity in bytes or a
    /// declared rank space, or starvation prevention beside either.
    pub fn new(params: PifoParams) -> Result<Self, ParamError> {
        let name = PifoParams::INFO.name;
        params::check_capacity(name, params.capacity)?;
        if let Some(ranks) = params.ranks {
            RANKS.check(name, ranks)?;
        }
        let packets = match params.capacity {
            Capacity::Packets(packets) => packets.min(PREALLOCATED_PACKETS) as usize,
            Capacity::Bytes(_) | Capacity::Unlimited => 0,
        };
        if params.starvation_prevention {
            let fault = |expected| Err(PifoParams::STARVATION_PREVENTION.error_because(name, "true", expected));
            return match (params.ties, params.ranks) {
                (Ties::Heap, _) => fault("expected false where ties is heap"),
                (_, Some(_)) => fault("expected false where ranks is given"),
                (Ties::Fifo, None) => Ok(Self {
                    order: Order::Flows(FlowOrder::with_capacity(packets)),
                    room: Room::new(params.capacity),
                }),
            };
        }
        let order = match (params.ties, params.ranks, params.capacity) {
            (Ties::Fifo, None, _) => Order::Sorted(Sorted::with_capacity(packets)),
            (Ties::Fifo, Some(ranks), _) => Order::Buckets(RankBuckets::new(ranks as usize, packets)),
            (Ties::Heap, Some(_), _) => {
                return Err(TIES.error_because(name, "\"heap\"", "expected fifo where ranks is given"));
            }
            (Ties::Heap, None, Capacity::Bytes(_)) => {
                return Err(TIES.error_because(name, "\"heap\"", "expected fifo where the capacity is in bytes"));
            }
            // One more: the arriving packet joins the heap before the victim is chosen.
            (Ties::Heap, None, _) => Order::Heap(ArrayHeap::with_capacity(packets + 1)),
        };
        Ok(Self { order, room: Room::new(params.capacity) })
    }
}

impl<T: Item> Pifo<T> {
    /// Its parameters.
    pub fn params(&self) -> PifoParams {
        let (ranks, ties) = match &self.order {
            Order::Sorted(_) | Order::Flows(_) => (None, Ties::Fifo),
            Order::Buckets(order) => (Some(order.buckets() as u32), Ties::Fifo),
            Order::Heap(_) => (None, Ties::Heap),
        };
        let starvation_prevention = matches!(self.order, Order::Flows(_));
        PifoParams { capacity: self.room.capacity(), ranks, ties, starvation_prevention }
    }

    /// As [`enqueue`](Scheduler::enqueue), for items that do not store their rank.
    #[inline(always)]
    pub fn offer(&mut self, rank: Rank, item: T) -> Enqueued<T> {
        let Self { order, room } = self;
        match order {
            Order::Sorted(order) => enqueue(order, room, rank, item),
            Order::Buckets(order) => {
                if rank.get() >= order.buckets() as u64 {
                    return Enqueued::Dropped { packet: item, reason: DropReason::RankOutOfRange };
                }
                enqueue(order, room, rank, item)
            }
            Order::Heap(order) => enqueue_in_heap(order, room, rank, item),
            Order::Flows(order) => enqueue(order, room, rank, item),
        }
    }

    /// The size below which an empty PIFO admits every packet, whatever its rank; 0 if that depends on the rank. Such a
    /// packet may bypass the PIFO, which keeps no state of packets that have left.
    pub fn passes_below(&self) -> u64 {
        match (&self.order, self.room.capacity()) {
            (Order::Buckets(_), _) => 0,
            (_, Capacity::Bytes(bytes)) => bytes.saturating_add(1),
            (_, Capacity::Packets(_) | Capacity::Unlimited) => u64::MAX,
        }
    }

    /// Takes the next item to send.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        let item = match &mut self.order {
            Order::Sorted(order) => order.pop_first(),
            Order::Buckets(order) => order.pop_first(),
            Order::Heap(order) => order.pop_first(),
            Order::Flows(order) => order.pop_first(),
        }?;
        self.room.release(item.size());
        Some(item)
    }
}

/// Stores a packet, pushing out others if needed and allowed, or drops it.
#[inline(always)]
fn enqueue<T: Item>(order: &mut impl DoubleEnded<T>, room: &mut Room, rank: Rank, packet: T) -> Enqueued<T> {
    let size = packet.size();
    if room.fits(size) {
        room.take(size);
        order.insert(rank, packet);
        return Enqueued::Admitted { queue: 0, rank };
    }
    // Among equal highest ranks the arriving packet is the latest.
    if order.last_rank().is_none_or(|highest| rank >= highest) {
        return Enqueued::Dropped { packet, reason: DropReason::Full };
    }
    let victims = match room.capacity() {
        Capacity::Bytes(limit) => {
            let Some(victims) = make_room(order, room, rank, size, limit) else {
                return Enqueued::Dropped { packet, reason: DropReason::Full };
            };
            order.insert(rank, packet);
            victims
        }
        Capacity::Packets(_) | Capacity::Unlimited => {
            let victim = order.replace_last(rank, packet).expect("only a full buffer evicts");
            room.release(victim.size());
            Victims::one(victim)
        }
    };
    room.take(size);
    Enqueued::Evicted { queue: 0, rank, victims }
}

/// Pushes out packets above `rank` until `size` bytes fit within `limit` bytes, if that helps.
#[inline(never)]
fn make_room<T: Item>(
    order: &mut impl DoubleEnded<T>,
    room: &mut Room,
    rank: Rank,
    size: u32,
    limit: u64,
) -> Option<Victims<T>> {
    let needed = room.bytes().0 + u64::from(size) - limit;
    if !order.frees(rank, needed) {
        return None;
    }
    let mut victims = Victims::one(evict(order, room));
    while !room.fits(size) {
        victims.push(evict(order, room));
    }
    Some(victims)
}

/// Adds the packet to the heap. If it does not fit, the victim is then chosen among all.
#[inline(always)]
fn enqueue_in_heap<T: Item>(order: &mut ArrayHeap<T>, room: &mut Room, rank: Rank, packet: T) -> Enqueued<T> {
    let size = packet.size();
    let arrived = order.push(rank, packet);
    if room.fits(size) {
        room.take(size);
        return Enqueued::Admitted { queue: 0, rank };
    }
    let (slot, victim) = order.pop_last().expect("a packet was just stored");
    if slot == arrived {
        return Enqueued::Dropped { packet: victim, reason: DropReason::Full };
    }
    room.release(victim.size());
    room.take(size);
    Enqueued::Evicted { queue: 0, rank, victims: Victims::one(victim) }
}

/// Pushes out one packet: the latest of the highest rank.
#[inline(always)]
fn evict<T: Item>(order: &mut impl DoubleEnded<T>, room: &mut Room) -> T {
    let victim = order.pop_last().expect("only a full buffer evicts");
    room.release(victim.size());
    victim
}

impl<T: Item> Scheduler<T> for Pifo<T> {
    #[inline(always)]
    fn enqueue(&mut self, packet: T, _now: Time) -> Enqueued<T> {
        self.offer(packet.rank(), packet)
    }

    #[inline(always)]
    fn dequeue(&mut self, _now: Time) -> Dequeued<T> {
        match self.pop() {
            Some(packet) => Dequeued::Packet { packet, queue: 0 },
            None => Dequeued::Empty,
        }
    }
}

impl<T: Item> Inspect for Pifo<T> {
    inspect_room!(self => self.room);

    fn registers(&self, each: &mut dyn FnMut(&dyn Register)) {
        if let Order::Buckets(order) = &self.order {
            each(&Kept::bytes(order.bytes_of_buckets()));
        }
    }
}

const RANKS: Param = Param::integer("ranks", 1, 1 << 24).unit("ranks").means("any rank up to 2^63 - 1").doc(
    "The size of the rank space: ranks are 0..ranks-1, others are dropped as out of range. It buys constant cost at \
          any occupancy, with at most 4 bytes and about one bit of memory per rank.",
);

const TIES: Param = Param::choice::<Ties>("ties").or_word(Ties::Fifo.word()).doc(
    "Which of several packets of equal rank leaves first, and which is pushed out. heap repeats published runs; it \
          needs a capacity in packets and no bounded rank space.",
);

impl<T: Item> Construct for Pifo<T> {
    type Params = PifoParams;

    fn construct(params: PifoParams) -> Result<Self, ParamError> {
        Self::new(params)
    }
}

impl FromArgs for PifoParams {
    const INFO: Info = Info {
        name: "pifo",
        summary: "Keeps the lowest ranks and sends the lowest first: the ideal that others approximate.",
        paper: "Programmable Packet Scheduling at Line Rate, SIGCOMM 2016; PACKS, NSDI 2025, Fig. 2",
        effect: "None: this is the reference.",
        state: "a sorted buffer, which no switch offers at line rate",
        cost: "O(1) to send; a search and a short shift to store; O(log_64 ranks) for both if ranks is given",
        params: &[params::CAPACITY_PACKETS, params::CAPACITY_BYTES, RANKS, TIES, Self::STARVATION_PREVENTION],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self {
            capacity: params::read_capacity(args)?,
            ranks: args.get(&RANKS)?,
            ties: args.given(&TIES)?,
            starvation_prevention: args.given(&Self::STARVATION_PREVENTION)?,
        })
    }
}

#[cfg(test)]
mod tests;
