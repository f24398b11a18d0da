//! The algorithms, one file each. Algorithms that choose a queue on arrival are [`deciders`]; joined to queues they are
//! the schedulers of the same names here.
//!
//! A short algorithm has its options and tests in the same file. AIFO, Exp-PIFO, PACKS, RIFO and SP-PIFO are longer and
//! have the same layout: the file of that name has the header, the decider and the paper's lines, at most 150 lines of
//! code. The folder of that name has `options.rs` (the parameters with their table, defaults and checks), `tests.rs`,
//! and files for variants such as a switch's arithmetic. Code that several algorithms share is in `admission`,
//! `geometric` and `headroom`.

mod admission;
mod afq;
mod aifo;
mod drr;
mod exp_pifo;
mod fifo;
mod geometric;
mod geometric_packs;
mod headroom;
mod packs;
mod pieo;
mod pifo;
mod rifo;
mod scrr;
mod slack_sp;
mod sp_pifo;
mod sp_pifo_greedy;
mod sp_pifo_optimal;
mod spring;
mod strict_priority;

use crate::store::Queue;
use crate::{Packet, Queued};

pub use admission::{Limit, Quantile, RankQuantile, SlidingWindow, Threshold, Update, WindowOptions};
pub use afq::{AfqParams, Counters as AfqCounters, Horizon};
pub use aifo::AifoParams;
pub use drr::{Drr, DrrParams};
pub use exp_pifo::{BetaRounding, BetaZero, ExpPifoParams, Mapping, MappingKind, Reset};
pub use fifo::FifoParams;
pub use geometric::GeometricMap;
pub use geometric_packs::{GeometricPacks, QuantileTest};
pub use headroom::{Headroom, ShelteredPower};
pub use packs::{Occupancy, PacksParams};
pub use pieo::{Pieo, PieoParams};
pub use pifo::{HandlePifo, Pifo, PifoParams, Ties};
pub use rifo::{ResetCounter, RifoMode, RifoParams};
pub use scrr::{Scrr, ScrrParams};
pub use slack_sp::{SlackAdmission, SlackShares, SlackSpParams, StepScale};
pub use sp_pifo::{Clamp, OnFull, Order, PushDown, SpPifoParams};
pub use sp_pifo_greedy::{PairCost, SpPifoGreedyParams, Steps};
pub use sp_pifo_optimal::{Combine, QueueCost, SpPifoOptimalParams, most_weights, optimal_bounds};
pub use spring::{Decays, Force, SpringParams};
pub use strict_priority::StrictPriorityParams;

/// The algorithms themselves, without the queues: see [`Decider`](crate::Decider).
pub mod deciders {
    pub use super::afq::Afq;
    pub use super::aifo::Aifo;
    pub use super::exp_pifo::ExpPifo;
    pub use super::fifo::Fifo;
    pub use super::packs::Packs;
    pub use super::rifo::Rifo;
    pub use super::slack_sp::SlackSp;
    pub use super::sp_pifo::SpPifo;
    pub use super::sp_pifo_greedy::SpPifoGreedy;
    pub use super::sp_pifo_optimal::SpPifoOptimal;
    pub use super::spring::Spring;
    pub use super::strict_priority::StrictPriority;
}

/// A first-in first-out queue with tail drop.
pub type Fifo<T = Packet> = Queued<deciders::Fifo, T, Queue<T>>;
/// Strict-priority queues with fixed bounds.
pub type StrictPriority<T = Packet> = Queued<deciders::StrictPriority, T>;
/// SP-PIFO.
pub type SpPifo<T = Packet> = Queued<deciders::SpPifo, T>;
/// Greedy SP-PIFO.
pub type SpPifoGreedy<T = Packet> = Queued<deciders::SpPifoGreedy, T>;
/// Strict-priority queues with the best fixed bounds for a rank distribution.
pub type SpPifoOptimal<T = Packet> = Queued<deciders::SpPifoOptimal, T>;
/// Slack-SP.
pub type SlackSp<T = Packet> = Queued<deciders::SlackSp, T>;
/// Spring.
pub type Spring<T = Packet> = Queued<deciders::Spring, T>;
/// AIFO.
pub type Aifo<T = Packet> = Queued<deciders::Aifo, T, Queue<T>>;
/// PACKS.
pub type Packs<T = Packet> = Queued<deciders::Packs, T>;
/// RIFO.
pub type Rifo<T = Packet> = Queued<deciders::Rifo, T, Queue<T>>;
/// Exp-PIFO.
pub type ExpPifo<T = Packet> = Queued<deciders::ExpPifo, T>;
/// AFQ.
pub type Afq<T = Packet> = Queued<deciders::Afq, T>;

#[cfg(test)]
mod tests {
    #[test]
    fn the_file_that_carries_a_papers_name_is_its_algorithm_and_no_more() {
        for (name, text) in [
            ("aifo", include_str!("aifo.rs")),
            ("exp_pifo", include_str!("exp_pifo.rs")),
            ("packs", include_str!("packs.rs")),
            ("rifo", include_str!("rifo.rs")),
            ("sp_pifo", include_str!("sp_pifo.rs")),
        ] {
            let (code, tests) = text.split_once("#[cfg(test)]").expect("it ends with its tests");
            assert_eq!(tests.trim(), "mod tests;", "the tests of {name} are in a file of their own");
            let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
            let lines = code.lines().map(str::trim).filter(is_code).count();
            assert!(
                lines <= 150,
                "{name}.rs has {lines} lines of code: expected at most 150, with its options in {name}/options.rs"
            );
            assert!(!code.contains("Param::"), "the parameters of {name} are in {name}/options.rs");
            for word in ["unsafe", "branch", "cache", "asm!", "etbench", "crate::place"] {
                assert!(!code.contains(word), "{name}.rs says {word:?}: twins and replays have rooms of their own");
            }
        }
    }
}
