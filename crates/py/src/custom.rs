//! Schedulers and rank functions written in Python, seen from Rust.
//!
//! A Python scheduler decides; the packets stay here, so that what it forgets or invents is noticed at once. What goes
//! wrong in Python cannot travel through a trait that has no errors: it is kept in the [`Slot`] of the run, and the
//! call panics; whoever started the run finds the exception there.

use crate::packets::{Dropped, NotBefore, PyPacket};
use crate::values::show_value;
use pifolab_scenario::Extras;
use pifolab_scenario::registry::{BoxedRankFn, BoxedScheduler};
use pifolab_sched::params::Value;
use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Packet, RankFn, Scheduler, Victims};
use pifolab_units::{Bytes, Rank, Time};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The first exception of a run.
#[derive(Clone, Default)]
pub struct Slot(Arc<Mutex<Option<PyErr>>>);

impl Slot {
    /// Takes the exception, if there is one.
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps `error`, unless there is one already.
    pub fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Runs `body` with the interpreter; keeps its exception and panics.
    fn call<T>(&self, body: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
        match Python::attach(body) {
            Ok(value) => value,
            Err(error) => {
                self.keep(error);
                panic!("a scheduler or rank function written in Python raised an exception");
            }
        }
    }
}

/// The schedulers and rank functions that a caller brings along: names, and what makes a fresh one.
pub struct PythonExtras {
    schedulers: Vec<(String, Py<PyAny>)>,
    ranks: Vec<(String, Py<PyAny>)>,
    slot: Slot,
}

impl PythonExtras {
    /// Reads two dictionaries, from names to classes (or whatever else makes one when called).
    pub fn read(
        schedulers: Option<&Bound<'_, PyDict>>,
        ranks: Option<&Bound<'_, PyDict>>,
        slot: Slot,
    ) -> PyResult<Self> {
        let read = |makers: Option<&Bound<'_, PyDict>>| {
            let pairs = makers.into_iter().flatten();
            pairs.map(|(name, maker)| Ok((name.extract()?, maker.unbind()))).collect::<PyResult<Vec<_>>>()
        };
        Ok(Self { schedulers: read(schedulers)?, ranks: read(ranks)?, slot })
    }

    /// Calls the maker of `name` with `args` as keywords; an exception becomes one line.
    fn make(makers: &[(String, Py<PyAny>)], name: &str, args: &[(String, Value)]) -> Option<Result<Py<PyAny>, String>> {
        let (_, maker) = makers.iter().find(|(known, _)| known == name)?;
        Some(Python::attach(|py| {
            let keywords = PyDict::new(py);
            let made = args.iter().try_for_each(|(key, value)| keywords.set_item(key, show_value(py, value)?));
            made.and_then(|()| maker.call(py, (), Some(&keywords))).map_err(|error| {
                let kind = error.get_type(py);
                let kind = kind.name().map(|name| name.to_string()).unwrap_or_default();
                format!("{kind}: {}", error.value(py))
            })
        }))
    }
}

impl Extras for PythonExtras {
    fn scheduler(&self, name: &str, args: &[(String, Value)]) -> Option<Result<BoxedScheduler, String>> {
        let made = Self::make(&self.schedulers, name, args)?;
        Some(made.map(|object| Box::new(PythonScheduler::new(object, self.slot.clone())) as BoxedScheduler))
    }

    fn rank(&self, name: &str, args: &[(String, Value)]) -> Option<Result<BoxedRankFn, String>> {
        let made = Self::make(&self.ranks, name, args)?;
        Some(made.map(|object| Box::new(PythonRank { object, slot: self.slot.clone() }) as BoxedRankFn))
    }

    fn names(&self) -> Vec<String> {
        self.schedulers.iter().chain(&self.ranks).map(|(name, _)| name.clone()).collect()
    }
}

/// A scheduler written in Python: see `pifolab.PythonScheduler`.
struct PythonScheduler {
    object: Py<PyAny>,
    slot: Slot,
    /// What it holds, by id. Never iterated: the order of a hash table must not show.
    held: HashMap<u64, Packet>,
    backlog: u64,
}

impl PythonScheduler {
    /// The scheduler `object`, which must be empty.
    fn new(object: Py<PyAny>, slot: Slot) -> Self {
        Self { object, slot, held: HashMap::new(), backlog: 0 }
    }

    fn keep(&mut self, packet: Packet) {
        self.backlog += u64::from(packet.size);
        self.held.insert(packet.id, packet);
    }

    /// The packet that Python names, which must be held.
    fn release(&mut self, packet: &PyPacket, verb: &str) -> PyResult<Packet> {
        let found = self.held.remove(&packet.id()).ok_or_else(|| {
            let id = packet.id();
            PyRuntimeError::new_err(format!("the scheduler {verb} packet {id}, which it does not hold"))
        })?;
        self.backlog -= u64::from(found.size);
        Ok(found)
    }
}

