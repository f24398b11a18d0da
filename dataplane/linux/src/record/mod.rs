//! What is up, written down under /run/pifolab so that other commands find it, also after a crash; and the locks by which
//! one process at a time has an interface.

mod folder;
mod kernel;
pub mod offloads;
mod process;

use crate::error::Trying;
use crate::net::class::{Class, Classes};
use crate::net::interface::Interface;
use crate::net::namespace::{NamespaceId, NetNamespace};
use crate::net::offload::{self, Offload};
use crate::net::root::RootQdisc;
use crate::{Error, Result};
use folder::{Folder, Lock};
use process::Process;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a record may take to appear after its lock, and a lock to be free after its process has ended.
const PATIENCE: Duration = Duration::from_secs(30);

/// One data plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The process that holds it.
    pub process: Process,
    /// The network namespace.
    pub namespace: NamespaceId,
    /// The interface's index in it.
    pub index: u32,
    /// The address that the interface was made with.
    permanent_address: String,
    /// The interface's name when it was put up.
    pub interface: String,
    /// The scheduler's name in the library.
    pub scheduler: String,
    /// The kernel's numbers of the program's maps.
    pub maps: Vec<(String, u32)>,
    /// Its root qdisc.
    pub root: RootQdisc,
    /// The kernel's number of the filter's program; none if the scheduler is the qdisc itself.
    pub program: Option<u32>,
    /// The classes of the root qdisc.
    #[serde(default)]
    pub classes: Vec<Class>,
    /// Whether all of it is in place: from then on the maps last as long as what is on the interface.
    #[serde(default)]
    pub complete: bool,
    /// The interface's offloads that were turned off, to be turned on again.
    pub offloads: Vec<Offload>,
}

/// The right to an interface: as long as it is held, no other process puts anything up there or takes it down.
#[derive(Debug)]
pub struct DeviceLock {
    folder: Folder,
    name: String,
    _lock: Lock,
}

impl Drop for DeviceLock {
    fn drop(&mut self) {
        // While the lock is held: a process that waits for it sees that the file is gone, and makes another.
        let _ = self.folder.remove(&self.name);
    }
}

fn stem(namespace: &NamespaceId, index: u32) -> String {
    format!("{}-{index}", namespace.file_stem())
}

impl DeviceLock {
    /// Takes it; `None` if another process holds it.
    ///
    /// # Errors
    /// No right to.
    fn attempt(namespace: &NamespaceId, index: u32) -> Result<Option<Self>> {
        let folder = Folder::make(Path::new(folder::PATH))?;
        let name = stem(namespace, index) + ".lock";
        let lock = folder.lock(&name)?;
        Ok(lock.map(|lock| Self { folder, name, _lock: lock }))
    }

    /// Takes it.
    ///
    /// # Errors
    /// Another process holds it: says which. No right to.
    pub fn take(namespace: &NetNamespace, interface: &Interface) -> Result<Self> {
        if let Some(lock) = Self::attempt(namespace.id(), interface.index)? {
            return Ok(lock);
        }
        let name = &interface.name;
        // Its record comes soon after its lock.
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

/// What became of the qdisc that a record speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cleaned {
    /// It is removed, from the interface of this name; or there was nothing left to remove.
    Down(String),
    /// What is there now is not provably ours, and stays: its description.
    Left(String),
}

impl Record {
    /// A record of this process.
    ///
    /// # Errors
    /// /proc is not mounted.
    pub fn new(namespace: &NetNamespace, interface: &Interface, scheduler: &str, root: RootQdisc) -> Result<Self> {
        Ok(Self {
            process: Process::this()?,
            namespace: namespace.id().clone(),
            index: interface.index,
            permanent_address: interface.permanent_address.clone(),
            interface: interface.name.clone(),
            scheduler: scheduler.to_owned(),
            maps: Vec::new(),
            root,
            program: None,
            classes: Vec::new(),
            complete: false,
            offloads: Vec::new(),
        })
    }

    fn file_name(&self) -> String {
        stem(&self.namespace, self.index) + ".json"
    }

    /// Writes it down.
    ///
    /// # Errors
    /// No right to.
    pub fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(self).expect("plain data");
        Folder::make(Path::new(folder::PATH))?.write(&self.file_name(), text.as_bytes())
    }

    /// Every record, in the order of their file names; what is not a record is skipped.
    ///
    /// # Errors
    /// The folder cannot be read, or cannot be trusted.
    pub fn all() -> Result<Vec<Self>> {
        let Some(folder) = Folder::open(Path::new(folder::PATH))? else { return Ok(Vec::new()) };
        let names = folder.names(".json")?;
        Ok(names.iter().filter_map(|name| serde_json::from_slice(&folder.read(name)?).ok()).collect())
    }

