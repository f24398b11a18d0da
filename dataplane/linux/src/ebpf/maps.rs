//! The maps of a loaded program, and what its registers say.

use super::intf::Shared;
use crate::{Error, Result};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The name of the configuration that all programs share.
pub(super) const CONFIG: &str = ".rodata.config";
/// The name of the counters that all programs share.
pub(super) const STATS: &str = ".data.stats";

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
            Error::Failed(format!("{name} has {got} bytes: expected {expected}; is it another version?"))
        })
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
    pub(super) words: String,
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
