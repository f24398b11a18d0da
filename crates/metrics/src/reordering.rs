//! Reordering within flows: packets that leave after a later packet of their flow.

use pifolab_sched::Inspect;
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::Time;
use std::collections::VecDeque;

/// Counts, for each flow, the packets that left after a later-arrived packet of the same flow. Also keeps the largest
/// displacement: the largest number of later packets that overtook one packet.
///
/// Packets are ordered by arrival time, then by id. Flows are dense indices from 0. Cost per packet: O(512 + n / 512),
/// where n packets of its flow wait.
#[derive(Clone, Debug, Default)]
pub struct Reordering {
    flows: Vec<Flow>,
}

/// The reordering of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowOrder {
    /// Packets sent.
    pub sent: u64,
    /// The number of these packets that left after a later arrival.
    pub reordered: u64,
    /// The largest number of later arrivals that overtook one packet.
    pub largest_displacement: u64,
}

/// The largest number of waiting packets in one piece.
const PIECE: usize = 512;

#[derive(Clone, Debug, Default)]
struct Flow<const PIECE: usize = { self::PIECE }> {
    order: FlowOrder,
    /// The waiting packets in order of arrival. At least one piece once used; only a single piece may be empty.
    pieces: Vec<Piece>,
    /// The sum of `overtaken` over the pieces.
    overtaken: u64,
}

#[derive(Clone, Debug, Default)]
struct Piece {
    waiting: VecDeque<Waiting>,
    /// The sum of `overtaken_by` over the packets of the piece.
    overtaken: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    key: (Time, u64),
    /// The number of packets that have left and that arrived between this packet and the next waiting one.
    overtaken_by: u64,
}

impl Piece {
    fn ends_before(&self, key: (Time, u64)) -> bool {
        self.waiting.back().is_some_and(|last| last.key < key)
    }

    fn place_of(&self, key: (Time, u64)) -> usize {
        self.waiting.partition_point(|packet| packet.key < key)
    }

    /// Moves the second half of this piece to a new piece.
    fn split(&mut self) -> Self {
        let waiting = self.waiting.split_off(self.waiting.len() / 2);
        let overtaken = waiting.iter().map(|packet| packet.overtaken_by).sum();
        self.overtaken -= overtaken;
        Self { waiting, overtaken }
    }
}

impl<const PIECE: usize> Flow<PIECE> {
    fn admit(&mut self, key: (Time, u64)) {
        let new = Waiting { key, overtaken_by: 0 };
        let full = self.pieces.last().is_none_or(|piece| piece.waiting.len() == PIECE);
        match self.pieces.last_mut() {
            Some(piece) if !full && piece.waiting.back().is_none_or(|last| last.key < key) => {
                piece.waiting.push_back(new);
            }
            Some(piece) if !piece.ends_before(key) => {
                let at = self.pieces.partition_point(|piece| piece.ends_before(key));
                let piece = &mut self.pieces[at];
                piece.waiting.insert(piece.place_of(key), new);
                if piece.waiting.len() > PIECE {
                    let second = piece.split();
                    self.pieces.insert(at + 1, second);
                }
            }
            _ => {
                // Most flows never need a second piece.
                if self.pieces.is_empty() {
                    self.pieces.reserve_exact(1);
                }
                self.pieces.push(Piece { waiting: VecDeque::from([new]), overtaken: 0 });
            }
        }
    }

    fn leave(&mut self, key: (Time, u64), sent: bool) {
        let at = match self.pieces.len() {
            1 => 0,
            _ => self.pieces.partition_point(|piece| piece.ends_before(key)),
        };
        let piece = self.pieces.get_mut(at).expect("a packet leaves that never came");
        let place = piece.place_of(key);
        let in_piece: u64 = match piece.overtaken {
            0 => 0,
            _ => piece.waiting.range(place..).map(|packet| packet.overtaken_by).sum(),
        };
        let gone = piece.waiting.remove(place).expect("a packet leaves that never came");
        assert_eq!(gone.key, key, "a packet leaves that never came");
        piece.overtaken -= gone.overtaken_by;
        self.overtaken -= gone.overtaken_by;
        let displacement = match self.overtaken {
            0 => in_piece,
            _ => in_piece + self.pieces[at + 1..].iter().map(|piece| piece.overtaken).sum::<u64>(),
        };
        // Packets that overtook the removed packet also overtook its predecessor. So did the removed packet, if it was
        // sent.
        let before = match (place.checked_sub(1), at.checked_sub(1)) {
            (Some(place), _) => Some((at, place)),
            (None, Some(at)) => Some((at, self.pieces[at].waiting.len() - 1)),
            (None, None) => None,
        };
        if let Some((at, place)) = before {
            let more = gone.overtaken_by + u64::from(sent);
            self.pieces[at].waiting[place].overtaken_by += more;
            self.pieces[at].overtaken += more;
            self.overtaken += more;
        }
        if self.pieces[at].waiting.is_empty() && self.pieces.len() > 1 {
            self.pieces.remove(at);
        }
        if sent {
            self.order.sent += 1;
            self.order.reordered += u64::from(displacement > 0);
            self.order.largest_displacement = self.order.largest_displacement.max(displacement);
        }
    }
}

