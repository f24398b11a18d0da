//! What a tree does where a scheduler orders the children of a node: see [`Node::ordered_by_scheduler`](super::Node::ordered_by_scheduler).
//!
//! A leaf that is not full is offered a packet last, once every such scheduler has a reference for it; what the leaf refuses leaves void
//! references. A full one is offered it first: as a rule it refuses it, or gives up another one, and no reference is needed but
//! those that there are.
//!
//! Packets leave for references that a scheduler has pushed out once the packet that arrives is in its leaf. It may itself be the one
//! that leaves, and is refused then. What no answer can tell is told by the next one: if a packet is refused and others leave, they are
//! dropped at dequeue.

use super::parts::{Link, NONE, OtherOrder, Place, Stopped, Tree};
use super::scheduled::ScheduledOrder;
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Inspect, InspectExt, Item, Packet, Scheduler, Victims};
use pifolab_units::Time;

impl<T: Item> Tree<T> {
    /// The order of the node `at`, if a scheduler keeps it.
    fn scheduled(&mut self, at: u32) -> Option<&mut ScheduledOrder> {
        match self.inner.get_mut(at as usize)?.other.as_deref_mut()? {
            OtherOrder::Scheduled(order) => Some(order),
            OtherOrder::Decided(_) => None,
        }
    }

    /// Offers a packet to the schedulers of the nodes above its leaf, and to the leaf.
    #[inline(never)]
    pub(super) fn enqueue_ordered(
        &mut self,
        leaf: usize,
        mut arriving: Packet,
        packet: T,
        eligible: Time,
        now: Time,
    ) -> Enqueued<T> {
        let id = arriving.id;
        let leaf_first = is_full(self.leaves[leaf].look(), arriving.size);
        if !leaf_first && let Err(reason) = self.ask_schedulers(leaf, &arriving, (eligible, now), false) {
            self.give_up_displaced(now);
            return Enqueued::Dropped { packet, reason };
        }
        let (queue, rank, mut victims) = match self.offer_to_leaf(leaf, packet, eligible, now) {
            Enqueued::Admitted { queue, rank } => (queue, rank, None),
            Enqueued::Evicted { queue, rank, victims } => (queue, rank, Some(victims)),
            Enqueued::Dropped { packet, reason } => {
                self.withdraw(leaf, NONE);
                self.give_up_displaced(now);
                return Enqueued::Dropped { packet, reason };
            }
        };
        if leaf_first {
            // None of them can refuse the packet any more.
            let _ = self.ask_schedulers(leaf, &arriving, (eligible, now), true);
        }
        arriving.rank = rank;
        self.push(leaf, &arriving, now);
        for victim in victims.iter().flat_map(Victims::iter) {
            self.remove(leaf, victim.size(), now);
        }
        let queue = self.spots[leaf].first_queue + queue;
        if leaf_first {
            self.note_lost(leaf);
        }
        let mut returned = None;
        for at in 0..self.displaced.len() {
            let (node, reference) = self.displaced[at];
            match (self.take_for(node, reference, now), &mut victims) {
                (None, _) => {}
                (Some((packet, _)), _) if packet.id() == id && returned.is_none() => returned = Some(packet),
                (Some((packet, _)), Some(victims)) => victims.push(packet),
                (Some((packet, _)), victims @ None) => *victims = Some(Victims::one(packet)),
            }
        }
        self.displaced.clear();
        match (returned, victims) {
            (None, None) => Enqueued::Admitted { queue, rank },
            (None, Some(victims)) => Enqueued::Evicted { queue, rank, victims },
            (Some(packet), None) => {
                self.mark = false;
                Enqueued::Dropped { packet, reason: DropReason::Full }
            }
            (Some(packet), Some(victims)) => {
                self.set_leaving(packet, queue);
                Enqueued::Evicted { queue, rank, victims }
            }
        }
    }

