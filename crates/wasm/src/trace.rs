//! The packets offered to all schedulers: pasted ranks, a distribution, a file, or the calls of a vector.

use pifolab_registry::conformance::{self, Answer, Op};
use pifolab_registry::text;
use pifolab_sched::Packet;
use pifolab_units::{Rank, RankMap, Rate, Ratio, Span, Time, behaviour};
use pifolab_workload::trace::{OutOfOrder, TraceOptions, TraceRank, TraceReader};
use pifolab_workload::{Arrival, ArrivalProcess, Distribution, FlowAssignment, RankSource, Source};
use serde::Deserialize;

/// The largest number of packets in a trace. A page's memory must hold the state of each packet.
pub const MOST_PACKETS: u64 = 2_000_000;
/// The link of traces without times, and the size of their packets.
const LINK: Rate = Rate::from_gbps(10);
const PACKET_BYTES: u64 = 1500;

/// A packet to offer.
#[derive(Clone, Copy, Debug)]
pub struct Offered {
    /// The time of the offer.
    pub time: Time,
    /// The earliest time of departure.
    pub eligible: Time,
    /// Its rank.
    pub rank: Rank,
    /// Its size in bytes.
    pub size: u32,
    /// Its flow.
    pub flow: u32,
}

impl Offered {
    /// The descriptor of packet `index`.
    pub const fn packet(&self, index: usize, now: Time) -> Packet {
        Packet { id: index as u64, flow: self.flow, size: self.size, rank: self.rank, arrival: now }
    }
}

impl From<Arrival> for Offered {
    /// Converts an arrival to a packet that may leave immediately.
    fn from(Arrival { time, bytes, rank, flow }: Arrival) -> Self {
        Self { time, eligible: Time::ZERO, rank, size: bytes, flow }
    }
}

/// The source of requests for packets.
#[derive(Clone, Debug)]
pub enum Service {
    /// A link of this rate for each scheduler.
    Link(Rate),
    /// Calls in the written order: `Some` offers a packet at its time, `None` requests a packet at the given time.
    Calls(Vec<(Option<usize>, Time)>),
}

/// Packets, and the source of requests for them.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The packets.
    pub packets: Vec<Offered>,
    /// The source of requests for packets.
    pub service: Service,
    /// The answers that a vector expects; ids are indices in `packets`.
    pub expected: Vec<Answer>,
    /// The scheduler of a vector, and its parameters.
    pub scheduler: Option<(&'static str, String)>,
    /// A note about the trace for the user.
    pub note: String,
}

/// A trace that a user requests.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Wanted {
    /// Ranks as text; `-` requests a packet.
    Ranks {
        /// The text, for example `1 4 5 2 1 2`.
        ranks: String,
        /// The load of the link. `None`: all packets arrive before the first departure.
        load: Option<String>,
    },
    /// Ranks from a distribution.
    Distribution {
        /// The distribution.
        shape: Shape,
        /// The number of packets.
        packets: u64,
        /// The load of the link.
        load: String,
        /// The number of flows; packets belong to them in turn.
        flows: u32,
        /// The seed.
        seed: u64,
    },
    /// The file sent before: a capture or a CSV trace.
    File {
        /// Its name.
        name: String,
        /// The load of the link, which determines the link's rate.
        load: String,
        /// The ranks of a capture's DSCPs: `dscp`, `phb`, or a map such as `46=0,34=1`. `None`: by behaviours, if packets
        /// have such DSCPs.
        #[serde(default)]
        map: Option<String>,
    },
    /// The file sent before: a conformance vector.
    Vector {
        /// Its name.
        name: String,
    },
}

/// The distributions of the papers.
#[derive(Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
#[expect(missing_docs, reason = "pifolab_workload::Distribution says what they mean")]
pub enum Shape {
    Uniform { low: u64, high: u64 },
    Exponential { mean: f64, bound: u64 },
    InverseExponential { mean: f64, bound: u64 },
    Poisson { mean: f64 },
    Convex { mean: f64, modulus: u64 },
    Minmax { mean: f64, offset: u64, modulus: u64 },
}

