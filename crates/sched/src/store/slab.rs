//! A slab: items stay where they are put, and a small number names each.

use alloc::vec::Vec;
use core::mem::MaybeUninit;

/// Items at fixed places, named by slot numbers, so that ordering structures move four bytes instead of an item.
///
/// A freed slot is the next one to be used, so a small working set stays in the cache. `insert` and `take` are O(1);
/// the slab grows to its working size once and then allocates no more.
#[derive(Debug)]
pub(super) struct Slab<T> {
    items: Vec<MaybeUninit<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// The slab does not know which slots are in use, so it could not drop what they hold.
    const ITEMS_NEED_NO_DROP: () = assert!(!core::mem::needs_drop::<T>());

    /// An empty slab with room for `capacity` items.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        let () = Self::ITEMS_NEED_NO_DROP;
        Self { items: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
    }

    /// Stores an item and names its slot.
    #[inline]
    pub(super) fn insert(&mut self, item: T) -> u32 {
        self.insert_with(|_| item)
    }

    /// Stores an item that knows its slot, and names it.
    #[inline]
    pub(super) fn insert_with(&mut self, item: impl FnOnce(u32) -> T) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => self.grow(),
        };
        // SAFETY: only slots below `items.len()` are ever handed out, hence given back.
        unsafe { self.items.get_unchecked_mut(slot as usize) }.write(item(slot));
        slot
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> u32 {
        let slot = u32::try_from(self.items.len()).expect("a slab holds fewer than 2^32 items");
        self.items.push(MaybeUninit::uninit());
        slot
    }

    /// Takes the item in `slot`.
    ///
    /// # Safety
    /// `slot` came from [`insert`](Self::insert) of this slab and has not been taken since.
    #[inline]
    pub(super) unsafe fn take(&mut self, slot: u32) -> T {
        self.free.push(slot);
        // SAFETY: by the contract the slot exists and is initialised; it is free from here on, so nobody reads it twice.
        unsafe { self.items.get_unchecked(slot as usize).assume_init_read() }
    }

    /// The item in `slot`.
    ///
    /// # Safety
    /// As for [`take`](Self::take).
    #[inline]
    pub(super) unsafe fn get(&self, slot: u32) -> &T {
        // SAFETY: by the contract the slot exists and is initialised.
        unsafe { self.items.get_unchecked(slot as usize).assume_init_ref() }
    }

    /// As [`get`](Self::get), to be changed.
    ///
    /// # Safety
    /// As for [`take`](Self::take).
    #[inline]
    pub(super) unsafe fn get_mut(&mut self, slot: u32) -> &mut T {
        // SAFETY: by the contract the slot exists and is initialised.
        unsafe { self.items.get_unchecked_mut(slot as usize).assume_init_mut() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_slot_is_used_next() {
        let mut slab = Slab::with_capacity(2);
        let slots = [slab.insert('a'), slab.insert('b'), slab.insert('c')];
        // SAFETY: the slot was just filled and is taken once.
        assert_eq!(unsafe { slab.take(slots[1]) }, 'b');
        assert_eq!(slab.insert('d'), slots[1]);
        // SAFETY: each slot was filled and is taken once.
        assert_eq!(slots.map(|slot| unsafe { slab.take(slot) }), ['a', 'd', 'c']);
    }
}
