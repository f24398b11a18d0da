//! The exact PIFOs of all nodes: one index per packet below a node, or one entry per child that has a packet to send.

use super::share::Share;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// PIFOs of child indices, one per node of a tree, in few arrays.
///
/// Every child has a queue sorted by rank and then by arrival. A tournament over the children's first ranks finds the
/// next child. Most rank functions give a child non-decreasing ranks, so an index usually joins the end of its queue;
/// others are inserted in order. O(log children) per operation, for any backlog. A child's last index is the end of its
/// queue.
///
/// The data of a node's children are adjacent in each array, so a packet accesses few cache lines per node.
#[derive(Clone, Debug, Default)]
pub(super) struct ExactOrders {
    /// Twice as many keys as places for each node. Key 0 belongs to the last departed packet, if the node has entries.
    /// From key 1 on: the first index of all children, of each half of them, of each quarter, and so on. The second
    /// half of the keys belongs to the single children. Winners are copies, so comparisons follow no pointers.
    firsts: Vec<Key>,
    lanes: Vec<Lane>,
    asleep: Vec<bool>,
    /// For nodes with one entry per child, the tag of each child without an entry.
    tags: Vec<u128>,
    /// The number of arrivals, which keeps equal ranks in order.
    arrivals: u64,
    /// The number of bits that number the children of a node.
    child_bits: u32,
    /// Whether a child's tag reached the largest rank before it was set back.
    has_run_out: bool,
}

/// A child's share in the discipline above, and its indices.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct Lane {
    share: Share,
    /// All indices except the first; all indices while the child sleeps.
    waiting: VecDeque<Key>,
}

const _: () = assert!(size_of::<Lane>() == 64);

/// The PIFO of one node among [`ExactOrders`].
#[derive(Clone, Copy, Debug)]
pub(super) struct ExactOrder {
    /// The start of the node's children in each array; twice this number in the array of first indices.
    at: u32,
    /// The number of the node's places, a power of two.
    places: u32,
}

/// An index of a child: unique, and ordered by departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    rank: u64,
    /// The number of the arrival, with the child in the lowest bits.
    arrival: u64,
}

/// The only entry of a child with packets to send. Its key holds the tag in both words, with the child in the lowest
/// bits. Of equal tags, the first child leaves first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) tag: u128,
    pub(super) child: u32,
}

impl Key {
    /// No key: greater than all other keys.
    const NONE: Self = Self { rank: i64::MAX as u64, arrival: u64::MAX };
    /// The largest tag of an entry with the bits of a child, below `NONE`.
    const MAX_TAG: u128 = (i64::MAX as u128) << 64;

    #[inline(always)]
    const fn is_none(self) -> bool {
        self.arrival == u64::MAX && self.rank == Self::NONE.rank
    }

    /// Returns the key that leaves first. The result is unpredictable, but the compiler turns any comparison into a
    /// branch. Hence the assembly.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline(always)]
    fn first(self, other: Self) -> Self {
        let Self { mut rank, mut arrival } = self;
        // SAFETY: the code only subtracts and moves registers. Ranks have 63 bits, so they compare correctly as signed
        // numbers.
        unsafe {
            core::arch::asm!(
                "cmp {other_arrival}, {arrival}",
                "sbb {ahead}, {rank}",
                "cmovl {arrival}, {other_arrival}",
                "cmovl {rank}, {other_rank}",
                arrival = inout(reg) arrival,
                rank = inout(reg) rank,
                ahead = inout(reg) other.rank => _,
                other_arrival = in(reg) other.arrival,
                other_rank = in(reg) other.rank,
                options(pure, nomem, nostack)
            );
        }
        Self { rank, arrival }
    }

    /// The same on other machines: a difference that cannot overflow, because ranks have 63 bits.
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    #[inline(always)]
    const fn first(self, other: Self) -> Self {
        let ahead = other.wide() - self.wide();
        let first = self.wide() + (ahead & (ahead >> 127));
        Self { rank: (first >> 64) as u64, arrival: first as u64 }
    }

