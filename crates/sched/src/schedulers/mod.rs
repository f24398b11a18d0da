//! The algorithms, one file each. Those that choose a queue on arrival are [`deciders`]; joined to queues they are the schedulers
//! of the same names here.

mod admission;
mod afq;
mod aifo;
mod delayed;
mod exp_pifo;
mod fifo;
mod geometric;
mod packs;
mod pieo;
mod pifo;
mod rifo;
mod slack_sp;
mod sp_pifo;
mod sp_pifo_greedy;
mod sp_pifo_optimal;
mod spring;
mod strict_priority;

use crate::store::Queue;
use crate::{Packet, Queued};

pub use admission::{Arithmetic, Quantile, Update};
pub use afq::{AfqParams, Counters as AfqCounters, Horizon};
pub use aifo::{AifoParams, Compare};
pub use exp_pifo::{BetaRounding, BetaZero, ExpPifoParams, Mapping, MappingKind, Reset};
pub use fifo::FifoParams;
pub use geometric::GeometricMap;
pub use packs::{Occupancy, PacksParams};
pub use pieo::{Pieo, PieoParams};
pub use pifo::{Pifo, PifoParams, Ties};
pub use rifo::{ResetCounter, RifoMode, RifoParams};
pub use slack_sp::{SlackAdmission, SlackSpParams, StepScale};
pub use sp_pifo::{Clamp, OnFull, Order, PushDown, SpPifoParams};
pub use sp_pifo_greedy::{SpPifoGreedyParams, Steps};
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
