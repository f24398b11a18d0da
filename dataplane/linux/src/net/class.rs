//! The classes of a root qdisc: the rates and the order of its queues.

use super::netlink::{Message, Socket, traffic_control};
use serde::{Deserialize, Serialize};
use std::io;

const TCA_OPTIONS: u16 = 2;
/// Length of `tcmsg`.
const TCMSG: usize = 20;

/// A class of a root qdisc.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// The class's handle, with the qdisc's number in the upper 16 bits.
    pub handle: u32,
    /// The class above it.
    parent: u32,
    /// Rates, bursts and priority, in the kernel's encoding.
    options: Vec<u8>,
}

/// The result of comparing the classes with the recorded ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classes {
    /// All recorded classes exist, unchanged.
    AsNoted,
    /// The rate, the burst or the priority of a class has changed.
    Changed,
    /// A class no longer exists.
    Removed,
}

impl Classes {
    /// The result as a clause.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::AsNoted => "the classes of its root qdisc are as they were",
            Self::Changed => "a class of its root qdisc was changed: another rate, burst or priority",
            Self::Removed => "a class of its root qdisc was removed: its packets have no queue",
        }
    }

    /// Compares the recorded classes with the classes `now`, which may contain others.
    pub(super) fn compared(noted: &[Class], now: &[Class]) -> Self {
        let is_there = |noted: &Class| now.iter().any(|class| class.handle == noted.handle);
        if !noted.iter().all(is_there) {
            return Self::Removed;
        }
        if noted.iter().all(|noted| now.contains(noted)) { Self::AsNoted } else { Self::Changed }
    }
}

/// The classes of the qdisc `handle` on interface `index`, in the calling thread's namespace.
pub(super) fn list(index: u32, handle: u32) -> io::Result<Vec<Class>> {
    let message = Message::new(libc::RTM_GETTCLASS, libc::NLM_F_DUMP, &traffic_control(index, 0, handle, 0));
    let replies = Socket::open()?.ask(message)?;
    let classes = replies.iter().filter(|reply| reply.word(8) & 0xFFFF_0000 == handle).map(|reply| Class {
        handle: reply.word(8),
        parent: reply.word(12),
        options: reply.attributes(TCMSG).find(TCA_OPTIONS).unwrap_or_default().to_vec(),
    });
    Ok(classes.collect())
}
