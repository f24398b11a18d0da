//! The earliest time at which a packet can leave, while only time holds packets back.
//!
//! A packet can leave when every node on the path to its leaf has an index for it and the leaf may send it. For one
//! leaf, this time is the latest of these times along its path. The forecast is the earliest time over all leaves.
//!
//! The release time of an index is known while it waits at a shaper. Below further shapers, later releases depend on the
//! other indices that arrive there first. The forecast therefore simulates the releases in order, on copies of the
//! buckets.

use super::parts::{Inner, Link, NONE, OtherOrder, Place, Tree};
use super::releases::{Forecast, Release};
use super::rule::Rule;
use core::cmp::Reverse;
use pifolab_sched::{Dequeued, InspectExt, Item, Scheduler};
use pifolab_units::Time;

impl<T: Item> Tree<T> {
    /// The answer to a dequeue if no leaf is next.
    pub(super) fn nothing(&mut self, now: Time) -> Dequeued<T> {
        let mut time = if self.shapers.is_waiting() {
            self.time_of_first_release().unwrap_or_else(|| self.time_of_first_packet())
        } else if self.is_shaped_at_departure() {
            self.time_of_first_payment().unwrap_or_else(|| self.time_of_first_packet())
        } else if self.held > 0 {
            self.time_of_first_packet()
        } else {
            // Every leaf with packets has been called.
            self.first_wakeup()
        };
        if time <= now {
            // The forecast of a scheduler that orders children may be too early. Nothing changes before these times.
            time = self.shapers.next().map_or(Time::MAX, |(time, ..)| time).min(self.first_wakeup());
        }
        if time < Time::MAX { Dequeued::NotBefore(time) } else { Dequeued::Empty }
    }

    fn first_wakeup(&self) -> Time {
        self.asleep.peek().map_or(Time::MAX, |(time, _)| *time)
    }

    /// The release time of the next index, if no other event comes first and a packet can certainly leave then. This
    /// common case checks only one path.
    fn time_of_first_release(&mut self) -> Option<Time> {
        let (time, shaper, size) = self.shapers.next()?;
        if self.asleep.peek().is_some_and(|(wakes, _)| *wakes < time) {
            return None;
        }
        let (parent, child) = self.shaped[shaper as usize];
        let mut at = parent;
        while let Some(node) = self.inner.get(at as usize) {
            if node.place.shaper != NONE && self.shapers.foresee(node.place.shaper, size, time) > time {
                return None;
            }
            at = node.place.parent;
        }
        self.is_ready_below(parent, child, time).then_some(time)
    }

    /// Whether buckets are charged with departing packets.
    fn is_shaped_at_departure(&self) -> bool {
        !self.charge.is_arrival() && !self.shaped.is_empty()
    }

    /// The time at which the first debt is paid, if a packet can certainly leave then. This common case checks only one
    /// path.
    fn time_of_first_payment(&mut self) -> Option<Time> {
        let (time, sleeper) = *self.asleep.peek()?;
        let shaper = (sleeper as usize).checked_sub(self.leaves.len() + self.inner.len())?;
        let (parent, child) = self.shaped[shaper];
        let mut at = parent;
        while let Some(node) = self.inner.get(at as usize) {
            if self.shapers.owes(node.place.shaper) || node.other.is_some() {
                return None;
            }
            at = node.place.parent;
        }
        self.is_ready_below(parent, child, time).then_some(time)
    }

    /// Whether the next packet of `child` of the node `parent` may leave at `time`.
    fn is_ready_below(&mut self, parent: u32, child: u32, time: Time) -> bool {
        let mut link = self.links[self.inner[parent as usize].order.place(child)];
        let leaf = loop {
            match link.get() {
                Ok(leaf) if link != Link::NONE => break leaf,
                Ok(_) => return false,
                Err(node) if self.inner[node].other.is_some() => return false,
                Err(node) => link = self.inner[node].next,
            }
        };
        !self.spots[leaf].asleep
            && !self.leaves[leaf].is_empty()
            && scheduler!(self.leaves[leaf], leaf => Scheduler::<T>::not_before(leaf)) <= time
    }

