//! `[workload]`: synthetic sources, or a trace.

use super::trace::Trace;
use super::{MAX_PACKETS, beside};
use crate::error::Error;
use crate::extras::Extras;
use crate::fields::{Absent, Field, Reader, What};
use crate::inputs::{note, read_digested};
use crate::text::{Node, Section};
use pifolab_sched::params::{MAX_RANK, Value};
use pifolab_sched::{Fact, Facts};
use pifolab_units::{Rank, Rate, Ratio, Span, Time};
use pifolab_workload::trace::{ByteOrder, OutOfOrder, RankWidth, TraceOptions, TraceRank};
use pifolab_workload::{
    ArrivalProcess, Distribution, FlowAssignment, ParameterError, Periods, RankPhase, RankSource, Source,
};
use serde_json::Value as Json;
use std::sync::Arc;

/// Where the packets of a run come from.
#[derive(Clone, Debug)]
pub(crate) enum Workload {
    /// Drawn, each run from its seed.
    Synthetic(Vec<SyntheticSource>),
    /// Read from a file; the same for every seed.
    Trace(Arc<Trace>),
}

/// A source with what [`Source`] does not hold.
#[derive(Clone, Debug)]
pub(crate) struct SyntheticSource {
    pub(crate) source: Source,
    /// Its flows.
    pub(crate) first_flow: u32,
    /// How long after its arrival a packet is due.
    pub(crate) deadline: Option<Span>,
}

impl SyntheticSource {
    /// Whether anything of it depends on the seed.
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

    /// How many flows it has.
    pub(crate) fn flows(&self) -> u32 {
        match &self.source.flows {
            FlowAssignment::One(_) => 1,
            FlowAssignment::RoundRobin { count, .. } => *count,
            FlowAssignment::Drawn(flows) => (flows.max() - flows.min() + 1) as u32,
        }
    }

