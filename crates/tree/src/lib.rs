//! Trees of schedulers: PIFO trees, with any scheduler at the leaves.
//!
//! Papers: Sivaraman et al., "Programmable Packet Scheduling at Line Rate", SIGCOMM 2016, sections 2 and 3; Mohan et al.,
//! "Formal Abstractions for Packet Scheduling", OOPSLA 2023.
//!
//! A leaf stores packets. An inner node orders its children by a [`Discipline`]. A dequeue follows first entries: the
//! root's first entry is a child, that child's first entry is the next, down to the leaf, which returns a packet.
//!
//! With [`Charge::Departure`], the default, a node has one entry per child with packets, and is charged with each
//! departing packet. With [`Charge::Arrival`] it is the PIFO of the papers. It holds one *index* of a child per packet
//! below that child, ranked and charged when the packet arrives. Leaves and inner nodes reorder, so an index represents
//! no particular packet. The rules below are for indices, and apply to entries where possible.
//!
//! - A packet that a leaf or a full node refuses enters no node: all nodes are checked before any state changes.
//! - A packet that is pushed out, or dropped at dequeue, removes the last index of its child from every node above. (An
//!   arrival that pushes another packet out adds its indices first.) The state of disciplines is not rolled back.
//! - Inner nodes are unbounded unless they have a [capacity](Node::capacity), which counts the packets below and may be
//!   [shared](Node::alpha) among the children by dynamic thresholds.
//! - A leaf whose packets may not leave yet (PIEO, for example) is skipped until they may; other leaves continue.
//! - A decider ([`ordered_by`](Node::ordered_by)) or any other scheduler may order a node's children.
//!   [`ordered_by_scheduler`](Node::ordered_by_scheduler) defines the handling of indices that the scheduler refuses,
//!   pushes out or holds back.
//! - A [shaped](Node::shaped) node is skipped while its token bucket is in debt, or its indices wait until the bucket
//!   releases them.
//!
//! Parameters: the nodes ([`Node`]), and the rule that sorts packets into leaves ([`Field`], or a function). Policies
//! may also be written as text ([`Policy`]).
//!
//! Cost: O(log children) per packet and inner node on its path, for any backlog, plus the cost of the leaf. No packet
//! allocates once all queues have their working size. A switch needs one PIFO per node.
//!
//! Deviations: ranks of indices are 63-bit integers ([`Discipline`] defines the unit). They are set back before they
//! overflow; ranks that cannot be set back stay at the largest value instead of wrapping. Tags of entries never
//! overflow.
//!
//! References: `docs/trees.md`.
#![no_std]

extern crate alloc;

/// Calls the scheduler of a leaf.
macro_rules! scheduler {
    ($leaf:expr, $scheduler:ident => $call:expr) => {
        match &mut $leaf {
            $crate::LeafScheduler::Fifo($scheduler) => $call,
            $crate::LeafScheduler::Pifo($scheduler) => $call,
            $crate::LeafScheduler::Other($scheduler) => $call,
        }
    };
}

mod approximate;
mod backlog;
mod buffer;
mod classifier;
mod compare;
mod compile;
mod cost;
mod departure;
mod discipline;
mod forecast;
mod heads;
mod inspect;
mod node;
mod order;
mod ordered;
mod parts;
mod plan;
mod policy;
mod releases;
mod rule;
mod scheduled;
mod shaper;
mod share;

pub use classifier::{Classify, Field, Takes};
pub use compile::{Compiled, Shape};
pub use discipline::{Charge, Discipline, DisciplineKind, WALL_CLOCK_TICKS};
pub use node::{LeafScheduler, Node};
pub use parts::Tree;
pub use pifolab_sched::TokenBucket;
pub use policy::{Number, Policy, PolicyError};

use buffer::Buffer;
use parts::{Inner, Link, NONE, OtherOrder, Place, Stopped};
use pifolab_sched::{Arriving, Dequeued, DropReason, Enqueued, Hints, Item, Packet, Scheduler, WantedFacts};
use pifolab_units::Time;
use rule::Rule;
use scheduled::First;

