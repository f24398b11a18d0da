//! The P4 programs: which there are, and their parameter files.

use crate::errors::{Fault, guard, interruptible};
use crate::values::{chosen, read_args};
use pifolab_p4::{Compiled, PROGRAMS, Refusal, Target, compile, compile_vector};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fs;
use std::path::PathBuf;

fn show<'py>(py: Python<'py>, compiled: Compiled) -> PyResult<Bound<'py, PyDict>> {
    let shown = PyDict::new(py);
    shown.set_item("program", compiled.program)?;
    shown.set_item("scheduler", compiled.scheduler)?;
    shown.set_item("in_bytes", compiled.in_bytes)?;
    shown.set_item("capacities", compiled.capacities)?;
    shown.set_item("text", compiled.text)?;
    Ok(shown)
}

/// The programs and the schedulers that each does.
#[pyfunction]
pub fn p4_programs() -> Vec<(&'static str, Vec<&'static str>)> {
    PROGRAMS.iter().map(|program| (program.name, program.schedulers.to_vec())).collect()
}

/// The program and the parameter file of the scheduler `name` on `target`.
#[pyfunction]
#[pyo3(signature = (name, parameters, target))]
pub fn p4_parameters<'py>(
    py: Python<'py>,
    name: &str,
    parameters: Option<&Bound<'py, PyDict>>,
    target: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let args = read_args(name, parameters)?;
    let compiled = guard(py, || {
        compile(name, args, chosen::<Target>("target", target)?).map_err(|refusal| Fault::Input(refusal.to_string()))
    })?;
    show(py, compiled)
}

/// The same for the vector in `file`, and what the library makes of it: `operations` and `mismatches`. Where the target
/// cannot do it, `skipped` alone says why.
#[pyfunction]
pub fn p4_vector<'py>(py: Python<'py>, file: PathBuf, target: &str) -> PyResult<Bound<'py, PyDict>> {
    let target = guard(py, || chosen::<Target>("target", target))?;
    let compiled = interruptible(py, move || {
        let name = file.display().to_string();
        let text = fs::read(&file).map_err(|error| Fault::Input(format!("{name}: cannot be read: {error}")))?;
        match compile_vector(&name, &text, target) {
            Err(Refusal::Wrong(message)) => Err(Fault::Input(message)),
            Err(Refusal::Unsupported(reason)) => Ok(Err(reason)),
            Ok(compiled) => Ok(Ok(compiled)),
        }
    })?;
    match compiled {
        Ok((compiled, outcome)) => {
            let shown = show(py, compiled)?;
            shown.set_item("operations", outcome.operations)?;
            shown.set_item("mismatches", outcome.mismatches)?;
            Ok(shown)
        }
        Err(reason) => {
            let shown = PyDict::new(py);
            shown.set_item("skipped", reason)?;
            Ok(shown)
        }
    }
}
