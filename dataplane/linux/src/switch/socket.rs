//! A packet socket on one interface: frames come in through a ring shared with the kernel (TPACKET_V2), without a system
//! call, and go out past the interface's queueing discipline (PACKET_QDISC_BYPASS), several in one system call.

use super::arena::VlanTag;
use super::counters::InterfaceCounters;
use super::port::{Frame, MOST_LEAVING};
use std::ffi::{CString, c_int};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// Memory of one ring: 130 ms of full-size frames at 1 Gb/s, longer than real-time throttling (50 ms) or a few time slices of
/// others keep the process from running.
const RING_BYTES: usize = 16 << 20;
const BLOCK_BYTES: usize = 256 << 10;
/// What the kernel puts before a frame in its slot, at most: the header, the link-level address, and padding.
const SLOT_HEADER: usize = 128;
/// Room for an Ethernet header and a VLAN tag beside the MTU.
const ETHERNET_HEADER: usize = 18;

/// A packet socket bound to one interface.
pub struct PacketSocket {
    fd: OwnedFd,
    ring: Ring,
    outbox: Outbox,
    counters: InterfaceCounters,
    mtu: usize,
    name: String,
    index: u32,
}

struct Ring {
    base: *mut u8,
    bytes: usize,
    slot_bytes: usize,
    slots_per_block: usize,
    slots: usize,
    next: usize,
}

// SAFETY: the mapping belongs to this value alone; nothing in it is bound to a thread.
unsafe impl Send for Ring {}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: base and bytes are what mmap returned and was given; no frame borrows the ring any more.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

/// Frames that one system call sends, at most.
pub const BURST: usize = MOST_LEAVING;

/// The description of the frames of one system call.
struct Outbox {
    /// The place and the length of each frame, during the call.
    parts: Box<[libc::iovec; BURST]>,
    /// One message for each part, which it points to.
    messages: Box<[libc::mmsghdr; BURST]>,
}

// SAFETY: the parts are only read during a call that borrows this value and the frames; nothing is bound to a thread.
unsafe impl Send for Outbox {}

impl Outbox {
    fn new() -> Self {
        let mut parts = Box::new([libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BURST]);
        // SAFETY: mmsghdr is plain data, for which zeroes are valid.
        let mut messages: Box<[libc::mmsghdr; BURST]> = Box::new(unsafe { std::mem::zeroed() });
        for (message, part) in messages.iter_mut().zip(parts.iter_mut()) {
            (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (&raw mut *part, 1);
        }
        Self { parts, messages }
    }
}

fn failed(what: &str, interface: &str) -> io::Error {
    let error = io::Error::last_os_error();
    let advice = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "; the switch needs CAP_NET_RAW: run it as root, or in a user namespace (unshare -Urnm)"
        }
        _ => "",
    };
    io::Error::new(error.kind(), format!("{interface}: {what}: {error}{advice}"))
}

fn set_option<T>(fd: RawFd, level: c_int, option: c_int, value: &T) -> bool {
    // SAFETY: the pointer and the length describe `value`, which lives through the call.
    0 == unsafe { libc::setsockopt(fd, level, option, (&raw const *value).cast(), size_of::<T>() as libc::socklen_t) }
}

fn interface_request(interface: &str) -> io::Result<libc::ifreq> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, format!("{interface:?} is not an interface name"));
    if interface.is_empty() || interface.len() >= libc::IFNAMSIZ {
        return Err(invalid());
    }
    // SAFETY: ifreq is plain data, for which zeroes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

impl PacketSocket {
    /// Opens `interface` of the current network namespace, for frames of any protocol and address.
    pub fn open(interface: &str) -> io::Result<Self> {
        Self::with_bypass(interface, true)
    }

    /// The same, which sends through the queueing discipline of `interface`.
    #[cfg(feature = "ebpf")]
    pub(crate) fn through_queues(interface: &str) -> io::Result<Self> {
        Self::with_bypass(interface, false)
    }

