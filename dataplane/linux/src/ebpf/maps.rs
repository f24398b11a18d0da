//! The maps of a loaded program, and the contents of its registers.

use super::intf::Shared;
use crate::{Error, Result};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// The name of the configuration map, common to all programs.
pub(super) const CONFIG: &str = ".rodata.config";
/// The name of the map of counters, common to all programs.
pub(super) const STATS: &str = ".data.stats";

/// A source of a program's maps: this process, or the kernel by map ids.
pub trait Maps {
    /// The bytes of the map of global data `name`.
    fn bytes(&self, name: &str) -> Result<Vec<u8>>;

    /// Whether the program has the map of global data `name`.
    fn has(&self, name: &str) -> bool;
}

impl dyn Maps + '_ {
    /// The value of the map of global data `name`.
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
    /// The queue's capacity, in the unit of the snapshot.
    pub capacity: u64,
    /// The occupancy of the kernel's queue, in that unit.
    pub occupancy: u64,
    /// Packets admitted by the program.
    pub admitted_packets: u64,
    /// Bytes admitted by the program.
    pub admitted_bytes: u64,
    /// Packets that passed the test but whose queue was full.
    pub dropped_full: u64,
    /// Packets that the program admitted and the kernel's queue refused.
    pub dropped_by_leaf: u64,
    /// The smallest rank of the queue (SP-PIFO), or its largest (PACKS eq. 11, Exp-PIFO with `mapping = bounds`).
    pub bound: Option<i64>,
}

/// The registers of a scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    /// The registers as JSON.
    pub value: Value,
    /// The registers as text; empty if the table of queues shows them all.
    pub(super) words: String,
}

impl Registers {
    /// Registers with the JSON `value` and the text `words`.
    pub const fn new(value: Value, words: String) -> Self {
        Self { value, words }
    }

    /// Registers that are only the bounds of the queues.
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
