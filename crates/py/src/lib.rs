//! The Python face of pifolab: conversions, no logic.
//!
//! `pifolab._pifolab` is private; the package `pifolab` around it is what users import. What goes wrong passes through
//! one place, `errors::guard`, which knows three exceptions: a wrong parameter, wrong input, and a mistake of ours.

mod errors;
mod packets;
mod scheduler;
mod values;

use pifolab_scenario::registry;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// What is known about every scheduler.
#[pyfunction]
fn schedulers(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let tables =
        registry::SCHEDULERS.iter().map(|entry| values::show_info(py, entry.info)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, tables)
}

/// What is known about every rank function.
#[pyfunction]
fn ranks(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let tables = registry::RANKS.iter().map(|entry| values::show_info(py, entry.info)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, tables)
}

/// Says that no `what` is called `name`, and which of `names` may have been meant.
#[pyfunction]
fn unknown_name(what: &str, name: &str, names: Vec<String>) -> String {
    registry::unknown(what, name, || names.iter().map(String::as_str))
}

/// The compiled part of the `pifolab` package.
#[pymodule]
fn _pifolab(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::keep_panics_quiet();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<scheduler::PyScheduler>()?;
    module.add_class::<packets::PyPacket>()?;
    module.add_class::<packets::Admitted>()?;
    module.add_class::<packets::Evicted>()?;
    module.add_class::<packets::Dropped>()?;
    module.add_class::<packets::NotBefore>()?;
    module.add_function(wrap_pyfunction!(schedulers, module)?)?;
    module.add_function(wrap_pyfunction!(ranks, module)?)?;
    module.add_function(wrap_pyfunction!(unknown_name, module)?)?;
    Ok(())
}
