//! Unpifoness: the distance of a queue's packets from the order of ranks.

use crate::bins::Binned;
use crate::rank_multiset::RankMultiset;
use crate::{Column, Measure, Table, whole};
use pifolab_sched::Inspect;
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::Time;
use std::collections::VecDeque;

/// Unpifoness of a run, SP-PIFO eq. 7 and 8: the sum, over all admitted packets, of the highest rank in the packet's
/// queue at enqueue (the packet included) minus the packet's rank.
///
/// For a scheduler without queues, the whole buffer is the queue. The number then measures how mixed the buffer is, not
/// the quality of service: a PIFO sorts the buffer anyway.
#[derive(Clone, Debug, Default)]
pub struct Unpifoness {
    queues: Vec<RankMultiset>,
    places: Places,
    total: u128,
}

impl Unpifoness {
    /// The sum over all admitted packets, in ranks.
    pub const fn total(&self) -> u128 {
        self.total
    }

    fn leave(&mut self, packet: &PacketView, queue: u32) {
        self.queues[queue as usize].remove(packet.rank);
    }
}

impl Observer for Unpifoness {
    #[inline]
    fn on_admit(&mut self, _: PortId, packet: PacketView, queue: u32, _: &dyn Inspect, _: Time) {
        let at = queue as usize;
        if at >= self.queues.len() {
            self.queues.resize_with(at + 1, RankMultiset::default);
        }
        self.queues[at].insert(packet.rank);
        let highest = self.queues[at].max().expect("it was just put in");
        self.total += u128::from(highest.get() - packet.rank.get());
        self.places.put(packet.id, queue);
    }

    fn on_drop(&mut self, _: PortId, packet: PacketView, loss: Loss, _: &dyn Inspect, _: Time) {
        if loss.admitted {
            let queue = self.places.take(packet.id);
            self.leave(&packet, queue);
        }
    }

    #[inline]
    fn on_dequeue(&mut self, _: PortId, packet: PacketView, _: u32, _: &dyn Inspect, _: Time) {
        // The queue at admission, not at dequeue: a scheduler that rotates its queues (AFQ) may renumber them.
        let queue = self.places.take(packet.id);
        self.leave(&packet, queue);
    }
}

/// The largest number of waiting packets in one piece.
const PIECE: usize = 512;

/// The queue of each waiting packet, sorted by packet id in pieces. Arrivals append to the last piece while ids ascend.
/// Cost: O(512 + n / 512) per packet, where n packets wait.
#[derive(Clone, Debug, Default)]
struct Places<const PIECE: usize = { self::PIECE }> {
    /// Only a single piece may be empty.
    pieces: Vec<VecDeque<(u64, u32)>>,
}

impl<const PIECE: usize> Places<PIECE> {
    #[inline]
    fn put(&mut self, id: u64, queue: u32) {
        match self.pieces.last_mut() {
            Some(piece) if piece.len() < PIECE && piece.back().is_none_or(|(last, _)| *last < id) => {
                piece.push_back((id, queue));
            }
            _ => self.put_in_place(id, queue),
        }
    }

    #[inline(never)]
    fn put_in_place(&mut self, id: u64, queue: u32) {
        let at = self.piece_of(id);
        let Some(piece) = self.pieces.get_mut(at) else {
            self.pieces.push(VecDeque::from([(id, queue)]));
            return;
        };
        piece.insert(piece.partition_point(|(held, _)| *held < id), (id, queue));
        if piece.len() > PIECE {
            let second = piece.split_off(PIECE / 2);
            self.pieces.insert(at + 1, second);
        }
    }

    #[inline]
    fn take(&mut self, id: u64) -> u32 {
        let at = if self.pieces.len() == 1 { 0 } else { self.piece_of(id) };
        let piece = self.pieces.get_mut(at).expect("a packet leaves that never came");
        let place = piece.partition_point(|(held, _)| *held < id);
        let (held, queue) = piece.remove(place).expect("a packet leaves that never came");
        assert_eq!(held, id, "a packet leaves that never came");
        if piece.is_empty() && self.pieces.len() > 1 {
            self.pieces.remove(at);
        }
        queue
    }

    /// The index of the first piece whose last id is at least `id`; the number of pieces if there is none.
    fn piece_of(&self, id: u64) -> usize {
        self.pieces.partition_point(|piece| piece.back().is_some_and(|(last, _)| *last < id))
    }
}

/// Unpifoness of the mapping to queues, SP-PIFO eq. 4 and 5, for each window of admitted packets: the sum, over queues
/// and pairs of ranks r < r' in the same queue, of p(r) p(r') (r' - r). p(r) is the share of rank r in the window.
///
/// The number measures how well the bounds fit the ranks that arrived, at any occupancy. The greedy algorithm minimises
/// it (SP-PIFO Fig. 13 and 14). Ranks above 2^16 count as the lower end of their bin (see [`Binned`]).
#[derive(Clone, Debug)]
pub struct MappingUnpifoness {
    window: u64,
    seen: u64,
    queues: Vec<Binned<u64>>,
    windows: Vec<(Time, f64)>,
}

