//! Estimates the memory of a run, and compares it with the available memory.
//!
//! The estimate uses the scenario alone, before flows are drawn. It is right within a factor of about two, enough to
//! refuse runs that would swap or be killed. Every kind of run has the same parts: the input (flows or a trace), the
//! state (ports and schedulers), and the records.

use crate::error::SpecError;
use crate::machine::size;
use crate::registry::RankEntry;
use crate::spec::network::NetworkSpec;
use crate::spec::one_link::OneLinkSpec;
use crate::spec::schedulers::{Chosen, SchedulerSpec};
use crate::spec::trace::Trace;
use crate::spec::workload::Workload;
use crate::spec::written::Spec;
use crate::traffic::{Traffic, met};
use pifolab_metrics::ORDER_KEPT;
use pifolab_metrics::Sampling;
use pifolab_sched::{Capacity, Enqueued, Fact, InspectExt, Kept, Packet, Scheduler};
use pifolab_transport::RankRule;
use pifolab_units::{Rank, Span, Time};

/// Bytes for a flow: in the list, with its ideal time.
const FLOW: f64 = 64.0;
/// Bytes for a flow under one scheduler: its result, and its row in the tables, which exists twice while it is passed
/// to Python.
const FLOW_RUN: f64 = 320.0;
/// Bytes for an active flow under one scheduler: both ends, in a list that doubles, and their timers.
const OPEN_FLOW: f64 = 900.0;
/// Bytes for a flow on one link under one scheduler: in its observers, and its row in the tables, which exists twice.
const LINK_FLOW_RUN: f64 = 300.0;
/// The numbers of flows for which a rank function and a scheduler allocate state at once.
const RANK_PAGE: f64 = 64.0;
const SCHEDULER_PAGE: f64 = 4096.0;
/// Bytes of the entry of a page.
const PAGE: f64 = 8.0;
/// Bytes for a flow of a trace: its number and its size, and more if it has a name.
const TRACE_FLOW: f64 = 40.0;
const FLOW_NAME: f64 = 160.0;
/// Bytes for a kept packet of a trace; vectors grow by doubling.
const KEPT_PACKET: f64 = 2.0 * 24.0;
/// Bytes for its eligibility time, if a column has it.
const KEPT_ELIGIBLE: f64 = 2.0 * 8.0;
/// Bytes to decode a trace: buffers of the file and of decompressed data.
const DECODER: f64 = 1e6;
/// Bytes of a network of any size.
const NETWORK: f64 = 3e5;
/// Bytes for an active port and its observers.
const PORT: f64 = 700.0;
const WATCHED_PORT: f64 = 600.0;
/// Bytes of a port in the parts of a network that do not own it, with its observers, and of its results there.
const PORT_ELSEWHERE: f64 = 900.0;
/// Bytes of the counts of ranks below 2^10 that a watched port keeps as long as there are no others.
const RANK_COUNTS: f64 = 4096.0;
/// Bytes for a port under one scheduler: its result, its row in the tables, and the results of its observers.
const PORT_RUN: f64 = 350.0;
const WATCHED_PORT_RUN: f64 = 450.0;
/// Bytes for a packet under way: the packet, in a list that doubles, and its event.
const IN_FLIGHT: f64 = 100.0;
/// Places in queues for each packet under way, over all ports on its way: queues that were long keep their memory.
const PLACES_IN_FLIGHT: f64 = 4.0;
/// Bytes of a scheduler besides its queues and its window.
const SCHEDULER: f64 = 256.0;
/// Bytes of an empty queue, of a place for a packet, and of a place for a handle, at ports without observer and rank
/// function.
const QUEUE: f64 = 64.0;
const PLACE: f64 = 32.0;
const HANDLE: f64 = 8.0;
/// Bytes of the row of a queue under one scheduler.
const QUEUE_RUN: f64 = 350.0;
/// Bytes of a rank with inversions or losses at a watched port, and of its row under one scheduler.
const PORT_RANK: f64 = 200.0;
/// The share of packets that leave while one of lower rank waits, or are lost, without and with load; most with FIFO
/// under load. With PIFO there are no inversions, only losses.
const INVERTED: f64 = 0.02;
const INVERTED_BY_LOAD: f64 = 0.13;
const LOST: f64 = 0.1;
/// Bytes of a rank in a window.
const WINDOW_RANK: f64 = 24.0;
/// Bytes of a waiting packet on one link: in its queue, which grows by doubling, and in the observers.
const WAITING: f64 = 120.0;
/// Bytes of the observers of one link: arrays over the bins of all ranks and waits.
const OBSERVERS: f64 = 8e6;
/// Bytes for a row of each record, in the observer and in the tables.
const SAMPLE: f64 = 144.0;
const QUEUE_SAMPLE: f64 = 136.0;
const LOGGED: f64 = 200.0;
const ARRIVAL: f64 = 150.0;
/// With its bytes, here and as digits in a table.
const FRAME: f64 = 600.0;
const INTERVAL: f64 = 120.0;
/// Bytes of the reordering state of a flow at its receiver with its row, and of a packet kept for it in a list that
/// doubles.
const FLOW_ORDER: f64 = 200.0;
const IN_ORDER: f64 = 64.0;
const WINDOW: f64 = 72.0;

