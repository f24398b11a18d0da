//! The root qdisc of an interface: what it is, whose it is, and its removal. All by index and handle, in one step of the
//! kernel's: a name may belong to another interface by now, and a qdisc to another program.

use super::class::{self, Class, Classes};
use super::filter::{self, Filter};
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

/// A root qdisc. Each one that pifolab installs gets a handle drawn at random: a tag by which it is told from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootQdisc {
    /// Its kind.
    pub kind: String,
    /// Its handle, the major number in the upper 16 bits.
    pub handle: u32,
}

impl RootQdisc {
    /// One of `kind` with a handle that is unlikely to be in use: above those that people write by hand, and below
    /// those that the kernel gives (from 8001:).
    ///
    /// # Errors
    /// The kernel gives no random numbers.
    pub fn tagged(kind: &str) -> Result<Self> {
        let mut random = [0u8; 2];
        // SAFETY: the pointer and the length describe `random`.
        let got = unsafe { libc::getrandom(random.as_mut_ptr().cast(), random.len(), 0) };
        if got != 2 {
            return Err(io::Error::last_os_error()).trying(|| "drawing a handle".to_owned());
        }
        // The leaves' handles are the numbers that follow, so there must be room for them.
        let major = 0x1000 + u32::from(u16::from_ne_bytes(random)) % 0x6000;
        Ok(Self { kind: kind.to_owned(), handle: major << 16 })
    }

    /// The major number.
    pub const fn major(&self) -> u32 {
        self.handle >> 16
    }

    /// The root qdisc of interface `index`; `None` if it is the kernel's default, or the interface is gone.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn of(namespace: &NetNamespace, index: u32) -> Result<Option<Self>> {
        // The kernel's own have no handle.
        Ok(Self::or_default(namespace, index)?.filter(|root| root.handle != 0))
    }

    /// The same, or the kernel's default, which has the handle 0.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn or_default(namespace: &NetNamespace, index: u32) -> Result<Option<Self>> {
        namespace.within(|| ask(index)).trying(|| format!("asking about the root qdisc of interface {index}"))
    }

    /// Whether it serves the transmit queues of its interface side by side.
    pub fn has_many_queues(&self) -> bool {
        matches!(self.kind.as_str(), "mq" | "mqprio")
    }

    /// Its filters.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn filters(&self, namespace: &NetNamespace, index: u32) -> Result<Vec<Filter>> {
        let listed = namespace.within(|| filter::list(index, self.handle));
        listed.trying(|| format!("asking about the filters of interface {index}"))
    }

    /// Whether one of its filters runs `program`, the kernel's number of it.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn runs(&self, program: u32, namespace: &NetNamespace, index: u32) -> Result<bool> {
        let filters = self.filters(namespace, index)?;
        Ok(filters.iter().any(|filter| filter.program == Some(program)))
    }

    /// Its classes.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn classes(&self, namespace: &NetNamespace, index: u32) -> Result<Vec<Class>> {
        let listed = namespace.within(|| class::list(index, self.handle));
        listed.trying(|| format!("asking about the classes of interface {index}"))
    }

    /// What became of those of its classes that were `noted`.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn compared(&self, noted: &[Class], namespace: &NetNamespace, index: u32) -> Result<Classes> {
        Ok(Classes::compared(noted, &self.classes(namespace, index)?))
    }

    /// Removes it from interface `index`, where the kernel's default comes back. Nothing happens if another qdisc is in
    /// its place, which the kernel itself compares, by kind and handle.
    ///
    /// # Errors
    /// Not permitted, or it was replaced meanwhile.
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

fn ask(index: u32) -> io::Result<Option<RootQdisc>> {
    // A list, although one is wanted: a request for one qdisc is announced to everybody who watches for changes.
    let message = Message::new(libc::RTM_GETQDISC, libc::NLM_F_DUMP, &traffic_control(0, 0, 0, 0));
    let replies = Socket::open()?.ask(message)?;
    let root = replies.iter().find(|reply| reply.word(4) == index && reply.word(12) == TC_H_ROOT);
    Ok(root.and_then(|reply| Some(RootQdisc { kind: reply.attributes(TCMSG).text(TCA_KIND)?, handle: reply.word(8) })))
}

impl fmt::Display for RootQdisc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:x}:", self.kind, self.major())
    }
}
