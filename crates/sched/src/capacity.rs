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
/// One cache line: a row of accounts is walked by shifts, and each comes with one miss.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Room {
    /// What came and what went are counted apart: `take` then never waits for what `release` has just written.
    taken: Account,
    released: Account,
    /// The capacity as two limits, of which one holds; the other is out of reach.
    packet_limit: u64,
    byte_limit: u64,
}

/// The packet limit that marks a capacity in bytes.
const BYTES_COUNT: u64 = u64::MAX;
/// The packet limit that marks no bound.
const NOTHING_COUNTS: u64 = u64::MAX - 1;

#[derive(Clone, Copy, Debug, Default)]
struct Account {
    packets: u64,
    bytes: u64,
}

impl Room {
    /// An empty buffer.
    pub const fn new(capacity: Capacity) -> Self {
        let (packet_limit, byte_limit) = match capacity {
            Capacity::Packets(limit) => (limit as u64, u64::MAX),
            Capacity::Bytes(limit) => (BYTES_COUNT, limit),
            Capacity::Unlimited => (NOTHING_COUNTS, u64::MAX),
        };
        let nothing = Account { packets: 0, bytes: 0 };
        Self { taken: nothing, released: nothing, packet_limit, byte_limit }
    }

    /// Whether a packet of `size` bytes fits now.
    #[inline(always)]
    pub const fn fits(&self, size: u32) -> bool {
        // One unit is asked about, the other never: a branch that is always foreseen.
        if self.counts_bytes() {
            self.held_bytes() + size as u64 <= self.byte_limit
        } else {
            self.held_packets() < self.packet_limit
        }
    }

    /// Books a packet of `size` bytes.
    #[inline(always)]
    pub fn take(&mut self, size: u32) {
        debug_assert!(self.fits(size), "a packet was stored beyond the capacity");
        self.taken.packets = self.taken.packets.wrapping_add(1);
        self.taken.bytes = self.taken.bytes.wrapping_add(u64::from(size));
    }

    /// Books a packet of `size` bytes if `stored`, without a branch: whether it is stored may be anybody's guess.
    #[inline(always)]
    pub(crate) fn take_if(&mut self, stored: bool, size: u32) {
        debug_assert!(!stored || self.fits(size), "a packet was stored beyond the capacity");
        self.taken.packets = self.taken.packets.wrapping_add(u64::from(stored));
        self.taken.bytes = self.taken.bytes.wrapping_add(select_unpredictable(stored, u64::from(size), 0));
    }

    /// Gives back what a packet of `size` bytes had booked.
    #[inline(always)]
    pub fn release(&mut self, size: u32) {
        debug_assert!(self.held_packets() > 0 && self.held_bytes() >= u64::from(size), "a packet left twice");
        self.released.packets = self.released.packets.wrapping_add(1);
        self.released.bytes = self.released.bytes.wrapping_add(u64::from(size));
    }

    /// The capacity.
    #[inline]
    pub const fn capacity(&self) -> Capacity {
        match self.packet_limit {
            BYTES_COUNT => Capacity::Bytes(self.byte_limit),
            NOTHING_COUNTS => Capacity::Unlimited,
            packets => Capacity::Packets(packets as u32),
        }
    }

    /// Packets that ever came; their running numbers end below this. Wraps.
    #[inline]
    pub(crate) const fn taken_packets(&self) -> u64 {
        self.taken.packets
    }

    /// Packets that ever went: where packets leave in order of arrival, the running number of the next. Wraps.
    #[inline]
    pub(crate) const fn released_packets(&self) -> u64 {
        self.released.packets
    }

    #[inline]
    const fn held_packets(&self) -> u64 {
        self.taken.packets.wrapping_sub(self.released.packets)
    }

    #[inline]
    const fn held_bytes(&self) -> u64 {
        self.taken.bytes.wrapping_sub(self.released.bytes)
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
        if self.counts_bytes() { self.held_bytes() } else { self.held_packets() }
    }

    /// The whole capacity, in its unit; `u64::MAX` if unlimited.
    #[inline]
    pub const fn total(&self) -> u64 {
        // Of the two limits one is out of reach; without a bound the bytes' is `u64::MAX`.
        if self.packet_limit < NOTHING_COUNTS { self.packet_limit } else { self.byte_limit }
    }

    /// Whether the unit of the capacity is the byte.
    #[inline]
    pub const fn counts_bytes(&self) -> bool {
        self.packet_limit == BYTES_COUNT
    }

    /// What a packet of `size` bytes takes, in the unit of the capacity.
    #[inline]
    pub const fn cost(&self, size: u32) -> u64 {
        if self.counts_bytes() { size as u64 } else { 1 }
    }
}
