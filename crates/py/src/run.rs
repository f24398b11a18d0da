//! Runs a scenario for Python: text in, manifest, summary and columns out.

use crate::custom::{PythonExtras, Slot};
use crate::errors::{Fault, guard, interruptible};
use pifolab_metrics::{Column, Table};
use pifolab_scenario::{
    Error, FlowFormat, INTERRUPTED_ROWS, Input, Memory, NetworkProgress, Place, Progress, Report, SpecError, ValidSpec,
    read_text,
};
use pifolab_sched::params::Misfit;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::slice;

/// Runs the scenario `text`, which errors call `file`, with `overrides` of (dotted path, value).
///
/// `progress(arrived, expected, done, schedulers, network, memory)` is called about ten times a second; `network` is
/// None or (simulated_s, duration_s, events, flows_done, flows). Ctrl-C ends the run with its complete part. The file
/// `flows`, if given, replaces the flows of a network. `schedulers`, `ranks`, `controllers` and `observers` map names
/// to factories of objects written in Python. `inputs` maps roles to the digests that the files must have, if known.
/// `interrupted_rows` is the largest number of rows of each table of an interrupted run.
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
    let most = interrupted_rows.unwrap_or(INTERRUPTED_ROWS);
    let slot = Slot::default();
    let extras =
        PythonExtras::read(schedulers, ranks, controllers, observers, slot.clone())?.with_interrupted_rows(most);
    let watch = |state: Progress| {
        let seen = Python::attach(|py| {
            py.check_signals()?;
            let Some(progress) = &progress else { return Ok(()) };
            let network = state.network.map(|network| {
                let NetworkProgress { simulated_s, duration_s, events, flows_done, flows } = network;
                (simulated_s, duration_s, events, flows_done, flows)
            });
            let Progress { arrived, expected, schedulers_done, schedulers, memory, .. } = state;
            progress.call1(py, (arrived, expected, schedulers_done, schedulers, network, memory)).map(|_| ())
        });
        seen.map_err(|error| slot.keep(error)).is_ok()
    };
    let result = guard(py, || {
        let run = || {
            let spec = read_text(text, file, &borrowed(&overrides), flows.as_deref(), &extras)?;
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
        // The part that was complete at Ctrl-C is a result. The manifest has whether it is partial: Ctrl-C may have
        // come when the run was already complete.
        (Some(error), Ok(Some(report))) if error.is_instance_of::<PyKeyboardInterrupt>(py) => (true, report),
        (Some(error), _) | (None, Err(error)) => return Err(error),
        (None, Ok(None)) => return Err(PyKeyboardInterrupt::new_err(())),
    };
    let (shown, late) = show_report(py, report, most)?;
    shown.set_item("interrupted", interrupted || late)?;
    shown.set_item("observers", extras.into_watched())?;
    Ok(shown)
}

/// Refuses a run on files that differ from the planned ones.
fn check_inputs(file: &str, found: &[Input], planned: &BTreeMap<String, String>) -> Result<(), Error> {
    let fault = |role: &str, problem: Misfit| {
        let (file, key) = (file.to_owned(), role.to_owned());
        Error::Spec(SpecError { file, place: Place::File, key, problem })
    };
    for Input { role, file, sha256 } in found {
        let expected = planned.get(role).map_or("none", |digest| &digest[..digest.len().min(12)]);
        if planned.get(role) != Some(sha256) {
            let got = &sha256[..12];
            let problem =
                format!("the file has changed since the run was planned: expected SHA-256 {expected}, got {got}");
            return Err(fault(role, Misfit::of(format_args!("\"{file}\""), problem)));
        }
    }
    match planned.keys().find(|role| found.iter().all(|input| input.role != **role)) {
        Some(role) => Err(fault(role, "is missing: it was set when the run was planned".into())),
        None => Ok(()),
    }
}

/// Reads and checks the scenario without running it; returns the resolved scenario with every default as JSON, and the
/// digest of each file by the key that names it.
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
    let components = [schedulers, ranks, controllers];
    with_spec(py, (text, file, overrides, flows), components, |spec, _| {
        let digests = spec.inputs().into_iter().map(|input| (input.role, input.sha256)).collect();
        Ok((spec.resolved().to_string(), digests))
    })
}

fn borrowed(overrides: &[(String, String)]) -> Vec<(&str, &str)> {
    overrides.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect()
}

/// The scenario arguments of `run_scenario`: text, file, overrides, flows.
type Written<'a> = (&'a str, &'a str, Vec<(String, String)>, Option<PathBuf>);

