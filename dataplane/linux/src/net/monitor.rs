//! Detects changes of an interface by others: the kernel announces every change of links and qdiscs.

use super::class::{Class, Classes};
use super::filter::Place;
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

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The interface has this new name.
    Renamed(String),
    /// The interface was removed, or moved to another namespace.
    Gone,
    /// The root qdisc was replaced; `None` is the kernel's default.
    RootReplaced(Option<RootQdisc>),
    /// The filter of the root qdisc was removed, so no program decides about packets.
    FilterRemoved,
    /// A filter of somebody else sees packets before the one of the root qdisc.
    FilterAfter(Place),
    /// The classes of the root qdisc differ from the recorded ones.
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
    /// The place of the filter at the last check.
    place: Place,
    /// The state of the classes at the last check.
    classes: Classes,
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
        let (offloads, place, classes) = (Vec::new(), Place::First, Classes::AsNoted);
        let mut monitor = Self { socket, namespace, name, index, root, offloads, place, classes, fresh: true };
        monitor.newly_on()?;
        Ok(monitor)
    }

    /// The changes since the last call. The root qdisc's filter should run `program`, if it is given, and its classes
    /// should be `noted`. Announcements are only hints, some of which the kernel may drop; this function reads the
    /// state itself.
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
        if let Some(program) = program {
            let place = self.root.place_of(program, &self.namespace, self.index)?;
            if place == Place::Missing {
                changes.push(Change::FilterRemoved);
                return Ok(changes);
            }
            if std::mem::replace(&mut self.place, place.clone()) != place && place != Place::First {
                changes.push(Change::FilterAfter(place));
            }
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

    /// The queue of an announced qdisc, if it is not pifolab's qdisc.
    fn replaced_leaf(&self, kind: u16, handle: u32, parent: u32) -> Option<u32> {
        let is_qdisc = matches!(kind, libc::RTM_NEWQDISC | libc::RTM_DELQDISC);
        if !is_qdisc || parent == TC_H_ROOT || parent & 0xFFFF_0000 != self.root.handle {
            return None;
        }
        // Classes after those of the queues belong to the share of frames that are not IP, which the programs do not
        // read.
        let queue = (parent & 0xFFFF).checked_sub(1).filter(|queue| *queue < MAX_QUEUES)?;
        // The handle of pifolab's qdisc is the root's number plus the queue's index plus 1. Its removal makes room for
        // another one.
        (handle >> 16 != self.root.major() + 1 + queue || kind == libc::RTM_DELQDISC).then_some(queue)
    }
}