    #[cfg(any(not(target_arch = "x86_64"), miri))]
    #[inline(always)]
    const fn wide(self) -> i128 {
        ((self.rank as u128) << 64 | self.arrival as u128) as i128
    }
}

impl ExactOrders {
    /// Adds the PIFO of a node with `children` children. Must not be called after the first push.
    pub(super) fn add(&mut self, children: usize) -> ExactOrder {
        let (at, places) = (self.lanes.len(), children.next_power_of_two().max(2));
        self.lanes.resize(at + places, Lane::default());
        self.asleep.resize(at + places, false);
        self.tags.resize(at + places, 0);
        self.firsts.resize(2 * (at + places), Key::NONE);
        self.firsts[2 * at] = Key { rank: 0, arrival: 0 };
        self.child_bits = self.child_bits.max(places.ilog2());
        ExactOrder { at: at as u32, places: places as u32 }
    }

    /// The bytes of the PIFOs of all nodes, without indices.
    pub(super) const fn bytes(&self) -> usize {
        self.lanes.len() * (size_of::<Lane>() + size_of::<bool>() + size_of::<u128>())
            + self.firsts.len() * size_of::<Key>()
    }

    /// The number of places in the PIFOs of all nodes.
    pub(super) const fn places(&self) -> usize {
        self.lanes.len()
    }

    /// Returns a new arrival number, larger than all earlier ones.
    #[inline(always)]
    pub(super) const fn arrive(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    /// Adds an index of `child` with this arrival number. With `in_order`, its rank must not be below the child's other
    /// ranks. Returns the place of the next child if it may have changed.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        order: ExactOrder,
        child: u32,
        rank: u64,
        arrival: u64,
        in_order: bool,
    ) -> Option<usize> {
        let key = Key { rank, arrival: arrival << self.child_bits | u64::from(child) };
        if self.firsts[order.first_of(child)].is_none() && !self.asleep[order.place(child)] {
            self.set(order, child, key)
        } else if in_order {
            self.lanes[order.place(child)].waiting.push_back(key);
            None
        } else {
            self.push_between(order, child, key)
        }
    }

