//! Notices what others do to an interface: the kernel announces every change of links and qdiscs.

use super::class::{Class, Classes};
use super::interface::Interface;
use super::namespace::NetNamespace;
use super::netlink::Socket;
use super::offload::{self, Offload};
use super::root::{RootQdisc, TC_H_ROOT};
use crate::Result;
use crate::error::Trying;
use std::os::fd::{AsFd, BorrowedFd};

/// `RTNLGRP_LINK` and `RTNLGRP_TC` of linux/rtnetlink.h.
const RTNLGRP_LINK: u32 = 1;
const RTNLGRP_TC: u32 = 4;

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The interface has this name now.
    Renamed(String),
    /// It was removed, or moved to another namespace.
    Gone,
    /// Its root qdisc is another one; `None`: the kernel's default.
    RootReplaced(Option<RootQdisc>),
    /// The filter of its root qdisc is gone: no program decides about packets.
    FilterRemoved,
    /// The classes of its root qdisc are not those that were noted.
    Classes(Classes),
    /// The queue of this number is another qdisc, or none.
    LeafReplaced(u32),
    /// These offloads are on now, and were off.
    OffloadsOn(Vec<Offload>),
}

/// Watches one interface, in the namespace that the calling thread was in when it was opened.
#[derive(Debug)]
pub struct Monitor {
    socket: Socket,
    namespace: NetNamespace,
    name: String,
    index: u32,
    root: RootQdisc,
    /// The outgoing offloads that are on.
    offloads: Vec<Offload>,
    /// What its classes were when they were last looked at.
    classes: Classes,
    /// Nothing has been asked yet: what changed before the watch began was not announced.
    fresh: bool,
}

impl AsFd for Monitor {
    /// Readable when there may be something to [`poll`](Self::poll).
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// More queues than HTB has priorities.
const MAX_QUEUES: u32 = 32;

impl Monitor {
    /// Watches `interface`, whose root qdisc is `root`.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn open(interface: &Interface, root: RootQdisc) -> Result<Self> {
        let tried = || "watching for changes of the interface".to_owned();
        let socket = Socket::open().trying(tried)?;
        socket.subscribe(&[RTNLGRP_LINK, RTNLGRP_TC]).trying(tried)?;
        let namespace = NetNamespace::current()?;
        let Interface { name, index, .. } = interface.clone();
        let mut monitor =
            Self { socket, namespace, name, index, root, offloads: Vec::new(), classes: Classes::AsNoted, fresh: true };
        monitor.newly_on()?;
        Ok(monitor)
    }

    /// What has changed since the last call; the filter of the root qdisc should run `program`, if it has one, and its classes should
    /// be those `noted`. Announcements are hints, of which the kernel may lose some: the state itself is asked for.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn poll(&mut self, program: Option<u32>, noted: &[Class]) -> Result<Vec<Change>> {
        let (mut concerned, mut leaves) = (std::mem::take(&mut self.fresh), Vec::new());
        loop {
            match self.socket.waiting() {
                Ok(replies) if replies.is_empty() => break,
                Ok(replies) => {
                    for reply in replies.iter().filter(|reply| reply.word(4) == self.index) {
                        concerned = true;
                        leaves.extend(self.replaced_leaf(reply.kind, reply.word(8), reply.word(12)));
                    }
                }
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => concerned = true,
                Err(error) => return Err(error).trying(|| "watching for changes of the interface".to_owned()),
            }
        }
        if !concerned {
            return Ok(Vec::new());
        }
        let Some(interface) = Interface::of_index(&self.namespace, self.index)? else {
            return Ok(vec![Change::Gone]);
        };
        let mut changes = Vec::new();
        if interface.name != self.name {
            changes.push(Change::Renamed(interface.name.clone()));
            self.name = interface.name;
        }
        let root = RootQdisc::of(&self.namespace, self.index)?;
        if root.as_ref() != Some(&self.root) {
            changes.push(Change::RootReplaced(root));
            return Ok(changes);
        }
        if let Some(program) = program
            && !self.root.runs(program, &self.namespace, self.index)?
        {
            changes.push(Change::FilterRemoved);
            return Ok(changes);
        }
        let classes = self.root.compared(noted, &self.namespace, self.index)?;
        if std::mem::replace(&mut self.classes, classes) != classes && classes != Classes::AsNoted {
            changes.push(Change::Classes(classes));
        }
        let on = self.newly_on()?;
        if !on.is_empty() {
            changes.push(Change::OffloadsOn(on));
        }
        leaves.sort_unstable();
        leaves.dedup();
        changes.extend(leaves.into_iter().map(Change::LeafReplaced));
        Ok(changes)
    }

    /// The outgoing offloads that are on, and were off when this was last asked for.
    fn newly_on(&mut self) -> Result<Vec<Offload>> {
        let on = match self.namespace.within(|| offload::enabled(&self.name, &Offload::OUTGOING)) {
            // Renamed or removed just now, which is announced next.
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(Vec::new()),
            on => on.trying(|| format!("asking about the offloads of {}", self.name))?,
        };
        let before = std::mem::replace(&mut self.offloads, on);
        Ok(self.offloads.iter().copied().filter(|offload| !before.contains(offload)).collect())
    }

    /// The queue whose qdisc an announcement speaks of, if it is another one than ours.
    fn replaced_leaf(&self, kind: u16, handle: u32, parent: u32) -> Option<u32> {
        let is_qdisc = matches!(kind, libc::RTM_NEWQDISC | libc::RTM_DELQDISC);
        if !is_qdisc || parent == TC_H_ROOT || parent & 0xFFFF_0000 != self.root.handle {
            return None;
        }
        // Classes beyond the queues' belong to the share of frames that are not IP: the programs do not read those.
        let queue = (parent & 0xFFFF).checked_sub(1).filter(|queue| *queue < MAX_QUEUES)?;
        // Ours has the root's number and the queue's place after it; its removal makes room for another one.
        (handle >> 16 != self.root.major() + 1 + queue || kind == libc::RTM_DELQDISC).then_some(queue)
    }
}
