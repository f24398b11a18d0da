//! The orders of all nodes' children: one index for every packet below a node, in an exact PIFO.

use super::share::Share;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// PIFOs of child indices, one for each node of a tree, in few arrays.
///
/// Every child has a queue of its own, sorted by rank and then by arrival, and a tournament over the children's first ranks
/// says which one is next. Rank functions of the usual kind give a child ranks that never fall, so that an index joins
/// the end of its queue; another one is moved to its place. O(log children) per operation, whatever waits; the index
/// of a child that would leave last is the end of its queue.
///
/// What belongs to the children of a node stands side by side in each array: a packet touches few cache lines at each node.
#[derive(Clone, Debug, Default)]
pub(super) struct ExactOrders {
    /// The first index of each child; [`NONE`] if none waits or the child is asleep.
    firsts: Vec<Key>,
    /// Of each node from place 1 on: who has the smallest first index, of all children, then of each half, quarter, and so on.
    winners: Vec<u32>,
    lanes: Vec<Lane>,
    asleep: Vec<bool>,
    /// Counts arrivals, so that equal ranks keep their order.
    arrivals: u64,
}

/// Of a child: what the discipline above knows of it, and its indices.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(super) struct Lane {
    pub(super) share: Share,
    /// All indices but the first; while the child is asleep, that as well.
    waiting: VecDeque<Key>,
}

const _: () = assert!(size_of::<Lane>() == 64);

/// The PIFO of one node among [`ExactOrders`].
#[derive(Clone, Copy, Debug)]
pub(super) struct ExactOrder {
    /// Where the node's children start in each array.
    at: u32,
    /// How many places it has there: a power of two.
    places: u32,
}

/// A rank in the upper half, the number of the arrival in the lower one: unique, and in the order of departure.
type Key = u128;

/// No key.
const NONE: Key = Key::MAX;

const fn rank_of(key: Key) -> u64 {
    (key >> 64) as u64
}

impl ExactOrders {
    /// Adds the PIFO of a node with so many children.
    pub(super) fn add(&mut self, children: usize) -> ExactOrder {
        let (at, places) = (self.firsts.len(), children.next_power_of_two().max(2));
        self.firsts.resize(at + places, NONE);
        self.lanes.resize(at + places, Lane::default());
        self.asleep.resize(at + places, false);
        self.winners.resize(at + places, 0);
        let winners = &mut self.winners[at..];
        for at in (1..places).rev() {
            winners[at] = if at >= places / 2 { 2 * (at - places / 2) as u32 } else { winners[2 * at] };
        }
        ExactOrder { at: at as u32, places: places as u32 }
    }

    /// Adds an index of `child`. With `in_order` its rank is not below those of the child's others. Tells the place of the
    /// child that is next, if that may be another one now.
    #[inline(always)]
    pub(super) fn push(&mut self, order: ExactOrder, child: u32, rank: u64, in_order: bool) -> Option<usize> {
        let key = Key::from(rank) << 64 | Key::from(self.arrivals);
        self.arrivals += 1;
        let place = order.place(child);
        if self.firsts[place] == NONE && !self.asleep[place] {
            self.set(order, child, key)
        } else if in_order {
            self.lanes[place].waiting.push_back(key);
            None
        } else {
            self.push_between(order, child, key)
        }
    }

    #[inline(never)]
    fn push_between(&mut self, order: ExactOrder, child: u32, key: Key) -> Option<usize> {
        let place = order.place(child);
        let waiting = &mut self.lanes[place].waiting;
        let first = self.firsts[place];
        if key < first && !self.asleep[place] {
            waiting.push_front(first);
            return self.set(order, child, key);
        } else if waiting.back().is_none_or(|last| *last < key) {
            waiting.push_back(key);
        } else {
            let at = waiting.partition_point(|held| *held < key);
            waiting.insert(at, key);
        }
        None
    }

    /// The place of the child that is next, among those that are awake.
    #[inline]
    pub(super) fn next(&self, order: ExactOrder) -> Option<usize> {
        let place = order.place(self.winners[order.at as usize + 1]);
        (self.firsts[place] != NONE).then_some(place)
    }

    /// Takes the first index of `child`, which is awake. Tells its rank, and the place of the child that is next now.
    #[inline(always)]
    pub(super) fn pop(&mut self, order: ExactOrder, child: u32) -> (u64, Option<usize>) {
        let place = order.place(child);
        let key = self.firsts[place];
        debug_assert!(key != NONE, "a packet of this child leaves");
        let next = self.lanes[place].waiting.pop_front().unwrap_or(NONE);
        (rank_of(key), self.set(order, child, next))
    }

    /// Takes the index of `child` that would leave last. Tells the place of the child that is next.
    pub(super) fn remove_last(&mut self, order: ExactOrder, child: u32) -> Option<usize> {
        match self.lanes[order.place(child)].waiting.pop_back() {
            Some(_) => self.next(order),
            None => self.set(order, child, NONE),
        }
    }

    /// Whether an index of `child` waits.
    #[inline]
    pub(super) fn holds(&self, order: ExactOrder, child: u32) -> bool {
        let place = order.place(child);
        self.firsts[place] != NONE || !self.lanes[place].waiting.is_empty()
    }

