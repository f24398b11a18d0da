//! A slab: items stay where they are put, and a small number names each.

use alloc::boxed::Box;
use core::mem::MaybeUninit;

/// Items at fixed places, named by slot numbers, so that ordering structures move four bytes instead of an item.
///
/// A freed slot is the next one to be used, so a small working set stays in the cache. `insert` and `take` are O(1);
/// the slab grows to its working size once and then allocates no more.
#[derive(Debug)]
pub(super) struct Slab<T> {
    items: Box<[MaybeUninit<T>]>,
    /// As many slot numbers as there are items. Those from `used` on are the free slots, next one first.
    slots: Box<[u32]>,
    used: usize,
}

impl<T> Slab<T> {
    /// The slab does not know which slots are in use, so it could not drop what they hold.
    const ITEMS_NEED_NO_DROP: () = assert!(!core::mem::needs_drop::<T>());

    /// An empty slab with room for `capacity` items.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        let () = Self::ITEMS_NEED_NO_DROP;
        Self { items: Box::new_uninit_slice(capacity), slots: (0..capacity as u32).collect(), used: 0 }
    }

    /// Items held.
    #[inline(always)]
    pub(super) const fn len(&self) -> usize {
        self.used
    }

    /// Stores an item and names its slot.
    #[inline(always)]
    pub(super) fn insert(&mut self, item: T) -> u32 {
        self.insert_with(|_| item)
    }

    /// Stores an item that knows its slot, and names it.
    #[inline(always)]
    pub(super) fn insert_with(&mut self, item: impl FnOnce(u32) -> T) -> u32 {
        if self.used == self.slots.len() {
            self.grow();
        }
        // SAFETY: there is a free slot, and only slots that exist are ever free.
        unsafe {
            let slot = *self.slots.get_unchecked(self.used);
            self.used += 1;
            self.items.get_unchecked_mut(slot as usize).write(item(slot));
            slot
        }
    }

    /// Moves to twice as many slots.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let old = self.slots.len();
        let new = (2 * old).max(4);
        let count = u32::try_from(new).expect("a slab holds fewer than 2^32 items");
        let mut items = Box::new_uninit_slice(new);
        items[..old].swap_with_slice(&mut self.items);
        // All slots are in use, so what their numbers say matters no more.
        (self.items, self.slots) = (items, (0..count).collect());
    }

    /// Takes the item in `slot`.
    ///
    /// # Safety
    /// `slot` came from [`insert`](Self::insert) of this slab and has not been taken since.
    #[inline(always)]
    pub(super) unsafe fn take(&mut self, slot: u32) -> T {
        self.used -= 1;
        // SAFETY: by the contract an item was held, and the slot exists and is initialised; it is free from here on, so
        // nobody reads it twice.
        unsafe {
            *self.slots.get_unchecked_mut(self.used) = slot;
            self.items.get_unchecked(slot as usize).assume_init_read()
        }
    }

    /// The item in `slot`.
    ///
    /// # Safety
    /// As for [`take`](Self::take).
    #[inline(always)]
    pub(super) unsafe fn get(&self, slot: u32) -> &T {
        // SAFETY: by the contract the slot exists and is initialised.
        unsafe { self.items.get_unchecked(slot as usize).assume_init_ref() }
    }

    /// As [`get`](Self::get), to be changed.
    ///
    /// # Safety
    /// As for [`take`](Self::take).
    #[inline(always)]
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
        assert_eq!(slab.len(), 0);
    }
}
