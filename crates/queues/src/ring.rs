//! The places of one or several first-in first-out queues.

use crate::{Item, Room};
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use core::ops::Range;

/// Running numbers of packets wrap at 2^32.
const MOST: usize = 1 << 31;

/// The number of places of a queue that has filled `places`.
fn places_after(places: usize) -> usize {
    assert!(places < MOST, "a queue holds 2^31 packets and no more");
    (2 * places).max(4)
}

/// The places of one queue or, if `SHARED`, of several queues in one allocation, so that all queues have the same base
/// address. The account of a queue has the range of its places and which of them are in use. Places in use hold items;
/// all others may be uninitialised.
#[derive(Debug)]
pub(crate) struct Rings<T, const SHARED: bool> {
    places: Box<[MaybeUninit<T>]>,
}

/// The places of one queue.
pub(crate) type Ring<T> = Rings<T, false>;

impl<T: Clone, const SHARED: bool> Rings<T, SHARED> {
    /// The same number of places, none in use.
    pub(crate) fn vacated(&self) -> Self {
        Self { places: Box::new_uninit_slice(self.places.len()) }
    }

    /// Copies the items that `from` counts to the places of `to`, which has enough places.
    ///
    /// # Safety
    /// The account `from` must be one of those that the places of `source` were made for.
    pub(crate) unsafe fn copy(&mut self, to: &Room, source: &Self, from: &Room) {
        for age in 0..from.packets() as u32 {
            let number = from.released_packets().wrapping_add(age);
            // SAFETY: a place that the account counts is in use.
            let item = unsafe { source.places[Self::place(from, number)].assume_init_ref() };
            self.places[Self::place(to, number)].write(item.clone());
        }
    }
}

impl<T, const SHARED: bool> Rings<T, SHARED> {
    /// The place of the item with this running number.
    #[inline(always)]
    const fn place(room: &Room, number: u32) -> usize {
        let own = number & room.places_mask();
        (if SHARED { room.first_place() + own } else { own }) as usize
    }
}

