//! Runs a scenario on a network: each scheduler on the same flows, on any number of threads.

use super::pool::work_through;
use crate::error::Error;
use crate::extras::{BoxedObserver, Extras};
use crate::machine::available;
use crate::memory::Memory;
use crate::report::measured::NetworkRun;
use crate::report::network as tables;
use crate::report::record::recorders;
use crate::report::{NetworkProgress, Progress, Report};
use crate::spec::network::{NetworkSpec, flows_fault};
use crate::spec::schedulers::SchedulerSpec;
use crate::spec::written::Spec;
use pifolab_metrics::PortWatch;
use pifolab_sim::network::{Counters, Flow, Network, PartedRun, RunError, RunResult, Simulation, Watch};
use pifolab_sim::observer::Observer;
use pifolab_units::{Span, Time};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Events between two checks for a cancellation: some milliseconds.
const STEP: u64 = 1 << 16;

/// The cost of a packet of a flow that runs alone, relative to one in the whole network, without and with observers.
const ALONE: f64 = 0.8;
const ALONE_BESIDE_WATCHED: f64 = 0.3;

/// A run is divided only if each part has this many events between two meetings of the threads, which cost some ten
/// microseconds: that is a few per cent of the time of the events.
const EVENTS_FOR_A_MEETING: f64 = 4_000.0;
/// Packet-hops of a packet, of which each is an event.
const HOPS: f64 = 4.0;

/// The progress of one scheduler.
#[derive(Default)]
struct Reached {
    hops: AtomicU64,
    created: AtomicU64,
    ps: AtomicU64,
    events: AtomicU64,
    flows: AtomicU64,
    /// The number of flows whose time alone was measured; `packets_alone` is the number of packets that all flows alone
    /// make.
    alone: AtomicU64,
    packets_alone: AtomicU64,
}

impl Reached {
    fn note<O: Observer>(&self, simulation: &Simulation<'_, O>) {
        self.note_sums(simulation.counters(), simulation.now(), simulation.flows_done().0);
    }

    fn note_sums(&self, counters: &Counters, now: Time, flows: usize) {
        self.hops.store(counters.hops, Ordering::Relaxed);
        self.created.store(counters.created, Ordering::Relaxed);
        self.ps.store(now.as_ps(), Ordering::Relaxed);
        self.events.store(counters.events, Ordering::Relaxed);
        self.flows.store(flows as u64, Ordering::Relaxed);
    }

    /// The completed share of the work, including the flows that run alone afterwards, whose packets cost `cost`. It
    /// combines time and packets: if all flows start early, most of the time needs little work; under overload the time
    /// ends before all packets are sent.
    fn share(&self, end: Time, created: f64, flows: usize, cost: f64) -> f64 {
        let time = self.ps.load(Ordering::Relaxed) as f64 / end.as_ps() as f64;
        let packets = self.created.load(Ordering::Relaxed) as f64 / created.max(1.0);
        let then_alone = cost * self.packets_alone.load(Ordering::Relaxed) as f64 / created.max(1.0);
        let alone = self.alone.load(Ordering::Relaxed) as f64 / flows.max(1) as f64;
        (time.max(packets.min(0.99)) + then_alone * alone) / (1.0 + then_alone)
    }
}

/// The progress and the end of a run on several threads.
struct Several<'a> {
    reached: &'a Reached,
    cancelled: &'a AtomicBool,
}

impl Watch for Several<'_> {
    fn wants_end(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    fn note(&self, counters: &Counters, now: Time, (flows, _): (usize, usize)) {
        self.reached.note_sums(counters, now, flows);
    }
}

/// The complete flows of a run: only those have a slowdown.
fn completed(result: &RunResult) -> impl Fn(usize) -> bool + '_ {
    |flow| result.flows[flow].fct.is_some()
}

