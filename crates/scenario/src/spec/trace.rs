//! The packets of traces: in memory if they are few, else read again for each scheduler.

use super::written::Spec;
use crate::error::Error;
use crate::extras::Extras;
use crate::inputs::{Digested, read_digested};
use crate::machine::{available, size};
use pifolab_sched::{Fact, Facts, Labels};
use pifolab_units::{PHBS, Span, Time, behaviour};
use pifolab_workload::Arrival;
use pifolab_workload::trace::{BothWays, OutOfOrder, TraceCounts, TraceLabels, TraceOptions, TraceRank, TraceReader};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The traces of a run, as one.
#[derive(Debug)]
pub(crate) struct Traces {
    traces: Vec<Trace>,
    /// The number of each trace's first flow: traces share no flows.
    first_flows: Vec<u32>,
}

impl Traces {
    /// Joins the traces; `None` if they have more flows than there are numbers.
    pub(crate) fn new(traces: Vec<Trace>) -> Option<Self> {
        let mut first_flows = Vec::with_capacity(traces.len());
        let mut next = 0u32;
        for trace in &traces {
            first_flows.push(next);
            next = next.checked_add(u32::try_from(trace.flow_bytes.len()).ok()?)?;
        }
        Some(Self { traces, first_flows })
    }

    /// The traces in the order of the scenario.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Trace> {
        self.traces.iter()
    }

    /// The trace of a flow, with the flow's number in it.
    fn place(&self, flow: u32) -> (usize, u32) {
        let trace = self.first_flows.partition_point(|first| *first <= flow) - 1;
        (trace, flow - self.first_flows[trace])
    }

    /// The name of a flow; empty if there is no such flow.
    pub(crate) fn flow_name(&self, flow: u32) -> &str {
        let (trace, flow) = self.place(flow);
        self.traces[trace].flow_names.get(flow as usize).map_or("", String::as_str)
    }

    /// The bytes of a flow, its trace, and its number in that trace.
    pub(crate) fn flow_bytes(&self, flow: u32) -> (u64, usize, u32) {
        let (trace, flow) = self.place(flow);
        (self.traces[trace].flow_bytes[flow as usize], trace, flow)
    }

    /// The number of flows.
    pub(crate) fn flows(&self) -> usize {
        self.iter().map(|trace| trace.flow_bytes.len()).sum()
    }

    /// The number of packets.
    pub(crate) fn packets(&self) -> u64 {
        self.iter().map(|trace| trace.packets).sum()
    }

    /// The bytes of all packets.
    pub(crate) fn bytes(&self) -> u64 {
        self.iter().flat_map(|trace| &trace.flow_bytes).sum()
    }

    /// The bytes of the largest packet.
    pub(crate) fn largest(&self) -> u32 {
        self.iter().map(|trace| trace.largest).max().unwrap_or(0)
    }

    /// The time of the last arrival.
    pub(crate) fn last(&self) -> Time {
        self.iter().map(|trace| trace.last.saturating_add(trace.start)).max().unwrap_or(Time::ZERO)
    }

    /// The facts that all packets have.
    pub(crate) fn facts(&self) -> Facts {
        let classes = self.traces.len() > 1 || self.iter().any(|trace| trace.labels.has_classes);
        let facts = if classes { Facts::one(Fact::Class) } else { Facts::NONE };
        let headers = self.iter().all(|trace| trace.labels.has_headers);
        if headers { facts.with(Fact::Dscp).with(Fact::Hosts).with(Fact::Ports) } else { facts }
    }

    /// The header fields of packet number `packet` of a trace, of `flow` in that trace. Without a column of classes the
    /// class is the number of the trace.
    pub(crate) fn labels(&self, trace: usize, packet: u64, flow: u32) -> Labels {
        let known = &self.traces[trace].labels;
        let TraceLabels { class, source, destination, source_port, destination_port, dscp } = known.get(packet, flow);
        let class = if known.has_classes { class } else { trace as u32 };
        Labels { class, source, destination, source_port, destination_port, dscp, ecn: 0 }
    }

    /// The packets from the first on; at equal times those of earlier traces come first.
    pub(crate) fn replay(&self) -> Result<Replays<'_>, Error> {
        let mut parts = Vec::with_capacity(self.traces.len());
        for (trace, &first_flow) in self.traces.iter().zip(&self.first_flows) {
            parts.push(Part { replay: trace.replay()?, first_flow, start: trace.start, head: None });
        }
        Ok(Replays { parts, eligible: Time::ZERO })
    }
}

