//! The records of data planes in /run/pifolab, and the locks that give an interface to one process at a time.
//!
//! Other commands find the data planes by these records, also after a crash.

mod folder;
mod kernel;
pub mod node;
pub mod offloads;
mod process;

use crate::error::Trying;
use crate::net::class::Classes;
use crate::net::interface::Interface;
use crate::net::namespace::{NamespaceId, NetNamespace};
use crate::net::offload::{self, Offload};
use crate::net::part::{Part, Replaced};
use crate::net::root::RootQdisc;
use crate::{Error, Result};
use folder::{Folder, Lock};
use process::Process;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, Instant};

/// The longest wait for a record after its lock, and for a lock after its process has ended.
const PATIENCE: Duration = Duration::from_secs(30);

/// The record of one data plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The process that holds the data plane.
    pub process: Process,
    /// The network namespace.
    pub namespace: NamespaceId,
    /// The interface's index in the namespace.
    pub index: u32,
    /// The interface's permanent address.
    permanent_address: String,
    /// The interface's name at `up`.
    pub interface: String,
    /// The scheduler's name in the library.
    pub scheduler: String,
    /// The root qdisc of the interface.
    pub root: RootQdisc,
    /// The scheduler of the interface, or those of its transmit queues.
    pub parts: Vec<Part>,
    /// Whether all parts are in place. From then on, the maps exist as long as the parts on the interface.
    #[serde(default)]
    pub complete: bool,
    /// The interface's offloads that were turned off, to turn on again.
    pub offloads: Vec<Offload>,
}

/// The exclusive right to an interface: while a process holds it, no other process installs or removes a data plane
/// there.
#[derive(Debug)]
pub struct DeviceLock {
    folder: Folder,
    name: String,
    _lock: Lock,
}

impl Drop for DeviceLock {
    fn drop(&mut self) {
        // Removed while the lock is held. A process that waits for the lock detects that the file is removed, and
        // creates a new one.
        let _ = self.folder.remove(&self.name);
    }
}

fn stem(namespace: &NamespaceId, index: u32) -> String {
    format!("{}-{index}", namespace.file_stem())
}

impl DeviceLock {
    /// Takes the lock; `None` if another process holds it.
    fn attempt(namespace: &NamespaceId, index: u32) -> Result<Option<Self>> {
        let folder = Folder::make(Path::new(folder::PATH))?;
        let name = stem(namespace, index) + ".lock";
        let lock = folder.lock(&name)?;
        Ok(lock.map(|lock| Self { folder, name, _lock: lock }))
    }

    /// Takes the lock.
    ///
    /// # Errors
    /// If another process holds it (the message names the process), or the user lacks the right.
    pub fn take(namespace: &NetNamespace, interface: &Interface) -> Result<Self> {
        if let Some(lock) = Self::attempt(namespace.id(), interface.index)? {
            return Ok(lock);
        }
        let name = &interface.name;
        // The holder writes its record soon after it takes the lock.
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(Record { scheduler, process, .. }) =
                Record::find(namespace, interface)?.filter(Record::is_alive)
            {
                return Err(Error::Held(format!(
                    "{name}: {scheduler} is up already (process {}); take it down first: pifolab dataplane down --dev {name}",
                    process.pid
                )));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err(Error::Held(format!("{name}: another process holds it and is still starting")))
    }
}

/// The result of cleaning up a record's qdisc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cleaned {
    /// The qdisc is removed from the interface with this name, or was already removed.
    Down(String),
    /// The present qdisc is not provably pifolab's, and remains; its description.
    Left(String),
}

