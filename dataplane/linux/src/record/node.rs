//! The records of running DPDK nodes: each keeps its counters in a file, for `status`.

use super::folder::{self, Folder};
use super::process::Process;
use crate::Result;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// The end of the files' names. A record of the kernel's data plane is no node: it has other fields.
const EXTENSION: &str = ".node.json";

/// The record of this process, which is removed when it is dropped.
#[derive(Debug)]
pub struct NodeRecord {
    folder: Folder,
    process: Process,
}

/// A node and its last counters.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunningNode {
    /// Its process.
    pub process: Process,
    /// What it has counted, at most a second ago.
    pub counters: Value,
}

fn file_of(process: &Process) -> String {
    format!("{}{EXTENSION}", process.pid)
}

fn read(folder: &Folder) -> Result<Vec<RunningNode>> {
    let names = folder.names(EXTENSION)?;
    Ok(names.iter().filter_map(|name| serde_json::from_slice(&folder.read(name)?).ok()).collect())
}

impl NodeRecord {
    /// A record without counters yet. Removes those of nodes that were killed.
    pub fn new() -> Result<Self> {
        let folder = Folder::make(Path::new(folder::PATH))?;
        for ended in read(&folder)?.iter().filter(|node| !node.process.is_alive()) {
            folder.remove(&file_of(&ended.process))?;
        }
        Ok(Self { folder, process: Process::this()? })
    }

    /// Writes the counters.
    pub fn write(&self, counters: &Value) -> Result<()> {
        let node = RunningNode { process: self.process.clone(), counters: counters.clone() };
        self.folder.write(&file_of(&self.process), serde_json::to_string(&node).expect("plain data").as_bytes())
    }
}

impl Drop for NodeRecord {
    fn drop(&mut self) {
        let _ = self.folder.remove(&file_of(&self.process));
    }
}

impl RunningNode {
    /// All nodes that are alive.
    pub fn all() -> Result<Vec<Self>> {
        let Some(folder) = Folder::open(Path::new(folder::PATH))? else { return Ok(Vec::new()) };
        Ok(read(&folder)?.into_iter().filter(|node| node.process.is_alive()).collect())
    }

    fn text<'a>(&'a self, key: &str) -> &'a str {
        self.counters[key].as_str().unwrap_or_default()
    }

    /// The device that frames leave by.
    pub fn output(&self) -> &str {
        self.text("output")
    }

    /// Its scheduler.
    pub fn scheduler(&self) -> &str {
        self.text("scheduler")
    }

    /// Whether `device` is one of its two.
    pub fn has(&self, device: &str) -> bool {
        [self.text("input"), self.output()].contains(&device)
    }

    /// A line with its counters.
    pub fn line(&self) -> String {
        let count = |key: &str| self.counters[key].as_u64().unwrap_or_default();
        let (received, sent, held) = (count("received_packets"), count("sent_packets"), count("held"));
        let queues = self.counters["device_queues"].as_array().map_or(0, Vec::len);
        format!(
            "{} -> {}: {} on {queues} queues of DPDK devices (process {}): {received} packets received, {sent} sent, {} dropped, {held} held",
            self.text("input"),
            self.output(),
            self.scheduler(),
            self.process.pid,
            received.saturating_sub(sent + held)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_names_the_devices_and_counts_every_packet() {
        let counters = json!({ "input": "a", "output": "b", "scheduler": "pifo", "received_packets": 9, "sent_packets": 4, "held": 3,
            "device_queues": [{}, {}] });
        let node = RunningNode { process: Process::this().expect("/proc is mounted"), counters };
        let expected = format!(
            "a -> b: pifo on 2 queues of DPDK devices (process {}): 9 packets received, 4 sent, 2 dropped, 3 held",
            std::process::id()
        );
        assert_eq!(node.line(), expected);
        assert!(node.has("a") && node.has("b") && !node.has("c"));
    }
}