/// The packets of several traces, in order.
pub(crate) struct Replays<'a> {
    parts: Vec<Part<'a>>,
    /// The eligibility time of the packet returned last.
    eligible: Time,
}

/// One of several traces.
struct Part<'a> {
    replay: Replay<'a>,
    first_flow: u32,
    start: Span,
    /// The next packet with its eligibility time, if it was read; within it `None` at the end.
    head: Option<Option<(Arrival, Time)>>,
}

impl Part<'_> {
    #[inline]
    fn read(&mut self) -> Result<Option<(Arrival, Time)>, Error> {
        let Some(mut arrival) = self.replay.next()? else { return Ok(None) };
        arrival.time = arrival.time.saturating_add(self.start);
        arrival.flow += self.first_flow;
        let eligible = self.replay.eligible();
        Ok(Some((arrival, if eligible == Time::ZERO { eligible } else { eligible.saturating_add(self.start) })))
    }
}

impl Replays<'_> {
    /// The next packet.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Arrival>, Error> {
        let next = if let [only] = self.parts.as_mut_slice() { only.read()? } else { self.first()? };
        Ok(next.map(|(arrival, eligible)| {
            self.eligible = eligible;
            arrival
        }))
    }

    /// The earliest of the next packets.
    fn first(&mut self) -> Result<Option<(Arrival, Time)>, Error> {
        for part in &mut self.parts {
            if part.head.is_none() {
                part.head = Some(part.read()?);
            }
        }
        let heads = self.parts.iter_mut().filter_map(|part| Some((part.head??.0.time, part)));
        let first = heads.min_by_key(|(time, _)| *time);
        Ok(first.and_then(|(_, part)| part.head.take()?))
    }

    /// The eligibility time of the packet returned last; 0 without such a column.
    #[inline]
    pub(crate) const fn eligible(&self) -> Time {
        self.eligible
    }
}

/// A trace that has been read once, so that its faults are known before the run.
#[derive(Debug)]
pub(crate) struct Trace {
    path: PathBuf,
    options: TraceOptions,
    /// Its packets, 24 bytes each, unless they are more than [`KEPT`].
    kept: Option<Vec<Arrival>>,
    /// The eligibility times of the kept packets, if a column has them.
    eligible: Vec<Time>,
    /// The number of packets that may not leave as soon as they arrive; `None` without a column of eligibility times.
    pub(crate) held_back: Option<u64>,
    /// Packets.
    pub(crate) packets: u64,
    /// Bytes of the largest packet.
    pub(crate) largest: u32,
    /// The time of the last arrival, after the first one.
    last: Time,
    /// The time of the first arrival.
    start: Span,
    /// Bytes of each flow in the whole trace.
    pub(crate) flow_bytes: Vec<u64>,
    pub(crate) flow_names: Vec<String>,
    labels: Labelled,
    counts: TraceCounts,
    /// If ranks are the DSCPs themselves: the per-hop behaviours of packets, a bit for each DSCP.
    behaviours: u64,
    /// The two directions, if most flows have a reverse flow.
    both_ways: Option<BothWays>,
    /// What was left out, and why, without the name of the file.
    left_out: Option<String>,
    /// The state of the file when it was read.
    stamp: Option<Stamp>,
}

/// Header fields of packets, which are mostly the same for all packets of a flow.
#[derive(Debug, Default)]
struct Labelled {
    flows: Vec<Option<TraceLabels>>,
    /// Packets with other fields than the first of their flow, in order.
    others: Vec<(u64, TraceLabels)>,
    has_classes: bool,
    has_headers: bool,
}

impl Labelled {
    fn note(&mut self, packet: u64, flow: u32, labels: TraceLabels) {
        if flow as usize >= self.flows.len() {
            self.flows.resize(flow as usize + 1, None);
        }
        let known = self.flows[flow as usize].get_or_insert(labels);
        if *known != labels {
            self.others.push((packet, labels));
        }
    }

    fn get(&self, packet: u64, flow: u32) -> TraceLabels {
        match self.others.binary_search_by_key(&packet, |(packet, _)| *packet) {
            Ok(at) => self.others[at].1,
            Err(_) => self.flows.get(flow as usize).copied().flatten().unwrap_or_default(),
        }
    }
}

/// Length and modification time of a file, to detect another content.
type Stamp = (u64, Option<SystemTime>);

fn stamp_of(path: &Path) -> Option<Stamp> {
    let about = path.metadata().ok()?;
    Some((about.len(), about.modified().ok()))
}

