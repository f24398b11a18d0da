//! The result of replaying a vector through a data plane.

use pifolab_registry::conformance::Outcome;

/// The result of one vector.
#[derive(Debug)]
pub enum Replay {
    /// The vector was replayed.
    Done(Outcome),
    /// The data plane does not support the vector, for this reason.
    Skipped(String),
}
