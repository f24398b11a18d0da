//! The common part of both kinds of scenarios.

use crate::error::SpecError;
use crate::fields::Reader;
use crate::registry::{Form, usual_form};
use pifolab_params::{Misfit, Param, TIME_UNITS, Table, Value, join};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// The common part of a checked scenario of either kind.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) overrides: Vec<(String, String)>,
    pub(crate) seeds: Vec<u64>,
    /// The keys of the tables at the top that were written, such as `transport.min_rto_us`.
    pub(crate) written: Vec<String>,
    /// All keys, with defaults filled in.
    pub(crate) resolved: Json,
}

impl Common {
    /// The written keys among these, `table.key` without a unit, as a list for a message; `None` if there are none.
    pub(crate) fn written_of(&self, keys: &[&str]) -> Option<String> {
        let is_one = |written: &&String| {
            keys.iter().any(|key| {
                let unit = written.strip_prefix(key);
                unit.is_some_and(|unit| unit.is_empty() || TIME_UNITS.iter().any(|(known, _)| *known == unit))
            })
        };
        let written: Vec<&str> = self.written.iter().filter(is_one).map(String::as_str).collect();
        (!written.is_empty()).then(|| written.join(", "))
    }
}

/// The keys of the tables at the top of a scenario.
pub(crate) fn written_keys(root: &Table) -> Vec<String> {
    let keys = |(table, inside): (&str, &Table)| -> Vec<String> {
        inside.entries.iter().map(|entry| join(table, &entry.key)).collect()
    };
    let tables = root.entries.iter().filter_map(|entry| match &entry.value {
        Value::Table(inside) => Some((entry.key.as_str(), inside)),
        _ => None,
    });
    tables.flat_map(keys).collect()
}

/// The largest seed.
pub(crate) const MAX_SEED: u64 = i64::MAX as u64;
/// The most packets of a run.
pub(crate) const MAX_PACKETS: u64 = 1 << 40;

/// The key that runs the plain text of every scheduler.
pub(crate) const PLAIN: Param = Param::flag("plain").means("false").doc(
    "Whether the schedulers run as their papers print them, even where a faster twin makes the same decisions; pifolab run --plain \
     sets it.",
);

/// Reads the form in which the schedulers run.
pub(crate) fn read_form(top: &mut Reader<'_>) -> Result<Form, SpecError> {
    let form = match top.get("plain")? {
        None => usual_form(),
        Some(true) => Form::Plain,
        Some(false) => Form::Twins,
    };
    if form == Form::Plain {
        top.resolved.insert("plain".to_owned(), true.into());
    }
    Ok(form)
}

/// The seeds that a scenario lists, each once.
pub(crate) fn read_seeds(top: &mut Reader<'_>) -> Result<Vec<u64>, SpecError> {
    let seeds = top.usual::<Vec<u64>>("seeds")?;
    let mut seen = BTreeSet::new();
    if let Some(twice) = seeds.iter().find(|seed| !seen.insert(**seed)) {
        let problem = format!("seed {twice} is a duplicate: expected each seed once");
        return Err(top.fault("seeds", Misfit::of(format_args!("{seeds:?}"), problem)));
    }
    top.resolved.insert("seeds".to_owned(), seeds.clone().into());
    Ok(seeds)
}
