//! PIEO, push-in extract-out: sends the lowest rank among the eligible packets.
//!
//! Paper: Shrivastav, "Fast, Scalable, and Programmable Packet Scheduler in Hardware", SIGCOMM 2019, section 3: an
//! ordered list from which the smallest ranked *eligible* element is extracted.
//!
//! Parameters: capacity (packets, bytes or none). The rank function gives a packet's eligibility time through
//! [`enqueue_eligible`](crate::Scheduler::enqueue_eligible); without one the packet may leave at once. When the buffer
//! is full the highest rank leaves, eligible or not, among equals the latest arrival, which may be the arriving packet
//! itself.
//!
//! Cost: O(log n) per operation, amortised for dequeues that find many packets newly eligible. The paper's hardware
//! needs O(sqrt n) comparators and two memory accesses per operation.
//!
//! Deviation from PIFO: a low rank waits until it is eligible, and higher ones leave meanwhile; if none is eligible
//! nothing is sent. When every packet is eligible on arrival it is a PIFO.
//!
//! Deviations: the paper leaves a full list to the user; here it drops as PIFO does. With a capacity in bytes, an
//! arrival that would not fit even without all packets of higher rank is refused, and no packet is pushed out.

use crate::inspect::inspect_room;
use crate::params::{self, Args, Construct, FromArgs, Info, ParamError};
use crate::store::{Slab, SlotHeap};
use crate::{Capacity, Dequeued, DropReason, Enqueued, Inspect, Item, Packet, Room, Scheduler, Victims};
use core::cmp::Reverse;
use pifolab_units::{Rank, Time};

/// The parameters of [`Pieo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieoParams {
    /// The capacity of the list.
    pub capacity: Capacity,
}

/// A push-in extract-out queue.
///
/// ```
/// use pifolab_sched::{Capacity, Dequeued, Packet, Scheduler, schedulers::{Pieo, PieoParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut pieo = Pieo::new(PieoParams { capacity: Capacity::Packets(8) }).unwrap();
/// let packet = |id, rank: u32| Packet { id, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO };
/// let soon = Time::from_ns(10);
/// assert!(pieo.enqueue_eligible(packet(0, 1), soon, Time::ZERO).is_admitted());
/// assert!(pieo.enqueue(packet(1, 7), Time::ZERO).is_admitted());
/// let Dequeued::Packet { packet, .. } = pieo.dequeue(Time::ZERO) else { panic!("one packet may leave") };
/// assert_eq!(packet.id, 1);
/// assert_eq!(pieo.dequeue(Time::ZERO), Dequeued::NotBefore(soon));
/// ```
#[derive(Clone, Debug)]
pub struct Pieo<T = Packet> {
    slots: Slab<Slot<T>>,
    /// Eligible packets: the lowest rank on top, the earliest arrival among equals.
    eligible: SlotHeap<(Rank, u64)>,
    /// Packets that are not eligible yet: the first to become eligible on top.
    waiting: SlotHeap<(Time, u64)>,
    /// All packets: the highest rank on top, the latest arrival among equals.
    highest: SlotHeap<Reverse<(Rank, u64)>>,
    room: Room,
    /// Counts arrivals, so that equal ranks keep their order.
    arrivals: u64,
}

#[derive(Clone, Debug, Default)]
struct Slot<T> {
    packet: T,
    order: (Rank, u64),
    waits: bool,
}

/// The same value as for a PIFO.
const PREALLOCATED_PACKETS: u32 = 16;

impl<T: Item> Pieo<T> {
    /// An empty queue.
    ///
    /// # Errors
    /// A capacity without room.
    pub fn new(params: PieoParams) -> Result<Self, ParamError> {
        params::check_capacity(PieoParams::INFO.name, params.capacity)?;
        let packets = match params.capacity {
            Capacity::Packets(packets) => packets.min(PREALLOCATED_PACKETS) as usize,
            Capacity::Bytes(_) | Capacity::Unlimited => 0,
        };
        Ok(Self {
            slots: Slab::with_capacity(packets),
            eligible: SlotHeap::with_capacity(packets),
            waiting: SlotHeap::with_capacity(packets),
            highest: SlotHeap::with_capacity(packets),
            room: Room::new(params.capacity),
            arrivals: 0,
        })
    }

