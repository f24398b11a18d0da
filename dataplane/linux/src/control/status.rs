//! `pifolab-dataplane status`: shows the data planes that are up, with their occupancies and counters.

use super::metrics::Metrics;
use crate::ebpf::loaded::Numbered;
use crate::ebpf::maps::Maps;
use crate::ebpf::programs::{find_filter, find_qdisc};
use crate::ebpf::qdisc::QdiscSnapshot;
use crate::ebpf::{name_now, shown, shown_parts};
use crate::net::namespace::NetNamespace;
use crate::record::Record;
use crate::record::node::RunningNode;
use crate::{Error, Result};
use serde_json::json;
use std::time::Duration;

/// The arguments of `pifolab-dataplane status`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Only this interface
    #[arg(long, value_name = "IF")]
    dev: Option<String>,
    /// One line of JSON for each data plane
    #[arg(long)]
    json: bool,
    /// All data planes in the text format of Prometheus; it is not an error if there is none
    #[arg(long, conflicts_with_all = ["json", "watch_s"])]
    metrics: bool,
    /// Repeat at this interval, until Ctrl-C
    #[arg(long, value_name = "SECONDS")]
    watch_s: Option<f64>,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let every = args.watch_s.map(Duration::try_from_secs_f64).transpose();
    let every = every.map_err(|error| Error::Usage(format!("--watch-s {}: {error}", args.watch_s.unwrap_or(0.0))))?;
    loop {
        show(&args)?;
        match every {
            Some(every) => std::thread::sleep(every),
            None => return Ok(()),
        }
    }
}

fn show(args: &Args) -> Result<()> {
    let namespace = NetNamespace::current()?;
    let mut records = Record::all()?;
    records.retain(|record| record.is_of(&namespace));
    // The interface's current name, or its name at `up` if it no longer exists.
    let mut named = Vec::new();
    for record in records {
        let name = record.interface_now(&namespace)?.map_or_else(|| record.interface.clone(), |found| found.name);
        if args.dev.as_ref().is_none_or(|dev| *dev == name) {
            named.push((name, record));
        }
    }
    let records = named;
    // Devices of DPDK belong to no network namespace.
    let mut nodes = RunningNode::all()?;
    nodes.retain(|node| args.dev.as_ref().is_none_or(|dev| node.has(dev)));
    if args.metrics {
        let mut metrics = Metrics::default();
        metrics.count(records.len() + nodes.len());
        for (interface, record) in &records {
            let works = record.is_alive() && record.complete && record.disturbed(&namespace)?.is_none();
            let shown = works.then(|| snapshot(&namespace, record)).transpose()?;
            metrics.plane(interface, &record.scheduler, shown.as_ref().map(|(value, _)| value));
        }
        for node in &nodes {
            metrics.plane(node.output(), node.scheduler(), Some(&node.counters));
        }
        print!("{}", metrics.text());
        return Ok(());
    }
    for node in &nodes {
        if args.json {
            let mut value = node.counters.clone();
            value["interface"] = node.output().into();
            value["pid"] = node.process.pid.into();
            println!("{value}");
        } else {
            println!("{}", node.line());
        }
    }
    if records.is_empty() && nodes.is_empty() {
        let on = args.dev.as_ref().map_or_else(String::new, |dev| format!(" on {dev}"));
        return Err(Error::Failed(format!("nothing is up{on} in this network namespace")));
    }
    for (interface, record) in records {
        let pid = record.process.pid;
        if !record.is_alive() {
            let say = format!("{interface}: {} was left by process {pid}, which has ended", record.scheduler);
            println!("{say}; `pifolab dataplane down` removes it");
            continue;
        }
        if !record.complete {
            let Record { scheduler, .. } = &record;
            match args.json {
                true => println!(
                    "{}",
                    json!({ "interface": interface, "scheduler": scheduler, "pid": pid, "complete": false })
                ),
                false => println!("{interface}: {scheduler} is being put up by process {pid}"),
            }
            continue;
        }
        let (mut value, shown) = snapshot(&namespace, &record)?;
        let disturbed = record.disturbed(&namespace)?;
        if args.json {
            value["interface"] = interface.into();
            value["pid"] = pid.into();
            value["disturbed"] = disturbed.into();
            println!("{value}");
        } else if let Some(disturbed) = disturbed {
            println!("{interface}: {disturbed}: {} (process {pid}) does not work as it was put up", record.scheduler);
        } else {
            println!("{interface}: {} (process {pid})\n{shown}", record.scheduler);
        }
    }
    Ok(())
}

/// The snapshot as JSON and as text. A change of parameters replaces the maps: then the record is read again.
fn snapshot(namespace: &NetNamespace, record: &Record) -> Result<(serde_json::Value, String)> {
    snapshot_now(namespace, record).or_else(|error| {
        let changed = |other: &Record| other.is_of(namespace) && other.index == record.index && other != record;
        match Record::all()?.iter().find(|other| changed(other)) {
            Some(record) => snapshot(namespace, record),
            None => Err(error),
        }
    })
}

fn snapshot_now(namespace: &NetNamespace, record: &Record) -> Result<(serde_json::Value, String)> {
    let interface = name_now(record, namespace)?;
    let maps: Vec<_> = record.parts.iter().map(|part| Numbered(&part.maps)).collect();
    if let [part] = &record.parts[..]
        && part.program.is_none()
    {
        let snapshot = QdiscSnapshot::read(find_qdisc(&record.scheduler)?, &maps[0], namespace, &interface)?;
        return Ok(shown(&snapshot));
    }
    let parts: Vec<_> = record.parts.iter().zip(&maps).map(|(part, maps)| (part, maps as &dyn Maps)).collect();
    shown_parts(find_filter(&record.scheduler)?, namespace, &interface, &parts)
}
