//! A rank function written in Python.

use super::{Notes, Slot};
use crate::loadable::PyStream;
use crate::packets::{PyPacket, integer};
use pifolab_sched::{Fact, Facts, Hints, Packet, RankFn};
use pifolab_units::{Rank, Time};
use pifolab_workload::Stream;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// A rank function written in Python: see `pifolab.PythonRank`.
pub struct PythonRank {
    object: Py<PyAny>,
    slot: Slot,
    notes: Notes,
    /// Which of its methods beside `rank` are overridden.
    hears_of_departures: bool,
    hears_of_drops: bool,
}

impl PythonRank {
    /// The rank function `object`, which draws from `random`.
    pub fn new(object: Py<PyAny>, random: Stream, slot: Slot) -> PyResult<Self> {
        Python::attach(|py| {
            let base = py.import("pifolab.custom")?.getattr("PythonRank")?;
            let class = object.bind(py).get_type();
            let overrides = |method: &str| PyResult::Ok(!class.getattr(method)?.is(&base.getattr(method)?));
            let (hears_of_departures, hears_of_drops) = (overrides("on_dequeue")?, overrides("on_drop")?);
            let notes = Notes::read(object.bind(py))?;
            object.bind(py).setattr("stream", PyStream(random))?;
            Ok(Self { object, slot, notes, hears_of_departures, hears_of_drops })
        })
    }

    fn tell(&mut self, method: &str, packet: &Packet, now: Time) {
        let Self { object, slot, notes, .. } = self;
        slot.call(now, |py| {
            let object = object.bind(py);
            notes.leaving(object, || object.call_method1(method, (PyPacket::from(packet), now.as_ns()))).map(|_| ())
        });
    }
}

impl RankFn for PythonRank {
    fn rank(&mut self, packet: &Packet, now: Time) -> Rank {
        let Self { object, slot, notes, .. } = self;
        slot.call(now, |py| {
            let object = object.bind(py);
            let answer =
                notes.arriving(object, || object.call_method1("rank", (PyPacket::from(packet), now.as_ns())))?;
            let rank = integer(&answer).and_then(|rank| rank.extract().ok()).and_then(Rank::new);
            rank.ok_or_else(|| {
                PyRuntimeError::new_err(format!("rank returned {answer}: expected an integer from 0 to 2^63 - 1"))
            })
        })
    }

    fn on_dequeue(&mut self, packet: &Packet, now: Time) {
        // A packet that was refused leaves a label behind.
        self.notes.take_label();
        if self.hears_of_departures {
            self.tell("on_dequeue", packet, now);
        }
    }

    fn on_drop(&mut self, packet: &Packet, now: Time) {
        if self.hears_of_drops {
            // The arriving packet keeps its label where it pushes another one out.
            let own = self.notes.take_label();
            self.tell("on_drop", packet, now);
            self.notes.restore(own);
        }
    }

    /// Hints come directly before their packet.
    fn hint(&mut self, _id: u64, hints: &Hints) {
        let Self { object, slot, notes, .. } = self;
        slot.call_untimed(|py| notes.hint(object.bind(py), hints));
    }

    fn take_label(&mut self) -> Option<u64> {
        self.notes.take_label()
    }

    fn needs(&self) -> Facts {
        Facts::NONE
    }

    /// A carried rank is always in its packet.
    fn reads(&self) -> Facts {
        self.notes.reads() | Facts::one(Fact::CarriedRank)
    }
}
