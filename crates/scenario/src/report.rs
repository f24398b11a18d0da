//! What a run came to.

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

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Schedulers that are done.
    pub schedulers_done: usize,
    /// All of them.
    pub schedulers: usize,
    /// Packets that arrived so far, over all schedulers.
    pub arrived: u64,
    /// About how many will arrive, over all schedulers; `None` if that is not known.
    pub expected: Option<f64>,
}

impl Report {
    /// The table called `name`.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}
