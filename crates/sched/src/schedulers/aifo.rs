//! AIFO, admission-in first-out: one first-in first-out queue behind a test that admits the packets that PIFO would
//! send.
//!
//! Paper: Yu, Hu, Wu, Braverman, Chowdhury, Jin, "Programmable Packet Scheduling with a Single Queue", SIGCOMM 2021,
//! section 4.2 and Algorithm 1.
//!
//! Parameters:
//! - C, the target occupancy, and the physical capacity (packets or bytes; equal unless `target` is given);
//! - |W|, the window (ranks, 1 to 2^24; default 20, section 5.1);
//! - k, the headroom (a fraction in [0, 1); default 1/10, section 5.1);
//! - sample s: packets 1, s+1, 2s+1, ... enter the window (section 4.4; default 1);
//! - quantile, update: readings of Algorithm 1 (see the parameters).
//!
//! Cost: one count over the window per enqueue, O(1) per dequeue. A switch needs one register per window slot and a sampling
//! counter.
//!
//! Deviation from PIFO: it approximates *which* packets are sent, not their order, which is that of arrival; a packet
//! that was admitted is never pushed out.
//!
//! Deviations: with `quantile = lt` the lowest rank passes the test on a full buffer; the physical limit then drops it
//! ("full", not "admission"). All tests are exact, since k = 1/10 must not depend on rounding.

mod options;

use super::admission::{Limit, SlidingWindow, Threshold};
use super::headroom::Headroom;
use crate::params::{FromArgs, ParamError};
use crate::{Arriving, Capacity, Decider, DropReason, FromParams, Room, registers};
use alloc::vec::Vec;
pub use options::AifoParams;

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
pub struct Aifo {
    /// W.
    window: SlidingWindow,
    /// C, in the unit of the capacity.
    target: u64,
    /// The largest c with c <= kC.
    headroom: u64,
    threshold: Threshold,
}

registers!(Aifo { window } and { target, headroom, threshold });

impl FromParams for Aifo {
    type Params = AifoParams;

    fn from_params(params: AifoParams) -> Result<(Self, Vec<Capacity>), ParamError> {
        params.check()?;
        let target = params.target();
        let decider = Self {
            window: SlidingWindow::new(AifoParams::INFO.name, params.window())?,
            target,
            headroom: Headroom::new(params.k, target).guaranteed(),
            threshold: Threshold::new(params.k, target, 1, params.window),
        };
        Ok((decider, alloc::vec![params.capacity]))
    }
}

impl Decider for Aifo {
    /// Algorithm 1.
    #[inline(always)]
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        let c = queues[0].used();
        let quantile = self.window.take_in(packet.rank);
        // c <= kC, or W.quantile(r) <= 1 / (1 - k) * (C - c) / C. The first implies the second, whose right side is then at least 1.
        if c <= self.headroom || quantile <= self.limit(c) { Ok(0) } else { Err(DropReason::Admission) }
    }
}

impl Aifo {
    /// 1 / (1 - k) * (C - c) / C. For c above C no quantile passes, and C - c counts as -1 to keep the products small.
    #[inline(always)]
    pub fn limit(&self, c: u64) -> Limit<'_> {
        self.threshold.limit((self.target as i64 - c as i64).max(-1))
    }

    /// W.
    pub const fn window(&self) -> &SlidingWindow {
        &self.window
    }

    /// W, for a twin.
    #[doc(hidden)]
    #[inline(always)]
    pub const fn window_mut(&mut self) -> &mut SlidingWindow {
        &mut self.window
    }

    /// The test.
    #[inline(always)]
    pub const fn threshold(&self) -> &Threshold {
        &self.threshold
    }
}

#[cfg(test)]
mod tests;
