//! How much fits: capacities in packets or bytes, and the account of what is used.

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
#[derive(Clone, Debug)]
pub struct Room {
    capacity: Capacity,
    packets: u32,
    bytes: u64,
}

impl Room {
    /// An empty buffer.
    pub const fn new(capacity: Capacity) -> Self {
        Self { capacity, packets: 0, bytes: 0 }
    }

    /// Whether a packet of `size` bytes fits now.
    #[inline]
    pub const fn fits(&self, size: u32) -> bool {
        match self.capacity {
            Capacity::Packets(limit) => self.packets < limit,
            Capacity::Bytes(limit) => self.bytes + size as u64 <= limit,
            Capacity::Unlimited => true,
        }
    }

    /// Books a packet of `size` bytes.
    #[inline]
    pub fn take(&mut self, size: u32) {
        debug_assert!(self.fits(size), "a packet was stored beyond the capacity");
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// Gives back what a packet of `size` bytes had booked.
    #[inline]
    pub fn release(&mut self, size: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(size);
    }

    /// The capacity.
    pub const fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// Packets held.
    pub const fn packets(&self) -> usize {
        self.packets as usize
    }

    /// Bytes held.
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// What is used, in the unit of the capacity (packets if unlimited).
    #[inline]
    pub const fn used(&self) -> u64 {
        match self.capacity {
            Capacity::Bytes(_) => self.bytes,
            Capacity::Packets(_) | Capacity::Unlimited => self.packets as u64,
        }
    }

    /// The whole capacity, in its unit; `u64::MAX` if unlimited.
    #[inline]
    pub const fn total(&self) -> u64 {
        match self.capacity {
            Capacity::Packets(limit) => limit as u64,
            Capacity::Bytes(limit) => limit,
            Capacity::Unlimited => u64::MAX,
        }
    }

    /// What a packet of `size` bytes takes, in the unit of the capacity.
    #[inline]
    pub const fn cost(&self, size: u32) -> u64 {
        match self.capacity {
            Capacity::Bytes(_) => size as u64,
            Capacity::Packets(_) | Capacity::Unlimited => 1,
        }
    }
}