    /// About how many packets it sends; `None` if it does not end by itself.
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

const MAX_FLOWS: u64 = 1 << 24;
const MAX_SIZE: u64 = u32::MAX as u64;

/// The keys of `[workload]`.
pub(crate) const SOURCE: &[Field] = &[
    Field {
        name: "arrivals",
        what: What::Choice(&[
            ("constant", "constant bit rate, back to back"),
            ("jittered", "constant bit rate whose gaps vary by up to jitter"),
            ("poisson", "independent exponential gaps"),
            ("on-off", "constant bit rate during on periods"),
            ("batches", "batch_packets at once, every period"),
        ]),
        absent: Absent::Means("the workload is a trace"),
        doc: "When packets arrive.",
    },
    Field {
        name: "rate",
        what: What::Rate,
        absent: Absent::Means("not for batches or a trace"),
        doc: "The mean rate of arrivals; of on-off arrivals the rate while on.",
    },
    Field {
        name: "jitter",
        what: What::Share,
        absent: Absent::Required,
        doc: "By what share of the mean a gap varies.",
    },
    Field { name: "on", what: What::Time, absent: Absent::Required, doc: "Mean length of an on period." },
    Field { name: "off", what: What::Time, absent: Absent::Required, doc: "Mean length of an off period." },
    Field {
        name: "periods",
        what: What::Choice(&[("fixed", "all alike"), ("exponential", "exponential, independent")]),
        absent: Absent::Required,
        doc: "How the lengths of on and off periods vary.",
    },
    Field {
        name: "batch_packets",
        what: What::Integer(1, MAX_PACKETS),
        absent: Absent::Required,
        doc: "Packets of one batch.",
    },
    Field { name: "period", what: What::Time, absent: Absent::Required, doc: "Time from batch to batch." },
    Field {
        name: "size_bytes",
        what: What::IntegerOrDistribution(1, MAX_SIZE),
        absent: Absent::Required,
        doc: "Packet sizes as the link counts them: one number, or a distribution.",
    },
    Field {
        name: "ranks",
        what: What::Distribution,
        absent: Absent::Means("a rank function or a sequence gives them"),
        doc: "The distribution of ranks.",
    },
    Field {
        name: "rank_sequence",
        what: What::Integers(0, MAX_RANK),
        absent: Absent::Means("ranks are drawn"),
        doc: "The ranks one by one.",
    },
    Field {
        name: "repeat_sequence",
        what: What::Flag,
        absent: Absent::Default("false"),
        doc: "Whether the sequence starts again after its last rank; otherwise arrivals end.",
    },
    Field {
        name: "phase",
        what: What::Tables(PHASE),
        absent: Absent::Means("the distribution never changes"),
        doc: "Changes of the rank distribution over time.",
    },
    Field {
        name: "flows",
        what: What::Integer(1, MAX_FLOWS),
        absent: Absent::Default("1"),
        doc: "How many flows the packets belong to. Several sources have flows of their own, numbered one after another.",
    },
    Field {
        name: "flow_order",
        what: What::Choice(&[("round-robin", "in turn"), ("random", "drawn uniformly for each packet")]),
        absent: Absent::Default("round-robin"),
        doc: "How packets are given to flows; only with more than one.",
    },
    Field { name: "start", what: What::Time, absent: Absent::Default("0"), doc: "No packet arrives before this." },
    Field {
        name: "stop",
        what: What::Time,
        absent: Absent::Means("with the run"),
        doc: "No packet of this source arrives at or after this.",
    },
    Field {
        name: "deadline",
        what: What::Time,
        absent: Absent::Means("none"),
        doc: "How long after its arrival a packet is due; for the rank functions edf and lstf.",
    },
    Field {
        name: "trace",
        what: What::Text,
        absent: Absent::Means("the workload is synthetic"),
        doc: "A pcap, pcapng or CSV file (gzip allowed), relative to the scenario's own file.",
    },
    Field {
        name: "trace_rank",
        what: What::Choice(&[
            ("dscp", "the DSCP field of the IP header"),
            ("payload", "an integer in the payload"),
            ("column", "the column rank of a CSV file"),
        ]),
        absent: Absent::Means("a rank function computes ranks"),
        doc: "Where the ranks of a trace come from.",
    },
    Field {
        name: "payload_offset_bytes",
        what: What::Integer(0, MAX_SIZE),
        absent: Absent::Required,
        doc: "Where in the TCP or UDP payload the rank stands.",
    },
    Field {
        name: "payload_width_bytes",
        what: What::Integer(1, 8),
        absent: Absent::Required,
        doc: "How many bytes it has: 1, 2, 4 or 8.",
    },
    Field {
        name: "payload_order",
        what: What::Choice(&[("big", "most significant byte first"), ("little", "least significant byte first")]),
        absent: Absent::Default("big"),
        doc: "Which of its bytes comes first.",
    },
    Field {
        name: "speed_up",
        what: What::Positive,
        absent: Absent::Default("1"),
        doc: "How many times faster than recorded the trace is replayed: an exact number or \"numerator/denominator\".",
    },
    Field {
        name: "out_of_order",
        what: What::Choice(&[("error", "stop and name the packet"), ("sort", "sort the trace by time")]),
        absent: Absent::Default("error"),
        doc: "What becomes of packets whose time lies before that of the packet before.",
    },
];

/// The keys of `[[workload.phase]]`.
pub(crate) const PHASE: &[Field] = &[
    Field { name: "from", what: What::Time, absent: Absent::Required, doc: "When the phase begins." },
    Field {
        name: "ranks",
        what: What::Distribution,
        absent: Absent::Means("as before"),
        doc: "What ranks are drawn from since then.",
    },
    Field {
        name: "shift_ranks",
        what: What::Signed,
        absent: Absent::Means("0"),
        doc: "What is added to each rank; a rank below 0 becomes 0.",
    },
];

/// The keys of a distribution.
pub(crate) const DISTRIBUTION: &[Field] = &[
    Field {
        name: "distribution",
        what: What::Choice(&[
            ("uniform", "low to high, all alike"),
            ("exponential", "floor of an exponential variate, redrawn above bound"),
            ("inverse-exponential", "bound + 1 minus an exponential one"),
            ("poisson", "Poisson"),
            ("convex", "Poisson modulo modulus: mass near both ends"),
            ("minmax", "|Poisson - offset| modulo modulus"),
            ("constant", "always the same"),
            ("histogram", "weights from a file, or values and weights given here"),
        ]),
        absent: Absent::Required,
        doc: "Which distribution.",
    },
    Field { name: "low", what: What::Integer(0, MAX_RANK), absent: Absent::Default("0"), doc: "Smallest value." },
    Field { name: "high", what: What::Integer(0, MAX_RANK), absent: Absent::Default("99"), doc: "Largest value." },
    Field {
        name: "mean",
        what: What::Positive,
        absent: Absent::Means("25 for exponential and inverse-exponential, 50 for poisson and minmax, 100 for convex"),
        doc: "The mean of the exponential or Poisson variate; the defaults are the papers'.",
    },
    Field {
        name: "bound",
        what: What::Integer(1, 1 << 20),
        absent: Absent::Default("99"),
        doc: "Exponential variates above this are redrawn.",
    },
    Field {
        name: "modulus",
        what: What::Integer(1, 1 << 20),
        absent: Absent::Means("100 for convex, 50 for minmax"),
        doc: "What the Poisson variate is reduced by.",
    },
    Field {
        name: "offset",
        what: What::Integer(0, 1 << 20),
        absent: Absent::Default("10"),
        doc: "What is subtracted.",
    },
    Field { name: "value", what: What::Integer(0, MAX_RANK), absent: Absent::Required, doc: "The only value." },
    Field {
        name: "file",
        what: What::Text,
        absent: Absent::Means("values and weights stand here"),
        doc: "A file with a value and its weight on each line, relative to the scenario's own file.",
    },
    Field { name: "values", what: What::Integers(0, MAX_RANK), absent: Absent::Required, doc: "The values." },
    Field { name: "weights", what: What::Integers(0, MAX_RANK), absent: Absent::Required, doc: "Their weights." },
];

/// What the rest of the scenario says about the workload.
pub(crate) struct Context<'a> {
    pub(crate) file: &'a str,
    /// Whether a rank function computes ranks, so that the workload must not.
    pub(crate) ranks_computed: bool,
    /// Whether a rank function of the user's may look at carried ranks as well.
    pub(crate) ranks_optional: bool,
    pub(crate) end: Time,
    /// Whom to ask whether to go on with a long trace.
    pub(crate) extras: &'a dyn Extras,
}

