//! `[workload]`: synthetic sources, or a trace.

use super::common::MAX_PACKETS;
use super::trace::{Trace, Traces};
use super::words::{ArrivalKind, DistributionKind, FlowOrder, TraceRankKind};
use super::written::{Spec, beside};
use crate::error::Error;
use crate::extras::Extras;
use crate::fields::Reader;
use crate::inputs::{note, read_digested};
use pifolab_params::{Kind, Literal, Misfit, Param, Table, WRITTEN_SIZES, exact_with_unit, join};
use pifolab_sched::params::{MAX_RANK, Value};
use pifolab_sched::{Fact, Facts};
use pifolab_units::{Rank, RankMap, Rate, Ratio, Span, Time};
use pifolab_workload::trace::{ByteOrder, OutOfOrder, RankWidth, TraceOptions, TraceRank};
use pifolab_workload::{
    ArrivalProcess, Distribution, FlowAssignment, ParameterError, Periods, RankPhase, RankSource, Source,
};
use serde_json::Value as Json;
use std::sync::Arc;

/// The source of the packets of a run.
#[derive(Clone, Debug)]
pub(crate) enum Workload {
    /// Drawn, each run from its seed.
    Synthetic(Vec<SyntheticSource>),
    /// Read from files, the same for every seed.
    Trace(Arc<Traces>),
}

/// A source with further options beside [`Source`].
#[derive(Clone, Debug)]
pub(crate) struct SyntheticSource {
    pub(crate) source: Source,
    /// The number of its first flow.
    pub(crate) first_flow: u32,
    /// The time from a packet's arrival to its deadline.
    pub(crate) deadline: Option<Span>,
}

impl SyntheticSource {
    /// Whether it depends on the seed.
    fn is_drawn(&self) -> bool {
        let Source { process, sizes, ranks, flows, .. } = &self.source;
        let arrivals = match process {
            ArrivalProcess::ConstantBitRate { .. } | ArrivalProcess::Batches { .. } => false,
            ArrivalProcess::Jittered { jitter, .. } => *jitter != Ratio::ZERO,
            ArrivalProcess::OnOff { periods, .. } => *periods == Periods::Exponential,
            ArrivalProcess::Poisson { .. } => true,
        };
        let several = |distribution: &Distribution| distribution.min() != distribution.max();
        let ranks = match ranks {
            RankSource::Sequence { .. } => false,
            RankSource::Drawn(phases) => phases.iter().any(|phase| several(&phase.ranks)),
        };
        arrivals || ranks || several(sizes) || matches!(flows, FlowAssignment::Drawn(_))
    }

    /// The number of its flows.
    pub(crate) fn flows(&self) -> u32 {
        match &self.source.flows {
            FlowAssignment::One(_) => 1,
            FlowAssignment::RoundRobin { count, .. } => *count,
            FlowAssignment::Drawn(flows) => (flows.max() - flows.min() + 1) as u32,
        }
    }

    /// The expected number of its packets; `None` if it does not end by itself.
    pub(crate) fn expected_packets(&self) -> Option<f64> {
        let Source { process, sizes, ranks, start, end, .. } = &self.source;
        let by_ranks = match ranks {
            RankSource::Sequence { ranks, repeat: false } => Some(ranks.len() as f64),
            RankSource::Sequence { .. } | RankSource::Drawn(_) => None,
        };
        if *end == Time::MAX {
            return by_ranks;
        }
        let length = if end > start { end.since(*start).as_s_f64() } else { 0.0 };
        let per_second = |rate: Rate| rate.as_bps() as f64 / (8.0 * sizes.mean());
        let by_time = length
            * match process {
                ArrivalProcess::ConstantBitRate { rate }
                | ArrivalProcess::Jittered { rate, .. }
                | ArrivalProcess::Poisson { rate } => per_second(*rate),
                ArrivalProcess::OnOff { peak, on, off, .. } => {
                    per_second(*peak) * on.as_s_f64() / (on.as_s_f64() + off.as_s_f64())
                }
                ArrivalProcess::Batches { packets, period } => *packets as f64 / period.as_s_f64(),
            };
        Some(by_ranks.map_or(by_time, |packets| packets.min(by_time)))
    }
}

