//! The report of a run on one link: tables, summary and manifest from what the observers measured.

use super::Report;
use super::builder::{Builder, Outcome, hex};
use super::columns::{Cell, Limit, cut_short, dropped, queue_columns, sample_tables};
use super::measured::Measured;
use super::{nothing, unexercised};
use crate::extras::Extras;
use crate::spec::one_link::OneLinkSpec;
use crate::spec::workload::Workload;
use pifolab_metrics::{Bin, Column, DropCount, InversionCount, Inversions, Table, Waits, whole};
use pifolab_sim::one_link::End;
use pifolab_units::{Span, Time};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Builds the report of the schedulers that are done.
pub(crate) fn report(spec: &OneLinkSpec, seed: u64, measured: &[Option<Measured>], extras: &dyn Extras) -> Report {
    let reference = spec.metrics.delta_to.and_then(|place| measured[place].as_ref());
    let mut report = Builder::default();
    let partial = measured.iter().any(Option::is_none);
    let limit = Limit::new(partial, measured.len(), extras);
    for (scheduler, measured) in spec.schedulers.iter().zip(measured) {
        let Some(measured) = measured else { continue };
        if spec.link.end == End::Drain && !measured.totals.is_drained() {
            report.warn(format!(
                "{}: not drained within 213 days, the longest run: {} packets ({} bytes) wait",
                scheduler.label, measured.totals.waiting.packets, measured.totals.waiting.bytes,
            ));
        }
        let arrived = measured.totals.arrived.packets;
        if spec.arrivals_end == Time::MAX && arrived < spec.packets && spec.packets < u64::MAX && !spec.workload.ends()
        {
            report.warn(format!(
                "{}: {arrived} of {} packets arrived within 213 days, the longest run",
                scheduler.label, spec.packets
            ));
        }
        let warnings = match nothing::on_one_link(spec, &measured.totals) {
            Some(warning) => vec![warning],
            None => unexercised::on_one_link(spec, scheduler, measured),
        };
        for warning in warnings {
            report.warn(format!("{}: {warning}", scheduler.label));
        }
        if magnitude(&measured.inversions).is_none() {
            report.warn(format!("{}: inversion_magnitude is null: the sum is above 2^63 - 1", scheduler.label));
        }
        let mut tables = vec![ranks(measured), queues(measured), flows(measured, &spec.workload)];
        let sampled = sample_tables(["samples", "queue_samples"], &[(0, &measured.samples)], true, &limit);
        let (shown, samples) = (sampled[0].rows(), measured.samples.iter().len());
        if shown < samples {
            report.warn(cut_short(&scheduler.label, "samples", shown, samples));
        }
        tables.extend(sampled);
        tables.extend(measured.measures.tables());
        report.add(Outcome {
            scheduler,
            events: measured.totals.events,
            trace_hash: measured.totals.trace_hash,
            more: json!({ "rows_left_out": { "samples": (samples - shown) as u64 + measured.samples.skipped() } }),
            row: scalars(measured, reference),
            summary: Json::Null,
            tables,
        });
    }
    let has_window = |measured: &Measured| measured.samples.iter().any(|(sample, _)| sample.window.is_some());
    let has_samples = measured.iter().flatten().any(|measured| measured.samples.iter().len() > 0);
    if spec.metrics.sample_window && has_samples && !measured.iter().flatten().any(has_window) {
        report.warn("metrics.sample_window was never exercised: no scheduler has a window of ranks".to_owned());
    }
    report.finish(&spec.common, "one-link", seed, spec.workload.is_drawn(), partial)
}

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
    row.extend(dropped(|reason| Cell::Count(drops.total().of(reason))));
    row.extend([
        ("waiting_packets", Cell::Count(totals.waiting.packets)),
        ("lowest_dropped_rank", Cell::Optional(drops.lowest_rank().map(|rank| rank.get()))),
        ("inversions", Cell::Count(inversions.total().inversions)),
        ("pairwise_inversions", Cell::Count(inversions.total().pairwise)),
        ("inversion_magnitude", Cell::Optional(magnitude(inversions))),
        ("unpifoness", Cell::Real(Some(unpifoness.total() as f64))),
        ("misdrops", Cell::Optional(reference.map(|reference| drops.beyond(&reference.drops)))),
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

/// The sum, if it fits in a column.
fn magnitude(inversions: &Inversions) -> Option<u64> {
    u64::try_from(inversions.total().magnitude).ok().filter(|sum| *sum <= i64::MAX as u64)
}

fn nanoseconds(span: Span) -> f64 {
    span.as_ps() as f64 / 1e3
}

/// The outcomes of the packets of one bin of ranks.
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
    columns.extend(dropped(|reason| integers(&|_, row| row.drops.of(reason))));
    let means = rows.values().map(|row| row.waits.mean_ns().unwrap_or(f64::NAN)).collect();
    columns.push(("sojourn_mean_ns", Column::Reals(means)));
    Table::new("ranks", columns)
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
    if let Workload::Trace(traces) = workload {
        let names = flows.iter().map(|(flow, _)| traces.flow_name(*flow));
        columns.push(("flow_name", Column::Texts(names.collect())));
    }
    Table::new("flows", columns)
}
