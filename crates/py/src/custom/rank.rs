//! A rank function written in Python.

use super::Slot;
use crate::packets::{PyPacket, integer};
use pifolab_sched::{Fact, Facts, Hints, Packet, RankFn};
use pifolab_units::{Rank, Time};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// A rank function written in Python: see `pifolab.PythonRank`.
pub struct PythonRank {
    object: Py<PyAny>,
    slot: Slot,
    wants_facts: bool,
    /// Which of its methods beside `rank` are overridden.
    hears_of_departures: bool,
    hears_of_drops: bool,
}

impl PythonRank {
    /// The rank function `object`.
    pub fn new(object: Py<PyAny>, slot: Slot) -> PyResult<Self> {
        Python::attach(|py| {
            let base = py.import("pifolab.custom")?.getattr("PythonRank")?;
            let class = object.bind(py).get_type();
            let overrides = |method: &str| PyResult::Ok(!class.getattr(method)?.is(&base.getattr(method)?));
            let (hears_of_departures, hears_of_drops) = (overrides("on_dequeue")?, overrides("on_drop")?);
            let wants_facts = object.bind(py).getattr("wants_facts")?.is_truthy()?;
            Ok(Self { object, slot, wants_facts, hears_of_departures, hears_of_drops })
        })
    }

    fn tell(&self, method: &str, packet: &Packet, now: Time) {
        self.slot.call(now, |py| {
            self.object.bind(py).call_method1(method, (PyPacket::from(packet), now.as_ns())).map(|_| ())
        });
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

impl RankFn for PythonRank {
    fn rank(&mut self, packet: &Packet, now: Time) -> Rank {
        self.slot.call(now, |py| {
            let answer = self.object.bind(py).call_method1("rank", (PyPacket::from(packet), now.as_ns()))?;
            let rank = integer(&answer).and_then(|rank| rank.extract().ok()).and_then(Rank::new);
            rank.ok_or_else(|| {
                PyRuntimeError::new_err(format!("rank returned {answer}: expected an integer from 0 to 2^63 - 1"))
            })
        })
    }

    fn on_dequeue(&mut self, packet: &Packet, now: Time) {
        if self.hears_of_departures {
            self.tell("on_dequeue", packet, now);
        }
    }

    fn on_drop(&mut self, packet: &Packet, now: Time) {
        if self.hears_of_drops {
            self.tell("on_drop", packet, now);
        }
    }

    /// Hints come directly before their packet.
    fn hint(&mut self, _id: u64, hints: &Hints) {
        self.slot.call_untimed(|py| self.object.bind(py).setattr("facts", show_facts(py, hints)?));
    }

    fn needs(&self) -> Facts {
        Facts::NONE
    }

    /// It may read every fact.
    fn reads(&self) -> Facts {
        if self.wants_facts { Facts::ALL } else { Facts::one(Fact::CarriedRank) }
    }
}
