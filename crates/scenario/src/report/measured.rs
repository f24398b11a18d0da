//! What the observers of one scheduler measured, before it becomes tables.

use super::record::Recorders;
use pifolab_metrics::{
    Departures, Drops, Inversions, Measures, PortWatch, QueueShares, Reordering, Samples, Sojourn, Unpifoness,
};
use pifolab_sim::network::{RunResult, Snapshot};
use pifolab_sim::one_link::Totals;
use pifolab_units::Span;

/// Of a run on one link.
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
    /// Whether ranks that the scheduler gives itself ran out.
    pub(crate) has_run_out: bool,
}

/// Of a run on a network.
pub(crate) struct NetworkRun {
    pub(crate) result: RunResult,
    /// The accounts where the measured time begins and ends, if that was reached and is not where the run does.
    pub(crate) began: Option<Snapshot>,
    pub(crate) ended: Option<Snapshot>,
    /// The completion time that each completed flow would have alone.
    pub(crate) ideal: Vec<Option<Span>>,
    pub(crate) watch: Option<PortWatch>,
    pub(crate) recorded: Option<Recorders>,
    /// The run was cancelled at `result.end`.
    pub(crate) interrupted: bool,
}
