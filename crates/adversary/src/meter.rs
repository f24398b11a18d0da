//! The cost of a trace while it runs: what the guided search computes a million times per second.

use crate::machine::{Machine, Subject};
use crate::metric::{Amount, Metric, Ranks};
use crate::outcome::Outcome;
use crate::tally::{Tally, Tariff};
use crate::trace::Trace;

/// The prices of `metric`; `None` if it has none.
fn tariff(metric: &dyn Metric, ranks: &Ranks) -> Option<Tariff> {
    if !metric.is_priced() {
        return None;
    }
    let alphabet = || ranks.lowest..=ranks.highest;
    let pair = |later| alphabet().map(move |first| metric.overtake_price(first, later, ranks));
    let overtake: Vec<i64> = alphabet().flat_map(pair).collect();
    Some(Tariff {
        lowest: ranks.lowest,
        symbols: alphabet().count(),
        drop: alphabet().map(|rank| metric.drop_price(rank, ranks)).collect(),
        overtake: if overtake.iter().all(|price| *price == 0) { Vec::new() } else { overtake },
    })
}

/// One scheduler in the middle of a trace, with what the trace has cost it so far.
pub(crate) struct Run {
    machine: Box<dyn Machine>,
    pub tally: Tally,
}

impl Run {
    /// Takes over the state of another run of the same scheduler.
    pub(crate) fn restore(&mut self, other: &Self) {
        self.machine.restore(other.machine.as_ref());
        self.tally.take_over(&other.tally);
    }

    pub(crate) fn arrive(&mut self, rank: u64, departures: u32, tariff: &Tariff) {
        self.tally.arrive(self.machine.as_mut(), rank, departures, tariff);
    }

    pub(crate) fn drain(&mut self, tariff: &Tariff) {
        self.tally.drain(self.machine.as_mut(), tariff);
    }
}

/// One scheduler that runs trace after trace.
pub(crate) struct Runner {
    fresh: Box<dyn Machine>,
    machine: Box<dyn Machine>,
    tally: Tally,
    outcome: Outcome,
}

impl Runner {
    pub(crate) fn new(subject: &dyn Subject, window: Option<&[u64]>) -> Self {
        let fresh = subject.start(window);
        Self { machine: fresh.snapshot(), fresh, tally: Tally::default(), outcome: Outcome::default() }
    }

    /// An empty run.
    pub(crate) fn start(&self, tariff: &Tariff) -> Run {
        let mut run = Run { machine: self.fresh.snapshot(), tally: Tally::default() };
        run.tally.reset(tariff);
        run
    }

    /// The cost of `trace`, and how many packets were dropped.
    pub(crate) fn cost(
        &mut self,
        trace: &Trace,
        metric: &dyn Metric,
        ranks: &Ranks,
        tariff: Option<&Tariff>,
    ) -> (Amount, u64) {
        self.machine.restore(self.fresh.as_ref());
        let Some(tariff) = tariff else {
            self.outcome.run(self.machine.as_mut(), trace);
            let dropped = self.outcome.ranks.len() - self.outcome.sent.len();
            return (metric.value(&self.outcome, ranks), dropped as u64);
        };
        // One call for the whole trace: within it the scheduler is known, and every step of it can be inlined.
        self.machine.play(trace, &mut self.tally, tariff);
        (metric.finish(self.tally.sum, self.tally.sent), self.tally.dropped)
    }
}

/// Runs traces through both schedulers of a problem, one after the other, without allocating.
pub struct Judge<'a> {
    problem: &'a crate::Problem<'a>,
    tariff: Option<Tariff>,
    pub(crate) a: Runner,
    pub(crate) b: Option<Runner>,
    window: Option<Vec<u64>>,
    pub(crate) evaluations: u64,
    /// How far the last trace without a gap was from one, if no packet may be dropped: the drops of the second scheduler, or more
    /// if the first drops some.
    pub(crate) excess: u64,
}

impl<'a> Judge<'a> {
    /// Starts both schedulers.
    pub fn new(problem: &'a crate::Problem<'a>) -> Self {
        Self {
            problem,
            tariff: tariff(problem.metric, &problem.ranks),
            a: Runner::new(problem.a, None),
            b: problem.b.map(|b| Runner::new(b, None)),
            window: None,
            evaluations: 0,
            excess: 0,
        }
    }

    pub(crate) fn tariff(&self) -> Option<&Tariff> {
        self.tariff.as_ref()
    }

    /// The gap of a trace; `None` if a packet is dropped that must not be.
    pub fn gap(&mut self, trace: &Trace, window: Option<&[u64]>) -> Option<Amount> {
        if self.window.as_deref() != window {
            self.a = Runner::new(self.problem.a, window);
            self.b = self.problem.b.map(|b| Runner::new(b, window));
            self.window = window.map(<[u64]>::to_vec);
        }
        self.evaluations += 1;
        let (metric, ranks, tariff) = (self.problem.metric, &self.problem.ranks, self.tariff.as_ref());
        let (a, dropped) = self.a.cost(trace, metric, ranks, tariff);
        if self.problem.no_drops && dropped > 0 {
            // The second does not run: it drops no more than all packets.
            self.excess = self.problem.packets as u64 + dropped;
            return None;
        }
        let Some(second) = &mut self.b else { return Some(a) };
        let (b, dropped) = second.cost(trace, metric, ranks, tariff);
        if self.problem.no_drops && dropped > 0 {
            self.excess = dropped;
            return None;
        }
        Some(a - b)
    }
}
