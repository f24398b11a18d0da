//! Attaches a program as the filter of HTB's root, by netlink. `tc` would need a pinned program, and a pin could remain
//! after a crash. The filter keeps the program alive.

use super::netlink::{Attributes, Message, Socket, traffic_control};
use crate::{Error, Result};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The prefix of pifolab's filter names.
pub const NAME_PREFIX: &str = "pifolab:";

/// linux/rtnetlink.h, linux/pkt_cls.h
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_BPF_CLASSID: u16 = 3;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_ID: u16 = 11;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
/// Length of `tcmsg`.
const TCMSG: usize = 20;

/// Attaches `program` to the HTB `handle` on interface `index` in the calling thread's namespace.
pub fn attach(index: u32, handle: u32, program: BorrowedFd<'_>, scheduler: &str) -> Result<()> {
    put(index, handle, program, scheduler, libc::NLM_F_CREATE | libc::NLM_F_EXCL)
}

/// Replaces the attached program by `program`; each packet is processed by one of the two.
pub fn replace(index: u32, handle: u32, program: BorrowedFd<'_>, scheduler: &str) -> Result<()> {
    put(index, handle, program, scheduler, libc::NLM_F_REPLACE)
}

/// The filter's handle, fixed so that the filter can be changed.
const OWN_HANDLE: u32 = 1;

fn put(index: u32, handle: u32, program: BorrowedFd<'_>, scheduler: &str, how: libc::c_int) -> Result<()> {
    let protocol = u32::from((libc::ETH_P_ALL as u16).to_be());
    let flags = libc::NLM_F_ACK | how;
    // The filter's preference is above the protocol.
    let body = traffic_control(index, OWN_HANDLE, handle, 1 << 16 | protocol);
    let mut message = Message::new(libc::RTM_NEWTFILTER, flags, &body);
    message.attribute(TCA_KIND, b"bpf\0");
    message.nested(TCA_OPTIONS, |options| {
        // The program sets only the minor number. This sets the major one, and the class if the program sets none.
        options.attribute(TCA_BPF_CLASSID, &(handle + 1).to_ne_bytes());
        options.attribute(TCA_BPF_FD, &program.as_raw_fd().to_ne_bytes());
        options.attribute(TCA_BPF_NAME, format!("{NAME_PREFIX}{scheduler}\0").as_bytes());
        options.attribute(TCA_BPF_FLAGS, &TCA_BPF_FLAG_ACT_DIRECT.to_ne_bytes());
    });
    let attached = Socket::open().and_then(|socket| socket.ask(message));
    attached.map(drop).map_err(|error| Error::failed("attaching the filter", error))
}

/// A filter of a root qdisc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The filter's kind.
    pub kind: String,
    /// The name with which its program is attached.
    pub name: String,
    /// The kernel's id of its program.
    pub program: Option<u32>,
}

impl Filter {
    /// Whether the name is one of pifolab's.
    pub fn has_our_name(&self) -> bool {
        self.kind == "bpf" && self.name.starts_with(NAME_PREFIX)
    }
}

/// The place of a program among the filters of a qdisc, of which the first one that matches decides about a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// It sees every packet.
    First,
    /// A filter of this kind sees packets before it.
    After(String),
    /// No filter runs it.
    Missing,
}

impl Place {
    /// The place of `program` in `filters`, which are in the order in which they see packets.
    pub(super) fn of(program: u32, filters: &[Filter]) -> Self {
        match filters.iter().position(|filter| filter.program == Some(program)) {
            Some(0) => Self::First,
            Some(_) => Self::After(filters[0].kind.clone()),
            None => Self::Missing,
        }
    }

    /// The place as a clause, unless it is the first one.
    pub fn in_words(&self) -> Option<String> {
        match self {
            Self::First => None,
            Self::After(kind) => Some(format!("a filter of somebody else ({kind}) was put before its own")),
            Self::Missing => Some("its filter was removed".to_owned()),
        }
    }
}

/// The filters of the qdisc `handle` on interface `index`, in the calling thread's namespace, in the order in which they
/// see packets.
pub(super) fn list(index: u32, handle: u32) -> io::Result<Vec<Filter>> {
    let message = Message::new(libc::RTM_GETTFILTER, libc::NLM_F_DUMP, &traffic_control(index, 0, handle, 0));
    let mut filters = Vec::new();
    for reply in Socket::open()?.ask(message)? {
        let attributes = reply.attributes(TCMSG);
        // The kernel lists a filter twice: once as its chain's head, without a handle.
        if reply.word(8) == 0 {
            continue;
        }
        let options = Attributes(attributes.find(TCA_OPTIONS).unwrap_or_default());
        filters.push(Filter {
            kind: attributes.text(TCA_KIND).unwrap_or_default(),
            name: options.text(TCA_BPF_NAME).unwrap_or_default(),
            program: options.number(TCA_BPF_ID),
        });
    }
    Ok(filters)
}
