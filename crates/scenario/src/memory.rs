//! How much memory a run on a network will need, and whether there is as much.
//!
//! An estimate from the scenario alone, before flows are drawn: right to a factor of about two, which is enough to refuse what
//! would end in swapping or with a killed process.

use crate::error::SpecError;
use crate::spec::Spec;
use crate::spec::network::NetworkSpec;
use std::fs;

/// Bytes for a flow: in the list, with its ideal time.
const FLOW: f64 = 64.0;
/// Bytes for a flow under one scheduler: its state, its result, and its row in the tables.
const FLOW_RUN: f64 = 280.0;
/// Bytes for a port under one scheduler: itself, its observers, and its row in the tables.
const PORT_RUN: f64 = 1_500.0;
/// Bytes for what a host has under way: packets and their events.
const HOST: f64 = 64.0 * 1024.0;
/// Bytes for a row of each record, in the observer and in the tables.
const SAMPLE: f64 = 144.0;
const QUEUE_SAMPLE: f64 = 136.0;
const LOGGED: f64 = 400.0;
const ARRIVAL: f64 = 150.0;
const INTERVAL: f64 = 120.0;

/// What a run will need, in bytes, by what needs it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Estimate {
    flows: f64,
    network: f64,
    records: f64,
}

impl Estimate {
    pub(crate) fn of(spec: &NetworkSpec) -> Self {
        let schedulers = spec.schedulers.len() as f64;
        let (flows, bytes) = spec.expected_flows();
        let topology = &spec.layout.topology;
        // No more than the hosts' links can carry, however large the flows are.
        let capacity = f64::from(topology.hosts) * spec.layout.access.as_bps() as f64 / 8.0;
        let bytes = bytes.min(capacity * spec.end.as_ps() as f64 / 1e12);
        let ports = topology.links.len() as f64;
        let gates: std::collections::BTreeSet<u32> =
            topology.links.iter().filter(|link| link.from < topology.hosts).map(|link| link.to).collect();
        let routes = f64::from(topology.nodes) * gates.len() as f64 * 8.0;
        let network = schedulers * (ports * PORT_RUN + f64::from(topology.hosts) * HOST + routes);
        let records = spec.record.as_ref().map_or(0.0, |record| {
            let rows = record.max_rows as f64;
            let length = spec.end.as_ps() as f64;
            let samples = record.samples.as_ref().map_or(0.0, |(interval, ports)| {
                let each = rows.min(length / interval.as_ps() as f64 + 1.0);
                ports.len() as f64 * each * (SAMPLE + spec.most_queues() * QUEUE_SAMPLE)
            });
            // Each segment and its acknowledgement is enqueued and dequeued at each port of its way.
            let segments = bytes / f64::from(spec.segment_bytes()) + flows;
            let share = |part: usize, all: f64| (part as f64 / all.max(1.0)).min(1.0);
            let logged = rows.min(24.0 * segments * share(record.log.len(), ports)) * LOGGED;
            let hosts = f64::from(topology.hosts);
            let arrivals = rows.min(segments * share(record.arrivals.len(), hosts)) * ARRIVAL;
            let throughput = record.throughput.map_or(0.0, |_| rows.min(segments) * INTERVAL + segments / 8.0);
            schedulers * (samples + logged + arrivals + throughput)
        });
        Self { flows: flows * (FLOW + schedulers * FLOW_RUN), network, records }
    }

    fn total(&self) -> f64 {
        self.flows + self.network + self.records
    }

    /// Refuses a run that needs more than is `available`, in bytes; `None` if that is not known.
    pub(crate) fn check(&self, spec: &NetworkSpec, available: Option<u64>) -> Result<(), SpecError> {
        let Some(available) = available.map(|bytes| bytes as f64).filter(|available| self.total() > *available) else {
            return Ok(());
        };
        let problem = format!(
            "would need about {} of memory ({} for flows, {} for the network, {} for records), where {} are available: expected \
             a shorter or smaller run, or fewer records",
            size(self.total()),
            size(self.flows),
            size(self.network),
            size(self.records),
            size(available)
        );
        Err(Spec::fault(&spec.file, "the run", problem))
    }
}

