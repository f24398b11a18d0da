//! One file for each scheduler that runs in the kernel: what its program is loaded with, and what its registers say. The C
//! is in `bpf/<name>/`: `filter.bpf.c` is a filter in front of the kernel's queues, `qdisc.bpf.c` a qdisc of its own.

pub mod aifo;
pub mod exp_pifo;
pub mod fifo;
pub mod packs;
pub mod pifo;
pub mod rifo;
pub mod sp_pifo;
pub mod window;

use super::reader::{Memory, Reader};
use super::settings::Settings;
use super::snapshot::{Maps, QueueSnapshot, Registers};
use crate::{Error, Result};
use pifolab_registry::find_scheduler;
use pifolab_sched::params::{Args, Info, Value};
use std::fmt;

/// Every program, in the order in which they are shown.
pub static PROGRAMS: [&dyn Program; 7] =
    [&fifo::Fifo, &pifo::Pifo, &sp_pifo::SpPifo, &aifo::Aifo, &packs::Packs, &rifo::Rifo, &exp_pifo::ExpPifo];

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

    /// The registers to go on with when the parameters change; `None` if they fit whatever the parameters are.
    ///
    /// # Errors
    /// The kernel does not tell.
    fn carry(&self, _old: &dyn Maps, _new: &Settings) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// What the registers hold; the bounds of the queues are written into `queues`.
    ///
    /// # Errors
    /// The kernel does not tell.
    fn registers(&self, maps: &dyn Maps, queues: &mut [QueueSnapshot]) -> Result<Registers>;

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

/// The programs that are filters.
pub fn filters() -> impl Iterator<Item = &'static dyn Program> {
    PROGRAMS.into_iter().filter(|program| program.filter().is_some())
}

/// The programs that are qdiscs.
pub fn qdiscs() -> impl Iterator<Item = &'static dyn Program> {
    PROGRAMS.into_iter().filter(|program| program.qdisc().is_some())
}

fn names(programs: impl Iterator<Item = &'static dyn Program>) -> Vec<&'static str> {
    programs.map(|program| program.name()).collect()
}

/// The filter of the scheduler `name`.
///
/// # Errors
/// No such scheduler, or one without a filter.
pub fn find_filter(name: &str) -> Result<&'static dyn Program> {
    find_scheduler(name).map_err(Error::Usage)?;
    filters().find(|program| program.name() == name).ok_or_else(|| {
        let names = names(filters()).join(", ");
        Error::Unsupported(format!(
            "there is no eBPF program of {name} (there are {names}); the user-space switch runs it: pifolab dataplane switch"
        ))
    })
}

/// The qdisc of the scheduler `name`.
///
/// # Errors
/// There is none.
pub fn find_qdisc(name: &str) -> Result<&'static dyn Program> {
    qdiscs().find(|program| program.name() == name).ok_or_else(|| {
        let names = names(qdiscs()).join(" and ");
        Error::Unsupported(format!("no BPF qdisc of {name}: there are {names}"))
    })
}

/// Parameters given as text become what the library's tables take.
pub fn arguments(name: &str, parameters: Parameters) -> Args {
    let mut args = Args::new(name);
    for (key, text) in parameters {
        let value = match text.parse() {
            Ok(number) => Value::Integer(number),
            Err(_) if text.starts_with("0.") => Value::Decimal((*text).to_owned()),
            Err(_) => Value::Text((*text).to_owned()),
        };
        args.set(*key, value);
    }
    args
}

/// The compiled program of `bpf/<name>/filter.bpf.c` or `bpf/<name>/qdisc.bpf.c`.
macro_rules! object {
    ($name:literal) => {
        Some(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")).as_slice())
    };
}
use object;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ebpf::Occupancy;
    use crate::rank::RankSource;

    #[test]
    fn every_program_has_a_folder_and_every_folder_a_program() {
        let bpf = concat!(env!("CARGO_MANIFEST_DIR"), "/bpf");
        for (file, mut listed) in [("filter.bpf.c", names(filters())), ("qdisc.bpf.c", names(qdiscs()))] {
            let folders = std::fs::read_dir(bpf).expect("the C").filter_map(|entry| {
                let path = entry.expect("an entry").path();
                path.join(file).exists().then(|| path.file_name().expect("a name").to_string_lossy().into_owned())
            });
            let mut folders: Vec<_> = folders.collect();
            folders.sort_unstable();
            listed.sort_unstable();
            assert_eq!(folders, listed, "{file}");
        }
    }

    #[test]
    fn every_variant_and_every_measured_case_is_one_that_the_program_takes() {
        for program in filters() {
            assert!(!program.variants().is_empty() && !program.cases().is_empty(), "{program:?}");
            let parameters =
                program.variants().iter().copied().chain(program.cases().iter().map(|case| case.parameters));
            for parameters in parameters {
                let args = arguments(program.name(), parameters);
                let settings = Settings::of(program, args, RankSource::Dscp, Occupancy::Walk);
                settings.unwrap_or_else(|error| panic!("{program:?} {parameters:?}: {error}"));
            }
        }
    }
}