    /// Offers a reference to each scheduler above `leaf`. If one refuses it, those below take theirs back; or else, where the packet
    /// is in its leaf already, that order lacks one.
    fn ask_schedulers(
        &mut self,
        leaf: usize,
        packet: &Packet,
        times: (Time, Time),
        is_stored: bool,
    ) -> Result<(), DropReason> {
        let Place { parent: mut at, mut child, .. } = self.spots[leaf].place;
        while at != NONE {
            let Self { inner, orders, displaced, .. } = self;
            let node = &mut inner[at as usize];
            if let Some(OtherOrder::Scheduled(order)) = node.other.as_deref_mut() {
                let mut share = *orders.share(node.order, child);
                let is_idle = order.waiting(child) == 0;
                let rank = node.rule.rank_of(&mut share, child, is_idle, packet, times.1);
                let asked =
                    order.ask((child, rank, packet.size), share, times, |reference| displaced.push((at, reference)));
                match asked {
                    Ok(()) => {}
                    Err(_) if is_stored => order.lack(child, rank),
                    Err(reason) => {
                        self.withdraw(leaf, at);
                        return Err(reason);
                    }
                }
            }
            Place { parent: at, child, .. } = self.inner[at as usize].place;
        }
        Ok(())
    }

    /// The packet that the schedulers above `leaf` and below `top` were asked about does not come.
    fn withdraw(&mut self, leaf: usize, top: u32) {
        let mut at = self.spots[leaf].place.parent;
        while at != top {
            if let Some(order) = self.scheduled(at) {
                order.withdraw();
            }
            at = self.inner[at as usize].place.parent;
        }
    }

    /// References that are still missing above `leaf` are as if they had been pushed out.
    fn note_lost(&mut self, leaf: usize) {
        let mut at = self.spots[leaf].place.parent;
        while at != NONE {
            if let Some(reference) = self.scheduled(at).and_then(ScheduledOrder::take_lost) {
                self.displaced.push((at, reference));
            }
            at = self.inner[at as usize].place.parent;
        }
    }

    /// Takes the packets out for which references were pushed out, while the packet that pushed them out is refused.
    fn give_up_displaced(&mut self, now: Time) {
        for at in 0..self.displaced.len() {
            let (node, reference) = self.displaced[at];
            if let Some((packet, queue)) = self.take_for(node, reference, now) {
                self.set_leaving(packet, queue);
            }
        }
        self.displaced.clear();
    }

    /// Holds a packet that has left its leaf until the next dequeue.
    fn set_leaving(&mut self, packet: T, queue: u32) {
        self.packets += 1;
        self.bytes += u64::from(packet.size());
        self.leaving.push_back((packet, queue));
    }

    /// What is said of such a packet then.
    pub(super) fn give_up(&mut self, packet: T) -> Dequeued<T> {
        self.packets -= 1;
        self.bytes -= u64::from(packet.size());
        self.mark = false;
        Dequeued::Dropped { packet, reason: DropReason::PushedOut }
    }

    /// Notes why the node `at` cannot say which child is next. Whether it has given up a reference, so that the search is over.
    pub(super) fn is_stopped(&mut self, at: usize) -> bool {
        match self.stopped.take() {
            None => false,
            Some(Stopped::NotBefore(time)) => {
                let sleeper = (self.leaves.len() + at) as u32;
                self.asleep.push((time, sleeper), sleeper);
                self.sleepers += 1;
                self.held += 1;
                if let Some(order) = self.scheduled(at as u32) {
                    order.set_held(true);
                }
                false
            }
            Some(Stopped::GivenUp(reference, reason)) => {
                self.displaced.push((at as u32, reference));
                self.stopped = Some(Stopped::GivenUp(reference, reason));
                true
            }
        }
    }

    /// If a scheduler has given up a reference: what is dropped for it, or nothing where its child keeps its packet.
    pub(super) fn drop_given_up(&mut self, now: Time) -> Option<Option<Dequeued<T>>> {
        let Some(Stopped::GivenUp(_, reason)) = self.stopped.take() else { return None };
        let (node, reference) = self.displaced.pop()?;
        let packet = self.take_for(node, reference, now);
        self.mark = false;
        Some(packet.map(|(packet, _)| Dequeued::Dropped { packet, reason }))
    }

