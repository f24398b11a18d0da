//! The types of `pifolab_loadable.h`, which describes the fields.

#![expect(missing_docs, reason = "the header describes the fields")]

use std::ffi::{c_char, c_void};

/// The version of the interface.
pub const VERSION: u32 = 1;

/// `kind` of a scheduler.
pub const SCHEDULER: u32 = 0;
/// `kind` of a rank function.
pub const RANK: u32 = 1;

/// `pifolab_item`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Item {
    pub id: u64,
    pub rank: u64,
    pub label: u64,
    pub arrival_ps: u64,
    pub flow_size_bytes: u64,
    pub remaining_bytes: u64,
    pub unacknowledged_bytes: u64,
    pub deadline_ps: u64,
    pub remaining_transmission_ps: u64,
    pub delay_so_far_ps: u64,
    pub flow: u32,
    pub size: u32,
}

/// `pifolab_host`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Host {
    pub context: *mut c_void,
    pub parameter: extern "C" fn(*mut c_void, *const c_char) -> *const c_char,
    pub fail: extern "C" fn(*mut c_void, *const c_char),
    pub random: extern "C" fn(*mut c_void) -> u64,
    pub set_label: extern "C" fn(*mut c_void, u64),
    pub push_out: extern "C" fn(*mut c_void, u64),
}

/// `pifolab_loadable`. Only `version` may be read before it is known to be [`VERSION`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    pub version: u32,
    pub kind: u32,
    pub reads_facts: u32,
    pub name: *const c_char,
    pub create: Option<unsafe extern "C" fn(*const Host) -> *mut c_void>,
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    pub queues: Option<unsafe extern "C" fn(*mut c_void) -> u32>,
    pub enqueue: Option<unsafe extern "C" fn(*mut c_void, *const Item, u64) -> i32>,
    pub dequeue: Option<unsafe extern "C" fn(*mut c_void, u64, *mut u64) -> i32>,
    pub rank: Option<unsafe extern "C" fn(*mut c_void, *const Item, u64) -> u64>,
    pub on_dequeue: Option<unsafe extern "C" fn(*mut c_void, *const Item, u64)>,
    pub on_drop: Option<unsafe extern "C" fn(*mut c_void, *const Item, u64)>,
}

// SAFETY: a table is constant data of a library that stays loaded; its functions are called under the rules of
// [`Library::at`](crate::Library::at).
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}