/// Why a workload cannot have sources of both kinds.
const MIXED: &str = "is one of several sources: expected traces alone, or none";

const MAX_FLOWS: u64 = 1 << 24;
const MAX_SIZE: u64 = u32::MAX as u64;

/// The keys of `[workload]`.
pub(crate) const SOURCE: &[Param] = &[
    Param::choice::<ArrivalKind>("arrivals").means("the workload is a trace").doc("When packets arrive."),
    Param::new("rate", Kind::Rate)
        .means("not for batches or a trace")
        .doc("The mean rate of arrivals; of on-off arrivals the rate while on."),
    Param::new("load", Kind::Positive)
        .means("the rate is given")
        .doc("The rate of arrivals as a share of the link's, instead of a rate."),
    Param::new("jitter", Kind::Share).doc("The share of the mean by which a gap varies."),
    Param::new("on", Kind::Time).doc("Mean length of an on period."),
    Param::new("off", Kind::Time).doc("Mean length of an off period."),
    Param::choice::<Periods>("periods").doc("How the lengths of on and off periods vary."),
    Param::integer("batch_packets", 1, MAX_PACKETS).doc("Packets of one batch."),
    Param::new("period", Kind::Time).doc("Time from batch to batch."),
    Param::new("size_bytes", Kind::IntegerOrDistribution { min: 1, max: MAX_SIZE })
        .doc("Packet sizes as the link counts them: one number, or a distribution."),
    Param::new("ranks", Kind::Distribution)
        .means("a rank function or a sequence gives them")
        .doc("The distribution of ranks."),
    Param::integers("rank_sequence", 0, MAX_RANK).means("ranks are drawn").doc("The ranks one by one."),
    Param::flag("repeat_sequence")
        .or_flag(false)
        .doc("Whether the sequence starts again after its last rank; otherwise arrivals end."),
    Param::new("phase", Kind::Tables(PHASE))
        .means("the distribution never changes")
        .doc("Changes of the rank distribution over time."),
    Param::integer("flows", 1, MAX_FLOWS).or_integer(1).doc(
        "How many flows the packets belong to. Several sources have flows of their own, numbered one after another.",
    ),
    Param::choice::<FlowOrder>("flow_order")
        .or_word(FlowOrder::RoundRobin.word())
        .doc("How packets are assigned to flows, if there are several."),
    Param::new("start", Kind::Time)
        .or(Literal::Time(Span::from_ps(0)))
        .doc("No packet arrives before this; the first packet of a trace at this time."),
    Param::new("stop", Kind::Time).means("with the run").doc("No packet of this source arrives at or after this."),
    Param::new("deadline", Kind::Time)
        .means("none")
        .doc("How long after its arrival a packet is due; for the rank functions edf and lstf."),
    Param::new("trace", Kind::Text)
        .means("the workload is synthetic")
        .doc("A pcap, pcapng or CSV file (gzip allowed), relative to the scenario's own file. Several sources may be traces."),
    Param::choice::<TraceRankKind>("trace_rank")
        .means("a rank function computes ranks")
        .doc("The source of the ranks of a trace."),
    Param::new("rank_map", Kind::Text).means("ranks are the DSCPs").doc(
        "With trace_rank = \"dscp\": phb for the order of per-hop behaviours (CS6, EF, AF4x to AF1x, best effort, LE), or ranks of DSCPs \
         such as 46=0,34=1, behind which all others come.",
    ),
    Param::integer("payload_offset_bytes", 0, MAX_SIZE).doc("The position of the rank in the TCP or UDP payload."),
    Param::integer("payload_width_bytes", 1, 8).doc("The size of the rank: 1, 2, 4 or 8 bytes."),
    Param::choice::<ByteOrder>("payload_order").or_word(ByteOrder::Big.word()).doc("The byte order of the rank."),
    Param::new("speed_up", Kind::Positive).or(Literal::Fraction(1, 1)).doc(
        "How many times faster than recorded the trace is replayed: an exact number or \"numerator/denominator\".",
    ),
    Param::choice::<OutOfOrder>("out_of_order")
        .or_word(OutOfOrder::Error.word())
        .doc("How a packet is handled whose time is before that of the previous packet."),
];

