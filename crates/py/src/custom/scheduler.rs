//! A scheduler written in Python, which decides; the packets stay here.

use super::{Notes, Slot};
use crate::loadable::PyStream;
use crate::packets::{Dropped, NotBefore, PyPacket, integer};
use pifolab_sched::{
    Capacity, Dequeued, DropReason, Enqueued, Facts, Held, Hints, Inspect, Packet, RankInterval, Scheduler, Victims,
    WantedFacts,
};
use pifolab_units::{Bytes, Time};
use pifolab_workload::Stream;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyInt;
use std::collections::HashMap;
use std::fmt;

/// A scheduler written in Python: see `pifolab.PythonScheduler`.
pub struct PythonScheduler {
    object: Py<PyAny>,
    slot: Slot,
    notes: Notes,
    /// The packets held and their queues, by id. Never iterated, since the order of a hash table must not affect
    /// results.
    held: HashMap<u64, (Packet, u32)>,
    backlog: u64,
    /// The contents of each queue.
    queues: Vec<Held>,
}

/// The most queues of a scheduler.
const MAX_QUEUES: usize = 1024;

impl PythonScheduler {
    /// The scheduler `object`, which must be empty and draws from `random`.
    pub fn new(object: Py<PyAny>, random: Stream, slot: Slot) -> PyResult<Self> {
        let notes = Python::attach(|py| {
            object.bind(py).setattr("stream", PyStream(random))?;
            Notes::read(object.bind(py))
        })?;
        let queues = Python::attach(|py| {
            let queues = object.bind(py).getattr("queues")?;
            let number = integer(&queues).and_then(|queues| queues.extract().ok());
            number.filter(|queues| (1..=MAX_QUEUES).contains(queues)).ok_or_else(|| {
                PyValueError::new_err(format!("queues = {queues}: expected an integer from 1 to {MAX_QUEUES}"))
            })
        })?;
        Ok(Self { object, slot, notes, held: HashMap::new(), backlog: 0, queues: vec![Held::default(); queues] })
    }

    fn keep(&mut self, packet: Packet, queue: u32) -> PyResult<()> {
        let queues = self.queues.len();
        let Some(held) = self.queues.get_mut(queue as usize) else {
            return Err(no_queue(queue, queues));
        };
        held.packets += 1;
        held.bytes.0 += u64::from(packet.size);
        self.backlog += u64::from(packet.size);
        self.held.insert(packet.id, (packet, queue));
        Ok(())
    }

    /// The packet that Python returned, which must be held.
    fn release(&mut self, packet: &PyPacket, verb: &str) -> PyResult<(Packet, u32)> {
        let (found, queue) = self.held.remove(&packet.id()).ok_or_else(|| {
            let id = packet.id();
            PyRuntimeError::new_err(format!("the scheduler {verb} packet {id}, which it does not hold"))
        })?;
        self.backlog -= u64::from(found.size);
        let held = &mut self.queues[queue as usize];
        held.packets -= 1;
        held.bytes.0 -= u64::from(found.size);
        Ok((found, queue))
    }
}

/// What Python's `enqueue` may return.
enum Answer {
    /// The packet was stored in this queue.
    Kept(u32),
    Refused(DropReason),
    /// The packet was stored in this queue, and these left, possibly including the arriving one.
    Left(u32, Vec<PyPacket>),
}

/// A queue number that is too large.
fn no_queue(queue: impl fmt::Display, queues: usize) -> PyErr {
    PyValueError::new_err(format!("enqueue returned queue {queue}: expected one from 0 to {}", queues - 1))
}

fn read_answer(answer: &Bound<'_, PyAny>, arriving: u64, queues: usize) -> PyResult<Answer> {
    if answer.is_none() {
        return Ok(Answer::Kept(0));
    }
    if let Ok(queue) = answer.cast_exact::<PyInt>() {
        return queue.extract().map(Answer::Kept).map_err(|_| no_queue(queue, queues));
    }
    if let Ok(dropped) = answer.cast::<Dropped>() {
        let dropped = dropped.get();
        if dropped.packet.id() != arriving {
            return Err(PyRuntimeError::new_err("only the arriving packet can be refused; return a list of victims"));
        }
        return Ok(Answer::Refused(dropped.reason));
    }
    if let Ok(packet) = answer.cast::<PyPacket>() {
        return Ok(Answer::Left(0, vec![packet.get().clone()]));
    }
    if let Ok((queue, left)) = answer.extract::<(Bound<'_, PyInt>, Vec<PyPacket>)>() {
        return queue.extract().map(|number| Answer::Left(number, left)).map_err(|_| no_queue(queue, queues));
    }
    answer.extract().map(|left| Answer::Left(0, left)).map_err(|_| {
        let kind = answer.get_type();
        PyTypeError::new_err(format!(
            "enqueue must return None, a queue's number, a Dropped, a Packet, a list of Packets that are pushed out, or \
             (queue, list), not {kind}"
        ))
    })
}

