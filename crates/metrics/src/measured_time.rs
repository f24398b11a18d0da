//! The part of a run on a network that is measured.

use pifolab_sim::network::{Flow, RunResult, Snapshot};
use pifolab_units::Time;

/// The measured part of a run.
#[derive(Clone, Debug)]
pub struct MeasuredTime {
    /// Where it begins.
    pub from: Time,
    /// Where it ends.
    pub until: Time,
    /// Flows that start at `until` count, since it is where the run ends.
    to_the_end: bool,
    /// How long each port's wire was busy.
    pub busy_s: Vec<f64>,
    /// Bytes acknowledged meanwhile, over all flows.
    pub acknowledged_bytes: f64,
}

impl MeasuredTime {
    /// The time from `from` to `until` of a run that should end at `end`; `began` and `ended` are the accounts there, where that is not
    /// the beginning or the end of the run.
    pub fn new(
        (from, until, end): (Time, Time, Time),
        result: &RunResult,
        began: Option<&Snapshot>,
        ended: Option<&Snapshot>,
    ) -> Self {
        // A run that was interrupted ends early.
        let until = until.min(result.end);
        let from = from.min(until);
        let last = ended.map_or(&result.ports, |ended| &ended.ports);
        let busy_s = (0..last.len()).map(|port| {
            let before = began.map_or(0.0, |began| began.ports[port].busy.as_s_f64());
            last[port].busy.as_s_f64() - before
        });
        let all: u64 = result.flows.iter().map(|flow| flow.acknowledged_bytes).sum();
        let last = ended.map_or(all, |ended| ended.acknowledged_bytes);
        let before = began.map_or(0, |began| began.acknowledged_bytes);
        Self {
            from,
            until,
            to_the_end: until == end,
            busy_s: busy_s.collect(),
            acknowledged_bytes: last as f64 - before as f64,
        }
    }

    /// How long it is, in seconds.
    pub fn length_s(&self) -> f64 {
        self.until.since(self.from).as_s_f64()
    }

    /// Whether a flow is measured: it starts within.
    pub fn holds(&self, flow: &Flow) -> bool {
        flow.start >= self.from && (flow.start < self.until || (self.to_the_end && flow.start == self.until))
    }
}
