//! The operations of a tree in which a scheduler orders the children of a node; see
//! [`Node::ordered_by_scheduler`](super::Node::ordered_by_scheduler).
//!
//! A leaf with room receives a packet after every such scheduler has a reference for it; a refusal by the leaf makes
//! these references void. A full leaf receives the packet first. Usually it refuses the packet or pushes out another
//! one, and existing references suffice.
//!
//! Packets leave for pushed-out references after the arriving packet is in its leaf. If the arriving packet itself
//! leaves, it is refused. Departures that one answer cannot report are reported later: if a packet is refused and
//! others leave, the next dequeues drop them.

use super::parts::{Link, NONE, OtherOrder, Place, Stopped, Tree};
use super::scheduled::ScheduledOrder;
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Inspect, InspectExt, Item, Packet, Scheduler, Victims};
use pifolab_units::Time;

impl<T: Item> Tree<T> {
    /// The order of the node `at`, if it is a scheduler.
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
            // The schedulers cannot refuse the stored packet.
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

    /// Offers a reference to each scheduler above `leaf`. If one refuses, the schedulers below withdraw their
    /// references. If the packet is already stored, the refusing order instead records a missing reference.
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

    /// Withdraws the references of a refused packet from the schedulers above `leaf` and below `top`.
    fn withdraw(&mut self, leaf: usize, top: u32) {
        let mut at = self.spots[leaf].place.parent;
        while at != top {
            if let Some(order) = self.scheduled(at) {
                order.withdraw();
            }
            at = self.inner[at as usize].place.parent;
        }
    }

    /// Treats the missing references above `leaf` as pushed out.
    fn note_lost(&mut self, leaf: usize) {
        let mut at = self.spots[leaf].place.parent;
        while at != NONE {
            if let Some(reference) = self.scheduled(at).and_then(ScheduledOrder::take_lost) {
                self.displaced.push((at, reference));
            }
            at = self.inner[at as usize].place.parent;
        }
    }

    /// Removes the packets of pushed-out references, after the arriving packet is refused.
    fn give_up_displaced(&mut self, now: Time) {
        for at in 0..self.displaced.len() {
            let (node, reference) = self.displaced[at];
            if let Some((packet, queue)) = self.take_for(node, reference, now) {
                self.set_leaving(packet, queue);
            }
        }
        self.displaced.clear();
    }

    /// Stores a packet that has left its leaf for the next dequeue.
    fn set_leaving(&mut self, packet: T, queue: u32) {
        self.packets += 1;
        self.bytes += u64::from(packet.size());
        self.leaving.push_back((packet, queue));
    }

    /// The answer of that dequeue.
    pub(super) fn give_up(&mut self, packet: T) -> Dequeued<T> {
        self.packets -= 1;
        self.bytes -= u64::from(packet.size());
        self.mark = false;
        Dequeued::Dropped { packet, reason: DropReason::PushedOut }
    }

    /// Handles the reason why the node `at` has no next child. Returns whether it dropped a reference, which ends the
    /// search.
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

    /// The packet to drop for a reference that a scheduler has dropped; `Some(None)` if the child keeps its packet.
    pub(super) fn drop_given_up(&mut self, now: Time) -> Option<Option<Dequeued<T>>> {
        let Some(Stopped::GivenUp(_, reason)) = self.stopped.take() else { return None };
        let (node, reference) = self.displaced.pop()?;
        let packet = self.take_for(node, reference, now);
        self.mark = false;
        Some(packet.map(|(packet, _)| Dequeued::Dropped { packet, reason }))
    }

    /// Removes the next packet of the child of `reference`, which the scheduler of the node `at` has lost. Returns the
    /// packet and its queue. `None` if no packet of the child may leave; the reference is then kept.
    fn take_for(&mut self, at: u32, reference: u32, now: Time) -> Option<(T, u32)> {
        let (mut lowest, mut link) = (at, self.lose(at, reference)?);
        let leaf = loop {
            match link.get() {
                Ok(leaf) => break Some(leaf).filter(|_| link != Link::NONE),
                Err(node) => {
                    link = self.first_at(node, now);
                    // A reference dropped by a lower scheduler on this path leaves for both.
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
            // The mark is dropped with its packet.
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

    /// Marks the reference as lost by the scheduler of the node `at`. Returns the link to its child.
    fn lose(&mut self, at: u32, reference: u32) -> Option<Link> {
        let order = self.scheduled(at)?;
        order.lose(reference);
        let child = order.child_of(reference);
        Some(self.links[self.inner[at as usize].order.place(child)])
    }

    /// Keeps the lost references from the node `lowest` up to `highest`.
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

    /// Ends the wait for the scheduler of the node `at`.
    pub(super) fn release_held(&mut self, at: usize) {
        let sleeper = (self.leaves.len() + at) as u32;
        if let Some(order) = self.scheduled(at as u32).filter(|order| order.is_held()) {
            order.set_held(false);
            self.asleep.remove(sleeper);
            self.sleepers -= 1;
            self.held -= 1;
        }
    }

    /// Wakes the node `at` when its scheduler's waiting time is over.
    pub(super) fn wake_node(&mut self, at: usize, now: Time) {
        self.release_held(at);
        self.rouse(self.inner[at].place, now);
    }
}

/// Whether a packet of `size` bytes exceeds the capacity of a leaf as a whole.
fn is_full(leaf: &dyn Inspect, size: u32) -> bool {
    match leaf.capacity() {
        Capacity::Packets(packets) => leaf.len() >= packets as usize,
        Capacity::Bytes(bytes) => leaf.backlog().0 + u64::from(size) > bytes,
        Capacity::Unlimited => false,
    }
}
