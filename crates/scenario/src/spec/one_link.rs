//! A scenario on one link: reads and checks the text for [`run`](OneLinkSpec::run).

use super::common::{Common, read_form, read_seeds, written_keys};
use super::one_link_fields::{LINK, METRICS, TOP};
use super::schedulers::{Chosen, SchedulerSpec, read_rank, read_schedulers, take_schedulers};
use super::words;
use super::workload::{Context, Workload};
use super::written::Spec;
use crate::error::{Error, SpecError};
use crate::extras::Extras;
use crate::fields::Reader;
use crate::registry;
use pifolab_metrics::{Sampling, Wanted};
use pifolab_params::{Misfit, Table};
use pifolab_sched::{Fact, Facts};
use pifolab_sim::one_link::{End, OneLink};
use pifolab_units::{Bytes, Span, Time};
use serde_json::{Map, Value as Json, json};

/// A checked scenario on one link.
#[derive(Debug)]
pub struct OneLinkSpec {
    pub(crate) common: Common,
    pub(crate) link: OneLink,
    /// The largest number of arrivals.
    pub(crate) packets: u64,
    /// No packet arrives at or after this time.
    pub(crate) arrivals_end: Time,
    pub(crate) workload: Workload,
    pub(crate) rank: Option<Chosen>,
    pub(crate) schedulers: Vec<SchedulerSpec>,
    pub(crate) metrics: Metrics,
}

/// Measurements beside the standard tables.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    pub(crate) sampling: Sampling,
    pub(crate) max_samples: usize,
    /// Whether samples hold the range of the scheduler's window.
    pub(crate) sample_window: bool,
    pub(crate) wanted: Wanted,
    /// The scheduler with which Delta compares the others, by its place in the list.
    pub(crate) delta_to: Option<usize>,
}

impl OneLinkSpec {
    pub(crate) fn new(spec: Spec, extras: &dyn Extras) -> Result<Self, Error> {
        let Spec { root, file, text, overrides, .. } = spec;
        let written = written_keys(&root);
        let mut top = Reader::new(root, &file, TOP)?;
        top.get::<String>("title")?;
        top.get::<String>("description")?;
        let seeds = read_seeds(&mut top)?;
        let form = read_form(&mut top)?;
        let duration = top.time("duration")?;
        if duration == Some(Span::ZERO) {
            return Err(top.fault(&top.written("duration"), Misfit::of(0, "expected a time above 0")).into());
        }
        let arrivals_end = duration.map_or(Time::MAX, |duration| Time::ZERO + duration);
        let packets = top.get::<u64>("packets")?;

        let link = top.table("link")?.expect("link is required");
        let mut link = Reader::new(link, &file, LINK)?;
        let rate = link.rate("rate")?.expect("rate is required");
        let rounding = link.given("rounding")?;
        let equal_times = link.given("tie")?;
        let rate_key = link.written("rate");
        let too_slow = link.fault(&rate_key, String::new());
        let link = link.finish()?;

        let mut resolved = Map::new();
        let rank = match top.table("rank")? {
            Some(section) => {
                let (rank, shown, facts) = read_rank(section, &file, extras)?;
                resolved.insert("rank".to_owned(), shown);
                Some((rank, facts))
            }
            None => None,
        };
        let carried = |facts: Facts| facts.contains(Fact::CarriedRank);
        let context = Context {
            file: &file,
            ranks_computed: rank.as_ref().is_some_and(|(_, facts)| !carried(facts.reads)),
            ranks_optional: rank.as_ref().is_some_and(|(_, facts)| carried(facts.reads - facts.needs)),
            end: arrivals_end,
            link: rate,
            extras,
        };
        let (workload, shown) = Workload::read(top.tables("workload")?, &context)?;
        resolved.insert("workload".to_owned(), shown);
        let largest = workload.largest_packet();
        if rate.checked_serialisation(Bytes(largest.into()), rounding).is_none() {
            let least = (u128::from(largest) * 8_000_000_000_000).div_ceil(u64::MAX.into());
            let problem = format!(
                "a packet of {largest} bytes would take more than 213 days: expected at least {least} b/s, or smaller packets"
            );
            return Err(SpecError { problem: Misfit::of(rate, problem), ..too_slow }.into());
        }
        if let Some((rank, facts)) = &rank {
            check_needs(rank, facts.needs, &workload, &top)?;
        }
        let rank = rank.map(|(rank, _)| rank);
        if duration.is_none() && packets.is_none() && !workload.ends() {
            let problem = "is missing: expected duration_s or packets, since the arrivals do not end by themselves";
            return Err(top.fault("duration_s", problem).into());
        }
        let (wanted, at) = (top.get("end")?, duration.map(|duration| End::Horizon(Time::ZERO + duration)));
        let end = match (wanted, at) {
            (Some(words::End::Horizon) | None, Some(horizon)) => horizon,
            (Some(words::End::Horizon), None) => {
                return Err(top.fault("end", Misfit::of("\"horizon\"", "expected a duration_s beside it")).into());
            }
            _ => End::Drain,
        };
        top.resolve("end", if end == End::Drain { words::End::Drain } else { words::End::Horizon });

        let schedulers = read_schedulers(take_schedulers(&mut top)?, &file, extras, workload.facts(), form)?;
        let metrics = top.table_or_empty("metrics")?;
        let (metrics, shown) = read_metrics(metrics, &file, &schedulers)?;
        resolved.insert("metrics".to_owned(), shown);
        let mut all = top.finish()?;
        all.insert("link".to_owned(), link.into());
        all.extend(resolved);
        let shown: Vec<Json> = schedulers.iter().map(|scheduler| scheduler.resolved.clone()).collect();
        all.insert("scheduler".to_owned(), shown.into());
        Ok(Self {
            common: Common { file, text, overrides, seeds, written, resolved: all.into() },
            link: OneLink { rate, rounding, equal_times, end },
            packets: packets.unwrap_or(u64::MAX),
            arrivals_end,
            workload,
            rank,
            schedulers,
            metrics,
        })
    }
}

