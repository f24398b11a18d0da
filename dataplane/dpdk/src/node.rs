//! The Rust interface of the burst loop in C (`node.c`).

use pifolab_c::{pifolab_lost, pifolab_packet, pifolab_reader, pifolab_scheduler};
use pifolab_sched::InspectExt;
use std::ffi::{CStr, CString, c_char, c_int, c_uint};
use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Packets of one call, as in node.c.
const BURST: usize = 32;
/// The longest name of a device.
const NAME: usize = 64;
/// No device (DPDK has at most this many).
const NO_PORT: u16 = 32;
/// Bytes of frames that are not IP which may have the best rank at once, as in node.c, times 65536.
const MOST_CREDIT: u64 = 16_384 << 16;

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
    /// Frames of these two kinds, beyond their share.
    pub over_share: u64,
    /// The number of times that the device did not take all frames.
    pub device_full: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.received += other.received;
        self.sent += other.sent;
        self.dropped.iter_mut().zip(other.dropped).for_each(|(sum, more)| *sum += more);
        self.dropped_at_dequeue += other.dropped_at_dequeue;
        self.lost_at_change += other.lost_at_change;
        self.held_at_end += other.held_at_end;
        self.unranked += other.unranked;
        self.neighbour += other.neighbour;
        self.not_ip += other.not_ip;
        self.over_share += other.over_share;
        self.device_full += other.device_full;
    }
}

impl Counters {
    /// Accepted by the scheduler: all but the refused ones.
    pub fn admitted(&self) -> Tally {
        let [admission, full, _pushed_out, out_of_range, aqm] = self.dropped;
        let mut refused = admission;
        [full, out_of_range, aqm].into_iter().for_each(|more| refused += more);
        Tally { packets: self.received.packets - refused.packets, bytes: self.received.bytes - refused.bytes }
    }

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
    /// The queue of both.
    pub queue: u16,
    /// Whether times are those of the capture.
    pub by_capture: bool,
    /// Bits per second; 0: as fast as the device takes frames.
    pub rate: u64,
    /// Bytes that each frame takes on the link beyond its own.
    pub overhead: u64,
    /// Frames to receive.
    pub most: u64,
    /// Frames that are not IP have rank 0 for at most this share of the bytes that leave, in 65536ths; 0: always the
    /// reader's rank.
    pub share: u64,
    /// Their rank beyond it.
    pub rank_over_share: u64,
    /// Ends the loop.
    pub stop: *const AtomicBool,
    /// When the link is free.
    free_at: *const AtomicU64,
    /// The counters so far.
    pub counters: Counters,
    credit: u64,
    now: u64,
    pub(crate) not_before: u64,
    origin: u64,
    turn: u64,
    /// Why the last turn ended.
    pub state: c_int,
    error: *const c_char,
    /// The offset of the time stamp in an mbuf.
    pub stamp: c_int,
    /// Frames that left the scheduler and wait for the device.
    pub staged: u32,
    staged_bytes: u64,
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
        node.credit = MOST_CREDIT;
        node
    }

    /// Counts the held frames. Their memory is freed with the process.
    pub fn end(&mut self) {
        let (packets, bytes) = (self.held(), self.scheduler().inspect().backlog().0 + self.staged_bytes);
        self.counters.held_at_end = Tally { packets, bytes };
    }

    /// The number of frames in the scheduler and on their way to the device.
    pub fn held(&self) -> u64 {
        self.scheduler().inspect().len() as u64 + u64::from(self.staged)
    }

    /// Frees the frame of a packet that no scheduler holds, since its parameters changed.
    ///
    /// # Safety
    /// `frame` is an mbuf that nobody else has.
    pub unsafe fn lose(&mut self, frame: u64, bytes: u32) {
        self.counters.lost_at_change += Tally { packets: 1, bytes: bytes.into() };
        // SAFETY: the caller's promise.
        unsafe { free(frame as *mut Opaque) };
    }

    /// The text of a failure.
    pub fn error(&self) -> String {
        // SAFETY: a text of the thread that failed, which has made no call since.
        unsafe { CStr::from_ptr(self.error) }.to_string_lossy().into_owned()
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
    unsafe { node_size as usize }
}

