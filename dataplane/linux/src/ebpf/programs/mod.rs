//! One file for each scheduler that runs in the kernel: what its program is loaded with, and what its registers say. The C
//! is in `bpf/<name>/`: `filter.bpf.c` is a filter in front of the kernel's queues, `qdisc.bpf.c` a qdisc of its own.
//! The build finds both by their names; so a program joins [`PROGRAMS`] by being there.

use super::program::Program;
use crate::{Error, Result};
use pifolab_registry::find_scheduler;

// The modules and the list, which build/programs.rs writes.
include!(concat!(env!("OUT_DIR"), "/programs.rs"));

/// The programs that are filters.
pub fn filters() -> impl Iterator<Item = &'static dyn Program> {
    PROGRAMS.iter().copied().filter(|program| program.filter().is_some())
}

/// The programs that are qdiscs.
pub fn qdiscs() -> impl Iterator<Item = &'static dyn Program> {
    PROGRAMS.iter().copied().filter(|program| program.qdisc().is_some())
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
            "there is no eBPF program of {name}; expected one of {names}; the user-space switch runs it: pifolab dataplane switch"
        ))
    })
}

/// The qdisc of the scheduler `name`.
///
/// # Errors
/// There is none.
pub fn find_qdisc(name: &str) -> Result<&'static dyn Program> {
    qdiscs().find(|program| program.name() == name).ok_or_else(|| {
        let names = names(qdiscs()).join(" or ");
        Error::Unsupported(format!("there is no BPF qdisc of {name}; expected {names}"))
    })
}

#[cfg(test)]
#[path = "../../../build/programs.rs"]
mod build;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ebpf::{Occupancy, Settings};
    use crate::rank::RankSource;

    #[test]
    fn the_manual_names_the_filters_in_their_order() {
        let manual = include_str!("../../../../../docs/dataplane.md").split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = format!("one folder for each scheduler: `{}`.", names(filters()).join("`, `"));
        assert!(manual.contains(&expected), "docs/dataplane.md: expected in its first paragraph: {expected}");
    }

    #[test]
    fn the_manual_has_a_row_of_costs_for_each_measured_case() {
        let manual = include_str!("../../../../../docs/dataplane.md");
        let (_, table) = manual.split_once("| program | registers |").expect("the table of costs");
        let rows: Vec<_> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
        for program in filters() {
            let begin = format!("| {}, ", program.name());
            let shown = rows.iter().filter(|row| row.starts_with(&begin)).count();
            assert_eq!(shown, program.cases().len(), "docs/dataplane.md: rows of costs that begin with {begin:?}");
        }
    }

    #[test]
    fn every_program_has_the_name_of_its_folder_and_what_the_folder_has() {
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
                let args = program.info().arguments(parameters);
                let settings = Settings::of(program, args, RankSource::Dscp, Occupancy::Walk);
                settings.unwrap_or_else(|error| panic!("{program:?} {parameters:?}: {error}"));
            }
        }
    }
}
