//! A slab: items stay where they are put, and a small number names each.

use alloc::boxed::Box;

/// Items at fixed places, named by slot numbers, so that ordering structures move four bytes instead of an item.
///
/// A freed slot is the next one to be used, so a small working set stays in the cache. `insert` and `take` are O(1);
/// the slab grows to its working size once and then allocates no more. Free slots hold the default
/// value, which is also what a slot gives that is taken twice.
#[derive(Debug)]
pub struct Slab<T> {
    items: Box<[T]>,
    /// As many slot numbers as there are items. Those from `used` on are the free slots, next one first.
    slots: Box<[u32]>,
    used: usize,
}

clone_by_field!(<T> Slab { items, slots, used });

impl<T: Default> Slab<T> {
    /// An empty slab with room for `capacity` items.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { items: vacant(capacity), slots: (0..capacity as u32).collect(), used: 0 }
    }

    /// Items held.
    #[inline(always)]
    pub(crate) const fn len(&self) -> usize {
        self.used
    }

    /// Stores an item and names its slot.
    #[inline(always)]
    pub fn insert(&mut self, item: T) -> u32 {
        self.insert_with(|_| item)
    }

    /// Stores an item that knows its slot, and names it.
    #[inline(always)]
    pub fn insert_with(&mut self, item: impl FnOnce(u32) -> T) -> u32 {
        let slot = match self.slots.get(self.used) {
            Some(slot) => *slot,
            None => self.grow(),
        };
        self.used += 1;
        self.items[slot as usize] = item(slot);
        slot
    }

    /// Moves to twice as many slots, and names the first new one.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> u32 {
        let old = self.slots.len();
        let new = (2 * old).max(4);
        let count = u32::try_from(new).expect("a slab holds fewer than 2^32 items");
        let mut items = vacant(new);
        items[..old].swap_with_slice(&mut self.items);
        // All slots are in use, so what their numbers say matters no more.
        (self.items, self.slots, self.used) = (items, (0..count).collect(), old);
        old as u32
    }

    /// Takes the item in `slot`, which [`insert`](Self::insert) named and which has not been taken since.
    #[inline(always)]
    pub fn take(&mut self, slot: u32) -> T {
        self.used -= 1;
        self.slots[self.used] = slot;
        core::mem::take(&mut self.items[slot as usize])
    }

    /// The item in `slot`.
    #[inline(always)]
    pub fn get(&self, slot: u32) -> &T {
        &self.items[slot as usize]
    }

    /// As [`get`](Self::get), to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.items[slot as usize]
    }
}

fn vacant<T: Default>(places: usize) -> Box<[T]> {
    core::iter::repeat_with(T::default).take(places).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_slot_is_used_next() {
        let mut slab = Slab::with_capacity(2);
        let slots = [slab.insert('a'), slab.insert('b'), slab.insert('c')];
        assert_eq!(slab.take(slots[1]), 'b');
        assert_eq!(slab.insert('d'), slots[1]);
        assert_eq!(slots.map(|slot| slab.take(slot)), ['a', 'd', 'c']);
        assert_eq!(slab.len(), 0);
    }
}