impl NetworkSpec {
    /// Runs all schedulers: see [`ValidSpec::run`](crate::ValidSpec::run). Progress counts packet-hops, and a cancelled
    /// run ends at its present time.
    pub fn run(
        &self,
        seed: u64,
        workers: usize,
        extras: &dyn Extras,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Report, Error> {
        let memory = Memory::of_network(self, workers);
        memory.check(&self.common.file, available())?;
        let flows = self.flows(seed);
        let created = self.expected_packets(&flows);
        let mut networks = Vec::with_capacity(self.schedulers.len());
        for scheduler in &self.schedulers {
            let network = self.network(scheduler, seed, extras)?;
            let own = extras.observer(seed, &scheduler.label);
            networks.push((network, own.map_err(|problem| Spec::fault(&self.common.file, &scheduler.label, problem))?));
        }
        let cost = if self.metrics.watch_ports { ALONE_BESIDE_WATCHED } else { ALONE };
        let cancelled = AtomicBool::new(false);
        let reached: Vec<Reached> = networks.iter().map(|_| Reached::default()).collect();
        let count = networks.len();
        let rebuildable: Vec<bool> = self.schedulers.iter().map(|scheduler| self.is_rebuildable(scheduler)).collect();
        let whole: Vec<Option<&str>> = networks
            .iter()
            .zip(&rebuildable)
            .map(|((network, own), made)| self.whole_because(network, own, *made))
            .collect();
        let most = self.parts_worth(&flows).min((workers / count.max(1)) as f64) as u32;
        let work = |index: usize, (network, own): (Network, Option<BoxedObserver>)| {
            let run = || {
                if rebuildable[index] {
                    let packets = self.packets_alone(&network, &flows, &cancelled);
                    reached[index].packets_alone.store(packets as u64, Ordering::Relaxed);
                }
                let mut run = if whole[index].is_none() && most > 1 {
                    let several = Several { reached: &reached[index], cancelled: &cancelled };
                    self.simulate_in_parts(&network, &flows, most, &several)?
                } else {
                    self.simulate(&network, &flows, own, &reached[index], &cancelled)?
                };
                run.whole = whole[index].filter(|_| self.is_by_place());
                if rebuildable[index] {
                    let done = completed(&run.result);
                    let wanted = |flow| {
                        reached[index].alone.store(flow as u64, Ordering::Relaxed);
                        done(flow) && !cancelled.load(Ordering::Relaxed)
                    };
                    let ideal = network.ideal_fcts(&flows, wanted);
                    run.ideal = ideal.map_err(|error| self.failed(error))?;
                    run.interrupted |= cancelled.load(Ordering::Relaxed);
                }
                reached[index].alone.store(flows.len() as u64, Ordering::Relaxed);
                Ok::<NetworkRun, Error>(run)
            };
            (!cancelled.load(Ordering::Relaxed)).then(run)
        };
        let mut tell = |done| {
            let sum = |of: fn(&Reached) -> &AtomicU64| {
                reached.iter().map(|reached| of(reached).load(Ordering::Relaxed)).sum::<u64>()
            };
            let (hops, seconds) = (sum(|reached| &reached.hops), |ps: u64| ps as f64 / 1e12);
            let share =
                reached.iter().map(|one| one.share(self.end, created, flows.len(), cost)).sum::<f64>() / count as f64;
            let network = NetworkProgress {
                simulated_s: seconds(sum(|reached| &reached.ps)),
                duration_s: seconds(self.end.as_ps()) * count as f64,
                events: sum(|reached| &reached.events),
                flows_done: sum(|reached| &reached.flows),
                flows: flows.len() as u64 * count as u64,
            };
            progress(Progress {
                schedulers_done: done,
                schedulers: count,
                arrived: hops,
                expected: (share > 0.0).then(|| hops as f64 / share),
                memory: memory.total(),
                network: Some(network),
            })
        };
        let runs = work_through(networks, workers, &cancelled, extras, work, &mut tell);
        let mut runs = runs.into_iter().map(Option::transpose).collect::<Result<Vec<_>, _>>()?;
        if runs.iter().all(Option::is_none) {
            return Err(Error::Cancelled);
        }
        for (scheduler, run) in self.schedulers.iter().zip(&mut runs) {
            if let Some(run) = run
                && !self.is_rebuildable(scheduler)
            {
                run.ideal = self.ideal_of_guests(scheduler, seed, extras, &flows, &run.result)?;
            }
        }
        Ok(tables::report(self, seed, &flows, &runs, extras))
    }

    /// Why the run of a scheduler cannot be divided among threads, if so. `made`: its ports hold nothing of the user's.
    fn whole_because(&self, network: &Network, own: &Option<BoxedObserver>, made: bool) -> Option<&'static str> {
        if !made {
            return Some("it has parts of the user's own");
        }
        if own.is_some() {
            return Some("an observer of the user's follows all packets in one order");
        }
        if self.record.is_some() {
            return Some("[record] keeps the order of all packets");
        }
        network.whole_because()
    }

    /// The number of parts into which a run may be divided at a profit: an estimate from the packets between two meetings of
    /// threads, which are as far apart as the shortest delay of a link.
    fn parts_worth(&self, flows: &[Flow]) -> f64 {
        let topology = &self.layout.topology;
        let window = topology.shortest_delay().as_s_f64();
        let packet_bits = 8.0 * f64::from(self.segment_bytes() + self.wire().1);
        let rates =
            topology.links.iter().filter(|link| link.from < topology.hosts).map(|link| link.rate.as_bps() as f64);
        let at_most = rates.sum::<f64>() / packet_bits;
        let wanted = self.expected_packets(flows) / self.end.as_s_f64();
        HOPS * window * wanted.min(at_most) / EVENTS_FOR_A_MEETING
    }

