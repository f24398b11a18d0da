//! `[workload]` of a network: flows from lists and from sources.

use super::beside;
use super::network_fields::{FLOWS, WORKLOAD};
use crate::error::{Error, SpecError};
use crate::fields::Reader;
use crate::inputs::{note, read_digested};
use crate::text::Section;
use pifolab_units::{Rate, Time};
use pifolab_workload::ParameterError;
use pifolab_workload::flows::{
    CdfFile, Flow, FlowArrivals, FlowSizes, FlowSource, Interpolation, NetbenchFlows, NetbenchFork, Pairs, SizeUnit,
    flows_from, hpcc_flows_from, starts_per_s_for_load,
};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// What the rest of the scenario says about the flows.
pub(crate) struct FlowContext<'a> {
    pub(crate) file: &'a str,
    pub(crate) hosts: u32,
    /// Hosts below one switch, if the network has racks.
    pub(crate) rack: Option<u32>,
    /// The rate of the hosts' links.
    pub(crate) access: Rate,
    pub(crate) end: Time,
}

/// Where flows come from.
#[derive(Clone, Debug)]
pub(crate) enum Flows {
    /// A file; the same for every seed.
    List(Arc<Vec<Flow>>),
    /// Drawn from the seed of the run.
    Drawn(FlowSource),
    /// Drawn as a published simulator does.
    Netbench { fork: NetbenchFork, seed: i64, starts_per_s: u64, hosts: u32, sizes: FlowSizes, end: Time },
}

impl Flows {
    /// About how many flows it has, and how many bytes they have together.
    pub(crate) fn expected(&self) -> (f64, f64) {
        match self {
            Self::List(flows) => (flows.len() as f64, flows.iter().map(|flow| flow.bytes as f64).sum()),
            Self::Drawn(source) => {
                let length = source.end.since(source.start).as_s_f64();
                let starts = match source.arrivals {
                    FlowArrivals::Poisson { starts_per_s } | FlowArrivals::Pareto { starts_per_s, .. } => {
                        starts_per_s * length
                    }
                    FlowArrivals::Periodic { period } => length / period.as_s_f64(),
                };
                let flows = (starts * source.pairs.flows_per_start(source.hosts) as f64).min(source.flows as f64);
                (flows, flows * source.sizes.mean())
            }
            Self::Netbench { starts_per_s, sizes, end, .. } => {
                let flows = *starts_per_s as f64 * end.since(Time::ZERO).as_s_f64();
                (flows, flows * sizes.mean())
            }
        }
    }

    /// The flows of the run with seed `seed`; `place` tells the sources of one run apart.
    fn draw(&self, seed: u64, place: usize) -> Result<Vec<Flow>, ParameterError> {
        match self {
            Self::List(flows) => Ok(flows.to_vec()),
            Self::Drawn(source) => Ok(source.stream(seed, &format!("flows/{place}"))?.collect()),
            Self::Netbench { fork, seed, starts_per_s, hosts, sizes, end } => {
                Ok(NetbenchFlows::new(*fork, *seed, *starts_per_s, *hosts, sizes.clone(), *end)?.collect())
            }
        }
    }
}

/// The flows of a run: those of a single source as they are, those of several in order of start and numbered anew.
///
/// # Panics
/// If a source is impossible: reading it has made sure that it is not.
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
pub(crate) fn read_workload(section: Section, context: &FlowContext<'_>) -> Result<(Vec<Flows>, Json), Error> {
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
    let path = beside(context.file, &reader.text("list")?.expect("it was written"));
    let hosts = Some(context.hosts);
    let hpcc = reader.given_choice("format")? != 0;
    let (flows, digest) = read_digested(&path, |content, name| {
        if hpcc { hpcc_flows_from(content, name, hosts) } else { flows_from(content, name, hosts) }
    })?;
    note(&mut reader.resolved, "list", digest);
    reader.resolved.insert("list_flows".to_owned(), flows.len().into());
    Ok(Flows::List(Arc::new(flows)))
}

fn read_source(reader: &mut Reader<'_>, context: &FlowContext<'_>) -> Result<Flows, Error> {
    let arrivals = reader.given_choice("arrivals")?;
    let sizes = read_sizes(reader, context)?;
    reader.resolved.insert("mean_size_bytes".to_owned(), sizes.mean().into());
    if arrivals >= 3 {
        return read_netbench(reader, context, arrivals, sizes);
    }
    let pairs = read_pairs(reader, context)?;
    let starts_per_s = match arrivals {
        2 => 0.0,
        _ => read_rate(reader, context, &sizes, &pairs)?,
    };
    let arrivals = match arrivals {
        0 => FlowArrivals::Poisson { starts_per_s },
        1 => FlowArrivals::Pareto { starts_per_s, shape: given_number(reader, "shape")? },
        _ => FlowArrivals::Periodic { period: reader.time("period")?.expect("period is required") },
    };
    let start = Time::ZERO + reader.time("start")?.expect("start has a default");
    let end = reader.time("stop")?.map_or(context.end, |stop| (Time::ZERO + stop).min(context.end));
    if end <= start {
        let key = reader.written(if reader.has("stop") { "stop" } else { "start" });
        return Err(reader.fault(&key, format!("leaves no time between {start} and {end} for flows to start")).into());
    }
    let flows = reader.integer("max_flows")?.unwrap_or(u64::MAX);
    let source = FlowSource { hosts: context.hosts, arrivals, sizes, pairs, start, end, flows };
    source.stream(1, "check").map_err(|error| placed(reader, &error))?;
    Ok(Flows::Drawn(source))
}

