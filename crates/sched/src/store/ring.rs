//! The places of first-in first-out queues: of one queue, and of several side by side.

use crate::{Capacity, Item, Room};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Places are allocated up front up to this many; larger queues grow once.
const PREALLOCATED: u32 = 1024;
/// Running numbers of packets wrap at 2^32.
const MOST: usize = 1 << 31;

/// How many places a queue of this capacity begins with: a power of two, at least one.
fn places_at_first(capacity: Capacity) -> usize {
    match capacity {
        // One more than it holds, so that a refused item finds a place to be written to, too.
        Capacity::Packets(packets) => packets.saturating_add(1).min(PREALLOCATED).next_power_of_two() as usize,
        Capacity::Bytes(_) | Capacity::Unlimited => 1,
    }
}

/// How many places a queue gets that has filled `places`.
fn places_after(places: usize) -> usize {
    assert!(places < MOST, "a queue holds 2^31 packets and no more");
    (2 * places).max(4)
}

/// The places of one queue. What is in use of them follows from the queue's account, and only from that.
#[derive(Debug)]
pub(super) struct Ring<T> {
    /// A power of two of places, at least one: whatever is masked with their number less one is the index of a place.
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

impl<T: Item> Ring<T> {
    pub(super) fn new(capacity: Capacity) -> Self {
        Self { places: vacant(places_at_first(capacity)).collect() }
    }

    /// Writes an item behind the last one. The account counts it next.
    #[inline(always)]
    pub(super) fn put(&mut self, room: &Room, item: T) {
        if room.packets() >= self.places.len() {
            self.grow(room);
        }
        let at = self.place(room.taken_packets());
        // SAFETY: there is a place, and the mask keeps `at` among them. Without the check no branch stands between what is
        // decided and what is stored.
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
        // SAFETY: there is a place, and the mask keeps it among them.
        Some(unsafe { self.places.get_unchecked(self.place(room.released_packets())) })
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
        (0..room.packets() as u32).map(move |age| &self.places[self.place(first.wrapping_add(age))])
    }

    /// The place of the item with this running number.
    #[inline(always)]
    const fn place(&self, number: u32) -> usize {
        number as usize & self.places.len().wrapping_sub(1)
    }

    /// Moves to twice as many places. Items keep their numbers.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, room: &Room) {
        let mut places: Box<[T]> = vacant(places_after(self.places.len())).collect();
        for age in 0..room.packets() as u32 {
            let number = room.released_packets().wrapping_add(age);
            let to = number as usize & (places.len() - 1);
            core::mem::swap(&mut places[to], &mut self.places[self.place(number)]);
        }
        self.places = places;
    }
}

/// The places of several queues side by side: whichever queue it is, they begin at the same address. Each account says where
/// its own are.
#[derive(Debug)]
pub(super) struct Rings<T> {
    places: Vec<T>,
}

impl<T: Clone> Clone for Rings<T> {
    fn clone(&self) -> Self {
        Self { places: self.places.clone() }
    }

    /// Allocates nothing if both have as many places. There are never fewer than the accounts say, even if the clone of an
    /// item panics.
    fn clone_from(&mut self, source: &Self) {
        if self.places.len() == source.places.len() {
            self.places.clone_from_slice(&source.places);
        } else {
            *self = source.clone();
        }
    }
}

impl<T: Item> Rings<T> {
    /// The places of queues with these accounts, which are told where those are.
    pub(super) fn new<'a>(rooms: impl Iterator<Item = &'a mut Room>) -> Self {
        let mut places = 0;
        for room in rooms {
            let own = places_at_first(room.capacity());
            room.set_places(places, own);
            places += own;
        }
        Self { places: vacant(places).collect() }
    }

    /// As [`Ring::put_if`].
    ///
    /// # Safety
    /// The account must be one of those that these places were made for.
    #[inline(always)]
    pub(super) unsafe fn put_if(&mut self, wanted: bool, room: &mut Room, item: T) -> bool {
        let size = item.size();
        let stored = wanted & room.fits(size);
        // SAFETY: what the caller promises.
        unsafe { self.put(room, item) };
        room.take_if(stored, size);
        stored
    }

    /// As [`Ring::put`].
    ///
    /// # Safety
    /// The account must be one of those that these places were made for.
    #[inline(always)]
    pub(super) unsafe fn put(&mut self, room: &mut Room, item: T) {
        if room.packets() > room.places().1 as usize {
            self.grow(room);
        }
        let at = place(room, room.taken_packets());
        // SAFETY: the account's places are among these.
        *unsafe { self.places.get_unchecked_mut(at) } = item;
    }

    /// As [`Ring::pop`].
    ///
    /// # Safety
    /// The account must be one of those that these places were made for.
    #[inline(always)]
    pub(super) unsafe fn pop(&self, room: &mut Room) -> Option<T> {
        if room.packets() == 0 {
            return None;
        }
        let at = place(room, room.released_packets());
        // SAFETY: the account's places are among these.
        let first = unsafe { self.places.get_unchecked(at) };
        room.release(first.size());
        Some(first.duplicate())
    }

    /// As [`Ring::iter`].
    pub(super) fn iter<'a>(&'a self, room: &'a Room) -> impl Iterator<Item = &'a T> {
        let first = room.released_packets();
        (0..room.packets() as u32).map(move |age| &self.places[place(room, first.wrapping_add(age))])
    }

    /// Gives a queue twice as many places, behind all others. Its old ones are not used again: together they are fewer than
    /// those that it has now.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, room: &mut Room) {
        let (begin, own) = (self.places.len(), places_after(room.places().1 as usize + 1));
        let mut moved = room.clone();
        moved.set_places(begin, own);
        self.places.extend(vacant::<T>(own));
        for age in 0..room.packets() as u32 {
            let number = room.released_packets().wrapping_add(age);
            self.places.swap(place(&moved, number), place(room, number));
        }
        *room = moved;
    }
}

/// The place of the item with this running number.
#[inline(always)]
const fn place(room: &Room, number: u32) -> usize {
    let (first, mask) = room.places();
    first + (number & mask) as usize
}

fn vacant<T: Item>(places: usize) -> impl Iterator<Item = T> {
    core::iter::repeat_with(T::default).take(places)
}
