//! The arrivals of one run, with hints about each packet for rank functions.

use crate::error::Error;
use crate::spec::one_link::OneLinkSpec;
use crate::spec::trace::{Replays, Traces};
use crate::spec::workload::{SyntheticSource, Workload};
use pifolab_sched::{Hints, Labels};
use pifolab_sim::one_link::Arrivals;
use pifolab_units::{Bytes, Rate, Rounding, Span, Time};
use pifolab_workload::{Arrival, ArrivalStream, Merged};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The number of arrivals between two updates of the progress.
const REPORT_EVERY: u64 = 1 << 14;

/// Passes arrivals to the engine until the limits of the scenario or a cancellation.
pub(crate) struct Feed<'a> {
    source: Source<'a>,
    end: Time,
    left: u64,
    delivered: u64,
    shared: &'a Shared,
}

/// The state shared by the feeds of a run and its watcher.
#[derive(Default)]
pub(crate) struct Shared {
    /// The number of arrivals passed to the engine.
    pub(crate) arrived: AtomicU64,
    /// Whether the run must end early, with incomplete arrivals.
    pub(crate) cancelled: AtomicBool,
    /// Why the run must end, if its input is at fault.
    pub(crate) fault: Mutex<Option<Error>>,
}

impl Shared {
    fn fail(&self, fault: Error) {
        self.fault.lock().expect("no thread panics while it holds the lock").get_or_insert(fault);
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one per run, and the common source should not hide behind a pointer"
)]
enum Source<'a> {
    One(ArrivalStream, Deadlines),
    Several(Merged, Deadlines),
    Trace {
        traces: &'a Traces,
        replay: Replays<'a>,
        flows: Option<FlowSizes>,
    },
    /// No source, because its file can no longer be opened.
    Nothing,
}

impl<'a> Feed<'a> {
    pub(crate) fn new(spec: &'a OneLinkSpec, seed: u64, shared: &'a Shared) -> Self {
        let source = match &spec.workload {
            Workload::Synthetic(sources) => {
                let deadlines = Deadlines::new(sources, spec.link.rate, spec.link.rounding);
                let mut streams = sources.iter().enumerate().map(|(number, SyntheticSource { source, .. })| {
                    source.stream(seed, &format!("source-{number}")).expect("the source was checked")
                });
                if sources.len() == 1 {
                    Source::One(streams.next().expect("there is one"), deadlines)
                } else {
                    Source::Several(Merged::new(streams), deadlines)
                }
            }
            Workload::Trace(traces) => {
                let (seen, packets) = (vec![0; traces.flows()], vec![0; traces.iter().len()]);
                let flows = FlowSizes { seen, packets, hints: Hints::default() };
                match traces.replay() {
                    Ok(replay) => Source::Trace { traces, replay, flows: spec.tells_facts().then_some(flows) },
                    Err(fault) => {
                        shared.fail(fault);
                        Source::Nothing
                    }
                }
            }
        };
        Self { source, end: spec.arrivals_end, left: spec.packets, delivered: 0, shared }
    }

    /// The same feed without arrivals.
    pub(crate) fn without_arrivals(self) -> Self {
        Self { left: 0, ..self }
    }
}

impl Arrivals for Feed<'_> {
    #[inline]
    fn next_arrival(&mut self) -> Option<Arrival> {
        if self.left == 0 {
            return None;
        }
        let arrival = match &mut self.source {
            Source::One(stream, deadlines) => deadlines.note(stream.next()),
            Source::Several(merged, deadlines) => deadlines.note(merged.next()),
            Source::Trace { traces, replay, flows } => {
                let arrival = match replay.next() {
                    Ok(arrival) => arrival,
                    Err(fault) => {
                        self.shared.fail(fault);
                        None
                    }
                };
                if let (Some(flows), Some(arrival)) = (flows, &arrival) {
                    flows.note(arrival, traces);
                }
                arrival
            }
            Source::Nothing => None,
        }
        .filter(|arrival| arrival.time < self.end)?;
        self.left -= 1;
        self.delivered += 1;
        if self.delivered.is_multiple_of(REPORT_EVERY) {
            self.shared.arrived.fetch_add(REPORT_EVERY, Ordering::Relaxed);
            if self.shared.cancelled.load(Ordering::Relaxed) {
                self.left = 0;
            }
        }
        Some(arrival)
    }

    fn hints(&self) -> Hints {
        match &self.source {
            Source::One(_, deadlines) | Source::Several(_, deadlines) => deadlines.hints,
            Source::Nothing => Hints::default(),
            Source::Trace { flows, .. } => flows.as_ref().map_or_else(Hints::default, |flows| flows.hints),
        }
    }

    #[inline]
    fn eligible(&self) -> Time {
        if let Source::Trace { replay, .. } = &self.source { replay.eligible() } else { Time::ZERO }
    }
}

/// The size of each packet's flow in a trace, and its remaining bytes.
struct FlowSizes {
    /// Bytes of each flow so far.
    seen: Vec<u64>,
    /// Packets of each trace so far.
    packets: Vec<u64>,
    hints: Hints,
}

impl FlowSizes {
    #[inline]
    fn note(&mut self, arrival: &Arrival, traces: &Traces) {
        let flow = arrival.flow as usize;
        let (size, trace, own_flow) = traces.flow_bytes(arrival.flow);
        // A file that changes while it is read may hold more; the check at its end reports that.
        let remaining = Bytes(size.saturating_sub(self.seen[flow]));
        self.seen[flow] += u64::from(arrival.bytes);
        let labels = traces.labels(trace, self.packets[trace], own_flow);
        self.packets[trace] += 1;
        self.hints = Hints { flow_size: Bytes(size), remaining, labels, ..Hints::default() };
    }
}

/// Deadlines of synthetic packets. The flow identifies the source, since sources share no flows.
struct Deadlines {
    /// First flow and deadline of each source, ascending.
    sources: Vec<(u32, Option<Span>)>,
    /// Whether there are hints: a deadline, or the source among several.
    any: bool,
    rate: Rate,
    rounding: Rounding,
    hints: Hints,
}

impl Deadlines {
    fn new(sources: &[SyntheticSource], rate: Rate, rounding: Rounding) -> Self {
        Self {
            sources: sources.iter().map(|source| (source.first_flow, source.deadline)).collect(),
            any: sources.len() > 1 || sources.iter().any(|source| source.deadline.is_some()),
            rate,
            rounding,
            hints: Hints::default(),
        }
    }

    #[inline]
    fn note(&mut self, arrival: Option<Arrival>) -> Option<Arrival> {
        if self.any
            && let Some(Arrival { time, bytes, flow, .. }) = arrival
        {
            let source = self.sources.partition_point(|(first, _)| *first <= flow) - 1;
            let deadline = self.sources[source].1;
            self.hints = Hints {
                deadline: deadline.map(|deadline| time.saturating_add(deadline)),
                remaining_transmission: self.rate.serialisation(Bytes(u64::from(bytes)), self.rounding),
                labels: Labels { class: source as u32, ..Labels::default() },
                ..Hints::default()
            };
        }
        arrival
    }
}
