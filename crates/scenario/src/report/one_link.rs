//! The report of a run on one link: tables, summary and manifest from what the observers measured.

use super::Report;
use crate::inputs;
use crate::spec::one_link::OneLinkSpec;
use crate::spec::workload::Workload;
use pifolab_metrics::{
    Bin, Column, Departures, DropCount, Drops, InversionCount, Inversions, MappingUnpifoness, QueueShare, QueueShares,
    Reordering, Samples, Sojourn, Table, Throughput, Unpifoness, Waits, whole,
};
use pifolab_sched::DropReason;
use pifolab_sim::one_link::{End, Totals};
use pifolab_sim::trace_hash::TraceHash;
use pifolab_units::{Span, Time};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// What was measured of one scheduler.
pub(crate) struct Measured {
    pub(crate) totals: Totals,
    pub(crate) inversions: Inversions,
    pub(crate) drops: Drops,
    pub(crate) departures: Departures,
    pub(crate) unpifoness: Unpifoness,
    pub(crate) sojourn: Sojourn,
    pub(crate) reordering: Reordering,
    pub(crate) shares: QueueShares,
    pub(crate) samples: Samples,
    pub(crate) mapping: Option<MappingUnpifoness>,
    pub(crate) throughput: Option<Throughput>,
}

/// Builds the report of the schedulers that are done.
pub(crate) fn report(spec: &OneLinkSpec, seed: u64, measured: &[Option<Measured>]) -> Report {
    let reference = spec.metrics.delta_to.and_then(|place| measured[place].as_ref());
    let mut tables: Vec<Table> = Vec::new();
    let (mut summaries, mut runs, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    let mut hash = TraceHash::new();
    for (scheduler, measured) in spec.schedulers.iter().zip(measured) {
        let Some(measured) = measured else { continue };
        let row = scalars(measured, reference);
        let mut summary = Map::from_iter([("scheduler".to_owned(), json!(scheduler.label))]);
        summary.insert("name".to_owned(), json!(scheduler.chosen.name));
        summary.extend(row.iter().map(|(name, cell)| ((*name).to_owned(), cell.json())));
        summaries.push(Json::Object(summary));
        hash.fold(measured.totals.trace_hash);
        if spec.link.end == End::Drain && !measured.totals.is_drained() {
            warnings.push(format!(
                "{}: not drained within 213 days, the longest run: {} packets ({} bytes) wait",
                scheduler.label, measured.totals.waiting.packets, measured.totals.waiting.bytes,
            ));
        }
        runs.push(json!({
            "scheduler": scheduler.label,
            "events": measured.totals.events,
            "trace_hash": hex(measured.totals.trace_hash),
            "samples_left_out": measured.samples.skipped(),
        }));
        let mut columns = vec![("name", Column::Texts(vec![scheduler.chosen.name.clone()]))];
        columns.extend(row.into_iter().map(|(name, cell)| (name, cell.column())));
        let mut own =
            vec![Table::new("schedulers", columns), ranks(measured), queues(measured), flows(measured, &spec.workload)];
        own.extend(samples(measured));
        own.extend(mapping(measured));
        own.extend(throughput(measured));
        for table in own {
            let table = table.labelled("scheduler", &scheduler.label);
            match tables.iter_mut().find(|other| other.name == table.name) {
                Some(other) => other.append(table),
                None => tables.push(table),
            }
        }
    }
    let partial = measured.iter().any(Option::is_none);
    let overrides: Vec<String> = spec.overrides.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let manifest = json!({
        "pifolab": env!("CARGO_PKG_VERSION"),
        "kind": "one-link",
        "file": spec.file,
        "text": spec.text,
        "overrides": overrides,
        "spec": spec.resolved,
        "inputs": inputs::listed(&spec.resolved),
        "seed": seed,
        "random": spec.workload.is_drawn(),
        "runs": runs,
        "trace_hash": hex(hash.value()),
        "warnings": warnings,
        "partial": partial,
    });
    let summary = json!({"seed": seed, "partial": partial, "schedulers": summaries});
    Report { manifest, summary, tables, partial }
}

pub(crate) fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

/// One number of a scheduler.
pub(crate) enum Cell {
    Count(u64),
    Optional(Option<u64>),
    Real(Option<f64>),
    Text(String),
}

impl Cell {
    /// A missing real number is NaN in a table.
    pub(crate) fn column(self) -> Column {
        match self {
            Self::Count(count) => Column::Integers(vec![whole(count)]),
            Self::Optional(count) => Column::Optional(vec![count.map(whole)]),
            Self::Real(number) => Column::Reals(vec![number.unwrap_or(f64::NAN)]),
            Self::Text(text) => Column::Texts(vec![text]),
        }
    }

    /// A missing number is null in JSON.
    pub(crate) fn json(&self) -> Json {
        match self {
            Self::Count(count) => json!(count),
            Self::Optional(count) => json!(count),
            Self::Real(number) => json!(number),
            Self::Text(text) => json!(text),
        }
    }
}

/// The names of the columns that count drops, in the order of [`DropReason::ALL`].
pub(crate) const DROPPED: [&str; DropReason::ALL.len()] =
    ["dropped_admission", "dropped_full", "dropped_pushed_out", "dropped_rank_out_of_range"];

fn scalars(measured: &Measured, reference: Option<&Measured>) -> Vec<(&'static str, Cell)> {
    let Measured { totals, inversions, drops, unpifoness, sojourn, reordering, .. } = measured;
    let quantile = |share| Cell::Real(sojourn.quantile(share).map(nanoseconds));
    let range = sojourn.range();
    let order = reordering.total();
    let delta = reference.map(|reference| reference.departures.delta(&measured.departures));
    let length = totals.end.since(Time::ZERO);
    let utilisation = (length > Span::ZERO).then(|| totals.busy.as_ps() as f64 / length.as_ps() as f64);
    let mut row = vec![
        ("arrived_packets", Cell::Count(totals.arrived.packets)),
        ("arrived_bytes", Cell::Count(totals.arrived.bytes)),
        ("sent_packets", Cell::Count(totals.sent.packets)),
        ("sent_bytes", Cell::Count(totals.sent.bytes)),
        ("dropped_packets", Cell::Count(totals.dropped.packets)),
        ("dropped_bytes", Cell::Count(totals.dropped.bytes)),
    ];
    let reasons = DROPPED.iter().zip(DropReason::ALL);
    row.extend(reasons.map(|(name, reason)| (*name, Cell::Count(drops.total().of(reason)))));
    row.extend([
        ("waiting_packets", Cell::Count(totals.waiting.packets)),
        ("lowest_dropped_rank", Cell::Optional(drops.lowest_rank().map(|rank| rank.get()))),
        ("inversions", Cell::Count(inversions.total().inversions)),
        ("pairwise_inversions", Cell::Count(inversions.total().pairwise)),
        ("unpifoness", Cell::Real(Some(unpifoness.total() as f64))),
        ("delta", Cell::Real(delta)),
        ("sojourn_mean_ns", Cell::Real(sojourn.total().mean_ns())),
        ("sojourn_min_ns", Cell::Real(range.map(|(min, _)| nanoseconds(min)))),
        ("sojourn_p50_ns", quantile(0.5)),
        ("sojourn_p99_ns", quantile(0.99)),
        ("sojourn_p999_ns", quantile(0.999)),
        ("sojourn_max_ns", Cell::Real(range.map(|(_, max)| nanoseconds(max)))),
        ("reordered_packets", Cell::Count(order.reordered)),
        ("largest_displacement_packets", Cell::Count(order.largest_displacement)),
        ("utilisation", Cell::Real(utilisation)),
        ("end_ns", Cell::Count(totals.end.as_ns())),
        ("events", Cell::Count(totals.events)),
        ("trace_hash", Cell::Text(hex(totals.trace_hash))),
    ]);
    row
}

fn nanoseconds(span: Span) -> f64 {
    span.as_ps() as f64 / 1e3
}

/// What happened to the packets of one bin of ranks.
#[derive(Default)]
struct OfRank {
    departures: u64,
    inversions: InversionCount,
    drops: DropCount,
    waits: Waits,
}

fn ranks(measured: &Measured) -> Table {
    let mut rows: BTreeMap<Bin, OfRank> = BTreeMap::new();
    for (bin, departures) in measured.departures.by_rank().filter(|(_, count)| *count > 0) {
        rows.entry(bin).or_default().departures = departures;
    }
    for (bin, count) in measured.inversions.by_rank().filter(|(_, count)| count.inversions > 0) {
        rows.entry(bin).or_default().inversions = count;
    }
    for (bin, count) in measured.drops.by_rank().filter(|(_, count)| count.all() > 0) {
        rows.entry(bin).or_default().drops = count;
    }
    for (bin, waits) in measured.sojourn.by_rank().filter(|(_, waits)| waits.packets > 0) {
        rows.entry(bin).or_default().waits = waits;
    }
    let integers = |of: &dyn Fn(&Bin, &OfRank) -> u64| {
        Column::Integers(rows.iter().map(|(bin, row)| whole(of(bin, row))).collect())
    };
    let mut columns = vec![
        ("rank", integers(&|bin, _| bin.low)),
        ("rank_high", integers(&|bin, _| bin.high)),
        ("departures", integers(&|_, row| row.departures)),
        ("inversions", integers(&|_, row| row.inversions.inversions)),
        ("pairwise_inversions", integers(&|_, row| row.inversions.pairwise)),
        ("dropped", integers(&|_, row| row.drops.all())),
    ];
    for (name, reason) in DROPPED.iter().zip(DropReason::ALL) {
        columns.push((name, integers(&|_, row| row.drops.of(reason))));
    }
    let means = rows.values().map(|row| row.waits.mean_ns().unwrap_or(f64::NAN)).collect();
    columns.push(("sojourn_mean_ns", Column::Reals(means)));
    Table::new("ranks", columns)
}

/// What the tables of queues have in common.
pub(crate) fn queue_columns(rows: &[(Option<u32>, QueueShare)]) -> Vec<(&'static str, Column)> {
    let counts = |of: &dyn Fn(&QueueShare) -> u64| Column::Integers(rows.iter().map(|row| whole(of(&row.1))).collect());
    let mut columns = vec![
        ("queue", Column::Optional(rows.iter().map(|row| row.0.map(i64::from)).collect())),
        ("admitted_packets", counts(&|queue| queue.admitted)),
        ("sent_packets", counts(&|queue| queue.sent)),
        ("sent_bytes", counts(&|queue| queue.sent_bytes)),
        ("dropped_packets", counts(&|queue| queue.dropped.all())),
    ];
    for (name, reason) in DROPPED.iter().zip(DropReason::ALL) {
        columns.push((name, counts(&move |queue| queue.dropped.of(reason))));
    }
    columns
}

fn queues(measured: &Measured) -> Table {
    let rows: Vec<_> = measured.shares.rows().collect();
    let length = measured.totals.end.since(Time::ZERO);
    let share = |wire: Span| if length == Span::ZERO { 0.0 } else { wire.as_ps() as f64 / length.as_ps() as f64 };
    let mut columns = queue_columns(&rows);
    columns.extend([
        ("time_share", Column::Reals(rows.iter().map(|row| share(row.1.wire)).collect())),
        ("mean_packets", Column::Reals(rows.iter().map(|row| row.1.mean_packets(length)).collect())),
    ]);
    Table::new("queues", columns)
}

fn flows(measured: &Measured, workload: &Workload) -> Table {
    let flows: Vec<_> = measured.reordering.flows().collect();
    let integers = |of: &dyn Fn(&(u32, pifolab_metrics::FlowOrder)) -> u64| {
        Column::Integers(flows.iter().map(|row| whole(of(row))).collect())
    };
    let mut columns = vec![
        ("flow", integers(&|(flow, _)| u64::from(*flow))),
        ("sent_packets", integers(&|(_, order)| order.sent)),
        ("reordered_packets", integers(&|(_, order)| order.reordered)),
        ("largest_displacement_packets", integers(&|(_, order)| order.largest_displacement)),
    ];
    if let Workload::Trace(trace) = workload {
        let name = |flow: u32| trace.flow_names.get(flow as usize).cloned().unwrap_or_default();
        columns.push(("flow_name", Column::Texts(flows.iter().map(|(flow, _)| name(*flow)).collect())));
    }
    Table::new("flows", columns)
}

fn samples(measured: &Measured) -> [Table; 2] {
    let (mut times, mut packets, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut lowest, mut highest) = (Vec::new(), Vec::new());
    let (mut queue_times, mut numbers, mut held, mut bounds) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (sample, queues) in measured.samples.iter() {
        let time = whole(sample.time.as_ns());
        times.push(time);
        packets.push(i64::from(sample.packets));
        bytes.push(whole(sample.bytes));
        lowest.push(sample.window.map(|(min, _)| whole(min.get())));
        highest.push(sample.window.map(|(_, max)| whole(max.get())));
        for (number, queue) in queues.iter().enumerate() {
            queue_times.push(time);
            numbers.push(number as i64);
            held.push(i64::from(queue.packets));
            bounds.push(queue.bound);
        }
    }
    let samples = vec![
        ("time_ns", Column::Integers(times)),
        ("packets", Column::Integers(packets)),
        ("backlog_bytes", Column::Integers(bytes)),
        ("window_min", Column::Optional(lowest)),
        ("window_max", Column::Optional(highest)),
    ];
    let queues = vec![
        ("time_ns", Column::Integers(queue_times)),
        ("queue", Column::Integers(numbers)),
        ("packets", Column::Integers(held)),
        ("bound", Column::Optional(bounds)),
    ];
    [Table::new("samples", samples), Table::new("queue_samples", queues)]
}

fn mapping(measured: &Measured) -> Option<Table> {
    let windows = measured.mapping.as_ref()?.windows();
    Some(Table::new(
        "unpifoness_windows",
        vec![
            ("window", Column::Integers((0..windows.len() as i64).collect())),
            ("time_ns", Column::Integers(windows.iter().map(|(time, _)| whole(time.as_ns())).collect())),
            ("unpifoness", Column::Reals(windows.iter().map(|(_, value)| *value).collect())),
        ],
    ))
}

fn throughput(measured: &Measured) -> Option<Table> {
    let rows = measured.throughput.as_ref()?.rows();
    Some(Table::new(
        "throughput",
        vec![
            ("start_ns", Column::Integers(rows.iter().map(|(start, _, _)| whole(start.as_ns())).collect())),
            ("flow", Column::Integers(rows.iter().map(|(_, flow, _)| i64::from(*flow)).collect())),
            ("bytes", Column::Integers(rows.iter().map(|(_, _, bytes)| whole(*bytes)).collect())),
        ],
    ))
}