impl<T: Item> Tree<T> {
    /// Checks that every node above `leaf` accepts `packet`. Changes only the state that deciders, and rank functions
    /// before them, update at arrivals.
    #[inline(never)]
    fn ask(&mut self, leaf: usize, packet: &Packet, now: Time) -> Result<(), DropReason> {
        let mut place = &self.spots[leaf].place;
        while let Some(node) = self.inner.get(place.parent as usize) {
            if node.buffer.as_ref().is_some_and(|buffer| !buffer.fits(place.child, packet.size)) {
                return Err(DropReason::Full);
            }
            place = &node.place;
        }
        let Place { parent: mut at, mut child, .. } = self.spots[leaf].place;
        while let Some(node) = self.inner.get_mut(at as usize) {
            if let Some(OtherOrder::Decided(order)) = node.other.as_deref_mut() {
                let mut share = *self.orders.share(node.order, child);
                let idle = order.waiting(child) == 0;
                let rank = node.rule.rank_of(&mut share, child, idle, packet, now);
                order.ask(child, rank, packet.size, share)?;
            }
            Place { parent: at, child, .. } = node.place;
        }
        Ok(())
    }

    /// The next child of the node `at` at `now`, among the awake ones. If the node has no answer, `stopped` holds the
    /// reason.
    #[inline(always)]
    fn first_at(&mut self, at: usize, now: Time) -> Link {
        if self.inner[at].other.is_none() { self.inner[at].next } else { self.first_of_other(at, now) }
    }

    #[inline(never)]
    fn first_of_other(&mut self, at: usize, now: Time) -> Link {
        let node = &mut self.inner[at];
        let child = match node.other.as_deref_mut() {
            None => return node.next,
            Some(OtherOrder::Decided(order)) => order.first(),
            Some(OtherOrder::Scheduled(order)) => match order.first(now) {
                First::Child(child) => Some(child),
                First::GivenUp(reference, reason) => {
                    self.stopped = Some(Stopped::GivenUp(reference, reason));
                    None
                }
                First::NotBefore(time) => {
                    self.stopped = Some(Stopped::NotBefore(time));
                    None
                }
                First::Nothing => None,
            },
        };
        child.map_or(Link::NONE, |child| self.links[node.order.place(child)])
    }

    fn remove_last_at(&mut self, at: u32, child: u32) {
        let node = &mut self.inner[at as usize];
        match node.other.as_deref_mut() {
            Some(OtherOrder::Decided(order)) => order.remove_last(child),
            Some(OtherOrder::Scheduled(order)) => order.remove_last(child),
            None if matches!(node.rule, Rule::Heads(_)) => {}
            None => {
                let first = self.orders.remove_last(node.order, child);
                node.next = first.map_or(Link::NONE, |first| self.links[first]);
            }
        }
    }

    fn set_asleep_at(&mut self, at: u32, child: u32, asleep: bool, now: Time) {
        let Self { inner, orders, backlog, links, .. } = self;
        let node = &mut inner[at as usize];
        let next = match (node.other.as_deref_mut(), &node.rule) {
            (Some(OtherOrder::Decided(order)), _) => return order.set_asleep(child, asleep),
            (Some(OtherOrder::Scheduled(order)), _) => return order.set_asleep(child, asleep),
            (None, Rule::Heads(heads)) => {
                orders.note_asleep(node.order, child, asleep);
                match (asleep, orders.has_entry(node.order, child)) {
                    (true, true) => orders.retire(node.order, child),
                    (false, false) if backlog.has(node.order, child) => heads.start(orders, node.order, child, now),
                    _ => return,
                }
            }
            (None, _) => orders.set_asleep(node.order, child, asleep),
        };
        node.next = next.map_or(Link::NONE, |next| links[next]);
    }

    /// Adds an index of `child` to the node `at`, and to the nodes above up to the first shaper that holds it.
    #[inline(never)]
    fn push_from(&mut self, mut at: u32, mut child: u32, packet: &Packet, now: Time) {
        let Self { inner, orders, links, shapers, charge, .. } = self;
        let arrival = orders.arrive();
        while let Some(node) = inner.get_mut(at as usize) {
            let Inner { place, order, rule, .. } = node;
            if let Some(other) = node.other.as_deref_mut() {
                match other {
                    OtherOrder::Decided(decided) => *orders.share(*order, child) = decided.push(child, packet.size),
                    OtherOrder::Scheduled(scheduled) if scheduled.is_asked() => {
                        *orders.share(*order, child) = scheduled.commit(child);
                    }
                    OtherOrder::Scheduled(_) => {}
                }
            } else if let Some(first) = rule.push(orders, *order, child, arrival, packet, now) {
                node.next = links[first];
            }
            if place.shaper != NONE && charge.is_arrival() && !shapers.passes(place.shaper, packet, now) {
                break;
            }
            Place { parent: at, child, .. } = *place;
        }
    }

