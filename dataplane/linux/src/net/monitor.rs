//! Detects changes of an interface by others: the kernel announces every change of links and qdiscs.

use super::class::Classes;
use super::filter::Place;
use super::interface::Interface;
use super::namespace::NetNamespace;
use super::netlink::Socket;
use super::offload::{self, Offload};
use super::part::{Part, Replaced};
use super::root::{RootQdisc, TC_H_ROOT};
use crate::Result;
use crate::error::Trying;
use std::os::fd::{AsFd, BorrowedFd};

/// `RTNLGRP_LINK` and `RTNLGRP_TC` of linux/rtnetlink.h.
const RTNLGRP_LINK: u32 = 1;
const RTNLGRP_TC: u32 = 4;

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The interface has this new name.
    Renamed(String),
    /// The interface was removed, or moved to another namespace.
    Gone,
    /// The root qdisc was replaced; `None` is the kernel's default.
    RootReplaced(Option<RootQdisc>),
    /// The qdisc of a transmit queue was replaced.
    QueueReplaced(Replaced),
    /// The filter of a scheduler's qdisc was removed, so no program decides about packets.
    FilterRemoved,
    /// A filter of somebody else sees packets before that of a scheduler.
    FilterAfter(Place),
    /// The classes of a scheduler's qdisc differ from the recorded ones.
    Classes(Classes),
    /// The qdisc of the queue with this number was replaced or removed.
    LeafReplaced(u32),
    /// These offloads were turned on.
    OffloadsOn(Vec<Offload>),
}

/// Monitors one interface, in the namespace in which the calling thread opened the monitor.
#[derive(Debug)]
pub struct Monitor {
    socket: Socket,
    namespace: NetNamespace,
    name: String,
    index: u32,
    root: RootQdisc,
    /// The outgoing offloads that are on.
    offloads: Vec<Offload>,
    /// The place of the filter of each scheduler, and the state of its classes, at the last check.
    seen: Vec<(Place, Classes)>,
    /// Whether the first check is still due, because changes before the monitor opened were not announced.
    fresh: bool,
}

impl AsFd for Monitor {
    /// Readable when [`poll`](Self::poll) may find changes.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// More than the number of HTB's priorities.
const MAX_QUEUES: u32 = 32;

impl Monitor {
    /// Monitors `interface`, whose root qdisc is `root`.
    pub fn open(interface: &Interface, root: RootQdisc) -> Result<Self> {
        let tried = || "watching for changes of the interface".to_owned();
        let socket = Socket::open().trying(tried)?;
        socket.subscribe(&[RTNLGRP_LINK, RTNLGRP_TC]).trying(tried)?;
        let namespace = NetNamespace::current()?;
        let Interface { name, index, .. } = interface.clone();
        let (offloads, seen) = (Vec::new(), Vec::new());
        let mut monitor = Self { socket, namespace, name, index, root, offloads, seen, fresh: true };
        monitor.newly_on()?;
        Ok(monitor)
    }

    /// The changes since the last call, compared with the recorded `parts`. Announcements are only hints, some of which
    /// the kernel may drop; this function reads the state itself.
    pub fn poll(&mut self, parts: &[Part]) -> Result<Vec<Change>> {
        let (mut concerned, mut leaves) = (std::mem::take(&mut self.fresh), Vec::new());
        loop {
            match self.socket.waiting() {
                Ok(replies) if replies.is_empty() => break,
                Ok(replies) => {
                    for reply in replies.iter().filter(|reply| reply.word(4) == self.index) {
                        concerned = true;
                        let leaf = |part| replaced_leaf(part, reply.kind, reply.word(8), reply.word(12));
                        leaves.extend(parts.iter().find_map(leaf));
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
        self.seen.resize(parts.len(), (Place::First, Classes::AsNoted));
        for (part, seen) in parts.iter().zip(&mut self.seen) {
            if let Some(replaced) = part.replaced_by(&self.namespace, self.index)? {
                changes.push(Change::QueueReplaced(replaced));
                return Ok(changes);
            }
            if let Some(program) = part.program {
                let place = part.root.place_of(program, &self.namespace, self.index)?;
                if place == Place::Missing {
                    changes.push(Change::FilterRemoved);
                    return Ok(changes);
                }
                if std::mem::replace(&mut seen.0, place.clone()) != place && place != Place::First {
                    changes.push(Change::FilterAfter(place));
                }
            }
            let classes = part.root.compared(&part.classes, &self.namespace, self.index)?;
            if std::mem::replace(&mut seen.1, classes) != classes && classes != Classes::AsNoted {
                changes.push(Change::Classes(classes));
            }
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

    /// The outgoing offloads that are on, and were off at the last call.
    fn newly_on(&mut self) -> Result<Vec<Offload>> {
        let on = match self.namespace.within(|| offload::enabled(&self.name, &Offload::OUTGOING)) {
            // The interface was just renamed or removed, which the kernel announces next.
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(Vec::new()),
            on => on.trying(|| format!("asking about the offloads of {}", self.name))?,
        };
        let before = std::mem::replace(&mut self.offloads, on);
        Ok(self.offloads.iter().copied().filter(|offload| !before.contains(offload)).collect())
    }
}

/// The queue of `part` whose qdisc is announced, if that is not pifolab's qdisc.
fn replaced_leaf(part: &Part, kind: u16, handle: u32, parent: u32) -> Option<u32> {
    let is_qdisc = matches!(kind, libc::RTM_NEWQDISC | libc::RTM_DELQDISC);
    if !is_qdisc || parent == TC_H_ROOT || parent & 0xFFFF_0000 != part.root.handle {
        return None;
    }
    // Classes after those of the queues belong to the share of frames that are not IP, which the programs do not read.
    let queue = (parent & 0xFFFF).checked_sub(1).filter(|queue| *queue < MAX_QUEUES)?;
    // The handle of pifolab's qdisc is the root's number plus the queue's index plus 1. Its removal makes room for another
    // one.
    (handle >> 16 != part.root.major() + 1 + queue || kind == libc::RTM_DELQDISC).then_some(queue)
}
