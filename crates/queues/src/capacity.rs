//! Capacities in packets or bytes, and accounts of their use.

use crate::branchless::mask;
use core::fmt;
use pifolab_units::Bytes;

/// The most that a queue or a buffer can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capacity {
    /// At most this many packets, whatever their size.
    Packets(u32),
    /// At most this many bytes: a packet fits if the backlog plus its size is at most that.
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

/// The account of one buffer: its capacity and how much of it is used.
///
/// Schedulers compute admission in the *unit* of the capacity (packets or bytes), the unit of [`Room::used`],
/// [`Room::total`] and [`Room::cost`].
///
/// One cache line. The fields that a single queue uses come first, since its pointer to the places shares the line.
#[derive(Clone, Debug)]
#[repr(C, align(8))]
pub struct Room {
    /// Arrivals and departures are counted separately, so that `take` never waits for a value that `release` has just
    /// written. All counts wrap; their differences do not, since at most 2^31 packets wait in one queue.
    taken_bytes: u64,
    released_bytes: u64,
    /// The capacity, in its unit; the largest number if there is none.
    limit: u64,
    taken_packets: u32,
    released_packets: u32,
    /// With fewer packets than this, another one fits and has a place. 0 if bytes are counted.
    open: u32,
    /// With fewer packets than this, the comparison with `open` decides whether another one fits, and there is a place
    /// for it. 0 if bytes are counted.
    settled: u32,
    /// If the packets are stored in places: the number of places, a power of two, less one; `first_place` is the first
    /// of them.
    places_mask: u32,
    unit: Unit,
    first_place: u32,
    /// The bit of its queue in the mask of all queues.
    bit: u64,
}

const _: () = assert!(size_of::<Room>() == 64);

/// The unit of a capacity.
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

    /// Whether another packet of any size surely fits and has a place. If false it may still fit.
    #[inline(always)]
    pub(crate) const fn is_open(&self) -> bool {
        self.held_packets() < self.open
    }

    /// The number of packets of any size that surely fit and have a place. More may fit.
    #[inline(always)]
    pub(crate) const fn open_places(&self) -> u32 {
        self.open.saturating_sub(self.held_packets())
    }

    /// Whether [`is_open`](Self::is_open) is exact, with a place for another packet if it fits.
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
        // The unit of a queue never changes, so this branch is always predicted.
        if self.counts_bytes() { self.held_bytes() + size as u64 <= self.limit } else { self.takes_one_more() }
    }

    /// Books a packet of `size` bytes.
    #[inline(always)]
    pub fn take(&mut self, size: u32) {
        debug_assert!(self.fits(size), "a packet was stored beyond the capacity");
        self.taken_packets = self.taken_packets.wrapping_add(1);
        self.taken_bytes = self.taken_bytes.wrapping_add(u64::from(size));
    }

    /// Books `packets` packets of `bytes` bytes together, which surely fit.
    #[inline(always)]
    pub(crate) fn take_run(&mut self, packets: u32, bytes: u64) {
        debug_assert!(packets <= self.open_places(), "packets were stored beyond the capacity");
        self.taken_packets = self.taken_packets.wrapping_add(packets);
        self.taken_bytes = self.taken_bytes.wrapping_add(bytes);
    }

    /// Books a packet of `size` bytes if `stored`, without a branch: whether it is stored cannot be predicted.
    #[inline(always)]
    pub(crate) fn take_if(&mut self, stored: bool, size: u32) {
        debug_assert!(!stored || self.fits(size), "a packet was stored beyond the capacity");
        let mask = mask(stored);
        self.taken_packets = self.taken_packets.wrapping_sub(mask as u32);
        self.taken_bytes = self.taken_bytes.wrapping_add(u64::from(size) & mask);
    }

    /// The account after all packets have left.
    pub(crate) const fn emptied(&self) -> Self {
        Self { released_bytes: self.taken_bytes, released_packets: self.taken_packets, ..*self }
    }

    /// Books the departure of a packet of `size` bytes.
    #[inline(always)]
    pub fn release(&mut self, size: u32) {
        debug_assert!(self.held_packets() > 0 && self.held_bytes() >= u64::from(size), "a packet left twice");
        self.released_packets = self.released_packets.wrapping_add(1);
        self.released_bytes = self.released_bytes.wrapping_add(u64::from(size));
    }

    /// Books the departure of `packets` packets of `bytes` bytes together.
    #[inline(always)]
    pub(crate) fn release_run(&mut self, packets: u32, bytes: u64) {
        debug_assert!(self.held_packets() >= packets && self.held_bytes() >= bytes, "a packet left twice");
        self.released_packets = self.released_packets.wrapping_add(packets);
        self.released_bytes = self.released_bytes.wrapping_add(bytes);
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

    /// The number of arrivals so far; running numbers of packets are below it. Wraps.
    #[inline]
    pub(crate) const fn taken_packets(&self) -> u32 {
        self.taken_packets
    }

    /// The number of departures so far; if packets leave in order of arrival, the running number of the next one.
    /// Wraps.
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

    /// Sets the places of the packets: `places` of them, a power of two, from `first` on.
    pub(crate) fn set_places(&mut self, first: usize, places: usize) {
        debug_assert!(places.is_power_of_two());
        let number = |place: usize| u32::try_from(place).expect("less than 2^32 packets wait");
        // Checks that the number of the last place fits, too.
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

    /// The bit of its queue in the mask of all queues; 0 until it is set.
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

    /// The used part of the capacity, in its unit (packets if unlimited).
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

    /// The cost of a packet of `size` bytes, in the unit of the capacity.
    #[inline]
    pub const fn cost(&self, size: u32) -> u64 {
        if self.counts_bytes() { size as u64 } else { 1 }
    }
}

/// The contents of a scheduler or of one of its queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// The number of packets.
    pub packets: usize,
    /// Their bytes.
    pub bytes: Bytes,
}

impl Held {
    /// `held` if `queue` is `None` or the only queue, else nothing.
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
