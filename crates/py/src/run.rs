//! Runs a scenario for Python: text in, manifest, summary and columns out.

use crate::custom::{PythonExtras, Slot};
use crate::errors::{Fault, guard, interruptible};
use pifolab_metrics::{Column, Table};
use pifolab_scenario::{
    Error, FlowFormat, INTERRUPTED_ROWS, Input, Memory, NetworkProgress, Place, Progress, Report, SpecError, read_text,
};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Runs the scenario `text`, which errors call `file`, with `overrides` of (dotted path, value).
///
/// `progress(arrived, expected, done, schedulers, network)` is called about ten times a second; `network` is None or
/// (simulated_s, duration_s, events, flows_done, flows). Ctrl-C ends the run with what is complete. The file `flows`, if
/// there is one, replaces the flows of a network. `schedulers`, `ranks`, `controllers` and `observers` map names to what
/// makes one that is written in Python. `inputs` maps roles to the digests that the files must have, if they are known.
/// `interrupted_rows` are the most rows of each table of a run that was interrupted.
#[pyfunction]
#[pyo3(signature = (
    text, file, overrides, *, seed=None, workers=1, flows=None, schedulers=None, ranks=None, controllers=None,
    observers=None, progress=None, inputs=None, interrupted_rows=None
))]
#[expect(clippy::too_many_arguments, reason = "they are Python keywords")]
pub fn run_scenario<'py>(
    py: Python<'py>,
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    seed: Option<u64>,
    workers: usize,
    flows: Option<PathBuf>,
    schedulers: Option<&Bound<'py, PyDict>>,
    ranks: Option<&Bound<'py, PyDict>>,
    controllers: Option<&Bound<'py, PyDict>>,
    observers: Option<&Bound<'py, PyDict>>,
    progress: Option<Py<PyAny>>,
    inputs: Option<BTreeMap<String, String>>,
    interrupted_rows: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let slot = Slot::default();
    let extras = PythonExtras::read(schedulers, ranks, controllers, observers, slot.clone())?
        .with_interrupted_rows(interrupted_rows.unwrap_or(INTERRUPTED_ROWS));
    let watch = |state: Progress| {
        let seen = Python::attach(|py| {
            py.check_signals()?;
            let Some(progress) = &progress else { return Ok(()) };
            let network = state.network.map(|network| {
                let NetworkProgress { simulated_s, duration_s, events, flows_done, flows } = network;
                (simulated_s, duration_s, events, flows_done, flows)
            });
            let state = (state.arrived, state.expected, state.schedulers_done, state.schedulers, network);
            progress.call1(py, state).map(|_| ())
        });
        seen.map_err(|error| slot.keep(error)).is_ok()
    };
    let result = guard(py, || {
        let run = || {
            let spec = read_text(text, file, &overrides, flows.as_deref(), &extras)?;
            if let Some(inputs) = &inputs {
                check_inputs(file, &spec.inputs(), inputs)?;
            }
            let go_on = |state| if watch(state) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            spec.run(seed.unwrap_or(spec.seeds()[0]), workers, &extras, &mut { go_on })
        };
        match py.detach(run) {
            Err(Error::Cancelled) => Ok(None),
            Ok(report) => Ok(Some(report)),
            Err(error) => Err(error.into()),
        }
    });
    let (interrupted, report) = match (slot.take(), result) {
        (None, Ok(Some(report))) => (false, report),
        // What was complete when Ctrl-C came is a result; the manifest says whether it is partial: it may have come at the
        // end, when nothing was left to do.
        (Some(error), Ok(Some(report))) if error.is_instance_of::<PyKeyboardInterrupt>(py) => (true, report),
        (Some(error), _) | (None, Err(error)) => return Err(error),
        (None, Ok(None)) => return Err(PyKeyboardInterrupt::new_err(())),
    };
    let (shown, late) = show_report(py, report)?;
    shown.set_item("interrupted", interrupted || late)?;
    shown.set_item("observers", extras.into_watched())?;
    Ok(shown)
}

