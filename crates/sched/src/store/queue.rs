//! One first-in first-out queue of packets with its account.

use crate::{Capacity, Packet, Room};
use alloc::boxed::Box;
use core::mem::MaybeUninit;
use pifolab_units::Bytes;

/// Places are allocated up front up to this many packets; larger queues grow once.
const PREALLOCATED_PACKETS: u32 = 1024;

/// A first-in first-out queue of packets within a capacity: a ring that grows to its working size once and then
/// allocates no more.
///
/// The account numbers the packets: those that came and those that went are counted apart, and a packet's place follows
/// from its number. Nothing is counted twice, and neither end waits for what the other has just written.
///
/// One cache line: an array of queues is walked by shifts, and a queue's whole state comes with one miss.
#[derive(Debug)]
#[repr(align(64))]
pub struct Queue {
    /// A power of two of places, or none.
    places: Box<[MaybeUninit<Packet>]>,
    room: Room,
}

const _: () = assert!(size_of::<Queue>() == 64);

impl Queue {
    /// An empty queue.
    pub fn new(capacity: Capacity) -> Self {
        let places = match capacity {
            // One more than it holds, so that a refused packet finds a place to be written to, too.
            Capacity::Packets(packets) => (packets + 1).min(PREALLOCATED_PACKETS).next_power_of_two(),
            Capacity::Bytes(_) | Capacity::Unlimited => 0,
        };
        Self { places: uninit(places as usize), room: Room::new(capacity) }
    }

    /// The account.
    #[inline(always)]
    pub const fn room(&self) -> &Room {
        &self.room
    }

    /// Puts a packet at the end if it fits; otherwise gives it back. O(1), amortised where the ring grows.
    ///
    /// # Errors
    /// The packet, if there is no room for it.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet) -> Result<(), Packet> {
        if !self.room.fits(packet.size) {
            return Err(packet);
        }
        let size = packet.size;
        self.next_place().write(packet);
        self.room.take(size);
        Ok(())
    }

    /// Puts a packet at the end if it is `wanted` and fits; otherwise gives it back. As [`push`](Self::push), for
    /// admissions that nothing could foresee.
    ///
    /// # Errors
    /// The packet, if it is not wanted or there is no room for it.
    #[inline(always)]
    pub fn push_if(&mut self, wanted: bool, packet: Packet) -> Result<(), Packet> {
        if self.store_if(wanted, &packet) { Ok(()) } else { Err(packet) }
    }

    /// Stores a packet if it is `wanted` and fits, and says whether it was: the caller gives up its own or keeps it. No
    /// branch depends on the answer, since the packet is written in any case and only then counts or does not.
    #[inline(always)]
    pub(super) fn store_if(&mut self, wanted: bool, packet: &Packet) -> bool {
        let Packet { id, flow, size, rank, arrival } = *packet;
        let stored = wanted & self.room.fits(size);
        self.next_place().write(Packet { id, flow, size, rank, arrival });
        self.room.take_if(stored, size);
        stored
    }

    /// Counts a packet that the caller keeps, if it is `wanted` and fits, and says whether it did.
    #[inline(always)]
    pub fn book_if(&mut self, wanted: bool, size: u32) -> bool {
        let booked = wanted & self.room.fits(size);
        self.room.take_if(booked, size);
        booked
    }

    /// Counts a packet out that was booked.
    #[inline(always)]
    pub fn release(&mut self, size: u32) {
        self.room.release(size);
    }

    /// The place behind the last packet.
    #[inline(always)]
    fn next_place(&mut self) -> &mut MaybeUninit<Packet> {
        if self.len() == self.places.len() {
            self.grow();
        }
        let at = self.place(self.room.taken_packets());
        // SAFETY: there is a place, and the mask keeps `at` among them.
        unsafe { self.places.get_unchecked_mut(at) }
    }

    /// The packet that has waited longest. O(1).
    #[inline(always)]
    pub fn front(&self) -> Option<&Packet> {
        if self.is_empty() {
            return None;
        }
        let at = self.place(self.room.released_packets());
        // SAFETY: the mask keeps `at` among the places; from the first packet that has not been released to the last that
        // was taken all are initialised.
        Some(unsafe { self.places.get_unchecked(at).assume_init_ref() })
    }

    /// Takes the packet that has waited longest. O(1).
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Packet> {
        // The size is read in place: read from the packet, it would cut the move into pieces that overlap and stall.
        let size = self.front()?.size;
        let at = self.place(self.room.released_packets());
        self.room.release(size);
        // SAFETY: as in `front`; released, it is no longer among those that are initialised.
        Some(unsafe { self.places.get_unchecked(at).assume_init_read() })
    }

    /// The place of the packet with this running number.
    #[inline(always)]
    const fn place(&self, number: u64) -> usize {
        number as usize & self.places.len().wrapping_sub(1)
    }

    /// Moves to twice as many places. Packets keep their numbers.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut places = uninit((2 * self.places.len()).max(4));
        for age in 0..self.len() as u64 {
            let number = self.room.released_packets().wrapping_add(age);
            let to = number as usize & (places.len() - 1);
            core::mem::swap(&mut places[to], &mut self.places[self.place(number)]);
        }
        self.places = places;
    }

    /// Packets held.
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

    /// The most that it holds.
    pub const fn capacity(&self) -> Capacity {
        self.room.capacity()
    }
}

fn uninit(places: usize) -> Box<[MaybeUninit<Packet>]> {
    core::iter::repeat_with(MaybeUninit::uninit).take(places).collect()
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
                // Slowly rising, with many wraps on the way.
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