/// The keys of `[[workload.phase]]`.
pub(crate) const PHASE: &[Param] = &[
    Param::new("from", Kind::Time).doc("When the phase begins."),
    Param::new("ranks", Kind::Distribution).means("as before").doc("The distribution of ranks from then on."),
    Param::integer("shift_ranks", i64::MIN, i64::MAX as u64)
        .means("0")
        .doc("What is added to each rank; a rank below 0 becomes 0."),
];

/// The keys of a distribution.
pub(crate) const DISTRIBUTION: &[Param] = &[Param::one_of::<DistributionKind>(
    "distribution",
    &[
        (
            DistributionKind::Uniform.word(),
            &[
                Param::integer("low", 0, MAX_RANK).or_integer(0).doc("Smallest value."),
                Param::integer("high", 0, MAX_RANK).or_integer(99).doc("Largest value."),
            ],
        ),
        (DistributionKind::Exponential.word(), &[MEAN.or_integer(25), BOUND]),
        (DistributionKind::InverseExponential.word(), &[MEAN.or_integer(25), BOUND]),
        (DistributionKind::Poisson.word(), &[MEAN.or_integer(50)]),
        (DistributionKind::Convex.word(), &[MEAN.or_integer(100), MODULUS.or_integer(100)]),
        (
            DistributionKind::Minmax.word(),
            &[
                MEAN.or_integer(50),
                Param::integer("offset", 0, 1 << 20).or_integer(10).doc("What is subtracted from the Poisson variate."),
                MODULUS.or_integer(50),
            ],
        ),
        (DistributionKind::Constant.word(), &[Param::integer("value", 0, MAX_RANK).doc("The only value.")]),
        (
            DistributionKind::Histogram.word(),
            &[
                Param::new("file", Kind::Text)
                    .means("values and weights are given")
                    .doc("A file with a value and its weight on each line, relative to the scenario's own file."),
                Param::integers("values", 0, MAX_RANK).doc("The values."),
                Param::integers("weights", 0, MAX_RANK).doc("Their weights."),
            ],
        ),
    ],
)
.doc("Which distribution.")];

const MEAN: Param = Param::new("mean", Kind::Positive)
    .doc("The mean of the exponential or Poisson variate; the defaults are the papers'.");
const BOUND: Param = Param::integer("bound", 1, (1 << 20) - 1).or_integer(99).doc(
    "The largest exponential variate: those above it are redrawn. Ranks are 0 to bound, inverse ones 1 to bound + 1.",
);
const MODULUS: Param = Param::integer("modulus", 1, 1 << 20).doc("The Poisson variate is taken modulo this.");

/// The rest of the scenario that reading the workload needs.
pub(crate) struct Context<'a> {
    pub(crate) file: &'a str,
    /// Whether a rank function computes ranks, so that the workload must not have any.
    pub(crate) ranks_computed: bool,
    /// Whether a rank function of the user's may read carried ranks as well.
    pub(crate) ranks_optional: bool,
    pub(crate) end: Time,
    /// The rate of the link.
    pub(crate) link: Rate,
    /// Returns whether to interrupt the reading of a long trace.
    pub(crate) extras: &'a dyn Extras,
}

impl Workload {
    /// Reads `[workload]`, and the trace if it is one.
    pub(crate) fn read(sections: Vec<Table>, context: &Context<'_>) -> Result<(Self, Json), Error> {
        let several = sections.len() > 1;
        let mut sources = Vec::with_capacity(sections.len());
        let mut resolved = Vec::with_capacity(sections.len());
        let mut traces: Vec<Trace> = Vec::new();
        let mut first_flow = 0u32;
        for section in sections {
            let mut reader = Reader::new(section, context.file, SOURCE)?;
            if reader.has("trace") {
                if !sources.is_empty() {
                    return Err(reader.fault("trace", MIXED).into());
                }
                let (trace, written) = read_trace(reader, context)?;
                traces.push(trace);
                resolved.push(written);
                continue;
            }
            if !traces.is_empty() {
                return Err(reader.fault("arrivals", MIXED).into());
            }
            let (source, next_flow) = read_source(&mut reader, context, first_flow)?;
            first_flow = next_flow;
            sources.push(source);
            resolved.push(Json::Object(reader.finish()?));
        }
        let resolved = if several { resolved.into() } else { resolved.pop().unwrap_or_default() };
        if traces.is_empty() {
            return Ok((Self::Synthetic(sources), resolved));
        }
        let traces = Traces::new(traces).ok_or_else(|| {
            Error::from(Spec::fault(context.file, "workload.trace", "the traces have more than 2^32 - 1 flows"))
        })?;
        Ok((Self::Trace(Arc::new(traces)), resolved))
    }