/// Why [`turn`] ended.
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
    fn rte_eal_hotplug_add(bus: *const c_char, name: *const c_char, arguments: *const c_char) -> c_int;
    fn rte_eth_dev_get_port_by_name(name: *const c_char, port: *mut u16) -> c_int;
    fn rte_eth_dev_get_name_by_port(port: u16, name: *mut c_char) -> c_int;
    fn rte_eth_find_next(port: u16) -> u16;
    fn rte_eth_dev_stop(port: u16) -> c_int;
    fn rte_eth_dev_close(port: u16) -> c_int;
    fn rte_pktmbuf_free_bulk(frames: *mut *mut Opaque, count: c_uint);
    fn rte_mbuf_dynfield_lookup(name: *const c_char, params: *mut Opaque) -> c_int;
    fn pcap_open_offline(path: *const c_char, said: *mut c_char) -> *mut Opaque;
    fn pcap_next_ex(capture: *mut Opaque, header: *mut *mut Opaque, bytes: *mut *const u8) -> c_int;
    fn pcap_close(capture: *mut Opaque);
    static node_size: u64;
    fn node_error() -> *const c_char;
    fn node_turn(nodes: *mut *mut Node, count: u32, microseconds: u64);
    pub(crate) fn node_offer(node: *mut Node, frames: *const *mut Opaque, count: u32, now: u64) -> c_int;
    pub(crate) fn node_take(node: *mut Node, room: u32, now: u64) -> c_int;
    fn node_pool(mbufs: u32, frame_bytes: u16) -> *mut Opaque;
    pub(crate) fn node_frame(pool: *mut Opaque, bytes: *const u8, length: u32) -> *mut Opaque;
    pub(crate) fn node_bytes(frame: *const Opaque) -> *const u8;
    fn node_queues(port: u16) -> u32;
    fn node_start(port: u16, queues: u16, pool: *mut Opaque) -> c_int;
    fn node_is_up(port: u16) -> c_int;
    fn node_missed(port: u16) -> u64;
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
pub fn start_dpdk(arguments: &[String]) -> Result<(), String> {
    let mut texts: Vec<_> = arguments.iter().map(|text| c_text(text).into_raw()).collect();
    // SAFETY: DPDK may keep and reorder these texts; they live as long as the process.
    if unsafe { rte_eal_init(texts.len() as c_int, texts.as_mut_ptr()) } < 0 { Err(said()) } else { Ok(()) }
}

/// Makes the virtual device of `NAME,KEY=VALUE,...`.
pub fn make_device(device: &str) -> Result<(), String> {
    let (name, arguments) = device.split_once(',').unwrap_or((device, ""));
    if Device::find(name).is_some() {
        return Err(format!("--vdev {device}: there is a device {name}: expected another number"));
    }
    // SAFETY: DPDK is up, and copies the texts.
    match unsafe { rte_eal_hotplug_add(c"vdev".as_ptr(), c_text(name).as_ptr(), c_text(arguments).as_ptr()) } {
        0 => Ok(()),
        _ => Err(format!(
            "--vdev {device}: DPDK does not make it (its own lines above): expected a driver's name with a number, keys of \
             this driver, and for a memif server a socket that does not exist"
        )),
    }
}

/// Memory for `frames` frames of `frame_bytes` bytes each; longer frames take several.
pub fn pool(frames: u32, frame_bytes: u16) -> Result<*mut Opaque, String> {
    // SAFETY: DPDK is up.
    let pool = unsafe { node_pool(frames, frame_bytes) };
    if pool.is_null() { Err(said()) } else { Ok(pool) }
}

/// The names of all devices.
pub fn devices() -> Vec<String> {
    let mut names = Vec::new();
    // SAFETY: DPDK is up.
    let next = |port| unsafe { rte_eth_find_next(port) };
    let mut port = next(0);
    while port < NO_PORT {
        let mut name = [0; NAME];
        // SAFETY: DPDK's names have at most 64 bytes, the zero byte included, and end in it.
        names.push(unsafe {
            rte_eth_dev_get_name_by_port(port, name.as_mut_ptr());
            CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
        });
        port = next(port + 1);
    }
    names
}

