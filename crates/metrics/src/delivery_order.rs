//! Reordering between the ends of a network: data packets that arrive after a later-sent packet of the same flow (RFC
//! 4737).

use pifolab_sim::observer::{EndView, Observer};
use pifolab_units::{Span, Time};
use std::collections::VecDeque;

/// Counts each flow's reordered data packets at the receiver. By RFC 4737, a packet is reordered if a packet sent later
/// arrived earlier (type-P-reordered, section 3.3).
///
/// Packets are ordered by the time at which the sender created them, then by segment number. A retransmitted segment is
/// a new packet, so loss repairs do not count as reordering. Memory: 32 bytes per in-order packet, at most
/// [`ORDER_KEPT`] per flow.
#[derive(Clone, Debug)]
pub struct DeliveryOrder {
    flows: Vec<Flow>,
}

/// The number of in-order packets kept per flow to compute extents. Extents beyond this number are lower bounds.
pub const ORDER_KEPT: usize = 1024;

/// The order of one flow's data at its receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowDelivery {
    /// Data packets that arrived, including duplicates.
    pub delivered: u64,
    /// The number of these packets that arrived after a later-sent packet.
    pub reordered: u64,
    /// The sum of the extents of reordered packets. A packet's extent is the number of packets between its arrival and
    /// the arrival of the first later-sent packet (section 4.2.2).
    pub extents: u64,
    /// The largest extent.
    pub largest_extent: u64,
    /// The longest late time of a reordered packet: the time since the first later-sent packet arrived (section 4.2.3).
    pub latest: Span,
}

/// A packet that arrived in order: time sent, segment number, number of earlier arrivals, and time of arrival.
type InOrder = ((Time, u32), u64, Time);

#[derive(Clone, Debug, Default)]
struct Flow {
    order: FlowDelivery,
    in_order: VecDeque<InOrder>,
}

impl DeliveryOrder {
    /// Creates an observer of `flows` flows, without arrivals.
    pub fn new(flows: usize) -> Self {
        Self { flows: vec![Flow::default(); flows] }
    }

    /// The flows with at least one arrival, with their indices in the list of flows.
    pub fn flows(&self) -> impl Iterator<Item = (u32, FlowDelivery)> {
        self.flows.iter().zip(0..).filter(|(flow, _)| flow.order.delivered > 0).map(|(flow, place)| (place, flow.order))
    }
}

impl Observer for DeliveryOrder {
    fn watches(&self) -> bool {
        false
    }

    fn follows(&self) -> bool {
        true
    }

    fn on_deliver(&mut self, packet: EndView<'_>, now: Time) {
        let segment = packet.segment;
        if segment.payload_bytes == 0 {
            return;
        }
        let Flow { order, in_order } = &mut self.flows[packet.flow as usize];
        let key = (segment.stamp, segment.seq);
        let place = order.delivered;
        order.delivered += 1;
        if in_order.back().is_none_or(|last| last.0 < key) {
            if in_order.len() == ORDER_KEPT {
                in_order.pop_front();
            }
            in_order.push_back((key, place, now));
            return;
        }
        let (_, first, at) = in_order[in_order.partition_point(|sent| sent.0 < key)];
        let extent = place - first;
        order.reordered += 1;
        order.extents += extent;
        order.largest_extent = order.largest_extent.max(extent);
        order.latest = order.latest.max(now.since(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::deliver_sent;

    fn delivered(packets: &[(u64, u32)]) -> FlowDelivery {
        let mut order = DeliveryOrder::new(2);
        for ((sent, seq), us) in packets.iter().zip(100..) {
            deliver_sent(&mut order, us, 1, *sent, *seq);
        }
        let [(1, found)] = order.flows().collect::<Vec<_>>()[..] else { panic!("one flow") };
        found
    }

    #[test]
    fn the_example_of_rfc_4737_has_its_extents() {
        // Section 7.1: 1 2 3 7 8 9 10 4 5 6 11; the extents of 4, 5 and 6 are 4, 5 and 6.
        let sent = [1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11].map(|number| (number, number as u32));
        let found = delivered(&sent);
        assert_eq!((found.delivered, found.reordered, found.extents, found.largest_extent), (11, 3, 15, 6));
        assert_eq!(found.latest, Span::from_us(6));
    }

    #[test]
    fn a_segment_that_is_sent_again_is_a_new_packet_and_one_that_overtakes_its_repair_counts() {
        assert_eq!(delivered(&[(1, 0), (3, 2), (9, 1)]).reordered, 0);
        let late = delivered(&[(1, 0), (3, 2), (9, 1), (2, 1)]);
        assert_eq!((late.reordered, late.largest_extent), (1, 2));
        // Packets sent at the same instant are ordered by segment number.
        assert_eq!(delivered(&[(1, 1), (1, 0)]).reordered, 1);
    }

    #[test]
    fn what_is_kept_of_a_flow_is_bounded_and_extents_beyond_it_are_lower_bounds() {
        let mut packets: Vec<_> = (1..=3 * ORDER_KEPT as u64).map(|sent| (sent, sent as u32)).collect();
        packets.push((0, 0));
        let found = delivered(&packets);
        assert_eq!((found.reordered, found.largest_extent), (1, ORDER_KEPT as u64));
    }
}
