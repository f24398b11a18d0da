//! The order of a node's children: one index for every packet below the node, in an exact PIFO.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::hint::select_unpredictable;

/// A PIFO of child indices.
///
/// Every child has a queue of its own, sorted by rank and then by arrival, and a tournament over the children's first ranks
/// says which one is next. Rank functions of the usual kind give a child ranks that never fall, so that an index joins
/// the end of its queue; another one is moved to its place. O(log children) per operation, whatever waits; the index
/// of a child that would leave last is the end of its queue.
#[derive(Clone, Debug)]
pub(super) struct ExactOrder {
    lanes: Box<[Lane]>,
    heads: Tournament,
    /// Counts arrivals, so that equal ranks keep their order.
    arrivals: u64,
}

#[derive(Clone, Debug, Default)]
struct Lane {
    waiting: VecDeque<Key>,
    asleep: bool,
}

/// A rank in the upper half, the number of the arrival in the lower one: unique, and in the order of departure.
type Key = u128;

/// No key.
const NONE: Key = Key::MAX;

const fn rank_of(key: Key) -> u64 {
    (key >> 64) as u64
}

impl ExactOrder {
    pub(super) fn new(children: usize) -> Self {
        Self {
            lanes: core::iter::repeat_with(Lane::default).take(children).collect(),
            heads: Tournament::new(children),
            arrivals: 0,
        }
    }

    /// Adds an index of `child`.
    #[inline]
    pub(super) fn push(&mut self, child: u32, rank: u64) {
        let key = Key::from(rank) << 64 | Key::from(self.arrivals);
        self.arrivals += 1;
        let lane = &mut self.lanes[child as usize];
        match lane.waiting.back() {
            Some(last) if *last <= key => lane.waiting.push_back(key),
            None => {
                lane.waiting.push_back(key);
                if !lane.asleep {
                    self.heads.set(child, key);
                }
            }
            Some(_) => self.push_between(child, key),
        }
    }

    #[cold]
    fn push_between(&mut self, child: u32, key: Key) {
        let lane = &mut self.lanes[child as usize];
        let at = lane.waiting.partition_point(|held| *held < key);
        lane.waiting.insert(at, key);
        if at == 0 && !lane.asleep {
            self.heads.set(child, key);
        }
    }

    /// The child that is next, among those that are awake.
    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        self.heads.first()
    }

    /// Takes the first index of `child`, and tells its rank.
    #[inline]
    pub(super) fn pop(&mut self, child: u32) -> Option<u64> {
        let lane = &mut self.lanes[child as usize];
        let key = lane.waiting.pop_front()?;
        if !lane.asleep {
            self.heads.set(child, lane.waiting.front().copied().unwrap_or(NONE));
        }
        Some(rank_of(key))
    }

    /// Takes the index of `child` that would leave last.
    pub(super) fn remove_last(&mut self, child: u32) {
        let lane = &mut self.lanes[child as usize];
        lane.waiting.pop_back();
        if lane.waiting.is_empty() && !lane.asleep {
            self.heads.set(child, NONE);
        }
    }

    /// Indices of `child`.
    #[inline]
    pub(super) fn waiting(&self, child: u32) -> usize {
        self.lanes[child as usize].waiting.len()
    }

    /// Passes `child` over from now on, or no more.
    pub(super) fn set_asleep(&mut self, child: u32, asleep: bool) {
        let lane = &mut self.lanes[child as usize];
        if lane.asleep != asleep {
            lane.asleep = asleep;
            let head = if asleep { None } else { lane.waiting.front().copied() };
            self.heads.set(child, head.unwrap_or(NONE));
        }
    }
}

/// The smallest of the children's keys, kept as a complete binary tree of winners.
#[derive(Clone, Debug)]
struct Tournament {
    /// A power of two of keys.
    keys: Box<[Key]>,
    /// `winners[1]` is the child of the smallest key; `winners[i]` that of the half or quarter that i stands for.
    winners: Box<[u32]>,
}

impl Tournament {
    fn new(children: usize) -> Self {
        let places = children.next_power_of_two().max(2);
        let mut winners: Box<[u32]> = core::iter::repeat_n(0, places).collect();
        for at in (1..places).rev() {
            winners[at] = if at >= places / 2 { 2 * (at - places / 2) as u32 } else { winners[2 * at] };
        }
        Self { keys: core::iter::repeat_n(NONE, places).collect(), winners }
    }

    #[inline]
    fn first(&self) -> Option<u32> {
        let winner = self.winners[1];
        (self.keys[winner as usize] != NONE).then_some(winner)
    }

    #[inline]
    fn set(&mut self, child: u32, key: Key) {
        let Self { keys, winners } = self;
        keys[child as usize] = key;
        let (even, odd) = (child & !1, child | 1);
        let mut at = (keys.len() + child as usize) / 2;
        // Which child wins no branch could foresee.
        let mut winner = select_unpredictable(keys[odd as usize] < keys[even as usize], odd, even);
        winners[at] = winner;
        while at > 1 {
            let other = winners[at ^ 1];
            winner = select_unpredictable(keys[other as usize] < keys[winner as usize], other, winner);
            at /= 2;
            winners[at] = winner;
        }
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
            let (mut order, mut plain, mut state) = (ExactOrder::new(children as usize), Plain::default(), 7u64);
            let mut asleep: Vec<u32> = Vec::new();
            for _ in 0..pifolab_testkit::steps(20_000, 300) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let draw = state >> 33;
                let child = (draw % u64::from(children)) as u32;
                match (draw >> 8) % 16 {
                    0..7 => {
                        let rank = (draw >> 12) % 50;
                        order.push(child, rank);
                        plain.held.push((rank, plain.arrivals, child));
                        plain.arrivals += 1;
                    }
                    7..14 => {
                        let awake = plain.held.iter().filter(|(_, _, child)| !asleep.contains(child)).min().copied();
                        assert_eq!(order.first(), awake.map(|(_, _, child)| child));
                        if let Some(next) = awake {
                            assert_eq!(order.pop(next.2), Some(next.0));
                            plain.held.retain(|held| *held != next);
                        }
                    }
                    14 => {
                        let last = plain.held.iter().filter(|(_, _, of)| *of == child).max().copied();
                        assert_eq!(order.waiting(child) > 0, last.is_some());
                        if let Some(last) = last {
                            order.remove_last(child);
                            plain.held.retain(|held| *held != last);
                        }
                    }
                    _ => {
                        let sleeps = !asleep.contains(&child);
                        order.set_asleep(child, sleeps);
                        asleep.retain(|held| *held != child);
                        asleep.extend(sleeps.then_some(child));
                    }
                }
            }
        }
    }
}
