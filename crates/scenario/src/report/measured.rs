//! The measurements of one scheduler's observers, before they become tables.

use super::record::Recorders;
use pifolab_metrics::{
    Departures, Drops, Inversions, Measures, PortWatch, QueueShares, Reordering, Samples, Sojourn, Unpifoness,
};
use pifolab_sched::Used;
use pifolab_sim::network::{RunResult, Snapshot};
use pifolab_sim::one_link::Totals;
use pifolab_units::Span;

/// The measurements of a run on one link.
pub(crate) struct Measured {
    pub(crate) totals: Totals,
    pub(crate) inversions: Inversions,
    pub(crate) drops: Drops,
    pub(crate) departures: Departures,
    pub(crate) unpifoness: Unpifoness,
    pub(crate) sojourn: Sojourn,
    pub(crate) reordering: Reordering,
    pub(crate) shares: QueueShares,
    pub(crate) samples: Samples,
    pub(crate) measures: Measures,
    pub(crate) used: Used,
}

/// The measurements of a run on a network.
pub(crate) struct NetworkRun {
    pub(crate) result: RunResult,
    /// The accounts at the beginning and the end of the measured time, if these were reached and differ from those of
    /// the run.
    pub(crate) began: Option<Snapshot>,
    pub(crate) ended: Option<Snapshot>,
    /// The completion time that each completed flow would have alone.
    pub(crate) ideal: Vec<Option<Span>>,
    pub(crate) watch: Option<PortWatch>,
    pub(crate) recorded: Option<Recorders>,
    /// Whether the run was cancelled at `result.end`.
    pub(crate) interrupted: bool,
    /// Why the run cannot be divided among threads, if its order of equal times would allow it.
    pub(crate) whole: Option<&'static str>,
}