/// The estimated memory of a run in bytes, by use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// The flows, or the trace.
    pub input: f64,
    /// Ports, packets and the state of schedulers.
    pub state: f64,
    /// Records, in the observers and in the tables.
    pub records: f64,
    /// The assumed number of ranks with inversions or losses at watched ports, which is known only after a run.
    pub ranks: f64,
    /// The largest number that there may be.
    pub most_ranks: f64,
}

impl Memory {
    /// The estimate for one seed of a scenario on a network, on `workers` threads.
    pub(crate) fn of_network(spec: &NetworkSpec, workers: usize) -> Self {
        let each = spec.datagram_intervals().map(|interval| Self::of_network_sending(spec, workers, interval));
        each.max_by(|one, other| one.total().total_cmp(&other.total())).expect("flows are sent somehow")
    }

    /// The estimate if all hosts send a datagram every `interval`, or with a window.
    fn of_network_sending(spec: &NetworkSpec, workers: usize, interval: Option<Span>) -> Self {
        let schedulers = spec.schedulers.len() as f64;
        let topology = &spec.layout.topology;
        let traffic = Traffic::of(spec, interval);
        let (flows, segments, passed) = (traffic.flows, traffic.segments, traffic.passed());
        let ports = topology.links.len() as f64;
        let gates: std::collections::BTreeSet<u32> =
            topology.links.iter().filter(|link| link.from < topology.hosts).map(|link| link.to).collect();
        let is_computed = topology.is_regular() && spec.link_changes.is_empty();
        let routes = if is_computed { 0.0 } else { f64::from(topology.nodes) * gates.len() as f64 * 8.0 };
        let hosts = f64::from(topology.hosts);
        let switch_ports = (ports - hosts).max(0.0);
        let watched = spec.metrics.watch_ports;
        let is_bare = !watched && spec.record.is_none() && spec.rank.is_none();
        let (port, port_run, queue_run) =
            if watched { (PORT + WATCHED_PORT, PORT_RUN + WATCHED_PORT_RUN, QUEUE_RUN) } else { (PORT, PORT_RUN, 0.0) };
        // Arrivals that are counted, and the sizes of small flows.
        let counts_arrivals =
            spec.rank.as_ref().and_then(Chosen::rank_entry).is_some_and(|entry| entry.counts_arrivals);
        let has_small_ranks = counts_arrivals || traffic.flow_bytes < RANK_COUNTS / 4.0;
        let counts = if watched && has_small_ranks { met(ports, traffic.visits()) * RANK_COUNTS } else { 0.0 };
        let flow_bytes = spec.rank.as_ref().map_or(0, Chosen::flow_bytes) as f64;
        // A handshake is a header alone.
        let payload = if interval.is_some() { spec.segment_bytes() } else { 0 };
        let smallest = payload + spec.wire().1;
        let footprint = |chosen: &Chosen| Footprint::of(chosen, is_bare, queue_run, flow_bytes, smallest);
        let seen = Seen { passed, visits: traffic.visits(), flows };
        let own = spec.hosts_own_scheduler().map(footprint);
        let (at_hosts, host_rows) = own.map_or((0.0, 0.0), |own| (own.at_ports(hosts, &seen), own.rows(hosts, &seen)));
        let alike = if spec.hosts_are_like_switches() { ports } else { switch_ports };
        let place = if is_bare { HANDLE } else { PLACE };
        let of_one = |scheduler: &SchedulerSpec| {
            let footprint = footprint(&scheduler.chosen);
            let (open, in_flight) = traffic.at_once(footprint.capacity);
            let under_way = open * OPEN_FLOW + in_flight * (IN_FLIGHT + PLACES_IN_FLIGHT * place);
            (footprint.at_ports(alike, &seen) + under_way, footprint.rows(alike, &seen))
        };
        // Networks that run one after the other keep only their results.
        let at_once = schedulers.min(workers.max(1) as f64);
        let (mut states, rows): (Vec<f64>, Vec<f64>) = spec.schedulers.iter().map(of_one).unzip();
        states.sort_by(|one, other| other.total_cmp(one));
        let running: f64 = states.iter().take(at_once as usize).sum();
        let watched_schedulers = spec.schedulers.iter().filter(|_| watched);
        let (ranks, most_ranks) = watched_schedulers
            .map(|scheduler| port_ranks(spec, scheduler, ports, &traffic))
            .fold((0.0, 0.0), |sum, (ranks, most)| (sum.0 + ranks, sum.1 + most));
        // Every part of a run on several threads has the ports of the others, without queues.
        let elsewhere = if spec.is_by_place() { PORT_ELSEWHERE } else { 0.0 };
        let state = schedulers * (ports * port_run + routes + host_rows)
            + rows.iter().sum::<f64>()
            + ranks * PORT_RANK
            + at_once * (ports * port + counts + at_hosts)
            + (workers as f64 - at_once).max(0.0) * ports * elsewhere
            + running;
        let records = spec.record.as_ref().map_or(0.0, |record| {
            let rows = record.max_rows as f64;
            let length = spec.end.as_ps() as f64;
            let samples = record.samples.as_ref().map_or(0.0, |(interval, ports)| {
                let each = rows.min(length / interval.as_ps() as f64 + 1.0);
                ports.len() as f64 * each * (SAMPLE + spec.most_queues() * QUEUE_SAMPLE)
            });
            let share = |part: usize, all: f64| (part as f64 / all.max(1.0)).min(1.0);
            let logged = rows.min(2.0 * passed * share(record.log.len(), ports)) * LOGGED;
            let arrivals = rows.min(segments * share(record.arrivals.len(), hosts)) * ARRIVAL;
            let frames = rows.min(2.0 * segments * share(record.frames.len(), hosts)) * FRAME;
            let throughput = record.throughput.map_or(0.0, |_| rows.min(segments) * INTERVAL + segments / 8.0);
            let reordering = if record.reordering {
                flows * FLOW_ORDER + IN_ORDER * segments.min(flows * ORDER_KEPT as f64)
            } else {
                0.0
            };
            schedulers * (samples + logged + arrivals + frames + throughput + reordering)
        });
        Self { input: flows * (FLOW + schedulers * FLOW_RUN), state: state + NETWORK, records, ranks, most_ranks }
    }

