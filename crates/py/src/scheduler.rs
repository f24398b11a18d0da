//! A scheduler, alone or joined to a rank function, as a Python object.

use pifolab_scenario::registry::{self, BoxedScheduler};
use pifolab_sched::{Capacity, Dequeued, Enqueued, Fact, Hints, InspectExt, Labels, Packet, Ranked, Scheduler};
use pifolab_tree::Classify;
use pifolab_units::{Bytes, Rank, Span, Time};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::arrays::{Array, CHUNK, Column, DequeuedMany, EnqueuedMany, Filled, array};
use crate::errors::{Fault, guard};
use crate::packets::{Admitted, DEFAULT_SIZE, Dropped, Evicted, MAX_FLOW, MAX_ID, NotBefore, PyPacket, Whole, integer};
use crate::values::read_args;

/// The common interface of all schedulers. Construct one of the derived classes, such as `Pifo`.
///
/// ``len(scheduler)`` is the number of packets held.
#[pyclass(name = "Scheduler", module = "pifolab", subclass)]
pub struct PyScheduler {
    /// Locked only through shared references; methods that change it have exclusive access.
    inner: Mutex<BoxedScheduler>,
    /// The time of the last call: time never runs backwards.
    now: Time,
    next_id: u64,
    /// The exception that a classifier in Python raised.
    failed: Arc<Mutex<Option<PyErr>>>,
    /// Whether it may mark packets; `marked` is whether it marked the packet of the last call.
    may_mark: bool,
    marked: bool,
}

#[pymethods]
impl PyScheduler {
    /// Makes `scheduler` with its parameters, behind `rank` with its parameters if there is one.
    #[new]
    #[pyo3(signature = (scheduler, parameters=None, rank=None, rank_parameters=None, classify=None))]
    fn new(
        py: Python<'_>,
        scheduler: &str,
        parameters: Option<&Bound<'_, PyDict>>,
        rank: Option<&str>,
        rank_parameters: Option<&Bound<'_, PyDict>>,
        classify: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let args = read_args(scheduler, parameters)?;
        let rank = rank.map(|name| read_args(name, rank_parameters)).transpose()?;
        let failed = Arc::new(Mutex::new(None));
        let inner = guard(py, || {
            if let Some(function) = classify {
                let classify = classify_by(function, Arc::clone(&failed));
                return Ok(registry::build_tree_with(args, classify)?);
            }
            let scheduler = registry::find_scheduler(args.owner()).map_err(Fault::Input)?.build(args)?;
            let Some(args) = rank else { return Ok(scheduler) };
            let rank_fn = registry::find_rank(args.owner()).map_err(Fault::Input)?.build(args)?;
            Ok(Box::new(Ranked::new(rank_fn, scheduler)) as BoxedScheduler)
        })?;
        let may_mark = inner.wants().needs.contains(Fact::Ecn);
        Ok(Self { inner: Mutex::new(inner), now: Time::ZERO, next_id: 0, failed, may_mark, marked: false })
    }

