//! The cost of a trace while it runs: what the guided search computes a million times per second.

use crate::machine::{Machine, Probe, Subject};
use crate::metric::{Amount, Metric, Ranks};
use crate::outcome::Outcome;
use crate::trace::Trace;
use pifolab_sched::{Dequeued, Enqueued, Item};

/// Prices as tables over ranks.
#[derive(Debug)]
pub struct Tariff {
    lowest: u64,
    symbols: usize,
    drop: Vec<i64>,
    /// `overtake[later * symbols + first]`; empty if all are 0.
    overtake: Vec<i64>,
}

impl Tariff {
    /// The prices of `metric`; `None` if it has none.
    pub(crate) fn of(metric: &dyn Metric, ranks: &Ranks) -> Option<Self> {
        if !metric.is_priced() {
            return None;
        }
        let alphabet = || ranks.lowest..=ranks.highest;
        let pair = |later| alphabet().map(move |first| metric.overtake_price(first, later, ranks));
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

/// What a trace has cost one scheduler so far.
#[derive(Debug, Default)]
pub struct Tally {
    /// For each rank: what it costs at once if a packet of this rank leaves, given what waits.
    due: Vec<i64>,
    pub(crate) sum: i64,
    pub(crate) sent: u64,
    pub(crate) dropped: u64,
    arrived: usize,
}

impl Tally {
    fn take_over(&mut self, other: &Self) {
        self.due.clone_from(&other.due);
        (self.sum, self.sent, self.dropped, self.arrived) = (other.sum, other.sent, other.dropped, other.arrived);
    }

    fn reset(&mut self, tariff: &Tariff) {
        self.due.clear();
        self.due.resize(if tariff.overtake.is_empty() { 0 } else { tariff.symbols }, 0);
        (self.sum, self.sent, self.dropped, self.arrived) = (0, 0, 0, 0);
    }

    /// Lets a packet arrive, and then so many leave.
    #[inline(always)]
    fn arrive<M: Machine + ?Sized>(&mut self, machine: &mut M, rank: u64, departures: u32, tariff: &Tariff) {
        let own = tariff.symbol(rank);
        match machine.enqueue(Probe::new(self.arrived, rank)) {
            Enqueued::Admitted { .. } => self.hold(own, tariff),
            Enqueued::Evicted { victims, .. } => {
                self.hold(own, tariff);
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
            if !self.depart(machine, tariff) {
                break;
            }
        }
    }

    #[inline(always)]
    fn hold(&mut self, symbol: usize, tariff: &Tariff) {
        if !tariff.overtake.is_empty() {
            let column = &tariff.overtake[symbol * tariff.symbols..][..tariff.symbols];
            self.due.iter_mut().zip(column).for_each(|(due, price)| *due += price);
        }
    }

    #[inline(always)]
    fn release(&mut self, symbol: usize, tariff: &Tariff) {
        if !tariff.overtake.is_empty() {
            let column = &tariff.overtake[symbol * tariff.symbols..][..tariff.symbols];
            self.due.iter_mut().zip(column).for_each(|(due, price)| *due -= price);
            self.sum += self.due[symbol];
        }
    }

    fn lose(&mut self, symbol: usize, tariff: &Tariff) {
        self.dropped += 1;
        let sum = self.sum;
        self.release(symbol, tariff);
        self.sum = sum + tariff.drop[symbol];
    }

    /// Lets one packet leave; `false` if none is left. It costs its price with every packet that still waits.
    #[inline(always)]
    fn depart<M: Machine + ?Sized>(&mut self, machine: &mut M, tariff: &Tariff) -> bool {
        loop {
            match machine.dequeue() {
                Dequeued::Packet { packet, .. } => {
                    self.sent += 1;
                    self.release(tariff.symbol(packet.rank().get()), tariff);
                    return true;
                }
                Dequeued::Dropped { packet, .. } => self.lose(tariff.symbol(packet.rank().get()), tariff),
                Dequeued::NotBefore(_) | Dequeued::Empty => return false,
            }
        }
    }

    #[inline(always)]
    fn drain<M: Machine + ?Sized>(&mut self, machine: &mut M, tariff: &Tariff) {
        while self.depart(machine, tariff) {}
    }

    /// Lets a whole trace arrive, and then all leave.
    #[inline(always)]
    pub(crate) fn play<M: Machine + ?Sized>(&mut self, machine: &mut M, trace: &Trace, tariff: &Tariff) {
        self.reset(tariff);
        if trace.departures.is_empty() {
            for rank in &trace.ranks {
                self.arrive(machine, *rank, 0, tariff);
            }
        } else {
            for (index, rank) in trace.ranks.iter().enumerate() {
                self.arrive(machine, *rank, trace.departures_after(index), tariff);
            }
        }
        self.drain(machine, tariff);
    }
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
