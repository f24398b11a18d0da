//! Joins a decider to queues: a scheduler.

use crate::decider::{Arriving, Decider, FromParams};
use crate::params::{Construct, ParamError};
use crate::place::Place;
use crate::scheduler::move_packets;
use crate::store::{PriorityQueues, Queues};
use crate::{
    Capacity, Dequeued, DropReason, Enqueued, Held, Inspect, Item, Packet, RankInterval, Register, Room, Saved,
    Scheduler,
};
use alloc::vec::Vec;
use core::marker::PhantomData;
use pifolab_units::{Rank, Time};

/// First-in first-out queues of items `T`, and a decider `D` that chooses the queue of each arriving item. Queues are
/// served by strict priority unless the decider chooses another order.
///
/// `Q` is the container: [`PriorityQueues`], or a single [`Queue`](crate::store::Queue).
#[derive(Debug)]
pub struct Queued<D, T = Packet, Q = PriorityQueues<T>> {
    pub(crate) queues: Q,
    pub(crate) decider: D,
    stores: PhantomData<T>,
}

impl<D: Clone, T, Q: Clone> Clone for Queued<D, T, Q> {
    fn clone(&self) -> Self {
        Self { queues: self.queues.clone(), decider: self.decider.clone(), stores: PhantomData }
    }

    /// A search that restores earlier states many times allocates no queues.
    fn clone_from(&mut self, source: &Self) {
        self.queues.clone_from(&source.queues);
        self.decider.clone_from(&source.decider);
    }
}

impl<D: FromParams, T: Item, Q: Queues<T>> Queued<D, T, Q> {
    /// Empty queues and a decider in its first state.
    ///
    /// # Errors
    /// The first parameter that cannot be accepted.
    pub fn new(params: D::Params) -> Result<Self, ParamError> {
        let (decider, capacities) = D::from_params(params)?;
        Ok(Self::with_decider(decider, &capacities))
    }
}

impl<D: Decider, T: Item, Q: Queues<T>> Queued<D, T, Q> {
    /// Empty queues with these capacities, highest priority first, and their decider. A single
    /// [`Queue`](crate::store::Queue) takes the first capacity.
    pub fn with_decider(decider: D, capacities: &[Capacity]) -> Self {
        Self { queues: Q::with_capacities(capacities), decider, stores: PhantomData }
    }

    /// The decider.
    pub const fn decider(&self) -> &D {
        &self.decider
    }

    /// The queues.
    pub const fn stored(&self) -> &Q {
        &self.queues
    }

    /// As [`enqueue`](Scheduler::enqueue), for items that do not store all fields of `arriving`. Returns the queue that
    /// stores it.
    ///
    /// # Errors
    /// The item, and why it is refused.
    #[inline(always)]
    pub fn offer(&mut self, arriving: Arriving, item: T) -> Result<usize, (T, DropReason)> {
        let place = self.decider.place(arriving, self.queues.rooms());
        self.store(place, item)
    }

    /// Passes a packet without storing it. Leaves the decider in the state that [`offer`](Self::offer) and
    /// [`pop`](Self::pop) at the same instant would. Call it only while nothing waits.
    ///
    /// # Errors
    /// Why it is refused, as by `offer`.
    #[inline(always)]
    pub fn pass(&mut self, arriving: Arriving) -> Result<(), DropReason> {
        debug_assert!(self.queues.first().is_none(), "only what finds nothing waiting goes past the queues");
        let Self { queues, decider, .. } = self;
        let place = decider.place(arriving, queues.rooms());
        let queue = place.get()?;
        let passed = queues.pass(queue, arriving.size, |rooms| {
            decider.serve(queue, rooms);
        });
        if passed { Ok(()) } else { Err(DropReason::Full) }
    }

    /// Takes the next item to send; returns it and its queue.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<(T, usize)> {
        let first = self.queues.first()?;
        let queue = self.decider.serve(first, self.queues.rooms());
        self.queues.pop_from(queue).map(|item| (item, queue))
    }

    /// Stores an item in its place; returns its queue.
    #[inline(always)]
    fn store(&mut self, place: Place, item: T) -> Result<usize, (T, DropReason)> {
        if place.is_refused() {
            return Err((item, place.reason()));
        }
        let (wanted, queue) = place.parts();
        if place.has_room() {
            self.queues.push_fitting(queue, item);
            return Ok(queue);
        }
        match self.queues.push_if(wanted, queue, item) {
            Ok(()) => Ok(queue),
            Err(item) => Err((item, place.reason())),
        }
    }

    /// As [`store`](Self::store), but returns an outcome.
    #[inline(always)]
    fn admit(&mut self, place: Place, packet: T) -> Enqueued<T> {
        let rank = packet.rank();
        match self.store(place, packet) {
            Ok(queue) => Enqueued::Admitted { queue: queue as u32, rank },
            Err((packet, reason)) => Enqueued::Dropped { packet, reason },
        }
    }

    /// The decider and the capacities of its queues.
    pub fn into_parts(self) -> (D, Vec<Capacity>) {
        let capacities = self.queues.rooms().iter().map(|room| room.capacity()).collect();
        (self.decider, capacities)
    }
}

