//! The numbers and types of the C interface.

use std::ffi::c_char;

/// The version of the interface that this header describes; pifolab_version() is that of the library.
pub const PIFOLAB_VERSION_MAJOR: u32 = 0;
/// Its second number.
pub const PIFOLAB_VERSION_MINOR: u32 = 1;
/// Its third number.
pub const PIFOLAB_VERSION_PATCH: u32 = 0;
/// The most packets of one call.
pub const PIFOLAB_BURST: u32 = 64;
/// Flows are dense indices below this number: their state is in arrays.
pub const PIFOLAB_FLOWS: u32 = 1 << 24;
/// The largest rank, 2^63 - 1.
pub const PIFOLAB_RANK_MAX: u64 = i64::MAX as u64;
/// The latest time, in picoseconds (106 days); pifolab_rebase restarts the clock.
pub const PIFOLAB_TIME_MAX: u64 = i64::MAX as u64;

/// The status that a function returns.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum pifolab_status {
    /// Done.
    PIFOLAB_OK = 0,
    /// A pointer that must not be NULL is NULL.
    PIFOLAB_NULL_POINTER = 1,
    /// A text is not UTF-8.
    PIFOLAB_NOT_UTF8 = 2,
    /// No scheduler or rank function has this name.
    PIFOLAB_UNKNOWN_NAME = 3,
    /// A parameter is unknown, missing, out of range, or has no effect.
    PIFOLAB_BAD_PARAMETER = 4,
    /// The rank function needs facts about packets that this interface cannot pass.
    PIFOLAB_NEEDS_FACTS = 5,
    /// More packets than PIFOLAB_BURST.
    PIFOLAB_TOO_MANY = 6,
    /// A rank above PIFOLAB_RANK_MAX or a flow from PIFOLAB_FLOWS on. No packet of the call was offered.
    PIFOLAB_BAD_PACKET = 7,
    /// The time is earlier than that of the call before, or above PIFOLAB_TIME_MAX. Nothing was done.
    PIFOLAB_BAD_TIME = 8,
    /// There is no such queue.
    PIFOLAB_NO_QUEUE = 9,
    /// A defect of pifolab: a call ended in the middle. The scheduler can only be freed.
    PIFOLAB_DEFECT = 10,
    /// The scheduler holds packets, or packets that are still to be returned: dequeue them first.
    PIFOLAB_BUSY = 11,
    /// There is no parameter of this number.
    PIFOLAB_NO_PARAMETER = 12,
    /// The text names no source of ranks in frames.
    PIFOLAB_BAD_RANK = 13,
}

/// A parameter of a scheduler or a rank function. The texts stay valid until the end of the process.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct pifolab_parameter {
    /// Its key, such as "queues".
    pub name: *const c_char,
    /// Its valid values, such as "an integer from 1 to 1024 (queues)".
    pub allowed: *const c_char,
    /// Its value if it is absent, such as "default 1000".
    pub absent: *const c_char,
    /// Its description.
    pub about: *const c_char,
}
/// The descriptor of a packet. The packet itself stays with the caller.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct pifolab_packet {
    /// The caller's id for it: an index into a table, or an address. It is returned unchanged and not interpreted.
    pub index: u64,
    /// Its rank; the smaller leaves first. A rank function overwrites it.
    pub rank: u64,
    /// The flow it belongs to: a dense index from 0 on.
    pub flow: u32,
    /// Its size in bytes, in buffers and on links.
    pub size: u32,
}

/// Why a packet is returned unsent.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum pifolab_reason {
    /// The admission test refused it, although there may have been room.
    PIFOLAB_ADMISSION = 0,
    /// There was no room.
    PIFOLAB_FULL = 1,
    /// It was held, and a packet of lower rank pushed it out.
    PIFOLAB_PUSHED_OUT = 2,
    /// Its rank is outside the rank space of this scheduler.
    PIFOLAB_RANK_OUT_OF_RANGE = 3,
    /// Queue management refused it, or dropped it at dequeue.
    PIFOLAB_AQM = 4,
}

/// A packet that the scheduler dropped: it belongs to the caller again, who may drop or mark it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct pifolab_lost {
    /// The packet.
    pub packet: pifolab_packet,
    /// Why.
    pub reason: pifolab_reason,
}

/// The kind of a frame.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum pifolab_frame {
    /// IP, with a rank.
    PIFOLAB_FRAME_IP = 0,
    /// IP that carries no rank.
    PIFOLAB_FRAME_UNRANKED = 1,
    /// Address resolution or neighbour discovery.
    PIFOLAB_FRAME_NEIGHBOUR = 2,
    /// Everything else, including broken IP headers.
    PIFOLAB_FRAME_OTHER = 3,
}
