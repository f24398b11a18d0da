//! What the program of one scheduler is: the trait that each has a file for in `programs`.

use super::maps::{Maps, QueueSnapshot, Registers};
use super::reader::{Memory, Reader};
use crate::Result;
use pifolab_sched::params::Info;
use std::fmt;

// The names of the sections that a scheduler may have: libbpf names a map of global data by its section.
/// Its frozen parameters.
pub const PARAMETERS: &str = ".rodata.parameters";
/// Its look-up tables.
pub const TABLE: &str = ".rodata.table";
/// Its registers.
pub const STATE: &str = ".data.state";

/// Parameters as text: `("k", "0.1")`.
pub type Parameters = &'static [(&'static str, &'static str)];

/// What the program of one scheduler is.
pub trait Program: Sync {
    /// The scheduler in the library.
    fn info(&self) -> &'static Info;

    /// The compiled filter, if there is one.
    fn filter(&self) -> Option<&'static [u8]> {
        None
    }

    /// The compiled qdisc, if there is one; empty if this binary was built without.
    fn qdisc(&self) -> Option<&'static [u8]> {
        None
    }

    /// Reads the queues and all that the program starts with. The library has accepted the parameters before.
    ///
    /// # Errors
    /// A parameter that the program cannot do.
    fn read(&self, reader: &mut Reader) -> Result<Memory>;

    /// The registers to go on with when the parameters change, from the maps of the old program, the memory of the new one and
    /// its number of queues; `None` if they fit whatever the parameters are.
    ///
    /// # Errors
    /// The kernel does not tell.
    fn carry(&self, _old: &dyn Maps, _new: &Memory, _queues: usize) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// What the registers hold, if there are any; the bounds of the queues are written into `queues`.
    ///
    /// # Errors
    /// The kernel does not tell.
    fn registers(&self, _maps: &dyn Maps, _queues: &mut [QueueSnapshot]) -> Result<Registers> {
        Ok(Registers::bounds())
    }

    /// Parameters whose code differs, the defaults first: each is loaded to see whether a kernel takes it.
    fn variants(&self) -> &'static [Parameters] {
        &[]
    }

    /// What `pifolab dataplane cost` measures.
    fn cases(&self) -> &'static [Case] {
        &[]
    }
}

impl dyn Program + '_ {
    /// The scheduler's name in the library.
    pub fn name(&self) -> &'static str {
        self.info().name
    }

    /// The name of an object in the kernel, which takes no `-`.
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

/// One program and its parameters, as `pifolab dataplane cost` measures them.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// What is particular about it, in words.
    pub variant: &'static str,
    /// Its parameters.
    pub parameters: Parameters,
    /// The goal in nanoseconds per packet, if there is one.
    pub goal_ns: Option<u64>,
    /// What the paper says of its own implementation.
    pub paper: &'static str,
}

/// The compiled program of `bpf/<name>/filter.bpf.c` or `bpf/<name>/qdisc.bpf.c`.
macro_rules! object {
    ($name:literal) => {
        Some(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")).as_slice())
    };
}
pub(super) use object;