impl<D: Decider, T: Item, Q: Queues<T>> Scheduler<T> for Queued<D, T, Q> {
    #[inline(always)]
    fn enqueue(&mut self, packet: T, _now: Time) -> Enqueued<T> {
        let place = self.decider.place(Arriving::of(&packet), self.queues.rooms());
        self.admit(place, packet)
    }

    #[inline(always)]
    fn dequeue(&mut self, _now: Time) -> Dequeued<T> {
        match self.pop() {
            Some((packet, queue)) => Dequeued::Packet { packet, queue: queue as u32 },
            None => Dequeued::Empty,
        }
    }

    fn succeed(&mut self, old: &mut dyn Scheduler<T>, now: Time, lost: &mut dyn FnMut(T)) {
        let saved = Saved::of(old);
        move_packets(old, now, lost, &mut |packet, queue| {
            let place = Place::of(self.decider.adopt(Arriving::of(&packet), queue as usize, self.queues.rooms()));
            self.admit(place, packet)
        });
        saved.resume(&mut self.decider);
    }
}

impl<D: Decider, T: Item, Q: Queues<T>> Inspect for Queued<D, T, Q> {
    fn held(&self, queue: Option<usize>) -> Held {
        let rooms = self.queues.rooms();
        match queue {
            None => rooms.iter().map(Room::held).sum(),
            Some(queue) => rooms.get(queue).map_or_else(Held::default, Room::held),
        }
    }

    /// The sum of the capacities, in their unit.
    fn capacity(&self) -> Capacity {
        let rooms = self.queues.rooms();
        let total = rooms.iter().map(|room| room.total()).fold(0u64, u64::saturating_add);
        match rooms.first().map(|room| room.capacity()) {
            Some(Capacity::Packets(_)) => Capacity::Packets(u32::try_from(total).unwrap_or(u32::MAX)),
            Some(Capacity::Bytes(_)) => Capacity::Bytes(total),
            Some(Capacity::Unlimited) | None => Capacity::Unlimited,
        }
    }

    fn queues(&self) -> usize {
        self.queues.rooms().len()
    }

    fn queue_ranks(&self, queue: usize) -> RankInterval {
        self.decider.ranks_of(queue, self.queues.rooms())
    }

    fn refused_at(&self, flow: u32, size: u32, rank: Rank) -> Option<u32> {
        self.decider.refused_at(Arriving { size, rank, flow }, self.queues.rooms()).map(|queue| queue as u32)
    }

    fn registers(&self, each: &mut dyn FnMut(&dyn Register)) {
        self.decider.registers(each);
    }
}

impl<D: FromParams, T: Item, Q: Queues<T>> Construct for Queued<D, T, Q> {
    type Params = D::Params;

    fn construct(params: D::Params) -> Result<Self, ParamError> {
        Self::new(params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InspectExt;
    use crate::params::{Args, FromArgs, Value};
    use crate::schedulers::{ExpPifo, SpPifo, StrictPriority};

    /// Offers packets of many ranks. Each refused packet must enter the queue that it was charged to once that has
    /// room.
    fn charges_the_right_queue<S: FromArgs + Scheduler>(options: &[(&str, &str)]) {
        let mut args = Args::new(S::INFO.name);
        args.set("queues", Value::Integer(3));
        args.set("queue_capacity_packets", Value::Integer(2));
        for (name, value) in options {
            args.set(*name, Value::Text((*value).into()));
        }
        let mut scheduler = S::build(args).unwrap();
        let mut state = 1u64;
        let offer = |scheduler: &mut S, rank: u32| {
            let packet = Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO };
            match scheduler.enqueue(packet, Time::ZERO) {
                Enqueued::Admitted { queue, .. } => Ok(queue),
                Enqueued::Dropped { packet, .. } => Err(scheduler.refused_at(0, packet.size, packet.rank)),
                Enqueued::Evicted { .. } => panic!("queues evict no packet"),
            }
        };
        let mut refused = 0;
        for _ in 0..pifolab_testkit::steps(1000, 250) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let rank = (state >> 57) as u32;
            if let Err(queue) = offer(&mut scheduler, rank) {
                refused += 1;
                while let Dequeued::Packet { .. } = scheduler.dequeue(Time::ZERO) {}
                assert_eq!(offer(&mut scheduler, rank).ok(), queue, "rank {rank}");
            }
        }
        assert!(refused > pifolab_testkit::steps(100, 20), "{refused} were refused");
    }

