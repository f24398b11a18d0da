//! The operations of a tree that charges departing packets ([`Charge::Departure`](super::Charge::Departure)).
//!
//! A node has one entry per awake child with packets. The child's first packet creates the entry; each departure of a
//! packet of the child changes it. An arrival at a child with packets needs no other work. A shaped node whose bucket
//! is in debt sleeps until the debt is paid.
//!
//! Nodes that rank every packet (by a rank function or another order) also have one index per packet below them.

use super::parts::{Link, NONE, Place, Tree};
use super::rule::Rule;
use pifolab_sched::Item;
use pifolab_units::Time;

impl<T: Item> Tree<T> {
    /// Updates the nodes above `leaf`, after the leaf has stored a packet or lost one without sending it.
    #[inline(always)]
    pub(super) fn settle(&mut self, leaf: usize, now: Time) {
        let has_packets = !self.leaves[leaf].is_empty();
        let Place { parent, child, .. } = self.spots[leaf].place;
        let Some(node) = self.inner.get(parent as usize) else { return };
        if self.backlog.has(node.order, child) != has_packets {
            self.settle_above(leaf, has_packets, now);
        }
    }

    #[inline(never)]
    fn settle_above(&mut self, leaf: usize, has_packets: bool, now: Time) {
        let Self { inner, orders, backlog, .. } = self;
        let links = if self.is_plain { &self.ways } else { &self.links };
        let mut place = self.spots[leaf].place;
        while let Some(node) = inner.get_mut(place.parent as usize) {
            let Place { child, .. } = place;
            if !backlog.note(node.order, child, has_packets) {
                return;
            }
            if let Rule::Heads(heads) = node.rule {
                let next = match has_packets {
                    true if orders.is_asleep(node.order, child) => None,
                    true => heads.start(orders, node.order, child, now),
                    false if orders.has_entry(node.order, child) => orders.retire(node.order, child),
                    false => orders.next(node.order),
                };
                if let Some(next) = next {
                    node.next = links[next];
                } else if !has_packets {
                    node.next = Link::NONE;
                }
            }
            let others = backlog.of(node.order) - u32::from(has_packets);
            if others > 0 {
                return;
            }
            place = node.place;
        }
    }

    /// Charges the nodes above `leaf` with a sent packet of `size` bytes.
    #[inline(always)]
    pub(super) fn depart(&mut self, leaf: usize, size: u32, now: Time) {
        let mut stays = !self.leaves[leaf].is_empty();
        let mut place = self.spots[leaf].place;
        while let Some(node) = self.inner.get_mut(place.parent as usize) {
            if !stays {
                self.backlog.note(node.order, place.child, false);
            }
            if let Rule::Heads(heads) = node.rule {
                let next = heads.charge(&mut self.orders, node.order, place.child, size, stays);
                let links = if self.is_plain { &self.ways } else { &self.links };
                node.next = next.map_or(Link::NONE, |next| links[next]);
            }
            let waits = stays;
            stays = stays || self.backlog.of(node.order) > 0;
            let above = node.place;
            if place.shaper != NONE {
                self.charge_bucket(place, size, waits, now);
            }
            place = above;
        }
    }

    /// Charges the bucket of the node at `place`, which sleeps while the bucket is in debt. `waits` if it has packets.
    fn charge_bucket(&mut self, Place { parent, child, shaper }: Place, size: u32, waits: bool, now: Time) {
        if let Some(paid) = self.shapers.charge(shaper, size, now) {
            if waits {
                self.shapers.note_limited(shaper);
            }
            let sleeper = self.sleeper_of(shaper);
            self.asleep.push((paid, sleeper), sleeper);
            self.sleepers += 1;
            self.set_asleep_at(parent, child, true, now);
        }
    }

    /// The number of a shaper among the sleepers, after leaves and inner nodes.
    pub(super) const fn sleeper_of(&self, shaper: u32) -> u32 {
        (self.leaves.len() + self.inner.len()) as u32 + shaper
    }

    /// Wakes the node of `shaper`, whose bucket has paid its debt.
    pub(super) fn wake_shaper(&mut self, shaper: u32, now: Time) {
        self.asleep.remove(self.sleeper_of(shaper));
        self.sleepers -= 1;
        self.shapers.settle(shaper);
        let (at, child) = self.shaped[shaper as usize];
        self.rouse_released(at, child, now);
    }
}