impl Wanted {
    /// Creates the trace; `file` is the file sent before.
    ///
    /// # Errors
    /// Describes the problem, its place, and the expected value.
    pub fn make(self, file: Vec<u8>) -> Result<Trace, String> {
        match self {
            Self::Ranks { ranks, load } => pasted(&ranks, load.as_deref()),
            Self::Distribution { shape, packets, load, flows, seed } => {
                let ranks = RankSource::drawn(shape.distribution()?);
                paced(ranks, packets, &load, FlowAssignment::RoundRobin { first: 0, count: flows }, seed)
            }
            Self::File { name, load, map } => from_file(&file, &name, &load, map.as_deref()),
            Self::Vector { name } => vector(&name, &file),
        }
    }
}

impl Shape {
    fn distribution(&self) -> Result<Distribution, String> {
        match *self {
            Self::Uniform { low, high } => Distribution::uniform(low, high),
            Self::Exponential { mean, bound } => Distribution::exponential(mean, bound),
            Self::InverseExponential { mean, bound } => Distribution::inverse_exponential(mean, bound),
            Self::Poisson { mean } => Distribution::poisson(mean),
            Self::Convex { mean, modulus } => Distribution::convex(mean, modulus),
            Self::Minmax { mean, offset, modulus } => Distribution::minmax(mean, offset, modulus),
        }
        .map_err(|error| format!("ranks: {error}"))
    }
}

fn ratio(load: &str) -> Result<Ratio, String> {
    let expected = || format!("load = {load}: expected a number above 0 and up to 100, such as 1.1");
    let ratio: Ratio = load.trim().parse().map_err(|_| expected())?;
    if ratio == Ratio::ZERO || ratio > Ratio::new(100, 1).expect("a ratio") { Err(expected()) } else { Ok(ratio) }
}

fn times(rate: Rate, numerator: u64, denominator: u64) -> Option<Rate> {
    let bps = u128::from(rate.as_bps()) * u128::from(numerator) / u128::from(denominator);
    Rate::from_bps(u64::try_from(bps).ok()?)
}

/// Packets at a constant bit rate.
fn paced(ranks: RankSource, packets: u64, load: &str, flows: FlowAssignment, seed: u64) -> Result<Trace, String> {
    if packets == 0 || packets > MOST_PACKETS {
        return Err(format!("packets = {packets}: expected from 1 to {MOST_PACKETS}"));
    }
    let load = ratio(load)?;
    let rate = times(LINK, load.numerator(), load.denominator()).ok_or("load: expected a larger one")?;
    let source = Source {
        process: ArrivalProcess::ConstantBitRate { rate },
        sizes: Distribution::constant(PACKET_BYTES).map_err(|error| error.to_string())?,
        ranks,
        flows,
        start: Time::ZERO,
        end: Time::MAX,
        packets,
    };
    let packets: Vec<Offered> = source.stream(seed, "source-0").map_err(|e| e.to_string())?.map(Into::into).collect();
    let note = format!("{} packets of 1500 B at load {load} of a link of 10 Gb/s.", packets.len());
    Ok(Trace { packets, service: Service::Link(LINK), expected: Vec::new(), scheduler: None, note })
}

fn pasted(text: &str, load: Option<&str>) -> Result<Trace, String> {
    let mut ranks = Vec::new();
    let mut calls = Vec::new();
    for (at, word) in text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).enumerate() {
        if word == "-" {
            calls.push((None, Time::ZERO));
            continue;
        }
        let rank = word.parse().ok().and_then(Rank::new).ok_or_else(|| {
            format!("ranks: word {} is {word:?}: expected a rank from 0 to 2^63 - 1, or - for a departure", at + 1)
        })?;
        calls.push((Some(ranks.len()), Time::ZERO));
        ranks.push(rank);
    }
    if ranks.is_empty() {
        return Err("ranks: empty: expected ranks such as 1 4 5 2 1 2".to_owned());
    }
    if calls.len() as u64 > MOST_PACKETS {
        return Err(format!("ranks: {} words: expected at most {MOST_PACKETS}", calls.len()));
    }
    if let Some(load) = load {
        if calls.len() > ranks.len() {
            return Err("ranks: a departure is written as -, and a link asks for packets on its own: \
                        expected ranks alone, or no load"
                .to_owned());
        }
        let packets = ranks.len() as u64;
        return paced(RankSource::Sequence { ranks, repeat: false }, packets, load, FlowAssignment::One(0), 1);
    }
    let note = if calls.len() == ranks.len() {
        format!("{} packets arrive before the first leaves.", ranks.len())
    } else {
        format!("{} packets; departures as written, and then until all have left.", ranks.len())
    };
    let offered = |rank| Offered { time: Time::ZERO, eligible: Time::ZERO, rank, size: PACKET_BYTES as u32, flow: 0 };
    let packets = ranks.into_iter().map(offered).collect();
    Ok(Trace { packets, service: Service::Calls(calls), expected: Vec::new(), scheduler: None, note })
}

