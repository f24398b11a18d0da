//! Runs a scenario on one link: each scheduler on the same arrivals, on any number of threads, and collects the
//! measurements.

use super::feed::{Feed, Shared};
use super::pool::work_through;
use crate::error::Error;
use crate::extras::{BoxedObserver, Extras};
use crate::machine::available;
use crate::memory::Memory;
use crate::registry::BoxedScheduler;
use crate::report::measured::Measured;
use crate::report::one_link as tables;
use crate::report::{Progress, Report};
use crate::spec::one_link::{Metrics, OneLinkSpec};
use crate::spec::schedulers::build;
use crate::spec::workload::Workload;
use crate::spec::written::Spec;
use pifolab_metrics::{Departures, Drops, Inversions, QueueShares, Reordering, Samples, Sojourn, Unpifoness, measures};
use pifolab_sched::Used;
use pifolab_units::{Span, Time};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

impl OneLinkSpec {
    /// Runs all schedulers: see [`ValidSpec::run`](crate::ValidSpec::run). Progress counts packets.
    pub fn run(
        &self,
        seed: u64,
        workers: usize,
        extras: &dyn Extras,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Report, Error> {
        let memory = Memory::of_one_link(self, workers);
        memory.check(&self.common.file, available())?;
        let mut schedulers = Vec::with_capacity(self.schedulers.len());
        for spec in &self.schedulers {
            let built = build(&spec.chosen, self.rank.as_ref(), (seed, 0), extras);
            let fault = |problem: String| Spec::fault(&self.common.file, &spec.label, problem);
            schedulers.push((built.map_err(fault)?, extras.observer(seed, &spec.label).map_err(fault)?));
        }
        let shared = Shared::default();
        let work = |_, (mut scheduler, own): (BoxedScheduler, Option<BoxedObserver>)| {
            let measured = self.measure(Feed::new(self, seed, &shared), &mut scheduler, own);
            (!shared.cancelled.load(Ordering::Relaxed)).then_some(measured)
        };
        let (count, expected) = (schedulers.len(), self.expected_arrivals());
        let mut tell = |done| {
            progress(Progress {
                schedulers_done: done,
                schedulers: count,
                arrived: shared.arrived.load(Ordering::Relaxed),
                expected: expected.map(|arrivals| arrivals * count as f64),
                memory: memory.total(),
                network: None,
            })
        };
        let measured = work_through(schedulers, workers, &shared.cancelled, extras, work, &mut tell);
        if let Some(fault) = shared.fault.into_inner().expect("no thread panics while it holds the lock") {
            return Err(fault);
        }
        if measured.iter().all(Option::is_none) {
            return Err(Error::Cancelled);
        }
        Ok(tables::report(self, seed, &measured, extras))
    }

    /// The report of a run that ends before any packet comes.
    pub(crate) fn without_packets(&self, extras: &dyn Extras) -> Result<Report, Error> {
        let (seed, shared) = (self.common.seeds[0], Shared::default());
        // All schedulers, since a column may compare the others with one.
        let measured = self.schedulers.iter().map(|spec| {
            let built = build(&spec.chosen, self.rank.as_ref(), (seed, 0), extras);
            let mut scheduler = built.map_err(|problem| Spec::fault(&self.common.file, &spec.label, problem))?;
            let feed = Feed::new(self, seed, &shared).without_arrivals();
            Ok(Some(self.measure(feed, &mut scheduler, None)))
        });
        Ok(tables::report(self, seed, &measured.collect::<Result<Vec<_>, Error>>()?, extras))
    }

    fn measure(&self, feed: Feed<'_>, scheduler: &mut BoxedScheduler, mut own: Option<BoxedObserver>) -> Measured {
        let Metrics { sampling, max_samples, sample_window, .. } = self.metrics;
        let mut standard = (
            Inversions::default(),
            Drops::default(),
            Departures::default(),
            Unpifoness::default(),
            Sojourn::default(),
            Reordering::default(),
            QueueShares::new(self.link.rate, self.link.rounding),
        );
        let mut chosen = (Samples::new(sampling, max_samples, sample_window), measures(&self.metrics.wanted));
        let totals = self.link.run(feed, scheduler, &mut (&mut standard, &mut chosen, own.as_deref_mut()));
        let (inversions, drops, departures, unpifoness, sojourn, reordering, shares) = standard;
        let (samples, measures) = chosen;
        let mut used = Used::default();
        used.add(scheduler);
        Measured {
            totals,
            inversions,
            drops,
            departures,
            unpifoness,
            sojourn,
            reordering,
            shares,
            samples,
            measures,
            used,
        }
    }

    /// The approximate length of the run, if it is known before.
    pub(crate) fn expected_length(&self) -> Option<Span> {
        match &self.workload {
            Workload::Trace(traces) => Some(traces.last().since(Time::ZERO)),
            Workload::Synthetic(_) if self.arrivals_end < Time::MAX => Some(self.arrivals_end.since(Time::ZERO)),
            Workload::Synthetic(_) => None,
        }
    }

    /// The approximate number of packets that the link has not sent when the last one arrives, if none is dropped.
    pub(crate) fn expected_left(&self) -> f64 {
        let (Some(packets), Some(length)) = (self.expected_arrivals(), self.expected_length()) else { return 0.0 };
        let bytes = packets * self.workload.mean_packet();
        let sent = self.link.rate.as_bps() as f64 / 8.0 * length.as_s_f64();
        (bytes - sent).max(0.0) / self.workload.mean_packet().max(1.0)
    }

    /// The approximate number of arrivals at each scheduler, for progress bars.
    pub(crate) fn expected_arrivals(&self) -> Option<f64> {
        let packets = self.workload.expected_packets();
        let limit = (self.packets < u64::MAX).then_some(self.packets as f64);
        match (packets, limit) {
            (Some(packets), Some(limit)) => Some(packets.min(limit)),
            (packets, limit) => packets.or(limit),
        }
    }
}
