//! A network interface by name or by index.

use super::namespace::NetNamespace;
use super::netlink::{Attributes, Message, Reply, Socket};
use crate::error::Trying;
use crate::{Error, Result};
use std::ffi::CString;
use std::io;

/// linux/if_link.h
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_NUM_TX_QUEUES: u16 = 31;
const IFLA_PERM_ADDRESS: u16 = 54;
/// The length of `ifinfomsg`.
const IFINFOMSG: usize = 16;

/// An interface of the namespace in which the calling thread looked it up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: u32,
    /// Its MTU in bytes.
    pub mtu: u32,
    /// Whether frames on it have an Ethernet header.
    pub ethernet: bool,
    /// The number of transmit queues.
    pub transmit_queues: u32,
    /// The permanent address in hexadecimal; empty without one.
    pub permanent_address: String,
}

impl Interface {
    /// Looks up the interface `name`.
    pub fn find(name: &str) -> Result<Self> {
        let missing = || Error::Usage(format!("--dev {name}: unknown interface; `ip link` lists them"));
        let c_name = CString::new(name).map_err(|_| missing())?;
        // SAFETY: a C string.
        let index = unsafe { libc::if_nametoindex(c_name.as_ptr()) };
        if index == 0 || name.len() >= libc::IFNAMSIZ {
            return Err(missing());
        }
        let found = ask(index).trying(|| format!("asking about {name}"))?;
        found.filter(|found| found.name == name).ok_or_else(missing)
    }

    /// The interface with `index` in `namespace`, under any name; `None` if it no longer exists.
    pub fn of_index(namespace: &NetNamespace, index: u32) -> Result<Option<Self>> {
        namespace.within(|| ask(index)).trying(|| format!("asking about interface {index}"))
    }

    /// The length of the longest frame in bytes.
    pub const fn frame_bytes(&self) -> u32 {
        self.mtu + 14
    }
}

fn ask(index: u32) -> io::Result<Option<Interface>> {
    let mut body = [0; IFINFOMSG];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    let message = Message::new(libc::RTM_GETLINK, libc::NLM_F_ACK, &body);
    match Socket::open()?.ask(message) {
        Ok(replies) => Ok(replies.iter().find_map(read)),
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read(reply: &Reply) -> Option<Interface> {
    let attributes: Attributes<'_> = reply.attributes(IFINFOMSG);
    let family = (reply.word(0) >> 16) as u16;
    let address = attributes.find(IFLA_PERM_ADDRESS).unwrap_or_default();
    Some(Interface {
        name: attributes.text(IFLA_IFNAME)?,
        index: reply.word(4),
        mtu: attributes.number(IFLA_MTU)?,
        ethernet: matches!(family, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK),
        transmit_queues: attributes.number(IFLA_NUM_TX_QUEUES).unwrap_or(1),
        permanent_address: address.iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}
