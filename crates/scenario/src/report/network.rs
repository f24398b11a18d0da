//! The report of a run on a network: flows, completion times by size class, ports, summary and manifest.

use super::Report;
use super::builder::{Builder, Outcome, hex};
use super::columns::{Cell, Limit, cut_short, dropped, queue_columns};
use super::measured::NetworkRun;
use super::nothing;
use super::record;
use super::unexercised;
use crate::extras::Extras;
use crate::spec::network::NetworkSpec;
use pifolab_metrics::{
    Bin, Column, MeasuredTime, PortWatch, QueueShare, RankCount, SizeClass, Table, WatchedPort, size_classes, slowdown,
    whole,
};
use pifolab_sim::network::{Flow, FlowResult, Ingredient, PortResult, RunResult, UdpHost};
use pifolab_units::{Span, Time};
use serde_json::{Map, Value as Json, json};

/// Builds the report of the schedulers that ran, at least one.
pub(crate) fn report(
    spec: &NetworkSpec,
    seed: u64,
    flows: &[Flow],
    runs: &[Option<NetworkRun>],
    extras: &dyn Extras,
) -> Report {
    let mut report = Builder::default();
    let partial = runs.iter().any(|run| run.as_ref().is_none_or(|run| run.interrupted));
    let limit = Limit::new(partial, runs.len(), extras);
    for UdpHost { host, .. } in &spec.transport.udp_hosts {
        if !flows.iter().any(|flow| flow.src == *host) {
            report.warn(format!("transport.udp: host {host} sends no flow: never exercised: its interval"));
        }
    }
    for (scheduler, run) in spec.schedulers.iter().zip(runs) {
        let Some(run) = run else { continue };
        let NetworkRun { result, ideal, watch, recorded, .. } = run;
        let classes = size_classes(&spec.metrics.classes, flows, ideal, &result.flows, &measured_time(spec, run));
        // The user of an interrupted run waits for its tables, so flows that never started have no row.
        let started =
            if run.interrupted { flows.partition_point(|flow| flow.start <= result.end) } else { flows.len() };
        let rows = started.min(limit.rows());
        let of_flows = flow_table(&flows[..rows], ideal, &result.flows[..rows]);
        let mut tables = vec![fct(&classes), of_flows, ports(spec, result, watch.as_ref())];
        if let Some(watch) = watch {
            tables.extend([port_queues(watch, result.end), port_ranks(watch)]);
        }
        if let Some(recorded) = recorded {
            tables.extend(record::tables(recorded, flows, spec.segment_bytes(), &limit));
        }
        let mut left_out = Map::new();
        let started = (rows < started).then_some(("flows", started, 0));
        for (name, rows, skipped) in recorded.as_ref().map(record::recorded).into_iter().flatten().chain(started) {
            let shown = tables.iter().find(|table| table.name == name).map_or(0, Table::rows);
            if shown < rows {
                report.warn(cut_short(&scheduler.label, name, shown, rows));
            }
            left_out.insert(name.to_owned(), json!((rows - shown) as u64 + skipped));
        }
        if let Some(reason) = run.whole {
            report.warn(format!("{}: this run uses one processor: {reason}", scheduler.label));
        }
        // The first class has all flows.
        let measured = classes[0].flows;
        let warnings = match nothing::on_a_network(flows, result) {
            _ if run.interrupted => Vec::new(),
            Some(warning) => vec![warning],
            None => unexercised::on_a_network(spec, scheduler, (flows, run), measured, &tables),
        };
        for warning in warnings {
            report.warn(format!("{}: {warning}", scheduler.label));
        }
        report.add(Outcome {
            scheduler,
            events: result.counters.events,
            trace_hash: result.trace_hash,
            more: json!({
                "trace_hashes": trace_hashes(result),
                "rows_left_out": left_out,
            }),
            row: scalars(spec, flows, run),
            summary: json!({
                "counters": counters(result),
                "fct": classes.iter().map(class_json).collect::<Vec<_>>(),
            }),
            tables,
        });
    }
    report.finish(&spec.common, "network", seed, spec.is_drawn(), partial)
}

/// A hash for each ingredient of a run.
fn trace_hashes(result: &RunResult) -> Json {
    let hashes = Ingredient::ALL.map(|one| (one.as_str().to_owned(), json!(hex(result.trace_hashes.of(one)))));
    Json::Object(Map::from_iter(hashes))
}

