//! Columns of numbers between numpy and the library: arrays of packets and of their outcomes.

use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PySlice};

use crate::errors::{Fault, guard};
use crate::packets::integer;

/// The number of packets that are read, processed and written at a time, so that their numbers stay in the processor's
/// cache.
pub const CHUNK: usize = 1 << 13;

/// One number for all packets, or one for each of them.
pub enum Column<'py> {
    One(u64),
    Each(Array<'py>),
}

impl<'py> Column<'py> {
    /// Reads an integer or an array of `length` integers, all from 0 to `max`; `absent` if no value is given.
    pub fn read(value: Option<&Bound<'py, PyAny>>, key: &str, max: u64, length: usize, absent: u64) -> PyResult<Self> {
        let Some(value) = value else { return Ok(Self::One(absent)) };
        if let Some(number) = integer(value) {
            return guard(value.py(), || match number.extract::<u64>() {
                Ok(number) if number <= max => Ok(Self::One(number)),
                _ => Err(Fault::Input(format!("{key} = {number}: expected an integer from 0 to {max}"))),
            });
        }
        let array = Array::read(value, key, max)?;
        let found = array.length;
        if found == length {
            return Ok(Self::Each(array));
        }
        let expected = format!("expected an integer, or one for each of the {length} packets, got {found}");
        guard(value.py(), || Err(Fault::Input(format!("{key}: {expected}"))))
    }

    /// Reads the numbers of packets from `first` on, at most [`CHUNK`], into `numbers`.
    pub fn chunk(&self, first: usize, count: usize, numbers: &mut Vec<u64>) -> PyResult<()> {
        match self {
            Self::One(value) => {
                numbers.clear();
                numbers.resize(count, *value);
                Ok(())
            }
            Self::Each(array) => array.chunk(first, numbers),
        }
    }
}

/// A one-dimensional array of numpy with integers of 64 bits, all from 0 to some limit.
pub struct Array<'py> {
    array: Bound<'py, PyAny>,
    /// The number of integers.
    pub length: usize,
}

impl<'py> Array<'py> {
    /// Reads integers from 0 to `max` from any value that numpy converts to a one-dimensional array.
    pub fn read(value: &Bound<'py, PyAny>, key: &str, max: u64) -> PyResult<Self> {
        let py = value.py();
        let array = py.import("numpy")?.call_method1("asarray", (value,))?;
        let dimensions: usize = array.getattr("ndim")?.extract()?;
        let kind: char = array.getattr("dtype")?.getattr("kind")?.extract()?;
        let length: usize = array.getattr("size")?.extract()?;
        if dimensions != 1 || !(length == 0 || kind == 'i' || kind == 'u') {
            let shown = format!("{dimensions}-dimensional array of {}", array.getattr("dtype")?);
            let expected = format!("expected a one-dimensional array of integers from 0 to {max}");
            return guard(py, || Err(Fault::Kind(format!("{key}: {expected}, got a {shown}"))));
        }
        let same = PyDict::new(py);
        same.set_item("copy", false)?;
        let array = array.call_method("astype", (if kind == 'u' { "uint64" } else { "int64" },), Some(&same))?;
        for extreme in ["min", "max"] {
            let number = if length == 0 { break } else { array.call_method0(extreme)? };
            if !number.extract::<u64>().is_ok_and(|number| number <= max) {
                let place = array.call_method0(format!("arg{extreme}"))?;
                let message = format!("{key}[{place}] = {number}: expected an integer from 0 to {max}");
                return guard(py, || Err(Fault::Input(message)));
            }
        }
        Ok(Self { array, length })
    }

    /// Reads the numbers from place `first` on, at most [`CHUNK`], into `numbers`.
    pub fn chunk(&self, first: usize, numbers: &mut Vec<u64>) -> PyResult<()> {
        let some = self.array.get_item(PySlice::new(self.array.py(), first as isize, (first + CHUNK) as isize, 1))?;
        let bytes = some.call_method0("tobytes")?;
        let bytes = bytes.cast::<PyBytes>()?.as_bytes().chunks_exact(8);
        numbers.clear();
        numbers.extend(bytes.map(|chunk| u64::from_ne_bytes(chunk.try_into().expect("chunks of 8"))));
        Ok(())
    }
}

/// An array of numpy that is filled from the start.
pub struct Filled<'py> {
    array: Bound<'py, PyAny>,
    filled: usize,
}

impl<'py> Filled<'py> {
    /// Room for `length` integers of 64 bits.
    pub fn new(py: Python<'py>, length: usize) -> PyResult<Self> {
        Ok(Self { array: py.import("numpy")?.call_method1("empty", (length, "int64"))?, filled: 0 })
    }

    /// Appends `numbers`, for which there must be room, and clears them.
    pub fn add(&mut self, numbers: &mut Vec<i64>) -> PyResult<()> {
        let py = self.array.py();
        let bytes = PyBytes::new_with(py, 8 * numbers.len(), |bytes| {
            for (place, number) in bytes.chunks_exact_mut(8).zip(numbers.iter()) {
                place.copy_from_slice(&number.to_ne_bytes());
            }
            Ok(())
        })?;
        let end = self.filled + numbers.len();
        let added = py.import("numpy")?.call_method1("frombuffer", (bytes, "int64"))?;
        self.array.set_item(PySlice::new(py, self.filled as isize, end as isize, 1), added)?;
        self.filled = end;
        numbers.clear();
        Ok(())
    }

    /// The filled part of the array.
    pub fn whole(self) -> PyResult<Py<PyAny>> {
        Ok(self.array.get_item(PySlice::new(self.array.py(), 0, self.filled as isize, 1))?.unbind())
    }
}

/// An array of numpy with these numbers.
pub fn array(py: Python<'_>, mut numbers: Vec<i64>) -> PyResult<Py<PyAny>> {
    let mut filled = Filled::new(py, numbers.len())?;
    filled.add(&mut numbers)?;
    filled.whole()
}

/// The outcomes of the packets offered in one call.
#[pyclass(module = "pifolab", frozen, get_all)]
pub struct EnqueuedMany {
    /// The id of each packet, which `dequeue_many` also returns.
    pub ids: Py<PyAny>,
    /// The rank of each packet, as carried or as the rank function computed it; -1 if it was refused.
    pub ranks: Py<PyAny>,
    /// The queue that each packet was stored in; -1 if it was refused.
    pub queues: Py<PyAny>,
    /// The ids of stored packets that were pushed out, in order.
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

/// The packets taken in one call, in the order in which they left.
#[pyclass(module = "pifolab", frozen, get_all)]
pub struct DequeuedMany {
    /// The rank of each packet.
    pub ranks: Py<PyAny>,
    /// The id of each packet.
    pub ids: Py<PyAny>,
    /// The flow of each packet.
    pub flows: Py<PyAny>,
    /// The size of each packet, in bytes.
    pub size_bytes: Py<PyAny>,
    /// The queue that each packet left.
    pub queues: Py<PyAny>,
    /// The ids of packets that the scheduler dropped during the call.
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
