//! AFQ, Approximate Fair Queueing: a calendar of first-in first-out queues, one round of service each.
//!
//! Paper: Sharma, Liu, Atreya, Krishnamurthy, "Approximating Fair Queueing on Reconfigurable Switches", NSDI 2018; the
//! scheduler that SP-PIFO (Fig. 9 and 10) and AIFO (Fig. 13) are compared with on fairness.
//!
//! Parameters:
//! - n queues and their capacities (packets or bytes);
//! - BpR, the bytes per round that each flow may send (bytes, default 320: what the SP-PIFO evaluation gives 8 queues);
//! - horizon: whether a packet exactly n rounds ahead is refused (`ge`, default) or wraps into the queue being served
//!   (`gt`, the published simulations);
//! - counters: the bid of each flow is kept exactly, or in a count-min sketch of 2 x 16,384 cells as on a switch.
//!
//! Cost: O(1) per enqueue with one division; per dequeue one step for each empty queue that is skipped, at most n. A
//! switch needs the round number, and the sketch.
//!
//! Deviation from PIFO: packets carry no rank; their order is that of rounds, and within a round that of arrival. A
//! packet too many rounds ahead is dropped however empty the queues are.
//!
//! Deviations: none from the paper's pseudo-code. Rounds advance only where a dequeue finds the current queue empty
//! while others hold packets, so an idle link does not use up rounds. Bids saturate at 2^64 - 1 bytes.

mod options;

use crate::params::ParamError;
use crate::store::PerFlow;
use crate::{Arriving, Capacity, Decider, DropReason, FromParams, Kept, Register, Room, registers};
use alloc::vec::Vec;
pub use options::{AfqParams, Counters, Horizon};

/// AFQ.
///
/// ```
/// use pifolab_sched::{Capacity, Dequeued, Packet, Scheduler};
/// use pifolab_sched::schedulers::{Afq, AfqParams, AfqCounters, Horizon};
/// use pifolab_units::{Rank, Time};
///
/// let mut afq = Afq::new(AfqParams {
///     capacities: vec![Capacity::Packets(10); 4],
///     bytes_per_round: 1500,
///     horizon: Horizon::Ge,
///     counters: AfqCounters::Exact,
/// }).unwrap();
/// // Flow 0 sends two packets, then flow 1 its first, which leaves before flow 0's second.
/// for (id, flow) in [(0, 0), (1, 0), (2, 1)] {
///     let packet = Packet { id, flow, size: 1000, rank: Rank::ZERO, arrival: Time::ZERO };
///     assert!(afq.enqueue(packet, Time::ZERO).is_admitted());
/// }
/// for expected in [0, 2, 1] {
///     let Dequeued::Packet { packet, .. } = afq.dequeue(Time::ZERO) else { panic!("three packets wait") };
///     assert_eq!(packet.id, expected);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Afq {
    /// n.
    count: usize,
    bids: Bids,
    bytes_per_round: u64,
    /// 2^64 / `bytes_per_round`, rounded up; 0 if [`Self::rounds`] must divide instead.
    reciprocal: u64,
    /// Packets this many rounds ahead or more are refused.
    horizon: u64,
    round: u64,
    /// `round * bytes_per_round`: the least bid of the round being served.
    start: u64,
    /// `round` modulo the number of queues: the queue being served.
    current: usize,
}

registers!(Afq itself);

impl FromParams for Afq {
    type Params = AfqParams;

    /// Round 0; every flow's last bid is 0.
    fn from_params(params: AfqParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        params.check()?;
        let count = params.capacities.len();
        let decider = Self {
            count,
            bids: match params.counters {
                Counters::Exact => Bids::Exact(PerFlow::new()),
                Counters::Sketch => Bids::Sketch(Sketch::new()),
            },
            bytes_per_round: params.bytes_per_round,
            reciprocal: match params.bytes_per_round {
                2..=MOST_BYTES => u64::MAX / params.bytes_per_round + 1,
                _ => 0,
            },
            horizon: match params.horizon {
                Horizon::Ge => count as u64,
                Horizon::Gt => count as u64 + 1,
            },
            round: 0,
            start: 0,
            current: 0,
        };
        Ok((decider, params.capacities))
    }
}