/// The counters of the published simulators, under their names.
fn counters(result: &RunResult) -> Json {
    let counters = &result.counters;
    json!({
        "PACKETS_DROPPED": counters.dropped,
        "PACKETS_DROPPED_AT_SOURCE": counters.dropped_at_source,
        "TCP_FAST_RETRANSMIT": counters.fast_retransmissions,
        "TCP_RETRANSMISSION_TIMEOUT": counters.timeouts,
    })
}

fn scalars(spec: &NetworkSpec, flows: &[Flow], run: &NetworkRun) -> Vec<(&'static str, Cell)> {
    let NetworkRun { result, watch, .. } = run;
    let counters = &result.counters;
    let sum = |of: fn(&PortResult) -> u64| result.ports.iter().map(of).sum::<u64>();
    let window = measured_time(spec, run);
    let measured: Vec<_> = flows.iter().zip(&result.flows).filter(|(flow, _)| window.holds(flow)).collect();
    let completed = measured.iter().filter(|(_, flow)| flow.fct.is_some()).count() as u64;
    let unfinished = (!measured.is_empty()).then(|| 1.0 - completed as f64 / measured.len() as f64);
    let length = window.length_s();
    let access = f64::from(spec.layout.topology.hosts) * spec.layout.access.as_bps() as f64;
    let load = |bytes: f64| Cell::Real((length > 0.0).then(|| 8.0 * bytes / (access * length)));
    let offered = |of: &dyn Fn(&Flow) -> f64| measured.iter().map(|(flow, _)| of(flow)).sum::<f64>();
    let on_wire = |flow: &Flow| {
        flow.bytes as f64 + spec.transport.params.packets_of(flow.bytes) as f64 * f64::from(spec.wire().1)
    };
    let hosts = spec.layout.topology.hosts;
    let busy = |kind: fn(bool) -> bool| {
        let ports = window.busy_s.iter().zip(&spec.layout.topology.links).filter(|(_, link)| kind(link.from < hosts));
        let (busy, count) = ports.fold((0.0, 0u32), |(busy, count), (port, _)| (busy + port, count + 1));
        Cell::Real((count > 0 && length > 0.0).then(|| busy / (length * f64::from(count))))
    };
    let inversions = |pairwise: bool| {
        let of = |port: &WatchedPort| {
            let count = port.inversions();
            if pairwise { count.pairwise } else { count.inversions }
        };
        Cell::Optional(watch.as_ref().map(|watch| watch.ports().iter().map(of).sum()))
    };
    let mut row = vec![
        ("flows", Cell::Count(measured.len() as u64)),
        ("completed_flows", Cell::Count(completed)),
        ("unfinished_share", Cell::Real(unfinished)),
        ("offered_load", load(offered(&|flow| flow.bytes as f64))),
        ("offered_wire_load", load(offered(&on_wire))),
        ("goodput", load(window.acknowledged_bytes)),
        ("host_utilisation", busy(|from_host| from_host)),
        ("switch_utilisation", busy(|from_host| !from_host)),
        ("packet_hops", Cell::Count(counters.hops)),
        ("arrived_packets", Cell::Count(sum(|port| port.arrived_packets))),
        ("arrived_bytes", Cell::Count(sum(|port| port.arrived_bytes))),
        ("sent_packets", Cell::Count(sum(|port| port.sent_packets))),
        ("sent_bytes", Cell::Count(sum(|port| port.sent_bytes))),
        ("dropped_packets", Cell::Count(counters.dropped)),
        ("dropped_at_source", Cell::Count(counters.dropped_at_source)),
        ("dropped_bytes", Cell::Count(sum(|port| port.dropped_bytes))),
    ];
    row.extend(dropped(|reason| {
        Cell::Count(result.ports.iter().map(|port| port.dropped_packets[reason as usize]).sum())
    }));
    row.extend([
        ("dropped_link_down", Cell::Count(sum(|port| port.link_down_packets))),
        ("lost_on_wire_packets", Cell::Count(counters.lost_on_wire)),
        ("unreachable_packets", Cell::Count(counters.unreachable)),
        ("waiting_packets", Cell::Count(sum(|port| u64::from(port.waiting)))),
        ("marked_packets", Cell::Count(sum(|port| port.marked_packets))),
        ("retransmissions", Cell::Count(result.flows.iter().map(|flow| u64::from(flow.retransmissions)).sum())),
        ("fast_retransmissions", Cell::Count(counters.fast_retransmissions)),
        ("timeouts", Cell::Count(counters.timeouts)),
        ("reordered_packets", Cell::Count(result.flows.iter().map(|flow| u64::from(flow.reordered)).sum())),
        ("inversions", inversions(false)),
        ("pairwise_inversions", inversions(true)),
        ("measured_from_ns", Cell::Count(window.from.as_ns())),
        ("measured_until_ns", Cell::Count(window.until.as_ns())),
        ("end_ns", Cell::Count(result.end.as_ns())),
        ("events", Cell::Count(counters.events)),
        ("trace_hash", Cell::Text(hex(result.trace_hash))),
    ]);
    row
}

