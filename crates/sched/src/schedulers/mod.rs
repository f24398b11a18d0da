//! The algorithms, one file each.

mod admission;
mod afq;
mod aifo;
mod exp_pifo;
mod fifo;
mod in_queues;
mod packs;
mod pieo;
mod pifo;
mod rifo;
mod sp_pifo;
mod sp_pifo_greedy;
mod sp_pifo_optimal;
mod strict_priority;

pub use admission::{Quantile, Update};
pub use afq::{Afq, AfqParams, Counters as AfqCounters, Horizon};
pub use aifo::{Aifo, AifoParams, Arithmetic, Compare};
pub use exp_pifo::{BetaRounding, BetaZero, ExpPifo, ExpPifoParams, Mapping, Reset};
pub use fifo::{Fifo, FifoParams};
pub use packs::{Occupancy, Packs, PacksParams};
pub use pieo::{Pieo, PieoParams};
pub use pifo::{Pifo, PifoParams, Ties};
pub use rifo::{ResetCounter, Rifo, RifoMode, RifoParams};
pub use sp_pifo::{Clamp, OnFull, Order, PushDown, SpPifo, SpPifoParams};
pub use sp_pifo_greedy::{SpPifoGreedy, SpPifoGreedyParams, Steps};
pub use sp_pifo_optimal::{PairCost, SpPifoOptimal, SpPifoOptimalParams, optimal_bounds};
pub use strict_priority::{StrictPriority, StrictPriorityParams};
