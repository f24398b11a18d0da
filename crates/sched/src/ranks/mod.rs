//! Rank functions, one file each: what decides where a packet wants to stand.
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
mod fifo_plus;
mod flow_size;
mod las;
mod lstf;
mod per_flow;
mod remaining_size;
mod stfq;
mod unacknowledged;

pub use carried::Carried;
pub use edf::Edf;
pub use fcfs::Fcfs;
pub use fifo_plus::FifoPlus;
pub use flow_size::FlowSize;
pub use las::Las;
pub use lstf::Lstf;
pub use per_flow::PerFlow;
pub use remaining_size::RemainingSize;
pub use stfq::{Stfq, StfqParams, VirtualTime};
pub use unacknowledged::Unacknowledged;

use crate::Hints;

/// The facts about the packet that is about to be ranked.
///
/// One slot is enough, whatever the ids look like, because hints come directly before their packet.
#[derive(Clone, Debug, Default)]
struct Hinted {
    pending: Option<(u64, Hints)>,
}

impl Hinted {
    fn put(&mut self, id: u64, hints: &Hints) {
        self.pending = Some((id, *hints));
    }

    /// The facts about packet `id`; a packet of which nothing was said has the default ones.
    fn take(&mut self, id: u64) -> Hints {
        match self.pending.take() {
            Some((hinted, hints)) if hinted == id => hints,
            _ => Hints::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_units::Bytes;

    #[test]
    fn hints_belong_to_the_next_packet_only() {
        let mut hinted = Hinted::default();
        let hints = Hints { remaining: Bytes(5), ..Hints::default() };
        hinted.put(u64::MAX, &hints);
        assert_eq!(hinted.take(u64::MAX), hints);
        assert_eq!(hinted.take(u64::MAX), Hints::default());
        hinted.put(1, &hints);
        assert_eq!(hinted.take(2), Hints::default());
    }
}
