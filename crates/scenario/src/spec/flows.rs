//! `[workload]` of a network: flows from lists and from sources.

use super::network_fields::{FLOWS, WORKLOAD};
use super::words::{FlowArrival, FlowSize, ListFormat, PairKind};
use super::written::beside;
use crate::error::{Error, SpecError};
use crate::extras::Extras;
use crate::fields::Reader;
use crate::inputs::{note, read_digested, read_unless};
use pifolab_params::{FromValue, Misfit, Table};
use pifolab_units::{Rate, Span, Time};
use pifolab_workload::flows::{
    CdfFile, Flow, FlowArrivals, FlowSizes, FlowSource, NetbenchFlows, NetbenchFork, NetbenchPairs, Pairs, flows_from,
    hpcc_flows_from, htsim_flows_from, starts_per_s_for_load,
};
use pifolab_workload::{ParameterError, Stream};
use serde_json::{Value as Json, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The rest of the scenario that reading flows needs.
pub(crate) struct FlowContext<'a> {
    pub(crate) file: &'a str,
    pub(crate) hosts: u32,
    /// The numbers of the hosts in the file of the network, ascending; empty if they are the same.
    pub(crate) host_ids: &'a [u32],
    pub(crate) switches: u32,
    /// Hosts per rack, if the network has racks.
    pub(crate) rack: Option<u32>,
    /// The rate of the hosts' links.
    pub(crate) access: Rate,
    pub(crate) end: Time,
    /// Whether the scenario has a profile, which repeats a published simulation without the usual defaults.
    pub(crate) profile: bool,
    pub(crate) extras: &'a dyn Extras,
}

/// Reads a word that has a default unless there is a profile.
fn usual<T: FromValue>(reader: &mut Reader<'_>, context: &FlowContext<'_>, name: &str) -> Result<T, SpecError> {
    if context.profile && !reader.has(name) {
        let problem = format!("is missing: {}; with a profile it has no default", reader.expected(name));
        return Err(reader.fault(name, problem));
    }
    reader.given(name)
}

/// A source of flows.
#[derive(Clone, Debug)]
pub(crate) enum Flows {
    /// Flows from a file; each starts later by a time below `within` that is drawn from the seed of the run.
    List { flows: Arc<Vec<Flow>>, within: Span },
    /// Drawn from the seed of the run.
    Drawn(FlowSource),
    /// Drawn as a published simulator does.
    Netbench {
        fork: NetbenchFork,
        seed: i64,
        starts_per_s: u64,
        hosts: u32,
        pairs: NetbenchPairs,
        sizes: FlowSizes,
        end: Time,
    },
}

/// Expected totals of flows, before they are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub(crate) flows: f64,
    /// Their total bytes.
    pub(crate) bytes: f64,
    /// The time over which they start, in seconds.
    pub(crate) starts_s: f64,
    /// The number of receiving hosts.
    pub(crate) receivers: f64,
    /// Flows of one start at one receiver.
    pub(crate) at_one_receiver: f64,
}

impl Expected {
    /// Both sources side by side.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            flows: self.flows + other.flows,
            bytes: self.bytes + other.bytes,
            starts_s: self.starts_s.max(other.starts_s),
            receivers: self.receivers.max(other.receivers),
            at_one_receiver: self.at_one_receiver.max(other.at_one_receiver),
        }
    }
}