    /// Passes `child` over from now on, or no more. Tells the place of the child that is next.
    pub(super) fn set_asleep(&mut self, order: ExactOrder, child: u32, asleep: bool) -> Option<usize> {
        let place = order.place(child);
        if self.asleep[place] == asleep {
            return self.next(order);
        }
        self.asleep[place] = asleep;
        let first = if asleep {
            let first = self.firsts[place];
            if first != NONE {
                self.lanes[place].waiting.push_front(first);
            }
            NONE
        } else {
            self.lanes[place].waiting.pop_front().unwrap_or(NONE)
        };
        self.set(order, child, first)
    }

    /// Makes `key` the first of `child`. Tells the place of the child that is next.
    #[inline(always)]
    fn set(&mut self, order: ExactOrder, child: u32, key: Key) -> Option<usize> {
        let (at, places) = (order.at as usize, order.places as usize);
        assert!(child < order.places && at + places <= self.firsts.len(), "this is another tree's order");
        let (firsts, winners) = (self.firsts.as_mut_ptr(), self.winners.as_mut_ptr());
        // SAFETY: both arrays have as many places, and those from `at` on to `at + places` are there.
        let (firsts, winners) = unsafe { (firsts.add(at), winners.add(at)) };
        // SAFETY: `child` is below `places`.
        unsafe { *firsts.add(child as usize) = key };
        let (mut winner, mut least) = (child, key);
        let mut at = (places + child as usize) / 2;
        let mut other = child ^ 1;
        loop {
            debug_assert!((other as usize) < places && 0 < at && at < places);
            // SAFETY: `places` is a power of two from 2 on and `child` is below it. Hence so is `other`, at first by changing
            // its lowest bit, then as one of the winners, which were all below `places` in `add` and are written here only,
            // each as such a child.
            let key = unsafe { *firsts.add(other as usize) };
            // Which child wins no branch could foresee, and where there is a choice to be made the compiler makes branches of it.
            // Keys differ, but for NONE.
            let loses = u64::from(key < least).wrapping_neg();
            winner ^= (winner ^ other) & loses as u32;
            least ^= (least ^ key) & (Key::from(loses) << 64 | Key::from(loses));
            // SAFETY: `at` starts between places / 2 and places - 1, and is halved until it is 1.
            unsafe { *winners.add(at) = winner };
            if at == 1 {
                return (least != NONE).then_some(order.place(winner));
            }
            // SAFETY: where `at` is above 1 and below `places`, a power of two, `at ^ 1` is, too.
            other = unsafe { *winners.add(at ^ 1) };
            at /= 2;
        }
    }

    /// What the discipline knows of `child`.
    #[inline(always)]
    pub(super) fn share(&mut self, order: ExactOrder, child: u32) -> &mut Share {
        &mut self.lanes[order.place(child)].share
    }
}

impl ExactOrder {
    /// Where what belongs to `child` is in each array.
    #[inline(always)]
    pub(super) const fn place(self, child: u32) -> usize {
        self.at as usize + child as usize
    }

    /// How many places it has.
    pub(super) const fn places(self) -> u32 {
        self.places
    }

    /// The child at `place`.
    #[inline(always)]
    pub(super) const fn child(self, place: usize) -> u32 {
        place as u32 - self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Indices in one list, sorted anew each time.
    #[derive(Default)]
    struct Plain {
        held: Vec<(u64, u64, u32)>,
        arrivals: u64,
    }

    #[test]
    fn agrees_with_a_sorted_list() {
        for children in [1u32, 2, 3, 5, 64, 100] {
            let (mut orders, mut plain, mut state) = (ExactOrders::default(), Plain::default(), 7u64);
            // Not the first in the arrays, and not the last.
            let [_, order, _] = [3, children as usize, 2].map(|children| orders.add(children));
            let mut asleep: Vec<u32> = Vec::new();
            for _ in 0..pifolab_testkit::steps(20_000, 300) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let draw = state >> 33;
                let child = (draw % u64::from(children)) as u32;
                match (draw >> 8) % 16 {
                    0..7 => {
                        let rank = (draw >> 12) % 50;
                        let in_order = plain.held.iter().all(|(held, _, of)| *of != child || *held <= rank);
                        orders.push(order, child, rank, in_order && draw >> 20 & 1 == 0);
                        plain.held.push((rank, plain.arrivals, child));
                        plain.arrivals += 1;
                    }
                    7..14 => {
                        let awake = plain.held.iter().filter(|(_, _, child)| !asleep.contains(child)).min().copied();
                        assert_eq!(
                            orders.next(order).map(|place| order.child(place)),
                            awake.map(|(_, _, child)| child)
                        );
                        if let Some(next) = awake {
                            assert_eq!(orders.pop(order, next.2).0, next.0);
                            plain.held.retain(|held| *held != next);
                        }
                    }
                    14 => {
                        let last = plain.held.iter().filter(|(_, _, of)| *of == child).max().copied();
                        assert_eq!(orders.holds(order, child), last.is_some());
                        if let Some(last) = last {
                            orders.remove_last(order, child);
                            plain.held.retain(|held| *held != last);
                        }
                    }
                    _ => {
                        let sleeps = !asleep.contains(&child);
                        orders.set_asleep(order, child, sleeps);
                        asleep.retain(|held| *held != child);
                        asleep.extend(sleeps.then_some(child));
                    }
                }
            }
        }
    }
}