impl Decider for Afq {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        let bid = self.bid(packet.flow, packet.size);
        let queue = self.queue_of(bid).ok_or(DropReason::Admission)?;
        // The bid of a packet that finds its queue full is forgotten.
        if queues[queue].fits(packet.size) {
            self.bids.record(packet.flow, bid);
        }
        Ok(queue)
    }

    /// The queue of this round, or of the next one that has packets: rounds pass over empty queues.
    #[inline(always)]
    fn serve(&mut self, _first: usize, queues: &[Room]) -> usize {
        if holds_none(queues, self.current) {
            self.advance(queues);
        }
        self.current
    }

    /// Bids again, since rounds may have another length.
    fn adopt(&mut self, packet: Arriving, _queue: usize, queues: &[Room]) -> Result<usize, DropReason> {
        self.decide(packet, queues)
    }

    fn refused_at(&self, packet: Arriving, _queues: &[Room]) -> Option<usize> {
        self.queue_of(self.bid(packet.flow, packet.size))
    }
}

impl Register for Afq {
    fn kept(&self) -> Kept {
        match self.bids {
            Bids::Exact(_) => Kept { bytes_at_first_packet: PAGE * size_of::<u64>(), ..Kept::default() },
            Bids::Sketch(_) => Kept::bytes((2 * size_of::<u64>()) << SKETCH_BITS),
        }
    }

    /// The queue being served; then, for each flow (or cell of the sketch) whose bid is ahead of the present round, its
    /// number and the bytes that it is ahead.
    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        visit(self.current as i64);
        self.bids.visit(&mut |number, bid| {
            if bid > self.start {
                visit(number as i64);
                visit((bid - self.start) as i64);
            }
        });
    }
}

impl Afq {
    /// The round being served.
    pub const fn round(&self) -> u64 {
        self.round
    }

    /// Goes on to the round of the next queue that has packets.
    #[cold]
    #[inline(never)]
    fn advance(&mut self, queues: &[Room]) {
        // At most one cycle, so that the loop ends even if nothing waits.
        for _ in 0..self.count {
            self.round += 1;
            self.start = self.start.saturating_add(self.bytes_per_round);
            self.current += 1;
            if self.current == self.count {
                self.current = 0;
            }
            if !holds_none(queues, self.current) {
                return;
            }
        }
    }

    /// The bid of a packet of `size` bytes.
    #[inline(always)]
    fn bid(&self, flow: u32, size: u32) -> u64 {
        self.start.max(self.bids.last(flow)).saturating_add(u64::from(size))
    }

    /// The queue of a bid; `None` beyond the horizon.
    #[inline(always)]
    fn queue_of(&self, bid: u64) -> Option<usize> {
        let ahead = self.rounds(bid - self.start);
        if ahead >= self.horizon {
            return None;
        }
        let count = self.count;
        let place = self.current + ahead as usize;
        Some(if place >= count { place - count } else { place })
    }

    /// `bytes / bytes_per_round`.
    #[inline(always)]
    fn rounds(&self, bytes: u64) -> u64 {
        if bytes <= MOST_BYTES && self.reciprocal > 0 {
            // The reciprocal is too large by less than 1, so the quotient by less than 2^-32: too little to reach the next
            // whole number, from which an exact one is at least 1 / bytes_per_round > 2^-32 away.
            ((u128::from(bytes) * u128::from(self.reciprocal)) >> 64) as u64
        } else {
            bytes / self.bytes_per_round
        }
    }
}

/// Whether no packet waits in a queue, or there is no such queue.
#[inline(always)]
fn holds_none(queues: &[Room], queue: usize) -> bool {
    queues.get(queue).is_none_or(|queue| queue.packets() == 0)
}

/// Up to this length of a round, a division is a multiplication by the reciprocal.
const MOST_BYTES: u64 = u32::MAX as u64;

/// Flows whose bids are allocated together.
const PAGE: usize = 4096;