fn size(bytes: f64) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6)];
    let (unit, scale) = units.into_iter().find(|(_, scale)| bytes >= *scale).unwrap_or(("KB", 1e3));
    format!("{:.3} {unit}", bytes / scale)
}

/// The memory that this process may still take: what the system has, and what its control group leaves.
pub(crate) fn available() -> Option<u64> {
    let system = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
    });
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let read = |name: &str| {
        let inside = format!("/sys/fs/cgroup{}/{name}", group.trim_end_matches('/'));
        // In a container its own group is mounted at the top.
        let text = fs::read_to_string(inside).or_else(|_| fs::read_to_string(format!("/sys/fs/cgroup/{name}")));
        text.ok()?.trim().parse::<u64>().ok()
    };
    let left = read("memory.max").zip(read("memory.current")).map(|(most, now)| most.saturating_sub(now));
    [system, left].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ValidSpec, read_text};

    const TEXT: &str = r#"
        duration_s = 1
        topology = { kind = "single-switch", hosts = 4, rate_gbps = 1, delay_us = 1 }
        transport = { name = "dctcp" }
        record = { sample_interval_us = 1, sample_ports = ["switch0->host1"], max_rows = 1_000_000 }
        [workload.flows]
        arrivals = "poisson"
        starts_per_s = 1e6
        sizes = "fixed"
        size_bytes = 1460
        pairs = "uniform"
        [[scheduler]]
        name = "sp-pifo"
        [[scheduler]]
        name = "fifo"
    "#;

    fn network(overrides: &[(&str, &str)]) -> Box<NetworkSpec> {
        let overrides: Vec<_> = overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        match read_text(TEXT, "x.toml", &overrides, None, &()) {
            Ok(ValidSpec::Network(spec)) => spec,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_estimate_follows_flows_schedulers_and_records() {
        let spec = network(&[]);
        let estimate = Estimate::of(&spec);
        assert_eq!(estimate.flows, 1e6 * (FLOW + 2.0 * FLOW_RUN));
        // Eight queues once per microsecond, but no more than the limit.
        assert_eq!(estimate.records, 2.0 * 1e6 * (SAMPLE + 8.0 * QUEUE_SAMPLE));
        let few = Estimate::of(&network(&[("workload.flows.max_flows", "10"), ("record.max_rows", "5")]));
        assert_eq!((few.flows, few.network), (10.0 * (FLOW + 2.0 * FLOW_RUN), estimate.network));
        assert_eq!(few.records, 2.0 * 5.0 * (SAMPLE + 8.0 * QUEUE_SAMPLE));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_estimate_and_the_limit() {
        let spec = network(&[]);
        let estimate = Estimate { flows: 3e9, network: 2e6, records: 1e9 };
        assert_eq!(estimate.check(&spec, Some(5_000_000_000)), Ok(()));
        assert_eq!(estimate.check(&spec, None), Ok(()));
        assert_eq!(
            estimate.check(&spec, Some(2_500_000_000)).unwrap_err().to_string(),
            "x.toml: the run: would need about 4.002 GB of memory (3.000 GB for flows, 2.000 MB for the network, 1.000 GB \
             for records), where 2.500 GB are available: expected a shorter or smaller run, or fewer records"
        );
    }

    #[test]
    fn a_run_of_a_trillion_flows_is_refused_before_they_are_drawn() {
        let spec = network(&[("workload.flows.starts_per_s", "1e15")]);
        let run = spec.run(1, 1, &(), &mut |_| std::ops::ControlFlow::Continue(()));
        let message = run.unwrap_err().to_string();
        assert!(message.starts_with("x.toml: the run: would need about 624000.00"), "{message}");
    }
}