    /// The facts about each packet that rank functions can read.
    pub(crate) fn facts(&self) -> Facts {
        // There is no earlier queue, so both delays and the label are 0.
        let facts =
            Facts::one(Fact::CarriedRank).with(Fact::DelaySoFar).with(Fact::MeanDelaySoFar).with(Fact::CarriedLabel);
        match self {
            Self::Trace(traces) => facts.with(Fact::FlowSize).with(Fact::Remaining) | traces.facts(),
            Self::Synthetic(sources) if sources.iter().any(|source| source.deadline.is_some()) => {
                facts.with(Fact::Deadline).with(Fact::RemainingTransmission).with(Fact::Class)
            }
            // A packet's class is the number of its source.
            Self::Synthetic(_) => facts.with(Fact::Class),
        }
    }

    /// Whether anything depends on the seed.
    pub(crate) fn is_drawn(&self) -> bool {
        match self {
            Self::Trace(_) => false,
            Self::Synthetic(sources) => sources.iter().any(SyntheticSource::is_drawn),
        }
    }

    /// The largest size of its packets.
    pub(crate) fn largest_packet(&self) -> u32 {
        match self {
            Self::Synthetic(sources) => {
                let largest = sources.iter().map(|source| source.source.sizes.max()).max().unwrap_or(0);
                u32::try_from(largest).expect("sizes were checked")
            }
            Self::Trace(traces) => traces.largest(),
        }
    }

    /// The mean size of its packets, in bytes.
    pub(crate) fn mean_packet(&self) -> f64 {
        match self {
            Self::Trace(traces) => traces.bytes() as f64 / (traces.packets() as f64).max(1.0),
            Self::Synthetic(sources) => {
                let packets = |source: &SyntheticSource| source.expected_packets().unwrap_or(1.0);
                let bytes: f64 = sources.iter().map(|source| packets(source) * source.source.sizes.mean()).sum();
                bytes / sources.iter().map(packets).sum::<f64>().max(1.0)
            }
        }
    }

    /// The expected number of packets; `None` if it does not end by itself.
    pub(crate) fn expected_packets(&self) -> Option<f64> {
        match self {
            Self::Trace(traces) => Some(traces.packets() as f64),
            Self::Synthetic(sources) => sources.iter().map(SyntheticSource::expected_packets).sum(),
        }
    }

    /// Whether arrivals end by themselves.
    pub(crate) fn ends(&self) -> bool {
        match self {
            Self::Trace(_) => true,
            Self::Synthetic(sources) => sources.iter().all(|SyntheticSource { source, .. }| {
                source.end < Time::MAX || matches!(source.ranks, RankSource::Sequence { repeat: false, .. })
            }),
        }
    }
}

/// Adds the place to a parameter error of the workload crate.
fn placed(reader: &Reader<'_>, key: &str, error: &ParameterError) -> Error {
    reader.fault(key, format!("{} = {}: expected {}", error.parameter, error.value, error.expected)).into()
}

