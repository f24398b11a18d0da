//! TCP flows and their receiver: the kernel's TCP with CUBIC, and the rank in the DSCP.

use super::namespace::RECEIVER;
use super::traffic::{Bins, Flow, now_ns, sleep_until};
use super::udp::{Timetable, set_dscp};
use crate::error::Trying;
use crate::switch::bridge::prefer_this_thread;
use crate::{Error, Result};
use nix::sys::socket::sockopt::TcpCongestion;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket};
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Above the UDP flows' ports.
const PORT: u16 = 6001;
const CHUNK: usize = 64 << 10;
/// The longest time after which a blocked sender or receiver notices a stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// The received part of one flow.
#[derive(Clone, Debug)]
pub struct TcpOutcome {
    /// Payload bytes received.
    pub received: Bins,
    /// The arrival of its last byte, in nanoseconds from the flow's start; `None` if it did not arrive.
    pub completion_ns: Option<u64>,
}

/// Opens the receiver's listening socket. Must be called inside the receiver's namespace.
pub fn listen() -> Result<TcpListener> {
    let listener = TcpListener::bind((RECEIVER, PORT)).trying(|| format!("cannot listen at port {PORT}"))?;
    // A thousand simultaneous handshakes must not overflow the standard library's backlog of 128.
    // SAFETY: a plain system call on a listening socket, which may be repeated.
    unsafe { libc::listen(listener.as_raw_fd(), 4096) };
    listener.set_nonblocking(true).trying(|| "cannot make a socket non-blocking".to_owned())?;
    Ok(listener)
}

/// Sends one flow: connects immediately, waits for its start, and sends its bytes (or until `stop`).
///
/// # Errors
/// If there is no connection within ten seconds, or the kernel has no CUBIC.
pub fn send(flow: &Flow, number: usize, table: Timetable, stop: &AtomicBool) -> Result<()> {
    prefer_this_thread();
    let failed = || format!("cannot connect to {RECEIVER}:{PORT}");
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).trying(failed)?;
    // Before the connection opens: what the default algorithm has set by then, such as BBR's pacing, would stay.
    setsockopt(&socket, TcpCongestion, &OsString::from("cubic"))
        .map_err(|_| Error::Unsupported("this kernel has no CUBIC congestion control".to_owned()))?;
    let receiver = RECEIVER.parse().expect("it is an address");
    connect(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(receiver, PORT))).trying(failed)?;
    let mut stream = TcpStream::from(socket);
    set_dscp(stream.as_raw_fd(), flow.rank);
    stream.set_write_timeout(Some(PATIENCE)).trying(|| "cannot set a time-out".to_owned())?;
    let mut chunk = vec![0; CHUNK];
    // The receiver cannot identify flows by port, so the first bytes contain the number.
    chunk[..4].copy_from_slice(&(number as u32).to_be_bytes());
    let mut left = flow.size_bytes.unwrap_or(u64::MAX);
    if !sleep_until(table.origin_ns + (flow.start_s * 1e9) as u64, stop) {
        return Ok(());
    }
    let mut first = true;
    while left > 0 && !stop.load(Ordering::Relaxed) {
        let length = (CHUNK as u64).min(left) as usize;
        match stream.write(&chunk[..length]) {
            Ok(written) => {
                left -= written as u64;
                if first && written >= 4 {
                    first = false;
                    chunk[..4].fill(0);
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            // The receiver closes the connection at the end of the experiment.
            Err(_) => break,
        }
    }
    // The kernel sends the buffered bytes after the close. The namespace ends soon after anyway.
    Ok(())
}

/// Accepts and counts all flows until all are complete or `stop` is set.
pub fn receive(listener: &TcpListener, flows: &[Flow], table: Timetable, stop: &AtomicBool) -> Vec<TcpOutcome> {
    let empty = TcpOutcome { received: Bins::new(table.bin_ns, table.length_ns), completion_ns: None };
    let mut outcomes = vec![empty; flows.len()];
    thread::scope(|scope| {
        let mut readers = Vec::new();
        while readers.len() < flows.len() && !stop.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((stream, _)) => readers.push(scope.spawn(move || read(stream, flows, table, stop))),
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        }
        for reader in readers {
            if let Some((number, outcome)) = reader.join().expect("the reader does not panic") {
                outcomes[number] = outcome;
            }
        }
    });
    outcomes
}

fn read(mut stream: TcpStream, flows: &[Flow], table: Timetable, stop: &AtomicBool) -> Option<(usize, TcpOutcome)> {
    prefer_this_thread();
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let mut chunk = vec![0; CHUNK];
    let mut number = None;
    let mut head = Vec::with_capacity(4);
    let mut received = Bins::new(table.bin_ns, table.length_ns);
    let (mut total, mut completion_ns) = (0, None);
    while !stop.load(Ordering::Relaxed) {
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => {
                let now = now_ns();
                if number.is_none() {
                    head.extend(chunk[..length].iter().take(4 - head.len()));
                    let bytes: Option<[u8; 4]> = head.as_slice().try_into().ok();
                    number = bytes.map(|bytes| u32::from_be_bytes(bytes) as usize).filter(|n| *n < flows.len());
                }
                total += length as u64;
                received.add(now.saturating_sub(table.origin_ns), length as u64);
                let flow = number.map(|number| &flows[number]);
                if flow.and_then(|flow| flow.size_bytes).is_some_and(|size| total >= size) {
                    let start = table.origin_ns + (flow.map_or(0.0, |flow| flow.start_s) * 1e9) as u64;
                    completion_ns = Some(now.saturating_sub(start));
                    break;
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
    }
    Some((number?, TcpOutcome { received, completion_ns }))
}
