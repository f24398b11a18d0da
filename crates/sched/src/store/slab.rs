//! A slab: items stay where they are put, and a small number names each.

use alloc::boxed::Box;

/// Items at fixed places, named by slot numbers, so that ordering structures move four bytes instead of an item.
///
/// A freed slot is the next one used, so a small working set stays in the cache. `insert` and `take` are O(1); the slab
/// grows to its working size once and then allocates no more. Free slots hold the default value; taking a slot twice
/// returns it.
#[derive(Debug)]
pub struct Slab<T> {
    items: Box<[T]>,
    /// All slot numbers. Those from `used` on are the free slots, the next one first.
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

    /// Stores an item and returns its slot.
    #[inline(always)]
    pub fn insert(&mut self, item: T) -> u32 {
        self.insert_with(|_| item)
    }

    /// Stores an item made from its slot, and returns the slot.
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

    /// Doubles the slots and returns the first new one.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) -> u32 {
        let old = self.slots.len();
        let new = (2 * old).max(4);
        let count = u32::try_from(new).expect("a slab holds fewer than 2^32 items");
        let mut items = vacant(new);
        items[..old].swap_with_slice(&mut self.items);
        // All slots are in use, so `slots` may be rebuilt in any order.
        (self.items, self.slots, self.used) = (items, (0..count).collect(), old);
        old as u32
    }

    /// Takes the item in `slot`, which [`insert`](Self::insert) returned and which has not been taken since.
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

    /// As [`get`](Self::get), mutable.
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
