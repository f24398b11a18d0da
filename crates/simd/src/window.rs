//! A sliding window of ranks that counts the ranks below a bound.

use super::histogram::Histogram;
use super::lanes::{FILLER, Lanes, Row, Step, in_lanes, lane, rank_of};
use super::leaves::Leaves;
use super::narrow::Narrow;
use crate::Window;
use alloc::vec::Vec;
use pifolab_units::Rank;

/// Up to this size, all ranks are compared with the bound. Larger windows use a tree.
const ALL_COMPARED: usize = 256;

/// The last pushed ranks, at most `size`.
///
/// Counts are exact for all ranks. A constant shift is added to all ranks in the window, but not to the bound.
///
/// Small windows compare all ranks in vectors. Up to 24 ranks use the vectors of every processor, until the first rank
/// of 2^31 - 1 or more; other windows use the widest vectors available. Larger windows maintain an index besides the
/// ring: a histogram (a constant number of steps) until the first rank of 2^16 or more, then sorted leaves.
#[derive(Debug)]
pub struct RankWindow {
    held: Held,
    len: usize,
    size: usize,
    /// The number added to every rank in the window.
    shift: i64,
    lanes: Lanes,
}

clone_by_field!(RankWindow { held, len, size, shift, lanes });

#[derive(Debug)]
enum Held {
    /// Windows of few ranks, while all ranks are small.
    Narrow(Narrow),
    Compared(Rows),
    Indexed(Indexed),
}

clone_by_variant!(Held { Narrow, Compared, Indexed });

/// The ranks in vectors; unused lanes hold fillers, which no count includes.
///
/// Consecutive ranks use consecutive rows, not consecutive lanes. Each push rewrites a whole row, and all other rows
/// have their turn before its next rewrite.
#[derive(Debug)]
struct Rows {
    rows: Vec<Row>,
    /// The row and lane of every rank, in the order of writing.
    places: Vec<(u8, u8)>,
    /// The index of the next rank, which is the oldest rank's once the window is full.
    next: usize,
    /// Pushes a rank and counts, in the vectors that this processor supports.
    step: Step,
}

clone_by_field!(Rows { rows, places, next, step });

/// The ranks in a ring, and an index of them for counts.
#[derive(Debug)]
struct Indexed {
    ring: Vec<i64>,
    next: usize,
    index: Index,
}

clone_by_field!(Indexed { ring, next, index });

#[derive(Debug)]
enum Index {
    /// Windows that are not too large, while all ranks are small.
    Small(Histogram),
    Any(Leaves),
}

clone_by_variant!(Index { Small, Any });

/// One above the largest rank, which is the largest bound.
const END: u64 = 1 << 63;

/// Converts a bound like [`lane`] converts ranks. Larger bounds act like one above the largest rank.
#[inline(always)]
fn bound_lane(bound: u64) -> i64 {
    (bound.min(END) ^ END) as i64
}

impl RankWindow {
    /// Creates an empty window of `size` ranks.
    ///
    /// # Panics
    /// If `size` is 0.
    pub fn new(size: usize) -> Self {
        assert!(size > 0, "a window holds at least one rank");
        let held = if size <= Narrow::MOST {
            Held::Narrow(Narrow::new(size))
        } else if size <= ALL_COMPARED {
            Held::Compared(Rows::new(size))
        } else {
            let small = size <= Histogram::MOST;
            let index = if small { Index::Small(Histogram::new()) } else { Index::Any(Leaves::new(size)) };
            Held::Indexed(Indexed { ring: Vec::with_capacity(size), next: 0, index })
        };
        Self { held, len: 0, size, shift: 0, lanes: Lanes::detect() }
    }

    /// The bytes of the index that a window of `size` ranks allocates at its creation. The ranks need further memory.
    pub const fn bytes_of_index(size: usize) -> usize {
        if ALL_COMPARED < size && size <= Histogram::MOST { Histogram::BYTES } else { 0 }
    }

    /// Returns the window with `shift` added to every rank.
    #[must_use]
    pub const fn shifted_by(mut self, shift: i64) -> Self {
        self.shift = shift;
        self
    }

