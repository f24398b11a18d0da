//! Observers that measure what schedulers do, one file each. They change nothing and see only what the
//! [`Observer`](pifolab_sim::observer::Observer) trait shows; each one's documentation defines its number.
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
//! | [`MeasuredTime`], [`SizeClass`] | of a network: what is measured when; completion times and slowdowns by size |
//! | [`ArrivalOrder`] | data in the order in which they reach some hosts |
//! | [`DeliveryOrder`] | data reordered between the ends of a network (RFC 4737) |
//!
//! They compose as tuples; `Option` switches one off. [`AtPorts`] has one observer at each of some ports of a
//! network; [`PortWatch`] watches all ports.
#![forbid(unsafe_code)]

mod arrival_order;
mod at_ports;
mod bins;
mod completion;
mod delivery_order;
mod departures;
mod drops;
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

/// What is measured of one link beside the standard observers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// Packets in a window of the unpifoness of the mapping.
    pub unpifoness_window: Option<u64>,
    /// The interval of throughput.
    pub throughput_interval: Option<pifolab_units::Span>,
}

/// The measurements of one link, one line each.
pub fn measures(wanted: &Wanted) -> Measures {
    let mut measures = Measures::default();
    measures.add(wanted.unpifoness_window.map(MappingUnpifoness::new));
    measures.add(wanted.throughput_interval.map(SentThroughput::new));
    measures
}
