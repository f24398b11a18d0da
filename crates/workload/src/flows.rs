//! Network traffic as flows, each with a source, a destination, a size and a start.

mod cdf;
mod hpcc;
mod htsim;
mod list;
mod netbench;
mod pairs;
mod sizes;
mod source;
mod tables;

pub use cdf::{CdfFile, SizeUnit};
pub use hpcc::{hpcc_flows_from, write_hpcc_flows};
pub use htsim::htsim_flows_from;
pub use list::{flows_from, write_flows};
pub use netbench::{NETBENCH_SEED, NetbenchFlows, NetbenchFork, NetbenchPairs};
pub use pairs::Pairs;
pub use sizes::{FlowSizes, Interpolation};
pub use source::{FlowArrivals, FlowSource, FlowStream, starts_per_s_for_load};

use pifolab_units::Time;

/// The largest flow: 2^63 - 1 bytes.
pub const MAX_FLOW_BYTES: u64 = i64::MAX as u64;

/// One flow to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The flow's id, unique in its list.
    pub id: u64,
    /// The sending host.
    pub src: u32,
    /// The receiving host; never `src`.
    pub dst: u32,
    /// Payload in bytes, 1 to [`MAX_FLOW_BYTES`].
    pub bytes: u64,
    /// The flow's start.
    pub start: Time,
}