fn read_source(
    reader: &mut Reader<'_>,
    context: &Context<'_>,
    first_flow: u32,
) -> Result<(SyntheticSource, u32), Error> {
    let process = read_process(reader, context)?;
    let sizes = read_sizes(reader, context.file)?;
    let ranks = read_ranks(reader, context)?;
    let flows = reader.given::<u32>("flows")?;
    let next_flow = first_flow
        .checked_add(flows)
        .ok_or_else(|| reader.fault("flows", Misfit::of(flows, "the flows of all sources exceed 2^32")))?;
    let flows = if flows == 1 {
        FlowAssignment::One(first_flow)
    } else if reader.given::<FlowOrder>("flow_order")? == FlowOrder::RoundRobin {
        FlowAssignment::RoundRobin { first: first_flow, count: flows }
    } else {
        let last = u64::from(next_flow) - 1;
        FlowAssignment::Drawn(
            Distribution::uniform(u64::from(first_flow), last).map_err(|error| placed(reader, "flows", &error))?,
        )
    };
    let start = Time::ZERO + reader.time("start")?.expect("start has a default");
    let stop = reader.time("stop")?.map_or(Time::MAX, |stop| Time::ZERO + stop);
    if stop <= start {
        return Err(reader
            .fault(&reader.written("stop"), Misfit::of(stop, format!("expected a time after the start at {start}")))
            .into());
    }
    let deadline = reader.time("deadline")?;
    let source = Source { process, sizes, ranks, flows, start, end: stop.min(context.end), packets: u64::MAX };
    // Any seed finds the same faults.
    source.stream(0, "check").map_err(|error| placed(reader, "arrivals", &error))?;
    Ok((SyntheticSource { source, first_flow, deadline }, next_flow))
}

/// Reads the rate of arrivals, or their load of the link.
fn read_rate(reader: &mut Reader<'_>, context: &Context<'_>) -> Result<Rate, Error> {
    if let Some(load) = reader.ratio("load")? {
        if reader.has("rate") {
            let key = reader.written("rate");
            return Err(reader.fault("load", format!("conflicts with {key}: remove one of them")).into());
        }
        let (numerator, denominator) = (u128::from(load.numerator()), u128::from(load.denominator()));
        let bps = (2 * u128::from(context.link.as_bps()) * numerator + denominator) / (2 * denominator);
        let rate = u64::try_from(bps).ok().and_then(Rate::from_bps).filter(|rate| *rate <= Rate::FASTEST_LINK);
        let Some(rate) = rate else {
            let problem = format!("expected a load whose rate is from 1 b/s to 8000 Gb/s, not {bps} b/s");
            return Err(reader.fault("load", Misfit::of(load, problem)).into());
        };
        reader.resolved.insert("rate_bps".to_owned(), rate.as_bps().into());
        return Ok(rate);
    }
    let problem = "is missing: expected the rate of the arrivals, or a load";
    reader.rate("rate")?.ok_or_else(|| reader.fault("rate_gbps", problem).into())
}

fn read_process(reader: &mut Reader<'_>, context: &Context<'_>) -> Result<ArrivalProcess, Error> {
    let Some(arrivals) = reader.get("arrivals")? else {
        let problem = "is missing: expected arrivals (constant, jittered, poisson, on-off or batches) or a trace";
        return Err(reader.fault("arrivals", problem).into());
    };
    if arrivals == ArrivalKind::Batches {
        let packets = reader.given::<u64>("batch_packets")?;
        return Ok(ArrivalProcess::Batches { packets, period: required_time(reader, "period")? });
    }
    let rate = read_rate(reader, context)?;
    Ok(match arrivals {
        ArrivalKind::Constant => ArrivalProcess::ConstantBitRate { rate },
        ArrivalKind::Jittered => {
            ArrivalProcess::Jittered { rate, jitter: reader.ratio("jitter")?.expect("jitter is required") }
        }
        ArrivalKind::Poisson => ArrivalProcess::Poisson { rate },
        ArrivalKind::OnOff | ArrivalKind::Batches => ArrivalProcess::OnOff {
            peak: rate,
            on: required_time(reader, "on")?,
            off: required_time(reader, "off")?,
            periods: reader.given("periods")?,
        },
    })
}

fn required_time(reader: &mut Reader<'_>, name: &str) -> Result<Span, Error> {
    let time = reader.time(name)?.expect("the field is required");
    if time == Span::ZERO {
        Err(reader.fault(&reader.written(name), Misfit::of(0, "expected a time above 0")).into())
    } else {
        Ok(time)
    }
}