/// Frees a frame.
///
/// # Safety
/// `frame` is an mbuf that nobody else has.
pub unsafe fn free(mut frame: *mut Opaque) {
    // SAFETY: the caller's promise; an array of one.
    unsafe { rte_pktmbuf_free_bulk(&raw mut frame, 1) };
}

/// Nodes of one link, each on the lcore of its number.
pub struct Nodes(Box<[Box<Node>]>);

impl Nodes {
    /// Nodes that share a link.
    pub fn new(nodes: impl IntoIterator<Item = Box<Node>>) -> Self {
        let free_at: *const AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        let mut nodes = Self(nodes.into_iter().collect());
        nodes.0.iter_mut().for_each(|node| node.free_at = free_at);
        nodes
    }

    /// Carries frames for at most this time. Nothing runs when it returns.
    pub fn turn(&mut self, microseconds: u64) {
        let mut nodes: Vec<*mut Node> = self.0.iter_mut().map(|node| &raw mut **node).collect();
        // SAFETY: the nodes are whole, their devices are started, and DPDK has as many lcores.
        unsafe { node_turn(nodes.as_mut_ptr(), nodes.len() as u32, microseconds) };
    }

    /// The counters of all.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.0.iter().for_each(|node| sum += node.counters);
        sum
    }

    /// Shares out the frames that are still to be received. In a few turns one node may get all of them.
    pub fn share_out(&mut self, most: u64, turn: u64) {
        let count = self.0.len() as u64;
        let left = most - self.counters().received.packets;
        for (number, node) in (turn..).zip(&mut self.0) {
            let own = left / count + u64::from(number % count < left % count);
            node.most = node.counters.received.packets + own;
        }
    }
}

impl std::ops::Deref for Nodes {
    type Target = [Box<Node>];
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl std::ops::DerefMut for Nodes {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
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
        let mut port = 0;
        // SAFETY: DPDK is up.
        let found = unsafe { rte_eth_dev_get_port_by_name(c_text(name).as_ptr(), &raw mut port) } == 0;
        found.then(|| Self { name: name.to_owned(), port, was_up: false })
    }

    /// The queues that it can have.
    pub fn queues(&self) -> u32 {
        // SAFETY: a port of DPDK's.
        unsafe { node_queues(self.port) }
    }

    /// Starts it with as many queues; returns whether it spreads frames over them.
    pub fn start(&self, queues: u16, pool: *mut Opaque) -> Result<bool, String> {
        // SAFETY: a port and a pool of DPDK's.
        match unsafe { node_start(self.port, queues, pool) } {
            0 => Ok(true),
            1 => Ok(false),
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
        unsafe {
            rte_eth_dev_stop(self.port);
            rte_eth_dev_close(self.port);
        }
    }
}

/// The frames of a capture.
pub fn frames_in(path: &str) -> Option<u64> {
    const SAID: usize = 256;
    let (mut said, mut header, mut bytes) = ([0; SAID], std::ptr::null_mut(), std::ptr::null());
    // SAFETY: a text, and libpcap's room for its errors.
    let capture = unsafe { pcap_open_offline(c_text(path).as_ptr(), said.as_mut_ptr()) };
    if capture.is_null() {
        return None;
    }
    let mut count = 0;
    // SAFETY: a capture that is open.
    while unsafe { pcap_next_ex(capture, &raw mut header, &raw mut bytes) } == 1 {
        count += 1;
    }
    // SAFETY: as above.
    unsafe { pcap_close(capture) };
    Some(count)
}

/// Where drivers write the times of frames, if one does.
pub fn stamp() -> Option<c_int> {
    // SAFETY: DPDK is up; the name is RTE_MBUF_DYNFIELD_TIMESTAMP_NAME.
    let place = unsafe { rte_mbuf_dynfield_lookup(c"rte_dynfield_timestamp".as_ptr(), std::ptr::null_mut()) };
    Some(place).filter(|place| *place >= 0)
}
