//! Sources of packets and flows: synthetic streams, traces and flow lists, identical on every machine.
//!
//! - [`Source`] creates an [`ArrivalStream`]: times, sizes, ranks and flows of the packets that arrive at one link.
//! - [`Stream`] is a named random stream: a seed and a name yield the same bits on every machine.
//! - [`Distribution`] is a distribution over integers with exact weights and one look-up per draw.
//! - [`trace`] replays captures and CSV files.
//! - [`flows`] defines the traffic of a network: flow sizes, arrivals, pairs, flow lists.
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
pub use input::{OpenFile, open_file};
pub use java_random::JavaRandom;
pub use random::{Stream, Uniform};
pub use stream::{Arrival, ArrivalStream, FlowAssignment, Merged, RankPhase, RankSource, Source};