impl<T: Item, const SHARED: bool> Rings<T, SHARED> {
    /// Makes one place for each queue, and writes its position into the queue's account. A queue gets more places when
    /// packets wait in it, since few of the thousands of ports of a network have long queues.
    pub(crate) fn new<'a>(rooms: impl Iterator<Item = &'a mut Room>) -> Self {
        const { assert!(!core::mem::needs_drop::<T>(), "queues forget the items that they hold when they are dropped") };
        let mut places = 0;
        for room in rooms {
            debug_assert!(SHARED || places == 0, "the places of one queue");
            room.set_places(places, 1);
            places += 1;
        }
        Self { places: Box::new_uninit_slice(places.max(1)) }
    }

    /// Stores an item if it is `wanted` and fits; returns whether it was stored. No branch depends on the result: the
    /// item is always written, and only the account decides whether its place is in use.
    ///
    /// # Safety
    /// The account must be one of those that these places were made for. A stored item has moved: the caller must
    /// forget its own copy.
    #[inline(always)]
    pub(crate) unsafe fn put_if(&mut self, wanted: bool, room: &mut Room, item: &T) -> bool {
        let size = item.size();
        let fits = if room.is_settled() { room.is_open() } else { self.make_place_and_ask(room, size) };
        let (stored, number) = (wanted & fits, room.taken_packets());
        // Booked before the item is written, so that no count has to be read again after the write.
        room.take_if(stored, size);
        // SAFETY: the account's places are among these, and one of them is free.
        let place = unsafe { self.places.get_unchecked_mut(Self::place(room, number)) };
        // SAFETY: the item is read from a reference and written to a place that does not overlap it.
        unsafe { place.as_mut_ptr().copy_from_nonoverlapping(item, 1) };
        stored
    }

    /// Makes a place for one more item if there is none; returns whether an item of this size fits.
    #[cold]
    #[inline(never)]
    fn make_place_and_ask(&mut self, room: &mut Room, size: u32) -> bool {
        self.make_place(room);
        room.fits_by_unit(size)
    }

    /// Stores an item that fits.
    ///
    /// # Safety
    /// As for [`put_if`](Self::put_if).
    #[inline(always)]
    pub(crate) unsafe fn put(&mut self, room: &mut Room, item: T) {
        // With several queues, the processor may not have computed yet which of them sent the last packet. This test
        // does not read the packets that have left, so it need not wait for that.
        if !SHARED || !room.has_all_places() {
            self.make_place(room);
        }
        let number = room.taken_packets();
        room.take(item.size());
        // SAFETY: the account's places are among these, and one of them is free.
        unsafe { self.places.get_unchecked_mut(Self::place(room, number)) }.write(item);
    }

    /// The item that has waited longest.
    ///
    /// # Safety
    /// As for [`put_if`](Self::put_if).
    #[inline(always)]
    pub(crate) unsafe fn front(&self, room: &Room) -> Option<&T> {
        if room.packets() == 0 {
            return None;
        }
        // SAFETY: the account's places are among these.
        let place = unsafe { self.places.get_unchecked(Self::place(room, room.released_packets())) };
        // SAFETY: the place is in use, since the account counts an item.
        Some(unsafe { place.assume_init_ref() })
    }

    /// Takes the item that has waited longest.
    ///
    /// # Safety
    /// As for [`put_if`](Self::put_if).
    #[inline(always)]
    pub(crate) unsafe fn pop(&mut self, room: &mut Room) -> Option<T> {
        // SAFETY: the caller's promise.
        let front: *const T = unsafe { self.front(room) }?;
        // SAFETY: it points to an item. The size is read in place: reading it from the moved item would split the move
        // into overlapping pieces and stall.
        room.release(unsafe { &*front }.size());
        // SAFETY: the item moves, since its place is no longer in use.
        Some(unsafe { front.read() })
    }

    /// Stores copies of the first of `items` that surely fit and have a place; returns their number.
    pub(crate) fn put_run(&mut self, room: &mut Room, items: &[T]) -> usize
    where
        T: Copy,
    {
        let items = &items[..items.len().min(room.open_places() as usize)];
        let (before_wrap, after_wrap) = self.run(room, room.taken_packets(), items.len());
        let (head, tail) = items.split_at(before_wrap.len());
        for (places, items) in [(before_wrap, head), (after_wrap, tail)] {
            self.places[places].iter_mut().zip(items).for_each(|(place, item)| {
                place.write(*item);
            });
        }
        room.take_run(items.len() as u32, items.iter().map(|item| u64::from(item.size())).sum());
        items.len()
    }

    /// Takes the items that have waited longest, as many as `to` has room for; returns their number.
    ///
    /// # Safety
    /// As for [`put_if`](Self::put_if).
    pub(crate) unsafe fn pop_run(&mut self, room: &mut Room, to: &mut [MaybeUninit<T>]) -> usize
    where
        T: Copy,
    {
        let count = to.len().min(room.packets());
        let (before_wrap, after_wrap) = self.run(room, room.released_packets(), count);
        let (head, tail) = to[..count].split_at_mut(before_wrap.len());
        head.copy_from_slice(&self.places[before_wrap]);
        tail.copy_from_slice(&self.places[after_wrap]);
        // SAFETY: places in use were copied, since the account counts these items.
        let sizes = to[..count].iter().map(|item| u64::from(unsafe { item.assume_init_ref() }.size()));
        room.release_run(count as u32, sizes.sum());
        count
    }

    /// The places of `count` items from the running number `number` on: those up to the last place, and the rest.
    fn run(&self, room: &Room, number: u32, count: usize) -> (Range<usize>, Range<usize>) {
        let first = Self::place(room, 0);
        let begin = Self::place(room, number);
        let end = (begin + count).min(first + room.places_mask() as usize + 1);
        (begin..end, first..first + count - (end - begin))
    }

    /// The items, longest waiting first.
    ///
    /// # Safety
    /// As for [`put_if`](Self::put_if).
    pub(crate) unsafe fn iter<'a>(&'a self, room: &'a Room) -> impl Iterator<Item = &'a T> {
        let first = room.released_packets();
        (0..room.packets() as u32).map(move |age| {
            let place = &self.places[Self::place(room, first.wrapping_add(age))];
            // SAFETY: a place that the account counts is in use.
            unsafe { place.assume_init_ref() }
        })
    }

    /// Makes a place for one more item if there is none.
    #[inline(always)]
    fn make_place(&mut self, room: &mut Room) {
        if room.packets() > room.places_mask() as usize {
            self.grow(room);
        }
    }

    /// Doubles the places of a queue, behind those of all others. Its old places are not used again: all of them
    /// together are fewer than the new ones.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, room: &mut Room) {
        let (begin, own) = (if SHARED { self.places.len() } else { 0 }, places_after(room.places_mask() as usize + 1));
        let mut moved = room.clone();
        moved.set_places(begin, own);
        let old = self.places.len();
        let mut places = core::mem::take(&mut self.places).into_vec();
        // The places of other queues do not move if the allocator can extend the allocation.
        if places.try_reserve_exact(own).is_err() {
            // The accounts still refer to the old places, so keep them before the panic.
            self.places = places.into_boxed_slice();
            panic!("there is no memory for {own} packets");
        }
        places.resize_with(old + own, MaybeUninit::uninit);
        let start = if SHARED { 0 } else { old };
        for age in 0..room.packets() as u32 {
            let number = room.released_packets().wrapping_add(age);
            // The new place holds no item.
            places.swap(start + Self::place(&moved, number), Self::place(room, number));
        }
        if !SHARED {
            places.drain(..old);
        }
        self.places = places.into_boxed_slice();
        *room = moved;
    }
}
