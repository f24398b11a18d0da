//! Python values and the library's: parameters inwards, tables of parameters outwards.

use crate::errors::Fault;
use pifolab_params::{Absent, Place, Table};
use pifolab_scenario::Part;
use pifolab_scenario::registry::{Look, RankEntry, SchedulerEntry, Traits, unknown};
use pifolab_sched::Fact;
use pifolab_sched::params::{Args, Choice, Info, Kind, Param, Value};
use pyo3::PyTypeInfo;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};

/// Reads keyword arguments; `None` stands for "not given".
pub fn read_args(owner: &str, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Args> {
    let mut args = Args::new(owner);
    for (key, value) in keywords.into_iter().flatten() {
        if !value.is_none() {
            args.set(key.extract::<String>()?, read_value(&value)?);
        }
    }
    Ok(args)
}

/// The choice with this `word`.
pub fn chosen<C: Choice>(what: &str, word: &str) -> Result<C, Fault> {
    let words = || C::WORDS.iter().map(|(word, _)| *word);
    C::from_word(word).ok_or_else(|| Fault::Input(unknown(what, word, words, None)))
}

/// Reads one value: a bool, int, float, str, `decimal.Decimal`, `fractions.Fraction`, a `dict`, or a sequence of them.
pub fn read_value(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Flag(flag.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::Text(text.to_str()?.to_owned()));
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        // The shortest text with the same double: 0.1 is 1/10, as it was written.
        return Ok(Value::Decimal(float.value().to_string()));
    }
    if value.is_instance_of::<PyInt>() || value.hasattr("__index__")? {
        let text = value.call_method0("__index__")?.str()?;
        // No range includes numbers beyond 128 bits, so the largest integer is refused in the same way.
        return Ok(Value::Integer(text.to_str()?.parse().unwrap_or(i128::MAX)));
    }
    if value.hasattr("numerator")? || value.hasattr("as_integer_ratio")? {
        return Ok(Value::Text(value.str()?.to_str()?.to_owned()));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        return read_table(table).map(Value::Table);
    }
    match value.try_iter() {
        Ok(members) => members.map(|member| read_value(&member?)).collect::<PyResult<_>>().map(listed),
        Err(_) => {
            let kind = value.get_type().name()?;
            Err(PyTypeError::new_err(format!("a parameter cannot be a {kind}: {}", value.repr()?)))
        }
    }
}

/// A `dict` as the table of a scheduler inside another.
fn read_table(keywords: &Bound<'_, PyDict>) -> PyResult<Table> {
    let mut table = Table::new("", Place::File);
    for (key, value) in keywords {
        if !value.is_none() {
            table.put(&key.extract::<String>()?, Place::File, read_value(&value)?);
        }
    }
    Ok(table)
}

/// A list, or a list of tables if all its members are tables.
fn listed(members: Vec<Value>) -> Value {
    if members.is_empty() || !members.iter().all(|member| matches!(member, Value::Table(_))) {
        return Value::List(members);
    }
    let table = |member| if let Value::Table(table) = member { Some(table) } else { None };
    Value::Tables(members.into_iter().filter_map(table).collect())
}

/// A value as a Python object; a decimal becomes the nearest float.
pub fn show_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Integer(value) => Ok(value.into_pyobject(py)?.into_any()),
        Value::Decimal(text) => PyFloat::type_object(py).call1((text,)),
        Value::Text(text) => Ok(PyString::new(py, text).into_any()),
        Value::Flag(flag) => Ok(PyBool::new(py, *flag).to_owned().into_any()),
        Value::List(values) => {
            let members = values.iter().map(|value| show_value(py, value)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, members)?.into_any())
        }
        Value::Table(table) => show_table(py, table),
        Value::Tables(tables) => {
            let members = tables.iter().map(|table| show_table(py, table)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, members)?.into_any())
        }
    }
}

fn show_table<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyAny>> {
    let shown = PyDict::new(py);
    for entry in &table.entries {
        shown.set_item(&entry.key, show_value(py, &entry.value)?)?;
    }
    Ok(shown.into_any())
}

