//! A few small ranks in narrow lanes, which every processor compares four at a time.

use super::quad::Quad;
use pifolab_units::Rank;

/// Lanes in a vector.
const FAN: usize = 4;
/// Vectors; all are compared, whatever the size, so that nothing is left to branch on.
const ROWS: usize = 6;

/// A value above every bound: counts nowhere.
const FILLER: i32 = i32::MAX;

/// The last `size` ranks, at most 24, all below 2^31 - 1.
///
/// They need no vectors beyond those of every processor, so that the whole step is inlined into its caller: for a few
/// ranks the call into code for wider vectors had cost more than those saved.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Narrow {
    rows: [Quad; ROWS],
    /// Where the next rank goes, which is where the oldest is once the window is full.
    next: usize,
    size: usize,
}

/// All bits in one lane.
static LANE: [Quad; FAN] =
    [Quad::new([-1, 0, 0, 0]), Quad::new([0, -1, 0, 0]), Quad::new([0, 0, -1, 0]), Quad::new([0, 0, 0, -1])];

impl Narrow {
    /// The most ranks that it holds.
    pub(super) const MOST: usize = FAN * ROWS;

    /// Holds nothing yet.
    ///
    /// # Panics
    /// If the size is 0 or above 24.
    pub(super) fn new(size: usize) -> Self {
        assert!((1..=Self::MOST).contains(&size), "a narrow window holds 1 to 24 ranks, not {size}");
        Self { rows: [Quad::splat(FILLER); ROWS], next: 0, size }
    }

    /// Whether it can hold `rank`.
    #[inline(always)]
    pub(super) const fn takes(rank: Rank) -> bool {
        rank.get() < FILLER as u64
    }

    /// Takes in a rank that [is not too large](Self::takes); the oldest leaves if the window is full.
    #[inline(always)]
    pub(super) fn push(&mut self, rank: Rank) {
        let place = self.take_place();
        Quad::lanes_of(&mut self.rows).as_flattened_mut()[place] = rank.get() as i32;
    }

    /// The same, and how many ranks then lie below `bound`.
    #[inline(always)]
    pub(super) fn push_and_count(&mut self, rank: Rank, bound: u64) -> usize {
        let place = self.take_place();
        let (rank, small) = (rank.get() as i32, bound.min(FILLER as u64) as i32);
        let oldest = Quad::lanes_of(&mut self.rows).as_flattened()[place];
        // Counting does not wait for what is written here.
        let count = self.count_below(bound) + usize::from(rank < small) - usize::from(oldest < small);
        // A whole vector is written: reading it soon after a part of it was written would stall.
        let row = &mut self.rows[place / FAN];
        *row = row.replaced(Quad::splat(rank), LANE[place % FAN]);
        count
    }

    /// Where the next rank goes; the one after it goes to the next place.
    #[inline(always)]
    fn take_place(&mut self) -> usize {
        let place = self.next;
        self.next = if place + 1 == self.size { 0 } else { place + 1 };
        place
    }

    /// How many ranks held lie below `bound`.
    #[inline(always)]
    pub(super) fn count_below(&self, bound: u64) -> usize {
        let bound = Quad::splat(bound.min(FILLER as u64) as i32);
        // Two rows at a time: the sum does not wait for one after the other.
        let [a, b, c, d, e, f] = self.rows.map(|row| row.less(bound));
        Quad::splat(0).minus(a.plus(b).plus(c.plus(d)).plus(e.plus(f))).small_sum()
    }

    /// Where the next rank goes, in the order of writing.
    pub(super) const fn next(&self) -> usize {
        self.next
    }

    /// The rank at a place in the order of writing.
    pub(super) fn rank_at(&self, place: usize) -> Rank {
        Rank::saturating(self.rows[place / FAN].to_array()[place % FAN] as u64)
    }
}