fn read_sizes(reader: &mut Reader<'_>, file: &str) -> Result<Distribution, Error> {
    let written = match reader.node("size_bytes") {
        Some(Value::Text(text)) => exact_with_unit(&text, WRITTEN_SIZES).map(|bytes| Value::Integer(bytes.into())),
        other => other,
    };
    if let Some(Value::Integer(size)) = written {
        let Some(bytes) = u64::try_from(size).ok().filter(|bytes| (1..=MAX_SIZE).contains(bytes)) else {
            let expected = format!("expected an integer from 1 to {MAX_SIZE}, or a distribution");
            return Err(reader.fault("size_bytes", Misfit::of(size, expected)).into());
        };
        reader.resolved.insert("size_bytes".to_owned(), bytes.into());
        return Distribution::constant(bytes).map_err(|error| placed(reader, "size_bytes", &error));
    }
    match read_distribution(reader, file, "size_bytes")? {
        Some(sizes) if sizes.min() == 0 || sizes.max() > MAX_SIZE => {
            let problem = format!("sizes from {} to {}: expected 1 to {MAX_SIZE} bytes", sizes.min(), sizes.max());
            Err(reader.fault("size_bytes", problem).into())
        }
        Some(sizes) => Ok(sizes),
        None => {
            Err(reader.fault("size_bytes", "is missing: expected the packet size, such as size_bytes = 1500").into())
        }
    }
}

fn read_ranks(reader: &mut Reader<'_>, context: &Context<'_>) -> Result<RankSource, Error> {
    if context.ranks_computed {
        // Ranks would not be used; `finish` reports that they have no effect.
        return Ok(RankSource::drawn(Distribution::constant(0).expect("0 is a rank")));
    }
    if let Some(ranks) = reader.get::<Vec<u64>>("rank_sequence")? {
        let ranks = ranks.into_iter().map(Rank::saturating).collect();
        return Ok(RankSource::Sequence { ranks, repeat: reader.given::<bool>("repeat_sequence")? });
    }
    let Some(base) = read_distribution(reader, context.file, "ranks")? else {
        if context.ranks_optional {
            return Ok(RankSource::drawn(Distribution::constant(0).expect("0 is a rank")));
        }
        let problem = "is missing: expected a distribution of ranks, a rank_sequence, or a [rank] function";
        return Err(reader.fault("ranks", problem).into());
    };
    let mut phases = vec![RankPhase { from: Time::ZERO, ranks: base, shift: 0 }];
    let mut resolved = Vec::new();
    for section in reader.tables("phase")? {
        let mut phase = Reader::new(section, context.file, PHASE)?;
        let from = Time::ZERO + phase.time("from")?.expect("from is required");
        let before = phases.last().expect("there is a first phase");
        if from <= before.from {
            let expected = format!("expected a time after {}, when the phase before begins", before.from);
            return Err(phase.fault(&phase.written("from"), Misfit::of(from, expected)).into());
        }
        let ranks = read_distribution(&mut phase, context.file, "ranks")?;
        let shift = phase.get::<i64>("shift_ranks")?.unwrap_or(0);
        if ranks.is_none() && shift == before.shift {
            let problem = "changes nothing: expected ranks, or other shift_ranks than before";
            return Err(reader.fault("phase", problem).into());
        }
        let ranks = ranks.unwrap_or_else(|| before.ranks.clone());
        resolved.push(Json::Object(phase.finish()?));
        phases.push(RankPhase { from, ranks, shift });
    }
    if !resolved.is_empty() {
        reader.resolved.insert("phase".to_owned(), resolved.into());
    }
    Ok(RankSource::Drawn(phases))
}

