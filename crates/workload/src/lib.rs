//! Where packets and flows come from: synthetic streams, traces, and flow lists, each the same on every machine.
//!
//! - [`Source`] makes an [`ArrivalStream`]: when packets reach one link, their sizes, ranks and flows.
//! - [`Stream`] is a named random stream: the seed and a name give the same bits everywhere.
//! - [`Distribution`] is a distribution over integers, drawn in one look-up, its exact weights at hand.
//! - [`trace`] replays captures and CSV files.
//! - [`flows`] is traffic of a network: flow sizes, arrivals, pairs, flow lists.
#![forbid(unsafe_code)]

mod arrivals;
mod distribution;
mod error;
mod exponential;
pub mod flows;
mod histogram;
mod input;
mod java_random;
mod random;
mod stream;
pub mod trace;

pub use arrivals::{ArrivalProcess, Periods};
pub use distribution::Distribution;
pub use error::{FileError, ParameterError, Place};
pub use input::open_file;
pub use java_random::JavaRandom;
pub use random::{Stream, Uniform};
pub use stream::{Arrival, ArrivalStream, FlowAssignment, Merged, RankPhase, RankSource, Source};