    /// Takes the packet out of the tree that the child of `reference` would hand out next, since the scheduler of the node `at` has
    /// lost that reference, and tells the queue that it waited in. Nothing if none of the child may leave: then the reference is kept.
    fn take_for(&mut self, at: u32, reference: u32, now: Time) -> Option<(T, u32)> {
        let (mut lowest, mut link) = (at, self.lose(at, reference)?);
        let leaf = loop {
            match link.get() {
                Ok(leaf) => break Some(leaf).filter(|_| link != Link::NONE),
                Err(node) => {
                    link = self.first_at(node, now);
                    // What a scheduler below gives up on the way leaves for both references.
                    if let Some(Stopped::GivenUp(reference, _)) = self.stopped.take() {
                        (lowest, link) = (node as u32, self.lose(node as u32, reference)?);
                    }
                }
            }
        };
        let Some(leaf) = leaf.filter(|leaf| !self.spots[*leaf].asleep) else {
            self.keep_lost(lowest, at);
            return None;
        };
        let outcome = scheduler!(self.leaves[leaf], scheduler => scheduler.dequeue(now));
        if self.may_mark {
            // The packet is lost, and its mark with it.
            scheduler!(self.leaves[leaf], scheduler => drop(Scheduler::<T>::take_mark(scheduler)));
        }
        let first_queue = self.spots[leaf].first_queue;
        let time = match outcome {
            Dequeued::Packet { packet, queue } => {
                self.account(leaf, packet.size());
                let place = self.pop_up_to(lowest, leaf, &packet.describe(now), now);
                self.remove_above(place);
                if !self.charge.is_arrival() {
                    self.settle(leaf, now);
                }
                return Some((packet, first_queue + queue));
            }
            Dequeued::Dropped { packet, .. } => {
                self.remove(leaf, packet.size(), now);
                return Some((packet, first_queue));
            }
            Dequeued::NotBefore(time) => time,
            Dequeued::Empty => Time::MAX,
        };
        self.sleep(leaf, time, now);
        self.keep_lost(lowest, at);
        None
    }

    /// The scheduler of the node `at` has lost this reference. Where its child is.
    fn lose(&mut self, at: u32, reference: u32) -> Option<Link> {
        let order = self.scheduled(at)?;
        order.lose(reference);
        let child = order.child_of(reference);
        Some(self.links[self.inner[at as usize].order.place(child)])
    }

    /// References that were lost from the node `lowest` up to `highest` are kept.
    fn keep_lost(&mut self, lowest: u32, highest: u32) {
        let mut at = lowest;
        loop {
            if let Some(order) = self.scheduled(at) {
                order.keep_lost();
            }
            if at == highest {
                return;
            }
            at = self.inner[at as usize].place.parent;
        }
    }

    /// Stops waiting for the time before which the scheduler of the node `at` lets nothing leave.
    pub(super) fn release_held(&mut self, at: usize) {
        let sleeper = (self.leaves.len() + at) as u32;
        if let Some(order) = self.scheduled(at as u32).filter(|order| order.is_held()) {
            order.set_held(false);
            self.asleep.remove(sleeper);
            self.sleepers -= 1;
            self.held -= 1;
        }
    }

    /// The time has come before which the scheduler of the node `at` let nothing leave.
    pub(super) fn wake_node(&mut self, at: usize, now: Time) {
        self.release_held(at);
        self.rouse(self.inner[at].place, now);
    }
}

/// Whether a packet of `size` bytes is beyond the capacity of a leaf as a whole.
fn is_full(leaf: &dyn Inspect, size: u32) -> bool {
    match leaf.capacity() {
        Capacity::Packets(packets) => leaf.len() >= packets as usize,
        Capacity::Bytes(bytes) => leaf.backlog().0 + u64::from(size) > bytes,
        Capacity::Unlimited => false,
    }
}