    /// The estimate for one seed of a scenario on one link, on `workers` threads.
    pub(crate) fn of_one_link(spec: &OneLinkSpec, workers: usize) -> Self {
        let schedulers = spec.schedulers.len() as f64;
        let packets = spec.expected_arrivals();
        let (input, flows) = match &spec.workload {
            Workload::Synthetic(sources) => (0.0, sources.iter().map(|source| f64::from(source.flows())).sum()),
            Workload::Trace(traces) => {
                let at_once = schedulers.min(workers.max(1) as f64);
                let of_trace = |trace: &Trace| {
                    let of_flows =
                        trace.flow_bytes.len() as f64 * TRACE_FLOW + trace.flow_names.len() as f64 * FLOW_NAME;
                    let kept = if trace.held_back.is_some() { KEPT_PACKET + KEPT_ELIGIBLE } else { KEPT_PACKET };
                    let replay =
                        if trace.is_kept() { trace.packets as f64 * kept } else { at_once * (DECODER + of_flows) };
                    DECODER + of_flows + replay
                };
                (traces.iter().map(of_trace).sum(), traces.flows() as f64)
            }
        };
        // If the number of packets is unknown, only the limits of the records bound their number.
        let most = packets.unwrap_or(f64::MAX);
        let length = spec.expected_length().unwrap_or(Span::MAX).as_ps() as f64;
        let metrics = &spec.metrics;
        let samples = match metrics.sampling {
            Sampling::EveryPackets(packets) => most / packets as f64 + 1.0,
            Sampling::Every(span) => (length / span.as_ps() as f64 + 1.0).min(2.0 * most),
        };
        let samples = samples.min(metrics.max_samples as f64);
        let windows = metrics.wanted.unpifoness_window.map_or(0.0, |packets| most / packets as f64 * WINDOW);
        let intervals = metrics
            .wanted
            .throughput_interval
            .map_or(0.0, |interval| (flows * (length / interval.as_ps() as f64 + 1.0)).min(most) * INTERVAL);
        let queues = |scheduler: &SchedulerSpec| scheduler.resolved["built"]["queues"].as_f64().unwrap_or(1.0);
        let rows = spec.schedulers.iter().map(|scheduler| samples * (SAMPLE + queues(scheduler) * QUEUE_SAMPLE));
        let records = rows.sum::<f64>() + schedulers * (OBSERVERS + flows * LINK_FLOW_RUN + windows + intervals);
        let left = spec.expected_left();
        let state = spec.schedulers.iter().map(|scheduler| {
            let packet = spec.workload.mean_packet() as u32;
            let footprint = Footprint::of(&scheduler.chosen, false, QUEUE_RUN, 0.0, packet);
            let waiting = match footprint.capacity {
                _ if footprint.refuses => 0.0,
                Some(Capacity::Packets(places)) => left.min(f64::from(places)),
                _ => left,
            };
            let seen = Seen { passed: most, visits: most, flows };
            footprint.at_ports(1.0, &seen) + footprint.rows(1.0, &seen) + waiting * WAITING
        });
        Self { input, state: state.sum(), records, ranks: 0.0, most_ranks: 0.0 }
    }

