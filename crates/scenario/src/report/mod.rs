//! What a run came to.

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
    /// What ran: the full specification with every default filled in, seed, version, events and trace hashes.
    pub manifest: Json,
    /// The main numbers of each scheduler.
    pub summary: Json,
    /// The tables, as named columns.
    pub tables: Vec<Table>,
    /// Whether the run was cancelled before all schedulers were done; only those that were are reported.
    pub partial: bool,
}

/// How far a run is, over all its schedulers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Schedulers that are done.
    pub schedulers_done: usize,
    /// All of them.
    pub schedulers: usize,
    /// Packets that arrived so far; of a network packet-hops.
    pub arrived: u64,
    /// About how many will arrive; `None` if that is not known.
    pub expected: Option<f64>,
    /// About how many bytes of memory the run needs.
    pub memory: f64,
    /// What else is known of a run on a network.
    pub network: Option<NetworkProgress>,
}

/// How far a run on a network is, over all its schedulers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetworkProgress {
    /// Simulated time, in seconds.
    pub simulated_s: f64,
    /// What will be simulated, in seconds.
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
