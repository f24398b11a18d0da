//! Observers that measure schedulers, one per file. Observers change nothing and read only the data of the
//! [`Observer`](pifolab_sim::observer::Observer) trait. The documentation of each observer defines its metric.
//!
//! | Observer | measures |
//! |---|---|
//! | [`Inversions`] | packets sent while a lower rank waited, by both definitions |
//! | [`Drops`] | losses by rank and reason, the lowest rank lost |
//! | [`Departures`] | packets sent by rank; Delta (AIFO eq. 1) between two runs |
//! | [`Unpifoness`], [`MappingUnpifoness`] | SP-PIFO eq. 7; eq. 5 over windows |
//! | [`Sojourn`] | waiting times: mean, range, quantiles, by rank |
//! | [`Reordering`] | packets overtaken by later ones of their flow |
//! | [`Samples`] | occupancy and queue bounds over time |
//! | [`QueueShares`] | packets, wire time and mean occupancy of each queue |
//! | [`SentThroughput`], [`DeliveredThroughput`] | bytes of each flow in each interval: on one link, at receivers |
//! | [`PacketLog`] | every event of the packets at some ports of a network |
//! | [`MeasuredTime`], [`SizeClass`] | on a network: the measured interval; completion times and slowdowns by size |
//! | [`ArrivalOrder`] | the order in which data packets reach chosen hosts |
//! | [`Frames`] | the bytes of packets that reach chosen hosts, where programs forward |
//! | [`DeliveryOrder`] | data packets reordered between the ends of a network (RFC 4737) |
//!
//! Observers compose as tuples; an observer in an `Option` is disabled by `None`. [`AtPorts`] creates one observer for
//! each chosen port of a network; [`PortWatch`] watches all ports.
#![forbid(unsafe_code)]

mod arrival_order;
mod at_ports;
mod bins;
mod completion;
mod delivery_order;
mod departures;
mod drops;
mod frames;
mod inversions;
mod measure;
mod measured_time;
mod occupancy;
mod packet_log;
mod per_port;
mod queue_share;
mod rank_multiset;
mod rank_range;
mod reordering;
mod sojourn;
mod table;
#[cfg(test)]
mod testing;
mod texts;
mod throughput;
mod unpifoness;

pub use arrival_order::{ArrivalOrder, DataArrival};
pub use at_ports::AtPorts;
pub use bins::{Bin, Binned};
pub use completion::{SizeClass, size_classes, slowdown};
pub use delivery_order::{DeliveryOrder, FlowDelivery, ORDER_KEPT};
pub use departures::Departures;
pub use drops::{DropCount, Drops};
pub use frames::{Frame, Frames};
pub use inversions::{InversionCount, Inversions};
pub use measure::{Measure, Measures};
pub use measured_time::MeasuredTime;
pub use occupancy::{QueueSample, Sample, Samples, Sampling};
pub use packet_log::{LoggedPacket, PacketEvent, PacketLog};
pub use per_port::{PortWatch, RankCount, WatchedPort};
pub use queue_share::{QueueShare, QueueShares};
pub use rank_multiset::RankMultiset;
pub use rank_range::RankRange;
pub use reordering::{FlowOrder, Reordering};
pub use sojourn::{Sojourn, Waits};
pub use table::{Column, Table, whole};
pub use texts::Texts;
pub use throughput::{DeliveredThroughput, SentThroughput, throughput_table};
pub use unpifoness::{MappingUnpifoness, Unpifoness};

/// Optional measurements of one link, in addition to the standard observers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// The number of packets per window of the mapping's unpifoness.
    pub unpifoness_window: Option<u64>,
    /// The length of the intervals in which throughput is summed.
    pub throughput_interval: Option<pifolab_units::Span>,
}

/// The requested measurements of one link.
pub fn measures(wanted: &Wanted) -> Measures {
    let mut measures = Measures::default();
    measures.add(wanted.unpifoness_window.map(MappingUnpifoness::new));
    measures.add(wanted.throughput_interval.map(SentThroughput::new));
    measures
}
