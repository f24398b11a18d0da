//! Offloads of an interface, through `SIOCETHTOOL`. With offloads, a "packet" in a queue is a bundle of up to 64 kB,
//! which the sender has not yet split or the receiver has merged.

use super::namespace::NetNamespace;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// An offload that bundles packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offload {
    /// The device splits TCP segments.
    Tso,
    /// The kernel splits segments, after the queue.
    Gso,
    /// The kernel merges received segments.
    Gro,
    /// The device merges received segments.
    Lro,
}

/// The commands of linux/ethtool.h that read and write one word.
const ETHTOOL_GTSO: u32 = 0x1e;
const ETHTOOL_GGSO: u32 = 0x23;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_GCHANNELS: u32 = 0x3c;
const ETH_FLAG_LRO: u32 = 1 << 15;

impl Offload {
    /// The offloads that bundle packets on their way out.
    pub const OUTGOING: [Self; 2] = [Self::Tso, Self::Gso];
    /// The offloads that bundle received packets.
    pub const INCOMING: [Self; 2] = [Self::Gro, Self::Lro];

    /// The command to read the offload, the command to write it, and its bits in the word.
    const fn commands(self) -> (u32, u32, u32) {
        match self {
            Self::Tso => (ETHTOOL_GTSO, ETHTOOL_GTSO + 1, u32::MAX),
            Self::Gso => (ETHTOOL_GGSO, ETHTOOL_GGSO + 1, u32::MAX),
            Self::Gro => (ETHTOOL_GGRO, ETHTOOL_GGRO + 1, u32::MAX),
            Self::Lro => (ETHTOOL_GFLAGS, ETHTOOL_GFLAGS + 1, ETH_FLAG_LRO),
        }
    }
}

impl fmt::Display for Offload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tso => "tso",
            Self::Gso => "gso",
            Self::Gro => "gro",
            Self::Lro => "lro",
        })
    }
}

/// The offloads of `offloads` that are on for interface `name`, in the calling thread's namespace. An offload unknown
/// to the driver is off.
pub fn enabled(name: &str, offloads: &[Offload]) -> io::Result<Vec<Offload>> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    let mut on = Vec::new();
    for offload in offloads {
        let (read, _, bits) = offload.commands();
        match ethtool(&socket, name, read, 0) {
            Ok(value) if value & bits != 0 => on.push(*offload),
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(on)
}

/// Turns `offloads` of interface `name` on or off, in the calling thread's namespace.
pub fn set(name: &str, offloads: &[Offload], on: bool) -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    for offload in offloads {
        let (read, write, bits) = offload.commands();
        let value = if bits == u32::MAX {
            u32::from(on)
        } else {
            let flags = ethtool(&socket, name, read, 0)?;
            if on { flags | bits } else { flags & !bits }
        };
        ethtool(&socket, name, write, value)?;
    }
    Ok(())
}

/// Like [`set`], in `namespace`.
pub fn set_in(namespace: &NetNamespace, name: &str, offloads: &[Offload], on: bool) -> io::Result<()> {
    namespace.within(|| set(name, offloads, on))
}

/// Turns checksum offload off, because frames that a program reads must be complete.
pub fn checksums_off(name: &str) -> io::Result<()> {
    ethtool(&UdpSocket::bind("0.0.0.0:0")?, name, ETHTOOL_STXCSUM, 0).map(drop)
}

/// The transmit queues of interface `name` that are in use, in the calling thread's namespace; `None` if the driver does not
/// tell.
pub fn transmit_queues(name: &str) -> Option<u32> {
    // `ethtool_channels`: the command; the largest numbers of queues for receiving, sending, others and both; those in use.
    let mut words = [ETHTOOL_GCHANNELS, 0, 0, 0, 0, 0, 0, 0, 0];
    request(&UdpSocket::bind("0.0.0.0:0").ok()?, name, &mut words).ok()?;
    Some(words[6] + words[8]).filter(|queues| *queues > 0)
}

fn ethtool(socket: &UdpSocket, name: &str, command: u32, value: u32) -> io::Result<u32> {
    let mut words = [command, value];
    request(socket, name, &mut words).map(|()| words[1])
}

/// Passes words to the driver, which may write to them.
fn request(socket: &UdpSocket, name: &str, words: &mut [u32]) -> io::Result<()> {
    // SAFETY: ifreq is plain data, for which zeroes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: SIOCETHTOOL reads and writes at ifru_data the words of this command, which outlive the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The offloads as text for users: `tso and gso`.
pub fn in_words(offloads: &[Offload]) -> String {
    offloads.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

/// The options of `ethtool -K` that turn the offloads off: `tso off gso off`.
pub fn as_off(offloads: &[Offload]) -> String {
    offloads.iter().map(|offload| format!("{offload} off")).collect::<Vec<_>>().join(" ")
}
