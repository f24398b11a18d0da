//! Packets and outcomes for Python: immutable values that compare by content and print as they are built.

use pifolab_sched::params::Choice;
use pifolab_sched::{DropReason, Packet};
use pifolab_sim::observer::PacketView;
use pifolab_units::{Rank, Time};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};

use crate::errors::{Fault, guard};

/// The largest id of a packet: queue policies use one bit of it.
pub const MAX_ID: u64 = u64::MAX >> 1;

/// The descriptor of a packet.
#[pyclass(name = "Packet", module = "pifolab", frozen, get_all, eq, hash, from_py_object)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyPacket {
    rank: u64,
    id: u64,
    flow: u32,
    size_bytes: u32,
    arrival_ns: u64,
}

#[pymethods]
impl PyPacket {
    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("rank",)
    }

    #[new]
    #[pyo3(signature = (rank, *, id=None, flow=None, size_bytes=None, arrival_ns=None))]
    fn new(
        py: Python<'_>,
        rank: Whole<'_>,
        id: Option<Whole<'_>>,
        flow: Option<Whole<'_>>,
        size_bytes: Option<Whole<'_>>,
        arrival_ns: Option<Whole<'_>>,
    ) -> PyResult<Self> {
        guard(py, || {
            Ok(Self {
                rank: rank.rank()?.get(),
                id: id.map_or(Ok(0), |id| id.up_to("id", MAX_ID))?,
                flow: flow.map_or(Ok(0), |flow| flow.flow())?,
                size_bytes: size_bytes.map_or(Ok(DEFAULT_SIZE), |size| size.size())?,
                arrival_ns: arrival_ns.map_or(Ok(Time::ZERO), |time| time.time("arrival_ns"))?.as_ns(),
            })
        })
    }

    fn __repr__(&self) -> String {
        let Self { rank, id, flow, size_bytes, arrival_ns } = self;
        format!("Packet(rank={rank}, id={id}, flow={flow}, size_bytes={size_bytes}, arrival_ns={arrival_ns})")
    }
}

impl From<&Packet> for PyPacket {
    fn from(packet: &Packet) -> Self {
        Self {
            rank: packet.rank.get(),
            id: packet.id,
            flow: packet.flow,
            size_bytes: packet.size,
            arrival_ns: packet.arrival.as_ns(),
        }
    }
}

impl From<&PacketView> for PyPacket {
    fn from(packet: &PacketView) -> Self {
        Self {
            rank: packet.rank.get(),
            id: packet.id,
            flow: packet.flow,
            size_bytes: packet.size,
            arrival_ns: packet.arrival.as_ns(),
        }
    }
}

impl PyPacket {
    /// Its id.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The packet that arrives at `now`.
    pub fn arriving(&self, now: Time) -> Packet {
        Packet { id: self.id, flow: self.flow, size: self.size_bytes, rank: Rank::saturating(self.rank), arrival: now }
    }
}

/// The default size of a packet: a full Ethernet frame.
pub const DEFAULT_SIZE: u32 = 1500;

/// A number from Python, not yet known to be an integer in range.
pub struct Whole<'py>(Bound<'py, PyAny>);

impl<'a, 'py> FromPyObject<'a, 'py> for Whole<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.to_owned()))
    }
}

/// The integer of an object that Python accepts as one, except booleans.
pub fn integer<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    if object.is_instance_of::<PyBool>() {
        None
    } else if object.is_instance_of::<PyInt>() {
        Some(object.clone())
    } else {
        // Integers of NumPy and polars are not Python's, but convert through `__index__`.
        object.call_method0("__index__").ok()
    }
}