    fn with_bypass(interface: &str, bypass: bool) -> io::Result<Self> {
        let name = CString::new(interface).map_err(io::Error::other)?;
        // SAFETY: a plain system call with a valid C string.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        if index == 0 {
            return Err(failed("no such interface", interface));
        }
        // Protocol 0 receives nothing until the ring exists and the socket is bound.
        // SAFETY: a plain system call; the descriptor is owned from here on.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(failed("cannot open a packet socket", interface));
        }
        // SAFETY: just opened, and not owned elsewhere.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let raw = fd.as_raw_fd();
        let mut request = interface_request(interface)?;
        // SAFETY: SIOCGIFMTU fills in ifru_mtu of the request that it is given.
        let mtu = unsafe {
            if libc::ioctl(raw, libc::SIOCGIFMTU as _, &raw mut request) != 0 {
                return Err(failed("cannot read the MTU", interface));
            }
            request.ifr_ifru.ifru_mtu as usize
        };
        let ring = Ring::map(raw, mtu, interface)?;
        for (option, value, what) in [
            (libc::PACKET_QDISC_BYPASS, c_int::from(bypass), "cannot bypass the queueing discipline"),
            (libc::PACKET_IGNORE_OUTGOING, 1, "cannot ignore its own frames (requires Linux 4.20)"),
        ] {
            if !set_option(raw, libc::SOL_PACKET, option, &value) {
                return Err(failed(what, interface));
            }
        }
        let membership = libc::packet_mreq {
            mr_ifindex: index as c_int,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        if !set_option(raw, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership) {
            return Err(failed("cannot receive frames for other stations", interface));
        }
        // SAFETY: sockaddr_ll is plain data, for which zeroes are valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as c_int;
        // SAFETY: the pointer and the length describe `address`.
        let bound = unsafe { libc::bind(raw, (&raw const address).cast(), size_of_val(&address) as libc::socklen_t) };
        if bound != 0 {
            return Err(failed("cannot bind the packet socket", interface));
        }
        Ok(Self {
            fd,
            ring,
            outbox: Outbox::new(),
            counters: InterfaceCounters::default(),
            mtu,
            name: interface.to_owned(),
            index,
        })
    }

    /// The longest frame that the interface carries, with its header and a VLAN tag.
    pub const fn frame_bytes(&self) -> usize {
        self.mtu + ETHERNET_HEADER
    }

    /// The name that the interface had when it was opened.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the interface is gone: removed, or moved to another namespace. Takes the socket's pending error away, which
    /// would end every wait at once.
    pub fn is_gone(&self) -> bool {
        let raw = self.fd.as_raw_fd();
        let (mut error, mut length): (c_int, _) = (0, size_of::<c_int>() as libc::socklen_t);
        // SAFETY: the pointers describe `error` and its length; ifreq is plain data, for which zeroes are valid, and
        // SIOCGIFNAME reads its index and fills in its name, in the namespace of the socket.
        unsafe {
            libc::getsockopt(raw, libc::SOL_SOCKET, libc::SO_ERROR, (&raw mut error).cast(), &raw mut length);
            let mut request: libc::ifreq = std::mem::zeroed();
            request.ifr_ifru.ifru_ifindex = self.index as c_int;
            libc::ioctl(raw, libc::SIOCGIFNAME as _, &raw mut request) != 0
                && io::Error::last_os_error().raw_os_error() == Some(libc::ENODEV)
        }
    }

    /// The descriptor, to wait for frames.
    pub fn raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// The next frame and the time at which the kernel saw it, in nanoseconds of the real-time clock; its slot goes
    /// back to the kernel by [`release`](Self::release).
    #[inline]
    pub fn peek(&self) -> Option<(Frame<'_>, u64)> {
        let header = self.ring.slot();
        // SAFETY: every slot begins with an aligned tpacket2_hdr; its status is shared with the kernel.
        let status = unsafe { AtomicU32::from_ptr((&raw mut (*header).tp_status).cast()) }.load(Ordering::Acquire);
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the status says that the slot belongs to us; tp_mac and tp_snaplen lie within it.
        let (fields, bytes) = unsafe {
            let fields = &*header;
            let start = header.cast::<u8>().add(usize::from(fields.tp_mac));
            (fields, std::slice::from_raw_parts(start, fields.tp_snaplen as usize))
        };
        let vlan = (status & libc::TP_STATUS_VLAN_VALID != 0).then_some(VlanTag {
            protocol: if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { fields.tp_vlan_tpid } else { 0x8100 },
            control: fields.tp_vlan_tci,
        });
        let frame = Frame {
            bytes,
            vlan,
            wire_length: fields.tp_len as usize,
            checksum_missing: status & libc::TP_STATUS_CSUMNOTREADY != 0,
        };
        Some((frame, u64::from(fields.tp_sec) * 1_000_000_000 + u64::from(fields.tp_nsec)))
    }

    /// Gives the slot of the frame that [`peek`](Self::peek) showed back to the kernel.
    #[inline]
    pub fn release(&mut self) {
        let header = self.ring.slot();
        // SAFETY: as in `peek`; the frame's borrow has ended, since this takes `&mut self`.
        unsafe { AtomicU32::from_ptr((&raw mut (*header).tp_status).cast()) }
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.ring.next = (self.ring.next + 1) % self.ring.slots;
    }

    /// Sends up to [`BURST`] frames, in one system call unless the kernel refuses some of them.
    #[inline]
    pub fn send<'a>(&mut self, frames: impl Iterator<Item = &'a [u8]>) {
        let Outbox { parts, messages } = &mut self.outbox;
        let mut count = 0;
        for (part, frame) in parts.iter_mut().zip(frames) {
            *part = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            count += 1;
        }
        let mut next = 0;
        while next < count {
            let rest = &mut messages[next..count];
            let (fd, part) = (self.fd.as_raw_fd(), parts[next]);
            // SAFETY: the parts describe `frames`, which the kernel only reads, and the messages point to the parts.
            let sent = unsafe {
                match rest {
                    // The plain call is cheaper for a single frame.
                    [_] => i32::from(libc::send(fd, part.iov_base, part.iov_len, libc::MSG_DONTWAIT) >= 0),
                    _ => libc::sendmmsg(fd, rest.as_mut_ptr(), rest.len() as u32, libc::MSG_DONTWAIT as _),
                }
            };
            // The call ends before the first frame that the kernel refuses, and fails if this is the first one.
            let sent = usize::try_from(sent).unwrap_or(0);
            parts[next..next + sent].iter().for_each(|part| self.counters.sent.add(part.iov_len));
            if sent == 0 {
                self.counters.send_failed += 1;
            }
            next += sent.max(1);
        }
    }

    /// What was sent, refused and lost so far.
    pub fn counters(&mut self) -> InterfaceCounters {
        // SAFETY: tpacket_stats is plain data, for which zeroes are valid.
        let mut stats: libc::tpacket_stats = unsafe { std::mem::zeroed() };
        let mut length = size_of_val(&stats) as libc::socklen_t;
        // SAFETY: the pointer and the length describe `stats`.
        let read = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut length,
            )
        };
        if read == 0 {
            // The kernel counts from one reading to the next.
            self.counters.ring_dropped += u64::from(stats.tp_drops);
        }
        self.counters
    }
}