fn read_netbench(
    reader: &mut Reader<'_>,
    context: &FlowContext<'_>,
    arrivals: usize,
    sizes: FlowSizes,
) -> Result<Flows, Error> {
    let fork = if arrivals == 3 { NetbenchFork::SpPifo } else { NetbenchFork::Aifo };
    let rate = given_number(reader, "starts_per_s")?;
    if rate.fract() != 0.0 || rate > 1e15 {
        return Err(reader.fault("starts_per_s", format!("= {rate}: expected an integer with these arrivals")).into());
    }
    if reader.choice("pairs")? != Some(0) {
        return Err(reader.fault("pairs", "expected \"uniform\": these arrivals know no other").into());
    }
    let seed = reader.given_integer("netbench_seed")? as i64;
    let flows =
        Flows::Netbench { fork, seed, starts_per_s: rate as u64, hosts: context.hosts, sizes, end: context.end };
    // A short one shows whether the parameters fit.
    if let Flows::Netbench { fork, seed, starts_per_s, hosts, sizes, .. } = &flows {
        NetbenchFlows::new(*fork, *seed, *starts_per_s, *hosts, sizes.clone(), Time::ZERO)
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
    if let Some(rate) = reader.positive("starts_per_s")? {
        return Ok(rate);
    }
    let Some(load) = reader.positive("load")? else {
        let problem = "is missing: expected the starts per second in the whole network, or a load";
        return Err(reader.fault("starts_per_s", problem).into());
    };
    let rate = starts_per_s_for_load(load, context.access, context.hosts, sizes, pairs);
    reader.resolved.insert("starts_per_s".to_owned(), rate.into());
    Ok(rate)
}

fn read_sizes(reader: &mut Reader<'_>, context: &FlowContext<'_>) -> Result<FlowSizes, Error> {
    let kind = reader.given_choice("sizes")?;
    let interpolation = match kind {
        0..=4 => {
            let all = [Interpolation::StepLower, Interpolation::StepUpper, Interpolation::Linear];
            Some(all[reader.given_choice("interpolation")?])
        }
        _ => None,
    };
    let made = match (kind, interpolation) {
        (0, Some(interpolation)) => Ok(FlowSizes::web_search(interpolation)),
        (1, Some(interpolation)) => Ok(FlowSizes::data_mining(interpolation)),
        (2, Some(interpolation)) => Ok(FlowSizes::hadoop(interpolation)),
        (3, Some(interpolation)) => Ok(FlowSizes::storage(interpolation)),
        (4, Some(interpolation)) => {
            let path = reader.text("file")?.expect("file is required");
            let unit = [SizeUnit::Bytes, SizeUnit::Packets1460][reader.given_choice("file_unit")?];
            let (file, digest) = read_digested(&beside(context.file, &path), |content, name| {
                CdfFile::from_reader(content, name, unit, interpolation)
            })?;
            note(&mut reader.resolved, "file", digest);
            reader.resolved.insert("file_points".to_owned(), file.rows.into());
            reader.resolved.insert("file_percent".to_owned(), file.percent.into());
            Ok(file.sizes)
        }
        (5, _) => FlowSizes::fixed(reader.given_integer("size_bytes")?),
        (6, _) => FlowSizes::uniform(reader.given_integer("low_bytes")?, reader.given_integer("high_bytes")?),
        _ => {
            let (shape, mean) = (given_number(reader, "size_shape")?, given_number(reader, "mean_bytes")?);
            FlowSizes::pareto(shape, mean, reader.given_integer("cap_bytes")?)
        }
    };
    made.map_err(|error| placed(reader, &error).into())
}

fn read_pairs(reader: &mut Reader<'_>, context: &FlowContext<'_>) -> Result<Pairs, Error> {
    Ok(match reader.given_choice("pairs")? {
        0 => Pairs::Uniform,
        1 => Pairs::Permutation,
        2 => Pairs::Incast {
            senders: reader.given_integer("senders")? as u32,
            receiver: reader.integer("receiver")?.map(|receiver| receiver as u32),
        },
        3 => Pairs::AllToAll,
        4 => {
            let Some(rack) = context.rack else {
                return Err(reader.fault("pairs", "= rack-skewed: expected a network with leaves").into());
            };
            let inside = reader.ratio("inside", false)?.expect("inside is required").as_f64();
            Pairs::RackSkewed { rack, inside }
        }
        _ => {
            let path = reader.text("pairs_file")?.expect("pairs_file is required");
            let (pairs, digest) = read_digested(&beside(context.file, &path), |content, name| {
                Pairs::from_reader(content, name, context.hosts)
            })?;
            note(&mut reader.resolved, "pairs_file", digest);
            pairs
        }
    })
}

/// A positive number that must be given here.
fn given_number(reader: &mut Reader<'_>, name: &str) -> Result<f64, Error> {
    reader.positive(name)?.ok_or_else(|| reader.fault(name, "is missing: expected a number above 0").into())
}

/// Gives a parameter error of the workload crate its place.
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
    reader.fault(&reader.written_any(key), format!("= {}: expected {}", error.value, error.expected))
}
