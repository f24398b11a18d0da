//! The root qdisc of an interface: its kind, its owner, and its removal. All operations use index and handle, in one
//! step of the kernel, because a name may now belong to another interface, and a qdisc to another program.

use super::class::{self, Class, Classes};
use super::filter::{self, Filter, Place};
use super::namespace::NetNamespace;
use super::netlink::{Message, Socket, traffic_control};
use crate::Result;
use crate::error::Trying;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;

/// `TC_H_ROOT` of linux/pkt_sched.h.
pub const TC_H_ROOT: u32 = 0xFFFF_FFFF;
const TCA_KIND: u16 = 1;
/// Length of `tcmsg`.
const TCMSG: usize = 20;
/// The handles that a scheduler under `mq` and its leaves may have.
const HANDLES_EACH: u32 = 0x40;
/// The most transmit queues with a scheduler each: their handles are below those that the kernel assigns.
pub const MAX_TRANSMIT_QUEUES: u32 = 63;

/// A root qdisc. pifolab gives each of its root qdiscs a random handle, to distinguish it from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootQdisc {
    /// The qdisc's kind.
    pub kind: String,
    /// The handle, with the major number in the upper 16 bits.
    pub handle: u32,
}

impl RootQdisc {
    /// A qdisc of `kind` with a handle that is unlikely to be in use: above handles that people write, and below
    /// handles that the kernel assigns (from 8001:).
    pub fn tagged(kind: &str) -> Result<Self> {
        let mut random = [0u8; 2];
        // SAFETY: the pointer and the length describe `random`.
        let got = unsafe { libc::getrandom(random.as_mut_ptr().cast(), random.len(), 0) };
        if got != 2 {
            return Err(io::Error::last_os_error()).trying(|| "drawing a handle".to_owned());
        }
        // The leaves use the following numbers as handles, so there must be room for them.
        let major = 0x1000 + u32::from(u16::from_ne_bytes(random)) % 0x6000;
        Ok(Self { kind: kind.to_owned(), handle: major << 16 })
    }

    /// The major number.
    pub const fn major(&self) -> u32 {
        self.handle >> 16
    }

    /// The root qdisc of interface `index`; `None` if it is the kernel's default, or the interface no longer exists.
    pub fn of(namespace: &NetNamespace, index: u32) -> Result<Option<Self>> {
        // The kernel's default qdiscs have no handle.
        Ok(Self::or_default(namespace, index)?.filter(|root| root.handle != 0))
    }

    /// Like [`of`](Self::of), but also returns the kernel's default, which has the handle 0.
    pub fn or_default(namespace: &NetNamespace, index: u32) -> Result<Option<Self>> {
        namespace
            .within(|| ask(index, TC_H_ROOT))
            .trying(|| format!("asking about the root qdisc of interface {index}"))
    }

    /// The qdisc of `kind` that a data plane puts under class `queue` + 1 of this `mq`.
    pub fn under(&self, queue: u32, kind: &str) -> Self {
        Self { kind: kind.to_owned(), handle: self.handle + ((HANDLES_EACH * (queue + 1)) << 16) }
    }

    /// The qdisc under the class `parent` of an `mq` on interface `index`; `None` if it is the kernel's default.
    ///
    /// # Errors
    /// If the kernel cannot be read.
    pub fn at(namespace: &NetNamespace, index: u32, parent: u32) -> Result<Option<Self>> {
        let found = namespace.within(|| ask(index, parent));
        let found = found.trying(|| format!("asking about the qdiscs of interface {index}"))?;
        Ok(found.filter(|root| root.handle != 0))
    }

    /// Whether the qdisc serves the interface's transmit queues side by side.
    pub fn has_many_queues(&self) -> bool {
        matches!(self.kind.as_str(), "mq" | "mqprio")
    }

    /// The qdisc's filters.
    pub fn filters(&self, namespace: &NetNamespace, index: u32) -> Result<Vec<Filter>> {
        let listed = namespace.within(|| filter::list(index, self.handle));
        listed.trying(|| format!("asking about the filters of interface {index}"))
    }

    /// The place of the program with the kernel's id `program` among its filters.
    pub fn place_of(&self, program: u32, namespace: &NetNamespace, index: u32) -> Result<Place> {
        Ok(Place::of(program, &self.filters(namespace, index)?))
    }

    /// The qdisc's classes.
    pub fn classes(&self, namespace: &NetNamespace, index: u32) -> Result<Vec<Class>> {
        let listed = namespace.within(|| class::list(index, self.handle));
        listed.trying(|| format!("asking about the classes of interface {index}"))
    }

    /// Compares the qdisc's classes with the recorded ones.
    pub fn compared(&self, noted: &[Class], namespace: &NetNamespace, index: u32) -> Result<Classes> {
        Ok(Classes::compared(noted, &self.classes(namespace, index)?))
    }

    /// Removes the qdisc from interface `index`, which then has the kernel's default. Does nothing if another qdisc has
    /// replaced it; the kernel itself compares kind and handle.
    pub fn remove(&self, namespace: &NetNamespace, index: u32) -> Result<()> {
        let remove = || {
            let body = traffic_control(index, self.handle, TC_H_ROOT, 0);
            let mut message = Message::new(libc::RTM_DELQDISC, libc::NLM_F_ACK, &body);
            message.attribute(TCA_KIND, format!("{}\0", self.kind).as_bytes());
            Socket::open()?.ask(message).map(drop)
        };
        namespace.within(remove).trying(|| format!("removing the root qdisc {self} of interface {index}"))
    }
}

fn ask(index: u32, parent: u32) -> io::Result<Option<RootQdisc>> {
    // A list for a single qdisc, because the kernel announces a request for one qdisc to all monitors.
    let message = Message::new(libc::RTM_GETQDISC, libc::NLM_F_DUMP, &traffic_control(0, 0, 0, 0));
    let replies = Socket::open()?.ask(message)?;
    let root = replies.iter().find(|reply| reply.word(4) == index && reply.word(12) == parent);
    Ok(root.and_then(|reply| Some(RootQdisc { kind: reply.attributes(TCMSG).text(TCA_KIND)?, handle: reply.word(8) })))
}

impl fmt::Display for RootQdisc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:x}:", self.kind, self.major())
    }
}