fn from_file(file: &[u8], name: &str, load: &str, map: Option<&str>) -> Result<Trace, String> {
    let load = ratio(load)?;
    let read = |rank| {
        let options = TraceOptions { rank, speed_up: Ratio::ONE, out_of_order: OutOfOrder::Sort };
        let mut reader = TraceReader::within(file, name, options, MOST_PACKETS).map_err(|error| error.to_string())?;
        let mut all = Vec::new();
        while let Some(arrival) = reader.next() {
            let arrival = arrival.map_err(|error| error.to_string())?;
            all.push(Offered { eligible: reader.eligible(), ..arrival.into() });
        }
        Ok(all)
    };
    let by_behaviour =
        (TraceRank::DscpBy(RankMap::PHB), "DSCP in the order of per-hop behaviours (EF before AF before best effort)");
    let (packets, ranks) = match map {
        Some("dscp") => (read(TraceRank::Dscp)?, "DSCP"),
        Some("phb") => (read(by_behaviour.0)?, by_behaviour.1),
        Some(map) => {
            let parsed = map.parse().map_err(|error| format!("map = {map}: {error}"))?;
            (read(TraceRank::DscpBy(parsed))?, "DSCP by the map")
        }
        // A CSV trace has a column of ranks. A capture has none, but DSCPs.
        None => match read(TraceRank::Column) {
            Ok(packets) => (packets, "its column rank"),
            Err(error) if name.to_lowercase().trim_end_matches(".gz").ends_with(".csv") => return Err(error),
            Err(_) => {
                let packets = read(TraceRank::Dscp)?;
                // As numbers, voice and routing would have the highest ranks, and best effort the lowest.
                let is_named = |packet: &Offered| behaviour(packet.rank.get() as u8).is_some();
                if packets.iter().any(is_named) { (read(by_behaviour.0)?, by_behaviour.1) } else { (packets, "DSCP") }
            }
        },
    };
    let bytes: u64 = packets.iter().map(|packet| u64::from(packet.size)).sum();
    let lasts = packets.last().map_or(Span::ZERO, |last| last.time.since(Time::ZERO));
    let bits_per_s = u128::from(bytes) * 8 * 1_000_000_000_000 / u128::from(lasts.as_ps().max(1));
    let rate = bits_per_s * u128::from(load.denominator()) / u128::from(load.numerator());
    let rate = u64::try_from(rate.max(1)).ok().and_then(Rate::from_bps).unwrap_or(LINK);
    let note = format!("{} packets, ranks from {ranks}; at load {load} the link has {rate}.", packets.len());
    Ok(Trace { packets, service: Service::Link(rate), expected: Vec::new(), scheduler: None, note })
}

fn vector(name: &str, file: &[u8]) -> Result<Trace, String> {
    let read = conformance::read(name, file).map_err(|error| error.to_string())?;
    let mut packets = Vec::new();
    let mut calls = Vec::new();
    let mut held = std::collections::HashMap::new();
    let mut now = Time::ZERO;
    let mut expected = Vec::new();
    for (op, answer) in read.steps {
        now = op.now().unwrap_or(now);
        match op {
            Op::Enqueue { id, rank, flow, bytes, eligible, .. } => {
                held.insert(id, packets.len() as u64);
                calls.push((Some(packets.len()), now));
                packets.push(Offered { time: now, eligible, rank, size: bytes, flow });
            }
            Op::Dequeue { .. } => calls.push((None, now)),
        }
        let place = |id: u64| held.get(&id).copied().unwrap_or(u64::MAX);
        expected.push(match answer {
            Answer::Admitted { queue, evicted } => {
                Answer::Admitted { queue, evicted: evicted.into_iter().map(place).collect() }
            }
            Answer::Sent(id) => Answer::Sent(id.map(place)),
            Answer::GivenUp(id, reason) => Answer::GivenUp(place(id), reason),
            other => other,
        });
    }
    let note = format!("{} calls of {name}, made one by one.", calls.len());
    let scheduler = Some((read.entry.info.name, text::written(&read.args)));
    Ok(Trace { packets, service: Service::Calls(calls), expected, scheduler, note })
}
