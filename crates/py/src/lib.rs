//! The Python face of pifolab: conversions, no logic.
use pyo3::prelude::*;

/// The compiled part of the `pifolab` package.
#[pymodule]
fn _pifolab(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