/// The measured part of a run.
fn measured_time(spec: &NetworkSpec, NetworkRun { result, began, ended, .. }: &NetworkRun) -> MeasuredTime {
    let times = (spec.metrics.from, spec.metrics.until, spec.end);
    MeasuredTime::new(times, result, began.as_ref(), ended.as_ref())
}

/// A class of sizes in the summary.
fn class_json(class: &SizeClass) -> Json {
    let mut all = Map::from_iter([
        ("class".to_owned(), json!(class.name)),
        ("from_bytes".to_owned(), json!(class.from)),
        ("below_bytes".to_owned(), json!(class.below)),
        ("flows".to_owned(), json!(class.flows)),
        ("completed".to_owned(), json!(class.completed())),
    ]);
    all.extend(class.statistics().map(|(name, value)| (name.to_owned(), json!(value))));
    all.into()
}

fn fct(classes: &[SizeClass]) -> Table {
    let mut columns = vec![
        ("class", Column::Texts(classes.iter().map(|class| class.name.as_str()).collect())),
        ("from_bytes", Column::Integers(classes.iter().map(|class| whole(class.from)).collect())),
        ("below_bytes", Column::Optional(classes.iter().map(|class| class.below.map(whole)).collect())),
        ("flows", Column::Integers(classes.iter().map(|class| whole(class.flows)).collect())),
        ("completed", Column::Integers(classes.iter().map(|class| class.completed() as i64).collect())),
    ];
    let statistics: Vec<_> = classes.iter().map(SizeClass::statistics).collect();
    for (place, (name, _)) in statistics[0].iter().enumerate() {
        let values = statistics.iter().map(|of_class| of_class[place].1.unwrap_or(f64::NAN));
        columns.push((name, Column::Reals(values.collect())));
    }
    Table::new("fct", columns)
}

fn flow_table(flows: &[Flow], ideal: &[Option<Span>], results: &[FlowResult]) -> Table {
    let of_flow = |of: fn(&Flow) -> u64| Column::Integers(flows.iter().map(|flow| whole(of(flow))).collect());
    let counted =
        |of: fn(&FlowResult) -> u32| Column::Integers(results.iter().map(|result| i64::from(of(result))).collect());
    let fct = results.iter().map(|result| result.fct.map(|fct| whole(fct.as_ns())));
    let slowdowns = results.iter().zip(ideal);
    let slowdowns =
        slowdowns.map(|(result, ideal)| result.fct.and_then(|fct| slowdown(fct, *ideal)).unwrap_or(f64::NAN));
    Table::new(
        "flows",
        vec![
            ("flow", of_flow(|flow| flow.id)),
            ("src", of_flow(|flow| flow.src.into())),
            ("dst", of_flow(|flow| flow.dst.into())),
            ("size_bytes", of_flow(|flow| flow.bytes)),
            ("start_ns", of_flow(|flow| flow.start.as_ns())),
            ("fct_ns", Column::Optional(fct.collect())),
            ("slowdown", Column::Reals(slowdowns.collect())),
            ("retransmissions", counted(|result| result.retransmissions)),
            ("timeouts", counted(|result| result.timeouts)),
            ("reordered_packets", counted(|result| result.reordered)),
            (
                "acknowledged_bytes",
                Column::Integers(results.iter().map(|result| whole(result.acknowledged_bytes)).collect()),
            ),
        ],
    )
}

