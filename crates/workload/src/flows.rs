//! Traffic of a network as flows: who sends how much to whom, and when.

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
    /// Names the flow; unique in its list.
    pub id: u64,
    /// The host that sends.
    pub src: u32,
    /// The host that receives; never `src`.
    pub dst: u32,
    /// Payload, 1 to [`MAX_FLOW_BYTES`].
    pub bytes: u64,
    /// When the flow starts.
    pub start: Time,
}
