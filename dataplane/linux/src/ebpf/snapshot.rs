//! What a data plane holds and has done, for people and for programs.

use super::intf::{Config, Shared, Stats};
use super::loaded;
use super::programs::Program;
use crate::net::tc::Leaf;
use crate::{Error, Result};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// Where the maps of a program are read: in this process, or in the kernel by their numbers.
pub trait Maps {
    /// The map of global data `name`.
    ///
    /// # Errors
    /// There is none, or the kernel refuses.
    fn bytes(&self, name: &str) -> Result<Vec<u8>>;
}

impl dyn Maps + '_ {
    /// The map of global data `name` as a value.
    ///
    /// # Errors
    /// There is none, it is of another size, or the kernel refuses.
    pub fn get<T: Shared>(&self, name: &str) -> Result<T> {
        let bytes = self.bytes(name)?;
        T::from_bytes(&bytes).ok_or_else(|| {
            let (got, expected) = (bytes.len(), size_of::<T>());
            Error::Failed(format!("{name} has {got} bytes where {expected} were expected: another version?"))
        })
    }
}

/// The kernel's numbers of maps, with their names.
pub(crate) struct Numbered<'a>(pub &'a [(String, u32)]);

impl Maps for Numbered<'_> {
    fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        let entry = self.0.iter().find(|(known, _)| known == name);
        let (_, id) = entry.ok_or_else(|| Error::Failed(format!("no map {name}")))?;
        loaded::read_by_id(*id, name)
    }
}

/// One queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueSnapshot {
    /// The most that it holds, in the unit of the snapshot.
    pub capacity: u64,
    /// What the kernel's queue holds, in that unit.
    pub occupancy: u64,
    /// Packets that the program let in.
    pub admitted_packets: u64,
    /// Their bytes.
    pub admitted_bytes: u64,
    /// Packets that passed the test but met this queue full.
    pub dropped_full: u64,
    /// Packets that the program let in and the kernel's queue refused.
    pub dropped_by_leaf: u64,
    /// The smallest rank that it takes (SP-PIFO) or the largest (PACKS eq. 11, Exp-PIFO with `mapping = bounds`).
    pub bound: Option<i64>,
}

/// The registers of a scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    /// For programs.
    pub value: Value,
    /// For people; empty if the table of queues shows all.
    words: String,
}

impl Registers {
    /// Registers that programs see as `value` and people as `words`.
    pub const fn new(value: Value, words: String) -> Self {
        Self { value, words }
    }

    /// None beside the bounds of the queues.
    pub fn bounds() -> Self {
        Self::new("bounds".into(), String::new())
    }

    /// A window, oldest rank first.
    pub fn window(ranks: Vec<u64>) -> Self {
        let newest = &ranks[ranks.len().saturating_sub(20)..];
        let words = format!("window: {} ranks, the newest {newest:?}", ranks.len());
        Self::new(serde_json::json!({ "window": ranks }), words)
    }
}

impl Serialize for Registers {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

/// A data plane at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// The scheduler's name in the library.
    pub scheduler: &'static str,
    /// Of capacities and occupancies: `packets` or `bytes`.
    pub unit: &'static str,
    /// Highest priority first.
    pub queues: Vec<QueueSnapshot>,
    /// Packets whose rank the test refused.
    pub dropped_admission: u64,
    /// IP packets that carried no rank and got that of `--rank-missing`.
    pub unranked: u64,
    /// Frames of address resolution and neighbour discovery.
    pub neighbour: u64,
    /// Frames that were not IP.
    pub not_ip: u64,
    /// Times that the counters did not agree with the kernel and were set right (with `--occupancy-from counters`).
    pub resyncs: u64,
    /// The scheduler's registers.
    pub registers: Registers,
}

impl Snapshot {
    pub(crate) fn read(program: &dyn Program, maps: &dyn Maps, leaves: &[Leaf]) -> Result<Self> {
        let config: Config = maps.get(loaded::CONFIG)?;
        let stats: Stats = maps.get(loaded::STATS)?;
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

    /// Packets that the program let in.
    pub fn admitted(&self) -> u64 {
        self.queues.iter().map(|queue| queue.admitted_packets).sum()
    }
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
