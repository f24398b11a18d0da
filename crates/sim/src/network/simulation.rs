//! A checked network, and runs of flows over it.

use super::config::{Config, Ranks, Transports};
use super::engine::parts::{PartedRun, Watch, run_in_parts};
use super::engine::{Cut, Full, FullByPlace, FullSteps, Plain, PlainByPlace, PlainSteps, Run, Steps, together_because};
use super::error::ConfigError;
use super::result::{Counters, RunError, RunResult, Snapshot};
use super::routing::{Routes, Routing};
use super::topology::{Link, Topology};
use crate::equal_times::EqualTimes;
use crate::observer::Observer;
use pifolab_units::{Span, Time};
use pifolab_workload::flows::Flow;
use std::marker::PhantomData;

/// A checked network, ready to run flows.
#[derive(Clone, Debug)]
pub struct Network {
    config: Config,
    transports: Transports,
    routes: Routes,
}

impl Network {
    /// Checks `config` and computes all routes.
    ///
    /// # Errors
    /// Names the first invalid field, its value, and what was expected.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        Ok(Self::new_unless(config, &|| false)?.expect("nobody stops it"))
    }

    /// As [`new`](Self::new), but `None` soon after `stop` returns true. It is called every few milliseconds while
    /// routes are computed, which takes long in large networks that are neither leaf-spine fabrics nor fat trees.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn new_unless(config: Config, stop: &dyn Fn() -> bool) -> Result<Option<Self>, ConfigError> {
        config.check()?;
        let transports = config.transports()?;
        config.check_times(transports.segment_bytes())?;
        let routes = Routes::new(&config.topology, config.routing, stop);
        Ok(routes.map(|routes| Self { config, transports, routes }))
    }

    /// The checked configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The same routes and transport under a changed configuration of the same topology.
    pub(super) fn with_config(&self, config: Config) -> Self {
        Self { config, transports: self.transports.clone(), routes: self.routes.clone() }
    }

    /// The same nodes, transport and ports with other links, which must be valid.
    pub(super) fn with_links(&self, links: Vec<Link>) -> Self {
        let topology = Topology { links, ..self.config.topology };
        let routes = Routes::new(&topology, self.config.routing, &|| false).expect("nobody stops it");
        Self { config: Config { topology, ..self.config.clone() }, transports: self.transports.clone(), routes }
    }

    pub(super) fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Runs `flows` to the end of the run.
    ///
    /// # Errors
    /// If a flow does not fit the network, or packets are not conserved.
    pub fn run<O: Observer>(&self, flows: &[Flow], observer: &mut O) -> Result<RunResult, RunError> {
        let mut simulation = self.simulation(flows, observer)?;
        while simulation.advance(u64::MAX)? {}
        simulation.finish()
    }

    /// Prepares a run of `flows` that the caller advances step by step.
    ///
    /// # Errors
    /// If a flow does not fit the network.
    pub fn simulation<'a, O: Observer>(
        &'a self,
        flows: &'a [Flow],
        observer: &'a mut O,
    ) -> Result<Simulation<'a, O>, RunError> {
        let routes = self.check_flows(flows)?;
        Ok(Simulation { run: self.in_mode(flows, routes, observer)?, observer: PhantomData })
    }

    /// Why a run cannot be divided among threads, if so. Otherwise [`run_in_parts`](Self::run_in_parts) can. Makes a scheduler
    /// of each kind of port to learn what it reads.
    pub fn whole_because(&self) -> Option<&'static str> {
        let Config { equal_times, routing, ranks, forwarders, topology, .. } = &self.config;
        let reasons = [
            (*equal_times != EqualTimes::ByPlace, "events of equal time are not ordered by place"),
            (!self.transports.are_tcp(), "its transport is not one of the library's TCPs"),
            (matches!(routing, Routing::Spray { .. }), "packets are sprayed by one sequence of draws"),
            (matches!(ranks, Ranks::Drawn { .. }), "ranks are drawn from one sequence"),
            (forwarders.is_some(), "a program forwards packets"),
            (topology.shortest_delay() == Span::ZERO, "a link has no delay"),
        ];
        let reason = reasons.into_iter().find_map(|(holds, reason)| holds.then_some(reason));
        reason.or_else(|| together_because(&self.config))
    }

    /// Runs `flows` on `parts` threads, each with a part of the network and an observer of its own. The result does not
    /// depend on their number. At each of `pauses`, in ascending order, all accounts are noted.
    ///
    /// # Errors
    /// If a flow does not fit the network, or packets are not conserved.
    ///
    /// # Panics
    /// If the run [must stay whole](Self::whole_because), or `parts` is 0.
    pub fn run_in_parts<O: Observer + Send>(
        &self,
        flows: &[Flow],
        parts: u32,
        pauses: &[Time],
        observer: &(impl Fn() -> O + Sync),
        watch: &dyn Watch,
    ) -> Result<PartedRun<O>, RunError> {
        assert_eq!(self.whole_because(), None, "the run cannot be divided");
        let routes = self.check_flows(flows)?;
        let cuts = Cut::of(&self.config.topology, parts);
        run_in_parts((&self.config, &self.transports, &routes), flows, cuts, pauses, observer, watch)
    }

    /// Checks that each flow fits the network; returns the routes.
    fn check_flows(&self, flows: &[Flow]) -> Result<Routes, RunError> {
        self.config.check_flows(flows, self.transports.max_flow_bytes())?;
        let mut routes = self.routes.clone();
        for (index, flow) in flows.iter().enumerate() {
            for (from, to) in [(flow.src, flow.dst), (flow.dst, flow.src)] {
                if routes.next_port(from, to, 0).is_none() {
                    return Err(RunError::Unreachable { index, flow: *flow });
                }
            }
        }
        Ok(routes)
    }

    /// Makes the run in the mode that fits its features; no other place chooses the mode.
    fn in_mode<'a, O: Observer>(
        &'a self,
        flows: &'a [Flow],
        routes: Routes,
        observer: &'a mut O,
    ) -> Result<Box<dyn Steps<'a> + 'a>, RunError> {
        let plain = self.config.is_plain() && !observer.watches() && !observer.follows();
        let (config, transports) = (&self.config, &self.transports);
        macro_rules! run {
            ($mode:ty) => {
                Box::new(Run::<O, $mode>::new(config, transports, routes, flows, observer, Cut::default())?)
            };
        }
        Ok(match (config.equal_times, plain) {
            (EqualTimes::DeparturesFirst, true) => run!(Plain),
            (EqualTimes::DeparturesFirst, false) => run!(Full),
            (EqualTimes::ByPlace, true) => run!(PlainByPlace),
            (EqualTimes::ByPlace, false) => run!(FullByPlace),
            (EqualTimes::Insertion | EqualTimes::NetbenchBatch, true) => run!(PlainSteps),
            (EqualTimes::Insertion | EqualTimes::NetbenchBatch, false) => run!(FullSteps),
        })
    }
}