impl MappingUnpifoness {
    /// Creates a measurement with one value per `window` admitted packets.
    ///
    /// # Panics
    /// If `window` is zero.
    pub fn new(window: u64) -> Self {
        assert!(window > 0, "a window of no packets");
        Self { window, seen: 0, queues: Vec::new(), windows: Vec::new() }
    }

    /// The end of each full window and the window's unpifoness, in ranks.
    pub fn windows(&self) -> &[(Time, f64)] {
        &self.windows
    }

    fn measure(&mut self, now: Time) {
        let pairs: u128 = self.queues.iter().map(pairs).sum();
        self.windows.push((now, pairs as f64 / (self.window as f64 * self.window as f64)));
        self.queues.iter_mut().for_each(|queue| *queue = Binned::new());
        self.seen = 0;
    }
}

/// The sum over pairs r < r' of n(r) n(r') (r' - r), in one pass over ascending ranks with the count and sum of lower
/// ranks.
fn pairs(counts: &Binned<u64>) -> u128 {
    let (mut below, mut sum_below, mut total) = (0u128, 0u128, 0u128);
    for (bin, count) in counts.iter().filter(|(_, count)| **count > 0) {
        let (rank, count) = (u128::from(bin.low), u128::from(*count));
        total += count * (rank * below - sum_below);
        below += count;
        sum_below += count * rank;
    }
    total
}

impl Observer for MappingUnpifoness {
    #[inline]
    fn on_admit(&mut self, _: PortId, packet: PacketView, queue: u32, _: &dyn Inspect, now: Time) {
        let queue = queue as usize;
        if queue >= self.queues.len() {
            self.queues.resize_with(queue + 1, Binned::new);
        }
        *self.queues[queue].at(packet.rank) += 1;
        self.seen += 1;
        if self.seen == self.window {
            self.measure(now);
        }
    }
}

impl Measure for MappingUnpifoness {
    fn tables(&self) -> Vec<Table> {
        let windows = self.windows();
        vec![Table::new(
            "unpifoness_windows",
            vec![
                ("window", Column::Integers((0..windows.len() as i64).collect())),
                ("time_ns", Column::Integers(windows.iter().map(|(time, _)| whole(time.as_ns())).collect())),
                ("unpifoness", Column::Reals(windows.iter().map(|(_, value)| *value).collect())),
            ],
        )]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{events, run};

    #[test]
    fn each_arrival_costs_its_distance_to_the_highest_rank_of_its_queue() {
        let mut unpifoness = Unpifoness::default();
        // Queue 0: 5 adds 0, 2 adds 3. Queue 1: 1 adds 0. After 5 leaves, 1 adds 2 - 1. After 2 leaves, 0 adds 1.
        run(&mut unpifoness, events("+5@0 +2@0 +1@1 -5 +1@0 e2 +0@0"));
        assert_eq!(unpifoness.total(), 3 + 1 + 1);
    }

    #[test]
    fn places_agree_with_a_map_and_pieces_stay_short() {
        let (mut places, mut map, mut state) = (Places::<4>::default(), std::collections::BTreeMap::new(), 9u64);
        for step in 0..20_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let draw = state >> 33;
            // The map grows and shrinks in turn; one in four ids is out of order.
            if draw % 100 < if step / 2_000 % 2 == 0 { 70 } else { 30 } || map.is_empty() {
                let id = if draw & 1 << 20 == 0 { 2 * step } else { 2 * step - (2 * step).min(101) };
                if let std::collections::btree_map::Entry::Vacant(entry) = map.entry(id) {
                    entry.insert(draw as u32);
                    places.put(id, draw as u32);
                }
            } else {
                let id = *map.keys().nth((draw >> 8) as usize % map.len()).unwrap();
                assert_eq!(Some(places.take(id)), map.remove(&id));
            }
            assert_eq!(places.pieces.iter().map(VecDeque::len).sum::<usize>(), map.len());
            let fit = |piece: &VecDeque<_>| (1..=4).contains(&piece.len());
            assert!(places.pieces.iter().all(fit) || map.is_empty());
        }
    }

    #[test]
    fn packets_may_come_with_falling_ids() {
        let mut places: Places = Places::default();
        for id in [5, 9, 7, 1] {
            places.put(id, id as u32);
        }
        assert_eq!([9, 1, 7, 5].map(|id| places.take(id)), [9, 1, 7, 5]);
    }

    #[test]
    fn mapping_unpifoness_is_equation_five_over_each_window() {
        let mut mapping = MappingUnpifoness::new(4);
        // Queue 0 holds ranks 1, 1, 4: p(1) p(4) 3 = 2/4 x 1/4 x 3; queue 1 one rank only. The second window: one
        // queue with 1, 2, 3, 4, each 1/4: (3 x 1 + 2 x 2 + 1 x 3) / 16. A window that is not full does not count.
        run(&mut mapping, events("+1 +4 +9@1 x7 +1 +1 +2 +3 +4 +8"));
        let values: Vec<f64> = mapping.windows().iter().map(|(_, value)| *value).collect();
        assert_eq!(values, [3.0 * 2.0 / 16.0, 10.0 / 16.0]);
        assert_eq!(mapping.windows()[0].0, Time::from_ns(4_000));
    }
}
