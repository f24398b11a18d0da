//! AIFO's admission test as in the published simulations.

use crate::netbench::{self, NetbenchTest};
use crate::{ARITHMETIC, Arithmetic};
use pifolab_params::{Args, Param, ParamError, choices};
use pifolab_sched::params::FromArgs;
use pifolab_sched::schedulers::{AifoParams, Headroom, SlidingWindow, Threshold};
use pifolab_sched::{Arriving, Capacity, Decider, DropReason, Room, registers};

choices! {
    /// The comparison of the quantile with the threshold.
    #[derive(Default)]
    pub enum Compare {
        #[default]
        AtMost = "le": "admitted if quantile <= threshold (Algorithm 1)",
        Below = "lt": "admitted if quantile < threshold or c <= kC (the published simulation)",
    }
}

/// The deviations of the published simulations from Algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AifoVariant {
    /// The comparison of the quantile with the threshold.
    pub compare: Compare,
    /// The arithmetic of the test.
    pub arithmetic: Arithmetic,
    /// Whether every rank is admitted while c <= kC.
    pub headroom: bool,
}

impl Default for AifoVariant {
    /// Returns Algorithm 1.
    fn default() -> Self {
        Self { compare: Compare::AtMost, arithmetic: Arithmetic::Exact, headroom: true }
    }
}

impl AifoVariant {
    /// The row of `compare`.
    pub const COMPARE: Param = Param::choice::<Compare>("compare")
        .or_word(Compare::AtMost.word())
        .doc("How the quantile is compared with the threshold.");

    /// The row of `headroom`.
    pub const HEADROOM: Param = Param::flag("headroom").or_flag(true).doc(
        "Whether every rank passes while c <= kC, which Algorithm 1 implies; false is the published simulation of PACKS, \
         whose AIFO may then drop a packet from an empty queue.",
    );

    /// Reads the variant's parameters.
    pub fn read(args: &mut Args) -> Result<Self, ParamError> {
        Ok(Self {
            compare: args.given(&Self::COMPARE)?,
            arithmetic: args.given(&ARITHMETIC)?,
            headroom: args.given(&Self::HEADROOM)?,
        })
    }
}

/// AIFO with a test that deviates from Algorithm 1.
#[derive(Debug)]
pub struct Aifo {
    window: SlidingWindow,
    /// C, in the unit of the capacity.
    target: u64,
    /// The largest occupancy at which every rank is admitted; `None` without headroom.
    headroom: Option<u64>,
    test: Test,
}

registers!(Aifo { window } and { target, headroom, test });

#[derive(Clone, Copy, Debug)]
enum Test {
    Exact(Threshold),
    Netbench(NetbenchTest),
}

impl Aifo {
    /// Creates the decider in its initial state; also returns the capacity of its queue.
    pub fn new(params: &AifoParams, variant: AifoVariant) -> Result<(Self, Vec<Capacity>), ParamError> {
        params.check()?;
        let (target, below) = (params.target(), variant.compare == Compare::Below);
        let threshold = Threshold::new(params.k, target, 1, params.window);
        let (headroom, test) = match variant.arithmetic {
            Arithmetic::Exact => {
                let test = if below { threshold.strictly() } else { threshold };
                (Headroom::new(params.k, target).guaranteed(), Test::Exact(test))
            }
            Arithmetic::Netbench => {
                (netbench::guaranteed(params.k, target), Test::Netbench(NetbenchTest::new(params.k, below)))
            }
        };
        let window = SlidingWindow::new(AifoParams::INFO.name, params.window())?;
        let headroom = variant.headroom.then_some(headroom);
        Ok((Self { window, target, headroom, test }, vec![params.capacity]))
    }
}