/// What Python's `enqueue` may return.
enum Answer {
    Kept,
    Refused(DropReason),
    /// These left, the arriving packet perhaps among them.
    Left(Vec<PyPacket>),
}

fn read_answer(answer: &Bound<'_, PyAny>, arriving: u64) -> PyResult<Answer> {
    if answer.is_none() {
        return Ok(Answer::Kept);
    }
    if let Ok(dropped) = answer.cast::<Dropped>() {
        let dropped = dropped.get();
        if dropped.packet.id() != arriving {
            return Err(PyRuntimeError::new_err("only the arriving packet can be refused; return a list of victims"));
        }
        return Ok(Answer::Refused(dropped.reason));
    }
    if let Ok(packet) = answer.cast::<PyPacket>() {
        return Ok(Answer::Left(vec![packet.get().clone()]));
    }
    answer.extract().map(Answer::Left).map_err(|_| {
        let kind = answer.get_type();
        PyTypeError::new_err(format!("enqueue must return None, a Dropped, a Packet or a list of Packets, not {kind}"))
    })
}

impl Scheduler for PythonScheduler {
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        let slot = self.slot.clone();
        let (id, rank) = (packet.id, packet.rank);
        let shown = PyPacket::from(&packet);
        let answer = slot.call(|py| {
            let answer = self.object.bind(py).call_method1("enqueue", (shown, now.as_ns()))?;
            read_answer(&answer, id)
        });
        let left = match answer {
            Answer::Refused(reason) => return Enqueued::Dropped { packet, reason },
            Answer::Kept => Vec::new(),
            Answer::Left(left) => left,
        };
        self.keep(packet);
        let mut left =
            slot.call(|_| left.iter().map(|victim| self.release(victim, "gives up")).collect::<PyResult<Vec<_>>>());
        if let Some(place) = left.iter().position(|victim| victim.id == id) {
            let packet = left.remove(place);
            slot.call(|_| {
                let message = "a scheduler that refuses a packet must keep all others";
                if left.is_empty() { Ok(()) } else { Err(PyRuntimeError::new_err(message)) }
            });
            return Enqueued::Dropped { packet, reason: DropReason::Full };
        }
        let mut left = left.into_iter();
        match left.next() {
            None => Enqueued::Admitted { queue: 0, rank },
            Some(first) => {
                let mut victims = Victims::one(first);
                left.for_each(|victim| victims.push(victim));
                Enqueued::Evicted { queue: 0, rank, victims }
            }
        }
    }

    fn dequeue(&mut self, now: Time) -> Dequeued {
        let slot = self.slot.clone();
        slot.call(|py| {
            let answer = self.object.bind(py).call_method1("dequeue", (now.as_ns(),))?;
            if answer.is_none() {
                return match self.held.len() {
                    0 => Ok(Dequeued::Empty),
                    held => Err(PyRuntimeError::new_err(format!("dequeue returned None, but {held} packets wait"))),
                };
            }
            if let Ok(later) = answer.cast::<NotBefore>() {
                return Ok(Dequeued::NotBefore(Time::from_ns(later.get().time_ns)));
            }
            let packet = answer.cast::<PyPacket>().map_err(|_| {
                let kind = answer.get_type();
                PyTypeError::new_err(format!("dequeue must return a Packet, a NotBefore or None, not {kind}"))
            })?;
            Ok(Dequeued::Packet { packet: self.release(packet.get(), "sends")?, queue: 0 })
        })
    }

    fn len(&self) -> usize {
        self.held.len()
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.backlog)
    }

    /// What it holds is its own affair.
    fn capacity(&self) -> Capacity {
        Capacity::Unlimited
    }
}

/// A rank function written in Python: see `pifolab.PythonRank`.
struct PythonRank {
    object: Py<PyAny>,
    slot: Slot,
}

impl PythonRank {
    fn tell(&self, method: &str, packet: &Packet, now: Time) {
        self.slot
            .call(|py| self.object.bind(py).call_method1(method, (PyPacket::from(packet), now.as_ns())).map(|_| ()));
    }
}

impl RankFn for PythonRank {
    fn rank(&mut self, packet: &Packet, now: Time) -> Rank {
        self.slot.call(|py| {
            let answer = self.object.bind(py).call_method1("rank", (PyPacket::from(packet), now.as_ns()))?;
            let rank = answer.extract::<u64>().ok().and_then(Rank::new);
            rank.ok_or_else(|| {
                PyRuntimeError::new_err(format!("rank returned {answer}: expected an integer from 0 to 2^63 - 1"))
            })
        })
    }

    fn on_dequeue(&mut self, packet: &Packet, now: Time) {
        self.tell("on_dequeue", packet, now);
    }

    fn on_drop(&mut self, packet: &Packet, now: Time) {
        self.tell("on_drop", packet, now);
    }
}