impl Reordering {
    /// The flows that sent at least one packet, with their numbers.
    pub fn flows(&self) -> impl Iterator<Item = (u32, FlowOrder)> {
        self.flows.iter().zip(0..).filter(|(flow, _)| flow.order.sent > 0).map(|(flow, number)| (number, flow.order))
    }

    /// The sums over all flows, and the largest displacement of any flow.
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
        let mut reordering = Reordering::default();
        // Flow 0 arrives 9, 5, 1 and leaves 1, 5, 9; flow 1 is in between and in order.
        run(&mut reordering, events("+9 +3/1 +5 +1 +4/1 -1 -3/1 -5 -4/1 -9"));
        let flows: Vec<_> = reordering.flows().collect();
        assert_eq!(flows[0], (0, FlowOrder { sent: 3, reordered: 2, largest_displacement: 2 }));
        assert_eq!(flows[1], (1, FlowOrder { sent: 2, reordered: 0, largest_displacement: 0 }));
        assert_eq!(reordering.total(), FlowOrder { sent: 5, reordered: 2, largest_displacement: 2 });
    }

    #[test]
    fn a_packet_that_is_pushed_out_overtakes_nobody() {
        let mut reordering = Reordering::default();
        run(&mut reordering, events("+9 +5 +7 e5 -7 e9"));
        assert_eq!(reordering.total(), FlowOrder { sent: 1, reordered: 0, largest_displacement: 0 });
    }

    #[test]
    fn packets_that_are_admitted_out_of_order_are_in_their_place() {
        let mut flow = Flow::<3>::default();
        let key = |id: u64| (Time::from_ns(id), id);
        // 7 is coprime to 31, so the steps visit all of 0..31 out of order.
        (0..31).for_each(|step| flow.admit(key(step * 7 % 31)));
        assert!(flow.pieces.iter().all(|piece| (1..=3).contains(&piece.waiting.len())));
        (0..15).for_each(|id| flow.leave(key(id), true));
        assert_eq!(flow.order, FlowOrder { sent: 15, reordered: 0, largest_displacement: 0 });
        (15..31).rev().for_each(|id| flow.leave(key(id), true));
        assert_eq!(flow.order, FlowOrder { sent: 31, reordered: 15, largest_displacement: 15 });
    }

    #[test]
    fn what_a_packet_costs_does_not_grow_with_the_packets_that_wait() {
        let mut flow: Flow = Flow::default();
        let key = |id: u64| (Time::from_ns(id), id);
        // Steps of one operation: the search over pieces, plus the search and shift within one piece.
        let steps =
            |flow: &Flow| flow.pieces.len() + flow.pieces.iter().map(|piece| piece.waiting.len()).max().unwrap();
        (0..1_000).for_each(|id| flow.admit(key(id)));
        let few = steps(&flow);
        (1_000..100_000).for_each(|id| flow.admit(key(id)));
        assert!(steps(&flow) < 2 * few, "{} with a hundred times as many packets, {few} before", steps(&flow));
        (0..100_000).rev().for_each(|id| flow.leave(key(id), true));
        assert_eq!(flow.order, FlowOrder { sent: 100_000, reordered: 99_999, largest_displacement: 99_999 });
        assert_eq!((flow.pieces.len(), flow.overtaken), (1, 0));
    }

    proptest! {
        /// Compares with the definition, pair by pair, for random orders of departure with some packets lost.
        #[test]
        fn counts_as_the_definition_does(steps in proptest::collection::vec((0u8..5, any::<u16>()), 1..300)) {
            let mut flow = Flow::<3>::default();
            let (mut waiting, mut left): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
            let mut expected = FlowOrder::default();
            for ((kind, draw), id) in steps.into_iter().zip(0u64..) {
                if kind < 3 || waiting.is_empty() {
                    flow.admit((Time::from_ns(id), id));
                    waiting.push(id);
                    continue;
                }
                let gone = waiting.remove(usize::from(draw) % waiting.len());
                flow.leave((Time::from_ns(gone), gone), kind == 3);
                if kind == 3 {
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
