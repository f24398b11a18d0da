//! The contract that every scheduler keeps.

use crate::{Dequeued, Enqueued, Hints, Inspect, Item, Packet, WantedFacts};
use alloc::boxed::Box;
use pifolab_units::Time;

/// Orders packets: takes them in, decides which to keep, and hands them out one by one.
///
/// The contract (the suite in `pifolab-testkit` holds every scheduler to it):
/// - packets and bytes are conserved: what was admitted is later dequeued, evicted or still held;
/// - the capacity is never exceeded;
/// - a refused packet comes back unchanged (but for the rank that [`Ranked`](crate::Ranked) gives it);
/// - the same sequence of calls gives the same outcomes;
/// - `now` never decreases from one call to the next.
///
/// What it holds, how much it can hold and all that only looks is [`Inspect`]. The last two methods are for a control plane. The trait
/// is object safe; `Box<dyn Scheduler>` is a scheduler of [`Packet`]s.
pub trait Scheduler<T: Item = Packet>: Inspect {
    /// Offers `packet` at time `now`.
    fn enqueue(&mut self, packet: T, now: Time) -> Enqueued<T>;

    /// Asks for the next packet to send at time `now`.
    fn dequeue(&mut self, now: Time) -> Dequeued<T>;

    /// Offers a packet that may not leave before `eligible`. Only PIEO looks at it; others enqueue as usual.
    fn enqueue_eligible(&mut self, packet: T, eligible: Time, now: Time) -> Enqueued<T> {
        let _ = eligible;
        self.enqueue(packet, now)
    }

    /// The earliest instant at which [`dequeue`](Self::dequeue) hands out a packet if none arrives before; one that has passed, if
    /// a packet may leave at once. To be asked only while it holds packets, by trees, which have to know when a leaf may send that
    /// they need not ask yet. Without this a leaf that holds packets back is asked once more than necessary.
    fn not_before(&mut self) -> Time {
        Time::ZERO
    }

    /// Which facts about packets it wants to be told.
    fn wants(&self) -> WantedFacts {
        WantedFacts::NONE
    }

    /// Hands over facts about packet `id` that its descriptor has no room for, directly before it is enqueued. To be called where
    /// what it [`wants`](Self::wants) has hints.
    fn hint(&mut self, id: u64, hints: &Hints) {
        let _ = (id, hints);
    }

    /// Whether the packet that the last call admitted or handed out is to be marked (congestion experienced, RFC 3168). To be asked
    /// after each such call where it needs [`Fact::Ecn`](crate::Fact::Ecn); there are no other marks.
    fn take_mark(&mut self) -> bool {
        false
    }

    /// Forgets what rank functions remember of `flow`: its number will be another flow's. Packets are not meant.
    fn forget_flow(&mut self, flow: u32) {
        let _ = flow;
    }

    /// Takes the place of `old`, a scheduler of the same name with other parameters: moves its packets here, and goes on with what
    /// its registers hold as far as the algorithm says how. This one holds nothing yet. `lost` gets the packets that have no room.
    ///
    /// A decider leaves each packet in the queue that it waits in, without another decision. Without an implementation packets are
    /// enqueued in the order in which they would leave.
    fn succeed(&mut self, old: &mut dyn Scheduler<T>, now: Time, lost: &mut dyn FnMut(T)) {
        move_packets(old, now, lost, &mut |packet, _queue| self.enqueue(packet, now));
    }
}

/// Takes every packet out of `old` and hands it with its queue to `store`; `lost` gets those that are not stored, or are pushed
/// out.
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
    fn forget_flow(&mut self, flow: u32) {
        (**self).forget_flow(flow);
    }
    fn succeed(&mut self, old: &mut dyn Scheduler<T>, now: Time, lost: &mut dyn FnMut(T)) {
        (**self).succeed(old, now, lost);
    }
}
