//! AIFO, admission-in first-out: one first-in first-out queue behind a test that admits what PIFO would have sent.
//!
//! Paper: Yu, Hu, Wu, Braverman, Chowdhury, Jin, "Programmable Packet Scheduling with a Single Queue", SIGCOMM 2021,
//! section 4.2 and Algorithm 1.
//!
//! Parameters:
//! - C, the target occupancy, and the physical capacity (packets or bytes; equal unless `target` is given);
//! - |W|, the window (ranks, 1 to 2^24; default 20, section 5.1);
//! - k, the headroom (a fraction in [0, 1); default 1/10, section 5.1);
//! - sample s: packets 1, s+1, 2s+1, ... enter the window (section 4.4; default 1);
//! - occupancy delay: by how many arrivals the length that the test sees is late (section 5.1; default 0);
//! - quantile, update, compare: readings of Algorithm 1 (see the parameters); arithmetic: exact, or the floating point
//!   of the published simulation.
//!
//! Cost: one count over the window per enqueue (eight ranks per step in wide vectors), none while the occupancy is
//! within the headroom; O(1) per dequeue. A switch needs one register per window slot and a sampling counter.
//!
//! Deviation from PIFO: it approximates *which* packets are sent, not their order, which is that of arrival; a packet
//! that was admitted is never pushed out.
//!
//! Deviations: with `quantile = lt` the lowest rank passes the test on a full buffer; the physical limit then drops it
//! ("full", not "admission"). All tests are exact, since k = 1/10 must not depend on rounding.

mod options;

use super::admission::{Admission, Arithmetic, Estimate};
use super::delayed::Delayed;
use super::headroom::Headroom;
use super::netbench::{self, NetbenchTest};
use crate::params::{FromArgs, ParamError};
use crate::{Arriving, Capacity, Decider, Decision, DropReason, FromParams, Kept, Room};
use alloc::vec::Vec;
pub use options::{AifoParams, Compare};
use pifolab_units::Rank;

/// AIFO.
///
/// ```
/// use pifolab_sched::{DropReason, Enqueued, Packet, Scheduler, schedulers::{Aifo, AifoParams}};
/// use pifolab_units::{Rank, Time};
///
/// let mut aifo = Aifo::new(AifoParams::packets(4)).unwrap();
/// let packet = |rank: u32| Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO };
/// for rank in [3, 3, 3] {
///     assert!(aifo.enqueue(packet(rank), Time::ZERO).is_admitted());
/// }
/// // One place of four is free, but three of the four ranks seen are lower than 9.
/// let outcome = aifo.enqueue(packet(9), Time::ZERO);
/// assert_eq!(outcome, Enqueued::Dropped { packet: packet(9), reason: DropReason::Admission });
/// ```
#[derive(Debug)]
// The queue comes behind it in memory, and then begins with a cache line as well.
#[repr(align(64))]
pub struct Aifo {
    estimate: Estimate,
    /// C, in the unit of the capacity.
    target: u64,
    /// Up to this occupancy every rank passes: the largest c with c <= kC, if that is not left out.
    headroom: Option<u64>,
    test: Test,
    /// What the test sees of the queue.
    delayed: Delayed,
    /// The occupancy below the capacity up to which every rank passes, and the test beyond, if it is that of Algorithm 1 as
    /// printed: every rank enters the window first, and the occupancy, which is that of now, stays within the target.
    plain: Option<(u64, Admission)>,
    /// While fewer packets wait, every rank passes and finds room. 0 if bytes are counted, or with other options.
    open: u32,
}

clone_by_field!(Aifo { estimate, target, headroom, test, plain, open, delayed });

/// The admission test beyond the headroom.
#[derive(Clone, Copy, Debug)]
enum Test {
    AtMost(Admission),
    Below(Admission),
    Netbench(NetbenchTest),
}

impl FromParams for Aifo {
    type Params = AifoParams;

    fn from_params(params: AifoParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        params.check()?;
        let name = AifoParams::INFO.name;
        let target = params.target();
        let admission = Admission::new(params.k, target, 1, params.window);
        let exact = Headroom::new(params.k, target).guaranteed();
        let (headroom, test) = match (params.arithmetic, params.compare) {
            (Arithmetic::Exact, Compare::AtMost) => (exact, Test::AtMost(admission)),
            (Arithmetic::Exact, Compare::Below) => (exact, Test::Below(admission)),
            (Arithmetic::Netbench, compare) => {
                let test = NetbenchTest::new(params.k, compare == Compare::Below);
                (netbench::guaranteed(params.k, target), Test::Netbench(test))
            }
        };
        let estimate = Estimate::new(name, params.window())?;
        let plain = params.is_as_printed().then(|| {
            // Beyond the headroom, too, all may pass: a rank that has entered the window is not below itself.
            let passing = target - admission.least(estimate.highest_quantile());
            let limit = Room::new(params.capacity).total();
            (headroom.max(passing).min(limit - 1), admission)
        });
        let decider = Self {
            open: match (&plain, params.capacity) {
                (Some((all_pass, _)), Capacity::Packets(_)) => {
                    u32::try_from(all_pass + 1).expect("within the capacity")
                }
                _ => 0,
            },
            plain,
            estimate,
            target,
            headroom: params.headroom.then_some(headroom),
            test,
            delayed: Delayed::new(name, params.occupancy_delay, &[params.capacity])?,
        };
        Ok((decider, alloc::vec![params.capacity]))
    }
}

impl Decider for Aifo {
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Decision {
        let (rank, queue) = (packet.rank, &queues[0]);
        if queue.packets() < self.open as usize {
            self.estimate.push(rank);
            return Decision::queue_with_room(0);
        }
        let passes = match &self.plain {
            None => self.passes_with_options(rank, queue),
            Some((all_pass, _)) if queue.counts_bytes() && queue.used() <= *all_pass => {
                self.estimate.push(rank);
                return Decision::queue(0);
            }
            Some((_, admission)) => admission.passes(self.estimate.push_and_quantile(rank), self.target - queue.used()),
        };
        Decision::queue_if(passes, 0, DropReason::Admission)
    }

    #[inline(always)]
    fn serves_by_priority(&self) -> bool {
        true
    }

    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        self.estimate.visit_window(visit);
    }

    fn kept(&self) -> Kept {
        self.estimate.kept(&self.delayed)
    }

    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.estimate.visit_state(&self.delayed, visit);
    }

    fn resume(&mut self, window: &[Rank], _state: &[i64]) {
        self.estimate.resume(window);
    }
}

impl Aifo {
    /// Shows the window an arriving rank, and says whether the admission test lets it pass, for whatever options.
    #[inline(never)]
    fn passes_with_options(&mut self, rank: Rank, queue: &Room) -> bool {
        let used = self.delayed.used(queue);
        // Beyond the target the threshold is negative.
        let free = self.target.checked_sub(used);
        let sheltered = self.headroom.is_some_and(|headroom| used <= headroom);
        let Some(free) = free.filter(|_| !sheltered) else {
            self.estimate.sample(rank);
            return sheltered;
        };
        let quantile = self.estimate.sample_and_quantile(rank);
        match &self.test {
            Test::AtMost(admission) => admission.passes(quantile, free),
            Test::Below(admission) => admission.passes_strictly(quantile, free),
            Test::Netbench(test) => test.passes(quantile, 1.0, free, self.target),
        }
    }
}

#[cfg(test)]
mod tests;
