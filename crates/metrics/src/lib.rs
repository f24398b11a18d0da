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
//! | [`Throughput`] | bytes of each flow in each interval |
//! | [`PortSamples`], [`PacketLog`] | the same at ports of a network; every event of their packets |
//! | [`MeasuredTime`], [`SizeClass`] | of a network: what is measured when; completion times and slowdowns by size |
//! | [`ArrivalOrder`], [`Delivered`] | data at receivers: in which order, how much over time |
//! | [`DeliveryOrder`] | data reordered between the ends of a network (RFC 4737) |
//!
//! They compose as tuples; `Option` switches one off. An observer of one port in a network is wrapped in [`OnPort`];
//! [`PortWatch`] watches all of them.
#![forbid(unsafe_code)]

mod bins;
mod completion;
mod deliveries;
mod delivery_order;
mod departures;
mod drops;
mod inversions;
mod measure;
mod measured_time;
mod occupancy;
mod on_port;
mod packet_log;
mod per_port;
mod port_samples;
mod queue_share;
mod rank_multiset;
mod reordering;
mod sojourn;
mod table;
#[cfg(test)]
mod testing;
mod texts;
mod throughput;
mod unpifoness;

pub use bins::{Bin, Binned};
pub use completion::{SizeClass, size_classes, slowdown};
pub use deliveries::{ArrivalOrder, DataArrival, Delivered};
pub use delivery_order::{DeliveryOrder, FlowDelivery, ORDER_KEPT};
pub use departures::Departures;
pub use drops::{DropCount, Drops};
pub use inversions::{InversionCount, Inversions};
pub use measure::{Measure, Measures};
pub use measured_time::MeasuredTime;
pub use occupancy::{QueueSample, Sample, Samples, Sampling};
pub use on_port::OnPort;
pub use packet_log::{LoggedPacket, PacketEvent, PacketLog};
pub use per_port::{PortWatch, RankCount, WatchedPort};
pub use port_samples::PortSamples;
pub use queue_share::{QueueShare, QueueShares};
pub use rank_multiset::RankMultiset;
pub use reordering::{FlowOrder, Reordering};
pub use sojourn::{Sojourn, Waits};
pub use table::{Column, Table, whole};
pub use texts::Texts;
pub use throughput::{Throughput, throughput_table};
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
    measures.add(wanted.throughput_interval.map(Throughput::new));
    measures
}