/// A distribution by its name alone, or as a table.
pub(crate) fn read_distribution(reader: &mut Reader<'_>, file: &str, key: &str) -> Result<Option<Distribution>, Error> {
    let section = match reader.node(key) {
        None => return Ok(None),
        Some(Value::Table(section)) => section,
        Some(Value::Text(name)) => {
            let table = &reader.args.table;
            Table::of(join(&table.path, key), table.place_of(key), "distribution", Value::Text(name))
        }
        Some(_) => {
            let problem = "expected a distribution: its name, such as \"uniform\", or a table with its parameters";
            return Err(reader.fault(key, problem).into());
        }
    };
    let mut inner = Reader::new(section, file, DISTRIBUTION)?;
    let made = match inner.given("distribution")? {
        DistributionKind::Uniform => Distribution::uniform(inner.given::<u64>("low")?, inner.given::<u64>("high")?),
        DistributionKind::Exponential => {
            Distribution::exponential(inner.given("mean")?, inner.given::<u64>("bound")? + 1)
        }
        DistributionKind::InverseExponential => {
            Distribution::inverse_exponential(inner.given("mean")?, inner.given::<u64>("bound")? + 1)
        }
        DistributionKind::Poisson => Distribution::poisson(inner.given("mean")?),
        DistributionKind::Convex => Distribution::convex(inner.given("mean")?, inner.given("modulus")?),
        DistributionKind::Minmax => {
            Distribution::minmax(inner.given("mean")?, inner.given("offset")?, inner.given("modulus")?)
        }
        DistributionKind::Constant => Distribution::constant(inner.given::<u64>("value")?),
        DistributionKind::Histogram => match inner.get::<String>("file")? {
            Some(path) => {
                let path = beside(file, &path);
                let (read, digest) = read_digested(&path, |content, name| Distribution::histogram_from(content, name))?;
                note(&mut inner.resolved, "file", digest);
                Ok(read)
            }
            None => {
                let values = inner.get::<Vec<u64>>("values")?.expect("values are required");
                let weights = inner.get::<Vec<u64>>("weights")?.expect("weights are required");
                if values.len() != weights.len() {
                    let problem = format!("has {} members for {} values", weights.len(), values.len());
                    return Err(inner.fault("weights", problem).into());
                }
                Distribution::histogram(&values.into_iter().zip(weights).collect::<Vec<_>>())
            }
        },
    };
    let made = made.map_err(|error| placed(reader, key, &error))?;
    reader.resolved.insert(key.to_owned(), Json::Object(inner.finish()?));
    Ok(Some(made))
}

fn read_trace(mut reader: Reader<'_>, context: &Context<'_>) -> Result<(Trace, Json), Error> {
    let path = reader.get::<String>("trace")?.expect("it was written");
    let chosen = if context.ranks_computed { None } else { reader.get("trace_rank")? };
    let rank = match chosen {
        Some(TraceRankKind::Dscp) => match reader.get::<String>("rank_map")? {
            None => TraceRank::Dscp,
            Some(text) => match text.parse::<RankMap>() {
                Ok(map) => TraceRank::DscpBy(map),
                Err(error) => return Err(reader.fault("rank_map", Misfit::of(text, error.to_string())).into()),
            },
        },
        Some(TraceRankKind::Payload) => TraceRank::Payload {
            offset: reader.given::<u32>("payload_offset_bytes")?,
            width: read_width(&mut reader)?,
            order: reader.given("payload_order")?,
        },
        Some(TraceRankKind::Column) => TraceRank::Column,
        None if context.ranks_computed || context.ranks_optional => TraceRank::Later,
        None => {
            let problem = "is missing: expected where ranks come from (dscp, payload or column), or a [rank] function";
            return Err(reader.fault("trace_rank", problem).into());
        }
    };
    // A fraction of two 32-bit numbers; the message names that form for a positive number that is none.
    let speed_up = reader.ratio("speed_up").map_err(|mut error| {
        error.problem.expected =
            format!("{}, as a fraction of two integers below 2^32, such as \"1/5000000\"", error.problem.expected)
                .into();
        error
    })?;
    let speed_up = speed_up.unwrap_or(Ratio::ONE);
    let out_of_order = reader.given("out_of_order")?;
    let start = if reader.has("start") { reader.time("start")?.unwrap_or_default() } else { Span::ZERO };
    let mut resolved = reader.finish()?;
    let path = beside(context.file, &path);
    let (trace, digest) = Trace::read(path, TraceOptions { rank, speed_up, out_of_order }, start, context.extras)?;
    note(&mut resolved, "trace", digest);
    resolved.insert("trace_contents".to_owned(), trace.summary());
    Ok((trace, resolved.into()))
}

fn read_width(reader: &mut Reader<'_>) -> Result<RankWidth, Error> {
    match reader.given::<u64>("payload_width_bytes")? {
        1 => Ok(RankWidth::One),
        2 => Ok(RankWidth::Two),
        4 => Ok(RankWidth::Four),
        8 => Ok(RankWidth::Eight),
        other => Err(reader.fault("payload_width_bytes", Misfit::of(other, "expected 1, 2, 4 or 8")).into()),
    }
}
