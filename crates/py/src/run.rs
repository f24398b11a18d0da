//! Runs a scenario for Python: text in, manifest, summary and columns out.

use crate::custom::{PythonExtras, Slot};
use crate::errors::{Fault, guard};
use pifolab_metrics::Column;
use pifolab_scenario::{Error, FlowFormat, NetworkProgress, Progress, Report, read_text};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Runs the scenario `text`, which errors call `file`, with `overrides` of (dotted path, value).
///
/// `progress(arrived, expected, done, schedulers, network)` is called about ten times a second; `network` is None or
/// (simulated_s, duration_s, events, flows_done, flows). Ctrl-C ends the run with what is complete. The file `flows`, if
/// there is one, replaces the flows of a network. `schedulers`, `ranks`, `controllers` and `observers` map names to what
/// makes one that is written in Python.
#[pyfunction]
#[pyo3(signature = (
    text, file, overrides, *, seed=None, workers=1, flows=None, schedulers=None, ranks=None, controllers=None,
    observers=None, progress=None
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
) -> PyResult<Bound<'py, PyDict>> {
    let slot = Slot::default();
    let extras = PythonExtras::read(schedulers, ranks, controllers, observers, slot.clone())?;
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
            let go_on = |state| if watch(state) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            spec.run(seed.unwrap_or(spec.seeds()[0]), workers, &extras, &mut { go_on })
        };
        match py.detach(run) {
            Err(Error::Cancelled) => Ok(None),
            Ok(report) => Ok(Some(report)),
            Err(error) => Err(Fault::Input(error.to_string())),
        }
    });
    let report = match (slot.take(), result) {
        (None, Ok(Some(report))) => report,
        // What was complete when Ctrl-C came is a result; the manifest says that it is partial.
        (Some(error), Ok(Some(report))) if error.is_instance_of::<PyKeyboardInterrupt>(py) => report,
        (Some(error), _) | (None, Err(error)) => return Err(error),
        (None, Ok(None)) => return Err(PyKeyboardInterrupt::new_err(())),
    };
    let shown = show_report(py, &report)?;
    shown.set_item("observers", extras.into_watched())?;
    Ok(shown)
}

/// Reads and checks the scenario without running it; returns what it means, every default filled in, as JSON.
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
) -> PyResult<String> {
    let slot = Slot::default();
    let extras = PythonExtras::read(schedulers, ranks, controllers, None, slot.clone())?;
    let resolved = guard(py, || {
        let read = || read_text(text, file, &overrides, flows.as_deref(), &extras);
        py.detach(read).map(|spec| spec.resolved().to_string()).map_err(|error| Fault::Input(error.to_string()))
    });
    match slot.take() {
        Some(error) => Err(error),
        None => resolved,
    }
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
    let listed = guard(py, || {
        let list = || {
            let spec = read_text(text, file, &overrides, None, &())?;
            let format = if hpcc { FlowFormat::Hpcc } else { FlowFormat::Csv };
            spec.flow_list(seed.unwrap_or(spec.seeds()[0]), format)
        };
        py.detach(list).map_err(|error| Fault::Input(error.to_string()))
    })?;
    Ok(PyBytes::new(py, &listed))
}

/// The JSON Schema of scenarios.
#[pyfunction]
pub fn scenario_schema() -> String {
    pifolab_scenario::schema::schema().to_string()
}

fn show_report<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let tables = PyDict::new(py);
    for table in &report.tables {
        let columns = PyDict::new(py);
        for (name, column) in &table.columns {
            columns.set_item(name, show_column(py, column)?)?;
        }
        tables.set_item(table.name, columns)?;
    }
    let result = PyDict::new(py);
    result.set_item("manifest", report.manifest.to_string())?;
    result.set_item("summary", report.summary.to_string())?;
    result.set_item("tables", tables)?;
    Ok(result)
}

/// A column as (kind, values): the native bytes of 64-bit numbers, or a list.
fn show_column<'py>(py: Python<'py>, column: &Column) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
    let packed = |bytes: Vec<u8>| PyBytes::new(py, &bytes).into_any();
    Ok(match column {
        Column::Integers(values) => ("i64", packed(values.iter().flat_map(|value| value.to_ne_bytes()).collect())),
        Column::Reals(values) => ("f64", packed(values.iter().flat_map(|value| value.to_ne_bytes()).collect())),
        Column::Optional(values) => ("optional", PyList::new(py, values)?.into_any()),
        Column::Texts(values) => ("text", PyList::new(py, values)?.into_any()),
    })
}