/// A trace of more packets than this (100 MB) is not kept in memory but read again for each scheduler, unless it had to
/// be sorted or cannot be read twice.
pub(crate) const KEPT: usize = if cfg!(test) { 1 << 10 } else { 1 << 22 };

/// Packets between two checks of the free memory and for an interruption.
pub(crate) const LOOK_EVERY: u64 = 1 << 16;

/// The memory that must stay free while a trace is read.
const RESERVE: u64 = 256 << 20;

/// The number of packets that can be sorted on any machine.
const FEW: u64 = 1 << 20;

/// Bytes of a flow: its name, its number under that name, and its size.
const FLOW: u64 = 200;

/// Bytes of a packet with other fields than its flow.
const LABELS: u64 = 24;

/// Bytes of a packet while a trace is sorted: time, packet and scratch space.
const SORTED: u64 = 2 * 64;

impl Trace {
    /// Reads the trace at `path`, whose first packet arrives at `start`; returns the digest of the file as well.
    pub(crate) fn read(
        path: PathBuf,
        options: TraceOptions,
        start: Span,
        extras: &dyn Extras,
    ) -> Result<(Self, String), Error> {
        let stamp = stamp_of(&path);
        let empty = Self {
            path: path.clone(),
            options,
            kept: None,
            eligible: Vec::new(),
            held_back: None,
            packets: 0,
            largest: 0,
            last: Time::ZERO,
            start,
            flow_bytes: Vec::new(),
            flow_names: Vec::new(),
            labels: Labelled::default(),
            counts: TraceCounts::default(),
            behaviours: 0,
            both_ways: None,
            left_out: None,
            stamp,
        };
        read_digested(&path, |content, name| empty.gathered(content, name, extras))
    }

    /// Reads `content` into the trace.
    fn gathered(mut self, content: &mut Digested, name: &str, extras: &dyn Extras) -> Result<Self, Error> {
        let mut reader = TraceReader::within(content, name, self.options, room_to_sort())?;
        // A pipe can be read only once.
        let must_keep = self.options.out_of_order == OutOfOrder::Sort || !self.path.is_file();
        let mut kept = Some(Vec::new());
        self.held_back = reader.has_eligible().then_some(0);
        while let Some(arrival) = reader.next() {
            let arrival = arrival?;
            let labels = reader.labels();
            self.labels.note(self.packets, arrival.flow, labels);
            if self.options.rank == TraceRank::Dscp && behaviour(labels.dscp).is_some() {
                self.behaviours |= 1 << labels.dscp;
            }
            let flow = arrival.flow as usize;
            if flow >= self.flow_bytes.len() {
                self.flow_bytes.resize(flow + 1, 0);
            }
            self.flow_bytes[flow] += u64::from(arrival.bytes);
            self.packets += 1;
            self.largest = self.largest.max(arrival.bytes);
            self.last = arrival.time;
            if let Some(all) = &mut kept {
                all.push(arrival);
                if self.held_back.is_some() {
                    self.eligible.push(reader.eligible());
                }
                if all.len() > KEPT && !must_keep {
                    (kept, self.eligible) = (None, Vec::new());
                }
            }
            if let Some(held_back) = &mut self.held_back {
                *held_back += u64::from(reader.eligible() > arrival.time);
            }
            if self.packets.is_multiple_of(LOOK_EVERY) {
                if extras.interrupted() {
                    return Err(Error::Cancelled);
                }
                self.check_room(kept.as_ref().map_or(0, Vec::len))?;
            }
        }
        (self.labels.has_classes, self.labels.has_headers) = (reader.has_classes(), reader.has_headers());
        if self.last.as_ps().checked_add(self.start.as_ps()).is_none() {
            let problem = "its last packet would arrive over 213 days after the run starts: expected an earlier start";
            return Err(Spec::fault(name, "", problem).into());
        }
        self.both_ways = reader.both_ways(&self.flow_bytes);
        (self.flow_names, self.counts) = (reader.flow_names(), reader.counts());
        self.left_out = reader.left_out();
        self.kept = kept;
        Ok(self)
    }

    /// Refuses to continue if memory runs out because of the trace.
    fn check_room(&self, kept: usize) -> Result<(), Error> {
        let held = kept as u64 * 24 + self.eligible.len() as u64 * 8 + self.labels.others.len() as u64 * LABELS;
        check_room(&self.path.display().to_string(), held, self.flow_bytes.len(), self.packets)
    }

