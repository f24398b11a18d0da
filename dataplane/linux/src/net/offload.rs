//! Offloads of an interface, through `SIOCETHTOOL`: with them on, what a queue takes for a packet is a bundle of up to 64 kB
//! that a sender has not cut up yet, or that the receiving side has put together.

use super::namespace::NetNamespace;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// One that bundles packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offload {
    /// The device cuts TCP segments up.
    Tso,
    /// The kernel cuts segments up, behind the queue.
    Gso,
    /// The kernel puts received segments together.
    Gro,
    /// The device does.
    Lro,
}

/// Those of linux/ethtool.h that read and write one word.
const ETHTOOL_GTSO: u32 = 0x1e;
const ETHTOOL_GGSO: u32 = 0x23;
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_GFLAGS: u32 = 0x25;
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETH_FLAG_LRO: u32 = 1 << 15;

impl Offload {
    /// The offloads that bundle packets on their way out.
    pub const OUTGOING: [Self; 2] = [Self::Tso, Self::Gso];
    /// The offloads that bundle received packets.
    pub const INCOMING: [Self; 2] = [Self::Gro, Self::Lro];

    /// The command that reads it, the one that writes it, and its bits in the word.
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

/// Those of `offloads` that interface `name` has on, in the calling thread's namespace. What a driver does not know is off.
///
/// # Errors
/// The kernel does not tell.
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
///
/// # Errors
/// No right to, or the driver refuses.
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

/// The same in `namespace`.
///
/// # Errors
/// As [`set`].
pub fn set_in(namespace: &NetNamespace, name: &str, offloads: &[Offload], on: bool) -> io::Result<()> {
    namespace.within(|| set(name, offloads, on))
}

/// Turns check sum offload off: a frame that a program reads must be whole.
///
/// # Errors
/// No right to, or the driver refuses.
pub fn checksums_off(name: &str) -> io::Result<()> {
    ethtool(&UdpSocket::bind("0.0.0.0:0")?, name, ETHTOOL_STXCSUM, 0).map(drop)
}

fn ethtool(socket: &UdpSocket, name: &str, command: u32, value: u32) -> io::Result<u32> {
    let mut words = [command, value];
    // SAFETY: ifreq is plain data, for which zeroes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: SIOCETHTOOL reads and writes the two words behind ifru_data, which live through the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) } {
        0 => Ok(words[1]),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A list of them for people: `tso and gso`.
pub fn in_words(offloads: &[Offload]) -> String {
    offloads.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

/// The options of `ethtool -K` that turn them off: `tso off gso off`.
pub fn as_off(offloads: &[Offload]) -> String {
    offloads.iter().map(|offload| format!("{offload} off")).collect::<Vec<_>>().join(" ")
}