/// Refuses a run on other files than those that it was planned with.
fn check_inputs(file: &str, found: &[Input], planned: &BTreeMap<String, String>) -> Result<(), Error> {
    let fault = |role: &str, problem: String| {
        let (file, key) = (file.to_owned(), role.to_owned());
        Error::Spec(SpecError { file, place: Place::File, key, problem })
    };
    for Input { role, file, sha256 } in found {
        let expected = planned.get(role).map_or("none", |digest| &digest[..digest.len().min(12)]);
        if planned.get(role) != Some(sha256) {
            let problem = format!(
                "= \"{file}\": the file has changed since the run was planned: expected SHA-256 {expected}, got {}",
                &sha256[..12]
            );
            return Err(fault(role, problem));
        }
    }
    match planned.keys().find(|role| found.iter().all(|input| input.role != **role)) {
        Some(role) => Err(fault(role, "names no file any more, but did when the run was planned".to_owned())),
        None => Ok(()),
    }
}

/// Reads and checks the scenario without running it; returns what it means, every default filled in, as JSON, and the digest
/// of each file that it names, by the key that names it.
///
/// The arguments are those of `run_scenario`.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, *, flows=None, schedulers=None, ranks=None, controllers=None))]
#[expect(clippy::too_many_arguments, reason = "they are Python keywords")]
pub fn resolve_scenario(
    py: Python<'_>,
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    flows: Option<PathBuf>,
    schedulers: Option<&Bound<'_, PyDict>>,
    ranks: Option<&Bound<'_, PyDict>>,
    controllers: Option<&Bound<'_, PyDict>>,
) -> PyResult<(String, BTreeMap<String, String>)> {
    let slot = Slot::default();
    let extras = PythonExtras::read(schedulers, ranks, controllers, None, slot.clone())?;
    let resolved = guard(py, || {
        let read = || read_text(text, file, &overrides, flows.as_deref(), &extras);
        let spec = py.detach(read).map_err(Fault::from)?;
        let digests = spec.inputs().into_iter().map(|input| (input.role, input.sha256)).collect();
        Ok((spec.resolved().to_string(), digests))
    });
    match slot.take() {
        Some(error) => Err(error),
        None => resolved,
    }
}

/// The tables that a run of the scenario will have, as `run_scenario` gives them, but without rows: nothing has run.
///
/// The arguments are those of `run_scenario`.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, *, schedulers=None, ranks=None, controllers=None))]
pub fn scenario_tables<'py>(
    py: Python<'py>,
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    schedulers: Option<&Bound<'py, PyDict>>,
    ranks: Option<&Bound<'py, PyDict>>,
    controllers: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let slot = Slot::default();
    let extras = PythonExtras::read(schedulers, ranks, controllers, None, slot.clone())?;
    let tables = guard(py, || {
        let read = || read_text(text, file, &overrides, None, &extras)?.tables(&extras);
        py.detach(read).map_err(Fault::from)
    });
    match slot.take() {
        Some(error) => Err(error),
        None => match show_tables(py, tables?)? {
            (shown, false) => Ok(shown),
            (_, true) => Err(PyKeyboardInterrupt::new_err(())),
        },
    }
}

/// About how many bytes of memory a run of the scenario with one seed needs: a dictionary of `input`, `state` and `records`.
///
/// The arguments are those of `run_scenario`.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, *, workers=1, flows=None, schedulers=None, ranks=None, controllers=None))]
#[expect(clippy::too_many_arguments, reason = "they are Python keywords")]
pub fn scenario_memory<'py>(
    py: Python<'py>,
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    workers: usize,
    flows: Option<PathBuf>,
    schedulers: Option<&Bound<'py, PyDict>>,
    ranks: Option<&Bound<'py, PyDict>>,
    controllers: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyDict>> {
    let slot = Slot::default();
    let extras = PythonExtras::read(schedulers, ranks, controllers, None, slot.clone())?;
    let memory = guard(py, || {
        let read = || read_text(text, file, &overrides, flows.as_deref(), &extras);
        py.detach(read).map(|spec| spec.memory(workers)).map_err(|error| Fault::Input(error.to_string()))
    });
    if let Some(error) = slot.take() {
        return Err(error);
    }
    let Memory { input, state, records } = memory?;
    let shown = PyDict::new(py);
    for (name, bytes) in [("input", input), ("state", state), ("records", records)] {
        shown.set_item(name, bytes)?;
    }
    Ok(shown)
}