    /// The sum.
    pub fn total(&self) -> f64 {
        self.input + self.state + self.records
    }

    /// The sum if so many ranks have inversions or losses at watched ports.
    pub fn total_with(&self, ranks: f64) -> f64 {
        self.total() + (ranks - self.ranks) * PORT_RANK
    }

    /// Refuses a run of the scenario in `file` that needs more than is `available`, in bytes; `None` if that is not known.
    pub(crate) fn check(&self, file: &str, available: Option<u64>) -> Result<(), SpecError> {
        let Some(available) = available.map(|bytes| bytes as f64).filter(|available| self.total() > *available) else {
            return Ok(());
        };
        let range = [0.0, self.most_ranks].map(|ranks| size(self.total_with(ranks)));
        let range = match self.most_ranks {
            0.0 => String::new(),
            _ => format!(", from {} to {} depending on how many ranks have inversions or losses", range[0], range[1]),
        };
        let problem = format!(
            "would need about {} of memory ({} for the input, {} for ports and schedulers, {} for records{range}), where {} \
             are available: expected a shorter or smaller run, or fewer records",
            size(self.total()),
            size(self.input),
            size(self.state),
            size(self.records),
            size(available)
        );
        Err(Spec::fault(file, "the run", problem))
    }
}

/// The approximate number of pairs of a port and a rank with inversions or losses, and the most that there may be.
fn port_ranks(spec: &NetworkSpec, scheduler: &SchedulerSpec, ports: f64, traffic: &Traffic) -> (f64, f64) {
    let Traffic { flows, segments, crossed, load, .. } = *traffic;
    let passed = crossed * segments;
    let mut inverted = INVERTED + INVERTED_BY_LOAD * load.min(1.0);
    let traits = scheduler.chosen.traits();
    let entry = spec.rank.as_ref().and_then(Chosen::rank_entry);
    let rises = entry.is_some_and(|entry| entry.counts_arrivals);
    let reads_flows = traits.is_some_and(|traits| traits.reads_flows);
    if traits.is_some_and(|traits| traits.ideal) || (rises && !reads_flows) {
        // No inversions, only losses: later packets have larger ranks.
        inverted *= LOST;
    } else if rises {
        inverted = (2.0 * inverted).min(1.0);
    }
    let each = (ports * segments / flows.max(1.0)).min(passed);
    let pairs = match entry.map(RankEntry::needs) {
        Some(_) if rises => passed,
        Some(needs) if needs.contains(Fact::FlowSize) => crossed * flows,
        Some(needs) if needs.contains(Fact::Remaining) || needs.contains(Fact::Unacknowledged) => each,
        Some(needs) if !needs.contains(Fact::CarriedRank) => passed,
        _ => match spec.transport.params.rank {
            RankRule::Zero => ports,
            RankRule::FlowSize => crossed * flows,
            _ => each,
        },
    };
    let most = pairs.min(passed).max(1.0);
    (met(most, inverted * passed), most)
}