impl Flows {
    /// The expected totals among `hosts` hosts.
    pub(crate) fn expected(&self, hosts: u32) -> Expected {
        match self {
            Self::List { flows, within } => {
                let starts = || flows.iter().map(|flow| flow.start);
                let starts_s =
                    starts().max().zip(starts().min()).map_or(0.0, |(last, first)| last.since(first).as_s_f64())
                        + within.as_s_f64();
                let receivers: HashSet<u32> = flows.iter().map(|flow| flow.dst).collect();
                let bytes = flows.iter().map(|flow| flow.bytes as f64).sum();
                let (flows, receivers) = (flows.len() as f64, receivers.len() as f64);
                Expected { flows, bytes, starts_s, receivers, at_one_receiver: 1.0 }
            }
            Self::Drawn(source) => {
                let length = source.end.since(source.start).as_s_f64();
                let starts = match source.arrivals {
                    FlowArrivals::Poisson { starts_per_s } | FlowArrivals::Pareto { starts_per_s, .. } => {
                        starts_per_s * length
                    }
                    FlowArrivals::Periodic { period } => length / period.as_s_f64(),
                };
                let all = starts * source.pairs.flows_per_start(source.hosts) as f64;
                let flows = all.min(source.flows as f64);
                let (receivers, at_one_receiver) = match source.pairs {
                    Pairs::Incast { senders, receiver } => {
                        (if receiver.is_some() { 1.0 } else { f64::from(hosts) }, f64::from(senders))
                    }
                    Pairs::AllToAll => (f64::from(hosts), f64::from(hosts.saturating_sub(1))),
                    _ => (f64::from(hosts), 1.0),
                };
                let starts_s = if all > 0.0 { length * flows / all } else { 0.0 };
                Expected { flows, bytes: flows * source.sizes.mean(), starts_s, receivers, at_one_receiver }
            }
            Self::Netbench { starts_per_s, sizes, end, .. } => {
                let starts_s = end.since(Time::ZERO).as_s_f64();
                let flows = *starts_per_s as f64 * starts_s;
                let receivers = f64::from(hosts);
                Expected { flows, bytes: flows * sizes.mean(), starts_s, receivers, at_one_receiver: 1.0 }
            }
        }
    }

    /// Whether the flows depend on the seed of the run.
    pub(crate) fn is_drawn(&self) -> bool {
        match self {
            Self::List { within, .. } => *within > Span::ZERO,
            Self::Drawn(_) => true,
            Self::Netbench { .. } => false,
        }
    }

    /// The flows of the run with seed `seed`; `place` is the position of the source among those of the run.
    fn draw(&self, seed: u64, place: usize) -> Result<Vec<Flow>, ParameterError> {
        match self {
            Self::List { flows, within } => {
                let mut flows = flows.to_vec();
                if *within > Span::ZERO {
                    let mut stream = Stream::named(seed, &format!("flows/{place}/starts"));
                    for flow in &mut flows {
                        flow.start = flow.start.saturating_add(Span::from_ps(stream.below(within.as_ps())));
                    }
                    flows.sort_by_key(|flow| flow.start);
                }
                Ok(flows)
            }
            Self::Drawn(source) => Ok(source.stream(seed, &format!("flows/{place}"))?.collect()),
            Self::Netbench { fork, seed, starts_per_s, hosts, pairs, sizes, end } => {
                let flows = NetbenchFlows::new(*fork, *seed, *starts_per_s, *hosts, sizes.clone(), *end)?;
                Ok(flows.with_pairs(*pairs)?.collect())
            }
        }
    }
}

/// The flows of a run: those of a single source unchanged, those of several in order of start and renumbered.
///
/// # Panics
/// Never: the sources were checked when they were read.
pub(crate) fn draw_flows(sources: &[Flows], seed: u64) -> Vec<Flow> {
    let draw = |(place, source): (usize, &Flows)| source.draw(seed, place).expect("checked when it was read");
    let mut drawn: Vec<_> = sources.iter().enumerate().map(draw).collect();
    if let [only] = drawn.as_mut_slice() {
        return std::mem::take(only);
    }
    let mut all = drawn.concat();
    all.sort_by_key(|flow| flow.start);
    for (id, flow) in (0..).zip(&mut all) {
        flow.id = id;
    }
    all
}