    /// The earliest instant at which a packet can leave without further arrivals.
    #[inline(never)]
    pub(super) fn time_of_first_packet(&mut self) -> Time {
        let mut forecast = core::mem::take(&mut self.forecast);
        self.follow_releases(&mut forecast);
        let Forecast { links, nodes, .. } = &mut forecast;
        let reached =
            |inner: &[Inner], nodes: &[Time], Place { parent, child, .. }: Place| match inner.get(parent as usize) {
                Some(node) => nodes[parent as usize].max(links[node.order.place(child)]),
                None => Time::ZERO,
            };
        // Parents precede their children.
        nodes.clear();
        for node in 0..self.inner.len() {
            let time = reached(&self.inner, nodes, self.inner[node].place);
            let ready = match self.inner[node].other.as_deref_mut() {
                Some(OtherOrder::Scheduled(order)) => order.not_before(),
                _ => Time::ZERO,
            };
            nodes.push(time.max(ready));
        }
        let mut first = if self.leaving.is_empty() { Time::MAX } else { Time::ZERO };
        for (number, (spot, leaf)) in self.spots.iter().zip(&mut self.leaves).enumerate() {
            let time = reached(&self.inner, nodes, spot.place);
            // An empty leaf is not reached, unless it is the whole tree.
            if time < first && !leaf.look().is_empty() {
                let ready = match spot.asleep {
                    true => self.asleep.key(number as u32).0,
                    false => scheduler!(*leaf, leaf => Scheduler::<T>::not_before(leaf)),
                };
                first = first.min(time.max(ready));
            }
        }
        self.forecast = forecast;
        first
    }

    /// Computes the time at which each child has an index in the node above.
    fn follow_releases(&self, Forecast { links, releases, followed, .. }: &mut Forecast) {
        links.clear();
        links.resize(self.links.len(), Time::MAX);
        let places = self.inner.iter().map(|node| node.place).chain(self.spots.iter().map(|spot| spot.place));
        for Place { parent, child, shaper } in places {
            let Some(node) = self.inner.get(parent as usize) else { continue };
            let holds = match node.other.as_deref() {
                None if matches!(node.rule, Rule::Heads(_)) => self.backlog.has(node.order, child),
                None => self.orders.holds(node.order, child),
                Some(OtherOrder::Decided(order)) => order.waiting(child) > 0,
                Some(OtherOrder::Scheduled(order)) => order.waiting(child) > 0,
            };
            if holds {
                let paid = self.shapers.owes(shaper).then(|| self.asleep.key(self.sleeper_of(shaper)).0);
                links[node.order.place(child)] = paid.unwrap_or(Time::ZERO);
            }
        }
        followed.clear();
        followed.resize(self.shaped.len(), false);
        releases.clear();
        for (time, arrival, shaper, size) in self.shapers.firsts() {
            followed[shaper as usize] = true;
            releases.push(Reverse(Release { time, arrival, shaper, size }));
        }
        let mut arrivals = self.shapers.arrivals();
        while let Some(Reverse(Release { time, shaper, size, .. })) = releases.pop() {
            let (mut at, mut child) = self.shaped[shaper as usize];
            while let Some(node) = self.inner.get(at as usize) {
                let link = &mut links[node.order.place(child)];
                *link = time.min(*link);
                let shaper = node.place.shaper;
                if shaper != NONE {
                    // Only the first index that arrives at a shaper is relevant, because it leaves the shaper first.
                    if core::mem::replace(&mut followed[shaper as usize], true) {
                        break;
                    }
                    let later = self.shapers.foresee(shaper, size, time);
                    if later > time {
                        arrivals += 1;
                        releases.push(Reverse(Release { time: later, arrival: arrivals, shaper, size }));
                        break;
                    }
                }
                Place { parent: at, child, .. } = node.place;
            }
        }
    }
}
