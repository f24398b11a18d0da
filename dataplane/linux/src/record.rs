//! What is up, written down under /run/pifolab so that other commands find it, also after a crash.

use crate::error::Trying;
use crate::net::interface::Interface;
use crate::net::namespace::NetNamespace;
use crate::net::tc::{self, Root};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

const FOLDER: &str = "/run/pifolab";

/// One data plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The process that holds it.
    pub pid: u32,
    /// When that process started, in clock ticks since boot: another process may get its number.
    started: u64,
    /// The network namespace's number.
    pub namespace: u64,
    /// The interface's index in it.
    pub index: u32,
    /// The interface's name.
    pub interface: String,
    /// The scheduler's name in the library.
    pub scheduler: String,
    /// The kernel's numbers of the program's maps.
    pub maps: Vec<(String, u32)>,
    /// Its kind, if the scheduler is a qdisc itself.
    #[serde(default)]
    pub qdisc: Option<String>,
}

/// The start time of a process; `None` if there is none of that number, or only what is left of one until somebody asks
/// how it ended (in a container that may be never).
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything; behind it stand the state and, as the 20th field, the start time.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

impl Record {
    /// A record of this process.
    ///
    /// # Errors
    /// No /proc.
    pub fn new(
        namespace: &NetNamespace,
        interface: &Interface,
        scheduler: &str,
        maps: Vec<(String, u32)>,
    ) -> Result<Self> {
        let pid = std::process::id();
        Ok(Self {
            pid,
            started: start_of(pid).ok_or_else(|| Error::Failed("/proc does not show this process".to_owned()))?,
            namespace: namespace.inode(),
            index: interface.index,
            interface: interface.name.clone(),
            scheduler: scheduler.to_owned(),
            maps,
            qdisc: None,
        })
    }

    /// Of a scheduler that is a qdisc of `kind`.
    #[must_use]
    pub fn of_qdisc(self, kind: String) -> Self {
        Self { qdisc: Some(kind), ..self }
    }

    fn path(&self) -> PathBuf {
        Path::new(FOLDER).join(format!("{}-{}.json", self.namespace, self.index))
    }

    /// Writes it down.
    ///
    /// # Errors
    /// No right to.
    pub fn write(&self) -> Result<()> {
        fs::create_dir_all(FOLDER).trying(|| format!("making {FOLDER}"))?;
        let (path, text) = (self.path(), serde_json::to_string_pretty(self).expect("plain data"));
        // Renamed, so that nobody reads half of it.
        let fresh = path.with_extension(format!("{}.new", self.pid));
        fs::write(&fresh, text)
            .and_then(|()| fs::rename(&fresh, &path))
            .trying(|| format!("writing {}", path.display()))
    }

    /// Every record, oldest file name first; what is no record is skipped.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all() -> Result<Vec<Self>> {
        let entries = match fs::read_dir(FOLDER) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::failed(format!("reading {FOLDER}"), error)),
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        let json = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        Ok(json.filter_map(|path| serde_json::from_slice(&fs::read(path).ok()?).ok()).collect())
    }

    /// The record of an interface.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn find(namespace: &NetNamespace, interface: &Interface) -> Result<Option<Self>> {
        let is_it = |record: &Self| record.namespace == namespace.inode() && record.index == interface.index;
        Ok(Self::all()?.into_iter().find(is_it))
    }

    /// Whether its process lives.
    pub fn is_alive(&self) -> bool {
        start_of(self.pid) == Some(self.started)
    }

    /// Asks its process to end, and waits until it has.
    ///
    /// # Errors
    /// No right to, or it does not end within five seconds.
    pub fn stop(&self) -> Result<()> {
        let pid = nix::unistd::Pid::from_raw(self.pid as i32);
        for _ in 0..250 {
            if !self.is_alive() {
                return Ok(());
            }
            match nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM) {
                Ok(()) | Err(nix::errno::Errno::ESRCH) => {}
                Err(error) => return Err(Error::failed(format!("ending process {}", self.pid), error)),
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Err(Error::Failed(format!("process {} does not end", self.pid)))
    }

    /// Removes what it put on its interface, then itself. Only the queues that it installed are touched: HTB 1:, which
    /// a crash may have left without its filter.
    ///
    /// # Errors
    /// No right to.
    pub fn clean(&self, namespace: &NetNamespace) -> Result<()> {
        let is_it = |interface: &Interface| interface.index == self.index;
        if namespace.inode() == self.namespace && Interface::find(&self.interface).as_ref().is_ok_and(is_it) {
            match tc::root_of(namespace, &self.interface)? {
                Root::Ours => tc::remove_root(namespace, &self.interface)?,
                Root::Foreign(what) if what == "htb 1:" => tc::remove_root(namespace, &self.interface)?,
                Root::Foreign(_) | Root::Default => {}
            }
        }
        self.forget()
    }

    /// Removes the record alone: for one whose namespace is gone.
    ///
    /// # Errors
    /// No right to.
    pub fn forget(&self) -> Result<()> {
        match fs::remove_file(self.path()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::failed(format!("removing {}", self.path().display()), error))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_process_is_gone_also_before_anybody_asks_how_it_ended() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a child");
        let start = start_of(child.id()).expect("it runs");
        assert!(start >= start_of(std::process::id()).expect("this process runs"));
        child.kill().expect("it can be killed");
        let gone = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            start_of(child.id()).is_none()
        });
        child.wait().expect("it is there to be asked");
        assert!(gone, "it counts as alive");
    }
}