impl Workload {
    /// Reads `[workload]`, and the trace if it is one.
    pub(crate) fn read(sections: Vec<Section>, context: &Context<'_>) -> Result<(Self, Json), Error> {
        let several = sections.len() > 1;
        let mut sources = Vec::with_capacity(sections.len());
        let mut resolved = Vec::with_capacity(sections.len());
        let mut first_flow = 0u32;
        for section in sections {
            let mut reader = Reader::new(section, context.file, SOURCE)?;
            if reader.has("trace") {
                if several {
                    return Err(reader
                        .fault("trace", "is one of several sources: a trace must be the only one")
                        .into());
                }
                let (trace, resolved) = read_trace(reader, context)?;
                return Ok((Self::Trace(Arc::new(trace)), resolved));
            }
            let (source, next_flow) = read_source(&mut reader, context, first_flow)?;
            first_flow = next_flow;
            sources.push(source);
            resolved.push(Json::Object(reader.finish()?));
        }
        let resolved = if several { resolved.into() } else { resolved.pop().unwrap_or_default() };
        Ok((Self::Synthetic(sources), resolved))
    }

    /// What a rank function can be told about each packet.
    pub(crate) fn facts(&self) -> Facts {
        // No queue came before this one: both delays are known to be 0.
        let facts = Facts::one(Fact::CarriedRank).with(Fact::DelaySoFar).with(Fact::MeanDelaySoFar);
        match self {
            Self::Trace(_) => facts.with(Fact::FlowSize).with(Fact::Remaining),
            Self::Synthetic(sources) if sources.iter().any(|source| source.deadline.is_some()) => {
                facts.with(Fact::Deadline).with(Fact::RemainingTransmission)
            }
            Self::Synthetic(_) => facts,
        }
    }

    /// Whether anything depends on the seed.
    pub(crate) fn is_drawn(&self) -> bool {
        match self {
            Self::Trace(_) => false,
            Self::Synthetic(sources) => sources.iter().any(SyntheticSource::is_drawn),
        }
    }

    /// The size of the largest packet that it may send.
    pub(crate) fn largest_packet(&self) -> u32 {
        match self {
            Self::Synthetic(sources) => {
                let largest = sources.iter().map(|source| source.source.sizes.max()).max().unwrap_or(0);
                u32::try_from(largest).expect("sizes were checked")
            }
            Self::Trace(trace) => trace.largest,
        }
    }

