//! Offloads that are off while a switch runs, recorded so that they can be turned on again after a crash.

use super::folder::{self, Folder};
use super::process::Process;
use super::stem;
use crate::error::Trying;
use crate::net::interface::Interface;
use crate::net::namespace::{NamespaceId, NetNamespace};
use crate::net::offload::{self, Offload};
use crate::{Result, say};
use serde::{Deserialize, Serialize};
use std::path::Path;

const EXTENSION: &str = ".offloads";

/// The record for one interface.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Note {
    /// The process that turned the offloads off.
    process: Process,
    namespace: NamespaceId,
    index: u32,
    permanent_address: String,
    /// The interface's name at that time.
    interface: String,
    offloads: Vec<Offload>,
}

impl Note {
    fn file_name(&self) -> String {
        stem(&self.namespace, self.index) + EXTENSION
    }

    /// Turns the offloads on again if the interface still exists, and removes the record. Returns the interface's
    /// current name.
    fn restore(&self, namespace: &NetNamespace) -> Result<Option<String>> {
        let found = Interface::of_index(namespace, self.index)?;
        let found = found.filter(|found| found.permanent_address == self.permanent_address);
        if let Some(found) = &found {
            let tried = || format!("turning {} of {} on again", offload::in_words(&self.offloads), found.name);
            offload::set_in(namespace, &found.name, &self.offloads, true).trying(tried)?;
        }
        if let Some(folder) = Folder::open(Path::new(folder::PATH))? {
            folder.remove(&self.file_name())?;
        }
        Ok(found.map(|found| found.name))
    }
}

/// Offloads that are off until this is dropped.
#[derive(Debug)]
pub struct TurnedOff {
    namespace: NetNamespace,
    note: Note,
}

impl TurnedOff {
    /// Turns off the offloads of `offloads` that are on for the interface `name` in the calling thread's namespace.
    pub fn new(name: &str, offloads: &[Offload]) -> Result<Self> {
        let namespace = NetNamespace::current()?;
        let interface = Interface::find(name)?;
        let on = offload::enabled(name, offloads).trying(|| format!("asking about the offloads of {name}"))?;
        let note = Note {
            process: Process::this()?,
            namespace: namespace.id().clone(),
            index: interface.index,
            permanent_address: interface.permanent_address,
            interface: name.to_owned(),
            offloads: on,
        };
        let turned = Self { namespace, note };
        if turned.note.offloads.is_empty() {
            return Ok(turned);
        }
        let words = offload::in_words(&turned.note.offloads);
        // Recorded first. A user who cannot write records (without privileges, in a private namespace) continues
        // without.
        let text = serde_json::to_string_pretty(&turned.note).expect("plain data");
        let noted = Folder::make(Path::new(folder::PATH))
            .and_then(|folder| folder.write(&turned.note.file_name(), text.as_bytes()));
        if let Err(error) = noted {
            say(&format!("{name}: {words} stay off if the switch is killed, since that cannot be recorded: {error}"));
        }
        let off = offload::set(name, &turned.note.offloads, false);
        off.trying(|| format!("turning {words} of {name} off"))?;
        Ok(turned)
    }
}

impl Drop for TurnedOff {
    fn drop(&mut self) {
        if self.note.offloads.is_empty() {
            return;
        }
        // An interface that no longer exists has no offloads.
        if let Err(error) = self.note.restore(&self.namespace) {
            say(&error.to_string());
        }
    }
}

/// Turns on again the offloads that killed switches turned off, in `namespace`; with `only`, on the interface with this
/// name, then or now. Returns a line per interface.
pub fn restore_after_crashes(namespace: &NetNamespace, only: Option<&str>) -> Result<Vec<String>> {
    let Some(folder) = Folder::open(Path::new(folder::PATH))? else { return Ok(Vec::new()) };
    let mut done = Vec::new();
    for name in folder.names(EXTENSION)? {
        let Some(note) = folder.read(&name).and_then(|bytes| serde_json::from_slice::<Note>(&bytes).ok()) else {
            continue;
        };
        if note.process.is_alive() {
            continue;
        }
        if note.namespace != *namespace.id() {
            if note.namespace.is_replaced_by(namespace.id()) {
                folder.remove(&name)?;
            }
            continue;
        }
        let now = Interface::of_index(namespace, note.index)?;
        let is_wanted =
            |only: &str| note.interface == only || now.as_ref().is_some_and(|interface| interface.name == only);
        if !only.is_none_or(is_wanted) {
            continue;
        }
        if let Some(now) = note.restore(namespace)? {
            done.push(format!("{now}: {} on again", offload::in_words(&note.offloads)));
        }
    }
    Ok(done)
}
