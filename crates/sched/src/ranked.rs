//! Joins any rank function to any scheduler: N + M files instead of N x M.

use crate::inspect_inside;
use crate::{Dequeued, Enqueued, Fact, Facts, Hints, Inspect, Item, Packet, Scheduler, WantedFacts};
use pifolab_units::{Rank, Time};

/// Decides the rank of each packet at one output port.
///
/// Schedulers call it in this order: `rank` once for each arrival, then exactly one of `on_dequeue` (it was sent) and
/// `on_drop` (it was refused, pushed out or given up).
pub trait RankFn {
    /// The rank of `packet`, which arrives at `now`.
    fn rank(&mut self, packet: &Packet, now: Time) -> Rank;

    /// The earliest time at which `packet` may leave (PIEO). Called after [`rank`](Self::rank).
    fn eligible(&mut self, packet: &Packet, now: Time) -> Time {
        let _ = (packet, now);
        Time::ZERO
    }

    /// `packet` leaves at `now`; its rank is the one that it was given.
    fn on_dequeue(&mut self, packet: &Packet, now: Time) {
        let _ = (packet, now);
    }

    /// `packet` is refused, pushed out or given up at `now`; its rank is the one that it was given.
    fn on_drop(&mut self, packet: &Packet, now: Time) {
        let _ = (packet, now);
    }

    /// Passes facts about packet `id` directly before it is enqueued, so that the facts of at most one packet are
    /// pending. A packet without facts has [`Hints::default`].
    fn hint(&mut self, id: u64, hints: &Hints) {
        let _ = (id, hints);
    }

    /// The label with which the packet of the last call of `rank` or `on_dequeue` travels on, if it is a new one. Called
    /// only if the function reads [`Fact::CarriedLabel`].
    fn take_label(&mut self) -> Option<u64> {
        None
    }

    /// The facts that it needs about every packet. The caller checks that the source of the packets knows them all.
    fn needs(&self) -> Facts;

    /// The facts that it reads where they are known; includes those that it [needs](Self::needs).
    fn reads(&self) -> Facts {
        self.needs()
    }

    /// Forgets the state of `flow`: its number will be reused for another flow.
    fn forget_flow(&mut self, flow: u32) {
        let _ = flow;
    }

    /// Bytes of state for every flow seen so far; 0 if it keeps none, or only for flows that are ahead of the others.
    fn flow_bytes(&self) -> usize {
        0
    }
}

impl<R: RankFn + ?Sized> RankFn for alloc::boxed::Box<R> {
    fn rank(&mut self, packet: &Packet, now: Time) -> Rank {
        (**self).rank(packet, now)
    }
    fn eligible(&mut self, packet: &Packet, now: Time) -> Time {
        (**self).eligible(packet, now)
    }
    fn on_dequeue(&mut self, packet: &Packet, now: Time) {
        (**self).on_dequeue(packet, now);
    }
    fn on_drop(&mut self, packet: &Packet, now: Time) {
        (**self).on_drop(packet, now);
    }
    fn hint(&mut self, id: u64, hints: &Hints) {
        (**self).hint(id, hints);
    }
    fn take_label(&mut self) -> Option<u64> {
        (**self).take_label()
    }
    fn needs(&self) -> Facts {
        (**self).needs()
    }
    fn reads(&self) -> Facts {
        (**self).reads()
    }
    fn forget_flow(&mut self, flow: u32) {
        (**self).forget_flow(flow);
    }
    fn flow_bytes(&self) -> usize {
        (**self).flow_bytes()
    }
}

/// A scheduler whose packets get their ranks from a rank function.
#[derive(Clone, Debug)]
pub struct Ranked<R, S> {
    rank_fn: R,
    scheduler: S,
}

impl<R, S> Ranked<R, S> {
    /// Joins a rank function to a scheduler.
    ///
    /// ```
    /// use pifolab_sched::{Capacity, Packet, Ranked, Scheduler, ranks::Las, schedulers::{Fifo, FifoParams}};
    /// use pifolab_units::{Rank, Time};
    ///
    /// let fifo = Fifo::new(FifoParams { capacity: Capacity::Packets(10) }).unwrap();
    /// let mut scheduler = Ranked::new(Las::new(), fifo);
    /// let packet = Packet { id: 0, flow: 3, size: 1500, rank: Rank::ZERO, arrival: Time::ZERO };
    /// assert!(scheduler.enqueue(packet, Time::ZERO).is_admitted());
    /// ```
    pub const fn new(rank_fn: R, scheduler: S) -> Self {
        Self { rank_fn, scheduler }
    }