/// Reads a scenario and calls `look` with it, detached from the interpreter. An exception of the user's classes takes
/// precedence.
fn with_spec<T: Send>(
    py: Python<'_>,
    (text, file, overrides, flows): Written<'_>,
    [schedulers, ranks, controllers]: [Option<&Bound<'_, PyDict>>; 3],
    look: impl FnOnce(&ValidSpec, &PythonExtras) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let slot = Slot::default();
    let extras = PythonExtras::read(schedulers, ranks, controllers, None, slot.clone())?;
    let seen = guard(py, || {
        let read = || look(&read_text(text, file, &borrowed(&overrides), flows.as_deref(), &extras)?, &extras);
        py.detach(read).map_err(Fault::from)
    });
    match slot.take() {
        Some(error) => Err(error),
        None => seen,
    }
}

/// The tables of a run of the scenario in the form of `run_scenario`, but without rows, since nothing runs.
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
    let components = [schedulers, ranks, controllers];
    let tables = with_spec(py, (text, file, overrides, None), components, |spec, extras| spec.tables(extras))?;
    let mut look = Look::default();
    let (shown, _) = show_tables(py, tables, 0, &mut look)?;
    if look.interrupted { Err(PyKeyboardInterrupt::new_err(())) } else { Ok(shown) }
}

/// The estimated bytes of memory of a run of the scenario with one seed: a dictionary of `input`, `state` and
/// `records`.
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
    let components = [schedulers, ranks, controllers];
    let memory = with_spec(py, (text, file, overrides, flows), components, |spec, _| Ok(spec.memory(workers)))?;
    let Memory { input, state, records, .. } = memory;
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
        let spec = read_text(&text, &file, &borrowed(&overrides), None, &())?;
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

/// Whether Ctrl-C came, checked repeatedly while tables are copied.
#[derive(Default)]
struct Look {
    interrupted: bool,
}

impl Look {
    fn again(&mut self, py: Python<'_>) -> PyResult<bool> {
        match py.check_signals() {
            Err(error) if error.is_instance_of::<PyKeyboardInterrupt>(py) => self.interrupted = true,
            checked => checked?,
        }
        Ok(self.interrupted)
    }
}

/// The consecutive rows of one scheduler: its name and their range.
type Block = (String, Range<usize>);

/// The tables, and for each shortened one its parts: (scheduler, rows shown, all rows). Each column is freed once it is
/// converted, since a log may take most of the memory. After Ctrl-C only the first rows of each scheduler are
/// converted, `most` over all of them, so that the user does not wait for gigabytes to be copied.
fn show_tables<'py>(
    py: Python<'py>,
    tables: Vec<Table>,
    most: usize,
    look: &mut Look,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let (shown, cut) = (PyDict::new(py), PyDict::new(py));
    for table in tables {
        let blocks = blocks(&table);
        let rows = table.rows();
        let most = most / blocks.len().max(1);
        let first: Vec<_> = blocks.iter().map(|(_, block)| block.start..block.end.min(block.start + most)).collect();
        let mut columns = Vec::new();
        for (name, column) in table.columns {
            let mut shown = None;
            if !look.again(py)? {
                shown = show_column(py, &column, slice::from_ref(&(0..rows)), Some(look))?;
            }
            // The started column is dropped.
            let shown = match shown {
                Some(shown) => shown,
                None => show_column(py, &column, &first, None)?.expect("only what looks can end it"),
            };
            columns.push((name, shown));
        }
        if look.interrupted {
            let left_out = blocks.iter().zip(&first).filter(|((_, block), first)| first.len() < block.len());
            let left_out: Vec<_> = left_out.map(|((name, block), first)| (name, first.len(), block.len())).collect();
            if !left_out.is_empty() {
                cut.set_item(table.name, left_out)?;
            }
        }
        let of = PyDict::new(py);
        for (name, column) in columns {
            let column = if look.interrupted { column.first(py, rows, &first)? } else { column };
            of.set_item(name, column.into_python(py)?)?;
        }
        shown.set_item(table.name, of)?;
    }
    Ok((shown, cut))
}

/// The rows of each scheduler; all rows without a name if the table has no such column.
fn blocks(table: &Table) -> Vec<Block> {
    let Some(Column::Texts(texts)) = table.column("scheduler") else {
        return vec![(String::new(), 0..table.rows())];
    };
    let mut end = 0;
    let block = |codes: &[u32]| {
        let start = end;
        end += codes.len();
        (texts.names()[codes[0] as usize].clone(), start..end)
    };
    texts.codes().chunk_by(|one, next| one == next).map(block).collect()
}

