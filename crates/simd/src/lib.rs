//! What schedulers count among many numbers for every packet, in vector instructions: speed in a place of its own, so that the
//! files of the algorithms say what their papers say.
//!
//! | | answers | instead of |
//! |---|---|---|
//! | [`RankWindow`] | how many of the last n ranks lie below a bound | [`ListWindow`] |
//! | [`SortedSlots`] | which of the items held has the lowest rank, which the highest | a sorted list |
//! | [`BoundRow`] | which is the last of eight bounds that a rank reaches | comparing one after the other |
//! | [`FreePlaces`] | which is the first of a few buffers with enough free places | adding up |
//!
//! Each is held to the plain form in the third column by a property test. The processor is asked once which vectors it has;
//! without any (or on another architecture than x86-64) the same code counts one by one. The instructions themselves are
//! private to this crate, so that those that a processor lacks cannot be run.
//!
//! ```
//! use pifolab_simd::{ListWindow, RankWindow, Window};
//! use pifolab_units::Rank;
//!
//! let (mut fast, mut plain) = (RankWindow::new(3), ListWindow { size: 3, ..ListWindow::default() });
//! for rank in [9, 5, 7, 6] {
//!     let rank = Rank::from(rank);
//!     fast.push(rank);
//!     plain.push(rank);
//! }
//! // 5, 7 and 6 are left; two of them are below 7.
//! assert_eq!((fast.count_below(7), plain.count_below(7)), (2, 2));
//! ```
#![no_std]

extern crate alloc;
#[macro_use]
extern crate pifolab_units;

mod bound_row;
mod free_places;
mod histogram;
mod lanes;
mod leaves;
mod list_window;
mod narrow;
mod octet;
mod quad;
mod sorted_slots;
mod window;

pub use bound_row::{BoundRow, Reached};
pub use free_places::{Enough, FreePlaces};
pub use list_window::ListWindow;
pub use sorted_slots::SortedSlots;
pub use window::RankWindow;

use pifolab_units::Rank;

/// The last ranks that were pushed, and how many of them lie below a bound: all that a quantile is made of.
pub trait Window {
    /// Takes in a rank; the oldest leaves if the window is full.
    fn push(&mut self, rank: Rank);

    /// How many of the ranks held lie below `bound`, at most 2^63: one above the largest rank.
    fn count_below(&self, bound: u64) -> usize;

    /// [`push`](Self::push), then [`count_below`](Self::count_below).
    #[inline(always)]
    fn push_and_count_below(&mut self, rank: Rank, bound: u64) -> usize {
        self.push(rank);
        self.count_below(bound)
    }
}