    /// The rank function and the scheduler.
    pub fn into_parts(self) -> (R, S) {
        (self.rank_fn, self.scheduler)
    }

    /// As [`dequeue`](Scheduler::dequeue), for the only packet held, which an idle port has just admitted and sends
    /// past the queue. The packet did not wait, so `on_dequeue` is not called. Ports that send every packet through the
    /// queue never call this.
    pub fn dequeue_unqueued<T: Item>(&mut self, now: Time) -> Dequeued<T>
    where
        S: Scheduler<T>,
    {
        self.scheduler.dequeue(now)
    }

    /// Ranks a packet that bypasses the scheduler as if it had arrived.
    pub fn rank_unqueued(&mut self, packet: &Packet, now: Time) -> Rank
    where
        R: RankFn,
    {
        self.rank_fn.rank(packet, now)
    }

    /// The scheduler inside.
    pub const fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// The scheduler inside, mutable.
    pub const fn scheduler_mut(&mut self) -> &mut S {
        &mut self.scheduler
    }

    /// The rank function inside.
    pub const fn rank_fn(&self) -> &R {
        &self.rank_fn
    }
}

impl<T: Item, R: RankFn, S: Scheduler<T>> Scheduler<T> for Ranked<R, S> {
    #[inline]
    fn enqueue(&mut self, packet: T, now: Time) -> Enqueued<T> {
        self.enqueue_eligible(packet, Time::ZERO, now)
    }

    fn enqueue_eligible(&mut self, mut packet: T, eligible: Time, now: Time) -> Enqueued<T> {
        let mut described = packet.describe(now);
        described.rank = self.rank_fn.rank(&described, now);
        packet.set_rank(described.rank);
        let eligible = eligible.max(self.rank_fn.eligible(&described, now));
        // Each outcome is rebuilt from its fields: a copy of the whole would stall on store forwarding, since the
        // fields were just written one by one.
        match self.scheduler.enqueue_eligible(packet, eligible, now) {
            Enqueued::Admitted { queue, rank } => Enqueued::Admitted { queue, rank },
            Enqueued::Evicted { queue, rank, victims } => {
                for victim in victims.iter() {
                    self.rank_fn.on_drop(&victim.describe(now), now);
                }
                Enqueued::Evicted { queue, rank, victims }
            }
            Enqueued::Dropped { packet, reason } => {
                self.rank_fn.on_drop(&packet.describe(now), now);
                Enqueued::Dropped { packet, reason }
            }
        }
    }

    fn dequeue(&mut self, now: Time) -> Dequeued<T> {
        match self.scheduler.dequeue(now) {
            Dequeued::Packet { packet, queue } => {
                self.rank_fn.on_dequeue(&packet.describe(now), now);
                Dequeued::Packet { packet, queue }
            }
            Dequeued::Dropped { packet, reason } => {
                self.rank_fn.on_drop(&packet.describe(now), now);
                Dequeued::Dropped { packet, reason }
            }
            Dequeued::NotBefore(time) => Dequeued::NotBefore(time),
            Dequeued::Empty => Dequeued::Empty,
        }
    }

    fn not_before(&mut self) -> Time {
        self.scheduler.not_before()
    }

    fn hint(&mut self, id: u64, hints: &Hints) {
        self.rank_fn.hint(id, hints);
        self.scheduler.hint(id, hints);
    }

    /// The facts of the rank function and those of the scheduler, except the carried rank, which the function replaces.
    fn wants(&self) -> WantedFacts {
        let of_rank = WantedFacts { needs: self.rank_fn.needs(), reads: self.rank_fn.reads() };
        of_rank | (self.scheduler.wants() - Facts::one(Fact::CarriedRank))
    }

    fn take_mark(&mut self) -> bool {
        self.scheduler.take_mark()
    }

    /// The scheduler decides after the rank function, so that its label counts if both write one.
    fn take_label(&mut self) -> Option<u64> {
        let of_rank = self.rank_fn.take_label();
        self.scheduler.take_label().or(of_rank)
    }

    fn forget_flow(&mut self, flow: u32) {
        self.rank_fn.forget_flow(flow);
        self.scheduler.forget_flow(flow);
    }

    /// Packets keep their ranks.
    fn succeed(&mut self, old: &mut dyn Scheduler<T>, now: Time, lost: &mut dyn FnMut(T)) {
        self.scheduler.succeed(old, now, lost);
    }
}

impl<R, S: Inspect> Inspect for Ranked<R, S> {
    inspect_inside!(self => self.scheduler);
}
