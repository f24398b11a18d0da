//! From text to a validated, reproducible run and its report. No other crate builds runs from text.
//!
//! A scenario is TOML: a link, a workload, schedulers. [`Spec`] holds the text, [`ValidSpec`] the checked scenario, and
//! a run of it returns a [`Report`]: a manifest with every default filled in, a summary, and tables of named columns
//! (`docs/run-folder.md` describes them all). Keys that are unknown or without effect are errors.
//!
//! ```
//! let text = r#"
//!     duration_s = 0.001
//!     link = { rate_gbps = 10 }
//!     workload = { arrivals = "constant", rate_gbps = 11, size_bytes = 1500, ranks = "uniform" }
//!     scheduler = [{ name = "fifo" }, { name = "sp-pifo" }]
//! "#;
//! let report = pifolab_scenario::run_text(text, "example.toml", &[], None, 1, &(), &mut |_| true).unwrap();
//! assert_eq!(report.table("schedulers").unwrap().rows(), 2);
//! ```
//!
//! The meaning of a key is written once, in the tables of [`fields`] and of the schedulers, from which the JSON Schema
//! for editors ([`schema::schema`]) is made.

pub mod bench;
mod error;
mod extras;
pub mod fields;
mod inputs;
mod machine;
mod memory;
mod missing;
mod parts;
mod report;
mod run;
pub mod schema;
mod spec;
mod text;
mod trace_summary;
mod traffic;
mod valid;

pub use error::{Error, SpecError};
pub use extras::{BoxedObserver, Extras, INTERRUPTED_ROWS};
pub use inputs::Input;
pub use memory::Memory;
pub use parts::{Part, topologies, transports};
pub use pifolab_params::Place;
pub use pifolab_registry as registry;
pub use pifolab_registry::conformance;
pub use pifolab_workload::FileError;
pub use report::{NetworkProgress, Progress, Report};
pub use spec::network::NetworkSpec;
pub use spec::one_link::OneLinkSpec;
pub use spec::written::Spec;
pub use trace_summary::TraceSummary;
pub use valid::{FlowFormat, ValidSpec};

use std::ops::ControlFlow;
use std::path::Path;

/// Reads, checks and runs a scenario with one seed: `seed`, or by default its first one.
///
/// `overrides` are (dotted path, value) pairs as [`Spec::set`] takes them. `progress` is called about ten times a
/// second on this thread; `false` cancels the rest of the run. Results do not depend on the number of `workers`.
///
/// # Errors
/// The first fault of the text or of a file that it names, or a cancellation before any scheduler was done.
pub fn run_text(
    text: &str,
    file: &str,
    overrides: &[(&str, &str)],
    seed: Option<u64>,
    workers: usize,
    extras: &dyn Extras,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<Report, Error> {
    let spec = read_text(text, file, overrides, None, extras)?;
    let seed = seed.unwrap_or(spec.seeds()[0]);
    spec.run(seed, workers, extras, &mut |state| {
        if progress(state) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
}

/// Reads and checks a scenario. If `flows` is given, the flows of that file replace its own.
///
/// # Errors
/// The first fault of the text or of a file that it names.
pub fn read_text(
    text: &str,
    file: &str,
    overrides: &[(&str, &str)],
    flows: Option<&Path>,
    extras: &dyn Extras,
) -> Result<ValidSpec, Error> {
    let mut spec = Spec::parse(text, file)?;
    if let Some(flows) = flows {
        spec.replace_flows(flows)?;
    }
    for (path, value) in overrides {
        spec.set(path, value)?;
    }
    ValidSpec::new(spec, extras)
}

/// The network in a text that errors call `file`. The extension selects the format: `.topology` (Netbench), `.graphml`,
/// `.txt` (HPCC), `.topo` (htsim), else TOML. Links without a rate or delay get these.
///
/// # Errors
/// The first fault of the text.
pub fn read_topology(
    text: &str,
    file: &str,
    rate: pifolab_units::Rate,
    delay: pifolab_units::Span,
) -> Result<pifolab_sim::network::Topology, Error> {
    spec::topology::read_text(text, file, rate, delay)
}

#[cfg(test)]
mod network_feature_tests;
#[cfg(test)]
mod network_tests;
#[cfg(test)]
mod switch_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trace_tests;
#[cfg(test)]
mod unexercised_tests;