    /// The approximate number of packets of flows that run alone, once for each size and kind of path.
    fn packets_alone(&self, network: &Network, flows: &[Flow], cancelled: &AtomicBool) -> f64 {
        let mut packets = 0.0;
        let count = |flow: &Flow| {
            packets += self.expected_packets(std::slice::from_ref(flow));
            Ok::<_, Infallible>(None)
        };
        let Ok(_) = network.ideal_fcts_by(flows, |_| !cancelled.load(Ordering::Relaxed), count);
        packets
    }

    /// The report of a run of the first scheduler that ends before any flow starts, for its empty tables.
    pub(crate) fn without_flows(&self, extras: &dyn Extras) -> Result<Report, Error> {
        let seed = self.common.seeds[0];
        let network = self.network(&self.schedulers[0], seed, extras)?;
        let rates = self.layout.topology.links.iter().map(|link| link.rate);
        let mut watch = self.metrics.watch_ports.then(|| PortWatch::new(rates, self.wire().0));
        let mut recorded = recorders(self, 0);
        let mut observers = (&mut watch, &mut recorded);
        let simulation = network.simulation(&[], &mut observers).map_err(|error| self.failed(error))?;
        let result = simulation.finish().map_err(|error| self.failed(error))?;
        let (began, ended, ideal) = (None, None, Vec::new());
        let run = NetworkRun { result, began, ended, ideal, watch, recorded, interrupted: false, whole: None };
        Ok(tables::report(self, seed, &[], &[Some(run)], extras))
    }