/// Reads `[workload]` and the files that it names.
pub(crate) fn read_workload(section: Table, context: &FlowContext<'_>) -> Result<(Vec<Flows>, Json), Error> {
    let mut workload = Reader::new(section, context.file, WORKLOAD)?;
    let sections = workload.tables("flows")?;
    if sections.is_empty() {
        return Err(workload.fault("flows", "is an empty list: expected at least one source of flows").into());
    }
    let (mut flows, mut resolved) = (Vec::new(), Vec::new());
    for section in sections {
        let mut reader = Reader::new(section, context.file, FLOWS)?;
        let source =
            if reader.has("list") { read_list(&mut reader, context)? } else { read_source(&mut reader, context)? };
        flows.push(source);
        resolved.push(Json::Object(reader.finish()?));
    }
    workload.finish()?;
    Ok((flows, json!({ "flows": resolved })))
}

fn read_list(reader: &mut Reader<'_>, context: &FlowContext<'_>) -> Result<Flows, Error> {
    let path = beside(context.file, &reader.get::<String>("list")?.expect("it was written"));
    let hosts = Some(context.hosts);
    let format = reader.given("format")?;
    let is_stopped = AtomicBool::new(false);
    let stop = || {
        is_stopped.load(Ordering::Relaxed) || {
            let interrupted = context.extras.interrupted();
            is_stopped.store(interrupted, Ordering::Relaxed);
            interrupted
        }
    };
    let read = read_unless(&path, &stop, |content, name| match format {
        ListFormat::Csv => flows_from(content, name, hosts).map(|flows| (flows, 0)),
        ListFormat::Htsim => htsim_flows_from(content, name, hosts).map(|flows| (flows, 0)),
        ListFormat::Hpcc => hpcc_flows_from(content, name, hosts, context.host_ids),
    });
    let ((flows, unread), digest) = match read {
        Err(_) if is_stopped.load(Ordering::Relaxed) => return Err(Error::Cancelled),
        read => read?,
    };
    note(&mut reader.resolved, "list", digest);
    reader.resolved.insert("list_flows".to_owned(), flows.len().into());
    if unread > 0 {
        reader.resolved.insert("list_unread_lines".to_owned(), unread.into());
    }
    let within = reader.time("start_within")?.unwrap_or(Span::ZERO);
    Ok(Flows::List { flows: Arc::new(flows), within })
}

fn read_source(reader: &mut Reader<'_>, context: &FlowContext<'_>) -> Result<Flows, Error> {
    let kind = usual(reader, context, "arrivals")?;
    let sizes = read_sizes(reader, context)?;
    reader.resolved.insert("mean_size_bytes".to_owned(), sizes.mean().into());
    match kind {
        FlowArrival::NetbenchSpPifo => return read_netbench(reader, context, NetbenchFork::SpPifo, sizes),
        FlowArrival::NetbenchAifo => return read_netbench(reader, context, NetbenchFork::Aifo, sizes),
        FlowArrival::Poisson | FlowArrival::Pareto | FlowArrival::Periodic => {}
    }
    let pairs = read_pairs(reader, context)?;
    let arrivals = if kind == FlowArrival::Periodic {
        FlowArrivals::Periodic { period: reader.time("period")?.expect("period is required") }
    } else {
        let starts_per_s = read_rate(reader, context, &sizes, &pairs)?;
        match kind {
            FlowArrival::Pareto => FlowArrivals::Pareto { starts_per_s, shape: given_number(reader, "shape")? },
            _ => FlowArrivals::Poisson { starts_per_s },
        }
    };
    let start = Time::ZERO + reader.time("start")?.expect("start has a default");
    let end = reader.time("stop")?.map_or(context.end, |stop| (Time::ZERO + stop).min(context.end));
    if end <= start {
        let key = reader.written(if reader.has("stop") { "stop" } else { "start" });
        return Err(reader.fault(&key, format!("leaves no time between {start} and {end} for flows to start")).into());
    }
    let flows = reader.get::<u64>("max_flows")?.unwrap_or(u64::MAX);
    let source = FlowSource { hosts: context.hosts, arrivals, sizes, pairs, start, end, flows };
    source.stream(1, "check").map_err(|error| placed(reader, &error))?;
    Ok(Flows::Drawn(source))
}

