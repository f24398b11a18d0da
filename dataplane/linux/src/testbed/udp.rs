//! Paced UDP flows and their receiver.
//!
//! Each flow sends datagrams at its rate, with gaps multiplied by a random factor from 0.5 to 1.5. Without this jitter,
//! periodic senders synchronise at a full FIFO queue, and one of them wins every slot. A late sender catches up with
//! its timetable by at most `CATCH_UP_NS`. It skips earlier packets, and the flow's offered bytes show the loss.
//!
//! The receiver reads the kernel's arrival time of each datagram, so its own wake-ups have no effect. It also counts
//! the datagrams that its sockets dropped.

use super::namespace::RECEIVER;
use super::traffic::{Bins, Flow, Jitter, UDP_HEADERS, now_ns};
use crate::Result;
use crate::error::Trying;
use crate::switch::bridge::prefer_this_thread;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The header of each datagram: a mark, the rank (`payload:4:4`), the sequence number, and the time of sending.
const HEADER: usize = 24;
const IP_UDP_HEADERS: usize = 28;
const MARK: u32 = 0x5049_464f;
/// The place of the rank, in the format of the `--rank` option.
pub const RANK_PLACE: &str = "payload:4:4";
/// The port of the first flow; the other flows use the following ports.
pub const FIRST_PORT: u16 = 10_001;
/// The largest part of its timetable that a flow catches up with after a pause.
const CATCH_UP_NS: u64 = 4_000_000;

/// The counts of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct UdpCounts {
    /// Datagrams sent.
    pub sent_packets: u64,
    /// Datagrams of the timetable that the sender skipped because it was late.
    pub given_up_packets: u64,
    /// Datagrams received.
    pub received_packets: u64,
    /// Datagrams dropped because the receiver's socket had no room.
    pub receiver_lost_packets: u64,
    /// Datagrams that arrived after a later-sent one.
    pub reordered_packets: u64,
    /// Mean time from sending to arrival in microseconds.
    pub mean_delay_us: f64,
    /// Longest time from sending to arrival in microseconds.
    pub max_delay_us: f64,
}

/// Opens the sockets of all flows at the sender. Must be called inside the sender's namespace.
pub fn sender_sockets(flows: &[Flow]) -> Result<Vec<UdpSocket>> {
    let mut sockets = Vec::new();
    for (number, flow) in flows.iter().enumerate() {
        let socket = UdpSocket::bind("0.0.0.0:0").trying(|| "cannot open a UDP socket".to_owned())?;
        let port = FIRST_PORT + number as u16;
        socket.connect((RECEIVER, port)).trying(|| format!("cannot reach {RECEIVER}:{port}"))?;
        socket.set_nonblocking(true).trying(|| "cannot make a socket non-blocking".to_owned())?;
        set_dscp(socket.as_raw_fd(), flow.rank);
        sockets.push(socket);
    }
    Ok(sockets)
}

/// Sets the DSCP of a socket's packets to the rank, if it fits in six bits.
pub fn set_dscp(fd: RawFd, rank: u32) {
    if rank < 64 {
        let tos = (rank << 2) as libc::c_int;
        set_option(fd, libc::IPPROTO_IP, libc::IP_TOS, tos);
    }
}

fn set_option(fd: RawFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) {
    // SAFETY: the pointer and the length describe `value`.
    unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), size_of_val(&value) as libc::socklen_t) };
}

/// The start and the end of all flows.
#[derive(Clone, Copy, Debug)]
pub struct Timetable {
    /// The start, in nanoseconds of the real-time clock.
    pub origin_ns: u64,
    /// The length of the experiment in nanoseconds.
    pub length_ns: u64,
    /// The bin width in nanoseconds.
    pub bin_ns: u64,
}

/// The packets that one flow sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Frame bytes sent.
    pub sent: Bins,
    /// Frame bytes of the timetable that the sender skipped.
    pub given_up: Bins,
    /// Datagrams sent.
    pub packets: u64,
    /// Datagrams skipped.
    pub given_up_packets: u64,
}

