//! The text of a scenario.

use crate::error::{Error, SpecError};
use crate::text;
use pifolab_params::{Misfit, Place, Table, Value};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// The text of a scenario as a table, with overrides applied.
#[derive(Clone, Debug)]
pub struct Spec {
    pub(crate) root: Table,
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) overrides: Vec<(String, String)>,
    /// The keys that flags have set so far.
    set: text::Written,
}

impl Spec {
    /// Reads TOML; `file` is its name in errors, and file names in it are relative to its folder.
    ///
    /// # Errors
    /// The text is invalid TOML; the error names the line.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let root = text::parse(text, file)?;
        Ok(Self {
            root,
            file: file.to_owned(),
            text: text.to_owned(),
            overrides: Vec::new(),
            set: text::Written::new(),
        })
    }

    /// Overrides one key: a dotted path such as `link.rate_gbps` or `scheduler.packs.window` (a scheduler by label,
    /// name, or number from 0), and a value as TOML would have it, or a plain text.
    ///
    /// # Errors
    /// The path does not exist, or the key was already set, under this name or another. Whether the key exists is
    /// checked by [`ValidSpec::new`](crate::ValidSpec::new).
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), Error> {
        text::set(&mut self.root, path, value, &self.file, &mut self.set)?;
        self.overrides.push((path.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Replaces the flows of a scenario on a network by those that the file at `path` lists.
    pub fn replace_flows(&mut self, path: &Path) -> Result<(), Error> {
        let fault = |problem: &str| SpecError {
            file: self.file.clone(),
            place: Place::File,
            key: "--flows".to_owned(),
            problem: problem.into(),
        };
        if !is_network(&self.root) {
            return Err(fault(NO_FLOWS).into());
        }
        let absolute = std::path::absolute(path).ok();
        let Some(path) = absolute.as_deref().and_then(Path::to_str) else {
            return Err(fault("expected a path in UTF-8").into());
        };
        let flag = Place::Flag("--flows");
        text::replace(&mut self.root, "workload", "flows", "list", Value::Text(path.to_owned()), flag);
        let way = ["workload", "flows", "list"].map(str::to_owned).to_vec();
        self.set.insert(way, "--flows".to_owned());
        // In the form of --set; JSON quotes the path in a way that TOML reads.
        self.overrides.push(("workload".to_owned(), format!("{{ flows = {{ list = {} }} }}", Json::from(path))));
        Ok(())
    }

    /// A fault of the whole file.
    pub(crate) fn fault(file: &str, key: &str, problem: impl Into<Misfit>) -> SpecError {
        SpecError { file: file.to_owned(), place: Place::File, key: key.to_owned(), problem: problem.into() }
    }
}

/// Whether a scenario is one on a network.
pub(crate) fn is_network(root: &Table) -> bool {
    ["topology", "transport"].iter().any(|key| root.contains(key))
}

/// The error of `--flows` with a scenario on one link.
pub(crate) const NO_FLOWS: &str =
    "has no effect: only a scenario on a network, with [topology] and [transport], has flows";

/// `path` relative to the folder of the scenario `file`, unless it is absolute.
pub(crate) fn beside(file: &str, path: &str) -> PathBuf {
    Path::new(file).parent().unwrap_or(Path::new("")).join(path)
}