fn read_netbench(
    reader: &mut Reader<'_>,
    context: &FlowContext<'_>,
    fork: NetbenchFork,
    sizes: FlowSizes,
) -> Result<Flows, Error> {
    let rate = given_number(reader, "starts_per_s")?;
    if rate.fract() != 0.0 || rate > 1e15 {
        return Err(reader.fault("starts_per_s", Misfit::of(rate, "expected an integer with these arrivals")).into());
    }
    let pairs = match usual(reader, context, "pairs")? {
        PairKind::Uniform => NetbenchPairs::Uniform,
        PairKind::ParetoSkewed => {
            let hosts_per_rack = reader.given("hosts_per_rack")?;
            NetbenchPairs::ParetoSkewed { hosts_per_rack, switches: context.switches }
        }
        _ => {
            let problem = "expected \"uniform\" or \"pareto-skewed\" with these arrivals";
            return Err(reader.fault("pairs", problem).into());
        }
    };
    let seed = reader.given::<u64>("netbench_seed")? as i64;
    let flows =
        Flows::Netbench { fork, seed, starts_per_s: rate as u64, hosts: context.hosts, pairs, sizes, end: context.end };
    // A short draw checks the parameters.
    if let Flows::Netbench { fork, seed, starts_per_s, hosts, pairs, sizes, .. } = &flows {
        NetbenchFlows::new(*fork, *seed, *starts_per_s, *hosts, sizes.clone(), Time::ZERO)
            .and_then(|flows| flows.with_pairs(*pairs))
            .map_err(|error| placed(reader, &error))?;
    }
    Ok(flows)
}

fn read_rate(
    reader: &mut Reader<'_>,
    context: &FlowContext<'_>,
    sizes: &FlowSizes,
    pairs: &Pairs,
) -> Result<f64, Error> {
    if let Some(rate) = reader.get::<f64>("starts_per_s")? {
        return Ok(rate);
    }
    let Some(load) = reader.get::<f64>("load")? else {
        let problem = "is missing: expected the starts per second in the whole network, or a load";
        return Err(reader.fault("starts_per_s", problem).into());
    };
    let rate = starts_per_s_for_load(load, context.access, context.hosts, sizes, pairs);
    reader.resolved.insert("starts_per_s".to_owned(), rate.into());
    Ok(rate)
}

fn read_sizes(reader: &mut Reader<'_>, context: &FlowContext<'_>) -> Result<FlowSizes, Error> {
    let made = match reader.given("sizes")? {
        FlowSize::WebSearch => Ok(FlowSizes::web_search(usual(reader, context, "interpolation")?)),
        FlowSize::DataMining => Ok(FlowSizes::data_mining(usual(reader, context, "interpolation")?)),
        FlowSize::Hadoop => Ok(FlowSizes::hadoop(usual(reader, context, "interpolation")?)),
        FlowSize::Storage => Ok(FlowSizes::storage(usual(reader, context, "interpolation")?)),
        FlowSize::File => {
            let interpolation = usual(reader, context, "interpolation")?;
            let path = reader.get::<String>("file")?.expect("file is required");
            let unit = reader.given("file_unit")?;
            let (file, digest) = read_digested(&beside(context.file, &path), |content, name| {
                CdfFile::from_reader(content, name, unit, interpolation)
            })?;
            note(&mut reader.resolved, "file", digest);
            reader.resolved.insert("file_points".to_owned(), file.rows.into());
            reader.resolved.insert("file_percent".to_owned(), file.percent.into());
            Ok(file.sizes)
        }
        FlowSize::Fixed => FlowSizes::fixed(reader.given::<u64>("size_bytes")?),
        FlowSize::Uniform => FlowSizes::uniform(reader.given::<u64>("low_bytes")?, reader.given::<u64>("high_bytes")?),
        FlowSize::Pareto => {
            let (shape, mean) = (given_number(reader, "size_shape")?, given_number(reader, "mean_bytes")?);
            FlowSizes::pareto(shape, mean, reader.given::<u64>("cap_bytes")?)
        }
    };
    made.map_err(|error| placed(reader, &error).into())
}

