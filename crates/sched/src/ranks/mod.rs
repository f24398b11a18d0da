//! Rank functions, one file each: what decides the order of packets.
//!
//! [`Ranked`](crate::Ranked) joins any of them to any scheduler. Each instance serves one output port: what state it
//! keeps (virtual time, bytes seen per flow) is that port's. Ranks are integers; the smaller leaves first.
//!
//! Flows are dense indices from 0 (per-flow state is held in pages of an array, see [`PerFlow`]). Packet ids may be
//! anything: what a function needs beyond the descriptor is handed over by
//! [`hint`](crate::RankFn::hint) directly before the packet itself.

mod carried;
mod edf;
mod fcfs;
mod fdpa;
mod fifo_plus;
mod flow_size;
mod hinted;
mod las;
mod lstf;
mod pias;
mod remaining_size;
mod stfq;
mod token_bucket;
mod unacknowledged;

pub use crate::store::PerFlow;
pub use carried::Carried;
pub use edf::Edf;
pub use fcfs::Fcfs;
pub use fdpa::{Fdpa, FdpaParams};
pub use fifo_plus::FifoPlus;
pub use flow_size::FlowSize;
pub use las::Las;
pub use lstf::Lstf;
pub use pias::{Pias, PiasParams};
pub use remaining_size::RemainingSize;
pub use stfq::{Stfq, StfqParams, VirtualTime};
pub use token_bucket::{Per, Shaped};
pub use unacknowledged::Unacknowledged;

use crate::entry::{RankEntry, rank, size_rank};

/// Every rank function.
pub const RANKS: &[RankEntry] = &[
    rank::<Carried>(),
    size_rank::<FlowSize>("flow size"),
    size_rank::<RemainingSize>("remaining size"),
    size_rank::<Unacknowledged>("unacknowledged"),
    RankEntry {
        live_window: |settings| {
            let published = settings.integer("scale") == Some(1) && settings.is("virtual_time", "follow");
            published && settings.flag("give_back") && !settings.flag("relative") && settings.lacks(&["weights"])
        },
        ..rank::<Stfq>()
    },
    rank::<Lstf>(),
    rank::<FifoPlus>(),
    rank::<Edf>(),
    size_rank::<Las>("size so far"),
    rank::<Pias>(),
    rank::<Fdpa>(),
    rank::<Fcfs>(),
    rank::<Shaped>(),
];
