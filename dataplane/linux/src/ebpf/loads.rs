//! Tests whether this kernel accepts the programs: loads and unloads each one with every option that changes its code.

use super::loaded::Loaded;
use super::program::Program;
use super::programs::{filters, qdiscs};
use super::qdisc;
use super::settings::{Occupancy, Settings};
use crate::error::Trying;
use crate::net::tc;
use crate::rank::{NotIp, RankOptions, RankSource};
use crate::{Error, Result};
use std::fmt;
use std::path::Path;

const OCCUPANCIES: [Occupancy; 3] = [Occupancy::Walk, Occupancy::Counters, Occupancy::Clock];
const RANKS: [RankSource; 8] = [
    RankSource::Dscp,
    RankSource::Payload { offset: 4, width: 4 },
    RankSource::Vlan,
    RankSource::Mpls,
    RankSource::Mark,
    RankSource::Table,
    RankSource::Las,
    RankSource::Stfq,
];

/// The result of loading one program.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Load {
    /// The scheduler, its options, the source of the occupancy, and the source of the rank.
    pub what: String,
    /// The source of the occupancy; `qdisc` for a BPF qdisc.
    pub occupancy: String,
    /// Whether ranks require the dequeue tracepoint.
    pub virtual_time: bool,
    /// The reason of the kernel's refusal.
    pub refused: Option<String>,
}

/// The reason in one line: the verifier's last line before its statistics, else the last line of the message.
fn reason(error: &Error) -> String {
    let text = error.to_string();
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let end = lines.iter().position(|line| line.starts_with("processed ")).unwrap_or(lines.len());
    lines[..end].last().map_or_else(String::new, |line| (*line).trim().to_owned())
}

/// The compiled filter, from this binary or from a file.
fn filter(program: &dyn Program, folder: Option<&Path>) -> Result<Vec<u8>> {
    let Some(folder) = folder else { return Ok(program.filter().expect("it is one").to_vec()) };
    read(&folder.join(format!("{}.filter.bpf.o", program.name())))
}

/// The compiled qdisc likewise; `None` without one, because some compilers are too old for it.
fn qdisc(program: &dyn Program, folder: Option<&Path>) -> Result<Option<Vec<u8>>> {
    let Some(folder) = folder else { return Ok(qdisc::object(program).ok().map(<[u8]>::to_vec)) };
    let path = folder.join(format!("{}.qdisc.bpf.o", program.name()));
    if path.exists() { read(&path).map(Some) } else { Ok(None) }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).trying(|| format!("reading {}", path.display()))
}

/// Loads every program with every source of occupancies, and with every source of ranks. `folder` may contain programs
/// from another compiler.
///
/// # Errors
/// If a file cannot be read, or the user may not load programs. A refused program is not an error.
pub fn check(folder: Option<&Path>) -> Result<Vec<Load>> {
    // The walk needs the types of HTB, which may be a module that is not loaded.
    let _ = tc::try_qdisc("htb");
    let mut loads = Vec::new();
    let variants = filters().flat_map(|program| program.variants().iter().enumerate().map(move |one| (program, one)));
    for (program, (place, parameters)) in variants {
        let object = filter(program, folder)?;
        let sources = if place == 0 { &RANKS[..] } else { &RANKS[..1] };
        for rank in sources {
            for occupancy in OCCUPANCIES {
                // Separate code reads ranks and occupancies, so not every pair is tested.
                if *rank != RankSource::Dscp && occupancy == Occupancy::Counters {
                    continue;
                }
                let mut settings = Settings::of(program, program.info().arguments(parameters), *rank, occupancy)?;
                // One of the sources also has weights and ranks for frames that are not IP.
                settings.config.weighted = (*rank == RankSource::Stfq).into();
                if *rank == RankSource::Table {
                    let options =
                        RankOptions { rank_not_ip: NotIp::Rank(Default::default()), ..RankOptions::default() };
                    settings.set_without_rank(*rank, &options);
                }
                let virtual_time = settings.needs_virtual_time();
                let refused = match Loaded::load_object(settings, &object) {
                    Ok(_) => None,
                    Err(error @ Error::Denied(_)) => return Err(error),
                    Err(error) => Some(reason(&error)),
                };
                let options: Vec<_> = parameters.iter().map(|(key, value)| format!(" {key}={value}")).collect();
                let what = format!("{}{}, {occupancy}, {rank}", program.name(), options.concat());
                loads.push(Load { what, occupancy: occupancy.to_string(), virtual_time, refused });
            }
        }
    }
    if qdisc::supported().is_ok() {
        for program in qdiscs() {
            let Some(object) = qdisc(program, folder)? else { continue };
            for rank in &RANKS[..6] {
                let refused = qdisc::try_to_load(program, *rank, &object).err().map(|error| reason(&error));
                let what = format!("{}, qdisc, {rank}", program.name());
                loads.push(Load { what, occupancy: "qdisc".to_owned(), virtual_time: false, refused });
            }
        }
    }
    Ok(loads)
}

/// The numbers of programs that a kernel accepts.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// Programs loaded and tried, by the source of the occupancy; `qdisc` for BPF qdiscs.
    pub occupancies: Vec<(String, usize, usize)>,
    /// Programs loaded and tried, of those whose ranks require the dequeue tracepoint.
    pub virtual_time: (usize, usize),
}

impl Summary {
    /// Counts the results.
    pub fn of(loads: &[Load]) -> Self {
        let mut summary = Self { occupancies: Vec::new(), virtual_time: (0, 0) };
        for load in loads {
            let ok = usize::from(load.refused.is_none());
            if load.virtual_time {
                summary.virtual_time.0 += ok;
                summary.virtual_time.1 += 1;
                continue;
            }
            match summary.occupancies.iter_mut().find(|(name, _, _)| *name == load.occupancy) {
                Some((_, loaded, tried)) => {
                    *loaded += ok;
                    *tried += 1;
                }
                None => summary.occupancies.push((load.occupancy.clone(), ok, 1)),
            }
        }
        summary
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, loaded, tried) in &self.occupancies {
            write!(f, "{name} {loaded}/{tried}, ")?;
        }
        write!(f, "stfq {}/{}", self.virtual_time.0, self.virtual_time.1)
    }
}
