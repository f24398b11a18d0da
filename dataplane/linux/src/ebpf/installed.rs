//! The parts of a data plane that are installed on an interface, and the lock on the interface.

use super::flow_maps::FlowMaps;
use super::settings::Settings;
use crate::error::Trying;
use crate::net::interface::Interface;
use crate::net::monitor::Monitor;
use crate::net::namespace::NetNamespace;
use crate::net::offload::{self, Offload};
use crate::net::root::{MAX_TRANSMIT_QUEUES, RootQdisc};
use crate::net::{filter, tc};
use crate::record::{Cleaned, DeviceLock, Record};
use crate::{Error, Result, say};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Display;

/// A data plane in the kernel. It works until it is dropped, which removes all of its parts.
pub(crate) trait KernelPlane {
    /// The parts installed on the interface.
    fn installed(&mut self) -> &mut Installed;

    /// The number of queues.
    fn queues(&self) -> usize;

    /// The maps of `--rank table` and of weights, of each scheduler.
    fn flow_maps(&self) -> Result<Vec<FlowMaps>>;

    /// Changes the parameters of the scheduler and the rate.
    ///
    /// # Errors
    /// If the change requires a restart. Then nothing is changed.
    fn change(&mut self, settings: Settings, rate_bps: u64) -> Result<()>;

    /// The occupancies and counters, as JSON and as text.
    fn shown(&self) -> Result<(Value, String)>;
}

/// A snapshot as JSON and as text.
pub(crate) fn shown(snapshot: &(impl Serialize + Display)) -> (Value, String) {
    (serde_json::to_value(snapshot).expect("counters serialize as numbers"), snapshot.to_string())
}

/// Removes all installed parts when dropped.
pub(crate) struct Installed {
    pub namespace: NetNamespace,
    pub interface: Interface,
    pub record: Record,
    /// A foreign root qdisc that may be removed.
    in_the_way: Option<RootQdisc>,
    lock: DeviceLock,
}

impl Installed {
    /// Locks the interface for `scheduler`, whose qdisc will have the kind `kind`, and removes the remains of a
    /// crashed run. With `per_queue` each transmit queue has such a qdisc, under `mq`. A foreign root qdisc stays until [`make_room`](Self::make_room).
    ///
    /// # Errors
    /// If another process holds the interface, if there is a foreign root qdisc without `force`, if the interface has too
    /// few transmit queues or too many, or if the user lacks the right.
    pub fn claim(interface: Interface, scheduler: &str, kind: &str, per_queue: bool, force: bool) -> Result<Self> {
        let namespace = NetNamespace::current()?;
        let queues = per_queue.then(|| transmit_queues(&interface)).transpose()?;
        let lock = DeviceLock::take(&namespace, &interface)?;
        // Its writer held the lock and has released it.
        if let Some(record) = Record::find(&namespace, &interface)? {
            record.clean(&namespace, &lock)?;
        }
        let there = RootQdisc::or_default(&namespace, interface.index)?;
        let many_queues = there.as_ref().is_some_and(RootQdisc::has_many_queues);
        let in_the_way = there.filter(|root| root.handle != 0);
        if let Some(root) = in_the_way.as_ref().filter(|_| !force) {
            let name = &interface.name;
            let whose = if looks_like_ours(&namespace, &interface, root)? {
                "looks like pifolab's, but /run/pifolab has no record of it (of another container?)"
            } else {
                "was not installed by pifolab"
            };
            return Err(Error::Held(format!("{name}: its root qdisc {whose} ({root}); --force replaces it")));
        }
        if let Some(queues) = queues {
            let name = &interface.name;
            say(&format!(
                "{name}: each of its {queues} transmit queues has a scheduler and 1/{queues} of the rate: ranks order the \
                 packets of a queue, not those of the interface, and a queue that is idle lends nothing"
            ));
        } else if many_queues {
            let Interface { name, transmit_queues, .. } = &interface;
            say(&format!(
                "{name}: its {transmit_queues} transmit queues, which mq serves side by side, have one queue and one lock in \
                 front of them while {scheduler} is up; --per-queue gives each a scheduler"
            ));
        }
        let root = RootQdisc::tagged(if per_queue { "mq" } else { kind })?;
        let record = Record::new(&namespace, &interface, scheduler, root, queues.map(|queues| (kind, queues)))?;
        record.write()?;
        Ok(Self { namespace, interface, record, in_the_way, lock })
    }

