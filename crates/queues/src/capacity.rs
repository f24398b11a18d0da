//! How much fits: capacities in packets or bytes, and the account of what is used.

use crate::branchless::mask;
use core::fmt;
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
/// As large as a cache line, and what a queue that stands alone uses of it comes first: it has its places beside it.
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
    /// While it holds fewer packets, another one fits and has a place. 0 if bytes are counted.
    open: u32,
    /// While it holds fewer packets, only their number says whether another one fits, and that has a place. 0 if bytes are
    /// counted.
    settled: u32,
    /// Where the packets are, if they wait in places: their number, a power of two, less one, and the first of them.
    places_mask: u32,
    unit: Unit,
    first_place: u32,
    /// The bit of its queue among others.
    bit: u64,
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
        let (open, settled) = match capacity {
            Capacity::Packets(limit) => (limit, u32::MAX),
            Capacity::Bytes(_) => (0, 0),
            Capacity::Unlimited => (u32::MAX, u32::MAX),
        };
        Self {
            taken_bytes: 0,
            released_bytes: 0,
            limit,
            taken_packets: 0,
            released_packets: 0,
            open,
            settled,
            places_mask: 0,
            unit,
            first_place: 0,
            bit: 0,
        }
    }

    /// Whether a packet of `size` bytes fits now.
    #[inline(always)]
    pub const fn fits(&self, size: u32) -> bool {
        self.is_open() || self.fits_by_unit(size)
    }

    /// Whether another packet fits, whatever its size, and has a place. It may fit even if not.
    #[inline(always)]
    pub(crate) const fn is_open(&self) -> bool {
        self.held_packets() < self.open
    }

    /// Whether the number of packets alone says whether another one fits, and that has a place.
    #[inline(always)]
    pub(crate) const fn is_settled(&self) -> bool {
        self.held_packets() < self.settled
    }

    /// Whether another packet fits, if bytes are not counted. No branch depends on it.
    #[inline(always)]
    pub(crate) const fn takes_one_more(&self) -> bool {
        (self.held_packets() as u64) < self.limit
    }

    /// [`fits`](Self::fits), without a branch that depends on what is held.
    #[inline(always)]
    pub(crate) const fn fits_by_unit(&self, size: u32) -> bool {
        // One unit is asked about, the other never: a branch that is always foreseen.
        if self.counts_bytes() { self.held_bytes() + size as u64 <= self.limit } else { self.takes_one_more() }
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
        let mask = mask(stored);
        self.taken_packets = self.taken_packets.wrapping_sub(mask as u32);
        self.taken_bytes = self.taken_bytes.wrapping_add(u64::from(size) & mask);
    }

    /// The account after all that it holds has left.
    pub(crate) const fn emptied(&self) -> Self {
        Self { released_bytes: self.taken_bytes, released_packets: self.taken_packets, ..*self }
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

    /// Whether there is a place for each packet that fits.
    #[inline(always)]
    pub(crate) const fn has_all_places(&self) -> bool {
        self.limit <= self.places_mask as u64
    }

    /// The number of places of this queue less one.
    #[inline(always)]
    pub(crate) const fn places_mask(&self) -> u32 {
        self.places_mask
    }

    /// The first of the places of this queue.
    #[inline(always)]
    pub(crate) const fn first_place(&self) -> u32 {
        self.first_place
    }

    /// The packets are in as many `places`, a power of two, from `first` on.
    pub(crate) fn set_places(&mut self, first: usize, places: usize) {
        debug_assert!(places.is_power_of_two());
        let number = |place: usize| u32::try_from(place).expect("less than 2^32 packets wait");
        // The last one's number fits, too.
        number(first + places);
        (self.first_place, self.places_mask) = (number(first), number(places - 1));
        if !self.counts_bytes() {
            self.settled = number(places);
            self.open = u32::try_from(self.limit).unwrap_or(u32::MAX).min(self.settled);
        }
    }

    /// Whether there is a place for each packet that `other` holds.
    pub(crate) const fn has_places_for(&self, other: &Self) -> bool {
        other.packets() <= self.places_mask as usize + 1
    }

    /// A copy of the account whose packets are in the places of `other`.
    pub(crate) fn at_places_of(&self, other: &Self) -> Self {
        let mut room = self.clone();
        room.set_places(other.first_place as usize, other.places_mask as usize + 1);
        room
    }

    /// The bit of its queue among others, as it was last set; 0 at first.
    #[inline(always)]
    pub(crate) const fn bit(&self) -> u64 {
        self.bit
    }

    /// Sets the bit of its queue.
    pub(crate) const fn set_bit(&mut self, bit: u64) {
        self.bit = bit;
    }

    #[inline(always)]
    const fn held_packets(&self) -> u32 {
        self.taken_packets.wrapping_sub(self.released_packets)
    }

    #[inline(always)]
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

    /// Packets and bytes held.
    #[inline]
    pub const fn held(&self) -> Held {
        Held { packets: self.packets(), bytes: self.bytes() }
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

/// What a scheduler or one of its queues holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Packets.
    pub packets: usize,
    /// Their bytes.
    pub bytes: Bytes,
}

impl Held {
    /// `held` if `queue` is the whole or the only queue, else nothing.
    pub fn in_one_queue(queue: Option<usize>, held: impl FnOnce() -> Self) -> Self {
        if queue.unwrap_or(0) == 0 { held() } else { Self::default() }
    }
}

impl core::ops::Add for Held {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: Bytes(self.bytes.0 + other.bytes.0) }
    }
}

impl core::iter::Sum for Held {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), core::ops::Add::add)
    }
}