    /// Offer a packet.
    ///
    /// Parameters
    /// ----------
    /// packet : Packet or int, optional
    ///     The packet, or just its rank. May be omitted if a rank function computes the rank.
    /// flow : int, optional
    ///     The flow that it belongs to, from 0. Default 0.
    /// size_bytes : int, optional
    ///     Its size. Default 1500, a full Ethernet frame.
    /// id : int, optional
    ///     Its id, unique among the packets held. Default: numbered in order of arrival.
    /// now_ns : int, optional
    ///     The time of the call in nanoseconds; time never runs backwards. Default: that of the last call.
    /// eligible_ns : int, optional
    ///     The time before which it may not leave (`Pieo`). Default 0.
    /// flow_size_bytes, remaining_bytes, unacknowledged_bytes : int, optional
    ///     Facts for the rank functions ``flow-size``, ``remaining-size`` and ``unacknowledged``.
    /// deadline_ns, remaining_transmission_ns, delay_so_far_ns, mean_delay_so_far_ns : int, optional
    ///     Facts for the rank functions ``edf``, ``lstf`` and ``fifo-plus``.
    /// labels : mapping of str to int, optional
    ///     The fields by which a `Tree` may classify packets: ``class``, ``dscp``, ``source_host``,
    ///     ``destination_host``, ``source_port``, ``destination_port``; and ``ecn``, the codepoint of RFC 3168, for
    ///     schedulers that mark (`Managed` and `FqCodel` with ``ecn=True``): 0 cannot carry a mark, 1 ECT(1), 2 ECT(0),
    ///     3 marked already. Default 0 each.
    ///
    /// Returns
    /// -------
    /// Admitted, Evicted or Dropped
    ///     The outcome for the packet, and for the packets that it pushed out.
    ///
    /// Raises
    /// ------
    /// InputError
    ///     A value out of range, a time before the last one, or a fact that is not read.
    ///
    /// Examples
    /// --------
    /// >>> import pifolab
    /// >>> scheduler = pifolab.SpPifo(queues=2, queue_capacity_packets=1)
    /// >>> scheduler.enqueue(5)
    /// Admitted(queue=1, rank=5)
    /// >>> scheduler.enqueue(pifolab.Packet(rank=2, flow=9))
    /// Admitted(queue=0, rank=2)
    /// >>> match scheduler.enqueue(6):
    /// ...     case pifolab.Dropped(reason, packet):
    /// ...         print(reason, packet.rank)
    /// full 6
    #[pyo3(signature = (
        packet=None, *, flow=None, size_bytes=None, id=None, now_ns=None, eligible_ns=None,
        flow_size_bytes=None, remaining_bytes=None, unacknowledged_bytes=None, deadline_ns=None,
        remaining_transmission_ns=None, delay_so_far_ns=None, mean_delay_so_far_ns=None, labels=None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are Python keywords")]
    fn enqueue<'py>(
        slf: &Bound<'py, Self>,
        packet: Option<Offered<'py>>,
        flow: Option<Whole<'py>>,
        size_bytes: Option<Whole<'py>>,
        id: Option<Whole<'py>>,
        now_ns: Option<Whole<'py>>,
        eligible_ns: Option<Whole<'py>>,
        flow_size_bytes: Option<Whole<'py>>,
        remaining_bytes: Option<Whole<'py>>,
        unacknowledged_bytes: Option<Whole<'py>>,
        deadline_ns: Option<Whole<'py>>,
        remaining_transmission_ns: Option<Whole<'py>>,
        delay_so_far_ns: Option<Whole<'py>>,
        mean_delay_so_far_ns: Option<Whole<'py>>,
        labels: Option<BTreeMap<LabelName, Whole<'py>>>,
    ) -> PyResult<Py<PyAny>> {
        let (py, mut this) = (slf.py(), held_alone(slf)?);
        let this = &mut *this;
        let outcome = guard(py, || {
            let now = this.advance(now_ns)?;
            let packet = match packet {
                Some(Offered::Packet(packet)) => {
                    if flow.is_some() || size_bytes.is_some() || id.is_some() {
                        let message = "flow, size_bytes and id are part of the packet: give them there";
                        return Err(Fault::Input(message.to_owned()));
                    }
                    packet.arriving(now)
                }
                bare => Packet {
                    id: match id {
                        Some(id) => id.up_to("id", MAX_ID)?,
                        None => this.next_id,
                    },
                    flow: flow.map_or(Ok(0), |flow| flow.flow())?,
                    size: size_bytes.map_or(Ok(DEFAULT_SIZE), |size| size.size())?,
                    rank: match bare {
                        Some(Offered::Rank(rank)) => rank.rank()?,
                        _ => Rank::ZERO,
                    },
                    arrival: now,
                },
            };
            this.next_id = this.next_id.max(packet.id.saturating_add(1)).min(MAX_ID);
            let bytes = |key, value: Option<Whole<'py>>| value.map(|value| value.up_to(key, u64::MAX).map(Bytes));
            let time = |key, value: Option<Whole<'py>>| value.map(|value| value.time(key));
            let facts = Facts {
                flow_size: bytes("flow_size_bytes", flow_size_bytes).transpose()?,
                remaining: bytes("remaining_bytes", remaining_bytes).transpose()?,
                unacknowledged: bytes("unacknowledged_bytes", unacknowledged_bytes).transpose()?,
                deadline: time("deadline_ns", deadline_ns).transpose()?,
                remaining_transmission: time("remaining_transmission_ns", remaining_transmission_ns).transpose()?,
                delay_so_far: time("delay_so_far_ns", delay_so_far_ns).transpose()?,
                mean_delay_so_far: time("mean_delay_so_far_ns", mean_delay_so_far_ns).transpose()?,
                labels: labels.map(read_labels).transpose()?,
            };
            let eligible = eligible_ns.map_or(Ok(Time::ZERO), |time| time.time("eligible_ns"))?;
            let scheduler = this.scheduler();
            facts.tell(scheduler, packet.id)?;
            let outcome = scheduler.enqueue_eligible(packet, eligible, now);
            this.note_mark();
            Ok(outcome)
        })?;
        if let Some(error) = this.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            return Err(error);
        }
        Ok(match outcome {
            Enqueued::Admitted { queue, rank } => Py::new(py, Admitted { queue, rank: rank.get() })?.into_any(),
            Enqueued::Evicted { queue, rank, victims } => {
                let victims = victims.iter().map(PyPacket::from).collect();
                Py::new(py, Evicted { queue, rank: rank.get(), victims })?.into_any()
            }
            Enqueued::Dropped { packet, reason } => {
                Py::new(py, Dropped { packet: PyPacket::from(&packet), reason })?.into_any()
            }
        })
    }

    /// Take the next packet to send.
    ///
    /// Parameters
    /// ----------
    /// now_ns : int, optional
    ///     The time of the call in nanoseconds. Default: that of the last call.
    ///
    /// Returns
    /// -------
    /// Packet, NotBefore, Dropped or None
    ///     None if no packet waits; `NotBefore` if packets wait but none may leave yet (`Pieo`); `Dropped` if the
    ///     scheduler dropped a packet, in which case call it again.
    ///
    /// Examples
    /// --------
    /// >>> import pifolab
    /// >>> scheduler = pifolab.Pifo(capacity_packets=2)
    /// >>> scheduler.enqueue(8), scheduler.enqueue(4)
    /// (Admitted(queue=0, rank=8), Admitted(queue=0, rank=4))
    /// >>> scheduler.dequeue().rank, scheduler.dequeue().rank, scheduler.dequeue()
    /// (4, 8, None)
    #[pyo3(signature = (*, now_ns=None))]
    fn dequeue<'py>(slf: &Bound<'py, Self>, now_ns: Option<Whole<'py>>) -> PyResult<Option<Py<PyAny>>> {
        let (py, mut this) = (slf.py(), held_alone(slf)?);
        let this = &mut *this;
        let outcome = guard(py, || {
            let now = this.advance(now_ns)?;
            let outcome = this.scheduler().dequeue(now);
            this.note_mark();
            Ok(outcome)
        })?;
        Ok(match outcome {
            Dequeued::Packet { packet, .. } => Some(Py::new(py, PyPacket::from(&packet))?.into_any()),
            Dequeued::Dropped { packet, reason } => {
                Some(Py::new(py, Dropped { packet: PyPacket::from(&packet), reason })?.into_any())
            }
            Dequeued::NotBefore(time) => {
                Some(Py::new(py, NotBefore { time_ns: time.as_ps().div_ceil(1000) })?.into_any())
            }
            Dequeued::Empty => None,
        })
    }

    /// Offer many packets, one after another, by arrays.
    ///
    /// Parameters
    /// ----------
    /// ranks : array of int
    ///     The rank of each packet: a one-dimensional array of integers, or anything that numpy converts to one.
    /// flows, size_bytes : int or array of int, optional
    ///     The flow (default 0) and size in bytes (default 1500) of all packets, or of each.
    /// now_ns : int or array of int, optional
    ///     The time of all calls, or of each, in nanoseconds; time never runs backwards. Default: that of the last call.
    ///
    /// Returns
    /// -------
    /// EnqueuedMany
    ///     Arrays: ``ids``, ``ranks``, ``queues`` (-1: refused), and ``evicted``, the ids of packets that were pushed out.
    ///
    /// Raises
    /// ------
    /// InputError
    ///     A value out of range, named with its place, or a time before the last one; no packet was offered then.
    /// TypeError
    ///     Not an array of integers.
    ///
    /// Examples
    /// --------
    /// >>> import pifolab
    /// >>> pifo = pifolab.Pifo(capacity_packets=3)
    /// >>> offered = pifo.enqueue_many([7, 3, 5, 9, 1])
    /// >>> offered
    /// EnqueuedMany(5 offered, 4 stored, 1 pushed out)
    /// >>> offered.queues.tolist(), offered.evicted.tolist()
    /// ([0, 0, 0, -1, 0], [0])
    /// >>> pifo.dequeue_many().ranks.tolist()
    /// [1, 3, 5]
    #[pyo3(signature = (ranks, *, flows=None, size_bytes=None, now_ns=None))]
    fn enqueue_many(
        slf: &Bound<'_, Self>,
        ranks: &Bound<'_, PyAny>,
        flows: Option<&Bound<'_, PyAny>>,
        size_bytes: Option<&Bound<'_, PyAny>>,
        now_ns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<EnqueuedMany> {
        let py = slf.py();
        let ranks = Array::read(ranks, "ranks", Rank::MAX.get())?;
        let length = ranks.length;
        let flows = Column::read(flows, "flows", MAX_FLOW, length, 0)?;
        let sizes = Column::read(size_bytes, "size_bytes", u32::MAX.into(), length, DEFAULT_SIZE.into())?;
        let mut this = held_alone(slf)?;
        let this = &mut *this;
        let (first, last) = (this.next_id, this.now.as_ns());
        let times = Column::read(now_ns, "now_ns", u64::MAX / 1000, length, last)?;
        guard(py, || {
            if this.scheduler().wants().has_hints() {
                let message = "the scheduler or its rank function needs facts about each packet: offer them one by one";
                return Err(Fault::Input(message.to_owned()));
            }
            if length as u64 > MAX_ID - first {
                return Err(Fault::Input(format!("ranks: expected at most {} packets", MAX_ID - first)));
            }
            Ok(())
        })?;
        let mut of_chunk: [Vec<u64>; 4] = Default::default();
        let mut before = last;
        for start in (0..length).step_by(CHUNK) {
            let [now, ..] = &mut of_chunk;
            times.chunk(start, CHUNK.min(length - start), now)?;
            guard(py, || {
                for (place, now) in now.iter().enumerate() {
                    if *now < before {
                        let place = start + place;
                        let at = if matches!(times, Column::Each(_)) { format!("[{place}]") } else { String::new() };
                        let expected = format!("expected at least {before}, the time before");
                        return Err(Fault::Input(format!("now_ns{at} = {now}: {expected}")));
                    }
                    before = *now;
                }
                Ok(())
            })?;
            if matches!(times, Column::One(_)) {
                break;
            }
        }
        let (mut as_stored, mut queues) = (Filled::new(py, length)?, Filled::new(py, length)?);
        let (mut some_ranks, mut some_queues, mut evicted) = (Vec::new(), Vec::new(), Vec::new());
        let classifies = Arc::strong_count(&this.failed) > 1;
        for start in (0..length).step_by(CHUNK) {
            py.check_signals()?;
            let count = CHUNK.min(length - start);
            let [times_ns, ranks_in, flows_in, sizes_in] = &mut of_chunk;
            times.chunk(start, count, times_ns)?;
            ranks.chunk(start, ranks_in)?;
            flows.chunk(start, count, flows_in)?;
            sizes.chunk(start, count, sizes_in)?;
            guard(py, || {
                for place in 0..count {
                    // The time of the last call may have a fraction of a nanosecond, which must be kept.
                    this.now = this.now.max(Time::from_ns(times_ns[place]));
                    let (id, now) = (this.next_id, this.now);
                    this.next_id += 1;
                    let (flow, size) = (flows_in[place] as u32, sizes_in[place] as u32);
                    let packet = Packet { id, flow, size, rank: Rank::saturating(ranks_in[place]), arrival: now };
                    let (queue, rank) = match this.scheduler().enqueue(packet, now) {
                        Enqueued::Admitted { queue, rank } => (i64::from(queue), rank.get() as i64),
                        Enqueued::Evicted { queue, rank, victims } => {
                            evicted.extend(victims.iter().map(|victim| victim.id as i64));
                            (i64::from(queue), rank.get() as i64)
                        }
                        Enqueued::Dropped { .. } => (-1, -1),
                    };
                    some_queues.push(queue);
                    some_ranks.push(rank);
                    if classifies && this.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                        break;
                    }
                }
                this.note_mark();
                Ok(())
            })?;
            if let Some(error) = this.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Err(error);
            }
            queues.add(&mut some_queues)?;
            as_stored.add(&mut some_ranks)?;
        }
        Ok(EnqueuedMany {
            ids: py.import("numpy")?.call_method1("arange", (first, this.next_id, 1, "int64"))?.unbind(),
            ranks: as_stored.whole()?,
            queues: queues.whole()?,
            evicted: array(py, evicted)?,
        })
    }

    /// Take many packets to send, one after another.
    ///
    /// Parameters
    /// ----------
    /// count : int, optional
    ///     The most packets to take. Default: until no packet may leave.
    /// now_ns : int, optional
    ///     The time of all calls in nanoseconds. Default: that of the last call.
    ///
    /// Returns
    /// -------
    /// DequeuedMany
    ///     Arrays: ``ranks``, ``ids``, ``flows``, ``size_bytes``, ``queues`` in the order in which packets left, and
    ///     ``dropped``, the ids of packets that the scheduler dropped during the call.
    ///
    /// Examples
    /// --------
    /// >>> import pifolab
    /// >>> pifo = pifolab.Pifo(capacity_packets=10)
    /// >>> _ = pifo.enqueue_many([7, 3, 5], flows=[1, 2, 3])
    /// >>> taken = pifo.dequeue_many(2)
    /// >>> taken.ranks.tolist(), taken.flows.tolist(), len(pifo)
    /// ([3, 5], [2, 3], 1)
    #[pyo3(signature = (count=None, *, now_ns=None))]
    fn dequeue_many(
        slf: &Bound<'_, Self>,
        count: Option<Whole<'_>>,
        now_ns: Option<Whole<'_>>,
    ) -> PyResult<DequeuedMany> {
        let (py, mut this) = (slf.py(), held_alone(slf)?);
        let this = &mut *this;
        let (count, now) = guard(py, || {
            let count = count.map_or(Ok(u64::MAX), |count| count.up_to("count", u64::MAX))?;
            Ok((count, this.advance(now_ns)?))
        })?;
        let most = count.min(this.scheduler().len() as u64) as usize;
        let room = || Filled::new(py, most);
        let mut columns = [room()?, room()?, room()?, room()?, room()?];
        let mut of_chunk: [Vec<i64>; 5] = Default::default();
        let (mut dropped, mut left) = (Vec::new(), count);
        let mut finished = false;
        while !finished {
            py.check_signals()?;
            finished = guard(py, || {
                for _ in 0..CHUNK {
                    if left == 0 {
                        return Ok(true);
                    }
                    match this.scheduler().dequeue(now) {
                        Dequeued::Packet { packet, queue } => {
                            let [ranks, ids, flows, sizes, queues] = &mut of_chunk;
                            ranks.push(packet.rank.get() as i64);
                            ids.push(packet.id as i64);
                            flows.push(packet.flow.into());
                            sizes.push(packet.size.into());
                            queues.push(queue.into());
                            left -= 1;
                        }
                        Dequeued::Dropped { packet, .. } => dropped.push(packet.id as i64),
                        Dequeued::NotBefore(_) | Dequeued::Empty => return Ok(true),
                    }
                }
                Ok(false)
            })?;
            for (column, numbers) in columns.iter_mut().zip(&mut of_chunk) {
                column.add(numbers)?;
            }
        }
        this.note_mark();
        let [ranks, ids, flows, size_bytes, queues] = columns;
        Ok(DequeuedMany {
            ranks: ranks.whole()?,
            ids: ids.whole()?,
            flows: flows.whole()?,
            size_bytes: size_bytes.whole()?,
            queues: queues.whole()?,
            dropped: array(py, dropped)?,
        })
    }

    /// Whether it is in its initial state: no packet was offered and no time has passed.
    #[getter]
    fn _is_new(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let this = held(slf)?;
        Ok(this.next_id == 0 && this.now == Time::ZERO)
    }

    fn __len__(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Ok(held(slf)?.shared().len())
    }

    /// An empty scheduler is truthy.
    fn __bool__(_slf: &Bound<'_, Self>) -> bool {
        true
    }

    /// Bytes held.
    #[getter]
    fn backlog_bytes(slf: &Bound<'_, Self>) -> PyResult<u64> {
        Ok(held(slf)?.shared().backlog().0)
    }

    /// The capacity in packets, over all queues; None if the capacity is not in packets.
    #[getter]
    fn capacity_packets(slf: &Bound<'_, Self>) -> PyResult<Option<u32>> {
        Ok(match held(slf)?.shared().capacity() {
            Capacity::Packets(packets) => Some(packets),
            Capacity::Bytes(_) | Capacity::Unlimited => None,
        })
    }

    /// The capacity in bytes, over all queues; None if the capacity is not in bytes.
    #[getter]
    fn capacity_bytes(slf: &Bound<'_, Self>) -> PyResult<Option<u64>> {
        Ok(match held(slf)?.shared().capacity() {
            Capacity::Bytes(bytes) => Some(bytes),
            Capacity::Packets(_) | Capacity::Unlimited => None,
        })
    }

    /// Packets held in each queue, highest priority first.
    #[getter]
    fn queue_lengths(slf: &Bound<'_, Self>) -> PyResult<Vec<usize>> {
        let this = held(slf)?;
        let scheduler = this.shared();
        Ok((0..scheduler.queues()).map(|queue| scheduler.queue_len(queue)).collect())
    }

    /// The bound of each queue, highest priority first: the smallest rank that it accepts (SP-PIFO) or the largest
    /// (PACKS, eq. 11); None for queues without a bound.
    #[getter]
    fn bounds(slf: &Bound<'_, Self>) -> PyResult<Vec<Option<i64>>> {
        let this = held(slf)?;
        let scheduler = this.shared();
        Ok((0..scheduler.queues()).map(|queue| scheduler.queue_bound(queue)).collect())
    }

    /// The ranks in the sliding window, oldest first; empty without a window.
    #[getter]
    fn window(slf: &Bound<'_, Self>) -> PyResult<Vec<u64>> {
        let mut ranks = Vec::new();
        held(slf)?.shared().visit_window(&mut |rank| ranks.push(rank.get()));
        Ok(ranks)
    }

    /// The time of the last call, in nanoseconds.
    #[getter]
    fn now_ns(slf: &Bound<'_, Self>) -> PyResult<u64> {
        Ok(held(slf)?.now.as_ns())
    }

    /// Whether the packet that the last call stored or returned must be marked (congestion experienced, RFC 3168). Only
    /// for schedulers that mark, and packets whose label ``ecn`` says that they can carry a mark.
    #[getter]
    fn marked(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Ok(held(slf)?.marked)
    }
}