    /// The record of an interface.
    ///
    /// # Errors
    /// The folder cannot be read, or cannot be trusted.
    pub fn find(namespace: &NetNamespace, interface: &Interface) -> Result<Option<Self>> {
        let is_it = |record: &Self| record.is_of(namespace) && record.index == interface.index;
        Ok(Self::all()?.into_iter().find(is_it))
    }

    /// Whether it is still written down: its process has not removed it.
    ///
    /// # Errors
    /// The folder cannot be read, or cannot be trusted.
    pub fn is_written(&self) -> Result<bool> {
        let Self { namespace, index, process, .. } = self;
        let is_it = |other: &Self| other.namespace == *namespace && other.index == *index && other.process == *process;
        Ok(Self::all()?.iter().any(is_it))
    }

    /// Whether it is of this namespace.
    pub fn is_of(&self, namespace: &NetNamespace) -> bool {
        self.namespace == *namespace.id()
    }

    /// Whether its process lives.
    pub fn is_alive(&self) -> bool {
        self.process.is_alive()
    }

    /// Asks its process to end, if it lives, and takes the interface over.
    ///
    /// # Errors
    /// No right to; the process does not end.
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

    /// The interface that it speaks of, whatever its name is by now; `None` if it is gone or another one.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn interface_now(&self, namespace: &NetNamespace) -> Result<Option<Interface>> {
        if !self.is_of(namespace) {
            return Ok(None);
        }
        let found = Interface::of_index(namespace, self.index)?;
        Ok(found.filter(|found| found.permanent_address == self.permanent_address))
    }

    /// What somebody did to its qdisc, filter or classes, so that the scheduler does not work as it was put up; `None` if all are in
    /// place.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn disturbed(&self, namespace: &NetNamespace) -> Result<Option<String>> {
        let root = RootQdisc::of(namespace, self.index)?;
        Ok(match (root, self.program) {
            _ if !self.complete => None,
            (None, _) => Some("its root qdisc was removed".to_owned()),
            (Some(root), _) if root != self.root => Some(format!("its root qdisc was replaced (now {root})")),
            (Some(root), Some(program)) if !root.runs(program, namespace, self.index)? => {
                Some("its filter was removed".to_owned())
            }
            _ => match self.root.compared(&self.classes, namespace, self.index)? {
                Classes::AsNoted => None,
                classes => Some(classes.in_words().to_owned()),
            },
        })
    }

    /// Removes what it put on its interface, then itself. Only a root qdisc of the kind and with the handle that it noted
    /// is touched, and only if no filter but its own is on it (a crash may have come before that was attached).
    ///
    /// # Errors
    /// No right to.
    pub fn clean(&self, namespace: &NetNamespace, _lock: &DeviceLock) -> Result<Cleaned> {
        let mut cleaned = Cleaned::Down(self.interface.clone());
        if let Some(interface) = self.interface_now(namespace)? {
            cleaned = Cleaned::Down(interface.name);
            let root = RootQdisc::of(namespace, self.index)?;
            if let Some(root) = root.filter(|root| *root == self.root) {
                let filters = root.filters(namespace, self.index)?;
                let foreign = filters.iter().find(|filter| filter.program.is_none() || filter.program != self.program);
                match foreign {
                    Some(filter) => cleaned = Cleaned::Left(format!("{root} with a filter {}", filter.kind)),
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

    /// Removes the record of another namespace if nothing is left of what it speaks of. A namespace lives on without
    /// processes: what was left there is removed by those who work in it, who need this record for it.
    ///
    /// # Errors
    /// No right to.
    pub fn forget_if_gone(&self, here: &NetNamespace) -> Result<()> {
        if self.is_alive() || !self.is_gone(here) {
            return Ok(());
        }
        match DeviceLock::attempt(&self.namespace, self.index)? {
            Some(_lock) => self.forget(),
            None => Ok(()),
        }
    }

    /// Whether there is proof that nothing is left of it.
    fn is_gone(&self, here: &NetNamespace) -> bool {
        self.namespace.is_replaced_by(here.id())
            || (self.complete
                && self.offloads.is_empty()
                && !self.maps.is_empty()
                && self.maps.iter().all(|(_, id)| kernel::has_map(*id) == Some(false)))
    }

    /// Removes the record alone.
    ///
    /// # Errors
    /// No right to.
    fn forget(&self) -> Result<()> {
        match Folder::open(Path::new(folder::PATH))? {
            Some(folder) => folder.remove(&self.file_name()),
            None => Ok(()),
        }
    }
}
