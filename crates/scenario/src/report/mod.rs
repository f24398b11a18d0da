//! The report of a run.

mod builder;
mod columns;
pub(crate) mod measured;
pub(crate) mod network;
mod nothing;
pub(crate) mod one_link;
pub(crate) mod record;
mod unexercised;

use pifolab_metrics::Table;
use serde_json::Value as Json;

/// The results of one scenario with one seed. `docs/run-folder.md` describes every table and column.
#[derive(Clone, Debug)]
pub struct Report {
    /// The full specification with every default filled in, seed, version, events and trace hashes.
    pub manifest: Json,
    /// The main numbers of each scheduler.
    pub summary: Json,
    /// The tables, as named columns.
    pub tables: Vec<Table>,
    /// Whether the run was cancelled before all schedulers were done; the report has only those that were.
    pub partial: bool,
}

/// The progress of a run, over all its schedulers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Schedulers that are done.
    pub schedulers_done: usize,
    /// All schedulers.
    pub schedulers: usize,
    /// Packets that arrived so far; in a network, packet-hops.
    pub arrived: u64,
    /// The approximate number that will arrive; `None` if unknown.
    pub expected: Option<f64>,
    /// The estimated memory of the run in bytes.
    pub memory: f64,
    /// Further progress of a run on a network.
    pub network: Option<NetworkProgress>,
}

/// The progress of a run on a network, over all its schedulers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetworkProgress {
    /// Simulated time, in seconds.
    pub simulated_s: f64,
    /// Time to simulate, in seconds.
    pub duration_s: f64,
    /// Events that happened.
    pub events: u64,
    /// Flows that are complete.
    pub flows_done: u64,
    /// All flows.
    pub flows: u64,
}

impl Report {
    /// The table called `name`.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}
