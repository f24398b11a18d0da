//! The cost of a trace while it runs: what the guided search computes a million times per second.

use crate::machine::{Machine, Probe, Subject};
use crate::metric::{Amount, Metric, Ranks};
use crate::outcome::Outcome;
use crate::trace::Trace;
use pifolab_sched::{Dequeued, Enqueued, Item};

/// Prices as tables over ranks.
pub(crate) struct Tariff {
    lowest: u64,
    symbols: usize,
    drop: Vec<i64>,
    /// `overtake[first * symbols + later]`; empty if all are 0.
    overtake: Vec<i64>,
}

impl Tariff {
    /// The prices of `metric`; `None` if it has none.
    pub(crate) fn of(metric: &dyn Metric, ranks: &Ranks) -> Option<Self> {
        if !metric.is_priced() {
            return None;
        }
        let alphabet = || ranks.lowest..=ranks.highest;
        let pair = |first| alphabet().map(move |later| metric.overtake_price(first, later, ranks));
        let overtake: Vec<i64> = alphabet().flat_map(pair).collect();
        Some(Self {
            lowest: ranks.lowest,
            symbols: alphabet().count(),
            drop: alphabet().map(|rank| metric.drop_price(rank, ranks)).collect(),
            overtake: if overtake.iter().all(|price| *price == 0) { Vec::new() } else { overtake },
        })
    }

    #[inline]
    fn symbol(&self, rank: u64) -> usize {
        (rank - self.lowest) as usize
    }
}

/// One scheduler in the middle of a trace, with what the trace has cost it so far.
pub(crate) struct Run {
    machine: Box<dyn Machine>,
    /// Packets held, by rank.
    held: Vec<i64>,
    pub sum: i64,
    pub sent: u64,
    pub dropped: u64,
    arrived: usize,
}

impl Run {
    pub(crate) fn new(machine: Box<dyn Machine>) -> Self {
        Self { machine, held: Vec::new(), sum: 0, sent: 0, dropped: 0, arrived: 0 }
    }

    /// Takes over the state of another run of the same scheduler.
    pub(crate) fn restore(&mut self, other: &Self) {
        self.machine.restore(other.machine.as_ref());
        self.held.clone_from(&other.held);
        (self.sum, self.sent, self.dropped, self.arrived) = (other.sum, other.sent, other.dropped, other.arrived);
    }

    fn reset(&mut self, fresh: &dyn Machine, tariff: &Tariff) {
        self.machine.restore(fresh);
        self.held.clear();
        self.held.resize(tariff.symbols, 0);
        (self.sum, self.sent, self.dropped, self.arrived) = (0, 0, 0, 0);
    }

    /// Lets a packet arrive, and then so many leave.
    #[inline]
    pub(crate) fn arrive(&mut self, rank: u64, departures: u32, tariff: &Tariff) {
        let own = tariff.symbol(rank);
        match self.machine.enqueue(Probe::new(self.arrived, rank)) {
            Enqueued::Admitted { .. } => self.held[own] += 1,
            Enqueued::Evicted { victims, .. } => {
                self.held[own] += 1;
                for victim in victims.iter() {
                    self.lose(tariff.symbol(victim.rank().get()), tariff);
                }
            }
            Enqueued::Dropped { .. } => {
                self.dropped += 1;
                self.sum += tariff.drop[own];
            }
        }
        self.arrived += 1;
        for _ in 0..departures {
            if !self.depart(tariff) {
                break;
            }
        }
    }

    fn lose(&mut self, symbol: usize, tariff: &Tariff) {
        self.dropped += 1;
        self.held[symbol] -= 1;
        self.sum += tariff.drop[symbol];
    }

    /// Lets one packet leave; `false` if none is left. It costs its price with every packet that still waits.
    #[inline]
    fn depart(&mut self, tariff: &Tariff) -> bool {
        loop {
            match self.machine.dequeue() {
                Dequeued::Packet { packet, .. } => {
                    self.sent += 1;
                    if !tariff.overtake.is_empty() {
                        let symbol = tariff.symbol(packet.rank().get());
                        self.held[symbol] -= 1;
                        let row = &tariff.overtake[symbol * tariff.symbols..][..tariff.symbols];
                        self.sum += row.iter().zip(&self.held).map(|(price, held)| price * held).sum::<i64>();
                    }
                    return true;
                }
                Dequeued::Dropped { packet, .. } => self.lose(tariff.symbol(packet.rank().get()), tariff),
                Dequeued::NotBefore(_) | Dequeued::Empty => return false,
            }
        }
    }

    pub(crate) fn drain(&mut self, tariff: &Tariff) {
        while self.depart(tariff) {}
    }
}

/// One scheduler that runs trace after trace.
pub(crate) struct Runner {
    fresh: Box<dyn Machine>,
    run: Run,
    outcome: Outcome,
}

impl Runner {
    pub(crate) fn new(subject: &dyn Subject, window: Option<&[u64]>) -> Self {
        let fresh = subject.start(window);
        Self { run: Run::new(fresh.snapshot()), fresh, outcome: Outcome::default() }
    }

    /// An empty run.
    pub(crate) fn start(&self, tariff: &Tariff) -> Run {
        let mut run = Run::new(self.fresh.snapshot());
        run.reset(self.fresh.as_ref(), tariff);
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
        let Some(tariff) = tariff else {
            self.run.machine.restore(self.fresh.as_ref());
            self.outcome.run(self.run.machine.as_mut(), trace);
            let dropped = self.outcome.ranks.len() - self.outcome.sent.len();
            return (metric.value(&self.outcome, ranks), dropped as u64);
        };
        self.run.reset(self.fresh.as_ref(), tariff);
        for (index, rank) in trace.ranks.iter().enumerate() {
            self.run.arrive(*rank, trace.departures_after(index), tariff);
        }
        self.run.drain(tariff);
        (metric.finish(self.run.sum, self.run.sent), self.run.dropped)
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
}

impl<'a> Judge<'a> {
    /// Starts both schedulers.
    pub fn new(problem: &'a crate::Problem<'a>) -> Self {
        Self {
            problem,
            tariff: Tariff::of(problem.metric, &problem.ranks),
            a: Runner::new(problem.a, None),
            b: problem.b.map(|b| Runner::new(b, None)),
            window: None,
            evaluations: 0,
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
            return None;
        }
        let Some(second) = &mut self.b else { return Some(a) };
        let (b, dropped) = second.cost(trace, metric, ranks, tariff);
        if self.problem.no_drops && dropped > 0 { None } else { Some(a - b) }
    }
}
