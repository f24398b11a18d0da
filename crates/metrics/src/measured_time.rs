//! The measured interval of a run on a network.

use pifolab_sim::network::{Flow, RunResult, Snapshot};
use pifolab_units::Time;

/// The measured interval of a run.
#[derive(Clone, Debug)]
pub struct MeasuredTime {
    /// The start of the interval.
    pub from: Time,
    /// The end of the interval.
    pub until: Time,
    /// Whether the interval ends with the run. Flows that start at `until` then count.
    to_the_end: bool,
    /// The time that each port's wire was busy, in seconds.
    pub busy_s: Vec<f64>,
    /// Bytes acknowledged in the interval, over all flows.
    pub acknowledged_bytes: f64,
}

impl MeasuredTime {
    /// The interval from `from` to `until` of a run that is planned to end at `end`. `began` and `ended` are snapshots
    /// at the interval's ends; `None` stands for the start or the end of the run.
    pub fn new(
        (from, until, end): (Time, Time, Time),
        result: &RunResult,
        began: Option<&Snapshot>,
        ended: Option<&Snapshot>,
    ) -> Self {
        // An interrupted run ends before `end`.
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

    /// The length of the interval in seconds.
    pub fn length_s(&self) -> f64 {
        self.until.since(self.from).as_s_f64()
    }

    /// Whether a flow is measured: it starts in the interval.
    pub fn holds(&self, flow: &Flow) -> bool {
        flow.start >= self.from && (flow.start < self.until || (self.to_the_end && flow.start == self.until))
    }
}