/// The last bid of each flow, in bytes.
#[derive(Clone, Debug)]
enum Bids {
    Exact(PerFlow<u64, PAGE>),
    Sketch(Sketch),
}

impl Bids {
    #[inline]
    fn last(&self, flow: u32) -> u64 {
        match self {
            Self::Exact(bids) => bids.get(flow),
            Self::Sketch(sketch) => sketch.get(flow),
        }
    }

    /// Calls `visit` with the number of each flow or cell and its bid, in ascending order of numbers.
    fn visit(&self, visit: &mut dyn FnMut(usize, u64)) {
        match self {
            Self::Exact(bids) => bids.iter().for_each(|(flow, bid)| visit(flow, bid)),
            Self::Sketch(sketch) => {
                sketch.rows.iter().flatten().enumerate().for_each(|(number, bid)| visit(number, *bid));
            }
        }
    }

    #[inline]
    fn record(&mut self, flow: u32, bid: u64) {
        match self {
            Self::Exact(bids) => *bids.get_mut(flow) = bid,
            Self::Sketch(sketch) => sketch.raise(flow, bid),
        }
    }
}

const SKETCH_BITS: u32 = 14;
/// Odd multipliers of the multiply-shift hashes, one per row: the golden ratio and the square root of 3, each times
/// 2^63 and made odd. Fixed, so that the same flows collide on every machine.
const MULTIPLIERS: [u64; 2] = [0x4f1b_bcdc_bfa5_3e0b, 0xddb3_d742_c265_539d];

/// Two rows of 2^14 bids; a flow's bid is the smaller of its two cells.
#[derive(Clone, Debug)]
struct Sketch {
    rows: [Vec<u64>; 2],
}

impl Sketch {
    fn new() -> Self {
        Self { rows: [0, 1].map(|_| alloc::vec![0; 1 << SKETCH_BITS]) }
    }

    #[inline]
    fn cell(row: usize, flow: u32) -> usize {
        (MULTIPLIERS[row].wrapping_mul(u64::from(flow)) >> (64 - SKETCH_BITS)) as usize
    }

    #[inline]
    fn get(&self, flow: u32) -> u64 {
        self.rows[0][Self::cell(0, flow)].min(self.rows[1][Self::cell(1, flow)])
    }

