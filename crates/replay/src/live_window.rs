//! The tests of AIFO and PACKS in the forks of Netbench, with a window whose ranks can change after they are sampled.
//!
//! Papers: Yu et al., "Programmable Packet Scheduling with a Single Queue", SIGCOMM 2021, Figure 14 (13 in its code);
//! Alcoz et al., "Everything Matters in Programmable Packet Scheduling", NSDI 2025, Figures 13 and 14, in the public code
//! of an earlier submission.
//!
//! Parameters ([`LiveWindow`]): capacities in packets, |W|, sampling, k, as for AIFO and PACKS.
//!
//! Cost: O(|W|) per arrival. Only for reproducing published runs.
//!
//! Deviation from PIFO: that of AIFO and PACKS.
//!
//! Deviation from [`Aifo`](crate::Aifo) and [`Packs`](crate::Packs): each test reads the current ranks of the window's
//! entries from [`LiveRank`].

use crate::netbench::NetbenchTest;
use pifolab_sched::schedulers::RankQuantile;
use pifolab_sched::{Arriving, Capacity, Decider, DropReason, Register, Registers, Room};
use pifolab_units::Rank;
use std::collections::VecDeque;

/// A window whose ranks can change after they are sampled: it holds packets, and each hop rewrites a packet's rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveWindow {
    /// The test, and its capacity.
    pub test: LiveTest,
    /// The number of slots |W|.
    pub window: u32,
    /// The sampling interval: one of this many packets is sampled.
    pub sample: u32,
    /// The headroom k.
    pub k: f32,
}

/// A test of the published network simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveTest {
    /// AIFO in the AIFO paper's fork: ranks enter the window after the test, and all ranks are admitted while c <= kC.
    Aifo {
        /// C: capacity and target, in packets, at least 1.
        packets: u32,
    },
    /// AIFO in the fork behind PACKS: ranks enter the window before the test, and every packet is tested.
    AifoOfPacks {
        /// C: capacity and target, in packets, at least 1.
        packets: u32,
    },
    /// PACKS: the first queue with room whose test passes. The test uses the free space of the whole buffer.
    Packs {
        /// The number of queues n, at least 1.
        queues: u32,
        /// The capacity of each queue in packets, at least 1.
        queue_packets: u32,
    },
}

/// An entry of the window: the current rank of a packet.
pub trait LiveRank {
    /// The current rank.
    fn rank(&self) -> u64;
}

impl LiveTest {
    /// The capacities of the queues, highest priority first.
    pub fn capacities(self) -> Vec<Capacity> {
        match self {
            Self::Aifo { packets } | Self::AifoOfPacks { packets } => vec![Capacity::Packets(packets)],
            Self::Packs { queues, queue_packets } => vec![Capacity::Packets(queue_packets); queues as usize],
        }
    }
}

/// The test, its window, and the function that creates the entry of the arriving packet.
#[derive(Clone, Debug)]
pub struct LiveAdmission<E, N> {
    params: LiveWindow,
    arriving: N,
    window: VecDeque<E>,
    until_sample: u32,
}

impl<E: LiveRank, N: Fn() -> E> LiveAdmission<E, N> {
    /// Creates the decider with an empty window; [`LiveTest::capacities`] defines its queues. `arriving` returns the
    /// entry of the packet to decide on.
    pub fn new(params: LiveWindow, arriving: N) -> Self {
        Self { params, arriving, window: VecDeque::with_capacity(params.window as usize + 1), until_sample: 0 }
    }

    /// Adds every n-th packet to the window, where n is the sampling interval.
    fn sample(&mut self) {
        if self.until_sample == 0 {
            self.window.push_back((self.arriving)());
            if self.window.len() > self.params.window as usize {
                self.window.pop_front();
            }
            self.until_sample = self.params.sample;
        }
        self.until_sample -= 1;
    }

    /// Chooses the queue of an arriving rank.
    fn choose(&self, rank: Rank, queues: &[Room]) -> Result<usize, DropReason> {
        let (count, k) = (queues.len(), self.params.k);
        let capacity = queues.iter().map(Room::total).sum::<u64>();
        let held = queues.iter().map(Room::used).sum::<u64>();
        let lower = || self.window.iter().filter(|entry| entry.rank() < rank.get()).count() as u64;
        let below = |share: f64| {
            let quantile = RankQuantile { count: lower(), held: self.window.len() as u64 };
            NetbenchTest::with_narrow(k, true).passes(quantile, share, capacity - held, capacity)
        };
        let passes = |queue: usize| match self.params.test {
            LiveTest::Aifo { .. } if held as f64 <= f64::from(k) * capacity as f64 || self.window.is_empty() => true,
            LiveTest::Aifo { .. } | LiveTest::AifoOfPacks { .. } => below(1.0),
            LiveTest::Packs { .. } => below((queue + 1) as f64 * (1.0 / count as f64)),
        };
        let mut reason = DropReason::Admission;
        for queue in (0..count).filter(|queue| passes(*queue)) {
            if queues[queue].fits(0) {
                return Ok(queue);
            }
            reason = DropReason::Full;
        }
        Err(reason)
    }
}

impl<E: LiveRank, N: Fn() -> E> Decider for LiveAdmission<E, N> {
    fn decide(&mut self, packet: Arriving, queues: &[Room]) -> Result<usize, DropReason> {
        if matches!(self.params.test, LiveTest::Aifo { .. }) {
            let decision = self.choose(packet.rank, queues);
            self.sample();
            decision
        } else {
            self.sample();
            self.choose(packet.rank, queues)
        }
    }
}

impl<E: LiveRank, N: Fn() -> E> Registers for LiveAdmission<E, N> {
    fn registers(&self, each: &mut dyn FnMut(&dyn Register)) {
        each(self);
    }

    fn registers_mut(&mut self, each: &mut dyn FnMut(&mut dyn Register)) {
        each(self);
    }
}

impl<E: LiveRank, N: Fn() -> E> Register for LiveAdmission<E, N> {
    /// Visits nothing, because later decisions depend on ranks that are not yet known.
    fn visit_state(&self, _visit: &mut dyn FnMut(i64)) {}

    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        self.window.iter().for_each(|entry| visit(Rank::saturating(entry.rank())));
    }
}