    /// Records the filter's program and the maps of scheduler `part` after loading.
    pub fn note(&mut self, part: usize, program: Option<u32>, maps: Vec<(String, u32)>) -> Result<()> {
        let part = &mut self.record.parts[part];
        (part.program, part.maps) = (program, maps);
        self.record.write()
    }

    /// Records that all parts are in place.
    pub fn note_complete(&mut self) -> Result<()> {
        for part in &mut self.record.parts {
            part.classes = part.root.classes(&self.namespace, self.interface.index)?;
        }
        self.record.complete = true;
        self.record.write()
    }

    /// Removes the foreign root qdisc that `force` allows to remove.
    pub fn make_room(&mut self) -> Result<()> {
        match self.in_the_way.take() {
            Some(root) => root.remove(&self.namespace, self.interface.index),
            None => Ok(()),
        }
    }

    /// Finds the offloads that bundle packets. With `off`, turns them off until the data plane is taken down; otherwise
    /// prints a hint.
    pub fn look_at_offloads(&mut self, off: bool) -> Result<()> {
        let name = &self.name_now()?;
        let on = self.namespace.within(|| offload::enabled(name, &Offload::OUTGOING));
        let on = on.trying(|| format!("asking about the offloads of {name}"))?;
        if on.is_empty() {
            return Ok(());
        }
        let words = offload::in_words(&on);
        if !off {
            say(&format!(
                "{name}: {words} on: a packet in a queue may be a bundle of up to 64 kB; --offloads-off turns them off \
                 while it is up (for good: ethtool -K {name} {}; where packets come in: gro off)",
                offload::as_off(&on)
            ));
            return Ok(());
        }
        // Recorded first, so that the clean-up after a crash turns them on again.
        self.record.offloads.clone_from(&on);
        self.record.write()?;
        offload::set_in(&self.namespace, name, &on, false).trying(|| format!("turning {words} of {name} off"))
    }

    /// Monitors changes of the interface by others, in the calling thread's namespace.
    pub fn monitor(&self) -> Result<Monitor> {
        Monitor::open(&self.interface, self.record.root.clone())
    }

    /// The interface's current name.
    pub fn name_now(&self) -> Result<String> {
        name_now(&self.record, &self.namespace)
    }
}

/// The transmit queues that are in use.
fn transmit_queues(interface: &Interface) -> Result<u32> {
    let Interface { name, transmit_queues, .. } = interface;
    let queues = offload::transmit_queues(name).unwrap_or(*transmit_queues).min(*transmit_queues);
    if (2..=MAX_TRANSMIT_QUEUES).contains(&queues) {
        return Ok(queues);
    }
    Err(Error::Unsupported(format!(
        "--per-queue: {name} uses {queues} transmit queues: expected from 2 to {MAX_TRANSMIT_QUEUES} (ethtool -L {name} changes it)"
    )))
}

/// The current name of the record's interface.
pub(crate) fn name_now(record: &Record, namespace: &NetNamespace) -> Result<String> {
    let found = record.interface_now(namespace)?;
    found.map(|found| found.name).ok_or_else(|| Error::Failed(format!("{}: the interface is gone", record.interface)))
}

/// Whether a root qdisc has the marks of a pifolab qdisc. This is no proof, because anybody can set them.
fn looks_like_ours(namespace: &NetNamespace, interface: &Interface, root: &RootQdisc) -> Result<bool> {
    let filters = root.filters(namespace, interface.index)?;
    Ok(root.kind.starts_with(tc::QDISC_PREFIX) || filters.iter().any(filter::Filter::has_our_name))
}

impl Drop for Installed {
    fn drop(&mut self) {
        match self.record.clean(&self.namespace, &self.lock) {
            Ok(Cleaned::Down(_)) => {}
            Ok(Cleaned::Left(what)) => {
                say(&format!("{}: not changed, since pifolab did not install it: {what}", self.interface.name))
            }
            Err(error) => say(&format!("{}: {error}", self.interface.name)),
        }
    }
}
