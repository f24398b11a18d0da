//! Finds the worst packet trace for a scheduler, and proves, shrinks and explains it.
//!
//! A [`Problem`] defines the search: the trace with the largest gap of a [`Metric`] between two schedulers. The
//! searches run the schedulers of the library through a narrow contract ([`Machine`]): offer a packet, take a packet,
//! snapshot, restore, and a canonical key of the state. No search contains a model of a scheduler.

mod answer;
mod automaton;
mod by_gaps;
mod constraint;
mod exact;
mod guided;
mod joint;
mod library;
mod machine;
mod meter;
mod metric;
mod outcome;
mod problem;
mod replayed;
mod shrink;
mod solve;
mod step;
mod story;
mod tally;
mod trace;
mod variation;
mod windows;

pub use answer::{Answer, Error, Progress};
pub use constraint::{Constraint, Trend};
pub use guided::{Guidance, Initial, Strategy, guide};
pub use library::{library, library_names};
pub use machine::{Machine, Order, Subject};
pub use meter::Judge;
pub use metric::{Amount, METRICS, Metric, Ranks, Sum, find_metric};
pub use outcome::{Fate, Outcome};
pub use problem::{End, Limits, Problem, Refused};
pub use replayed::Replayed;
pub use shrink::shrink;
pub use solve::{Method, attack, gap_of, solve};
pub use step::{Probe, Step};
pub use story::{Event, Moment, tell};
pub use trace::Trace;
pub use windows::fixed_windows;
