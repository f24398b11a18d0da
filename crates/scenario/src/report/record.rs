//! The records of a run on a network over time, and their tables.

use super::columns::{LOOK_AFTER_ROWS, Limit, integers, sample_tables};
use crate::spec::network::NetworkSpec;
use pifolab_metrics::{
    ArrivalOrder, AtPorts, Column, DataArrival, DeliveredThroughput, DeliveryOrder, Frame, Frames, LoggedPacket,
    PacketEvent, PacketLog, Samples, Sampling, Table, throughput_table, whole,
};
use pifolab_sim::network::Flow;
use pifolab_sim::observer::Flags;

/// The recording observers.
pub(crate) type Recorders = (
    Option<AtPorts<Samples>>,
    Option<PacketLog>,
    Option<ArrivalOrder>,
    Option<DeliveredThroughput>,
    Option<DeliveryOrder>,
    Option<Frames>,
);

/// The observers that `[record]` asks for; `None` without it.
pub(crate) fn recorders(spec: &NetworkSpec, flows: usize) -> Option<Recorders> {
    let record = spec.record.as_ref()?;
    let ports = spec.layout.topology.links.len();
    let rows = record.max_rows;
    let samples = record.samples.as_ref().map(|(interval, wanted)| {
        AtPorts::new(ports, wanted, || Samples::new(Sampling::Every(*interval), rows, false))
    });
    let log = (!record.log.is_empty()).then(|| PacketLog::new(ports, &record.log, rows));
    let hosts = spec.layout.topology.hosts as usize;
    let order = (!record.arrivals.is_empty()).then(|| ArrivalOrder::new(hosts, &record.arrivals, rows));
    let delivered = record.throughput.map(|interval| DeliveredThroughput::new(flows, interval, rows));
    let reordering = record.reordering.then(|| DeliveryOrder::new(flows));
    let frames = (!record.frames.is_empty()).then(|| Frames::new(hosts, &record.frames, rows));
    Some((samples, log, order, delivered, reordering, frames))
}

/// The records: the table of each, its number of rows, and the number of rows beyond the limit, which were not kept.
pub(crate) fn recorded((samples, log, order, delivered, _, frames): &Recorders) -> Vec<(&'static str, usize, u64)> {
    let samples = || samples.iter().flat_map(AtPorts::iter).map(|(_, samples)| samples);
    vec![
        ("port_samples", samples().map(|one| one.iter().len()).sum(), samples().map(Samples::skipped).sum()),
        ("packet_log", log.as_ref().map_or(0, |log| log.rows().len()), log.as_ref().map_or(0, PacketLog::skipped)),
        (
            "arrival_order",
            order.as_ref().map_or(0, |order| order.rows().len()),
            order.as_ref().map_or(0, ArrivalOrder::skipped),
        ),
        (
            "throughput",
            delivered.as_ref().map_or(0, |delivered| delivered.rows().len()),
            delivered.as_ref().map_or(0, DeliveredThroughput::skipped),
        ),
        ("frames", frames.as_ref().map_or(0, |frames| frames.rows().len()), frames.as_ref().map_or(0, Frames::skipped)),
    ]
}

/// The tables of the records, each with the first rows up to `limit`. Segments of flows carry `mss` bytes each.
pub(crate) fn tables(
    (samples, log, order, delivered, reordering, frames): &Recorders,
    flows: &[Flow],
    mss: u32,
    limit: &Limit<'_>,
) -> Vec<Table> {
    let mut tables = Vec::new();
    if let Some(samples) = samples {
        let ports: Vec<_> = samples.iter().collect();
        tables.extend(sample_tables(["port_samples", "port_queue_samples"], &ports, false, limit));
    }
    tables.extend(log.as_ref().map(|log| packet_log(log.rows(), flows, mss, limit)));
    tables.extend(order.as_ref().map(|order| arrival_order(limit.first(order.rows()), flows, mss)));
    let id = |flow| flow_id(flows, flow);
    tables.extend(delivered.as_ref().map(|delivered| throughput_table(limit.first(delivered.rows()), id)));
    tables.extend(reordering.as_ref().map(|order| reordering_table(order, flows, limit.rows())));
    tables.extend(frames.as_ref().map(|frames| frames_table(limit.first(frames.rows()), flows)));
    tables
}

/// Ids of flow lists may use all 64 bits; a column holds 63.
fn flow_id(flows: &[Flow], flow: u32) -> i64 {
    flows[flow as usize].id as i64
}

fn packet_log(log: &[LoggedPacket], flows: &[Flow], mss: u32, limit: &Limit<'_>) -> Table {
    let mut rows: Vec<_> = limit.first(log).iter().collect();
    // Sorted, because ports decide lazily; the rows of one port are in order already.
    rows.sort_by_key(|row| row.time);
    let mut table = packet_log_rows(&[], flows, mss);
    // All rows may take seconds.
    for some in rows.chunks(LOOK_AFTER_ROWS) {
        table.append(packet_log_rows(some, flows, mss));
        let most = limit.rows();
        if table.rows() > most {
            return packet_log_rows(&rows[..most], flows, mss);
        }
    }
    table
}