/// The report for Python, and whether Ctrl-C came during its conversion.
fn show_report<'py>(py: Python<'py>, report: Report, most: usize) -> PyResult<(Bound<'py, PyDict>, bool)> {
    let result = PyDict::new(py);
    result.set_item("manifest", report.manifest.to_string())?;
    result.set_item("summary", report.summary.to_string())?;
    let mut look = Look::default();
    let (tables, cut) = show_tables(py, report.tables, most, &mut look)?;
    result.set_item("tables", tables)?;
    result.set_item("cut", cut)?;
    Ok((result, look.interrupted))
}

/// A column for Python in native bytes: 64-bit numbers; numbers with a validity byte for each; or the different texts
/// and the 32-bit code of the text in each row.
struct Shown<'py> {
    kind: &'static str,
    names: Option<Bound<'py, PyList>>,
    /// The bytes of the values, with the size of each value.
    values: Vec<(Bound<'py, PyBytes>, usize)>,
}

impl<'py> Shown<'py> {
    /// The values of these rows, if the column has all `rows`; else the column unchanged, which has only these rows.
    fn first(mut self, py: Python<'py>, rows: usize, first: &[Range<usize>]) -> PyResult<Self> {
        for (values, size) in &mut self.values {
            if values.as_bytes().len() == rows * *size {
                let bytes = values.as_bytes();
                let kept = first.iter().flat_map(|rows| &bytes[rows.start * *size..rows.end * *size]);
                *values = PyBytes::new(py, &kept.copied().collect::<Vec<_>>());
            }
        }
        Ok(self)
    }

    /// As (kind, values).
    fn into_python(self, py: Python<'py>) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
        let mut values = self.values.into_iter().map(|(bytes, _)| bytes.into_any());
        let one = values.next().expect("each column has values");
        let shown = match (self.names, values.next()) {
            (Some(names), _) => (names, one).into_pyobject(py)?.into_any(),
            (None, Some(known)) => (one, known).into_pyobject(py)?.into_any(),
            (None, None) => one,
        };
        Ok((self.kind, shown))
    }
}

/// These rows of a column; `None` if Ctrl-C is checked for and came.
fn show_column<'py>(
    py: Python<'py>,
    column: &Column,
    rows: &[Range<usize>],
    mut look: Option<&mut Look>,
) -> PyResult<Option<Shown<'py>>> {
    let mut names = None;
    let (kind, values) = match column {
        Column::Integers(values) => ("i64", vec![packed(py, values, |value| value.to_ne_bytes(), rows, &mut look)?]),
        Column::Reals(values) => ("f64", vec![packed(py, values, |value| value.to_ne_bytes(), rows, &mut look)?]),
        Column::Optional(values) => {
            let numbers = packed(py, values, |value| value.unwrap_or(0).to_ne_bytes(), rows, &mut look)?;
            ("optional", vec![numbers, packed(py, values, |value| [u8::from(value.is_some())], rows, &mut look)?])
        }
        Column::Texts(texts) => {
            names = Some(PyList::new(py, texts.names())?);
            ("text", vec![packed(py, texts.codes(), |code| code.to_ne_bytes(), rows, &mut look)?])
        }
    };
    Ok(look.is_none_or(|look| !look.interrupted).then_some(Shown { kind, names, values }))
}

/// The `bytes` of the values of these rows, with their size; only some of them if Ctrl-C comes.
fn packed<'py, T, const N: usize>(
    py: Python<'py>,
    values: &[T],
    bytes: fn(&T) -> [u8; N],
    rows: &[Range<usize>],
    look: &mut Option<&mut Look>,
) -> PyResult<(Bound<'py, PyBytes>, usize)> {
    let count: usize = rows.iter().map(ExactSizeIterator::len).sum();
    let all = PyBytes::new_with(py, N * count, |mut left| {
        for chunk in rows.iter().flat_map(|rows| values[rows.clone()].chunks(LOOK_AFTER_ROWS)) {
            if let Some(look) = look
                && (look.interrupted || look.again(py)?)
            {
                break;
            }
            let (here, after) = left.split_at_mut(N * chunk.len());
            for (place, value) in here.chunks_exact_mut(N).zip(chunk) {
                place.copy_from_slice(&bytes(value));
            }
            left = after;
        }
        Ok(())
    })?;
    Ok((all, N))
}

/// The number of values copied between two checks for Ctrl-C: some milliseconds.
const LOOK_AFTER_ROWS: usize = 1_000_000;
