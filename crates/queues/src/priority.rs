//! Strict-priority queues, each first-in first-out, as in real devices.

use crate::branchless::mask;
use crate::ring::Rings;
use crate::{Capacity, Item, Packet, Room};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::hint::select_unpredictable;
use core::mem::MaybeUninit;
use core::slice;

/// First-in first-out queues of items, each with its own account; the first has the highest priority.
///
/// # Panics
/// Methods panic if there is no such queue.
pub trait Queues<T> {
    /// Empty queues with these capacities, highest priority first.
    fn with_capacities(capacities: &[Capacity]) -> Self;

    /// The accounts, highest priority first.
    fn rooms(&self) -> &[Room];

    /// Stores an item in `queue` if it is `wanted` and fits. No branch inside depends on the result.
    ///
    /// # Errors
    /// The item, if it is not stored.
    fn push_if(&mut self, wanted: bool, queue: usize, item: T) -> Result<(), T>;

    /// Stores an item in `queue`, which has room for it.
    fn push_fitting(&mut self, queue: usize, item: T);

    /// Returns whether an item of `size` bytes fits in `queue` while nothing waits. If so, calls `look` with the
    /// accounts as they are with the item in the queue; a single queue may pass its account without the item.
    fn pass(&mut self, queue: usize, size: u32, look: impl FnOnce(&[Room])) -> bool;

    /// The first queue that holds an item.
    fn first(&self) -> Option<usize>;

    /// Takes the oldest item of `queue`.
    fn pop_from(&mut self, queue: usize) -> Option<T>;

    /// The items of `queue`, oldest first; none if there is no such queue.
    fn iter<'a>(&'a self, queue: usize) -> impl Iterator<Item = &'a T>
    where
        T: 'a;
}

/// A kind of queues, for any type of item.
pub trait QueueKind {
    /// Queues of this kind that store `T`.
    type Of<T: Item>: Queues<T>;
}

impl<U> QueueKind for PriorityQueues<U> {
    type Of<T: Item> = PriorityQueues<T>;
}

/// The account of one of several queues, aligned to a cache line: a shift finds it, and loading it costs one miss.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Account(Room);

const _: () = assert!(size_of::<Account>() == size_of::<Room>());

/// Strict-priority queues, each with its own capacity. Queue 0 is served first.
///
/// `push_if` and `pop_from` are O(1), `first` is O(1) for up to 64 queues (a bit mask marks those that hold items),
/// O(queues / 64) beyond.
#[derive(Debug)]
pub struct PriorityQueues<T = Packet> {
    accounts: Box<[Account]>,
    /// Made for these accounts.
    rings: Rings<T, true>,
    /// Which of the first 64 queues hold items.
    occupied: u64,
    /// The same for the others, 64 in a word.
    beyond: Vec<u64>,
}

impl<T: Clone> Clone for PriorityQueues<T> {
    fn clone(&self) -> Self {
        let mut new = Self {
            accounts: self.accounts.iter().map(|account| Account(account.0.emptied())).collect(),
            rings: self.rings.vacated(),
            occupied: 0,
            beyond: self.beyond.clone(),
        };
        new.clone_from(self);
        new
    }

    /// Keeps its places and allocates nothing if both have the same number of queues and each queue has enough places
    /// for the items of `source`.
    fn clone_from(&mut self, source: &Self) {
        let mut pairs = self.accounts.iter().zip(&source.accounts);
        if self.accounts.len() != source.accounts.len() || !pairs.all(|(own, from)| own.0.has_places_for(&from.0)) {
            *self = source.clone();
            return;
        }
        // An account counts its items only once all are copied, since the clone of one may panic. No account counts the
        // old items.
        for (account, from) in self.accounts.iter_mut().zip(&source.accounts) {
            account.0 = from.0.at_places_of(&account.0).emptied();
        }
        for (account, from) in self.accounts.iter_mut().zip(&source.accounts) {
            let room = from.0.at_places_of(&account.0);
            // SAFETY: the places of `source` were made for its accounts.
            unsafe { self.rings.copy(&room, &source.rings, &from.0) };
            account.0 = room;
        }
        self.occupied = source.occupied;
        self.beyond.clone_from(&source.beyond);
    }
}

