//! From text to a scenario that can run: [`Spec`] holds what was written, [`ValidSpec`] what it means.

pub(crate) mod network;
pub(crate) mod network_fields;
mod network_flows;
mod network_record;
pub(crate) mod network_topology;
mod network_topology_fields;
pub(crate) mod network_topology_file;
mod network_transport;
mod network_trouble;
pub(crate) mod one_link;
pub(crate) mod schedulers;
pub(crate) mod trace;
mod words;
pub(crate) mod workload;

use crate::error::{Error, SpecError};
use crate::extras::Extras;
use crate::fields::Reader;
use crate::inputs::{Input, inputs_of};
use crate::memory::{Memory, available};
use crate::report::{Progress, Report};
use crate::text;
use network::NetworkSpec;
use one_link::OneLinkSpec;
use pifolab_metrics::Table as Results;
use pifolab_params::{Kind, Param, Place, Role, Table, Value, rounding_word};
use pifolab_sim::one_link::Tie;
use pifolab_units::Rounding;
use pifolab_workload::flows::{write_flows, write_hpcc_flows};
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use words::End;

/// A scenario as it was written, with overrides applied.
#[derive(Clone, Debug)]
pub struct Spec {
    pub(crate) root: Table,
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) overrides: Vec<(String, String)>,
}

/// A scenario that can run.
#[derive(Debug)]
pub enum ValidSpec {
    /// Packets through one port and its link.
    OneLink(Box<OneLinkSpec>),
    /// Flows through a network.
    Network(Box<NetworkSpec>),
}

