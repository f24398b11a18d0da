//! The result of a search.

use crate::metric::Amount;
use crate::trace::Trace;

/// The worst trace found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// metric(a) - metric(b), or metric(a).
    pub gap: Amount,
    /// The upper limit of the gap over all allowed traces; `None` if unknown.
    pub bound: Option<Amount>,
    /// Whether `gap` is proven to be the largest.
    pub proven: bool,
    /// The trace.
    pub trace: Trace,
    /// The initial ranks of the windows, if they were searched.
    pub start_window: Option<Vec<u64>>,
    /// The number of steps of both schedulers, or of whole runs.
    pub evaluations: u64,
}

/// The reason why a search has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No trace satisfies the constraints.
    Impossible,
    /// None of this number of traces satisfies the constraints. The second value is an upper limit of the gap, if
    /// known.
    NoneFound(u64, Option<Amount>),
    /// The exact search does not apply to this problem; the reason as a clause.
    Unsuited(String),
    /// The search reached its limits before any trace was complete. The value is an upper limit of the gap, if known.
    Limits(Option<Amount>),
}

/// A function that receives the best gap so far and the number of evaluations.
pub type Progress<'a> = dyn FnMut(Amount, u64) + 'a;