impl<T: Item> PriorityQueues<T> {
    /// Empty queues with these capacities, highest priority first.
    pub fn new(capacities: &[Capacity]) -> Self {
        let mut accounts: Box<[Account]> = capacities.iter().map(|capacity| Account(Room::new(*capacity))).collect();
        for (queue, account) in accounts.iter_mut().enumerate() {
            account.0.set_bit(1 << (queue % 64));
        }
        Self {
            rings: Rings::new(accounts.iter_mut().map(|account| &mut account.0)),
            accounts,
            occupied: 0,
            beyond: alloc::vec![0; capacities.len().saturating_sub(1) / 64],
        }
    }

    /// The number of queues.
    #[inline]
    pub fn count(&self) -> usize {
        self.accounts.len()
    }

    /// The word of the bit mask for `queue`, which is beyond the first 64.
    #[cold]
    #[inline(never)]
    fn word_beyond(&mut self, queue: usize) -> &mut u64 {
        &mut self.beyond[queue / 64 - 1]
    }

    /// Marks that `queue` holds items; `bits` is its bit, or 0 to change nothing.
    #[inline(always)]
    fn occupy(&mut self, queue: usize, bits: u64) {
        if queue < 64 {
            self.occupied |= bits;
        } else {
            *self.word_beyond(queue) |= bits;
        }
    }

    /// Marks that `queue` is empty; `bits` is its bit, or 0 to change nothing.
    #[inline(always)]
    fn vacate(&mut self, queue: usize, bits: u64) {
        if queue < 64 {
            self.occupied ^= bits;
        } else {
            *self.word_beyond(queue) ^= bits;
        }
    }

    /// Stores copies of the first of `items` in queue 0 that surely fit; returns their number. The next one may fit, too.
    #[inline]
    pub fn push_run(&mut self, items: &[T]) -> usize
    where
        T: Copy,
    {
        let room = &mut self.accounts[0].0;
        let stored = self.rings.put_run(room, items);
        let bit = room.bit();
        self.occupy(0, if stored > 0 { bit } else { 0 });
        stored
    }

    /// Takes the oldest items of queue 0, as many as `to` has room for; returns their number.
    #[inline]
    pub fn pop_run(&mut self, to: &mut [MaybeUninit<T>]) -> usize
    where
        T: Copy,
    {
        let room = &mut self.accounts[0].0;
        // SAFETY: the places were made for these accounts.
        let taken = unsafe { self.rings.pop_run(room, to) };
        // The bit of a queue that held an item is set.
        let emptied = if taken > 0 && room.packets() == 0 { room.bit() } else { 0 };
        self.vacate(0, emptied);
        taken
    }

    /// The first queue that holds an item if the first 64 are empty; a number beyond all queues if all are empty.
    #[cold]
    #[inline(never)]
    fn first_beyond(&self) -> usize {
        let occupied = self.beyond.iter().enumerate().find(|(_, bits)| **bits != 0);
        occupied.map_or(usize::MAX, |(word, bits)| (word + 1) * 64 + bits.trailing_zeros() as usize)
    }
}

impl<T: Item> Queues<T> for PriorityQueues<T> {
    fn with_capacities(capacities: &[Capacity]) -> Self {
        Self::new(capacities)
    }

    #[inline(always)]
    fn rooms(&self) -> &[Room] {
        // SAFETY: an account is only a room, and has the same size.
        unsafe { slice::from_raw_parts(self.accounts.as_ptr().cast(), self.accounts.len()) }
    }

    #[inline(always)]
    fn push_if(&mut self, wanted: bool, queue: usize, item: T) -> Result<(), T> {
        // The queue cannot be predicted, so neither could a branch on its room or on its bit.
        let room = &mut self.accounts[queue].0;
        let bit = room.bit();
        // SAFETY: the places were made for these accounts, and a stored item is forgotten below.
        let stored = unsafe { self.rings.put_if(wanted, room, &item) };
        self.occupy(queue, bit & mask(stored));
        if stored {
            core::mem::forget(item);
            Ok(())
        } else {
            Err(item)
        }
    }

