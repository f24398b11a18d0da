//! The Rust interface of the burst loop in C (`node.c`).

use pifolab_c::{pifolab_lost, pifolab_packet, pifolab_reader, pifolab_scheduler};
use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::atomic::AtomicBool;

/// Packets of one call, as in node.c.
const BURST: usize = 32;
/// The longest name of a device.
const NAME: usize = 64;

/// Frames and their bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Frames.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The outcomes of all frames.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Taken from the device.
    pub received: Tally,
    /// Accepted by the device.
    pub sent: Tally,
    /// Accepted by the scheduler.
    pub admitted: Tally,
    /// Refused or pushed out, by `pifolab_reason`.
    pub dropped: [Tally; 5],
    /// Accepted, then dropped at dequeue.
    pub dropped_at_dequeue: Tally,
    /// Accepted, then dropped for lack of room when parameters changed.
    pub lost_at_change: Tally,
    /// Held when the node ended.
    pub held_at_end: Tally,
    /// IP frames that carry no rank.
    pub unranked: u64,
    /// Frames of ARP and neighbour discovery.
    pub neighbour: u64,
    /// Other frames that are not IP.
    pub not_ip: u64,
    /// The number of times that the device did not take all frames.
    pub device_full: u64,
}

impl Counters {
    /// Whether every frame is accounted for, when `held` frames are in the scheduler and on their way to the device.
    pub fn balance(&self, held: u64) -> bool {
        let dropped: u64 = self.dropped.iter().map(|tally| tally.packets).sum();
        let gone = self.sent.packets + dropped + self.dropped_at_dequeue.packets + self.lost_at_change.packets;
        self.received.packets == gone + held
    }
}

/// An mbuf, or a pool of them.
#[repr(C)]
pub struct Opaque {
    _bytes: [u8; 0],
}

/// `struct node` of node.c.
#[repr(C)]
pub struct Node {
    /// From [`pifolab_scheduler::of`].
    pub scheduler: *mut pifolab_scheduler,
    /// From [`pifolab_reader::of`].
    pub reader: *mut pifolab_reader,
    /// The port of DPDK that frames come from.
    pub input: u16,
    /// The port that they leave by.
    pub output: u16,
    /// Whether times are those of the capture.
    pub by_capture: bool,
    /// Bits per second; 0: as fast as the device takes frames.
    pub rate: u64,
    /// Bytes that each frame takes on the link beyond its own.
    pub overhead: u64,
    /// Frames to receive.
    pub most: u64,
    /// Ends the loop.
    pub stop: *const AtomicBool,
    /// The counters so far.
    pub counters: Counters,
    now: u64,
    free_at: u64,
    pub(crate) not_before: u64,
    origin: u64,
    /// The offset of the time stamp in an mbuf.
    pub stamp: c_int,
    /// Frames that left the scheduler and wait for the device.
    pub staged: u32,
    waiting: [*mut Opaque; BURST],
    pub(crate) count: u32,
    pub(crate) lost_count: u32,
    pub(crate) packets: [pifolab_packet; BURST],
    pub(crate) queues: [i32; BURST],
    pub(crate) lost: [pifolab_lost; pifolab_c::PIFOLAB_BURST as usize],
}

// SAFETY: the scheduler and the reader belong to the node alone, and mbufs to no thread.
unsafe impl Send for Node {}

impl Node {
    /// A node without devices.
    pub fn new(scheduler: pifolab_scheduler, reader: pifolab_reader, stop: &'static AtomicBool) -> Box<Self> {
        assert_eq!(unsafe_size(), size_of::<Self>(), "node.c and node.rs have the same struct");
        // SAFETY: zeros are a valid node: null pointers, numbers, false, and arrays of these.
        let mut node: Box<Self> = unsafe { Box::new(std::mem::zeroed()) };
        node.scheduler = Box::into_raw(Box::new(scheduler));
        node.reader = Box::into_raw(Box::new(reader));
        node.most = u64::MAX;
        node.stop = stop;
        node
    }

    /// Its scheduler.
    pub fn scheduler(&self) -> &pifolab_scheduler {
        // SAFETY: it was made in `new`, and nothing else uses it outside of `node_*`.
        unsafe { &*self.scheduler }
    }

    /// Its scheduler, mutable.
    pub fn scheduler_mut(&mut self) -> &mut pifolab_scheduler {
        // SAFETY: as above.
        unsafe { &mut *self.scheduler }
    }

    /// Its reader.
    pub fn reader(&self) -> &pifolab_reader {
        // SAFETY: as above.
        unsafe { &*self.reader }
    }

    /// Its time in picoseconds.
    pub const fn now_ps(&self) -> u64 {
        self.now
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // SAFETY: both were made in `new`.
        unsafe {
            drop(Box::from_raw(self.scheduler));
            drop(Box::from_raw(self.reader));
        }
    }
}

fn unsafe_size() -> usize {
    // SAFETY: a constant.
    unsafe { node_size() as usize }
}

/// Why [`node_run`] returned.
pub mod state {
    use std::ffi::c_int;
    /// The time is over, or the node must stop.
    pub const GOES_ON: c_int = 0;
    /// All frames are received and none is held.
    pub const ALL_RECEIVED: c_int = 1;
    /// The memory that the device shared with its peer is gone.
    pub const IN_IS_GONE: c_int = 3;
    /// The same of the other device.
    pub const OUT_IS_GONE: c_int = 4;
}

