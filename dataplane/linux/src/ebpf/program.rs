//! The trait of the program of one scheduler; each program has a file in `programs`.

use super::maps::{Maps, QueueSnapshot, Registers};
use super::reader::{Memory, Reader};
use crate::Result;
use pifolab_sched::params::Info;
use std::fmt;

// The names of a scheduler's optional sections. libbpf names a map of global data by its section.
/// The frozen parameters.
pub const PARAMETERS: &str = ".rodata.parameters";
/// The look-up tables.
pub const TABLE: &str = ".rodata.table";
/// The registers.
pub const STATE: &str = ".data.state";

/// Parameters as text: `("k", "0.1")`.
pub type Parameters = &'static [(&'static str, &'static str)];

/// The program of one scheduler.
pub trait Program: Sync {
    /// The scheduler in the library.
    fn info(&self) -> &'static Info;

    /// The compiled filter, if the scheduler has one.
    fn filter(&self) -> Option<&'static [u8]> {
        None
    }

    /// The compiled qdisc, if the scheduler has one; empty if this binary was built without it.
    fn qdisc(&self) -> Option<&'static [u8]> {
        None
    }

    /// Reads the queues and the program's initial memory. The library has checked the parameters before.
    fn read(&self, reader: &mut Reader) -> Result<Memory>;

    /// The registers after a change of parameters, from the maps of the old program, the memory of the new one, and its
    /// number of queues. `None` if the registers fit all parameters.
    fn carry(&self, _old: &dyn Maps, _new: &Memory, _queues: usize) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// The contents of the registers, if there are any. Writes the bounds of the queues to `queues`.
    fn registers(&self, _maps: &dyn Maps, _queues: &mut [QueueSnapshot]) -> Result<Registers> {
        Ok(Registers::bounds())
    }

    /// Parameters with different code, the defaults first. Each is loaded to test whether a kernel accepts it.
    fn variants(&self) -> &'static [Parameters] {
        &[]
    }

    /// The cases that `pifolab dataplane cost` measures.
    fn cases(&self) -> &'static [Case] {
        &[]
    }
}

impl dyn Program + '_ {
    /// The scheduler's name in the library.
    pub fn name(&self) -> &'static str {
        self.info().name
    }

    /// The name of an object in the kernel, which does not allow `-`.
    pub(super) fn kernel_name(&self) -> String {
        self.name().replace('-', "_")
    }
}

impl PartialEq for dyn Program + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Program + '_ {}

impl fmt::Debug for dyn Program + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One program and its parameters in a measurement of `pifolab dataplane cost`.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// A description of the case in words.
    pub variant: &'static str,
    /// Its parameters.
    pub parameters: Parameters,
    /// The goal in nanoseconds per packet, if any.
    pub goal_ns: Option<u64>,
    /// The paper's statement about its own implementation.
    pub paper: &'static str,
}

/// The compiled program of `bpf/<name>/filter.bpf.c` or `bpf/<name>/qdisc.bpf.c`.
macro_rules! object {
    ($name:literal) => {
        Some(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")).as_slice())
    };
}
pub(super) use object;