impl Spec {
    /// Reads TOML; `file` is its name in errors, and files named in it are looked for beside it.
    ///
    /// # Errors
    /// The text is no TOML; the error names the line.
    pub fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let root = text::parse(text, file)?;
        Ok(Self { root, file: file.to_owned(), text: text.to_owned(), overrides: Vec::new() })
    }

    /// Overrides one key: a dotted path such as `link.rate_gbps` or `scheduler.packs.window` (a scheduler by label,
    /// name, or number from 0), and a value as TOML would have it, or a plain text.
    ///
    /// # Errors
    /// The path leads nowhere. Whether the key exists is checked by [`validate`](Self::validate).
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), Error> {
        text::set(&mut self.root, path, value, &self.file)?;
        self.overrides.push((path.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Replaces the flows of a scenario on a network by those that the file at `path` lists.
    ///
    /// # Errors
    /// The scenario is one on one link, or the path is not UTF-8. The list is read by [`validate`](Self::validate).
    pub fn replace_flows(&mut self, path: &Path) -> Result<(), Error> {
        let fault = |problem: &str| SpecError {
            file: self.file.clone(),
            place: Place::File,
            key: "--flows".to_owned(),
            problem: problem.to_owned(),
        };
        if !network::is_network(&self.root) {
            return Err(fault(network::NO_FLOWS).into());
        }
        let absolute = std::path::absolute(path).ok();
        let Some(path) = absolute.as_deref().and_then(Path::to_str) else {
            return Err(fault("names a path that is not UTF-8").into());
        };
        let flag = Place::Flag("--flows");
        text::replace(&mut self.root, "workload", "flows", "list", Value::Text(path.to_owned()), flag);
        // As --set would say it; a path that is a TOML text is one in JSON as well.
        self.overrides.push(("workload".to_owned(), format!("{{ flows = {{ list = {} }} }}", Json::from(path))));
        Ok(())
    }

    /// Checks everything that can be checked before a run, and reads the files that it names.
    ///
    /// # Errors
    /// The first fault: an unknown key, one without effect, a value out of range, a file that cannot be read.
    pub fn validate(self, extras: &dyn Extras) -> Result<ValidSpec, Error> {
        if network::is_network(&self.root) {
            return NetworkSpec::new(self, extras).map(Box::new).map(ValidSpec::Network);
        }
        OneLinkSpec::new(self, extras).map(Box::new).map(ValidSpec::OneLink)
    }

    /// A fault of the whole.
    pub(crate) fn fault(file: &str, key: &str, problem: impl Into<String>) -> SpecError {
        SpecError { file: file.to_owned(), place: Place::File, key: key.to_owned(), problem: problem.into() }
    }
}

impl ValidSpec {
    /// The seeds that the scenario asks for, at least one.
    pub fn seeds(&self) -> &[u64] {
        match self {
            Self::OneLink(spec) => &spec.seeds,
            Self::Network(spec) => &spec.seeds,
        }
    }

    /// About how much memory a run with one seed on up to `workers` threads needs.
    pub fn memory(&self, workers: usize) -> Memory {
        match self {
            Self::OneLink(spec) => Memory::of_one_link(spec, workers),
            Self::Network(spec) => Memory::of_network(spec),
        }
    }

    /// Runs it with `seed` on up to `workers` threads; the results do not depend on how many.
    ///
    /// `progress` is called about ten times a second on this thread; if it breaks, what is not done is given up and the
    /// report is marked partial.
    ///
    /// # Errors
    /// If the run is cancelled before anything was done, or a scheduler of the user's cannot be built any more.
    ///
    /// # Panics
    /// If a scheduler breaks its contract.
    pub fn run(
        &self,
        seed: u64,
        workers: usize,
        extras: &dyn Extras,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Report, Error> {
        match self {
            Self::OneLink(spec) => spec.run(seed, workers, extras, progress),
            Self::Network(spec) => spec.run(seed, workers, extras, progress),
        }
    }

    /// The flows of the run with `seed`, as a file that `pifolab run --flows` (CSV) or `workload.flows.list` reads back: starts
    /// are exact to the picosecond, so that a run of the list is the run of the scenario.
    ///
    /// # Errors
    /// If the scenario is one on one link, or would draw more flows than fit into memory.
    ///
    /// # Panics
    /// Never: memory can be written to.
    pub fn flow_list(&self, seed: u64, format: FlowFormat) -> Result<Vec<u8>, Error> {
        let spec = match self {
            Self::OneLink(spec) => return Err(Spec::fault(&spec.file, "flows", network::NO_FLOWS).into()),
            Self::Network(spec) => spec,
        };
        Memory::of_network(spec).check(&spec.file, available())?;
        let flows = spec.flows(seed);
        let mut out = Vec::new();
        let written = match format {
            FlowFormat::Csv => write_flows(&flows, &mut out),
            FlowFormat::Hpcc => write_hpcc_flows(&flows, &mut out),
        };
        written.expect("memory can be written to");
        Ok(out)
    }

    /// The tables that a run will have, without rows: their names and columns, before anything has run. Tables of observers
    /// that are not the library's are not known yet.
    ///
    /// # Errors
    /// If a scheduler of the user's cannot be built any more.
    ///
    /// # Panics
    /// If a scheduler breaks its contract.
    pub fn tables(&self, extras: &dyn Extras) -> Result<Vec<Results>, Error> {
        let report = match self {
            Self::OneLink(spec) => spec.without_packets(extras),
            Self::Network(spec) => spec.without_flows(extras),
        };
        report.map(|report| report.tables)
    }

    /// The files that it names, with the digests of what was read.
    pub fn inputs(&self) -> Vec<Input> {
        inputs_of(self.resolved())
    }

    /// Everything that was written and every default, as the manifest shows it.
    pub fn resolved(&self) -> &Json {
        match self {
            Self::OneLink(spec) => &spec.resolved,
            Self::Network(spec) => &spec.resolved,
        }
    }
}

/// How a flow list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowFormat {
    /// `flow,src,dst,size_bytes,start_ns`.
    Csv,
    /// The flow file of the HPCC simulator; ids are lost.
    Hpcc,
}

/// The seeds that a scenario lists, each once.
pub(crate) fn read_seeds(top: &mut Reader<'_>) -> Result<Vec<u64>, SpecError> {
    let seeds = top.get::<Vec<u64>>("seeds")?.unwrap_or_else(|| vec![1]);
    let mut seen = BTreeSet::new();
    if let Some(twice) = seeds.iter().find(|seed| !seen.insert(**seed)) {
        return Err(top.fault("seeds", format!("= {seeds:?}: seed {twice} is a duplicate: expected each seed once")));
    }
    top.resolved.insert("seeds".to_owned(), seeds.clone().into());
    Ok(seeds)
}

/// `path` as a file of the scenario `file`: beside it unless it is absolute.
pub(crate) fn beside(file: &str, path: &str) -> PathBuf {
    Path::new(file).parent().unwrap_or(Path::new("")).join(path)
}

/// The largest seed.
const MAX_SEED: u64 = i64::MAX as u64;
/// The most packets of a run.
const MAX_PACKETS: u64 = 1 << 40;

/// The keys at the top of a scenario on one link.
pub(crate) const TOP: &[Param] = &[
    Param::new("title", Kind::Text).means("none").doc("A heading for reports."),
    Param::new("description", Kind::Text).means("none").doc("What the scenario is about, for reports."),
    Param::new("duration", Kind::Time)
        .means("arrivals end with packets, the trace or the sequence of ranks")
        .doc("No packet arrives at or after this time; with end = \"horizon\" the run stops here."),
    Param::integer("packets", 1, MAX_PACKETS)
        .means("as many as arrive within the duration")
        .doc("No more packets than this arrive, over all sources."),
    Param::choice::<End>("end").means("horizon if there is a duration, drain otherwise").doc("When the run ends."),
    Param::integers("seeds", 0, MAX_SEED)
        .means("[1]")
        .doc("The seeds to run with, unless one is given on the command line."),
    Param::new("link", Kind::Table(LINK)).doc("The link that packets leave on."),
    Param::new("workload", Kind::Tables(workload::SOURCE))
        .doc("Where packets come from: one source, or [[workload]] for several on the same link."),
    Param::new("rank", Kind::Component(Role::RankFunction))
        .means("packets carry the ranks of the workload")
        .doc("The rank function that computes ranks on arrival."),
    Param::new("scheduler", Kind::Components(Role::Scheduler)).doc("The schedulers to run, each on the same arrivals."),
    Param::new("metrics", Kind::Table(METRICS))
        .means("the defaults of its keys")
        .doc("What is measured beside the standard tables."),
];

/// The keys of `[link]`.
pub(crate) const LINK: &[Param] = &[
    Param::new("rate", Kind::Rate).doc("The rate of the link."),
    Param::choice::<Rounding>("rounding")
        .or_word(rounding_word(Rounding::UpToPicosecond))
        .doc("How the time that a packet takes on the wire is rounded."),
    Param::choice::<Tie>("tie")
        .or_word(Tie::DepartureFirst.word())
        .doc("What goes first if the wire falls free at the instant of an arrival."),
];

/// The keys of `[metrics]`.
pub(crate) const METRICS: &[Param] = &[
    Param::integer("sample_every_packets", 1, MAX_PACKETS).means("1000, unless sample_every_us is given").doc("Occupancy and queue bounds are sampled after every n-th arrival."),
    Param::new("sample_every", Kind::Time).means("samples are taken by arrivals").doc("Occupancy and queue bounds are sampled at the first event at or after each multiple of this time."),
    Param::integer("max_samples", 0, 100_000_000).or_integer(100000).doc("No more samples than this are kept for each scheduler; the manifest says how many were left out."),
    Param::flag("sample_window").or_flag(false).doc("Samples also hold the smallest and largest rank of the scheduler's window (AIFO, PACKS, RIFO)."),
    Param::integer("unpifoness_window_packets", 1, MAX_PACKETS).means("not measured").doc("The unpifoness of the mapping to queues (SP-PIFO eq. 5) is measured over windows of this many admitted packets."),
    Param::new("throughput_interval", Kind::Time).means("not measured").doc("The bytes that each flow sends are summed up over intervals of this length."),
    Param::new("delta_to", Kind::Text).means("the first scheduler called pifo, if there is one").doc("The label of the scheduler that Delta (AIFO eq. 1) compares the others with."),
];
