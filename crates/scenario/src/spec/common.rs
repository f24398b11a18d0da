//! The common part of both kinds of scenarios.

use crate::error::SpecError;
use crate::fields::Reader;
use crate::registry::{Form, usual_form};
use pifolab_params::{Misfit, Param};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// The common part of a checked scenario of either kind.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) overrides: Vec<(String, String)>,
    pub(crate) seeds: Vec<u64>,
    /// All keys, with defaults filled in.
    pub(crate) resolved: Json,
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