/// The memory of one scheduler without packets, in bytes.
struct Footprint {
    capacity: Option<Capacity>,
    queues: f64,
    /// Bytes of its queues and of its other state.
    bytes: f64,
    /// Ranks in its full windows.
    window: f64,
    /// Bytes allocated at the first packet.
    at_first_packet: f64,
    /// Bytes of state for every flow in its rank function.
    flow_bytes: f64,
    /// Bytes of the row of a queue.
    queue_run: f64,
    /// Whether it refuses every packet, as AFQ with rounds too short for one packet.
    refuses: bool,
}

impl Footprint {
    /// The footprint of a scheduler for packets of this size, on a port that may have no observer and no rank function.
    /// A user's own scheduler has an unknown footprint.
    fn of(chosen: &Chosen, is_bare: bool, queue_run: f64, flow_bytes: f64, packet: u32) -> Self {
        let place = if is_bare { HANDLE } else { PLACE };
        // Dropped before the next one is built, since it may be large.
        let mut built = chosen.looked_at();
        let capacity = built.as_ref().map(|scheduler| scheduler.capacity());
        let queues = built.as_ref().map_or(1.0, |scheduler| scheduler.queues() as f64);
        let kept = built.as_ref().map_or(Kept::default(), |scheduler| scheduler.kept());
        let first = Packet { id: 0, flow: 0, size: packet, rank: Rank::ZERO, arrival: Time::ZERO };
        let refuses = built
            .as_mut()
            .is_some_and(|scheduler| matches!(scheduler.enqueue(first, Time::ZERO), Enqueued::Dropped { .. }));
        Self {
            capacity,
            queues,
            bytes: SCHEDULER + queues * (QUEUE + place) + kept.bytes as f64,
            window: kept.window_ranks as f64,
            at_first_packet: kept.bytes_at_first_packet as f64,
            flow_bytes,
            queue_run,
            refuses,
        }
    }

    /// The bytes of several of them that get these packets.
    fn at_ports(&self, ports: f64, &Seen { passed, visits, flows }: &Seen) -> f64 {
        let busy = met(ports, visits.min(passed));
        let pages = flows / RANK_PAGE;
        let flow_state = if self.flow_bytes > 0.0 {
            met(ports * pages.ceil(), visits) * RANK_PAGE * self.flow_bytes + busy * pages * PAGE
        } else {
            0.0
        };
        let held = if self.refuses { 0.0 } else { busy };
        let first = held * self.at_first_packet * (flows / SCHEDULER_PAGE).max(1.0);
        ports * self.bytes + flow_state + first + (busy * self.window).min(passed) * WINDOW_RANK
    }

    /// The bytes of the rows of their queues, which are kept after the run: a port that a packet reached has one for each.
    fn rows(&self, ports: f64, &Seen { passed, visits, .. }: &Seen) -> f64 {
        met(ports, visits.min(passed)) * self.queues * self.queue_run
    }
}

/// The traffic at the ports of one kind: packets, flows, and visits of flows to ports.
struct Seen {
    passed: f64,
    visits: f64,
    flows: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ValidSpec;
    use crate::testing::{read, run_spec};

