//! How much fits: capacities in packets or bytes, and the account of what is used.

use core::fmt;
use core::hint::select_unpredictable;
use pifolab_units::Bytes;

/// The most that a queue or a buffer can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capacity {
    /// At most this many packets, whatever their size.
    Packets(u32),
    /// At most this many bytes: a packet fits if backlog + its size stays within.
    Bytes(u64),
    /// No bound.
    Unlimited,
}

impl fmt::Display for Capacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::Bytes(bytes) => write!(f, "{bytes} B"),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// The account of one buffer: its capacity and what is used of it.
///
/// Schedulers do their admission arithmetic in the *unit* of the capacity (packets or bytes): [`Room::used`],
/// [`Room::total`] and [`Room::cost`] speak that unit.
///
/// As large as a cache line, and what is used of it comes first: a queue that stands alone has its places beside it.
#[derive(Clone, Debug)]
#[repr(C, align(8))]
pub struct Room {
    /// What came and what went are counted apart: `take` then never waits for what `release` has just written. All
    /// counts wrap; at most 2^31 packets wait in one queue, so that their differences do not.
    taken_bytes: u64,
    released_bytes: u64,
    /// The capacity, in its unit; the largest number if there is none.
    limit: u64,
    taken_packets: u32,
    released_packets: u32,
    unit: Unit,
    /// Where the packets are, if they wait among those of other queues: the first of the places and, since those are a power of
    /// two, their number less one. Beside the counts they come with one cache miss.
    first_place: u32,
    places_mask: u32,
    /// As large as a cache line: a row of accounts is walked by shifts.
    to_line: [u64; 2],
}

const _: () = assert!(size_of::<Room>() == 64);

/// What a capacity counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Packets,
    Bytes,
    Nothing,
}

impl Room {
    /// An empty buffer.
    pub const fn new(capacity: Capacity) -> Self {
        let (unit, limit) = match capacity {
            Capacity::Packets(limit) => (Unit::Packets, limit as u64),
            Capacity::Bytes(limit) => (Unit::Bytes, limit),
            Capacity::Unlimited => (Unit::Nothing, u64::MAX),
        };
        Self {
            taken_bytes: 0,
            released_bytes: 0,
            limit,
            taken_packets: 0,
            released_packets: 0,
            unit,
            first_place: 0,
            places_mask: 0,
            to_line: [0; 2],
        }
    }

    /// Whether a packet of `size` bytes fits now.
    #[inline(always)]
    pub const fn fits(&self, size: u32) -> bool {
        // One unit is asked about, the other never: a branch that is always foreseen.
        if self.counts_bytes() {
            self.held_bytes() + size as u64 <= self.limit
        } else {
            (self.held_packets() as u64) < self.limit
        }
    }

    /// Books a packet of `size` bytes.
    #[inline(always)]
    pub fn take(&mut self, size: u32) {
        debug_assert!(self.fits(size), "a packet was stored beyond the capacity");
        self.taken_packets = self.taken_packets.wrapping_add(1);
        self.taken_bytes = self.taken_bytes.wrapping_add(u64::from(size));
    }

    /// Books a packet of `size` bytes if `stored`, without a branch: whether it is stored cannot be predicted.
    #[inline(always)]
    pub(crate) fn take_if(&mut self, stored: bool, size: u32) {
        debug_assert!(!stored || self.fits(size), "a packet was stored beyond the capacity");
        self.taken_packets = self.taken_packets.wrapping_add(u32::from(stored));
        self.taken_bytes = self.taken_bytes.wrapping_add(select_unpredictable(stored, u64::from(size), 0));
    }

    /// Gives back what a packet of `size` bytes had booked.
    #[inline(always)]
    pub fn release(&mut self, size: u32) {
        debug_assert!(self.held_packets() > 0 && self.held_bytes() >= u64::from(size), "a packet left twice");
        self.released_packets = self.released_packets.wrapping_add(1);
        self.released_bytes = self.released_bytes.wrapping_add(u64::from(size));
    }

    /// The capacity.
    #[inline]
    pub const fn capacity(&self) -> Capacity {
        match self.unit {
            Unit::Packets => Capacity::Packets(self.limit as u32),
            Unit::Bytes => Capacity::Bytes(self.limit),
            Unit::Nothing => Capacity::Unlimited,
        }
    }

    /// Packets that ever came; their running numbers end below this. Wraps.
    #[inline]
    pub(crate) const fn taken_packets(&self) -> u32 {
        self.taken_packets
    }

    /// Packets that ever went: where packets leave in order of arrival, the running number of the next. Wraps.
    #[inline]
    pub(crate) const fn released_packets(&self) -> u32 {
        self.released_packets
    }

    /// The first of the places of this queue, and their number less one.
    #[inline(always)]
    pub(crate) const fn places(&self) -> (usize, u32) {
        (self.first_place as usize, self.places_mask)
    }

    /// The packets are in as many `places`, a power of two, from `first` on.
    pub(crate) fn set_places(&mut self, first: usize, places: usize) {
        debug_assert!(places.is_power_of_two());
        self.first_place = u32::try_from(first).expect("less than 2^32 packets wait");
        self.places_mask = u32::try_from(places - 1).expect("less than 2^32 packets wait");
    }

    #[inline]
    const fn held_packets(&self) -> u32 {
        self.taken_packets.wrapping_sub(self.released_packets)
    }

    #[inline]
    const fn held_bytes(&self) -> u64 {
        self.taken_bytes.wrapping_sub(self.released_bytes)
    }

    /// Packets held.
    #[inline]
    pub const fn packets(&self) -> usize {
        self.held_packets() as usize
    }

    /// Bytes held.
    #[inline]
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.held_bytes())
    }

    /// What is used, in the unit of the capacity (packets if unlimited).
    #[inline]
    pub const fn used(&self) -> u64 {
        if self.counts_bytes() { self.held_bytes() } else { self.held_packets() as u64 }
    }

    /// The whole capacity, in its unit; `u64::MAX` if unlimited.
    #[inline]
    pub const fn total(&self) -> u64 {
        self.limit
    }

    /// Whether the unit of the capacity is the byte.
    #[inline]
    pub const fn counts_bytes(&self) -> bool {
        matches!(self.unit, Unit::Bytes)
    }

    /// What a packet of `size` bytes takes, in the unit of the capacity.
    #[inline]
    pub const fn cost(&self, size: u32) -> u64 {
        if self.counts_bytes() { size as u64 } else { 1 }
    }
}
