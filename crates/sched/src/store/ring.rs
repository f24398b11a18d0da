//! The places of a first-in first-out queue.

use crate::{Capacity, Item, Room};
use alloc::boxed::Box;

/// The places of a queue. What is in use of them follows from the queue's account, and only from that.
#[derive(Debug)]
pub(super) struct Ring<T> {
    /// A power of two of places, or none.
    places: Box<[T]>,
}

impl<T: Clone> Clone for Ring<T> {
    fn clone(&self) -> Self {
        Self { places: self.places.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        self.places.clone_from(&source.places);
    }
}

/// Places are allocated up front up to this many; larger rings grow once.
const PREALLOCATED: u32 = 1024;

impl<T: Item> Ring<T> {
    pub(super) fn new(capacity: Capacity) -> Self {
        let places = match capacity {
            // One more than it holds, so that a refused item finds a place to be written to, too.
            Capacity::Packets(packets) => packets.saturating_add(1).min(PREALLOCATED).next_power_of_two(),
            Capacity::Bytes(_) | Capacity::Unlimited => 0,
        };
        Self { places: vacant(places as usize) }
    }

    /// Writes an item behind the last one. The account counts it next.
    #[inline(always)]
    pub(super) fn put(&mut self, room: &Room, item: T) {
        if room.packets() >= self.places.len() {
            self.grow(room);
        }
        let at = self.place(room.taken_packets());
        // SAFETY: there are more places than items, hence at least one, and what is masked with their number less one is below
        // their number. Without the check no branch stands between what is decided and what is stored.
        *unsafe { self.places.get_unchecked_mut(at) } = item;
    }

    /// Stores an item if it is `wanted` and fits, and says whether it was: the caller gives up its own or keeps it. No
    /// branch depends on the answer, since the item is written in any case and only then counts or does not.
    #[inline(always)]
    pub(super) fn put_if(&mut self, wanted: bool, room: &mut Room, item: T) -> bool {
        let size = item.size();
        let stored = wanted & room.fits(size);
        self.put(room, item);
        room.take_if(stored, size);
        stored
    }

    #[inline(always)]
    pub(super) fn front(&self, room: &Room) -> Option<&T> {
        if room.packets() == 0 {
            return None;
        }
        self.places.get(self.place(room.released_packets()))
    }

    #[inline(always)]
    pub(super) fn pop(&self, room: &mut Room) -> Option<T> {
        let front = self.front(room)?;
        // The size is read in place: read from the item, it would cut the move into pieces that overlap and stall.
        room.release(front.size());
        Some(front.duplicate())
    }

    /// The items, the one that has waited longest first.
    pub(super) fn iter<'a>(&'a self, room: &'a Room) -> impl Iterator<Item = &'a T> {
        let first = room.released_packets();
        (0..room.packets() as u64).map(move |age| &self.places[self.place(first.wrapping_add(age))])
    }

    /// The place of the item with this running number.
    #[inline(always)]
    const fn place(&self, number: u64) -> usize {
        number as usize & self.places.len().wrapping_sub(1)
    }

    /// Moves to twice as many places. Items keep their numbers.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, room: &Room) {
        let mut places = vacant((2 * self.places.len()).max(4));
        for age in 0..room.packets() as u64 {
            let number = room.released_packets().wrapping_add(age);
            let to = number as usize & (places.len() - 1);
            core::mem::swap(&mut places[to], &mut self.places[self.place(number)]);
        }
        self.places = places;
    }
}

fn vacant<T: Item>(places: usize) -> Box<[T]> {
    core::iter::repeat_with(T::default).take(places).collect()
}