/// The flows that a run of the scenario with `seed` (default: its first) would send, as the bytes of a list: CSV, or with
/// `hpcc` the flow file of the HPCC simulator.
#[pyfunction]
#[pyo3(signature = (text, file, overrides, *, seed=None, hpcc=false))]
pub fn scenario_flows<'py>(
    py: Python<'py>,
    text: &str,
    file: &str,
    overrides: Vec<(String, String)>,
    seed: Option<u64>,
    hpcc: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let (text, file) = (text.to_owned(), file.to_owned());
    let list = move || {
        let spec = read_text(&text, &file, &overrides, None, &())?;
        let format = if hpcc { FlowFormat::Hpcc } else { FlowFormat::Csv };
        Ok(spec.flow_list(seed.unwrap_or(spec.seeds()[0]), format)?)
    };
    Ok(PyBytes::new(py, &interruptible(py, list)?))
}

/// The JSON Schema of scenarios.
#[pyfunction]
pub fn scenario_schema() -> String {
    pifolab_scenario::schema::schema().to_string()
}

/// The tables, and whether Ctrl-C came. Each column is freed once it is shown: a log may take most of the memory.
fn show_tables<'py>(py: Python<'py>, tables: Vec<Table>) -> PyResult<(Bound<'py, PyDict>, bool)> {
    let (shown, mut interrupted) = (PyDict::new(py), false);
    for table in tables {
        let columns = PyDict::new(py);
        for (name, column) in table.columns {
            match py.check_signals() {
                Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => interrupted = true,
                checked => checked?,
            }
            columns.set_item(name, show_column(py, &column)?)?;
        }
        shown.set_item(table.name, columns)?;
    }
    Ok((shown, interrupted))
}

/// What Python gets of the report, and whether Ctrl-C came meanwhile.
fn show_report<'py>(py: Python<'py>, report: Report) -> PyResult<(Bound<'py, PyDict>, bool)> {
    let result = PyDict::new(py);
    result.set_item("manifest", report.manifest.to_string())?;
    result.set_item("summary", report.summary.to_string())?;
    let (tables, interrupted) = show_tables(py, report.tables)?;
    result.set_item("tables", tables)?;
    Ok((result, interrupted))
}

/// A column as (kind, values), all in native bytes: 64-bit numbers; numbers and for each of them a byte that says whether it is
/// there; or the different texts and the 32-bit code of that in each row.
fn show_column<'py>(py: Python<'py>, column: &Column) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
    Ok(match column {
        Column::Integers(values) => ("i64", packed(py, values, |value| value.to_ne_bytes())?.into_any()),
        Column::Reals(values) => ("f64", packed(py, values, |value| value.to_ne_bytes())?.into_any()),
        Column::Optional(values) => {
            let numbers = packed(py, values, |value| value.unwrap_or(0).to_ne_bytes())?;
            let known = packed(py, values, |value| [u8::from(value.is_some())])?;
            ("optional", (numbers, known).into_pyobject(py)?.into_any())
        }
        Column::Texts(texts) => {
            let names = PyList::new(py, texts.names())?;
            let codes = packed(py, texts.codes(), |code| code.to_ne_bytes())?;
            ("text", (names, codes).into_pyobject(py)?.into_any())
        }
    })
}

/// The `bytes` of all values one after the other.
fn packed<'py, T, const N: usize>(
    py: Python<'py>,
    values: &[T],
    bytes: fn(&T) -> [u8; N],
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, N * values.len(), |all| {
        for (place, value) in all.chunks_exact_mut(N).zip(values) {
            place.copy_from_slice(&bytes(value));
        }
        Ok(())
    })
}
