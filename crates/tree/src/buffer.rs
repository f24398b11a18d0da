//! The buffer of a node: the space used by the packets below it, and the limit of each child.

use alloc::boxed::Box;
use pifolab_sched::{Capacity, Room};
use pifolab_units::Ratio;

/// The account of a node with a capacity.
///
/// With a factor alpha, each child may use at most alpha x (B - Q), where B is the capacity and Q the space used below
/// the node. These are the dynamic thresholds of shared buffers (Choudhury, Hahne, IEEE/ACM ToN 1998). A single active
/// child gets alpha / (1 + alpha) of the buffer.
#[derive(Debug)]
pub(super) struct Buffer {
    room: Room,
    alpha: Option<Ratio>,
    /// The space used by each child, in the capacity's unit; empty without alpha.
    held: Box<[u64]>,
}

impl Buffer {
    /// Creates an empty buffer.
    pub(super) fn new(capacity: Capacity, alpha: Option<Ratio>, children: usize) -> Self {
        let children = if alpha.is_some() { children } else { 0 };
        Self { room: Room::new(capacity), alpha, held: core::iter::repeat_n(0, children).collect() }
    }

    pub(super) const fn capacity(&self) -> Capacity {
        self.room.capacity()
    }

    /// Whether a packet of `size` bytes below `child` fits.
    #[inline]
    pub(super) fn fits(&self, child: u32, size: u32) -> bool {
        if !self.room.fits(size) {
            return false;
        }
        let Some(alpha) = self.alpha else { return true };
        let wanted = u128::from(self.held[child as usize] + self.room.cost(size));
        let free = u128::from(self.room.total() - self.room.used());
        wanted * u128::from(alpha.denominator()) <= free * u128::from(alpha.numerator())
    }

    #[inline]
    pub(super) fn take(&mut self, child: u32, size: u32) {
        self.room.take(size);
        if let Some(held) = self.held.get_mut(child as usize) {
            *held += self.room.cost(size);
        }
    }

    #[inline]
    pub(super) fn release(&mut self, child: u32, size: u32) {
        self.room.release(size);
        if let Some(held) = self.held.get_mut(child as usize) {
            *held -= self.room.cost(size);
        }
    }
}