    #[inline(always)]
    fn push_fitting(&mut self, queue: usize, item: T) {
        let room = &mut self.accounts[queue].0;
        let bit = room.bit();
        // SAFETY: the places were made for these accounts.
        unsafe { self.rings.put(room, item) };
        self.occupy(queue, bit);
    }

    #[inline(always)]
    fn pass(&mut self, queue: usize, size: u32, look: impl FnOnce(&[Room])) -> bool {
        let fits = self.accounts.get(queue).is_some_and(|account| account.0.fits(size));
        if fits {
            self.accounts[queue].0.take(size);
            look(self.rooms());
            self.accounts[queue].0.release(size);
        }
        fits
    }

    #[inline(always)]
    fn first(&self) -> Option<usize> {
        let first = if self.occupied != 0 { self.occupied.trailing_zeros() as usize } else { self.first_beyond() };
        // Nothing waits if there is no such queue. The caller's access to the account needs this comparison anyway.
        (first < self.accounts.len()).then_some(first)
    }

    #[inline(always)]
    fn pop_from(&mut self, queue: usize) -> Option<T> {
        let room = &mut self.accounts[queue].0;
        // SAFETY: the places were made for these accounts.
        let item = unsafe { self.rings.pop(room) }?;
        // The bit of a queue that held an item is set.
        let emptied = select_unpredictable(room.packets() == 0, room.bit(), 0);
        self.vacate(queue, emptied);
        Some(item)
    }

    fn iter<'a>(&'a self, queue: usize) -> impl Iterator<Item = &'a T>
    where
        T: 'a,
    {
        // SAFETY: the places were made for these accounts.
        self.rooms().get(queue).into_iter().flat_map(|room| unsafe { self.rings.iter(room) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Item;
    use alloc::collections::VecDeque;
    use pifolab_units::Rank;

    /// A number.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    struct Number(u32);

    impl Item for Number {
        fn size(&self) -> u32 {
            1 + self.0 % 5
        }
        fn rank(&self) -> Rank {
            Rank::ZERO
        }
        fn set_rank(&mut self, _rank: Rank) {}
    }

    #[test]
    fn queues_and_their_copies_agree_with_deques() {
        let capacities = [Capacity::Packets(3), Capacity::Bytes(40), Capacity::Unlimited];
        let mut queues: PriorityQueues<Number> = PriorityQueues::new(&capacities);
        let mut deques: [VecDeque<u32>; 3] = Default::default();
        let (mut saved, mut of_saved) = (queues.clone(), deques.clone());
        let mut state = 1u64;
        // Miri is a thousand times slower.
        for number in 0..if cfg!(miri) { 120 } else { 3000 } {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (draw, queue) = ((state >> 40) as u32, (state >> 33) as usize % 3);
            match draw % 8 {
                0..=3 => {
                    let (wanted, fits) = (draw & 64 != 0, queues.rooms()[queue].fits(Number(number).size()));
                    match queues.push_if(wanted, queue, Number(number)) {
                        Ok(()) => deques[queue].push_back(number),
                        Err(item) => assert_eq!((item, wanted && fits), (Number(number), false)),
                    }
                }
                4 if queues.rooms()[queue].fits(Number(number).size()) => {
                    queues.push_fitting(queue, Number(number));
                    deques[queue].push_back(number);
                }
                5 => {
                    saved.clone_from(&queues);
                    of_saved.clone_from(&deques);
                }
                6 if draw & 64 != 0 => {
                    queues.clone_from(&saved);
                    deques.clone_from(&of_saved);
                }
                _ => {
                    let first = queues.first();
                    assert_eq!(first, deques.iter().position(|deque| !deque.is_empty()));
                    let Some(first) = first else { continue };
                    assert_eq!(queues.pop_from(first).map(|item| item.0), deques[first].pop_front());
                }
            }
            for queues in [&queues, &queues.clone()] {
                let held = |queue: usize| queues.iter(queue).map(|item| item.0);
                assert!((0..3).all(|queue| held(queue).eq(deques[queue].iter().copied())));
            }
        }
        assert!(cfg!(miri) || deques[2].len() > 16, "the longest queue grew to {}", deques[2].len());
    }
}
