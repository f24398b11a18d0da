//! Reordering within flows: packets that leave after a later packet of their own flow.

use pifolab_sched::Inspect;
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::Time;
use std::collections::VecDeque;

/// Counts, for each flow, the packets that left after a packet of the same flow that had arrived later, and the largest
/// displacement: by how many such packets one was overtaken.
///
/// Packets arrive in the order of their arrival times, at equal times in that of their ids. Flows are dense indices
/// from 0. Cost per packet: O(packets of its flow that wait).
#[derive(Clone, Debug, Default)]
pub struct Reordering {
    flows: Vec<Flow>,
}

/// The reordering of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowOrder {
    /// Packets sent.
    pub sent: u64,
    /// Of these, how many left after one that had arrived later.
    pub reordered: u64,
    /// The most later arrivals that overtook one packet.
    pub largest_displacement: u64,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    order: FlowOrder,
    /// The packets that wait, in order of arrival.
    waiting: VecDeque<Waiting>,
    /// The sum of their `overtaken_by`.
    overtaken: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    key: (Time, u64),
    /// How many packets have left that arrived after this one and before the next one that waits.
    overtaken_by: u64,
}

impl Flow {
    fn admit(&mut self, key: (Time, u64)) {
        let place = match self.waiting.back() {
            Some(last) if last.key > key => self.waiting.partition_point(|packet| packet.key < key),
            _ => self.waiting.len(),
        };
        self.waiting.insert(place, Waiting { key, overtaken_by: 0 });
    }

    fn leave(&mut self, key: (Time, u64), sent: bool) {
        let place = self.waiting.partition_point(|packet| packet.key < key);
        let displacement: u64 = match self.overtaken {
            0 => 0,
            _ => self.waiting.range(place..).map(|packet| packet.overtaken_by).sum(),
        };
        let gone = self.waiting.remove(place).expect("a packet leaves that never came");
        assert_eq!(gone.key, key, "a packet leaves that never came");
        match place.checked_sub(1) {
            Some(before) => {
                self.waiting[before].overtaken_by += gone.overtaken_by + u64::from(sent);
                self.overtaken += u64::from(sent);
            }
            None => self.overtaken -= gone.overtaken_by,
        }
        if sent {
            self.order.sent += 1;
            self.order.reordered += u64::from(displacement > 0);
            self.order.largest_displacement = self.order.largest_displacement.max(displacement);
        }
    }
}

impl Reordering {
    /// No packet yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The flows that sent anything, with their numbers.
    pub fn flows(&self) -> impl Iterator<Item = (u32, FlowOrder)> {
        self.flows.iter().zip(0..).filter(|(flow, _)| flow.order.sent > 0).map(|(flow, number)| (number, flow.order))
    }

    /// Over all flows: sums, and the largest displacement of any.
    pub fn total(&self) -> FlowOrder {
        self.flows.iter().fold(FlowOrder::default(), |total, Flow { order, .. }| FlowOrder {
            sent: total.sent + order.sent,
            reordered: total.reordered + order.reordered,
            largest_displacement: total.largest_displacement.max(order.largest_displacement),
        })
    }
}

impl Observer for Reordering {
    #[inline]
    fn on_admit(&mut self, _: PortId, packet: PacketView, _: u32, _: &dyn Inspect, _: Time) {
        let flow = packet.flow as usize;
        if flow >= self.flows.len() {
            self.flows.resize_with(flow + 1, Flow::default);
        }
        self.flows[flow].admit((packet.arrival, packet.id));
    }

    fn on_drop(&mut self, _: PortId, packet: PacketView, loss: Loss, _: &dyn Inspect, _: Time) {
        if loss.admitted {
            self.flows[packet.flow as usize].leave((packet.arrival, packet.id), false);
        }
    }

    #[inline]
    fn on_dequeue(&mut self, _: PortId, packet: PacketView, _: u32, _: &dyn Inspect, _: Time) {
        self.flows[packet.flow as usize].leave((packet.arrival, packet.id), true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{events, run};
    use proptest::prelude::*;

    #[test]
    fn an_overtaken_packet_is_reordered_and_the_one_that_overtakes_is_not() {
        let mut reordering = Reordering::new();
        // Flow 0 arrives 9, 5, 1 and leaves 1, 5, 9; flow 1 is in between and in order.
        run(&mut reordering, events("+9 +3/1 +5 +1 +4/1 -1 -3/1 -5 -4/1 -9"));
        let flows: Vec<_> = reordering.flows().collect();
        assert_eq!(flows[0], (0, FlowOrder { sent: 3, reordered: 2, largest_displacement: 2 }));
        assert_eq!(flows[1], (1, FlowOrder { sent: 2, reordered: 0, largest_displacement: 0 }));
        assert_eq!(reordering.total(), FlowOrder { sent: 5, reordered: 2, largest_displacement: 2 });
    }

    #[test]
    fn a_packet_that_is_pushed_out_overtakes_nobody() {
        let mut reordering = Reordering::new();
        run(&mut reordering, events("+9 +5 +7 e5 -7 e9"));
        assert_eq!(reordering.total(), FlowOrder { sent: 1, reordered: 0, largest_displacement: 0 });
    }

    proptest! {
        /// Against the definition, pair by pair, for random orders of departure with some packets lost.
        #[test]
        fn counts_as_the_definition_does(steps in proptest::collection::vec((0u8..4, any::<u16>()), 1..200)) {
            let mut flow = Flow::default();
            let (mut waiting, mut left): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
            let mut expected = FlowOrder::default();
            for ((kind, draw), id) in steps.into_iter().zip(0u64..) {
                if kind < 2 || waiting.is_empty() {
                    flow.admit((Time::from_ns(id), id));
                    waiting.push(id);
                    continue;
                }
                let gone = waiting.remove(usize::from(draw) % waiting.len());
                flow.leave((Time::from_ns(gone), gone), kind == 2);
                if kind == 2 {
                    let overtook = left.iter().filter(|other| **other > gone).count() as u64;
                    expected.sent += 1;
                    expected.reordered += u64::from(overtook > 0);
                    expected.largest_displacement = expected.largest_displacement.max(overtook);
                    left.push(gone);
                }
            }
            prop_assert_eq!(flow.order, expected);
        }
    }
}