    /// An empty window of the same size and shift.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self { shift: self.shift, ..Self::new(self.size) }
    }

    /// The number of ranks.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether the window is empty.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Converts narrow lanes to wide ones, once in a window's life.
    #[cold]
    #[inline(never)]
    fn widen(&mut self) -> &mut Rows {
        let mut rows = Rows::new(self.size);
        for rank in self.iter() {
            rows.replace_and_count(lane(rank), i64::MIN);
        }
        self.held = Held::Compared(rows);
        let Held::Compared(rows) = &mut self.held else { unreachable!("it was just put there") };
        rows
    }

    /// Updates the length after a push.
    #[inline(always)]
    fn count_one(&mut self) {
        // A predictable branch: the window is full except at the start.
        if self.len < self.size {
            self.len += 1;
        }
    }

    /// Converts a bound for unshifted ranks, by subtracting the shift.
    #[inline(always)]
    fn shifted(&self, bound: u64) -> u64 {
        match self.shift {
            0 => bound,
            raise @ 1.. => bound.saturating_sub(raise.unsigned_abs()),
            lower => bound.saturating_add(lower.unsigned_abs()),
        }
    }

    /// The ranks without the shift, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Rank> {
        // The index of the oldest rank, and the lane at each index in the order of writing.
        let oldest = match &self.held {
            _ if self.len < self.size => 0,
            Held::Narrow(held) => held.next(),
            Held::Compared(held) => held.next,
            Held::Indexed(held) => held.next,
        };
        (0..self.len).map(move |age| {
            let place = (oldest + age) % self.size;
            match &self.held {
                Held::Narrow(held) => held.rank_at(place),
                Held::Compared(held) => {
                    let (row, at) = held.places[place];
                    rank_of(held.rows[usize::from(row)].0[usize::from(at)])
                }
                Held::Indexed(held) => rank_of(held.ring[place]),
            }
        })
    }

    /// The rank at index `count` of the sorted window, with the shift: the largest rank above at most `count` ranks of
    /// the window. `None` if the window holds at most `count` ranks, because all ranks qualify. O(n) with an
    /// allocation; for inspection, not for every packet.
    pub fn at_place(&self, count: usize) -> Option<i128> {
        let mut ranks: Vec<i64> = self.iter().map(lane).collect();
        if count >= ranks.len() {
            return None;
        }
        let (_, place, _) = ranks.select_nth_unstable(count);
        Some(i128::from(rank_of(*place).get()) + i128::from(self.shift))
    }
}

/// O(1) up to 256 ranks, O(sqrt n) for more. [`count_below`](Window::count_below) alone is O(n) in wide vectors up to
/// 256.
impl Window for RankWindow {
    #[inline(always)]
    fn push(&mut self, rank: Rank) {
        match &mut self.held {
            Held::Narrow(held) if Narrow::takes(rank) => held.push(rank),
            Held::Narrow(_) => {
                self.widen().replace_and_count(lane(rank), i64::MIN);
            }
            Held::Compared(held) => {
                // No rank is below the smallest integer.
                held.replace_and_count(lane(rank), i64::MIN);
            }
            Held::Indexed(held) => held.push(rank, self.size, self.lanes),
        }
        self.count_one();
    }

    #[inline]
    fn count_below(&self, bound: u64) -> usize {
        let shifted = self.shifted(bound);
        match &self.held {
            Held::Narrow(held) => held.count_below(shifted),
            Held::Compared(held) => {
                in_lanes!(self.lanes, (lanes, rows: &[Row] = &held.rows, bound: i64 = bound_lane(shifted)) -> usize {
                    lanes.count_rows(rows, bound)
                })
            }
            Held::Indexed(held) => held.count_below(bound_lane(shifted), self.lanes),
        }
    }

    /// Faster than two separate calls.
    #[inline(always)]
    fn push_and_count_below(&mut self, rank: Rank, bound: u64) -> usize {
        let shifted = self.shifted(bound);
        let count = match &mut self.held {
            Held::Narrow(held) if Narrow::takes(rank) => held.push_and_count(rank, shifted),
            Held::Narrow(_) => self.widen().replace_and_count(lane(rank), bound_lane(shifted)),
            Held::Compared(held) => held.replace_and_count(lane(rank), bound_lane(shifted)),
            Held::Indexed(held) => held.push_and_count(rank, bound_lane(shifted), self.size, self.lanes),
        };
        self.count_one();
        count
    }
}

impl Rows {
    fn new(size: usize) -> Self {
        let rows = size.div_ceil(8);
        Self {
            rows: alloc::vec![Row([FILLER; 8]); rows],
            places: (0..size).map(|place| ((place % rows) as u8, (place / rows) as u8)).collect(),
            next: 0,
            step: Lanes::detect().step(rows),
        }
    }

    /// Pushes a rank, then counts the ranks below `bound`.
    #[inline(always)]
    fn replace_and_count(&mut self, rank: i64, bound: i64) -> usize {
        let (row, at) = self.places[self.next];
        let next = self.next + 1;
        self.next = if next == self.places.len() { 0 } else { next };
        // SAFETY: `step` was chosen for this processor.
        unsafe { (self.step)(&mut self.rows, row.into(), at.into(), rank, bound) }
    }
}

impl Indexed {
    #[inline(never)]
    fn push(&mut self, rank: Rank, size: usize, lanes: Lanes) {
        in_lanes!(lanes, (lanes, held: &mut Indexed = self, rank: i64 = lane(rank), size: usize = size) -> () {
            held.replace_oldest(rank, size, lanes);
        });
    }

