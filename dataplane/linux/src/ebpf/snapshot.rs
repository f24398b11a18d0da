//! The occupancies and counters of a data plane, as text and as JSON.

use super::intf::{Config, Stats};
use super::maps::{CONFIG, Maps, QueueSnapshot, Registers, STATS};
use super::program::Program;
use crate::Result;
use crate::net::namespace::NetNamespace;
use crate::net::part::Part;
use crate::net::tc::{self, Leaf};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt;

/// A data plane at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// The scheduler's name in the library.
    pub scheduler: &'static str,
    /// The unit of capacities and occupancies: `packets` or `bytes`.
    pub unit: &'static str,
    /// The queues, highest priority first.
    pub queues: Vec<QueueSnapshot>,
    /// Packets whose rank failed the test.
    pub dropped_admission: u64,
    /// IP packets without a rank, which got the rank of `--rank-missing`.
    pub unranked: u64,
    /// Frames of address resolution and neighbour discovery.
    pub neighbour: u64,
    /// Frames that are not IP.
    pub not_ip: u64,
    /// The number of corrections of the counters from the kernel's values (with `--occupancy-from counters`).
    pub resyncs: u64,
    /// The scheduler's registers.
    pub registers: Registers,
}

impl Snapshot {
    pub(crate) fn read(program: &dyn Program, maps: &dyn Maps, leaves: &[Leaf]) -> Result<Self> {
        let config: Config = maps.get(CONFIG)?;
        let stats: Stats = maps.get(STATS)?;
        let leaf = |queue: usize| leaves.get(queue).copied().unwrap_or_default();
        let queue = |queue: usize| QueueSnapshot {
            capacity: config.capacity[queue],
            occupancy: if config.in_bytes == 0 { leaf(queue).packets } else { leaf(queue).bytes },
            admitted_packets: stats.admitted_packets[queue],
            admitted_bytes: stats.admitted_bytes[queue],
            dropped_full: stats.full[queue],
            dropped_by_leaf: leaf(queue).drops,
            bound: None,
        };
        let mut queues: Vec<_> = (0..config.queues as usize).map(queue).collect();
        let registers = program.registers(maps, &mut queues)?;
        Ok(Self {
            scheduler: program.name(),
            unit: if config.in_bytes == 0 { "packets" } else { "bytes" },
            queues,
            dropped_admission: stats.admission,
            unranked: stats.unranked,
            neighbour: stats.neighbour,
            not_ip: stats.other,
            resyncs: stats.resyncs,
            registers,
        })
    }

    /// Packets dropped for any reason.
    pub fn dropped(&self) -> u64 {
        self.dropped_admission + self.queues.iter().map(|queue| queue.dropped_full + queue.dropped_by_leaf).sum::<u64>()
    }

    /// Packets admitted by the program.
    pub fn admitted(&self) -> u64 {
        self.queues.iter().map(|queue| queue.admitted_packets).sum()
    }
}

/// The snapshot of the data plane on an interface, as JSON and as text: that of its scheduler, or of each transmit queue's.
pub(crate) fn shown_parts(
    program: &dyn Program,
    namespace: &NetNamespace,
    interface: &str,
    parts: &[(&Part, &dyn Maps)],
) -> Result<(Value, String)> {
    let mut shown = Vec::new();
    for (part, maps) in parts {
        let leaves = tc::leaves(namespace, interface, &part.root, super::intf::MAX_QUEUES)?;
        shown.push((part.transmit_queue(), Snapshot::read(program, *maps, &leaves)?));
    }
    if let [(None, snapshot)] = &shown[..] {
        return Ok(super::shown(snapshot));
    }
    let text = shown.iter().map(|(queue, snapshot)| format!("transmit queue {}\n{snapshot}", queue.unwrap_or(0)));
    let text = text.collect::<Vec<_>>().join("\n");
    let snapshots: Vec<_> = shown.iter().map(|(_, snapshot)| snapshot).collect();
    Ok((json!({ "scheduler": program.name(), "transmit_queues": snapshots }), text))
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = self.queues.iter().any(|queue| queue.bound.is_some());
        write!(
            f,
            "queue  {:>9}  capacity  {:>12}  {:>15}  {:>12}  {:>9}",
            "occupancy", "admitted", "bytes", "dropped full", "by leaf"
        )?;
        writeln!(f, "{}", if bounds { "  bound" } else { "" })?;
        for (index, queue) in self.queues.iter().enumerate() {
            write!(
                f,
                "{index:>5}  {:>9}  {:>8}  {:>12}  {:>15}  {:>12}  {:>9}",
                queue.occupancy,
                queue.capacity,
                queue.admitted_packets,
                queue.admitted_bytes,
                queue.dropped_full,
                queue.dropped_by_leaf
            )?;
            match queue.bound {
                Some(bound) => writeln!(f, "  {bound}")?,
                None if bounds => writeln!(f, "  -")?,
                None => writeln!(f)?,
            }
        }
        write!(
            f,
            "(in {}) dropped by admission {}, without a rank {}, ARP and neighbour discovery {}, not IP {}, resyncs {}",
            self.unit, self.dropped_admission, self.unranked, self.neighbour, self.not_ip, self.resyncs
        )?;
        match self.registers.words.as_str() {
            "" => Ok(()),
            words => write!(f, "\n{words}"),
        }
    }
}
