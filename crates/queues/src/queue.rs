//! One first-in first-out queue with its account.

use crate::ring::Ring;
use crate::{Capacity, Item, Packet, QueueKind, Queues, Room};
use core::slice;
use pifolab_units::Bytes;

/// A first-in first-out queue of items within a capacity: a ring that grows to its working size once and then allocates
/// no more.
///
/// The account numbers the items: it counts arrivals and departures separately, and the place of an item follows from
/// its number. So neither end has to wait for a value that the other has just written. The pointer to the places and
/// the used part of the account fit in 64 bytes.
#[derive(Debug)]
#[repr(C)]
pub struct Queue<T = Packet> {
    ring: Ring<T>,
    room: Room,
}

impl<T: Clone> Clone for Queue<T> {
    fn clone(&self) -> Self {
        let mut new = Self { ring: self.ring.vacated(), room: self.room.emptied() };
        new.clone_from(self);
        new
    }

    /// Keeps its places and allocates nothing if they are enough for the items of `source`.
    fn clone_from(&mut self, source: &Self) {
        if !self.room.has_places_for(&source.room) {
            *self = source.clone();
            return;
        }
        // The account counts the items only once all are copied, since the clone of one may panic.
        let room = source.room.at_places_of(&self.room);
        self.room = room.emptied();
        // SAFETY: the places of `source` were made for its account.
        unsafe { self.ring.copy(&room, &source.ring, &source.room) };
        self.room = room;
    }
}

impl<T: Item> Queue<T> {
    /// An empty queue.
    pub fn new(capacity: Capacity) -> Self {
        let mut room = Room::new(capacity);
        Self { ring: Ring::new(core::iter::once(&mut room)), room }
    }

    /// The account.
    #[inline(always)]
    pub const fn room(&self) -> &Room {
        &self.room
    }

    /// Appends an item if it fits, otherwise returns it. O(1), amortised when the ring grows.
    ///
    /// # Errors
    /// The item, if there is no room for it.
    #[inline(always)]
    pub fn push(&mut self, item: T) -> Result<(), T> {
        if !self.room.fits(item.size()) {
            return Err(item);
        }
        self.push_fitting(0, item);
        Ok(())
    }

    /// The item that has waited longest. O(1).
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        // SAFETY: the places were made for this account.
        unsafe { self.ring.front(&self.room) }
    }

    /// Takes the item that has waited longest. O(1).
    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        // SAFETY: the places were made for this account.
        unsafe { self.ring.pop(&mut self.room) }
    }

    /// The items, longest waiting first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        // SAFETY: the places were made for this account.
        unsafe { self.ring.iter(&self.room) }
    }

    /// Items held.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.room.packets()
    }

    /// Whether it holds nothing.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.room.packets() == 0
    }

    /// Bytes held.
    #[inline(always)]
    pub const fn bytes(&self) -> Bytes {
        self.room.bytes()
    }

    /// Its capacity.
    pub const fn capacity(&self) -> Capacity {
        self.room.capacity()
    }
}

impl<U> QueueKind for Queue<U> {
    type Of<T: Item> = Queue<T>;
}

impl<T: Item> Queues<T> for Queue<T> {
    fn with_capacities(capacities: &[Capacity]) -> Self {
        Self::new(capacities.first().copied().unwrap_or(Capacity::Packets(0)))
    }

    #[inline(always)]
    fn rooms(&self) -> &[Room] {
        slice::from_ref(&self.room)
    }

    #[inline(always)]
    fn push_if(&mut self, wanted: bool, _queue: usize, item: T) -> Result<(), T> {
        // SAFETY: the places were made for this account, and a stored item is forgotten below.
        let stored = unsafe { self.ring.put_if(wanted, &mut self.room, &item) };
        if stored {
            core::mem::forget(item);
            Ok(())
        } else {
            Err(item)
        }
    }

    #[inline(always)]
    fn push_fitting(&mut self, _queue: usize, item: T) {
        // SAFETY: the places were made for this account.
        unsafe { self.ring.put(&mut self.room, item) };
    }

    #[inline(always)]
    fn pass(&mut self, _queue: usize, size: u32, look: impl FnOnce(&[Room])) -> bool {
        let fits = self.room.fits(size);
        if fits {
            // With a single queue no decision depends on the account, so the packet is not booked in it.
            look(self.rooms());
        }
        fits
    }

    #[inline(always)]
    fn first(&self) -> Option<usize> {
        if self.is_empty() { None } else { Some(0) }
    }

    #[inline(always)]
    fn pop_from(&mut self, _queue: usize) -> Option<T> {
        self.pop()
    }

    fn iter<'a>(&'a self, queue: usize) -> impl Iterator<Item = &'a T>
    where
        T: 'a,
    {
        Self::iter(self).filter(move |_| queue == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use pifolab_units::{Rank, Time};

    fn packet(id: u64, size: u32) -> Packet {
        Packet { id, flow: 0, size, rank: Rank::ZERO, arrival: Time::ZERO }
    }

    #[test]
    fn agrees_with_a_deque_while_it_wraps_and_grows() {
        for capacity in [Capacity::Packets(1), Capacity::Packets(5), Capacity::Bytes(300), Capacity::Unlimited] {
            let (mut queue, mut deque) = (Queue::new(capacity), VecDeque::new());
            for step in 0..1000u64 {
                // The length rises slowly and wraps many times.
                if step % 7 < 4 {
                    let size = 1 + step as u32 % 9;
                    let held: u32 = deque.iter().map(|(_, size)| size).sum();
                    let fits = match capacity {
                        Capacity::Packets(limit) => deque.len() < limit as usize,
                        Capacity::Bytes(limit) => u64::from(held + size) <= limit,
                        Capacity::Unlimited => true,
                    };
                    let answer = queue.push(packet(step, size));
                    assert_eq!(answer, if fits { Ok(()) } else { Err(packet(step, size)) });
                    if fits {
                        deque.push_back((step, size));
                    }
                } else {
                    let front = queue.front().map(|packet| (packet.id, packet.size));
                    assert_eq!(front, deque.front().copied());
                    assert_eq!(queue.pop(), deque.pop_front().map(|(id, size)| packet(id, size)));
                }
                assert_eq!((queue.len(), queue.is_empty()), (deque.len(), deque.is_empty()));
                assert_eq!(queue.bytes().0, deque.iter().map(|(_, size)| u64::from(*size)).sum::<u64>());
            }
            let left = core::iter::from_fn(|| queue.pop()).map(|packet| (packet.id, packet.size));
            assert!(left.eq(deque));
        }
    }
}