impl Whole<'_> {
    /// The result of `read` for the integer; the fault names `key` and `expected`.
    fn read<T>(&self, key: &str, expected: impl Fn() -> String, read: impl Fn(u64) -> Option<T>) -> Result<T, Fault> {
        let value = integer(&self.0).ok_or_else(|| {
            let kind = self.0.get_type();
            let kind = kind.name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
            Fault::Kind(format!("{key}: expected {}, got {kind}", expected()))
        })?;
        let found = value.extract().ok().and_then(read);
        found.ok_or_else(|| Fault::Input(format!("{key} = {value}: expected {}", expected())))
    }

    /// The integer, from 0 to `max`; the fault names it `key`.
    pub fn up_to(&self, key: &str, max: u64) -> Result<u64, Fault> {
        self.read(key, || format!("an integer from 0 to {max}"), |value| (value <= max).then_some(value))
    }

    /// A rank.
    pub fn rank(&self) -> Result<Rank, Fault> {
        self.read("rank", || "an integer from 0 to 2^63 - 1".to_owned(), Rank::new)
    }

    /// A flow number. Per-flow state is held in arrays, which the number indexes.
    pub fn flow(&self) -> Result<u32, Fault> {
        self.up_to("flow", MAX_FLOW).map(|flow| flow as u32)
    }

    /// A packet's size.
    pub fn size(&self) -> Result<u32, Fault> {
        self.up_to("size_bytes", u64::from(u32::MAX)).map(|size| size as u32)
    }

    /// A point in time, in nanoseconds, that fits in 2^64 picoseconds.
    pub fn time(&self, key: &str) -> Result<Time, Fault> {
        self.up_to(key, u64::MAX / 1000).map(Time::from_ns)
    }
}

/// The largest flow number that Python may use: dense arrays of per-flow state stay below some hundred megabytes.
pub const MAX_FLOW: u64 = (1 << 24) - 1;

/// The packet was stored.
#[pyclass(module = "pifolab", frozen, get_all, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct Admitted {
    pub queue: u32,
    pub rank: u64,
}

#[pymethods]
impl Admitted {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("queue", "rank")
    }

    fn __repr__(&self) -> String {
        format!("Admitted(queue={}, rank={})", self.queue, self.rank)
    }
}

/// The packet was stored, and others were pushed out for it.
#[pyclass(module = "pifolab", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct Evicted {
    #[pyo3(get)]
    pub queue: u32,
    #[pyo3(get)]
    pub rank: u64,
    pub victims: Vec<PyPacket>,
}

#[pymethods]
impl Evicted {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("queue", "rank", "victims")
    }

    #[getter]
    fn victims<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.victims.iter().cloned())
    }

    fn __repr__(&self) -> String {
        let victims: Vec<_> = self.victims.iter().map(PyPacket::__repr__).collect();
        let comma = if victims.len() == 1 { "," } else { "" };
        format!("Evicted(queue={}, rank={}, victims=({}{comma}))", self.queue, self.rank, victims.join(", "))
    }
}

/// The packet was refused.
#[pyclass(module = "pifolab", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct Dropped {
    #[pyo3(get)]
    pub packet: PyPacket,
    pub reason: DropReason,
}

#[pymethods]
impl Dropped {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("reason", "packet")
    }

    #[new]
    fn new(py: Python<'_>, reason: &str, packet: PyPacket) -> PyResult<Self> {
        guard(py, || {
            let reason = DropReason::from_word(reason).ok_or_else(|| {
                let words = DropReason::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
                Fault::Input(format!("reason = {reason:?}: expected one of {words}"))
            })?;
            Ok(Self { packet, reason })
        })
    }

    #[getter]
    fn reason(&self) -> &'static str {
        self.reason.word()
    }

    fn __repr__(&self) -> String {
        format!("Dropped(reason='{}', packet={})", self.reason, self.packet.__repr__())
    }
}

/// Packets wait, but none may leave before this time.
#[pyclass(module = "pifolab", frozen, get_all, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub struct NotBefore {
    pub time_ns: u64,
}

#[pymethods]
impl NotBefore {
    #[new]
    fn new(py: Python<'_>, time_ns: Whole<'_>) -> PyResult<Self> {
        guard(py, || Ok(Self { time_ns: time_ns.time("time_ns")?.as_ns() }))
    }

    #[classattr]
    fn __match_args__() -> (&'static str,) {
        ("time_ns",)
    }

    fn __repr__(&self) -> String {
        format!("NotBefore(time_ns={})", self.time_ns)
    }
}
