//! One oracle per scheduler, written from the papers and from the readings that the documentation fixes, with vectors
//! that are searched from end to end and fractions that never round.

mod afq;
mod bounds;
mod exp_pifo;
mod pifo;
mod quantile;
mod rifo;
mod slack;
mod sp_pifo;

pub use afq::Afq;
pub use bounds::{Greedy, Optimal, StrictPriority};
pub use exp_pifo::ExpPifo;
pub use pifo::{Fifo, Pieo, Pifo};
pub use quantile::{Aifo, Packs};
pub use rifo::Rifo;
pub use slack::{SlackSp, Spring};
pub use sp_pifo::SpPifo;