impl Decider for Aifo {
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        let used = queues[0].used();
        let quantile = self.window.take_in(packet.rank);
        let passes = |free: u64| match &self.test {
            Test::Exact(test) => quantile <= test.limit(free as i64),
            Test::Netbench(test) => test.passes(quantile, 1.0, free, self.target),
        };
        let sheltered = self.headroom.is_some_and(|headroom| used <= headroom);
        // Above the target the threshold is negative.
        if sheltered || self.target.checked_sub(used).is_some_and(passes) { Ok(0) } else { Err(DropReason::Admission) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_sched::{Enqueued, Packet, Queued, Scheduler};
    use pifolab_units::{Rank, Ratio, Time};

    fn scheduler(params: &AifoParams, variant: AifoVariant) -> Queued<Aifo> {
        let (aifo, capacities) = Aifo::new(params, variant).unwrap();
        Queued::with_decider(aifo, &capacities)
    }

    fn offer(scheduler: &mut Queued<Aifo>, rank: u32) -> Option<DropReason> {
        let packet = Packet { id: 0, flow: 0, size: 100, rank: Rank::from(rank), arrival: Time::ZERO };
        match scheduler.enqueue(packet, Time::ZERO) {
            Enqueued::Dropped { reason, .. } => Some(reason),
            _ => None,
        }
    }

    #[test]
    fn the_strict_comparison_refuses_the_lowest_rank_on_a_full_buffer() {
        let below = AifoVariant { compare: Compare::Below, ..AifoVariant::default() };
        let mut below = scheduler(&AifoParams::packets(2), below);
        assert_eq!([3, 3, 3].map(|rank| offer(&mut below, rank)), [None, None, Some(DropReason::Admission)]);
    }

    #[test]
    fn strict_comparison_still_admits_within_the_headroom() {
        // kC = 5 of 10. 9 is the largest rank of the window, so the test rejects it above the headroom.
        let params = AifoParams {
            k: Ratio::new(1, 2).unwrap(),
            update: pifolab_sched::schedulers::Update::After,
            ..AifoParams::packets(10)
        };
        let mut scheduler = scheduler(&params, AifoVariant { compare: Compare::Below, ..AifoVariant::default() });
        assert_eq!([1, 1, 1, 1, 1, 9].map(|rank| offer(&mut scheduler, rank)), [None; 6]);
        assert_eq!(offer(&mut scheduler, 10), Some(DropReason::Admission));
    }

    #[test]
    fn published_arithmetic_differs_from_the_exact_one_where_it_rounds() {
        // k = 7/10, C = 20: at c = 17 the threshold is exactly 10 of 20, and ten ranks of the window are lower. In 32
        // bits, 1 - k is slightly more than 3/10, so the threshold is slightly less than 10.
        let params = AifoParams {
            k: Ratio::new(7, 10).unwrap(),
            update: pifolab_sched::schedulers::Update::After,
            start_window: [[1; 10], [9; 10]].concat().into_iter().map(Rank::from).collect(),
            ..AifoParams::packets(20)
        };
        let at_17 = |arithmetic| {
            let (mut aifo, capacities) =
                Aifo::new(&params, AifoVariant { arithmetic, ..AifoVariant::default() }).unwrap();
            let mut room = Room::new(capacities[0]);
            (0..17).for_each(|_| room.take(1));
            aifo.decide(Arriving { size: 1, rank: Rank::from(5), flow: 0 }, &[room]).is_ok()
        };
        assert!(at_17(Arithmetic::Exact));
        assert!(!at_17(Arithmetic::Netbench));
    }

    /// A 32-bit 0.7 is slightly less than 0.7. Times 20 it is below 14 in 64 bits, but 14 if the product is rounded to
    /// 32 bits.
    #[test]
    fn the_published_headroom_is_a_product_in_64_bits() {
        let params = AifoParams { k: Ratio::new(7, 10).unwrap(), ..AifoParams::packets(20) };
        let variant = AifoVariant { arithmetic: Arithmetic::Netbench, compare: Compare::Below, headroom: true };
        assert_eq!(Aifo::new(&params, variant).unwrap().0.headroom, Some(13));
    }

    #[test]
    fn without_headroom_an_empty_queue_refuses_a_rank_above_all_sampled_ones() {
        let params = AifoParams { k: Ratio::ZERO, sample: 9, ..AifoParams::packets(4) };
        let variant = AifoVariant { compare: Compare::Below, headroom: false, ..AifoVariant::default() };
        let mut scheduler = scheduler(&params, variant);
        let admitted = [5, 5, 6].map(|rank| {
            let refused = offer(&mut scheduler, rank);
            let _ = scheduler.dequeue(Time::ZERO);
            refused.is_none()
        });
        assert_eq!(admitted, [true, true, false]);
    }
}