impl Record {
    /// Creates a record of this process: with one scheduler of the kind of `root` or, if that is `mq`, one of kind `under`
    /// for each of the transmit queues.
    pub fn new(
        namespace: &NetNamespace,
        interface: &Interface,
        scheduler: &str,
        root: RootQdisc,
        under: Option<(&str, u32)>,
    ) -> Result<Self> {
        let part = |root, parent| Part { root, parent, maps: Vec::new(), program: None, classes: Vec::new() };
        let parts = match under {
            None => vec![part(root.clone(), None)],
            Some((kind, queues)) => {
                (0..queues).map(|queue| part(root.under(queue, kind), Some(root.handle + queue + 1))).collect()
            }
        };
        Ok(Self {
            process: Process::this()?,
            namespace: namespace.id().clone(),
            index: interface.index,
            permanent_address: interface.permanent_address.clone(),
            interface: interface.name.clone(),
            scheduler: scheduler.to_owned(),
            root,
            parts,
            complete: false,
            offloads: Vec::new(),
        })
    }

    fn file_name(&self) -> String {
        stem(&self.namespace, self.index) + ".json"
    }

    /// Writes the record to its file.
    pub fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(self).expect("plain data");
        Folder::make(Path::new(folder::PATH))?.write(&self.file_name(), text.as_bytes())
    }

    /// All records, in the order of their file names; other files are skipped.
    pub fn all() -> Result<Vec<Self>> {
        let Some(folder) = Folder::open(Path::new(folder::PATH))? else { return Ok(Vec::new()) };
        let names = folder.names(".json")?;
        Ok(names.iter().filter_map(|name| serde_json::from_slice(&folder.read(name)?).ok()).collect())
    }

    /// The record of an interface.
    pub fn find(namespace: &NetNamespace, interface: &Interface) -> Result<Option<Self>> {
        let is_it = |record: &Self| record.is_of(namespace) && record.index == interface.index;
        Ok(Self::all()?.into_iter().find(is_it))
    }

    /// Whether the record's file still exists, because the process has not removed it.
    pub fn is_written(&self) -> Result<bool> {
        let Self { namespace, index, process, .. } = self;
        let is_it = |other: &Self| other.namespace == *namespace && other.index == *index && other.process == *process;
        Ok(Self::all()?.iter().any(is_it))
    }

    /// Whether the record belongs to this namespace.
    pub fn is_of(&self, namespace: &NetNamespace) -> bool {
        self.namespace == *namespace.id()
    }

    /// Whether the record's process is alive.
    pub fn is_alive(&self) -> bool {
        self.process.is_alive()
    }

    /// Ends the record's process, if it is alive, and takes the interface's lock.
    pub fn take_over(&self) -> Result<DeviceLock> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(lock) = DeviceLock::attempt(&self.namespace, self.index)? {
                return Ok(lock);
            }
            self.process.stop()?;
            if Instant::now() > end {
                let Self { interface, process, .. } = self;
                return Err(Error::Held(format!(
                    "{interface}: process {} has ended, and another one holds the interface now",
                    process.pid
                )));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The record's interface, under its current name; `None` if it no longer exists or was replaced.
    pub fn interface_now(&self, namespace: &NetNamespace) -> Result<Option<Interface>> {
        if !self.is_of(namespace) {
            return Ok(None);
        }
        let found = Interface::of_index(namespace, self.index)?;
        Ok(found.filter(|found| found.permanent_address == self.permanent_address))
    }

    /// The change by others to the qdisc, filter or classes that stops the scheduler from working as installed; `None`
    /// if all are in place.
    pub fn disturbed(&self, namespace: &NetNamespace) -> Result<Option<String>> {
        let root = RootQdisc::of(namespace, self.index)?;
        match root {
            _ if !self.complete => return Ok(None),
            None => return Ok(Some("its root qdisc was removed".to_owned())),
            Some(root) if root != self.root => return Ok(Some(format!("its root qdisc was replaced (now {root})"))),
            Some(_) => {}
        }
        for part in &self.parts {
            if let Some(replaced) = part.replaced_by(namespace, self.index)? {
                return Ok(Some(replaced.to_string()));
            }
            let place = part.program.map(|program| part.root.place_of(program, namespace, self.index)).transpose()?;
            if let Some(place) = place.and_then(|place| place.in_words()) {
                return Ok(Some(place));
            }
            let classes = part.root.compared(&part.classes, namespace, self.index)?;
            if classes != Classes::AsNoted {
                return Ok(Some(classes.in_words().to_owned()));
            }
        }
        Ok(None)
    }

    /// Removes the record's parts from its interface, then the record. Removes only a root qdisc with the recorded kind
    /// and handle, and only if it has no other filters. (A crash may precede the attachment of the record's own
    /// filter.)
    pub fn clean(&self, namespace: &NetNamespace, _lock: &DeviceLock) -> Result<Cleaned> {
        let mut cleaned = Cleaned::Down(self.interface.clone());
        if let Some(interface) = self.interface_now(namespace)? {
            cleaned = Cleaned::Down(interface.name);
            let root = RootQdisc::of(namespace, self.index)?;
            if let Some(root) = root.filter(|root| *root == self.root) {
                match self.foreign(namespace)? {
                    Some(left) => cleaned = left,
                    None => root.remove(namespace, self.index)?,
                }
            }
            if let Cleaned::Down(name) = &cleaned {
                let tried = || format!("turning {} of {name} on again", offload::in_words(&self.offloads));
                offload::set_in(namespace, name, &self.offloads, true).trying(tried)?;
            }
        }
        self.forget()?;
        Ok(cleaned)
    }

    /// Why the qdisc must stay: a filter or, under `mq`, a qdisc that is not the record's.
    fn foreign(&self, namespace: &NetNamespace) -> Result<Option<Cleaned>> {
        for part in &self.parts {
            match part.replaced_by(namespace, self.index)? {
                Some(Replaced { queue, now: Some(now) }) => {
                    return Ok(Some(Cleaned::Left(format!("{} with {now} at transmit queue {queue}", self.root))));
                }
                Some(_) => continue,
                None => {}
            }
            let filters = part.root.filters(namespace, self.index)?;
            let foreign = filters.iter().find(|filter| filter.program.is_none() || filter.program != part.program);
            if let Some(filter) = foreign {
                return Ok(Some(Cleaned::Left(format!("{} with a filter {}", part.root, filter.kind))));
            }
        }
        Ok(None)
    }

    /// The result of the clean-up that the record's process did itself when it ended.
    pub fn cleaned_by_itself(&self, namespace: &NetNamespace) -> Result<Cleaned> {
        let Some(interface) = self.interface_now(namespace)? else {
            return Ok(Cleaned::Down(self.interface.clone()));
        };
        let left = match RootQdisc::of(namespace, self.index)? {
            Some(root) if root == self.root => self.foreign(namespace)?,
            _ => None,
        };
        Ok(left.unwrap_or(Cleaned::Down(interface.name)))
    }

    /// Removes the record of another namespace if its data plane no longer exists. A namespace can exist without
    /// processes. Commands inside that namespace remove the remains there, and need this record for it.
    pub fn forget_if_gone(&self, here: &NetNamespace) -> Result<()> {
        if self.is_alive() || !self.is_gone(here) {
            return Ok(());
        }
        match DeviceLock::attempt(&self.namespace, self.index)? {
            Some(_lock) => self.forget(),
            None => Ok(()),
        }
    }

    /// Whether the data plane provably no longer exists.
    fn is_gone(&self, here: &NetNamespace) -> bool {
        self.namespace.is_replaced_by(here.id())
            || (self.complete
                && self.offloads.is_empty()
                && self.parts.iter().all(|part| !part.maps.is_empty())
                && self.parts.iter().flat_map(|part| &part.maps).all(|(_, id)| kernel::has_map(*id) == Some(false)))
    }

    /// Removes only the record.
    fn forget(&self) -> Result<()> {
        match Folder::open(Path::new(folder::PATH))? {
            Some(folder) => folder.remove(&self.file_name()),
            None => Ok(()),
        }
    }
}