impl OneLinkSpec {
    /// Whether a rank function or a scheduler may read hints.
    pub(crate) fn tells_facts(&self) -> bool {
        self.rank.is_some() || self.schedulers.iter().any(|scheduler| scheduler.wants.has_hints())
    }
}

/// Refuses a rank function that needs facts that the workload does not have.
fn check_needs(rank: &Chosen, needs: Facts, workload: &Workload, top: &Reader<'_>) -> Result<(), Error> {
    let Some(fact) = (needs - workload.facts()).first() else { return Ok(()) };
    let missing = match fact {
        Fact::FlowSize | Fact::Remaining => "the sizes of flows, which only a trace has",
        Fact::Deadline | Fact::RemainingTransmission => "deadlines: give the workload a deadline_us",
        Fact::Unacknowledged => "acknowledgements, which no packet on a single link gets",
        Fact::Class => "classes: give the trace a column class, or the workload several sources",
        Fact::Dscp | Fact::Hosts | Fact::Ports => "the headers of packets, which only a capture has",
        Fact::Ecn => "the ECN codepoints of packets, which only a network has",
        Fact::CarriedRank | Fact::DelaySoFar | Fact::MeanDelaySoFar | Fact::CarriedLabel => {
            unreachable!("every workload knows it")
        }
    };
    Err(top.fault("rank", format!("{} needs {missing}", rank.name)).into())
}

fn read_metrics(section: Table, file: &str, schedulers: &[SchedulerSpec]) -> Result<(Metrics, Json), Error> {
    let mut reader = Reader::new(section, file, METRICS)?;
    let every = reader.time("sample_every")?;
    let sampling = match every {
        Some(Span::ZERO) => {
            return Err(reader.fault(&reader.written("sample_every"), Misfit::of(0, "expected a time above 0")).into());
        }
        Some(every) => Sampling::Every(every),
        None => {
            let packets: u64 = reader.usual("sample_every_packets")?;
            reader.resolved.insert("sample_every_packets".to_owned(), packets.into());
            Sampling::EveryPackets(packets)
        }
    };
    let max_samples = reader.given::<usize>("max_samples")?;
    let sample_window = reader.given::<bool>("sample_window")?;
    let unpifoness_window = reader.get::<u64>("unpifoness_window_packets")?;
    let throughput_interval = reader.time("throughput_interval")?;
    // Intervals shorter than the wire time of a small packet at 1 Tb/s would fill the memory with useless rows.
    if let Some(interval) = throughput_interval.filter(|interval| *interval < Span::from_us(1)) {
        let problem = Misfit::of(interval, "expected a time of at least 1 us");
        return Err(reader.fault(&reader.written("throughput_interval"), problem).into());
    }
    let delta_to = match reader.get::<String>("delta_to")? {
        None => schedulers.iter().position(|scheduler| scheduler.chosen.traits().is_some_and(|traits| traits.ideal)),
        Some(label) => {
            let found = schedulers.iter().position(|scheduler| scheduler.label == label);
            if found.is_none() {
                let labels = || schedulers.iter().map(|scheduler| scheduler.label.as_str());
                return Err(reader.fault("delta_to", registry::unknown("scheduler", &label, labels, None)).into());
            }
            found
        }
    };
    let shown = delta_to.map_or(Json::Null, |place| json!(schedulers[place].label));
    reader.resolved.insert("delta_to".to_owned(), shown);
    let wanted = Wanted { unpifoness_window, throughput_interval };
    let metrics = Metrics { sampling, max_samples, sample_window, wanted, delta_to };
    Ok((metrics, reader.finish()?.into()))
}
