//! Algorithm 1 of PACKS as printed, made short: what a quantile asks for is tabulated, and the first queue with as much free up
//! to it is found in one step. The plain reference is `Packs::scan`.

use crate::Room;
use crate::schedulers::admission::Admission;
use alloc::boxed::Box;
use pifolab_simd::{Enough, FreePlaces};

/// The free places of the queues, and what quantiles ask for.
#[derive(Debug)]
pub(super) struct Plain {
    /// The free packets of the queues.
    pub(super) free: FreePlaces,
    /// How many free packets each count of a full window asks for; empty for large windows.
    enough: Box<[Enough]>,
}

clone_by_field!(Plain { free, enough });

impl Plain {
    /// Up to this many ranks what they ask for is worked out beforehand: 16 KB at most.
    const TABULATED: u32 = 1 << 12;

    pub(super) fn new(rooms: &[Room], admission: &Admission, window: u32) -> Option<Self> {
        let free = FreePlaces::new(rooms.iter().map(Room::total))?;
        let counts = if window <= Self::TABULATED { window + 1 } else { 0 };
        let enough = |count| Enough::new(admission.least((count, window.into())));
        Some(Self { free, enough: (0..counts.into()).map(enough).collect() })
    }

    /// Takes a place in the queue with which the free packets reach what the test asks for. That one has a free packet itself;
    /// if the test asks for none, it is the first that has one. A number beyond all if there is none; and whether none was asked
    /// for.
    #[inline(always)]
    pub(super) fn take(&mut self, admission: &Admission, quantile: (u64, u64)) -> (usize, bool) {
        // Counts from 0 to the window's size are tabulated; the window is full if it holds as many ranks.
        let (count, held) = quantile;
        let enough = match self.enough.get(count as usize) {
            Some(enough_of_full) if held + 1 == self.enough.len() as u64 => *enough_of_full,
            _ => Enough::new(admission.least(quantile)),
        };
        (self.free.take(enough), admission.passes(quantile, 0))
    }
}
