//! Set-ups that tests of scenarios share.

use crate::{Error, Report, ValidSpec, read_text, run_text};
use pifolab_metrics::Column;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Runs the scenario, which errors call `x.toml`, on one thread.
pub(crate) fn run(text: &str, overrides: &[(&str, &str)]) -> Result<Report, Error> {
    run_text(text, "x.toml", overrides, None, 1, &(), &mut |_| true)
}

/// Reads the scenario, which errors call `x.toml`.
pub(crate) fn read(text: &str, overrides: &[(&str, &str)]) -> Result<ValidSpec, Error> {
    read_text(text, "x.toml", overrides, None, &())
}

/// Runs seed 1 of a scenario on one thread.
pub(crate) fn run_spec(spec: &ValidSpec) -> Result<Report, Error> {
    spec.run(1, 1, &(), &mut |_| ControlFlow::Continue(()))
}

/// The integers of a column, without the missing ones.
pub(crate) fn integers(report: &Report, table: &str, column: &str) -> Vec<i64> {
    match report.table(table).and_then(|table| table.column(column)) {
        Some(Column::Integers(values)) => values.clone(),
        Some(Column::Optional(values)) => values.iter().copied().flatten().collect(),
        other => panic!("{table}.{column}: {other:?}"),
    }
}

/// The texts of a column.
pub(crate) fn texts(report: &Report, table: &str, column: &str) -> Vec<String> {
    match report.table(table).and_then(|table| table.column(column)) {
        Some(Column::Texts(values)) => values.iter().map(str::to_owned).collect(),
        other => panic!("{table}.{column}: {other:?}"),
    }
}

/// A folder of one test, which is deleted with the value.
pub(crate) struct Folder(pub PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pifolab-scenario-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }

    /// Writes a file, and returns its path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("a file for the test");
        path
    }

    /// Runs a scenario whose file is in this folder.
    pub(crate) fn run(&self, text: &str) -> Result<Report, Error> {
        let file = self.0.join("x.toml").display().to_string();
        run_text(text, &file, &[], None, 1, &(), &mut |_| true)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