    #[inline(never)]
    fn push_and_count(&mut self, rank: Rank, bound: i64, size: usize, lanes: Lanes) -> usize {
        let rank = lane(rank);
        if let Index::Small(histogram) = &mut self.index
            && Histogram::takes(rank)
            && self.ring.len() == size
        {
            let oldest = core::mem::replace(&mut self.ring[self.next], rank);
            self.next = if self.next + 1 == size { 0 } else { self.next + 1 };
            let count = histogram.exchange_and_count(oldest, rank, bound, size, lanes);
            return count + usize::from(rank < bound) - usize::from(oldest < bound);
        }
        in_lanes!(
            lanes,
            (lanes, held: &mut Indexed = self, rank: i64 = rank, bound: i64 = bound, size: usize = size) -> usize {
                // The count runs before the leaves change, because reading a vector soon after a partial write would
                // stall.
                let count = held.count_below_in(bound, lanes);
                let oldest = held.replace_oldest(rank, size, lanes);
                count + usize::from(rank < bound) - usize::from(oldest < bound)
            }
        )
    }

    fn count_below(&self, bound: i64, lanes: Lanes) -> usize {
        in_lanes!(lanes, (lanes, held: &Indexed = self, bound: i64 = bound) -> usize {
            held.count_below_in(bound, lanes)
        })
    }

    #[inline(always)]
    fn count_below_in(&self, bound: i64, lanes: Lanes) -> usize {
        match &self.index {
            Index::Small(histogram) => histogram.count_below(bound, self.ring.len()),
            Index::Any(leaves) => leaves.count_below(bound, lanes),
        }
    }

    /// Pushes a rank. Returns the removed oldest rank, or a filler if the ring was not full.
    #[inline(always)]
    fn replace_oldest(&mut self, rank: i64, size: usize, lanes: Lanes) -> i64 {
        if matches!(self.index, Index::Small(_)) && !Histogram::takes(rank) {
            self.sort(size);
        }
        if self.ring.len() < size {
            self.ring.push(rank);
            match &mut self.index {
                Index::Small(histogram) => histogram.insert(rank),
                Index::Any(leaves) => leaves.insert(rank, lanes),
            }
            return FILLER;
        }
        let oldest = core::mem::replace(&mut self.ring[self.next], rank);
        self.next = if self.next + 1 == size { 0 } else { self.next + 1 };
        match &mut self.index {
            Index::Small(histogram) => histogram.exchange(oldest, rank),
            Index::Any(leaves) => leaves.exchange(oldest, rank, lanes),
        }
        oldest
    }

    /// Converts the histogram to sorted leaves, once in a window's life.
    #[cold]
    #[inline(never)]
    fn sort(&mut self, size: usize) {
        let (mut leaves, lanes) = (Leaves::new(size), Lanes::detect());
        self.ring.iter().for_each(|rank| leaves.insert(*rank, lanes));
        self.index = Index::Any(leaves);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ListWindow;
    use proptest::prelude::*;

    fn rank() -> impl Strategy<Value = u64> {
        prop_oneof![0u64..20, 0u64..1 << 17, 0..=Rank::MAX.get(), Just(Rank::MAX.get())]
    }

    proptest! {
        #![proptest_config(pifolab_testkit::cases(100))]

        #[test]
        fn counts_like_a_list(
            size in prop_oneof![1usize..40, 250usize..300, Just(600)],
            shift in prop_oneof![Just(0i64), -30i64..30, -i64::MAX..i64::MAX, Just(-i64::MAX), Just(i64::MAX)],
            ranks in proptest::collection::vec((rank(), rank()), 1..pifolab_testkit::steps(900, 50) as usize),
            // Ranks before this index are below 2^16, so that the histogram is used until then.
            small in prop_oneof![Just(0usize), 1usize..900, Just(usize::MAX)],
        ) {
            let mut window = RankWindow::new(size).shifted_by(shift);
            let mut list = ListWindow { size, shift, ..ListWindow::default() };
            for (at, (held, asked)) in ranks.into_iter().enumerate() {
                let held = if at < small { held & 0xffff } else { held };
                // Often bounds at and near the rank itself.
                let bound = match asked % 5 {
                    0 => held,
                    1 => held + 1,
                    2 => (1 << 63) - asked % 2,
                    _ => asked,
                };
                let rank = Rank::saturating(held);
                if held % 3 == 0 {
                    window.push(rank);
                    list.push(rank);
                } else {
                    prop_assert_eq!(window.push_and_count_below(rank, bound), list.push_and_count_below(rank, bound));
                }
                prop_assert_eq!(window.count_below(asked), list.count_below(asked));
                prop_assert_eq!(window.count_below(bound), list.count_below(bound));
            }
            let held = &list.ranks[list.ranks.len().saturating_sub(size)..];
            prop_assert!(window.iter().eq(held.iter().copied()));
            let mut sorted: Vec<i128> = held.iter().map(|rank| i128::from(rank.get()) + i128::from(shift)).collect();
            sorted.sort_unstable();
            prop_assert_eq!(window.len(), sorted.len());
            for place in 0..=sorted.len() {
                prop_assert_eq!(window.at_place(place), sorted.get(place).copied());
            }
        }
    }
}