fn read_pairs(reader: &mut Reader<'_>, context: &FlowContext<'_>) -> Result<Pairs, Error> {
    Ok(match usual(reader, context, "pairs")? {
        PairKind::Uniform => Pairs::Uniform,
        PairKind::Permutation => Pairs::Permutation,
        PairKind::Incast => {
            Pairs::Incast { senders: reader.given::<u32>("senders")?, receiver: reader.get("receiver")? }
        }
        PairKind::AllToAll => Pairs::AllToAll,
        PairKind::RackSkewed => {
            let Some(rack) = context.rack else {
                return Err(reader.fault("pairs", Misfit::of("rack-skewed", "expected a network with leaves")).into());
            };
            let inside = reader.ratio("inside")?.expect("inside is required").as_f64();
            Pairs::RackSkewed { rack, inside }
        }
        PairKind::ParetoSkewed => {
            return Err(reader.fault("pairs", Misfit::of("pareto-skewed", "expected netbench arrivals")).into());
        }
        PairKind::File => {
            let path = reader.get::<String>("pairs_file")?.expect("pairs_file is required");
            let (pairs, digest) = read_digested(&beside(context.file, &path), |content, name| {
                Pairs::from_reader(content, name, context.hosts)
            })?;
            note(&mut reader.resolved, "pairs_file", digest);
            pairs
        }
    })
}

/// A required positive number.
fn given_number(reader: &mut Reader<'_>, name: &str) -> Result<f64, Error> {
    reader.get::<f64>(name)?.ok_or_else(|| reader.fault(name, "is missing: expected a number above 0").into())
}

/// Adds the place to a parameter error of the workload crate.
fn placed(reader: &Reader<'_>, error: &ParameterError) -> SpecError {
    let key = match error.parameter {
        "bytes" => "size_bytes",
        "low" => "low_bytes",
        "high" => "high_bytes",
        "mean" => "mean_bytes",
        "cap" => "cap_bytes",
        "shape" if reader.has("size_shape") => "size_shape",
        "flows_per_s" => "starts_per_s",
        "rack" | "hosts" | "pairs" => "pairs",
        other => other,
    };
    reader.fault(&reader.written(key), Misfit::of(&error.value, format!("expected {}", error.expected)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_flow_of_a_list_starts_within_the_given_time_as_the_seed_draws(
            listed in prop::collection::vec((0_u64..1 << 40, 1_u64..1 << 40), 1..20),
            within in 0_u64..1 << 40,
            seed: u64,
        ) {
            let flow = |(id, &(start, bytes)): (usize, &(u64, u64))| {
                Flow { id: id as u64, src: 0, dst: 1, bytes, start: Time::from_ps(start) }
            };
            let mut listed: Vec<_> = listed.iter().enumerate().map(flow).collect();
            listed.sort_by_key(|flow| flow.start);
            let source = Flows::List { flows: Arc::new(listed.clone()), within: Span::from_ps(within) };
            let drawn = source.draw(seed, 0).unwrap();
            prop_assert!(drawn.is_sorted_by_key(|flow| flow.start));
            let mut by_id = drawn.clone();
            by_id.sort_by_key(|flow| flow.id);
            listed.sort_by_key(|flow| flow.id);
            for (late, flow) in by_id.iter().zip(&listed) {
                let delay = late.start.since(flow.start).as_ps();
                prop_assert!(delay < within.max(1), "{delay} of {within}");
                prop_assert_eq!(Flow { start: flow.start, ..*late }, *flow);
            }
            prop_assert_eq!(&drawn, &source.draw(seed, 0).unwrap());
            // A time of 2^32 ps repeats by chance in one of 2^32 draws.
            prop_assert!(within < 1 << 32 || drawn != source.draw(seed ^ 1, 0).unwrap());
            prop_assert!(within < 1 << 32 || drawn != source.draw(seed, 1).unwrap());
        }
    }
}
