//! What becomes of a vector that is replayed through a data plane.

use pifolab_registry::conformance::Outcome;

/// What became of one vector.
#[derive(Debug)]
pub enum Replay {
    /// It was replayed.
    Done(Outcome),
    /// The data plane cannot do this, for this reason.
    Skipped(String),
}