/// Sends all flows from one thread until the timetable ends or `stop` is set.
pub fn send(sockets: &[UdpSocket], flows: &[Flow], table: Timetable, repeat: u64, stop: &AtomicBool) -> Vec<Sent> {
    prefer_this_thread();
    let largest = flows.iter().map(|flow| flow.packets.largest() as usize).max().unwrap_or(0);
    let mut datagram = vec![0; largest.saturating_sub(IP_UDP_HEADERS).max(HEADER)];
    datagram[..4].copy_from_slice(&MARK.to_be_bytes());
    let mut jitter: Vec<_> = (0..flows.len() as u64).map(|flow| Jitter::new(1 + flow + 1000 * repeat)).collect();
    let empty = || Bins::new(table.bin_ns, table.length_ns);
    let mut all: Vec<Sent> =
        flows.iter().map(|_| Sent { sent: empty(), given_up: empty(), packets: 0, given_up_packets: 0 }).collect();
    // The nanoseconds per byte at the flow's rate, with 20 fractional bits.
    let byte: Vec<u64> = flows.iter().map(|flow| (8_000_000_000 << 20) / flow.offered_bps.unwrap_or(1)).collect();
    let start = |(number, flow): (usize, &Flow)| {
        let first = ((u64::from(flow.packets.largest()) + 14) * byte[number]) >> 21;
        Reverse((table.origin_ns + (flow.start_s * 1e9) as u64 + first, number))
    };
    // The next datagram of each flow, ordered by time.
    let mut due: BinaryHeap<_> = flows.iter().enumerate().map(start).collect();
    let end = table.origin_ns + table.length_ns;
    while let Some(Reverse((at, flow))) = due.peek().copied() {
        if at >= end || stop.load(Ordering::Relaxed) {
            break;
        }
        if flows[flow].stop_s.is_some_and(|stop_s| at >= table.origin_ns + (stop_s * 1e9) as u64) {
            due.pop();
            continue;
        }
        let now = now_ns();
        if now < at {
            std::thread::sleep(Duration::from_nanos((at - now).min(20_000_000)));
            continue;
        }
        let packet = flows[flow].packets.draw(&mut jitter[flow]) as usize;
        let frame = packet as u64 + 14;
        let gap = (frame * byte[flow]) >> 20;
        due.pop();
        due.push(Reverse((at + ((gap * jitter[flow].factor()) >> 32), flow)));
        let one = &mut all[flow];
        if now - at <= CATCH_UP_NS {
            datagram[4..8].copy_from_slice(&flows[flow].rank.to_be_bytes());
            datagram[8..16].copy_from_slice(&one.packets.to_be_bytes());
            datagram[16..24].copy_from_slice(&now.to_be_bytes());
            // A full socket buffer cannot occur on these wires. If it occurred, the packet would count as not offered.
            if sockets[flow].send(&datagram[..packet - IP_UDP_HEADERS]).is_ok() {
                one.packets += 1;
                one.sent.add(now - table.origin_ns, frame);
                continue;
            }
        }
        one.given_up_packets += 1;
        one.given_up.add(at - table.origin_ns, frame);
    }
    all
}

/// Opens the sockets of all flows at the receiver. Must be called inside the receiver's namespace.
pub fn receiver_sockets(flows: usize, buffer_bytes: u32) -> Result<Vec<UdpSocket>> {
    let mut sockets = Vec::new();
    for number in 0..flows {
        let port = FIRST_PORT + number as u16;
        let socket = UdpSocket::bind((RECEIVER, port)).trying(|| format!("cannot listen at port {port}"))?;
        let fd = socket.as_raw_fd();
        // Room for datagrams that arrive while the receiver does not run. A sysctl limits the plain option.
        let buffer = buffer_bytes.min(i32::MAX as u32 / 2) as libc::c_int;
        set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, buffer);
        set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, buffer);
        set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
        sockets.push(socket);
    }
    Ok(sockets)
}