    /// Adds the indices of a packet that `leaf` has stored.
    #[inline(always)]
    fn push(&mut self, leaf: usize, packet: &Packet, now: Time) {
        if self.is_plain {
            // Packets offered with an eligible time use this path. It also skips nodes with one child.
            return self.push_plain(leaf, packet.size, now);
        }
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        if self.asks {
            self.book(leaf, |buffer, child| buffer.take(child, packet.size));
        }
        let Place { parent, child, shaper } = self.spots[leaf].place;
        if self.charge.is_arrival() {
            if shaper == NONE || self.shapers.passes(shaper, packet, now) {
                self.push_from(parent, child, packet, now);
            }
        } else {
            if self.has_indices {
                self.push_from(parent, child, packet, now);
            }
            self.settle(leaf, now);
        }
        if self.sleepers > 0 {
            self.wake(leaf, now);
        }
    }

    /// Adds the indices of a packet in a plain tree.
    #[inline(always)]
    fn push_plain(&mut self, leaf: usize, size: u32, now: Time) {
        self.packets += 1;
        self.bytes += u64::from(size);
        if !self.charge.is_arrival() {
            return self.settle(leaf, now);
        }
        let Self { inner, orders, spots, ways, .. } = self;
        let arrival = orders.arrive();
        let Place { parent: mut at, mut child, .. } = spots[leaf].place;
        while let Some(node) = inner.get_mut(at as usize) {
            let Rule::Own(rule) = &mut node.rule else { unreachable!("a tree with such a node is not plain") };
            if let Some(first) = rule.push(orders, node.order, child, arrival, size, now) {
                node.next = ways[first];
            }
            Place { parent: at, child, .. } = node.place;
        }
    }

    /// Removes the next packet of a plain tree; returns it and its leaf.
    #[inline(always)]
    fn pop_plain(&mut self, now: Time) -> Option<(T, usize)> {
        let Self { inner, orders, spots, leaves, ways, .. } = self;
        let mut link = self.root;
        let leaf = loop {
            match link.get() {
                Err(node) => link = inner[node].next,
                Ok(leaf) if link != Link::NONE => break leaf,
                Ok(_) => return None,
            }
        };
        let LeafScheduler::Fifo(fifo) = &mut leaves[leaf] else { unreachable!("a tree with such a leaf is not plain") };
        let (packet, _) = fifo.pop()?;
        self.packets -= 1;
        self.bytes -= u64::from(packet.size());
        if !self.charge.is_arrival() {
            self.depart(leaf, packet.size(), now);
            return Some((packet, leaf));
        }
        let Place { parent: mut at, mut child, .. } = spots[leaf].place;
        while let Some(node) = inner.get_mut(at as usize) {
            let Rule::Own(rule) = &mut node.rule else { unreachable!("a tree with such a node is not plain") };
            let (rank, first) = orders.pop(node.order, child);
            node.next = first.map_or(Link::NONE, |first| ways[first]);
            rule.on_pop(|| orders.share(node.order, child), child, rank);
            Place { parent: at, child, .. } = node.place;
        }
        Some((packet, leaf))
    }

    /// Removes the indices of a packet of `leaf` that was pushed out or dropped.
    fn remove(&mut self, leaf: usize, size: u32, now: Time) {
        self.account(leaf, size);
        self.remove_above(self.spots[leaf].place);
        if !self.charge.is_arrival() {
            self.settle(leaf, now);
        }
    }

    /// Removes the last index of each node above `place`.
    fn remove_above(&mut self, Place { mut parent, mut child, mut shaper }: Place) {
        // An index that still waits at a shaper is not in the nodes above.
        while shaper == NONE || !self.shapers.remove_last(shaper) {
            if parent == NONE {
                return;
            }
            self.remove_last_at(parent, child);
            Place { parent, child, shaper } = self.inner[parent as usize].place;
        }
    }

    /// Chooses the leaf of `packet`, and passes facts about the packet to the nodes that need them.
    #[inline]
    fn classify(&mut self, packet: &Packet) -> Option<usize> {
        if self.wants.has_hints() {
            self.classify_hinted(packet)
        } else {
            self.classifier.leaf(packet, None).map(|leaf| leaf as usize)
        }
    }