    /// About how many packets it has; `None` if it does not end by itself.
    pub(crate) fn expected_packets(&self) -> Option<f64> {
        match self {
            Self::Trace(trace) => Some(trace.packets as f64),
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

/// Gives a parameter error of the workload crate its place.
fn placed(reader: &Reader<'_>, key: &str, error: &ParameterError) -> Error {
    reader.fault(key, format!("{} = {}: expected {}", error.parameter, error.value, error.expected)).into()
}

fn read_source(
    reader: &mut Reader<'_>,
    context: &Context<'_>,
    first_flow: u32,
) -> Result<(SyntheticSource, u32), Error> {
    let process = read_process(reader)?;
    let sizes = read_sizes(reader, context.file)?;
    let ranks = read_ranks(reader, context)?;
    let flows = reader.given_integer("flows")? as u32;
    let next_flow = first_flow
        .checked_add(flows)
        .ok_or_else(|| reader.fault("flows", format!("= {flows}: the flows of all sources exceed 2^32")))?;
    let flows = if flows == 1 {
        FlowAssignment::One(first_flow)
    } else if reader.given_choice("flow_order")? == 0 {
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
            .fault(&reader.written("stop"), format!("= {stop}: expected a time after the start at {start}"))
            .into());
    }
    let deadline = reader.time("deadline")?;
    let source = Source { process, sizes, ranks, flows, start, end: stop.min(context.end), packets: u64::MAX };
    // The seed does not matter to what can be wrong.
    source.stream(0, "check").map_err(|error| placed(reader, "arrivals", &error))?;
    Ok((SyntheticSource { source, first_flow, deadline }, next_flow))
}

fn read_process(reader: &mut Reader<'_>) -> Result<ArrivalProcess, Error> {
    let Some(arrivals) = reader.choice("arrivals")? else {
        let problem = "is missing: expected arrivals (constant, jittered, poisson, on-off or batches) or a trace";
        return Err(reader.fault("arrivals", problem).into());
    };
    if arrivals == 4 {
        let packets = reader.given_integer("batch_packets")?;
        return Ok(ArrivalProcess::Batches { packets, period: required_time(reader, "period")? });
    }
    let Some(rate) = reader.rate("rate")? else {
        return Err(reader.fault("rate_gbps", "is missing: expected the rate of the arrivals").into());
    };
    Ok(match arrivals {
        0 => ArrivalProcess::ConstantBitRate { rate },
        1 => ArrivalProcess::Jittered { rate, jitter: reader.ratio("jitter", false)?.expect("jitter is required") },
        2 => ArrivalProcess::Poisson { rate },
        _ => ArrivalProcess::OnOff {
            peak: rate,
            on: required_time(reader, "on")?,
            off: required_time(reader, "off")?,
            periods: [Periods::Fixed, Periods::Exponential][reader.given_choice("periods")?],
        },
    })
}

fn required_time(reader: &mut Reader<'_>, name: &str) -> Result<Span, Error> {
    let time = reader.time(name)?.expect("the field is required");
    if time == Span::ZERO {
        Err(reader.fault(&reader.written(name), "= 0: expected a time above 0").into())
    } else {
        Ok(time)
    }
}

fn read_sizes(reader: &mut Reader<'_>, file: &str) -> Result<Distribution, Error> {
    if let Some(Node::Value(Value::Integer(size))) = reader.node("size_bytes") {
        let Some(bytes) = u64::try_from(size).ok().filter(|bytes| (1..=MAX_SIZE).contains(bytes)) else {
            let problem = format!("= {size}: expected an integer from 1 to {MAX_SIZE}, or a distribution");
            return Err(reader.fault("size_bytes", problem).into());
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
        // Nobody would look at them; `finish` says that they have no effect.
        return Ok(RankSource::drawn(Distribution::constant(0).expect("0 is a rank")));
    }
    if let Some(ranks) = reader.integers("rank_sequence")? {
        let ranks = ranks.into_iter().map(Rank::saturating).collect();
        return Ok(RankSource::Sequence { ranks, repeat: reader.flag("repeat_sequence")? });
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
            let problem = format!("= {from}: expected a time after {}, when the phase before begins", before.from);
            return Err(phase.fault(&phase.written("from"), problem).into());
        }
        let ranks = read_distribution(&mut phase, context.file, "ranks")?;
        let ranks = ranks.unwrap_or_else(|| phases.last().expect("there is a first phase").ranks.clone());
        let shift = phase.signed("shift_ranks")?.unwrap_or(0);
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
        Some(Node::Section(section)) => section,
        Some(Node::Value(Value::Text(name))) => {
            let path = format!("{}.{key}", reader.section.path);
            Section::of(path, reader.section.place_of(key), "distribution", Value::Text(name))
        }
        Some(_) => {
            let problem = "expected a distribution: its name, such as \"uniform\", or a table with its parameters";
            return Err(reader.fault(key, problem).into());
        }
    };
    let mut inner = Reader::new(section, file, DISTRIBUTION)?;
    let made = match inner.given_choice("distribution")? {
        0 => Distribution::uniform(inner.given_integer("low")?, inner.given_integer("high")?),
        1 => Distribution::exponential(mean(&mut inner, 25.0)?, inner.given_integer("bound")?),
        2 => Distribution::inverse_exponential(mean(&mut inner, 25.0)?, inner.given_integer("bound")?),
        3 => Distribution::poisson(mean(&mut inner, 50.0)?),
        4 => Distribution::convex(mean(&mut inner, 100.0)?, modulus(&mut inner, 100)?),
        5 => {
            let mean = mean(&mut inner, 50.0)?;
            Distribution::minmax(mean, inner.given_integer("offset")?, modulus(&mut inner, 50)?)
        }
        6 => Distribution::constant(inner.given_integer("value")?),
        _ => match inner.text("file")? {
            Some(path) => {
                let path = beside(file, &path);
                let (read, digest) = read_digested(&path, |content, name| Distribution::histogram_from(content, name))?;
                note(&mut inner.resolved, "file", digest);
                Ok(read)
            }
            None => {
                let values = inner.integers("values")?.expect("values are required");
                let weights = inner.integers("weights")?.expect("weights are required");
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

/// The mean, or the papers'.
fn mean(reader: &mut Reader<'_>, papers: f64) -> Result<f64, Error> {
    let mean = reader.positive("mean")?.unwrap_or(papers);
    reader.resolved.insert("mean".to_owned(), mean.into());
    Ok(mean)
}

fn modulus(reader: &mut Reader<'_>, papers: u64) -> Result<u64, Error> {
    let modulus = reader.integer("modulus")?.unwrap_or(papers);
    reader.resolved.insert("modulus".to_owned(), modulus.into());
    Ok(modulus)
}

fn read_trace(mut reader: Reader<'_>, context: &Context<'_>) -> Result<(Trace, Json), Error> {
    let path = reader.text("trace")?.expect("it was written");
    let chosen = if context.ranks_computed { None } else { reader.choice("trace_rank")? };
    let rank = match chosen {
        Some(0) => TraceRank::Dscp,
        Some(1) => TraceRank::Payload {
            offset: reader.given_integer("payload_offset_bytes")? as u32,
            width: read_width(&mut reader)?,
            order: [ByteOrder::Big, ByteOrder::Little][reader.given_choice("payload_order")?],
        },
        Some(_) => TraceRank::Column,
        None if context.ranks_computed || context.ranks_optional => TraceRank::Later,
        None => {
            let problem = "is missing: expected where ranks come from (dscp, payload or column), or a [rank] function";
            return Err(reader.fault("trace_rank", problem).into());
        }
    };
    let speed_up = reader.ratio("speed_up", true)?.unwrap_or(Ratio::ONE);
    let out_of_order = [OutOfOrder::Error, OutOfOrder::Sort][reader.given_choice("out_of_order")?];
    let mut resolved = reader.finish()?;
    let path = beside(context.file, &path);
    let (trace, digest) = Trace::read(path, TraceOptions { rank, speed_up, out_of_order }, context.extras)?;
    note(&mut resolved, "trace", digest);
    resolved.insert("trace_contents".to_owned(), trace.summary());
    Ok((trace, resolved.into()))
}

fn read_width(reader: &mut Reader<'_>) -> Result<RankWidth, Error> {
    match reader.given_integer("payload_width_bytes")? {
        1 => Ok(RankWidth::One),
        2 => Ok(RankWidth::Two),
        4 => Ok(RankWidth::Four),
        8 => Ok(RankWidth::Eight),
        other => Err(reader.fault("payload_width_bytes", format!("= {other}: expected 1, 2, 4 or 8")).into()),
    }
}