/// Receives until `stop` is set and nothing has arrived for `quiet`, so that the data plane is empty.
pub fn receive(sockets: &[UdpSocket], table: Timetable, quiet: Duration, stop: &AtomicBool) -> Vec<(Bins, UdpCounts)> {
    // High priority, because datagrams are lost if the sockets have no room.
    prefer_this_thread();
    let mut flows = vec![(Bins::new(table.bin_ns, table.length_ns), UdpCounts::default()); sockets.len()];
    let mut expected = vec![0; sockets.len()];
    let mut delays = vec![(0.0, 0_u64); sockets.len()];
    let mut polled: Vec<_> = sockets
        .iter()
        .map(|socket| libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    let mut last_arrival = Instant::now();
    while !stop.load(Ordering::Relaxed) || last_arrival.elapsed() < quiet {
        // SAFETY: the pointer and the number describe `polled`.
        let ready = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, 20) };
        if ready <= 0 {
            continue;
        }
        last_arrival = Instant::now();
        let readable = polled.iter().enumerate().filter(|(_, polled)| polled.revents != 0);
        for (flow, _) in readable {
            while let Ok(datagram) = receive_one(sockets[flow].as_raw_fd()) {
                let (bins, counts) = &mut flows[flow];
                bins.add(datagram.at_ns.saturating_sub(table.origin_ns), datagram.bytes + UDP_HEADERS);
                counts.received_packets += 1;
                // A user's own sender may write any payload.
                if !datagram.is_ours {
                    continue;
                }
                counts.reordered_packets += u64::from(datagram.sequence < expected[flow]);
                expected[flow] = expected[flow].max(datagram.sequence);
                let delay = datagram.at_ns.saturating_sub(datagram.sent_ns) as f64 / 1e3;
                delays[flow].0 += delay;
                delays[flow].1 += 1;
                counts.max_delay_us = counts.max_delay_us.max(delay);
            }
        }
        // One wake-up for many datagrams, because each has its arrival time.
        std::thread::sleep(Duration::from_millis(1));
    }
    for (((_, counts), (delay, number)), socket) in flows.iter_mut().zip(delays).zip(sockets) {
        counts.mean_delay_us = delay / number.max(1) as f64;
        counts.receiver_lost_packets = lost_by(socket.as_raw_fd());
    }
    flows
}

/// The number of datagrams that the kernel dropped because the socket had no room.
fn lost_by(fd: RawFd) -> u64 {
    /// linux/socket.h and linux/sock_diag.h.
    const SO_MEMINFO: libc::c_int = 55;
    const SK_MEMINFO_DROPS: usize = 8;
    let mut info = [0u32; SK_MEMINFO_DROPS + 1];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the pointer and the length describe `info`.
    unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, SO_MEMINFO, info.as_mut_ptr().cast(), &raw mut length) };
    info[SK_MEMINFO_DROPS].into()
}

struct Datagram {
    bytes: u64,
    at_ns: u64,
    sent_ns: u64,
    sequence: u64,
    /// Whether this program sent it.
    is_ours: bool,
}

/// Receives one waiting datagram with its arrival time; copies only the header.
fn receive_one(fd: RawFd) -> io::Result<Datagram> {
    let mut header = [0_u8; HEADER];
    // Room for one control message with a timespec, aligned as control messages must be.
    let mut control = [0_u64; 8];
    let mut part = libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: HEADER };
    // SAFETY: msghdr is plain data, for which zeroes are valid.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the message describes the buffers above, which outlive the call.
    let length = unsafe { libc::recvmsg(fd, &raw mut message, libc::MSG_DONTWAIT | libc::MSG_TRUNC) };
    if length < 0 {
        return Err(io::Error::last_os_error());
    }
    let word = |at: usize| u64::from_be_bytes(std::array::from_fn(|i| header[at + i]));
    // SAFETY: walks the control message that the kernel has written; a timespec is read without assuming alignment.
    let at_ns = unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const message);
        if first.is_null() || (*first).cmsg_type != libc::SCM_TIMESTAMPNS {
            now_ns()
        } else {
            let stamp = std::ptr::read_unaligned(libc::CMSG_DATA(first).cast::<libc::timespec>());
            stamp.tv_sec as u64 * 1_000_000_000 + stamp.tv_nsec as u64
        }
    };
    let is_ours = length as usize >= HEADER && header[..4] == MARK.to_be_bytes();
    Ok(Datagram { bytes: length as u64, at_ns, sent_ns: word(16), sequence: word(8), is_ours })
}