    #[inline(never)]
    fn classify_hinted(&mut self, packet: &Packet) -> Option<usize> {
        let hints = self.hinted.take().filter(|(id, _)| *id == packet.id).map(|(_, hints)| hints).unwrap_or_default();
        let leaf = self.classifier.leaf(packet, Some(&hints))? as usize;
        self.hand_over(leaf, packet.id, &hints);
        Some(leaf)
    }

    /// Passes the facts about an arriving packet to the leaf and the disciplines above it.
    fn hand_over(&mut self, leaf: usize, id: u64, hints: &Hints) {
        scheduler!(self.leaves[leaf], scheduler => Scheduler::<T>::hint(scheduler, id, hints));
        let mut at = self.spots[leaf].place.parent;
        while let Some(node) = self.inner.get_mut(at as usize) {
            if let Rule::Ranked(function) = &mut node.rule {
                function.hint(id, hints);
            }
            at = node.place.parent;
        }
    }

    /// Removes the first index of each node above `leaf`, because `packet` leaves.
    #[inline(never)]
    fn pop(&mut self, leaf: usize, packet: &Packet, now: Time) {
        self.account(leaf, packet.size);
        if self.charge.is_arrival() || self.has_indices {
            self.pop_up_to(NONE, leaf, packet, now);
        }
        if !self.charge.is_arrival() {
            self.depart(leaf, packet.size, now);
        }
    }

    /// Removes the first index of each node above `leaf` and below the node `top`. Returns the place of the node below
    /// `top`.
    #[inline(always)]
    fn pop_up_to(&mut self, top: u32, leaf: usize, packet: &Packet, now: Time) -> Place {
        let mut place = self.spots[leaf].place;
        let Self { inner, orders, links, .. } = self;
        while place.parent != top {
            let Place { parent: at, child, .. } = place;
            let node = &mut inner[at as usize];
            if matches!(node.rule, Rule::Heads(_)) {
                place = node.place;
                continue;
            }
            let rank = if let Some(other) = node.other.as_deref_mut() {
                match other {
                    OtherOrder::Decided(order) => order.pop(child).expect("a packet of this child left"),
                    OtherOrder::Scheduled(order) => order.pop(child),
                }
            } else {
                let (rank, first) = orders.pop(node.order, child);
                node.next = first.map_or(Link::NONE, |first| links[first]);
                rank
            };
            node.rule.on_pop(|| orders.share(node.order, child), child, rank, packet, now);
            place = node.place;
        }
        place
    }

    /// Offers a packet to its leaf, and applies the outcome to the nodes above.
    #[inline(never)]
    fn enqueue_in(&mut self, leaf: usize, mut arriving: Packet, packet: T, eligible: Time, now: Time) -> Enqueued<T> {
        let first_queue = self.spots[leaf].first_queue;
        match self.offer_to_leaf(leaf, packet, eligible, now) {
            Enqueued::Admitted { queue, rank } => {
                arriving.rank = rank;
                self.push(leaf, &arriving, now);
                Enqueued::Admitted { queue: first_queue + queue, rank }
            }
            Enqueued::Evicted { queue, rank, victims } => {
                arriving.rank = rank;
                self.push(leaf, &arriving, now);
                for victim in victims.iter() {
                    self.remove(leaf, victim.size(), now);
                }
                Enqueued::Evicted { queue: first_queue + queue, rank, victims }
            }
            Enqueued::Dropped { packet, reason } => Enqueued::Dropped { packet, reason },
        }
    }

    /// Offers a packet to its leaf only.
    #[inline(always)]
    fn offer_to_leaf(&mut self, leaf: usize, packet: T, eligible: Time, now: Time) -> Enqueued<T> {
        let outcome = scheduler!(self.leaves[leaf], scheduler => {
            if eligible > Time::ZERO { scheduler.enqueue_eligible(packet, eligible, now) } else { scheduler.enqueue(packet, now) }
        });
        if self.may_mark {
            self.note_mark(leaf);
        }
        outcome
    }

    /// Reads from a leaf whether it marks the packet that it has just admitted or returned.
    fn note_mark(&mut self, leaf: usize) {
        self.mark = scheduler!(self.leaves[leaf], scheduler => Scheduler::<T>::take_mark(scheduler));
    }

    /// Accounts for a packet that has left `leaf`.
    #[inline]
    fn account(&mut self, leaf: usize, size: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(size);
        if self.asks {
            self.book(leaf, |buffer, child| buffer.release(child, size));
        }
    }