    const TEXT: &str = r#"
        duration_s = 1
        topology = { kind = "single-switch", hosts = 4, rate_gbps = 1, delay_us = 1 }
        transport = { name = "newreno" }
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
        match read(TEXT, overrides) {
            Ok(ValidSpec::Network(spec)) => spec,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_estimate_follows_flows_schedulers_and_records() {
        let spec = network(&[]);
        let estimate = Memory::of_network(&spec, 2);
        assert_eq!(estimate.input, 1e6 * (FLOW + 2.0 * FLOW_RUN));
        // Eight queues once per microsecond, but no more than the limit.
        assert_eq!(estimate.records, 2.0 * 1e6 * (SAMPLE + 8.0 * QUEUE_SAMPLE));
        let few = Memory::of_network(&network(&[("workload.flows.max_flows", "10"), ("record.max_rows", "5")]), 2);
        assert_eq!(few.input, 10.0 * (FLOW + 2.0 * FLOW_RUN));
        assert_eq!(few.records, 2.0 * 5.0 * (SAMPLE + 8.0 * QUEUE_SAMPLE));
    }

    #[test]
    fn beside_udp_hosts_the_estimate_is_the_larger_with_a_window_and_without() {
        let udp = |hosts: &str| Memory::of_network(&network(&[("transport", hosts)]), 2).total();
        for interval in ["1", "1000"] {
            let tcp = udp("{ name = \"newreno\" }");
            let all = udp(&format!("{{ name = \"udp\", payload_bytes = 1460, interval_us = {interval} }}"));
            let some = format!("{{ name = \"newreno\", udp = [{{ host = 1, interval_us = {interval} }}] }}");
            assert_eq!(udp(&some), tcp.max(all), "{interval} us");
        }
    }

    #[test]
    fn no_more_datagrams_are_under_way_than_flows_without_an_end_send_in_the_run() {
        let state = |duration: &str| {
            let keys = [
                ("duration_s", duration),
                ("transport", "{ name = \"udp\", payload_bytes = 960, interval_us = 500 }"),
                ("workload.flows.max_flows", "4"),
                ("workload.flows.size_bytes", "1_000_000_000_000"),
            ];
            Memory::of_network(&network(&keys), 2).state
        };
        // Four flows send 2,000 datagrams a second each, under two schedulers.
        let more = 2.0 * 9.0 * 4.0 * 2000.0 * (IN_FLIGHT + PLACES_IN_FLIGHT * PLACE);
        assert!((state("10") - state("1") - more).abs() < 1.0, "{}", state("10") - state("1"));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_estimate_and_the_limit() {
        let estimate = Memory { input: 3e9, state: 2e6, records: 1e9, ..Memory::default() };
        assert_eq!(estimate.check("x.toml", Some(5_000_000_000)), Ok(()));
        assert_eq!(estimate.check("x.toml", None), Ok(()));
        assert_eq!(
            estimate.check("x.toml", Some(2_500_000_000)).unwrap_err().to_string(),
            "x.toml: the run: would need about 4.002 GB of memory (3.000 GB for the input, 2.000 MB for ports and schedulers, \
             1.000 GB for records), where 2.500 GB are available: expected a shorter or smaller run, or fewer records"
        );
        let watched = Memory { ranks: 1e3, most_ranks: 1e6, ..estimate };
        let told = watched.check("x.toml", Some(2_500_000_000)).unwrap_err().to_string();
        assert!(
            told.contains(
                "for records, from 4.002 GB to 4.202 GB depending on how many ranks have inversions or losses), where"
            ),
            "{told}"
        );
    }

    #[test]
    fn the_state_of_a_thousand_queues_at_each_port_is_counted() {
        let wide = [("scheduler.0.queues", "1024"), ("scheduler.0.queue_capacity_packets", "10")];
        let few = [("scheduler.0.queues", "8"), ("scheduler.0.queue_capacity_packets", "10")];
        let [wide, few] = [&wide, &few].map(|keys| Memory::of_network(&network(keys), 2).state);
        // Four ports of the switch; a queue begins with one place, whatever its capacity counts.
        let is = |bytes: f64, expected: f64| assert!((bytes / expected - 1.0).abs() < 0.01, "{bytes} for {expected}");
        is(wide - few, 4.0 * 1016.0 * (QUEUE + QUEUE_RUN + PLACE));
        let bytes = [("scheduler.0.queues", "1024"), ("scheduler.0.queue_capacity_bytes", "10_000")];
        assert_eq!(Memory::of_network(&network(&bytes), 2).state, wide);
    }

    #[test]
    fn places_that_no_packet_comes_to_and_rows_of_ports_without_packets_are_not_counted() {
        let state = |capacity: &str, flows: &str| {
            let wide = format!("[{{ name = \"sp-pifo\", queues = 1024, queue_capacity_packets = {capacity} }}]");
            Memory::of_network(&network(&[("scheduler", &wide), ("workload.flows.max_flows", flows)]), 2).state
        };
        assert_eq!(state("1_000", "1"), state("100_000", "1"));
        assert!(state("1_000", "1_000_000") - state("1_000", "1") > 2.0 * 1000.0 * QUEUE_RUN);
    }

    #[test]
    fn what_a_scheduler_keeps_beside_its_queues_is_counted_wherever_it_stands() {
        let state = |scheduler: &str| {
            let scheduler = format!("[{{ {scheduler} }}]");
            Memory::of_network(&network(&[("scheduler", &scheduler)]), 2).state
        };
        // Four ports.
        for (name, bytes) in [("drr", 40.0), ("scrr", 56.0), ("fq-codel", 88.0)] {
            let of = |buckets: u32| state(&format!("name = \"{name}\", buckets = {buckets}"));
            assert!(of(100_001) - of(1) >= 4.0 * 100_000.0 * bytes, "{name}: {}", of(100_001) - of(1));
        }
        let ranks = |ranks: u32| state(&format!("name = \"pifo\", ranks = {ranks}"));
        assert_eq!(ranks(65_536) - ranks(64), 4.0 * 1023.0 * (256.0 + 8.0));
        let sketch = |counters: &str| state(&format!("name = \"afq\", counters = \"{counters}\""));
        // Bids that are kept exactly are those of a million flows.
        assert_eq!(sketch("sketch") - sketch("exact"), 4.0 * (2.0 * 16_384.0 - 1e6) * 8.0);
        let late = |arrivals: u32| state(&format!("name = \"aifo\", occupancy_delay_packets = {arrivals}"));
        assert!(late(4_000) - late(0) >= 4.0 * 4_000.0 * 16.0);
        // A window in a scheduler and in schedulers inside others: 20 ranks, or 50,000 with their counters.
        let larger = |around: &dyn Fn(&str) -> String| {
            let of = |window: u32| state(&around(&format!("name = \"packs\", window = {window}")));
            of(50_000) - of(20)
        };
        let alone = larger(&str::to_owned);
        assert!(alone > 4.0 * 49_980.0 * WINDOW_RANK);
        for around in [
            |inside: &str| format!("name = \"managed\", scheduler = {{ {inside} }}"),
            |inside: &str| format!("name = \"tree\", child = [{{ {inside}, takes = \"rest\" }}]"),
            |inside: &str| {
                format!("name = \"tree\", order = {{ {inside} }}, child = [{{ name = \"fifo\", takes = \"rest\" }}]")
            },
        ] {
            assert_eq!(larger(&around), alone, "{}", around("..."));
        }
        let policy = |leaves: u32| {
            let leaves: Vec<String> = (0..leaves).map(|leaf| format!("fifo[{leaf}]")).collect();
            state(&format!("name = \"tree\", policy = \"rr[{}]\"", leaves.join(", ")))
        };
        assert!(policy(1024) - policy(2) > 4.0 * 1022.0 * (QUEUE + QUEUE_RUN + 100.0));
    }

    #[test]
    fn schedulers_of_hosts_are_counted() {
        let state = |queue: &str| Memory::of_network(&network(&[("host_port.queue", queue)]), 2).state;
        assert!(state("as-switch") > state("unlimited"));
    }

    #[test]
    fn the_index_of_the_window_at_each_port_is_counted_however_few_packets_come() {
        let state = |window: &str| {
            let packs = format!("[{{ name = \"packs\", window = {window} }}]");
            Memory::of_network(&network(&[("scheduler", &packs), ("workload.flows.max_flows", "1")]), 2).state
        };
        // Four ports of the switch, each with counters of 16 bits for 2^16 ranks and for what is above them.
        assert_eq!(state("257") - state("256"), 4.0 * 16.0 * 2.0 * (4096.0 + 256.0 + 16.0 + 1.0));
        assert_eq!(state("65535"), state("257"));
        assert_eq!(state("65536"), state("256"));
    }

    #[test]
    fn one_link_is_estimated_by_its_records_and_its_trace() {
        let text = "link = { rate_gbps = 10 }\nduration_s = 1\nmetrics = { sample_every_packets = 100 }\n\
                    scheduler = [{ name = \"sp-pifo\", queues = 1024 }]\n\
                    workload = { arrivals = \"constant\", rate_gbps = 12, size_bytes = 1500, ranks = \"uniform\" }";
        let of = |overrides: &[(&str, &str)]| read(text, overrides).unwrap().memory(1);
        // A million packets, 10,000 samples of 1024 queues.
        let rows = 10_001.0 * (SAMPLE + 1024.0 * QUEUE_SAMPLE);
        assert_eq!(of(&[]).records, rows + OBSERVERS + LINK_FLOW_RUN);
        assert_eq!(of(&[("metrics.max_samples", "0")]).records, OBSERVERS + LINK_FLOW_RUN);
        let spec = read(text, &[("duration_s", "1e6"), ("metrics.max_samples", "100000000")]).unwrap();
        let error = run_spec(&spec);
        let message = error.unwrap_err().to_string();
        assert!(message.starts_with("x.toml: the run: would need about 13.9"), "{message}");
    }

    #[test]
    fn windows_flows_and_packets_that_wait_are_counted() {
        let text = "link = { rate_gbps = 10 }\nduration_s = 1\n\
                    scheduler = [{ name = \"aifo\", window = 100_000, capacity_packets = 1000 }]\n\
                    workload = { arrivals = \"constant\", rate_gbps = 12, size_bytes = 1000, ranks = \"uniform\" }";
        let state = |overrides: &[(&str, &str)]| read(text, overrides).unwrap().memory(1).state;
        // One queue, all of whose places are taken at the end: 250,000 packets more arrive than leave.
        let places = SCHEDULER + QUEUE + QUEUE_RUN + PLACE;
        assert_eq!(state(&[]), places + 1000.0 * WAITING + 100_000.0 * WINDOW_RANK);
        // A million and a half of packets arrive.
        let large = state(&[("scheduler.0.window", "10_000_000"), ("scheduler.0.capacity_packets", "1_000_000")]);
        assert_eq!(large, places + 250_000.0 * WAITING + 1_500_000.0 * WINDOW_RANK);
        assert_eq!(state(&[("workload.rate_gbps", "9")]), places + 100_000.0 * WINDOW_RANK);
        let flows = [("scheduler", "[{ name = \"afq\" }]"), ("workload.flows", "1_000_000")];
        // Four kilobytes of bids at a time.
        let more = state(&flows) - state(&flows[..1]);
        assert_eq!(more, (1e6 / SCHEDULER_PAGE - 1.0) * SCHEDULER_PAGE * 8.0);
    }

    #[test]
    fn a_buffer_that_no_packet_comes_into_is_not_counted() {
        let text = "link = { rate_gbps = 10 }\nduration_s = 1\nscheduler = [{ name = \"afq\", bytes_per_round = 100, queues = 8 }]\n\
                    workload = { arrivals = \"constant\", rate_gbps = 12, size_bytes = 1000, ranks = \"uniform\" }";
        let state = |queues: &str| read(text, &[("scheduler.0.queues", queues)]).unwrap().memory(1).state;
        // A packet is ten rounds long.
        assert!(state("8") < 1e4, "{}", state("8"));
        assert!(state("16") > 100.0 * WAITING, "{}", state("16"));
    }

    #[test]
    fn a_run_of_a_trillion_flows_is_refused_before_they_are_drawn() {
        let run = run_spec(&ValidSpec::Network(network(&[("workload.flows.starts_per_s", "1e15")])));
        let message = run.unwrap_err().to_string();
        assert!(message.starts_with("x.toml: the run: would need about"), "{message}");
        assert!(message.contains("704000.000 TB for the input"), "{message}");
    }
}