fn ports(spec: &NetworkSpec, result: &RunResult, watch: Option<&PortWatch>) -> Table {
    let links = &spec.layout.topology.links;
    let ports = &result.ports;
    let counted = |of: &dyn Fn(&PortResult) -> u64| Column::Integers(ports.iter().map(|p| whole(of(p))).collect());
    let length = result.end.since(Time::ZERO);
    let share = |busy: Span| if length == Span::ZERO { 0.0 } else { busy.as_ps() as f64 / length.as_ps() as f64 };
    let watched = |of: &dyn Fn(&WatchedPort) -> u64| {
        let count = |port| watch.map(|watch| whole(of(&watch.ports()[port])));
        Column::Optional((0..ports.len()).map(count).collect())
    };
    let held = |port: usize| {
        let mean = |queue: &QueueShare| queue.mean_packets(length);
        watch.map_or(f64::NAN, |watch| watch.ports()[port].queues().queues().iter().map(mean).sum())
    };
    let kinds: Vec<_> = links.iter().map(|link| spec.layout.kind(link.from, link.to)).collect();
    let mut columns = vec![
        ("port", Column::Integers((0..ports.len() as i64).collect())),
        ("from", Column::Integers(links.iter().map(|link| link.from.into()).collect())),
        ("to", Column::Integers(links.iter().map(|link| link.to.into()).collect())),
        ("kind", Column::Texts(kinds.iter().map(String::as_str).collect())),
        ("rate_bps", Column::Integers(links.iter().map(|link| whole(link.rate.as_bps())).collect())),
        ("arrived_packets", counted(&|port| port.arrived_packets)),
        ("arrived_bytes", counted(&|port| port.arrived_bytes)),
        ("sent_packets", counted(&|port| port.sent_packets)),
        ("sent_bytes", counted(&|port| port.sent_bytes)),
        ("dropped_packets", counted(&PortResult::dropped)),
        ("dropped_bytes", counted(&|port| port.dropped_bytes)),
    ];
    columns.extend(dropped(|reason| counted(&move |port| port.dropped_packets[reason as usize])));
    columns.extend([
        ("dropped_link_down", counted(&|port| port.link_down_packets)),
        ("lost_on_wire_packets", counted(&|port| port.lost_on_wire_packets)),
        ("marked_packets", counted(&|port| port.marked_packets)),
        ("most_waiting_packets", counted(&|port| port.most_waiting.into())),
        ("waiting_packets", counted(&|port| port.waiting.into())),
        ("mean_waiting_packets", Column::Reals((0..ports.len()).map(held).collect())),
        ("utilisation", Column::Reals(ports.iter().map(|port| share(port.busy)).collect())),
        ("inversions", watched(&|port| port.inversions().inversions)),
        ("pairwise_inversions", watched(&|port| port.inversions().pairwise)),
    ]);
    Table::new("ports", columns)
}

fn port_queues(watch: &PortWatch, end: Time) -> Table {
    let length = end.since(Time::ZERO);
    let numbered = watch.ports().iter().enumerate();
    let (ports, rows): (Vec<i64>, Vec<_>) =
        numbered.flat_map(|(port, watched)| watched.queues().rows().map(move |row| (port as i64, row))).unzip();
    let mut columns = vec![("port", Column::Integers(ports))];
    columns.extend(queue_columns(&rows));
    columns.push(("mean_packets", Column::Reals(rows.iter().map(|row| row.1.mean_packets(length)).collect())));
    Table::new("port_queues", columns)
}

fn port_ranks(watch: &PortWatch) -> Table {
    let rows =
        || (0..).zip(watch.ports()).flat_map(|(port, watched)| watched.ranks().map(move |row| (port, row.0, row.1)));
    let count = rows().count();
    let integers = |of: &dyn Fn(&(u64, Bin, RankCount)) -> u64| {
        let mut column = Vec::with_capacity(count);
        column.extend(rows().map(|row| whole(of(&row))));
        Column::Integers(column)
    };
    let mut columns = vec![
        ("port", integers(&|row| row.0)),
        ("rank", integers(&|row| row.1.low)),
        ("rank_high", integers(&|row| row.1.high)),
        ("inversions", integers(&|row| row.2.inversions)),
        ("pairwise_inversions", integers(&|row| row.2.pairwise)),
        ("dropped_packets", integers(&|row| row.2.drops.all())),
    ];
    columns.extend(dropped(|reason| integers(&move |row| row.2.drops.of(reason))));
    Table::new("port_ranks", columns)
}
