//! Columns of numbers between numpy and the library: packets in arrays, and what became of them.

use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Fault, guard};
use crate::packets::integer;

/// One number for all packets, or one for each of them.
pub enum Column {
    One(u64),
    Each(Vec<u64>),
}

impl Column {
    /// The number of packet `place`.
    pub fn at(&self, place: usize) -> u64 {
        match self {
            Self::One(value) => *value,
            Self::Each(values) => values[place],
        }
    }

    /// Reads an integer or an array of `length` integers, all from 0 to `max`; `absent` if there is none.
    pub fn read(value: Option<&Bound<'_, PyAny>>, key: &str, max: u64, length: usize, absent: u64) -> PyResult<Self> {
        let Some(value) = value else { return Ok(Self::One(absent)) };
        if let Some(number) = integer(value) {
            return guard(value.py(), || match number.extract::<u64>() {
                Ok(number) if number <= max => Ok(Self::One(number)),
                _ => Err(Fault::Input(format!("{key} = {number}: expected an integer from 0 to {max}"))),
            });
        }
        let values = read_array(value, key, max)?;
        guard(value.py(), || {
            if values.len() == length {
                return Ok(Self::Each(values));
            }
            let found = values.len();
            Err(Fault::Input(format!(
                "{key}: expected an integer, or one for each of the {length} packets, got {found}"
            )))
        })
    }
}

/// Reads integers from 0 to `max` from whatever numpy makes a one-dimensional array of.
pub fn read_array(value: &Bound<'_, PyAny>, key: &str, max: u64) -> PyResult<Vec<u64>> {
    let py = value.py();
    let numpy = py.import("numpy")?;
    let array = numpy.call_method1("asarray", (value,))?;
    let dimensions: usize = array.getattr("ndim")?.extract()?;
    let kind: char = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let empty = array.getattr("size")?.extract::<usize>()? == 0;
    if dimensions != 1 || !(empty || kind == 'i' || kind == 'u') {
        let shown = format!("{dimensions}-dimensional array of {}", array.getattr("dtype")?);
        let expected = format!("expected a one-dimensional array of integers from 0 to {max}");
        return guard(py, || Err(Fault::Kind(format!("{key}: {expected}, got a {shown}"))));
    }
    let signed = kind != 'u';
    let bytes = array.call_method1("astype", (if signed { "int64" } else { "uint64" },))?.call_method0("tobytes")?;
    let bytes = bytes.cast::<PyBytes>()?.as_bytes();
    guard(py, || {
        let numbers = bytes.chunks_exact(8).map(|chunk| u64::from_ne_bytes(chunk.try_into().expect("chunks of 8")));
        let read = |(place, number): (usize, u64)| {
            // A negative number has the highest bit set, and is above every `max` of a signed array.
            if number <= max && !(signed && number > i64::MAX as u64) {
                return Ok(number);
            }
            let shown = if signed { (number as i64).to_string() } else { number.to_string() };
            Err(Fault::Input(format!("{key}[{place}] = {shown}: expected an integer from 0 to {max}")))
        };
        numbers.enumerate().map(read).collect()
    })
}

/// An array of numpy with these numbers.
pub fn array<'py>(py: Python<'py>, numbers: &[i64]) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyBytes::new_with(py, 8 * numbers.len(), |bytes| {
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        Ok(())
    })?;
    // A copy: an array over bytes cannot be written to.
    py.import("numpy")?.call_method1("frombuffer", (bytes, "int64"))?.call_method0("copy")
}

/// What became of many packets that were offered in one call.
#[pyclass(module = "pifolab", frozen, get_all)]
pub struct EnqueuedMany {
    /// The name of each packet, as `dequeue_many` calls it.
    pub ids: Py<PyAny>,
    /// The rank of each packet, as carried or as the rank function computed it; -1 if it was refused.
    pub ranks: Py<PyAny>,
    /// The queue that each packet was stored in; -1 if it was refused.
    pub queues: Py<PyAny>,
    /// The names of stored packets that were pushed out, in order.
    pub evicted: Py<PyAny>,
}

#[pymethods]
impl EnqueuedMany {
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (offered, evicted) = (self.ids.bind(py).len()?, self.evicted.bind(py).len()?);
        let numpy = py.import("numpy")?;
        let stored: usize =
            numpy.call_method1("count_nonzero", (self.queues.bind(py).rich_compare(0, CompareOp::Ge)?,))?.extract()?;
        Ok(format!("EnqueuedMany({offered} offered, {stored} stored, {evicted} pushed out)"))
    }
}

/// Many packets that were taken in one call, in the order in which they left.
#[pyclass(module = "pifolab", frozen, get_all)]
pub struct DequeuedMany {
    /// The rank of each packet.
    pub ranks: Py<PyAny>,
    /// The name of each packet.
    pub ids: Py<PyAny>,
    /// The flow of each packet.
    pub flows: Py<PyAny>,
    /// The size of each packet, in bytes.
    pub size_bytes: Py<PyAny>,
    /// The queue that each packet left.
    pub queues: Py<PyAny>,
    /// The names of packets that the scheduler gave up meanwhile.
    pub dropped: Py<PyAny>,
}

#[pymethods]
impl DequeuedMany {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.ranks.bind(py).len()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (sent, dropped) = (self.ranks.bind(py).len()?, self.dropped.bind(py).len()?);
        Ok(format!(
            "DequeuedMany({sent} packets{})",
            if dropped == 0 { String::new() } else { format!(", {dropped} given up") }
        ))
    }
}