impl PyScheduler {
    fn note_mark(&mut self) {
        self.marked = self.may_mark && self.scheduler().take_mark();
    }

    fn scheduler(&mut self) -> &mut BoxedScheduler {
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn shared(&self) -> MutexGuard<'_, BoxedScheduler> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time of this call: `now_ns`, or that of the last call.
    fn advance(&mut self, now_ns: Option<Whole<'_>>) -> Result<Time, Fault> {
        if let Some(now) = now_ns {
            let now = now.time("now_ns")?;
            if now < self.now {
                let (now, last) = (now.as_ns(), self.now.as_ns());
                return Err(Fault::Input(format!(
                    "now_ns = {now}: expected at least {last}, the time of the call before"
                )));
            }
            self.now = now;
        }
        Ok(self.now)
    }
}

/// The scheduler, for a call that changes it.
fn held_alone<'py>(slf: &Bound<'py, PyScheduler>) -> PyResult<PyRefMut<'py, PyScheduler>> {
    slf.try_borrow_mut().map_err(|_| busy())
}

/// The scheduler, for a call that only reads.
fn held<'py>(slf: &Bound<'py, PyScheduler>) -> PyResult<PyRef<'py, PyScheduler>> {
    slf.try_borrow().map_err(|_| busy())
}

/// Why a scheduler cannot be called while it runs a function of Python.
fn busy() -> PyErr {
    PyRuntimeError::new_err(
        "the scheduler is in the middle of a call: expected its function classify to look at the packet only, and other \
         threads to wait until the call returns",
    )
}

