//! Builds a report: the manifest keys, summary and tables that both kinds of runs share.

use super::Report;
use super::columns::Cell;
use crate::inputs;
use crate::spec::common::Common;
use crate::spec::schedulers::SchedulerSpec;
use pifolab_metrics::{Column, Table, Texts};
use pifolab_sim::trace_hash::TraceHash;
use serde_json::{Map, Value as Json, json};

/// The report so far.
#[derive(Default)]
pub(crate) struct Builder {
    tables: Vec<Table>,
    summaries: Vec<Json>,
    runs: Vec<Json>,
    warnings: Vec<String>,
    hash: TraceHash,
}

/// The outcome of one scheduler.
pub(crate) struct Outcome<'a> {
    pub(crate) scheduler: &'a SchedulerSpec,
    pub(crate) events: u64,
    pub(crate) trace_hash: u64,
    /// Further keys of the manifest.
    pub(crate) more: Json,
    /// Its row in the table `schedulers` and in the summary.
    pub(crate) row: Vec<(&'static str, Cell)>,
    /// Further keys of the summary.
    pub(crate) summary: Json,
    /// Its other tables.
    pub(crate) tables: Vec<Table>,
}

impl Builder {
    /// Adds a warning about something valid that may not be intended.
    pub(crate) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// Adds the outcome of one scheduler.
    pub(crate) fn add(&mut self, outcome: Outcome<'_>) {
        let Outcome { scheduler, events, trace_hash, more, row, summary, tables } = outcome;
        self.hash.fold(trace_hash);
        let run = json!({ "scheduler": scheduler.label, "events": events, "trace_hash": hex(trace_hash) });
        self.runs.push(joined(run, more));
        let mut cells = Map::from_iter([("scheduler".to_owned(), json!(scheduler.label))]);
        cells.insert("name".to_owned(), json!(scheduler.chosen.name));
        cells.extend(row.iter().map(|(name, cell)| ((*name).to_owned(), cell.json())));
        self.summaries.push(joined(cells.into(), summary));
        let mut columns = vec![("name", Column::Texts(Texts::repeated(&scheduler.chosen.name, 1)))];
        columns.extend(row.into_iter().map(|(name, cell)| (name, cell.column())));
        for table in std::iter::once(Table::new("schedulers", columns)).chain(tables) {
            let table = table.labelled("scheduler", &scheduler.label);
            match self.tables.iter_mut().find(|other| other.name == table.name) {
                Some(other) => other.append(table),
                None => self.tables.push(table),
            }
        }
    }

    /// The report. `drawn`: whether the run depends on the seed; `partial`: whether it ended early.
    pub(crate) fn finish(self, common: &Common, kind: &str, seed: u64, drawn: bool, partial: bool) -> Report {
        let overrides: Vec<String> = common.overrides.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let manifest = json!({
            "pifolab": env!("CARGO_PKG_VERSION"),
            "kind": kind,
            "file": common.file,
            "text": common.text,
            "overrides": overrides,
            "spec": common.resolved,
            "inputs": inputs::listed(&common.resolved),
            "seed": seed,
            "random": drawn,
            "runs": self.runs,
            "trace_hash": hex(self.hash.value()),
            "warnings": self.warnings,
            "partial": partial,
        });
        let summary = json!({"seed": seed, "partial": partial, "schedulers": self.summaries});
        Report { manifest, summary, tables: self.tables, partial }
    }
}

/// A hash in the form of manifests.
pub(crate) fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

/// The keys of both tables.
fn joined(mut one: Json, other: Json) -> Json {
    if let (Json::Object(one), Json::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}
