//! A few small ranks in narrow lanes, which every processor compares four at a time.

use super::quad::Quad;
use pifolab_units::Rank;

/// Lanes per vector.
const FAN: usize = 4;
/// The number of vectors. All are compared for every size, which avoids branches.
const ROWS: usize = 6;

/// A value above every bound, which no count includes.
const FILLER: i32 = i32::MAX;

/// The last `size` ranks, at most 24, all below 2^31 - 1.
///
/// The vectors are those of every processor, so each step is inlined into its caller. For so few ranks, a call to code
/// with wider vectors costs more than they save.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Narrow {
    rows: [Quad; ROWS],
    /// The index of the next rank, which is the oldest rank's once the window is full.
    next: usize,
    size: usize,
}

/// For each lane, a vector with all bits set in the lane.
static LANE: [Quad; FAN] =
    [Quad::new([-1, 0, 0, 0]), Quad::new([0, -1, 0, 0]), Quad::new([0, 0, -1, 0]), Quad::new([0, 0, 0, -1])];

impl Narrow {
    /// The largest number of ranks.
    pub(super) const MOST: usize = FAN * ROWS;

    /// Creates an empty window.
    ///
    /// # Panics
    /// If the size is 0 or above 24.
    pub(super) fn new(size: usize) -> Self {
        assert!((1..=Self::MOST).contains(&size), "a narrow window holds 1 to 24 ranks, not {size}");
        Self { rows: [Quad::splat(FILLER); ROWS], next: 0, size }
    }

    /// Whether `rank` is small enough for narrow lanes.
    #[inline(always)]
    pub(super) const fn takes(rank: Rank) -> bool {
        rank.get() < FILLER as u64
    }

    /// Adds a rank that [is small enough](Self::takes); removes the oldest if the window is full.
    #[inline(always)]
    pub(super) fn push(&mut self, rank: Rank) {
        let place = self.take_place();
        Quad::lanes_of(&mut self.rows).as_flattened_mut()[place] = rank.get() as i32;
    }

    /// Like [`push`](Self::push); returns the number of ranks below `bound` afterwards.
    #[inline(always)]
    pub(super) fn push_and_count(&mut self, rank: Rank, bound: u64) -> usize {
        let place = self.take_place();
        let (rank, small) = (rank.get() as i32, bound.min(FILLER as u64) as i32);
        let oldest = Quad::lanes_of(&mut self.rows).as_flattened()[place];
        // The count does not depend on the write below.
        let count = self.count_below(bound) + usize::from(rank < small) - usize::from(oldest < small);
        // Writes a whole vector, because reading it soon after a partial write would stall.
        let row = &mut self.rows[place / FAN];
        *row = row.replaced(Quad::splat(rank), LANE[place % FAN]);
        count
    }

    /// Returns the index of the next rank and advances to the following one.
    #[inline(always)]
    fn take_place(&mut self) -> usize {
        let place = self.next;
        self.next = if place + 1 == self.size { 0 } else { place + 1 };
        place
    }

    /// The number of ranks below `bound`.
    #[inline(always)]
    pub(super) fn count_below(&self, bound: u64) -> usize {
        let bound = Quad::splat(bound.min(FILLER as u64) as i32);
        // Pairs of rows, so that the additions do not form one long chain.
        let [a, b, c, d, e, f] = self.rows.map(|row| row.less(bound));
        Quad::splat(0).minus(a.plus(b).plus(c.plus(d)).plus(e.plus(f))).small_sum()
    }

    /// The index of the next rank, in the order of writing.
    pub(super) const fn next(&self) -> usize {
        self.next
    }

    /// The rank at an index in the order of writing.
    pub(super) fn rank_at(&self, place: usize) -> Rank {
        Rank::saturating(self.rows[place / FAN].to_array()[place % FAN] as u64)
    }
}
