//! The algorithms, one file each.

mod fifo;
mod sp_pifo;

pub use fifo::{Fifo, FifoParams};
pub use sp_pifo::{Clamp, OnFull, Order, PushDown, SpPifo, SpPifoParams};