/// A run in progress.
pub struct Simulation<'a, O> {
    run: Box<dyn Steps<'a> + 'a>,
    observer: PhantomData<&'a mut O>,
}

impl<'a, O: Observer> Simulation<'a, O> {
    /// Runs up to `events` events; returns `false` when the run is over or has reached its pause.
    ///
    /// # Errors
    /// If packets are not conserved.
    pub fn advance(&mut self, events: u64) -> Result<bool, RunError> {
        self.run.advance(events)
    }

    /// Makes the computation of new routes, after a link failed or was repaired, stop once `stop` returns true. No
    /// event happens after that: the caller must end the run.
    pub fn stop_if(&mut self, stop: &'a dyn Fn() -> bool) {
        self.run.stop_if(stop);
    }

    /// Makes [`advance`](Self::advance) pause at `time`; `None`: at the end of the run.
    pub fn pause_at(&mut self, time: Option<Time>) {
        self.run.pause_at(time);
    }

    /// The accounts at `time`, the time of the pause or of the last event. Since ports decide lazily, each may have
    /// started one packet more than in its account. Changes nothing.
    pub fn snapshot(&mut self, time: Time) -> Snapshot {
        self.run.snapshot(time)
    }

    /// The time of the last event.
    pub fn now(&self) -> Time {
        self.run.now()
    }

    /// The counters so far.
    pub fn counters(&self) -> &Counters {
        self.run.counters()
    }

    /// The numbers of complete and of started flows.
    pub fn flows_done(&self) -> (usize, usize) {
        self.run.flows_done()
    }

    /// Completes the accounts, at the end of the run or where it was interrupted.
    ///
    /// # Errors
    /// If packets are not conserved.
    pub fn finish(self) -> Result<RunResult, RunError> {
        self.run.finish()
    }
}