/// The description of a scheduler as a `dict`.
pub fn show_scheduler<'py>(py: Python<'py>, entry: &SchedulerEntry) -> PyResult<Bound<'py, PyDict>> {
    let table = show_info(py, entry.info)?;
    let traits = PyDict::new(py);
    let Traits {
        reads_ranks,
        reads_flows,
        reads_time,
        conserves_work,
        ideal,
        tail_drop,
        tests_when_idle,
        tests_arrivals,
    } = entry.traits;
    traits.set_item("reads_ranks", reads_ranks)?;
    traits.set_item("reads_flows", reads_flows)?;
    traits.set_item("reads_time", reads_time)?;
    traits.set_item("conserves_work", conserves_work)?;
    traits.set_item("ideal", ideal)?;
    traits.set_item("tail_drop", tail_drop)?;
    traits.set_item("tests_when_idle", tests_when_idle)?;
    traits.set_item("tests_arrivals", tests_arrivals)?;
    table.set_item("traits", traits)?;
    let Look { label, colour, dash, marker } = entry.look;
    table
        .set_item("look", (label, colour, dash.iter().map(|&length| u32::from(length)).collect::<Vec<_>>(), marker))?;
    let advice = entry.advice.map(|axes| axes.iter().map(|(key, values)| (*key, values.to_vec())).collect::<Vec<_>>());
    table.set_item("advice", advice)?;
    Ok(table)
}

/// The description of a rank function as a `dict`.
pub fn show_rank<'py>(py: Python<'py>, entry: &RankEntry) -> PyResult<Bound<'py, PyDict>> {
    let table = show_info(py, entry.info)?;
    table.set_item("size_of", entry.size_of)?;
    table.set_item("needs", entry.needs().iter().map(Fact::word).collect::<Vec<_>>())?;
    Ok(table)
}

/// The description of a part of a network as a `dict`.
pub fn show_part<'py>(py: Python<'py>, part: &Part) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("name", part.name)?;
    table.set_item("summary", part.summary)?;
    table.set_item("params", show_params(py, part.params)?)?;
    Ok(table)
}

/// The common description of a scheduler or a rank function as a `dict`.
fn show_info<'py>(py: Python<'py>, info: &Info) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("name", info.name)?;
    table.set_item("summary", info.summary)?;
    table.set_item("paper", info.paper)?;
    table.set_item("effect", info.effect)?;
    table.set_item("state", info.state)?;
    table.set_item("cost", info.cost)?;
    table.set_item("params", show_params(py, info.params)?)?;
    Ok(table)
}

fn show_params<'py>(py: Python<'py>, params: &[Param]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, params.iter().map(|param| show_param(py, param)).collect::<PyResult<Vec<_>>>()?)
}

fn show_param<'py>(py: Python<'py>, param: &Param) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("name", param.name)?;
    row.set_item("keys", param.keys())?;
    row.set_item("unit", param.unit)?;
    let (kind, range) = match param.kind {
        Kind::Integer { min, max } => ("integer", Some((min, max))),
        Kind::Fraction | Kind::Share => ("fraction", None),
        Kind::Choice(_) | Kind::OneOf(..) => ("choice", None),
        Kind::Positive => ("number", None),
        Kind::Flag => ("flag", None),
        Kind::Integers { min, max } => ("integers", Some((min, max))),
        Kind::IntegerOrIntegers { min, max } => ("integer-or-integers", Some((min, max))),
        Kind::Texts => ("texts", None),
        Kind::Component(_) => ("component", None),
        Kind::Components(_) => ("components", None),
        _ => ("text", None),
    };
    row.set_item("kind", kind)?;
    row.set_item("min", range.map(|(min, _)| min))?;
    row.set_item("max", range.map(|(_, max)| max))?;
    row.set_item("choices", param.words().to_vec())?;
    row.set_item(
        "default",
        if let Absent::Default(literal) = param.absent { Some(literal.to_string()) } else { None },
    )?;
    row.set_item("absent_means", param.absent.meaning())?;
    row.set_item("required", matches!(param.absent, Absent::Required))?;
    row.set_item("allowed", param.allowed())?;
    row.set_item("doc", param.doc)?;
    Ok(row)
}