    #[inline(never)]
    fn push_between(&mut self, order: ExactOrder, child: u32, key: Key) -> Option<usize> {
        let place = order.place(child);
        let waiting = &mut self.lanes[place].waiting;
        let first = self.firsts[order.first_of(child)];
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

    /// The place of the next child, among the awake ones.
    #[inline(always)]
    pub(super) fn next(&self, order: ExactOrder) -> Option<usize> {
        self.place_of(order, self.firsts[2 * order.at as usize + 1])
    }

    #[inline(always)]
    fn place_of(&self, order: ExactOrder, key: Key) -> Option<usize> {
        let child = key.arrival & ((1 << self.child_bits) - 1);
        (!key.is_none()).then_some(order.place(child as u32))
    }

    /// Removes the first index of `child`, which must be awake. Returns its rank, and the place of the new next child.
    #[inline(always)]
    pub(super) fn pop(&mut self, order: ExactOrder, child: u32) -> (u64, Option<usize>) {
        let key = self.firsts[order.first_of(child)];
        debug_assert!(!key.is_none(), "a packet of this child leaves");
        let next = self.lanes[order.place(child)].waiting.pop_front().unwrap_or(Key::NONE);
        (key.rank, self.set(order, child, next))
    }

    /// Removes the last index of `child`. Returns the place of the next child.
    pub(super) fn remove_last(&mut self, order: ExactOrder, child: u32) -> Option<usize> {
        match self.lanes[order.place(child)].waiting.pop_back() {
            Some(_) => self.next(order),
            None => self.set(order, child, Key::NONE),
        }
    }

    /// Whether `child` has an index.
    #[inline]
    pub(super) fn holds(&self, order: ExactOrder, child: u32) -> bool {
        !self.firsts[order.first_of(child)].is_none() || !self.lanes[order.place(child)].waiting.is_empty()
    }

    /// Sets whether `child` sleeps. Returns the place of the next child.
    pub(super) fn set_asleep(&mut self, order: ExactOrder, child: u32, asleep: bool) -> Option<usize> {
        let place = order.place(child);
        if self.asleep[place] == asleep {
            return self.next(order);
        }
        self.asleep[place] = asleep;
        let waiting = &mut self.lanes[place].waiting;
        let first = if asleep {
            let first = self.firsts[order.first_of(child)];
            if !first.is_none() {
                waiting.push_front(first);
            }
            Key::NONE
        } else {
            waiting.pop_front().unwrap_or(Key::NONE)
        };
        self.set(order, child, first)
    }

    #[inline(always)]
    const fn entry_of(&self, Key { rank, arrival }: Key) -> Entry {
        let key = (rank as u128) << 64 | arrival as u128;
        Entry { tag: key >> self.child_bits, child: (arrival & ((1 << self.child_bits) - 1)) as u32 }
    }

    /// Replaces the entry of a child. Returns the place of the next child.
    #[inline(always)]
    pub(super) fn enter(&mut self, order: ExactOrder, Entry { tag, child }: Entry) -> Option<usize> {
        let key = tag.min(Key::MAX_TAG >> self.child_bits) << self.child_bits | u128::from(child);
        self.set(order, child, Key { rank: (key >> 64) as u64, arrival: key as u64 })
    }

    /// Removes the entry of a child, and stores this tag for its next entry. Returns the place of the next child.
    #[inline(always)]
    pub(super) fn leave(&mut self, order: ExactOrder, Entry { tag, child }: Entry) -> Option<usize> {
        self.tags[order.place(child)] = tag;
        self.set(order, child, Key::NONE)
    }

    /// Removes the entry of `child`, and stores its tag. Returns the place of the next child.
    pub(super) fn retire(&mut self, order: ExactOrder, child: u32) -> Option<usize> {
        let entry = self.entry_of(self.firsts[order.first_of(child)]);
        self.leave(order, entry)
    }

    /// Returns the entry of `child`, which is next and has sent a packet. This entry becomes the last
    /// [served](Self::served) one.
    #[inline(always)]
    pub(super) fn serve(&mut self, order: ExactOrder, child: u32) -> Entry {
        let key = self.firsts[order.first_of(child)];
        debug_assert!(!key.is_none(), "a packet of this child leaves");
        self.firsts[2 * order.at as usize] = key;
        self.entry_of(key)
    }

    /// The entry of the last departed packet; before the first departure, the first child with tag 0.
    #[inline(always)]
    pub(super) fn served(&self, order: ExactOrder) -> Entry {
        self.entry_of(self.firsts[2 * order.at as usize])
    }

    /// The tag of `child`, which has no entry.
    #[inline(always)]
    pub(super) fn tag(&mut self, order: ExactOrder, child: u32) -> &mut u128 {
        &mut self.tags[order.place(child)]
    }

    /// Whether `child` has an entry.
    #[inline(always)]
    pub(super) fn has_entry(&self, order: ExactOrder, child: u32) -> bool {
        !self.firsts[order.first_of(child)].is_none()
    }

    /// Stores whether `child` sleeps.
    pub(super) fn note_asleep(&mut self, order: ExactOrder, child: u32, asleep: bool) {
        self.asleep[order.place(child)] = asleep;
    }

    /// Whether `child` sleeps.
    #[inline(always)]
    pub(super) fn is_asleep(&self, order: ExactOrder, child: u32) -> bool {
        self.asleep[order.place(child)]
    }

    /// Makes `key` the first key of `child`. Returns the place of the next child.
    #[inline(always)]
    fn set(&mut self, order: ExactOrder, child: u32, key: Key) -> Option<usize> {
        const SIZE: usize = size_of::<Key>();
        let (firsts, at) = self.firsts_of(order, child);
        firsts[at] = key;
        let mut winner = key;
        let first = firsts.as_mut_ptr();
        // In bytes, because an index would be multiplied in each round.
        let mut at = at * SIZE;
        while at > SIZE {
            // SAFETY: `at` is a whole number of keys between 2 and the length minus 1, and the length is even. Halved
            // and rounded down, it is between 1 and that.
            unsafe {
                let other = *first.byte_add(at ^ SIZE);
                at = (at / 2) & !(SIZE - 1);
                winner = winner.first(other);
                *first.byte_add(at) = winner;
            }
        }
        self.place_of(order, winner)
    }

    /// The first indices of the node's children and groups of children, and the index of `child` in them. Their number
    /// is even and at least 2.
    #[inline(always)]
    fn firsts_of(&mut self, order: ExactOrder, child: u32) -> (&mut [Key], usize) {
        let firsts = &mut self.firsts[2 * order.at as usize..][..2 * order.places as usize];
        let at = (order.places + child) as usize;
        assert!(at < firsts.len(), "this is another tree's order");
        (firsts, at)
    }

    /// The lowest rank over all indices.
    pub(super) fn lowest_rank(&self, order: ExactOrder) -> Option<u64> {
        let first = |child: u32| {
            let first = self.firsts[order.first_of(child)];
            if first.is_none() { self.lanes[order.place(child)].waiting.front().copied() } else { Some(first) }
        };
        (0..order.places).filter_map(first).map(|key| key.rank).min()
    }

    /// Subtracts `by` from all ranks, of which none is lower, and from the tags of all children.
    pub(super) fn set_back(&mut self, order: ExactOrder, by: u64) {
        let firsts = &mut self.firsts[2 * order.at as usize + 1..][..2 * order.places as usize - 1];
        for key in firsts.iter_mut().filter(|key| !key.is_none()) {
            key.rank -= by;
        }
        for lane in &mut self.lanes[order.at as usize..][..order.places as usize] {
            self.has_run_out |= lane.share.has_run_out();
            lane.share.tag = lane.share.tag.saturating_sub(by);
            lane.waiting.iter_mut().for_each(|key| key.rank -= by);
        }
    }

    /// Whether the tag of a child is or was the largest one.
    pub(super) fn has_run_out(&self) -> bool {
        self.has_run_out
            || self.lanes.iter().any(|lane| lane.share.has_run_out())
            || self.firsts.iter().any(|key| key.rank == Key::NONE.rank && !key.is_none())
            || self.tags.iter().any(|tag| *tag >= Key::MAX_TAG >> self.child_bits)
    }

    /// The share of `child` in the discipline.
    #[inline(always)]
    pub(super) fn share(&mut self, order: ExactOrder, child: u32) -> &mut Share {
        &mut self.lanes[order.place(child)].share
    }
}

impl ExactOrder {
    /// The index of `child` in all arrays except the one of first indices.
    #[inline(always)]
    pub(super) const fn place(self, child: u32) -> usize {
        self.at as usize + child as usize
    }

    /// The index of the first key of `child`.
    #[inline(always)]
    const fn first_of(self, child: u32) -> usize {
        2 * self.at as usize + self.places as usize + child as usize
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

    /// A reference: indices in one list, sorted at each operation.
    #[derive(Default)]
    struct Plain {
        held: Vec<(u64, u64, u32)>,
        arrivals: u64,
    }

    #[test]
    fn agrees_with_a_sorted_list() {
        for children in [1u32, 2, 3, 5, 64, 100] {
            let (mut orders, mut plain, mut state) = (ExactOrders::default(), Plain::default(), 7u64);
            // Neither the first nor the last in the arrays.
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
                        let arrival = orders.arrive();
                        orders.push(order, child, rank, arrival, in_order && draw >> 20 & 1 == 0);
                        plain.held.push((rank, plain.arrivals, child));
                        plain.arrivals += 1;
                    }
                    7..14 => {
                        let awake = plain.held.iter().filter(|(_, _, child)| !asleep.contains(child)).min().copied();
                        let next = orders.next(order).map(|place| order.child(place));
                        assert_eq!(next, awake.map(|(_, _, child)| child));
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
