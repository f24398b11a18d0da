//! The cost of a trace during its run. The guided search computes it a million times per second.

use crate::machine::{Machine, Subject};
use crate::metric::{Amount, Metric, Ranks};
use crate::outcome::Outcome;
use crate::tally::{Tally, Tariff};
use crate::trace::Trace;

/// The prices of `metric`; `None` if it is not a sum of prices.
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

/// One scheduler during a trace, with the cost so far.
pub(crate) struct Run {
    machine: Box<dyn Machine>,
    pub tally: Tally,
}

impl Run {
    /// Sets the state to that of another run of the same scheduler.
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

/// One scheduler that runs many traces in sequence.
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

    /// Starts a run without packets.
    pub(crate) fn start(&self, tariff: &Tariff) -> Run {
        let mut run = Run { machine: self.fresh.snapshot(), tally: Tally::default() };
        run.tally.reset(tariff);
        run
    }

    /// The cost of `trace`, and the number of drops.
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
        // One call for the whole trace: the scheduler's type is known inside, and every step can be inlined.
        self.machine.play(trace, &mut self.tally, tariff);
        (metric.finish(self.tally.sum, self.tally.sent), self.tally.dropped)
    }
}

/// Runs traces through both schedulers of a problem, one after the other, without allocation.
pub struct Judge<'a> {
    problem: &'a crate::Problem<'a>,
    tariff: Option<Tariff>,
    pub(crate) a: Runner,
    pub(crate) b: Option<Runner>,
    window: Option<Vec<u64>>,
    pub(crate) evaluations: u64,
    /// The distance of the last trace from a valid one, if drops are forbidden.
    ///
    /// It counts the drops of the second scheduler. If the first scheduler drops packets, it is a larger number.
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

    /// The gap of a trace; `None` if the trace has forbidden drops.
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
            // The second scheduler is not run: its drops are at most all packets.
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