/// A classifier of trees that calls a function in Python for the number of the leaf. If it raises, the packet goes to
/// no leaf, and the exception is stored.
fn classify_by(function: Py<PyAny>, failed: Arc<Mutex<Option<PyErr>>>) -> Box<Classify> {
    Box::new(move |packet, _| {
        Python::attach(|py| {
            let answer = function.bind(py).call1((PyPacket::from(packet),)).and_then(|leaf| read_leaf(&leaf));
            answer.unwrap_or_else(|error| {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                None
            })
        })
    })
}

/// The leaf that a classifier returned, if any.
fn read_leaf(answer: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
    answer.extract().or_else(|_| {
        let shown = answer.repr().map_or_else(|_| "something".to_owned(), |shown| shown.to_string());
        let message = format!(
            "tree: classify returned {shown}: expected the number of a leaf, 0 for the first one, or None for no leaf"
        );
        let fault = if integer(answer).is_some() { Fault::Input(message) } else { Fault::Kind(message) };
        guard(answer.py(), || Err(fault))
    })
}

/// An offered value: a packet, or just a rank.
enum Offered<'py> {
    Packet(PyPacket),
    Rank(Whole<'py>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Offered<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyPacket>() {
            Ok(packet) => Ok(Self::Packet(packet.get().clone())),
            Err(_) => object.extract().map(Self::Rank),
        }
    }
}