    fn store(&mut self, packet: T, eligible: Time, now: Time) {
        self.room.take(packet.size());
        let order = (packet.rank(), self.arrivals);
        self.arrivals += 1;
        let waits = eligible > now;
        let place = self.slots.insert(Slot { packet, order, waits });
        self.highest.push(Reverse(order), place);
        if waits {
            self.waiting.push((eligible, order.1), place);
        } else {
            self.eligible.push(order, place);
        }
    }

    /// Takes the packet of a slot that no heap holds.
    fn release(&mut self, place: u32) -> T {
        let Slot { packet, .. } = self.slots.take(place);
        self.room.release(packet.size());
        packet
    }

    fn evict(&mut self) -> T {
        let (_, place) = self.highest.pop().expect("only a full buffer evicts");
        if self.slots.get(place).waits {
            self.waiting.remove(place);
        } else {
            self.eligible.remove(place);
        }
        self.release(place)
    }

    /// Whether `packet` fits once every packet of higher rank has left.
    fn can_make_room(&self, packet: &T) -> bool {
        let rank = packet.rank();
        match self.room.capacity() {
            // The caller has seen a packet of higher rank, and one is enough.
            Capacity::Packets(_) | Capacity::Unlimited => true,
            Capacity::Bytes(limit) => {
                let higher = self.highest.iter().filter(|(Reverse((held, _)), _)| *held > rank);
                let freed: u64 = higher.map(|(_, place)| u64::from(self.slots.get(place).packet.size())).sum();
                self.room.bytes().0 - freed + u64::from(packet.size()) <= limit
            }
        }
    }
}

impl<T: Item> Scheduler<T> for Pieo<T> {
    fn enqueue(&mut self, packet: T, now: Time) -> Enqueued<T> {
        self.enqueue_eligible(packet, Time::ZERO, now)
    }

    fn enqueue_eligible(&mut self, packet: T, eligible: Time, now: Time) -> Enqueued<T> {
        let rank = packet.rank();
        if self.room.fits(packet.size()) {
            self.store(packet, eligible, now);
            return Enqueued::Admitted { queue: 0, rank };
        }
        let yields = self.highest.peek().is_some_and(|Reverse((highest, _))| *highest > rank);
        if !yields || !self.can_make_room(&packet) {
            return Enqueued::Dropped { packet, reason: DropReason::Full };
        }
        let mut victims = Victims::one(self.evict());
        while !self.room.fits(packet.size()) {
            victims.push(self.evict());
        }
        self.store(packet, eligible, now);
        Enqueued::Evicted { queue: 0, rank, victims }
    }

    fn dequeue(&mut self, now: Time) -> Dequeued<T> {
        while self.waiting.peek().is_some_and(|(time, _)| *time <= now) {
            let (_, place) = self.waiting.pop().expect("one was seen");
            let slot = self.slots.get_mut(place);
            slot.waits = false;
            self.eligible.push(slot.order, place);
        }
        match self.eligible.pop() {
            Some((_, place)) => {
                self.highest.remove(place);
                Dequeued::Packet { packet: self.release(place), queue: 0 }
            }
            None => match self.waiting.peek() {
                Some((time, _)) => Dequeued::NotBefore(*time),
                None => Dequeued::Empty,
            },
        }
    }

    fn not_before(&mut self) -> Time {
        let waiting = self.waiting.peek().filter(|_| self.eligible.is_empty());
        waiting.map_or(Time::ZERO, |(time, _)| *time)
    }
}

impl<T: Item> Inspect for Pieo<T> {
    inspect_room!(self => self.room);
}

impl<T: Item> Construct for Pieo<T> {
    type Params = PieoParams;

    fn construct(params: PieoParams) -> Result<Self, ParamError> {
        Self::new(params)
    }
}