impl Scheduler for PythonScheduler {
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        let slot = self.slot.clone();
        let (id, rank) = (packet.id, packet.rank);
        let shown = PyPacket::from(&packet);
        let Self { object, notes, queues, .. } = self;
        let answer = slot.call(now, |py| {
            let object = object.bind(py);
            let answer = notes.arriving(object, || object.call_method1("enqueue", (shown, now.as_ns())))?;
            read_answer(&answer, id, queues.len())
        });
        let (left, queue) = match answer {
            Answer::Refused(reason) => return Enqueued::Dropped { packet, reason },
            Answer::Kept(queue) => (Vec::new(), queue),
            Answer::Left(queue, left) => (left, queue),
        };
        slot.call(now, |_| self.keep(packet, queue));
        let mut left: Vec<Packet> = slot.call(now, |_| {
            left.iter().map(|victim| self.release(victim, "gives up").map(|(packet, _)| packet)).collect()
        });
        if let Some(place) = left.iter().position(|victim| victim.id == id) {
            let packet = left.remove(place);
            slot.call(now, |_| {
                let message = "a scheduler that refuses a packet must keep all others";
                if left.is_empty() { Ok(()) } else { Err(PyRuntimeError::new_err(message)) }
            });
            return Enqueued::Dropped { packet, reason: DropReason::Full };
        }
        let mut left = left.into_iter();
        match left.next() {
            None => Enqueued::Admitted { queue, rank },
            Some(first) => {
                let mut victims = Victims::one(first);
                left.for_each(|victim| victims.push(victim));
                Enqueued::Evicted { queue, rank, victims }
            }
        }
    }

    fn dequeue(&mut self, now: Time) -> Dequeued {
        let slot = self.slot.clone();
        slot.call(now, |py| {
            let object = self.object.bind(py);
            let answer = self.notes.leaving(object, || object.call_method1("dequeue", (now.as_ns(),)))?;
            if answer.is_none() {
                return match self.held.len() {
                    0 => Ok(Dequeued::Empty),
                    held => Err(PyRuntimeError::new_err(format!("dequeue returned None, but {held} packets wait"))),
                };
            }
            if let Ok(later) = answer.cast::<NotBefore>() {
                let time = later.get().time_ns;
                // From the largest time on no packet leaves.
                let later = Time::from_ps(time.saturating_mul(1_000));
                if later <= now {
                    let problem = format!("dequeue returned NotBefore(time_ns={time}) at {now}: expected a later time");
                    return Err(PyValueError::new_err(problem));
                }
                return Ok(Dequeued::NotBefore(later));
            }
            let packet = answer.cast::<PyPacket>().map_err(|_| {
                let kind = answer.get_type();
                PyTypeError::new_err(format!("dequeue must return a Packet, a NotBefore or None, not {kind}"))
            })?;
            let (packet, queue) = self.release(packet.get(), "sends")?;
            Ok(Dequeued::Packet { packet, queue })
        })
    }

    fn wants(&self) -> WantedFacts {
        WantedFacts { needs: Facts::NONE, reads: self.notes.reads() }
    }

    fn hint(&mut self, _id: u64, hints: &Hints) {
        let Self { object, slot, notes, .. } = self;
        slot.call_untimed(|py| notes.hint(object.bind(py), hints));
    }

    fn take_label(&mut self) -> Option<u64> {
        self.notes.take_label()
    }
}

impl Inspect for PythonScheduler {
    fn held(&self, queue: Option<usize>) -> Held {
        match queue {
            None => Held { packets: self.held.len(), bytes: Bytes(self.backlog) },
            Some(queue) => self.queues.get(queue).copied().unwrap_or_default(),
        }
    }

    /// Its own state is not read.
    fn capacity(&self) -> Capacity {
        Capacity::Unlimited
    }

    fn queues(&self) -> usize {
        self.queues.len()
    }

    fn queue_ranks(&self, queue: usize) -> RankInterval {
        let bound = self.slot.call_untimed(|py| {
            let bounds = self.object.bind(py).getattr("bounds")?;
            if bounds.is_none() {
                return Ok(None);
            }
            let bound = bounds.get_item(queue).map_err(|error| {
                let queues = self.queues.len();
                let expected = format!("expected None or a list with one for each of {queues} queues");
                PyValueError::new_err(format!("bounds[{queue}]: {}: {expected}", error.value(py)))
            })?;
            if bound.is_none() {
                return Ok(None);
            }
            integer(&bound).and_then(|bound| bound.extract().ok()).map(Some).ok_or_else(|| {
                let expected = "expected None or an integer from -2^63 to 2^63 - 1";
                PyValueError::new_err(format!("bounds[{queue}] = {bound}: {expected}"))
            })
        });
        RankInterval { lowest: bound, highest: None }
    }
}