    /// Whether its packets are in memory.
    pub(crate) const fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Its packets from the first on, with its own flows, and times from 0.
    fn replay(&self) -> Result<Replay<'_>, Error> {
        Ok(match &self.kept {
            Some(arrivals) => {
                Replay::Kept { arrivals: arrivals.iter(), eligible: self.eligible.iter(), last: Time::ZERO }
            }
            None => {
                let reader = TraceReader::open(&self.path, self.options)?;
                Replay::Streamed { reader: Box::new(reader), left: self.packets, trace: self }
            }
        })
    }

    /// For the manifest.
    pub(crate) fn summary(&self) -> Json {
        let mut summary = json!({
            "packets": self.packets,
            "bytes": self.flow_bytes.iter().sum::<u64>(),
            "flows": self.flow_bytes.len(),
            "last_arrival_ns": self.last.saturating_add(self.start).as_ns(),
            "not_ip_packets": self.counts.not_ip,
            "unread_tunnel_packets": self.counts.tunnels,
            "fragment_packets": self.counts.fragments,
            "unranked_packets": self.counts.unranked,
            "left_out": self.left_out,
        });
        if self.behaviours != 0 {
            let named = PHBS.iter().filter(|phb| self.behaviours >> phb.dscp & 1 == 1).map(|phb| phb.name);
            summary["unordered_behaviours"] = named.collect::<Vec<_>>().into();
        }
        if let Some(BothWays { flows, host }) = &self.both_ways {
            summary["both_ways"] = json!({ "flows": flows, "host": host });
        }
        self.counts.rare().for_each(|(key, count)| summary[key] = count.into());
        if let Some(packets) = self.held_back {
            summary["held_back_packets"] = packets.into();
        }
        summary
    }
}

/// Refuses to continue with the trace `file` if memory runs out because of its `held` bytes and its flows.
pub(crate) fn check_room(file: &str, held: u64, flows: usize, packets: u64) -> Result<(), Error> {
    let held = held + flows as u64 * FLOW;
    let Some(left) = available().filter(|left| held > RESERVE && *left < RESERVE) else { return Ok(()) };
    let problem = format!(
        "has {flows} flows in its first {packets} packets, and {} of memory are left: expected a shorter trace, or one with fewer \
         flows",
        size(left as f64)
    );
    Err(Spec::fault(file, "", problem).into())
}

/// The number of packets that fit in memory while they are sorted.
pub(crate) fn room_to_sort() -> u64 {
    available().map_or(u64::MAX, |bytes| (bytes.saturating_sub(RESERVE) / SORTED).max(FEW))
}

/// The packets of a trace, one after the other.
enum Replay<'a> {
    /// From memory.
    Kept {
        /// The remaining packets.
        arrivals: std::slice::Iter<'a, Arrival>,
        /// Their eligibility times; empty without such a column.
        eligible: std::slice::Iter<'a, Time>,
        /// The eligibility time of the packet returned last.
        last: Time,
    },
    /// From the file.
    Streamed {
        /// Decodes the file again.
        reader: Box<TraceReader<'static>>,
        /// The number of remaining packets.
        left: u64,
        /// The trace as first read.
        trace: &'a Trace,
    },
}

