//! Schedulers and rank functions from shared libraries, and the random streams that components of a user's own get.

use crate::errors::{Fault, guard};
use crate::packets::Whole;
use pifolab_loadable::Library;
use pifolab_params::Value;
use pifolab_workload::{Stream, Uniform};
use pyo3::prelude::*;
use std::ffi::c_void;

/// A loaded library, which stands where a class of a scheduler or a rank function may stand.
#[pyclass(name = "Loadable", module = "pifolab", frozen)]
pub struct PyLoadable(Library);

#[pymethods]
impl PyLoadable {
    /// Reads the table at `address`, what the function `pifolab_loadable` of the library `file` returned. The library
    /// stays loaded.
    #[new]
    fn new(py: Python<'_>, file: &str, address: usize) -> PyResult<Self> {
        guard(py, || {
            // SAFETY: the caller passes what the function of a loaded library returned.
            let library = unsafe { Library::at(std::ptr::with_exposed_provenance::<c_void>(address)) };
            library.map(Self).map_err(|problem| Fault::Input(format!("{file}: {problem}")))
        })
    }

    /// The name that scenarios use.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// ``"schedulers"`` or ``"ranks"``.
    #[getter]
    const fn kind(&self) -> &'static str {
        if self.0.is_rank() { "ranks" } else { "schedulers" }
    }
}

impl PyLoadable {
    /// The library.
    pub const fn library(&self) -> &Library {
        &self.0
    }
}

/// Parameters as texts for a library: as in a scenario, without quotation marks.
pub fn texts(args: &[(String, Value)]) -> Vec<(String, String)> {
    let text = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    };
    args.iter().map(|(key, value)| (key.clone(), text(value))).collect()
}

/// A stream of random numbers: the same seed and name give the same numbers on every machine.
///
/// Parameters
/// ----------
/// seed : int
///     The seed of the run.
/// name : str
///     The name of the stream, such as ``"scheduler 0"`` for the scheduler of port 0.
#[pyclass(name = "Stream", module = "pifolab")]
pub struct PyStream(pub Stream);

#[pymethods]
impl PyStream {
    #[new]
    fn new(py: Python<'_>, seed: Whole<'_>, name: &str) -> PyResult<Self> {
        guard(py, || Ok(Self(Stream::named(seed.up_to("seed", i64::MAX as u64)?, name))))
    }

    /// Return 64 random bits, as an integer.
    const fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Return a number from 0 to below 1.
    fn uniform(&mut self) -> f64 {
        self.0.uniform()
    }

    /// Return an integer from 0 to below `bound`.
    fn below(&mut self, py: Python<'_>, bound: Whole<'_>) -> PyResult<u64> {
        guard(py, || {
            let bound = bound.up_to("bound", u64::MAX)?;
            if bound == 0 {
                return Err(Fault::Input("bound = 0: expected an integer from 1".to_owned()));
            }
            Ok(self.0.below(bound))
        })
    }
}