    /// Updates the buffers of all nodes above `leaf`.
    #[inline(never)]
    fn book(&mut self, leaf: usize, mut change: impl FnMut(&mut Buffer, u32)) {
        let Place { parent: mut at, mut child, .. } = self.spots[leaf].place;
        while let Some(node) = self.inner.get_mut(at as usize) {
            if let Some(buffer) = &mut node.buffer {
                change(buffer, child);
            }
            (at, child) = (node.place.parent, node.place.child);
        }
    }

    /// The next leaf among the awake ones.
    #[inline(always)]
    fn next_leaf(&mut self, now: Time) -> Option<usize> {
        let mut at = 0;
        while at < self.inner.len() {
            let link = self.first_at(at, now);
            match link.get() {
                Err(inner) => at = inner,
                Ok(leaf) if link != Link::NONE => return Some(leaf),
                Ok(_) => {
                    if self.has_scheduled && self.is_stopped(at) {
                        return None;
                    }
                    // All children with packets sleep, so this node sleeps as well.
                    let Place { parent, child, .. } = self.inner[at].place;
                    if parent == NONE {
                        return None;
                    }
                    self.set_asleep_at(parent, child, true, now);
                    at = 0;
                }
            }
        }
        Some(0)
    }

    /// Makes `leaf` sleep until `time`.
    #[inline(never)]
    fn sleep(&mut self, leaf: usize, time: Time, now: Time) {
        let Place { parent, child, .. } = self.spots[leaf].place;
        self.spots[leaf].asleep = true;
        self.asleep.push((time, leaf as u32), leaf as u32);
        self.sleepers += 1;
        self.set_asleep_at(parent, child, true, now);
    }

    /// Wakes `leaf`.
    #[inline(never)]
    fn wake(&mut self, leaf: usize, now: Time) {
        if core::mem::take(&mut self.spots[leaf].asleep) {
            self.asleep.remove(leaf as u32);
            self.sleepers -= 1;
        }
        self.rouse(self.spots[leaf].place, now);
    }

    /// Wakes the child at `place` and the nodes above, up to a node whose bucket is in debt.
    fn rouse(&mut self, mut place: Place, now: Time) {
        while place.parent != NONE && !self.shapers.owes(place.shaper) {
            self.set_asleep_at(place.parent, place.child, false, now);
            if self.held > 0 {
                self.release_held(place.parent as usize);
            }
            place = self.inner[place.parent as usize].place;
        }
        let waits = |place: Place| self.backlog.has(self.inner[place.parent as usize].order, place.child);
        let paid = |place: Place| self.asleep.key(self.sleeper_of(place.shaper)).0;
        if place.parent != NONE && waits(place) && paid(place) > now {
            self.shapers.note_limited(place.shaper);
        }
    }

    /// Wakes the path to an index of `child` that has just been released to the node `at`. A sleeping leaf stays
    /// asleep, because its packets may not leave earlier.
    fn rouse_released(&mut self, at: u32, child: u32, now: Time) {
        let node = &self.inner[at as usize];
        let link = self.links[node.order.place(child)];
        let sleeps_on = link.get().is_ok_and(|leaf| self.spots[leaf].asleep);
        let place = if sleeps_on { node.place } else { Place { parent: at, child, shaper: NONE } };
        self.rouse(place, now);
    }

    /// Wakes leaves and nodes, and releases indices, whose time is at most `now`.
    #[inline(never)]
    fn advance(&mut self, now: Time) {
        while let Some((_, sleeper)) = self.asleep.peek().filter(|(time, _)| *time <= now).copied() {
            match (sleeper as usize).checked_sub(self.leaves.len()) {
                None => self.wake(sleeper as usize, now),
                Some(node) if node < self.inner.len() => self.wake_node(node, now),
                Some(shaper) => self.wake_shaper((shaper - self.inner.len()) as u32, now),
            }
        }
        while let Some((shaper, packet, time)) = self.shapers.release(now) {
            let (at, child) = self.shaped[shaper as usize];
            self.push_from(at, child, &packet, time);
            if self.sleepers > 0 {
                self.rouse_released(at, child, now);
            }
        }
    }

