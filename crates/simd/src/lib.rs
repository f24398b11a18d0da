//! Vectorised counts over many numbers, which schedulers need for every packet. This crate contains the optimised code,
//! so that the files of the algorithms follow their papers.
//!
//! | | returns | plain form |
//! |---|---|---|
//! | [`RankWindow`] | the number of the last n ranks below a bound | [`ListWindow`] |
//! | [`SortedSlots`] | the items with the lowest and the highest rank | a sorted list |
//! | [`BoundRow`] | the last of eight bounds that a rank reaches | a comparison one by one |
//! | [`FreePlaces`] | the first of a few buffers with enough free places | a running sum |
//!
//! A property test compares each type with its plain form. The crate detects the processor's vectors once. Without
//! vectors, or on another architecture than x86-64, the same code counts one by one. The instructions are private to
//! this crate, so that callers cannot run unsupported ones.
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

/// The last pushed ranks, and the number of them below a bound, which is all that a quantile needs.
pub trait Window {
    /// Adds a rank; removes the oldest if the window is full.
    fn push(&mut self, rank: Rank);

    /// The number of ranks below `bound`, which is at most 2^63, one above the largest rank.
    fn count_below(&self, bound: u64) -> usize;

    /// Calls [`push`](Self::push), then [`count_below`](Self::count_below).
    #[inline(always)]
    fn push_and_count_below(&mut self, rank: Rank, bound: u64) -> usize {
        self.push(rank);
        self.count_below(bound)
    }
}
