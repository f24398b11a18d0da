//! Calls into Python from code that cannot return errors.

use crate::loadable::PyLoadable;
use crate::signals::AtWork;
use crate::values::show_value;
use pifolab_sched::params::Value;
use pifolab_units::Time;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, PoisonError};

/// The first exception of a run.
#[derive(Clone, Default)]
pub struct Slot(Arc<Mutex<Option<PyErr>>>);

impl Slot {
    /// Takes the stored exception, if there is one.
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Stores `error`, unless there is one already.
    pub fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Runs `body` at the simulated time `now` with the interpreter; stores its exception, with the time added, and
    /// panics.
    pub(super) fn call<T>(&self, now: Time, body: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
        self.call_untimed(|py| body(py).inspect_err(|error| note_time(py, error, now)))
    }

    /// The same without a simulated time.
    pub fn call_untimed<T>(&self, body: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
        let at_work = AtWork::new();
        let result = Python::attach(|py| body(py).inspect_err(|error| note_origin(py, error)));
        drop(at_work);
        match result {
            Ok(value) => value,
            Err(error) => {
                self.keep(error);
                panic!("the class written in Python raised an exception");
            }
        }
    }
}

/// Adds the simulated time to the exception: as an attribute and, from Python 3.11 on, below its traceback.
fn note_time(py: Python<'_>, error: &PyErr, now: Time) {
    let value = error.value(py);
    let note = format!("at simulated time {now}");
    // An exception class may refuse both; the exception itself is more important.
    let _ = value.setattr("simulated_time_ns", now.as_ns());
    let _ = value.call_method1("add_note", (note,));
}

/// Marks an exception as one of the user's code: it gets the attribute of the simulated time, which is empty unless the
/// time is known.
fn note_origin(py: Python<'_>, error: &PyErr) {
    let value = error.value(py);
    if !value.hasattr("simulated_time_ns").unwrap_or(false) {
        let _ = value.setattr("simulated_time_ns", py.None());
    }
}

/// A class of the user's or another factory.
pub struct Maker(pub(super) Py<PyAny>);

impl Maker {
    /// The library, if it is one in the place of a class.
    pub(super) fn loadable(&self) -> Option<Py<PyLoadable>> {
        Python::attach(|py| self.0.bind(py).cast::<PyLoadable>().ok().map(|found| found.clone().unbind()))
    }

    /// Calls it with `args` as keywords.
    pub(super) fn call(&self, py: Python<'_>, args: &[(String, Value)]) -> PyResult<Py<PyAny>> {
        let _at_work = AtWork::new();
        let keywords = PyDict::new(py);
        args.iter().try_for_each(|(key, value)| keywords.set_item(key, show_value(py, value)?))?;
        self.0.call(py, (), Some(&keywords))
    }
}