/// The name of a label from Python. Lone surrogates, which no name has, become replacement characters.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct LabelName(String);

impl<'a, 'py> FromPyObject<'a, 'py> for LabelName {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.cast::<PyString>()?.to_string_lossy().into_owned()))
    }
}

/// Reads the labels of a packet by their names.
fn read_labels(written: BTreeMap<LabelName, Whole<'_>>) -> Result<Labels, Fault> {
    let mut labels = Labels::default();
    for (LabelName(name), value) in written {
        let up_to = |most: u64| value.up_to(&name, most);
        match name.as_str() {
            "class" => labels.class = up_to(u32::MAX.into())? as u32,
            "dscp" => labels.dscp = up_to(63)? as u8,
            "source_host" => labels.source = up_to(u32::MAX.into())? as u32,
            "destination_host" => labels.destination = up_to(u32::MAX.into())? as u32,
            "source_port" => labels.source_port = up_to(u16::MAX.into())? as u16,
            "ecn" => labels.ecn = up_to(3)? as u8,
            "destination_port" => labels.destination_port = up_to(u16::MAX.into())? as u16,
            _ => {
                let known = "class, dscp, ecn, source_host, destination_host, source_port, destination_port";
                return Err(Fault::Input(format!("labels: unknown name {name:?}; the names are {known}")));
            }
        }
    }
    Ok(labels)
}