fn packet_log_rows(rows: &[&LoggedPacket], flows: &[Flow], mss: u32) -> Table {
    let event = |event| match event {
        PacketEvent::Enqueue(_) => "enqueue",
        PacketEvent::Dequeue(_) => "dequeue",
        PacketEvent::Drop(..) => "drop",
        PacketEvent::Evict => "evict",
        PacketEvent::LinkDown => "link-down",
    };
    let queue = |event| match event {
        PacketEvent::Enqueue(queue) | PacketEvent::Dequeue(queue) => Some(queue.into()),
        PacketEvent::Drop(_, queue) => queue.map(i64::from),
        PacketEvent::Evict | PacketEvent::LinkDown => None,
    };
    let reason = |event| match event {
        PacketEvent::Drop(reason, _) => reason.word(),
        _ => "",
    };
    let kind = |payload: u16, flags: Flags| match (payload, flags.has(Flags::SYN), flags.has(Flags::REVERSE)) {
        (1.., _, _) => "data",
        (0, true, false) => "syn",
        (0, true, true) => "syn-ack",
        (0, false, _) => "ack",
    };
    let texts = |of: &dyn Fn(&LoggedPacket) -> &'static str| Column::Texts(rows.iter().map(|row| of(row)).collect());
    let bytes = |segment: u32| i64::from(segment) * i64::from(mss);
    let size = |flow: u32| whole(flows[flow as usize].bytes);
    Table::new(
        "packet_log",
        vec![
            ("time_ns", integers(rows, |row| whole(row.time.as_ns()))),
            ("port", integers(rows, |row| row.port.into())),
            ("event", texts(&|row| event(row.event))),
            ("reason", texts(&|row| reason(row.event))),
            ("queue", Column::Optional(rows.iter().map(|row| queue(row.event)).collect())),
            ("flow", integers(rows, |row| flow_id(flows, row.flow))),
            ("kind", texts(&|row| kind(row.payload_bytes, row.flags))),
            ("reverse", integers(rows, |row| row.flags.has(Flags::REVERSE).into())),
            ("seq_bytes", integers(rows, |row| bytes(row.seq))),
            ("ack_bytes", integers(rows, |row| bytes(row.ack).min(size(row.flow)))),
            ("payload_bytes", integers(rows, |row| row.payload_bytes.into())),
            ("size_bytes", integers(rows, |row| row.size.into())),
            ("rank", integers(rows, |row| whole(row.rank.get()))),
            ("ece", integers(rows, |row| row.flags.has(Flags::ECE).into())),
        ],
    )
}

fn arrival_order(rows: &[DataArrival], flows: &[Flow], mss: u32) -> Table {
    Table::new(
        "arrival_order",
        vec![
            ("time_ns", integers(rows, |row| whole(row.time.as_ns()))),
            ("host", integers(rows, |row| row.host.into())),
            ("flow", integers(rows, |row| flow_id(flows, row.flow))),
            ("seq_bytes", integers(rows, |row| i64::from(row.seq) * i64::from(mss))),
            ("payload_bytes", integers(rows, |row| row.payload_bytes.into())),
            ("rank", integers(rows, |row| whole(row.rank.get()))),
        ],
    )
}

fn frames_table(rows: &[Frame], flows: &[Flow]) -> Table {
    let hex = |row: &Frame| row.bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Table::new(
        "frames",
        vec![
            ("time_ns", integers(rows, |row| whole(row.time.as_ns()))),
            ("host", integers(rows, |row| row.host.into())),
            ("flow", integers(rows, |row| flow_id(flows, row.flow))),
            ("size_bytes", integers(rows, |row| row.size.into())),
            ("frame", Column::Texts(rows.iter().map(hex).collect::<Vec<_>>().iter().map(String::as_str).collect())),
        ],
    )
}

fn reordering_table(order: &DeliveryOrder, flows: &[Flow], most: usize) -> Table {
    let rows: Vec<_> = order.flows().take(most).collect();
    let share = |part: u64, of: u64| if of == 0 { f64::NAN } else { part as f64 / of as f64 };
    Table::new(
        "reordering",
        vec![
            ("flow", integers(&rows, |row| flow_id(flows, row.0))),
            ("delivered_packets", integers(&rows, |row| whole(row.1.delivered))),
            ("reordered_packets", integers(&rows, |row| whole(row.1.reordered))),
            (
                "reordered_share",
                Column::Reals(rows.iter().map(|row| share(row.1.reordered, row.1.delivered)).collect()),
            ),
            (
                "mean_extent_packets",
                Column::Reals(rows.iter().map(|row| share(row.1.extents, row.1.reordered)).collect()),
            ),
            ("largest_extent_packets", integers(&rows, |row| whole(row.1.largest_extent))),
            ("largest_lateness_ns", integers(&rows, |row| whole(row.1.latest.as_ns()))),
        ],
    )
}
