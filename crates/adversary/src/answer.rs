//! What a search comes to.

use crate::metric::Amount;
use crate::trace::Trace;

/// The worst trace, as far as it was found.
#[derive(Clone, Debug)]
pub struct Answer {
    /// metric(a) - metric(b), or metric(a).
    pub gap: Amount,
    /// No allowed trace has a larger gap; `None` if nothing is known.
    pub bound: Option<Amount>,
    /// Whether `gap` is the largest.
    pub proven: bool,
    /// The trace.
    pub trace: Trace,
    /// The ranks that windows start with, if they were searched.
    pub start_window: Option<Vec<u64>>,
    /// How many steps of both schedulers, or whole runs, it took.
    pub evaluations: u64,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No trace satisfies the constraints.
    Impossible,
    /// None that satisfies them was found among so many that were tried; what no trace exceeds, if it is known.
    NoneFound(u64, Option<Amount>),
    /// The exact search cannot take this problem; the reason as a clause.
    Unsuited(String),
    /// The limits were reached before any trace was complete; what no trace exceeds, if it is known.
    Limits(Option<Amount>),
}

/// Called with the best gap so far and the evaluations.
pub type Progress<'a> = dyn FnMut(Amount, u64) + 'a;
