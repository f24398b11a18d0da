//! The contract that every scheduler keeps.

use crate::{Dequeued, Enqueued, Hints, Inspect, Item, Packet, WantedFacts};
use alloc::boxed::Box;
use pifolab_units::{Rank, Time};

/// Orders packets: takes them in, decides which to keep, and hands them out one by one.
///
/// The contract (the suite in `pifolab-testkit` holds every scheduler to it):
/// - packets and bytes are conserved: what was admitted is later dequeued, evicted or still held;
/// - the capacity is never exceeded;
/// - a refused packet comes back unchanged (but for the rank that [`Ranked`](crate::Ranked) gives it);
/// - the same sequence of calls gives the same outcomes;
/// - `now` never decreases from one call to the next.
///
/// What it holds, how much it can hold and all that only looks is [`Inspect`]; what a program that runs for long does to it
/// besides is [`ControlPlane`]. The trait is object safe; `Box<dyn Scheduler>` is a scheduler of [`Packet`]s.
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

    /// The side of it that a control plane sees, if there is anything for one to do.
    fn control_plane(&mut self) -> Option<&mut dyn ControlPlane<T>> {
        None
    }
}

/// The side of a scheduler that a control plane sees: a program that runs for long reuses the numbers of flows that have ended,
/// and puts a scheduler with other parameters in the place of one that holds packets.
///
/// The functions of [`control`](crate::control) do the same to any scheduler, whether it has this side or not.
pub trait ControlPlane<T: Item = Packet> {
    /// Forgets what is remembered of `flow`: its number will be another flow's. Only what rank functions remember is
    /// meant, not packets.
    fn forget_flow(&mut self, flow: u32) {
        let _ = flow;
    }

    /// Takes over a packet that waits in `queue` of another scheduler of the same name: into the same queue, or the last one if
    /// there are fewer, without a decision, as long as there is room. One without such queues enqueues it.
    fn take_over(&mut self, packet: T, queue: u32, now: Time) -> Enqueued<T>;

    /// Goes on with the window and the state that [`visit_window`](Inspect::visit_window) and
    /// [`visit_state`](Inspect::visit_state) show of another scheduler of the same name: for one that takes its place with
    /// other parameters. What does not fit is left out; the packets are not meant. Nothing happens where the algorithm remembers
    /// nothing, or does not say how.
    fn resume(&mut self, window: &[Rank], state: &[i64]) {
        let _ = (window, state);
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
    fn control_plane(&mut self) -> Option<&mut dyn ControlPlane<T>> {
        (**self).control_plane()
    }
}