impl Replay<'_> {
    /// The next packet.
    #[inline]
    fn next(&mut self) -> Result<Option<Arrival>, Error> {
        match self {
            Self::Kept { arrivals, eligible, last } => {
                *last = eligible.next().copied().unwrap_or_default();
                Ok(arrivals.next().copied())
            }
            Self::Streamed { reader, left, trace } => {
                let next = reader.next().transpose()?;
                let known = next.is_none_or(|arrival| (arrival.flow as usize) < trace.flow_bytes.len());
                let over = next.is_none() && stamp_of(&trace.path) != trace.stamp;
                if next.is_some() != (*left > 0) || !known || over {
                    let file = trace.path.display().to_string();
                    return Err(Spec::fault(&file, "", "was changed while the run read it").into());
                }
                *left -= u64::from(next.is_some());
                Ok(next)
            }
        }
    }

    /// The eligibility time of the packet returned last; 0 without such a column.
    #[inline]
    fn eligible(&self) -> Time {
        match self {
            Self::Kept { last, .. } => *last,
            Self::Streamed { reader, trace, .. } if trace.held_back.is_some() => reader.eligible(),
            Self::Streamed { .. } => Time::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Folder, read, run_spec};
    use crate::{Extras, ValidSpec, read_text, run_text};
    use std::fmt::Write;
    use std::path::Path;
    use std::sync::atomic::{AtomicU32, Ordering};

    const PACKETS: usize = 4 * super::KEPT;

    fn scenario(trace: &Path, more: &str) -> String {
        format!(
            "link = {{ rate_gbps = 10 }}\nworkload = {{ trace = {:?}, trace_rank = \"column\"{more} }}\n\
             scheduler = [{{ name = \"pifo\" }}, {{ name = \"fifo\" }}]",
            trace.display().to_string()
        )
    }

    fn csv(folder: &Folder, packets: usize) -> std::path::PathBuf {
        let mut text = "time_ns,size_bytes,rank,flow\n".to_owned();
        for at in 0..packets {
            writeln!(text, "{},{},{},f{}", at * 1_000, 1_000 + at % 500, at * 7 % 100, at % 10).unwrap();
        }
        folder.write("trace.csv", text)
    }

    #[test]
    fn a_long_trace_is_streamed_and_gives_what_a_kept_one_gives() {
        let folder = Folder::new();
        let file = csv(&folder, PACKETS);
        // A trace that is sorted is kept.
        let run = |more: &str| {
            let report = run_text(&scenario(&file, more), "x.toml", &[], None, 2, &(), &mut |_| true).unwrap();
            (report.manifest["trace_hash"].clone(), report.tables)
        };
        assert_eq!(run(""), run(", out_of_order = \"sort\""));
        for (more, kept) in [("", false), (", out_of_order = \"sort\"", true)] {
            let Ok(ValidSpec::OneLink(spec)) = read(&scenario(&file, more), &[]) else { panic!("one link") };
            let crate::spec::workload::Workload::Trace(trace) = &spec.workload else { panic!("a trace") };
            assert_eq!((trace.traces[0].is_kept(), trace.packets()), (kept, PACKETS as u64));
        }
    }

    #[test]
    fn times_at_which_packets_may_leave_are_the_same_streamed_and_kept_and_cost_nothing_where_there_are_none() {
        let folder = Folder::new();
        let mut text = "time_ns,size_bytes,rank,flow,eligible_us\n".to_owned();
        for at in 0..PACKETS {
            writeln!(text, "{},1000,{},f,{}", at * 1_000, at * 7 % 100, at + at * 13 % 50).unwrap();
        }
        let file = folder.write("trace.csv", text);
        let scenario = |more: &str| scenario(&file, more).replace("\"fifo\"", "\"pieo\"");
        let run = |text: String| {
            let report = run_text(&text, "x.toml", &[], None, 2, &(), &mut |_| true).unwrap();
            (report.manifest["trace_hash"].clone(), report.tables)
        };
        assert_eq!(run(scenario("")), run(scenario(", out_of_order = \"sort\"")));
        let read = |text: &str| match read(text, &[]).unwrap() {
            ValidSpec::OneLink(spec) => match spec.workload {
                crate::spec::workload::Workload::Trace(trace) => trace,
                _ => panic!("a trace"),
            },
            _ => panic!("one link"),
        };
        let kept = |text: &str| read(text).traces[0].eligible.len();
        assert_eq!([kept(&scenario(", out_of_order = \"sort\"")), kept(&scenario(""))], [PACKETS, 0]);
        csv(&folder, PACKETS);
        assert_eq!(kept(&scenario(", out_of_order = \"sort\"")), 0);
    }

    #[test]
    fn a_trace_that_changes_between_its_two_readings_ends_the_run_with_one_line() {
        let folder = Folder::new();
        let file = csv(&folder, PACKETS);
        for packets in [PACKETS - 1, PACKETS + 1] {
            let spec = read(&scenario(&csv(&folder, PACKETS), ""), &[]).unwrap();
            csv(&folder, packets);
            let error = run_spec(&spec).unwrap_err();
            assert_eq!(error.to_string(), format!("{}: was changed while the run read it", file.display()));
        }
    }

    struct Impatient(AtomicU32);
    impl Extras for Impatient {
        fn interrupted(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) > 0
        }
    }

    #[test]
    fn reading_a_long_trace_can_be_interrupted() {
        let folder = Folder::new();
        let file = csv(&folder, 200_000);
        let asked = Impatient(AtomicU32::new(0));
        let error = read_text(&scenario(&file, ""), "x.toml", &[], None, &asked).unwrap_err();
        assert_eq!(error, crate::Error::Cancelled);
        assert_eq!(asked.0.into_inner(), 2);
    }
}