/// The given facts about a packet: [`Hints`] whose fields may be absent.
struct Facts {
    flow_size: Option<Bytes>,
    remaining: Option<Bytes>,
    unacknowledged: Option<Bytes>,
    deadline: Option<Time>,
    remaining_transmission: Option<Time>,
    delay_so_far: Option<Time>,
    mean_delay_so_far: Option<Time>,
    labels: Option<Labels>,
}

impl Facts {
    /// Passes the facts to a scheduler that reads them. Facts that are not read are an error, and so are missing facts
    /// from which the rank would be computed.
    fn tell(self, scheduler: &mut BoxedScheduler, id: u64) -> Result<(), Fault> {
        let bytes = self.flow_size.or(self.remaining).or(self.unacknowledged).is_some();
        let times = self.deadline.or(self.remaining_transmission).or(self.delay_so_far).or(self.mean_delay_so_far);
        let given = bytes || times.is_some() || self.labels.is_some();
        match (given, scheduler.wants().has_hints()) {
            (false, false) => return Ok(()),
            (true, false) => {
                let message = "flow_size_bytes, remaining_bytes, ..., mean_delay_so_far_ns have no effect: \
                               no rank function reads them";
                return Err(Fault::Input(message.to_owned()));
            }
            // It reads facts only if they are known.
            (false, true) if !scheduler.wants().needs.has_hints() => return Ok(()),
            (false, true) => {
                let message = "the scheduler or its rank function needs facts about the packet: give \
                               flow_size_bytes, remaining_bytes, ..., or labels such as dscp or ecn, as it asks for";
                return Err(Fault::Input(message.to_owned()));
            }
            (true, true) => {}
        }
        let span = |time: Option<Time>| time.map_or(Span::ZERO, |time| time.since(Time::ZERO));
        scheduler.hint(
            id,
            &Hints {
                flow_size: self.flow_size.unwrap_or_default(),
                remaining: self.remaining.unwrap_or_default(),
                unacknowledged: self.unacknowledged.unwrap_or_default(),
                deadline: self.deadline,
                remaining_transmission: span(self.remaining_transmission),
                delay_so_far: span(self.delay_so_far),
                mean_delay_so_far: span(self.mean_delay_so_far),
                labels: self.labels.unwrap_or_default(),
                carried_label: 0,
            },
        );
        Ok(())
    }
}