    #[inline]
    fn raise(&mut self, flow: u32, bid: u64) {
        for (row, cells) in self.rows.iter_mut().enumerate() {
            let cell = &mut cells[Self::cell(row, flow)];
            *cell = bid.max(*cell);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::Afq;
    use crate::{Dequeued, Enqueued, Inspect, Packet, Scheduler};
    use pifolab_units::{Rank, Time};

    fn afq(bytes_per_round: u64, horizon: Horizon, counters: Counters) -> Afq {
        let capacities = alloc::vec![Capacity::Packets(4); 3];
        Afq::new(AfqParams { capacities, bytes_per_round, horizon, counters }).unwrap()
    }

    fn offer(afq: &mut Afq, flow: u32, size: u32) -> Result<u32, DropReason> {
        match afq.enqueue(Packet { id: 0, flow, size, rank: Rank::ZERO, arrival: Time::ZERO }, Time::ZERO) {
            Enqueued::Admitted { queue, .. } => Ok(queue),
            Enqueued::Dropped { reason, .. } => Err(reason),
            Enqueued::Evicted { .. } => panic!("AFQ evicts no packet"),
        }
    }

    fn serve(afq: &mut Afq) -> Option<u32> {
        match afq.dequeue(Time::ZERO) {
            Dequeued::Packet { queue, .. } => Some(queue),
            _ => None,
        }
    }

    #[test]
    fn a_flow_moves_one_round_ahead_for_each_share_of_bytes_until_the_horizon() {
        for counters in [Counters::Exact, Counters::Sketch] {
            let mut afq = afq(1000, Horizon::Ge, counters);
            let queues: Vec<_> = (0..7).map(|_| offer(&mut afq, 5, 500)).collect();
            assert_eq!(
                queues,
                [Ok(0), Ok(1), Ok(1), Ok(2), Ok(2), Err(DropReason::Admission), Err(DropReason::Admission)]
            );
            assert_eq!(offer(&mut afq, 6, 500), Ok(0), "another flow starts in the current round");
        }
    }

    #[test]
    fn the_published_horizon_wraps_into_the_queue_being_served() {
        assert_eq!(offer(&mut afq(1000, Horizon::Ge, Counters::Exact), 0, 3000), Err(DropReason::Admission));
        assert_eq!(offer(&mut afq(1000, Horizon::Gt, Counters::Exact), 0, 3000), Ok(0));
        assert_eq!(offer(&mut afq(1000, Horizon::Gt, Counters::Exact), 0, 4000), Err(DropReason::Admission));
    }

    #[test]
    fn rounds_pass_over_empty_queues_but_not_over_an_empty_system() {
        let mut afq = afq(1000, Horizon::Ge, Counters::Exact);
        assert_eq!(offer(&mut afq, 0, 2500), Ok(2));
        assert_eq!(serve(&mut afq), Some(2));
        assert_eq!(afq.decider().round(), 2);
        assert_eq!(serve(&mut afq), None);
        assert_eq!(afq.decider().round(), 2);
        assert_eq!(offer(&mut afq, 1, 100), Ok(2), "a new flow bids from the current round on");
    }

    #[test]
    fn rounds_are_quotients_for_all_bytes_and_lengths_of_a_round() {
        let edges = [1, 2, 3, 7, 80, 320, 1499, 1500, 1 << 16, MOST_BYTES / 2, MOST_BYTES - 1, MOST_BYTES];
        let lengths = edges.into_iter().chain([MOST_BYTES + 1, 1 << 40]);
        for length in lengths {
            let afq = afq(length, Horizon::Ge, Counters::Exact);
            let near = |multiple: u64| [multiple.saturating_sub(1), multiple, multiple.saturating_add(1)];
            let most = [1, 2, 3, MOST_BYTES / length, u64::MAX / length];
            for bytes in
                most.into_iter().map(|times| times * length).chain([0, MOST_BYTES, u64::MAX - 1]).flat_map(near)
            {
                assert_eq!(afq.decider().rounds(bytes), bytes / length, "{bytes} / {length}");
            }
        }
    }

    #[test]
    fn a_bid_counts_only_if_its_packet_was_stored() {
        let mut afq = afq(1000, Horizon::Ge, Counters::Exact);
        for flow in 0..4 {
            assert_eq!(offer(&mut afq, flow, 100), Ok(0));
        }
        assert_eq!(offer(&mut afq, 4, 900), Err(DropReason::Full));
        assert_eq!(afq.refused_at(4, 900, Rank::ZERO), Some(0));
        assert_eq!(afq.refused_at(4, 3000, Rank::ZERO), None, "beyond the horizon there is no queue");
        assert_eq!(serve(&mut afq), Some(0));
        assert_eq!(offer(&mut afq, 4, 900), Ok(0), "as if the first had never come");
    }

    #[test]
    fn flows_that_collide_in_one_row_of_the_sketch_keep_their_own_bids() {
        let first = |flow| Sketch::cell(0, flow);
        let second = |flow| Sketch::cell(1, flow);
        let b = 1;
        let a = (2..400_000).find(|a| first(*a) == first(b) && second(*a) != second(b));
        let a = a.expect("400,000 flows in 16,384 cells collide");
        let mut sketch = Sketch::new();
        sketch.raise(a, 700);
        assert_eq!((sketch.get(a), sketch.get(b)), (700, 0));
    }

    #[test]
    fn a_large_flow_number_costs_a_page_not_an_array() {
        let mut afq = afq(1000, Horizon::Ge, Counters::Exact);
        let flow = pifolab_testkit::steps(u32::MAX.into(), 1 << 20) as u32;
        assert_eq!(offer(&mut afq, flow, 500), Ok(0));
        assert_eq!(offer(&mut afq, flow, 500), Ok(1));
    }
}
