//! The contract that every scheduler keeps.

use crate::{Capacity, Dequeued, DropReason, Enqueued, Hints, Packet};
use alloc::boxed::Box;
use pifolab_units::{Bytes, Rank, Time};

/// Orders packets: takes them in, decides which to keep, and hands them out one by one.
///
/// The contract (the suite in `pifolab-testkit` holds every scheduler to it):
/// - packets and bytes are conserved: what was admitted is later dequeued, evicted or still held;
/// - the capacity is never exceeded;
/// - a refused packet comes back unchanged (but for the rank that [`Ranked`](crate::Ranked) gives it);
/// - the same sequence of calls gives the same outcomes;
/// - `now` never decreases from one call to the next.
///
/// The trait is object safe; `Box<dyn Scheduler>` is a scheduler.
pub trait Scheduler {
    /// Offers `packet` at time `now`.
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued;

    /// Asks for the next packet to send at time `now`.
    fn dequeue(&mut self, now: Time) -> Dequeued;

    /// Takes the only packet held, which was admitted at this very moment by an idle port, past the queue: it did not
    /// wait, so no rank function is told of a departure. Ports that send every packet through the queue never call it.
    fn dequeue_unqueued(&mut self, now: Time) -> Dequeued {
        self.dequeue(now)
    }

    /// Lets a packet of this size and rank pass this scheduler, which is empty, as an idle port does: `true` if it is
    /// admitted and comes out unchanged, and then windows, bounds and counters are as an [`enqueue`](Self::enqueue) and a
    /// [`dequeue`](Self::dequeue) at the same instant leave them. With `false`, which is always right, nothing has changed
    /// and the caller makes those two calls.
    fn pass(&mut self, size: u32, rank: Rank) -> bool {
        let _ = (size, rank);
        false
    }

    /// Whether all that this scheduler decides is into which queue an arriving packet goes, if into any: packets of a queue
    /// leave in the order of their arrival, those of the lowest-numbered queue first, whenever they are asked for. A
    /// caller may then keep the packets itself and only [`admit`](Self::admit) and [`release`](Self::release) them.
    /// `false` is always right.
    fn decides_on_arrival(&self) -> bool {
        false
    }

    /// As [`enqueue`](Self::enqueue), but the packet stays with the caller: the queue that takes it, and counts it as held.
    /// To be called only if it [decides on arrival](Self::decides_on_arrival), and never beside `enqueue`.
    ///
    /// # Errors
    /// Why the packet is refused.
    ///
    /// # Panics
    /// If it does not decide on arrival.
    fn admit(&mut self, size: u32, rank: Rank) -> Result<u32, DropReason> {
        let _ = (size, rank);
        panic!("this scheduler decides more than a packet's queue");
    }

    /// As [`dequeue`](Self::dequeue), for the oldest packet of `queue`, which has `size` bytes and which the caller keeps.
    ///
    /// # Panics
    /// As [`admit`](Self::admit).
    fn release(&mut self, queue: u32, size: u32) {
        let _ = (queue, size);
        panic!("this scheduler decides more than a packet's queue");
    }

    /// Whether this is nothing but a PIFO: the lowest rank leaves first, when full the highest is pushed out, equal ranks
    /// are first-in first-out, any rank is taken. A port that nobody watches may then keep its packets itself. `false` is
    /// always right.
    fn is_plain_pifo(&self) -> bool {
        false
    }

    /// Packets held.
    fn len(&self) -> usize;

    /// Bytes held.
    fn backlog(&self) -> Bytes;

    /// The most it can hold, over all queues; [`Capacity::Unlimited`] if there is no bound.
    fn capacity(&self) -> Capacity;

    /// Whether no packet waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Offers a packet that may not leave before `eligible`. Only PIEO looks at it; others enqueue as usual.
    fn enqueue_eligible(&mut self, packet: Packet, eligible: Time, now: Time) -> Enqueued {
        let _ = eligible;
        self.enqueue(packet, now)
    }

    /// Hands over facts about packet `id` that its descriptor has no room for, directly before it is enqueued. Only
    /// schedulers joined to a rank function that needs them keep them.
    fn hint(&mut self, id: u64, hints: &Hints) {
        let _ = (id, hints);
    }

    /// Whether [`hint`](Self::hint) has any effect here; callers need not gather hints otherwise.
    fn wants_hints(&self) -> bool {
        false
    }

    /// The number of queues that packets are spread over.
    fn queues(&self) -> usize {
        1
    }

    /// Packets held in `queue`, 0 being the one with the highest priority.
    ///
    /// # Panics
    /// If there is no such queue.
    fn queue_len(&self, queue: usize) -> usize {
        assert!(queue == 0, "no queue {queue}: there is only one");
        self.len()
    }

    /// The smallest rank that `queue` now accepts (SP-PIFO) or the largest (PACKS eq. 11), whatever the algorithm
    /// calls its queue bound; `None` where it has none.
    fn queue_bound(&self, queue: usize) -> Option<i64> {
        let _ = queue;
        None
    }

    /// The queue that a packet of this flow, size and rank was meant for, which [`enqueue`](Self::enqueue) refused just
    /// now; `None` if it was refused before a queue was chosen, or if that can no longer be told. Only who records losses
    /// by queue asks, and only where there are several.
    fn refused_at(&self, flow: u32, size: u32, rank: Rank) -> Option<u32> {
        let _ = (flow, size, rank);
        None
    }

    /// Calls `visit` with each rank of the sliding window, oldest first; not at all where there is no window.
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        let _ = visit;
    }
}

impl<S: Scheduler + ?Sized> Scheduler for Box<S> {
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        (**self).enqueue(packet, now)
    }
    fn dequeue(&mut self, now: Time) -> Dequeued {
        (**self).dequeue(now)
    }
    fn dequeue_unqueued(&mut self, now: Time) -> Dequeued {
        (**self).dequeue_unqueued(now)
    }
    fn pass(&mut self, size: u32, rank: Rank) -> bool {
        (**self).pass(size, rank)
    }
    fn decides_on_arrival(&self) -> bool {
        (**self).decides_on_arrival()
    }
    fn admit(&mut self, size: u32, rank: Rank) -> Result<u32, DropReason> {
        (**self).admit(size, rank)
    }
    fn release(&mut self, queue: u32, size: u32) {
        (**self).release(queue, size);
    }
    fn is_plain_pifo(&self) -> bool {
        (**self).is_plain_pifo()
    }
    fn len(&self) -> usize {
        (**self).len()
    }
    fn backlog(&self) -> Bytes {
        (**self).backlog()
    }
    fn capacity(&self) -> Capacity {
        (**self).capacity()
    }
    fn is_empty(&self) -> bool {
        (**self).is_empty()
    }
    fn enqueue_eligible(&mut self, packet: Packet, eligible: Time, now: Time) -> Enqueued {
        (**self).enqueue_eligible(packet, eligible, now)
    }
    fn hint(&mut self, id: u64, hints: &Hints) {
        (**self).hint(id, hints);
    }
    fn wants_hints(&self) -> bool {
        (**self).wants_hints()
    }
    fn queues(&self) -> usize {
        (**self).queues()
    }
    fn queue_len(&self, queue: usize) -> usize {
        (**self).queue_len(queue)
    }
    fn queue_bound(&self, queue: usize) -> Option<i64> {
        (**self).queue_bound(queue)
    }
    fn refused_at(&self, flow: u32, size: u32, rank: Rank) -> Option<u32> {
        (**self).refused_at(flow, size, rank)
    }
    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        (**self).visit_window(visit);
    }
}