    #[test]
    fn a_refused_packet_is_charged_to_the_queue_that_had_no_room() {
        charges_the_right_queue::<StrictPriority>(&[]);
        charges_the_right_queue::<SpPifo>(&[]);
        charges_the_right_queue::<SpPifo>(&[("order", "push-down-first")]);
        charges_the_right_queue::<ExpPifo>(&[]);
        charges_the_right_queue::<ExpPifo>(&[("mapping", "bounds")]);
    }

    /// At some moments when nothing waits, one twin stores a packet and sends it while the other passes it.
    fn passes_as_if_stored<S>(build: impl Fn() -> S)
    where
        S: Scheduler,
        Twin<S>: Passes,
    {
        let (mut stores, mut passes) = (Twin(build()), Twin(build()));
        let (mut state, mut passed, mut refused) = (1u64, 0, 0);
        for id in 0..pifolab_testkit::steps(20_000, 300) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let draw = (state >> 33) as u32;
            let packet = || Packet {
                id,
                flow: draw % 3,
                size: 40 + draw % 1_460,
                rank: Rank::from(draw % 29),
                arrival: Time::ZERO,
            };
            if passes.0.is_empty() && draw & 1 << 20 != 0 {
                let outcome = stores.0.enqueue(packet(), Time::ZERO);
                match (passes.pass(Arriving::of(&packet())), outcome) {
                    (Ok(()), Enqueued::Admitted { .. }) => {
                        passed += 1;
                        assert!(
                            matches!(stores.0.dequeue(Time::ZERO), Dequeued::Packet { packet, .. } if packet.id == id)
                        );
                    }
                    (Err(reason), Enqueued::Dropped { reason: expected, .. }) => assert_eq!(reason, expected),
                    (ours, theirs) => panic!("{ours:?} past the queues, {theirs:?} through them"),
                }
                continue;
            }
            let outcomes = (stores.0.enqueue(packet(), Time::ZERO), passes.0.enqueue(packet(), Time::ZERO));
            refused += u32::from(!outcomes.0.is_admitted());
            assert_eq!(outcomes.0, outcomes.1);
            for _ in 0..(draw >> 8) % 4 % 3 {
                assert_eq!(stores.0.dequeue(Time::ZERO), passes.0.dequeue(Time::ZERO));
            }
        }
        assert!(passed > pifolab_testkit::steps(100, 5) && refused > 0, "{passed} passed, {refused} were refused");
    }

    struct Twin<S>(S);

    trait Passes {
        fn pass(&mut self, arriving: Arriving) -> Result<(), DropReason>;
    }

    impl<D: Decider, Q: Queues<Packet>> Passes for Twin<Queued<D, Packet, Q>> {
        fn pass(&mut self, arriving: Arriving) -> Result<(), DropReason> {
            self.0.pass(arriving)
        }
    }

    #[test]
    fn a_packet_that_passes_leaves_the_decider_as_one_that_was_stored_and_sent() {
        use crate::schedulers::*;
        passes_as_if_stored(|| <Fifo>::new(FifoParams { capacity: Capacity::Packets(4) }).unwrap());
        passes_as_if_stored(|| <StrictPriority>::new(StrictPriorityParams::uniform(3, 2, 29)).unwrap());
        passes_as_if_stored(|| <SpPifo>::new(SpPifoParams::uniform(3, 2)).unwrap());
        let params = SpPifoParams { order: Order::PushDownFirst, ..SpPifoParams::uniform(3, 2) };
        passes_as_if_stored(|| <SpPifo>::new(params.clone()).unwrap());
        passes_as_if_stored(|| <Aifo>::new(AifoParams::packets(5)).unwrap());
        passes_as_if_stored(|| <Rifo>::new(RifoParams::packets(5)).unwrap());
        passes_as_if_stored(|| <Packs>::new(PacksParams::uniform(3, 2, 20)).unwrap());
        let params = PacksParams { occupancy: Occupancy::Global, below: true, ..PacksParams::uniform(3, 2, 20) };
        passes_as_if_stored(|| <Packs>::new(params.clone()).unwrap());
        passes_as_if_stored(|| <ExpPifo>::new(ExpPifoParams::uniform(3, 2)).unwrap());
        passes_as_if_stored(|| {
            <Afq>::new(AfqParams {
                capacities: alloc::vec![Capacity::Packets(2); 3],
                bytes_per_round: 1_000,
                horizon: Horizon::Ge,
                counters: AfqCounters::Exact,
            })
            .unwrap()
        });
    }
}
