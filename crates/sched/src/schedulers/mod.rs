//! The algorithms, one file each.

mod admission;
mod aifo;
mod fifo;
mod packs;
mod pifo;
mod sp_pifo;

pub use admission::{Quantile, Update};
pub use aifo::{Aifo, AifoParams, Arithmetic, Compare};
pub use fifo::{Fifo, FifoParams};
pub use packs::{Occupancy, Packs, PacksParams};
pub use pifo::{Pifo, PifoParams, Ties};
pub use sp_pifo::{Clamp, OnFull, Order, PushDown, SpPifo, SpPifoParams};
