//! The eBPF data plane: one program per scheduler (`bpf/`), loaded with the library's parameters.
//!
//! A program is the filter of an HTB qdisc whose leaf classes are strict-priority queues. It processes every packet
//! under the qdisc's lock, reads the occupancies of the queues, and chooses a queue or drops the packet.

pub mod conformance;
pub mod cost;
pub mod count;
pub mod flow_maps;
pub mod harness;
mod installed;
pub mod intf;
pub(crate) mod loaded;
pub mod loads;
pub mod maps;
mod path;
pub mod plane;
pub mod program;
pub mod programs;
pub mod qdisc;
pub mod reader;
pub mod settings;
pub mod snapshot;
pub mod window;

pub use crate::rank::RankSource;
pub(crate) use installed::{KernelPlane, name_now, shown};
pub use loaded::{Decision, Loaded};
pub use plane::{Plane, PlaneConfig};
pub use qdisc::{QdiscConfig, QdiscPlane};
pub use settings::{Occupancy, Settings};
pub use snapshot::Snapshot;
pub(crate) use snapshot::shown_parts;
