//! A checked scenario of either kind.

use crate::error::Error;
use crate::extras::Extras;
use crate::inputs::{Input, inputs_of};
use crate::machine::available;
use crate::memory::Memory;
use crate::missing::together;
use crate::report::{Progress, Report};
use crate::spec::common::Common;
use crate::spec::network::NetworkSpec;
use crate::spec::one_link::OneLinkSpec;
use crate::spec::written::{NO_FLOWS, Spec, is_network};
use pifolab_metrics::Table as Results;
use pifolab_workload::flows::{write_flows, write_hpcc_flows};
use serde_json::Value as Json;
use std::ops::ControlFlow;

/// A checked scenario.
#[derive(Debug)]
pub enum ValidSpec {
    /// Packets through one port and its link.
    OneLink(Box<OneLinkSpec>),
    /// Flows through a network.
    Network(Box<NetworkSpec>),
}

impl ValidSpec {
    fn common(&self) -> &Common {
        match self {
            Self::OneLink(spec) => &spec.common,
            Self::Network(spec) => &spec.common,
        }
    }

    /// Checks everything that can be checked before a run, and reads the files that it names.
    ///
    /// # Errors
    /// The first fault: an unknown key, one without effect, a value out of range, a file that cannot be read. The error
    /// of a missing key also names the other missing keys.
    pub fn new(spec: Spec, extras: &dyn Extras) -> Result<Self, Error> {
        together(spec, |spec| Self::read(spec, extras))
    }

    fn read(spec: Spec, extras: &dyn Extras) -> Result<Self, Error> {
        if is_network(&spec.root) {
            return NetworkSpec::new(spec, extras).map(Box::new).map(Self::Network);
        }
        OneLinkSpec::new(spec, extras).map(Box::new).map(Self::OneLink)
    }

    /// The seeds of the scenario, at least one.
    pub fn seeds(&self) -> &[u64] {
        &self.common().seeds
    }

    /// The estimated memory of a run with one seed on up to `workers` threads.
    pub fn memory(&self, workers: usize) -> Memory {
        match self {
            Self::OneLink(spec) => Memory::of_one_link(spec, workers),
            Self::Network(spec) => Memory::of_network(spec, workers),
        }
    }

    /// Runs it with `seed` on up to `workers` threads; the results do not depend on their number.
    ///
    /// `progress` is called about ten times a second on this thread; if it breaks, the rest of the run is cancelled and
    /// the report is marked partial.
    ///
    /// # Errors
    /// If the run is cancelled before any scheduler was done, or a scheduler of the user's can no longer be built.
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

    /// The flows of the run with `seed`, as a file for `pifolab run --flows` (CSV) or `workload.flows.list`. Starts are
    /// exact to the picosecond, so that a run of the list equals the run of the scenario.
    ///
    /// # Errors
    /// If the scenario has no network, or would draw more flows than fit into memory.
    ///
    /// # Panics
    /// Never: memory can be written to.
    pub fn flow_list(&self, seed: u64, format: FlowFormat) -> Result<Vec<u8>, Error> {
        let spec = match self {
            Self::OneLink(spec) => return Err(Spec::fault(&spec.common.file, "flows", NO_FLOWS).into()),
            Self::Network(spec) => spec,
        };
        Memory::of_network(spec, 1).check(&spec.common.file, available())?;
        let flows = spec.flows(seed);
        let mut out = Vec::new();
        let written = match format {
            FlowFormat::Csv => write_flows(&flows, &mut out),
            FlowFormat::Hpcc => write_hpcc_flows(&flows, &spec.layout.host_ids, &mut out),
        };
        written.expect("memory can be written to");
        Ok(out)
    }

    /// The tables of a run without rows, that is, their names and columns, before it runs. Tables of a user's observers
    /// are unknown.
    ///
    /// # Errors
    /// If a scheduler of the user's can no longer be built.
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

    /// The files that it names, with the digests of their contents.
    pub fn inputs(&self) -> Vec<Input> {
        inputs_of(self.resolved())
    }

    /// All written values and defaults, in the form of the manifest.
    pub fn resolved(&self) -> &Json {
        &self.common().resolved
    }
}

/// The format of a flow list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowFormat {
    /// `flow,src,dst,size_bytes,start_ns`.
    Csv,
    /// The flow file of the HPCC simulator; ids are lost.
    Hpcc,
}