impl FromArgs for PieoParams {
    const INFO: Info = Info {
        name: "pieo",
        summary: "Sends the lowest rank among the eligible packets.",
        paper: "PIEO, SIGCOMM 2019, section 3",
        effect: "A packet waits until it is eligible, whatever its rank; if all are eligible it is a PIFO.",
        state: "an ordered list: O(sqrt n) comparators for n packets",
        cost: "O(log n) per operation",
        params: &[params::CAPACITY_PACKETS, params::CAPACITY_BYTES],
    };

    fn from_args(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self { capacity: params::read_capacity(args)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InspectExt;
    use alloc::vec::Vec;
    use pifolab_units::Bytes;

    fn packet(id: u64, rank: u32, size: u32) -> Packet {
        Packet { id, flow: 0, size, rank: Rank::from(rank), arrival: Time::ZERO }
    }

    fn pieo(capacity: Capacity) -> Pieo {
        Pieo::new(PieoParams { capacity }).unwrap()
    }

    fn sent(pieo: &mut Pieo, now_ns: u64) -> Option<u64> {
        match pieo.dequeue(Time::from_ns(now_ns)) {
            Dequeued::Packet { packet, .. } => Some(packet.id),
            _ => None,
        }
    }

    #[test]
    fn a_packet_may_leave_from_its_eligible_time_on() {
        let mut pieo = pieo(Capacity::Unlimited);
        for (id, rank, eligible) in [(0, 1, 30), (1, 2, 20), (2, 3, 20), (3, 9, 0)] {
            assert!(pieo.enqueue_eligible(packet(id, rank, 1), Time::from_ns(eligible), Time::ZERO).is_admitted());
        }
        assert_eq!(
            [0, 19, 20, 30, 30, 30].map(|now| sent(&mut pieo, now)),
            [Some(3), None, Some(1), Some(0), Some(2), None]
        );
        assert_eq!(pieo.dequeue(Time::from_ns(30)), Dequeued::Empty);
    }

    #[test]
    fn equal_ranks_leave_in_arrival_order_whenever_they_became_eligible() {
        let mut pieo = pieo(Capacity::Packets(4));
        for (id, eligible) in [(0, 20), (1, 10), (2, 0)] {
            assert!(pieo.enqueue_eligible(packet(id, 5, 1), Time::from_ns(eligible), Time::ZERO).is_admitted());
        }
        assert_eq!([20, 20, 20].map(|now| sent(&mut pieo, now)), [0, 1, 2].map(Some));
    }

    #[test]
    fn a_full_list_pushes_out_the_highest_rank_even_if_it_waits() {
        let mut pieo = pieo(Capacity::Packets(2));
        assert!(pieo.enqueue_eligible(packet(0, 8, 1), Time::from_ns(99), Time::ZERO).is_admitted());
        assert!(pieo.enqueue(packet(1, 5, 1), Time::ZERO).is_admitted());
        let outcome = pieo.enqueue(packet(2, 8, 1), Time::ZERO);
        assert_eq!(outcome, Enqueued::Dropped { packet: packet(2, 8, 1), reason: DropReason::Full });
        let Enqueued::Evicted { victims, .. } = pieo.enqueue(packet(3, 7, 1), Time::ZERO) else {
            panic!("8 yields to 7")
        };
        assert_eq!(victims, Victims::one(packet(0, 8, 1)));
        assert_eq!(pieo.len(), 2);
    }

    #[test]
    fn bytes_are_freed_only_if_that_is_enough() {
        let mut pieo = pieo(Capacity::Bytes(100));
        for (id, rank, size) in [(0, 1, 40), (1, 7, 30), (2, 8, 30)] {
            assert!(pieo.enqueue(packet(id, rank, size), Time::ZERO).is_admitted());
        }
        assert!(!pieo.enqueue(packet(3, 5, 61), Time::ZERO).is_admitted());
        assert_eq!(pieo.len(), 3, "no packet was pushed out in vain");
        let Enqueued::Evicted { victims, .. } = pieo.enqueue(packet(4, 5, 60), Time::ZERO) else {
            panic!("60 B can be freed")
        };
        assert_eq!(victims.iter().map(|packet| packet.id).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(pieo.backlog(), Bytes(100));
    }
}
