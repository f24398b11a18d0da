//! The buffer of a node: what is held below it, and how much of it each child may hold.

use alloc::boxed::Box;
use pifolab_sched::{Capacity, Room};
use pifolab_units::Ratio;

/// The account of a node with a capacity.
///
/// With a share alpha each child may hold alpha x (B - Q) at most, where B is the capacity and Q what is held below the node: the
/// dynamic thresholds of shared buffers (Choudhury, Hahne, IEEE/ACM ToN 1998). One child alone gets alpha / (1 + alpha) of the buffer.
#[derive(Debug)]
pub(super) struct Buffer {
    room: Room,
    alpha: Option<Ratio>,
    /// What each child holds, in the capacity's unit; nothing without alpha.
    held: Box<[u64]>,
}

impl Buffer {
    /// An empty one.
    pub(super) fn new(capacity: Capacity, alpha: Option<Ratio>, children: usize) -> Self {
        let children = if alpha.is_some() { children } else { 0 };
        Self { room: Room::new(capacity), alpha, held: core::iter::repeat_n(0, children).collect() }
    }

    pub(super) const fn capacity(&self) -> Capacity {
        self.room.capacity()
    }

    /// Whether a packet of `size` bytes of `child` fits now.
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