impl Ring {
    fn map(fd: RawFd, mtu: usize, interface: &str) -> io::Result<Self> {
        let slot_bytes = (mtu + ETHERNET_HEADER + SLOT_HEADER).next_multiple_of(16);
        if slot_bytes > BLOCK_BYTES {
            return Err(io::Error::other(format!(
                "{interface}: an MTU of {mtu} bytes is more than the switch can take"
            )));
        }
        let slots_per_block = BLOCK_BYTES / slot_bytes;
        let blocks = RING_BYTES / BLOCK_BYTES;
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: (slots_per_block * blocks) as u32,
        };
        let version: c_int = libc::tpacket_versions::TPACKET_V2 as c_int;
        if !set_option(fd, libc::SOL_PACKET, libc::PACKET_VERSION, &version)
            || !set_option(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)
        {
            return Err(failed("cannot make the receive ring", interface));
        }
        let bytes = BLOCK_BYTES * blocks;
        // SAFETY: maps a fresh region; the length is that of the ring just made.
        let base = unsafe {
            libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, fd, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(failed("cannot map the receive ring", interface));
        }
        Ok(Self { base: base.cast(), bytes, slot_bytes, slots_per_block, slots: slots_per_block * blocks, next: 0 })
    }

    #[inline]
    fn slot(&self) -> *mut libc::tpacket2_hdr {
        let offset =
            self.next / self.slots_per_block * BLOCK_BYTES + self.next % self.slots_per_block * self.slot_bytes;
        // SAFETY: next < slots, so that the slot lies within the mapping; slots are 16-byte aligned.
        unsafe { self.base.add(offset).cast() }
    }
}