    /// Removes the next packet of any tree.
    #[inline(never)]
    fn dequeue_any(&mut self, now: Time) -> Dequeued<T> {
        if self.waits() {
            self.advance(now);
        }
        if let Some((packet, _)) = self.leaving.pop_front() {
            return self.give_up(packet);
        }
        loop {
            let Some(leaf) = self.next_leaf(now) else {
                match self.drop_given_up(now) {
                    None => {}
                    Some(None) => continue,
                    Some(Some(dropped)) => return dropped,
                }
                // A fair queue may advance when it is found empty. A single leaf is therefore called as without a tree.
                if let ([only], 0) = (&mut *self.leaves, self.packets) {
                    scheduler!(*only, scheduler => drop(scheduler.dequeue(now)));
                }
                return self.nothing(now);
            };
            let outcome = scheduler!(self.leaves[leaf], scheduler => scheduler.dequeue(now));
            if self.may_mark {
                self.note_mark(leaf);
            }
            let time = match outcome {
                Dequeued::Packet { packet, queue } => {
                    self.pop(leaf, &packet.describe(now), now);
                    return Dequeued::Packet { packet, queue: self.spots[leaf].first_queue + queue };
                }
                Dequeued::Dropped { packet, reason } => {
                    self.remove(leaf, packet.size(), now);
                    return Dequeued::Dropped { packet, reason };
                }
                Dequeued::NotBefore(time) => time,
                Dequeued::Empty => Time::MAX,
            };
            if self.inner.is_empty() {
                return if time < Time::MAX { Dequeued::NotBefore(time) } else { Dequeued::Empty };
            }
            self.sleep(leaf, time, now);
        }
    }

    /// Whether the passing of time can change the next packet.
    #[inline]
    const fn waits(&self) -> bool {
        self.sleepers > 0 || self.shapers.is_waiting()
    }
}

impl<T: Item> Scheduler<T> for Tree<T> {
    #[inline]
    fn enqueue(&mut self, packet: T, now: Time) -> Enqueued<T> {
        if !self.is_simple || self.waits() {
            return self.enqueue_eligible(packet, Time::ZERO, now);
        }
        // A short form of `enqueue_eligible` for trees that need few checks.
        let Some(leaf) = self.classifier.leaf_by_descriptor(packet.flow(), packet.size(), packet.rank()) else {
            return Enqueued::Dropped { packet, reason: DropReason::Admission };
        };
        let leaf = leaf as usize;
        if self.is_plain
            && let LeafScheduler::Fifo(fifo) = &mut self.leaves[leaf]
        {
            let (rank, size) = (packet.rank(), packet.size());
            if let Err((packet, reason)) = fifo.offer(Arriving::of(&packet), packet) {
                return Enqueued::Dropped { packet, reason };
            }
            self.push_plain(leaf, size, now);
            return Enqueued::Admitted { queue: self.spots[leaf].first_queue, rank };
        }
        let arriving = packet.describe(now);
        self.enqueue_in(leaf, arriving, packet, Time::ZERO, now)
    }

    #[inline(never)]
    fn enqueue_eligible(&mut self, packet: T, eligible: Time, now: Time) -> Enqueued<T> {
        if self.waits() {
            self.advance(now);
        }
        let arriving = packet.describe(now);
        let Some(leaf) = self.classify(&arriving) else {
            return Enqueued::Dropped { packet, reason: DropReason::Admission };
        };
        if self.asks
            && let Err(reason) = self.ask(leaf, &arriving, now)
        {
            return Enqueued::Dropped { packet, reason };
        }
        if self.has_scheduled {
            return self.enqueue_ordered(leaf, arriving, packet, eligible, now);
        }
        self.enqueue_in(leaf, arriving, packet, eligible, now)
    }

    #[inline]
    fn dequeue(&mut self, now: Time) -> Dequeued<T> {
        if self.is_plain {
            let Some((packet, leaf)) = self.pop_plain(now) else { return Dequeued::Empty };
            return Dequeued::Packet { packet, queue: self.spots[leaf].first_queue };
        }
        self.dequeue_any(now)
    }

    fn not_before(&mut self) -> Time {
        let may_wait = self.waits()
            || self.has_scheduled
            || self.leaves.iter().any(|leaf| matches!(leaf, LeafScheduler::Other(_)));
        if may_wait { self.time_of_first_packet() } else { Time::ZERO }
    }

    fn hint(&mut self, id: u64, hints: &Hints) {
        if self.wants.has_hints() {
            self.hinted = Some((id, *hints));
        }
    }

    fn wants(&self) -> WantedFacts {
        self.wants
    }

    fn take_mark(&mut self) -> bool {
        core::mem::take(&mut self.mark)
    }

    fn forget_flow(&mut self, flow: u32) {
        for leaf in &mut self.leaves {
            scheduler!(*leaf, scheduler => Scheduler::<T>::forget_flow(scheduler, flow));
        }
    }
}