    fn simulate(
        &self,
        network: &Network,
        flows: &[Flow],
        mut own: Option<BoxedObserver>,
        reached: &Reached,
        cancelled: &AtomicBool,
    ) -> Result<NetworkRun, Error> {
        let rates = self.layout.topology.links.iter().map(|link| link.rate);
        let mut watch = self.metrics.watch_ports.then(|| PortWatch::new(rates, self.wire().0));
        let mut recorded = recorders(self, flows.len());
        let mut interrupted = false;
        let (from, until) = (self.metrics.from, self.metrics.until);
        let mut snapshots = [None, None];
        let stop = || cancelled.load(Ordering::Relaxed);
        let mut run = || -> Result<RunResult, RunError> {
            let mut observers = (&mut watch, own.as_deref_mut(), &mut recorded);
            let mut simulation = network.simulation(flows, &mut observers)?;
            simulation.stop_if(&stop);
            let pauses = [(from > Time::ZERO).then_some(from), (until < self.end).then_some(until), None];
            for (place, pause) in pauses.into_iter().enumerate() {
                if (place < 2 && pause.is_none()) || interrupted {
                    continue;
                }
                simulation.pause_at(pause);
                while simulation.advance(STEP)? {
                    reached.note(&simulation);
                    if cancelled.load(Ordering::Relaxed) {
                        interrupted = true;
                        break;
                    }
                }
                if let Some(pause) = pause.filter(|_| !interrupted) {
                    snapshots[place] = Some(simulation.snapshot(pause));
                }
            }
            reached.note(&simulation);
            if !interrupted {
                reached.ps.store(self.end.as_ps(), Ordering::Relaxed);
            }
            simulation.finish()
        };
        match run() {
            Ok(result) => {
                let [began, ended] = snapshots;
                Ok(NetworkRun { result, began, ended, ideal: Vec::new(), watch, recorded, interrupted, whole: None })
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// As [`simulate`](Self::simulate), on several threads.
    fn simulate_in_parts(
        &self,
        network: &Network,
        flows: &[Flow],
        parts: u32,
        watch: &Several<'_>,
    ) -> Result<NetworkRun, Error> {
        let rates = || self.layout.topology.links.iter().map(|link| link.rate);
        let observer = || self.metrics.watch_ports.then(|| PortWatch::new(rates(), self.wire().0));
        let (from, until) = (self.metrics.from, self.metrics.until);
        let wanted = [from > Time::ZERO, until < self.end];
        let pauses: Vec<Time> =
            [from, until].into_iter().zip(wanted).filter_map(|(time, wanted)| wanted.then_some(time)).collect();
        let run = network.run_in_parts(flows, parts, &pauses, &observer, watch).map_err(|error| self.failed(error))?;
        let PartedRun { result, snapshots, observers, part_of, interrupted, .. } = run;
        let mut snapshots = snapshots.into_iter();
        let [began, ended] = wanted.map(|wanted| if wanted { snapshots.next() } else { None });
        let mut watches = observers.into_iter().zip(0u32..);
        let mut watched = watches.next().and_then(|(watch, _)| watch);
        for (other, part) in watches {
            if let (Some(watched), Some(other)) = (&mut watched, other) {
                watched.join(other, |port| part_of[port] == part);
            }
        }
        let (watch, recorded, whole) = (watched, None, None);
        Ok(NetworkRun { result, began, ended, ideal: Vec::new(), watch, recorded, interrupted, whole })
    }

    /// The ideal completion times if ports hold objects of the user's: each flow has its own network, made on this
    /// thread, the only one that may call the extras.
    fn ideal_of_guests(
        &self,
        scheduler: &SchedulerSpec,
        seed: u64,
        extras: &dyn Extras,
        flows: &[Flow],
        result: &RunResult,
    ) -> Result<Vec<Option<Span>>, Error> {
        let network = || self.network(scheduler, seed, extras);
        network()?.ideal_fcts_by(flows, completed(result), |flow| {
            network()?.without_end().fct_alone(flow).map_err(|error| self.failed(error))
        })
    }

    /// The network of one scheduler.
    fn network(&self, scheduler: &SchedulerSpec, seed: u64, extras: &dyn Extras) -> Result<Network, Error> {
        let config = self.config(scheduler, seed, extras);
        let config = config.map_err(|problem| Spec::fault(&self.common.file, &scheduler.label, problem))?;
        let network = Network::new_unless(config, &|| extras.interrupted());
        let network = network.map_err(|error| Spec::fault(&self.common.file, &error.owner, error.to_string()))?;
        network.ok_or(Error::Cancelled)
    }

    /// # Panics
    /// If packets were not conserved.
    fn failed(&self, error: RunError) -> Error {
        match error {
            RunError::NotConserved { .. } => panic!("{error}"),
            _ => flows_fault(&self.common.file, error.to_string()).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ValidSpec;
    use crate::testing::read;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_packets_of_flows_that_run_alone_are_foretold_to_a_factor_of_two(
            topology in prop_oneof![
                Just("kind = \"single-switch\", hosts = 4, rate_gbps = 1"),
                Just("kind = \"leaf-spine\", leaves = 3, spines = 2, hosts_per_leaf = 4, access_rate_gbps = 1, fabric_rate_gbps = 4"),
                Just("kind = \"fat-tree\", k = 4, access_rate_gbps = 10"),
            ],
            sizes in prop_oneof![
                Just("sizes = \"fixed\"\nsize_bytes = 20_000"),
                Just("sizes = \"uniform\"\nlow_bytes = 1_000\nhigh_bytes = 100_000"),
                Just("sizes = \"hadoop\""),
            ],
            transport in prop_oneof![
                Just("name = \"newreno\""), Just("name = \"pfabric\""), Just("name = \"udp\"\npayload_bytes = 1000\ninterval_us = 10"),
            ],
            flows in 1u32..40,
            seed in 1u64..1000,
        ) {
            let text = format!(
                "duration_ms = 1\n[topology]\n{}\ndelay_us = 1\n[transport]\n{transport}\n[workload.flows]\narrivals = \"poisson\"\n\
                 starts_per_s = 1e6\nmax_flows = {flows}\n{sizes}\npairs = \"uniform\"\n[[scheduler]]\nname = \"pifo\"\n",
                topology.replace(", ", "\n")
            );
            let Ok(ValidSpec::Network(spec)) = read(&text, &[]) else { panic!("{text}") };
            let flows = spec.flows(seed);
            let network = spec.network(&spec.schedulers[0], seed, &()).unwrap();
            let mut made = 0;
            let alone = |flow: &Flow| {
                let run = network.without_end().run(&[Flow { start: Time::ZERO, ..*flow }], &mut ())?;
                made += run.counters.created;
                Ok::<_, RunError>(run.flows[0].fct)
            };
            network.ideal_fcts_by(&flows, |_| true, alone).unwrap();
            let (told, made) = (spec.packets_alone(&network, &flows, &AtomicBool::new(false)), made as f64);
            prop_assert!(told <= 2.0 * made && made <= 2.0 * told, "{told} told, {made} made:\n{text}");
        }
    }

    #[test]
    fn the_share_of_a_run_that_is_done_counts_the_flows_that_run_alone_afterwards() {
        let reached = Reached::default();
        let end = Time::from_ns(100);
        reached.packets_alone.store(1000, Ordering::Relaxed);
        let share = |cost| reached.share(end, 1000.0, 10, cost);
        reached.ps.store(end.as_ps(), Ordering::Relaxed);
        assert_eq!([share(0.0), share(1.0), share(3.0)], [1.0, 0.5, 0.25]);
        reached.alone.store(5, Ordering::Relaxed);
        assert_eq!([share(0.0), share(1.0), share(3.0)], [1.0, 0.75, 0.625]);
    }
}