#[expect(improper_ctypes, reason = "C has the scheduler and the reader as pointers that it does not look behind")]
unsafe extern "C" {
    fn rte_eal_init(count: c_int, arguments: *mut *mut c_char) -> c_int;
    fn node_size() -> u64;
    fn node_error() -> *const c_char;
    pub(crate) fn node_run(node: *mut Node, microseconds: u64) -> c_int;
    pub(crate) fn node_offer(node: *mut Node, frames: *const *mut Opaque, count: u32, now: u64) -> c_int;
    pub(crate) fn node_take(node: *mut Node, room: u32, now: u64) -> c_int;
    pub(crate) fn node_end(node: *mut Node);
    pub(crate) fn node_lose(node: *mut Node, index: u64);
    fn node_pool(mbufs: u32, frame_bytes: u16) -> *mut Opaque;
    pub(crate) fn node_frame(pool: *mut Opaque, bytes: *const u8, length: u32) -> *mut Opaque;
    pub(crate) fn node_bytes(frame: *const Opaque) -> *const u8;
    pub(crate) fn node_free(frame: *mut Opaque);
    fn node_port(name: *const c_char) -> c_int;
    fn node_next(port: c_int, name: *mut c_char) -> c_int;
    fn node_start(port: u16, pool: *mut Opaque) -> c_int;
    fn node_is_up(port: u16) -> c_int;
    fn node_missed(port: u16) -> u64;
    fn node_count(path: *const c_char) -> i64;
    fn node_stamp() -> c_int;
    fn node_close(port: u16);
}

fn c_text(text: &str) -> CString {
    CString::new(text).expect("an argument of a process has no zero byte")
}

/// DPDK's error of its last call.
fn said() -> String {
    // SAFETY: a text that lives as long as this thread.
    unsafe { CStr::from_ptr(node_error()) }.to_string_lossy().into_owned()
}

/// Starts DPDK with its own arguments.
///
/// # Errors
/// DPDK's error.
pub fn start_dpdk(arguments: &[String]) -> Result<(), String> {
    let mut texts: Vec<_> = arguments.iter().map(|text| c_text(text).into_raw()).collect();
    // SAFETY: DPDK may keep and reorder these texts; they live as long as the process.
    if unsafe { rte_eal_init(texts.len() as c_int, texts.as_mut_ptr()) } < 0 { Err(said()) } else { Ok(()) }
}

/// Memory for `frames` frames of `frame_bytes` bytes each; longer frames take several.
///
/// # Errors
/// DPDK's error.
pub fn pool(frames: u32, frame_bytes: u16) -> Result<*mut Opaque, String> {
    // SAFETY: DPDK is up.
    let pool = unsafe { node_pool(frames, frame_bytes) };
    if pool.is_null() { Err(said()) } else { Ok(pool) }
}

/// The names of all devices.
pub fn devices() -> Vec<String> {
    let mut port = -1;
    let mut names = Vec::new();
    loop {
        let mut name = [0; NAME];
        // SAFETY: DPDK's names have at most 64 bytes, the zero byte included.
        port = unsafe { node_next(port, name.as_mut_ptr()) };
        if port < 0 {
            return names;
        }
        // SAFETY: it ends in a zero byte.
        names.push(unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned());
    }
}

/// A device that is started.
#[derive(Debug)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its port.
    pub port: u16,
    was_up: bool,
}

impl Device {
    /// The device called `name`.
    pub fn find(name: &str) -> Option<Self> {
        // SAFETY: DPDK is up.
        let port = unsafe { node_port(c_text(name).as_ptr()) };
        u16::try_from(port).ok().map(|port| Self { name: name.to_owned(), port, was_up: false })
    }

    /// Starts it.
    ///
    /// # Errors
    /// DPDK's error.
    pub fn start(&self, pool: *mut Opaque) -> Result<(), String> {
        // SAFETY: a port and a pool of DPDK's.
        match unsafe { node_start(self.port, pool) } {
            0 => Ok(()),
            // Some drivers return -1 for everything, and print a line that says more.
            -1 => {
                Err("it does not start (the lines above are DPDK's; a memif client needs a server that is up)"
                    .to_owned())
            }
            error => Err(format!("it does not start: {}", std::io::Error::from_raw_os_error(error.abs()))),
        }
    }

    /// Whether its link was seen up.
    pub fn was_up(&self) -> bool {
        self.was_up
    }

    /// Whether its link was up and is down now, that is, the process at its other end is gone.
    pub fn has_lost_its_link(&mut self) -> bool {
        // SAFETY: a port of DPDK's.
        let up = unsafe { node_is_up(self.port) } != 0;
        let lost = self.was_up && !up;
        self.was_up |= up;
        lost
    }

    /// Frames that it had no room for.
    pub fn missed(&self) -> u64 {
        // SAFETY: a port of DPDK's.
        unsafe { node_missed(self.port) }
    }

    /// Stops it.
    pub fn close(&self) {
        // SAFETY: a port of DPDK's.
        unsafe { node_close(self.port) };
    }
}

/// The frames of a capture.
pub fn frames_in(path: &str) -> Option<u64> {
    // SAFETY: a text.
    u64::try_from(unsafe { node_count(c_text(path).as_ptr()) }).ok()
}

/// Where drivers write the times of frames, if one does.
pub fn stamp() -> Option<c_int> {
    // SAFETY: DPDK is up.
    Some(unsafe { node_stamp() }).filter(|place| *place >= 0)
}
