//! The contract that every scheduler keeps.

use crate::{Dequeued, Enqueued, Hints, Inspect, Item, Packet, WantedFacts};
use alloc::boxed::Box;
use pifolab_units::Time;

/// Orders packets: takes them in, decides which to keep, and returns them one by one.
///
/// The contract (the suite in `pifolab-testkit` tests it for every scheduler):
/// - packets and bytes are conserved: what was admitted is later dequeued, evicted or still held;
/// - the capacity is never exceeded;
/// - a refused packet is returned unchanged (except for the rank that [`Ranked`](crate::Ranked) sets);
/// - the same sequence of calls gives the same outcomes;
/// - `now` never decreases from one call to the next.
///
/// [`Inspect`] has everything that only reads: packets held, capacities, registers. The last two methods are for a
/// control plane. The trait is object safe; `Box<dyn Scheduler>` is a scheduler of [`Packet`]s.
pub trait Scheduler<T: Item = Packet>: Inspect {
    /// Offers `packet` at time `now`.
    fn enqueue(&mut self, packet: T, now: Time) -> Enqueued<T>;

    /// Takes the next packet to send at time `now`.
    fn dequeue(&mut self, now: Time) -> Dequeued<T>;

    /// Offers a packet that may not leave before `eligible`. Only PIEO reads that time; others enqueue as usual.
    fn enqueue_eligible(&mut self, packet: T, eligible: Time, now: Time) -> Enqueued<T> {
        let _ = eligible;
        self.enqueue(packet, now)
    }

    /// The earliest time at which [`dequeue`](Self::dequeue) returns a packet if none arrives before; a past time if a
    /// packet may leave at once. Call it only while it holds packets. Trees use it to skip a leaf that may not send
    /// yet; the default costs one unnecessary `dequeue` of such a leaf.
    fn not_before(&mut self) -> Time {
        Time::ZERO
    }

    /// The facts about packets that it reads.
    fn wants(&self) -> WantedFacts {
        WantedFacts::NONE
    }

    /// Passes facts about packet `id` that do not fit in its descriptor. Call it directly before the packet is enqueued
    /// if [`wants`](Self::wants) has hints.
    fn hint(&mut self, id: u64, hints: &Hints) {
        let _ = (id, hints);
    }

    /// Whether to mark the packet that the last call admitted or returned (congestion experienced, RFC 3168). Call it
    /// after each such call if the scheduler needs [`Fact::Ecn`](crate::Fact::Ecn); no other scheduler marks packets.
    fn take_mark(&mut self) -> bool {
        false
    }

    /// The label with which the packet that the last call admitted or returned travels on, if it is a new one. Call it
    /// after each such call if the scheduler reads [`Fact::CarriedLabel`](crate::Fact::CarriedLabel); no other scheduler
    /// writes labels.
    fn take_label(&mut self) -> Option<u64> {
        None
    }

    /// Forgets the state of `flow` in rank functions: its number will be reused for another flow. Packets of the flow
    /// stay.
    fn forget_flow(&mut self, flow: u32) {
        let _ = flow;
    }

    /// Replaces `old`, a scheduler of the same name with other parameters: moves its packets here and resumes its
    /// registers as far as the algorithm defines. `self` must be empty. `lost` gets the packets that have no room.
    ///
    /// A decider leaves each packet in the queue that it waits in, without another decision. Without an implementation packets are
    /// enqueued in the order in which they would leave.
    fn succeed(&mut self, old: &mut dyn Scheduler<T>, now: Time, lost: &mut dyn FnMut(T)) {
        move_packets(old, now, lost, &mut |packet, _queue| self.enqueue(packet, now));
    }
}

/// Takes every packet out of `old` and passes it with its queue to `store`; `lost` gets the packets that are refused or
/// pushed out.
pub fn move_packets<T: Item>(
    old: &mut dyn Scheduler<T>,
    now: Time,
    lost: &mut dyn FnMut(T),
    store: &mut dyn FnMut(T, u32) -> Enqueued<T>,
) {
    let mut at = now;
    loop {
        match old.dequeue(at) {
            Dequeued::Packet { packet, queue } => match store(packet, queue) {
                Enqueued::Admitted { .. } => {}
                Enqueued::Evicted { victims, .. } => victims.into_iter().for_each(&mut *lost),
                Enqueued::Dropped { packet, .. } => lost(packet),
            },
            Dequeued::Dropped { packet, .. } => lost(packet),
            Dequeued::NotBefore(time) if time > at => at = time,
            Dequeued::NotBefore(_) | Dequeued::Empty => return,
        }
    }
}

impl<T: Item, S: Scheduler<T> + ?Sized> Scheduler<T> for Box<S> {
    fn enqueue(&mut self, packet: T, now: Time) -> Enqueued<T> {
        (**self).enqueue(packet, now)
    }
    fn dequeue(&mut self, now: Time) -> Dequeued<T> {
        (**self).dequeue(now)
    }
    fn enqueue_eligible(&mut self, packet: T, eligible: Time, now: Time) -> Enqueued<T> {
        (**self).enqueue_eligible(packet, eligible, now)
    }
    fn not_before(&mut self) -> Time {
        (**self).not_before()
    }
    fn wants(&self) -> WantedFacts {
        (**self).wants()
    }
    fn hint(&mut self, id: u64, hints: &Hints) {
        (**self).hint(id, hints);
    }
    fn take_mark(&mut self) -> bool {
        (**self).take_mark()
    }
    fn take_label(&mut self) -> Option<u64> {
        (**self).take_label()
    }
    fn forget_flow(&mut self, flow: u32) {
        (**self).forget_flow(flow);
    }
    fn succeed(&mut self, old: &mut dyn Scheduler<T>, now: Time, lost: &mut dyn FnMut(T)) {
        (**self).succeed(old, now, lost);
    }
}
