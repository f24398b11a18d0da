//! The facts and the labels of packets, for a class written in Python.

use crate::packets::integer;
use pifolab_sched::{Fact, Facts, Hints};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// What an object reads about packets beside their descriptors, and the label that its last call wrote.
pub struct Notes {
    wants_facts: bool,
    wants_label: bool,
    /// The label of the arriving packet.
    carried: u64,
    written: Option<u64>,
}

impl Notes {
    /// Reads the attributes `wants_facts` and `wants_label`.
    pub fn read(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let wants = |name: &str| object.getattr_opt(name)?.map_or(Ok(false), |value| value.is_truthy());
        Ok(Self { wants_facts: wants("wants_facts")?, wants_label: wants("wants_label")?, carried: 0, written: None })
    }

    /// The facts that travel beside a packet.
    pub fn reads(&self) -> Facts {
        const LABEL: Facts = Facts::one(Fact::CarriedLabel);
        let facts = if self.wants_facts { Facts::ALL - LABEL } else { Facts::NONE };
        if self.wants_label { facts | LABEL } else { facts }
    }

    /// Takes the facts about the packet that arrives next.
    pub fn hint(&mut self, object: &Bound<'_, PyAny>, hints: &Hints) -> PyResult<()> {
        self.carried = hints.carried_label;
        if self.wants_facts { object.setattr("facts", show_facts(object.py(), hints)?) } else { Ok(()) }
    }

    /// Calls `call` for an arriving packet, which changes its label.
    pub fn arriving<T>(&mut self, object: &Bound<'_, PyAny>, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        let carried = std::mem::take(&mut self.carried);
        self.labelling(object, Some(carried), call)
    }

    /// Calls `call` for a packet that leaves, whose label stays unless it writes another.
    pub fn leaving<T>(&mut self, object: &Bound<'_, PyAny>, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        self.labelling(object, None, call)
    }

    fn labelling<T>(
        &mut self,
        object: &Bound<'_, PyAny>,
        label: Option<u64>,
        call: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        if !self.wants_label {
            return call();
        }
        object.setattr("label", label)?;
        let outcome = call()?;
        let written = object.getattr("label")?;
        self.written = match written.is_none() {
            true => None,
            false => Some(integer(&written).and_then(|label| label.extract().ok()).ok_or_else(|| {
                PyValueError::new_err(format!("label = {written}: expected None or an integer from 0 to 2^64 - 1"))
            })?),
        };
        Ok(outcome)
    }

    /// The label that the last call wrote.
    pub fn take_label(&mut self) -> Option<u64> {
        self.written.take()
    }

    /// Puts back the label that [`take_label`](Self::take_label) returned.
    pub fn restore(&mut self, label: Option<u64>) {
        self.written = label;
    }
}

/// The facts about a packet, as `pifolab.Facts`.
fn show_facts<'py>(py: Python<'py>, hints: &Hints) -> PyResult<Bound<'py, PyAny>> {
    static FACTS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    FACTS.import(py, "pifolab.custom", "Facts")?.call1((
        hints.flow_size.0,
        hints.remaining.0,
        hints.unacknowledged.0,
        hints.deadline.map(|deadline| deadline.as_ns()),
        hints.remaining_transmission.as_ns(),
        hints.delay_so_far.as_ns(),
        hints.mean_delay_so_far.as_ns(),
    ))
}
