//! Warnings about parts of a scenario that a run never exercised: they are valid but had no effect.

use super::measured::{Measured, NetworkRun};
use super::nothing::readable;
use super::record::recorded;
use crate::registry;
use crate::spec::common::Common;
use crate::spec::network::NetworkSpec;
use crate::spec::one_link::OneLinkSpec;
use crate::spec::schedulers::{Chosen, SchedulerSpec};
use crate::spec::workload::Workload;
use pifolab_metrics::{RankRange, Sampling, Table, WatchedPort};
use pifolab_sched::{DropReason, Fact, Used};
use pifolab_sim::network::{FlowResult, PortResult, RunResult};
use pifolab_transport::Congestion;
use pifolab_units::{Rank, Rate, Span, Time};
use pifolab_workload::RankSource;
use pifolab_workload::flows::Flow;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::ops::Range;

/// Reasons of drops by an admission test or queue management.
const TESTS: [DropReason; 2] = [DropReason::Admission, DropReason::Aqm];

/// The parts of a scheduler that the packets of a run exercised.
struct Exercise<'a> {
    ranks: Option<(Rank, Rank)>,
    /// The source of the ranks.
    source: String,
    /// Whether packets ever waited, so that there was a choice.
    waited: bool,
    /// The queues that stored packets.
    queues: BTreeSet<u32>,
    /// Packets that an admission test refused or marked.
    tested: u64,
    /// The flow of all packets, if they had the same.
    only_flow: Option<u32>,
    used: &'a Used,
}

impl Exercise<'_> {
    /// The first reason why `scheduler` acted as a first-in first-out queue, and whether its test had an effect.
    fn missing(&self, scheduler: &SchedulerSpec) -> Vec<String> {
        let Some(traits) = scheduler.chosen.traits() else { return Vec::new() };
        if traits.tail_drop || self.ranks.is_none() {
            return Vec::new();
        }
        if !self.waited {
            return vec!["packets never waited together, so that there was no order to choose".to_owned()];
        }
        let by_rank_alone = traits.reads_ranks && !traits.reads_flows && !traits.reads_time;
        let queues = scheduler.resolved["built"]["queues"].as_u64().unwrap_or(1);
        let mut missing = Vec::new();
        match (self.ranks, self.queues.first()) {
            (Some((low, high)), _) if by_rank_alone && low == high => {
                let source = &self.source;
                missing.push(format!("all packets had rank {}, {source}: there was no order to choose", low.get()));
            }
            // Of a leaf of a tree, which may be in order of ranks, the other leaves are named.
            (_, Some(queue))
                if queues > 1
                    && self.queues.len() == 1
                    && self.used.leaves.iter().all(|(_, leaf)| leaf.len() > 1 || leaf.start != *queue as usize) =>
            {
                missing.push(format!("all packets were in queue {queue} of {queues}, which is first-in first-out"));
            }
            _ => {
                if let Some(flow) = self.only_flow.filter(|_| traits.reads_flows && !traits.reads_ranks) {
                    missing.push(format!("all packets were of flow {flow}: there was no order to choose"));
                }
            }
        }
        if self.tested == 0 {
            let test = test_of(&scheduler.chosen.name, &scheduler.resolved);
            missing.extend(test.map(|test| format!("{test} no packet")));
        }
        missing
    }
}

/// The words for the test that refuses or marks packets, of a scheduler or of the first one inside it that has one.
fn test_of(name: &str, resolved: &Json) -> Option<&'static str> {
    let traits = registry::find_scheduler(name).ok()?.traits;
    if traits.tests_arrivals {
        return Some(if traits.reads_time {
            "queue management dropped or marked"
        } else {
            "the admission test refused"
        });
    }
    inside(resolved).find_map(|one| test_of(one["name"].as_str()?, one))
}

/// What is said of a tree of which only these queues stored packets, if that is known.
fn unused(used: &Used, queues: Option<&BTreeSet<u32>>) -> Vec<String> {
    let is_empty =
        |leaf: &Range<usize>| queues.is_some_and(|queues| leaf.clone().all(|queue| !queues.contains(&(queue as u32))));
    let empty = used.leaves.iter().filter(|(_, leaf)| is_empty(leaf)).map(|(path, _)| path.as_str());
    let idle = used.limits.iter().filter(|(_, has_limited)| !has_limited).map(|(path, _)| path.as_str());
    let run_out = "the ranks of a node ran out: children that share the largest, 2^63 - 1, are not in order";
    let empty = listed(empty).map(|leaves| format!("no packet was stored in the leaf {leaves}"));
    let idle = listed(idle).map(|nodes| format!("no packet waited for the rate limit of {nodes}"));
    [used.has_run_out.then(|| run_out.to_owned()), empty, idle].into_iter().flatten().collect()
}

/// The written keys among these, which a run never exercised, for this reason.
fn never(common: &Common, reason: &str, keys: &[&str]) -> Option<String> {
    common.written_of(keys).map(|written| format!("{reason}: never exercised: {written}"))
}

/// Whether this scheduler, or one inside it, may hold packets back until their earliest time to leave.
fn may_hold(resolved: &Json) -> bool {
    let mut inside = inside(resolved).peekable();
    if inside.peek().is_some() {
        return inside.any(may_hold);
    }
    // Leaves of a policy are first-in first-out.
    let own = |name| registry::find_scheduler(name).is_ok_and(|entry| entry.traits.conserves_work);
    resolved["policy"].is_null() && !resolved["name"].as_str().is_some_and(own)
}

/// The schedulers inside a scheduler.
fn inside(resolved: &Json) -> impl Iterator<Item = &Json> {
    ["child", "scheduler"].into_iter().flat_map(|key| match &resolved[key] {
        Json::Array(children) => children.as_slice(),
        Json::Null => &[],
        one => std::slice::from_ref(one),
    })
}

/// The warning about a rank function that gives times to leave, before a scheduler that reads none.
fn unpaced(rank: &Json, scheduler: &Json) -> Option<String> {
    let name = rank["name"].as_str().unwrap_or_default();
    let paces = registry::find_rank(name).is_ok_and(|entry| entry.sets_times);
    let own = (paces && !may_hold(scheduler)).then(|| {
        format!(
            "{name} held no packet back, since this scheduler sends whenever it can: expected pieo, alone or inside"
        )
    });
    own.or_else(|| inside(scheduler).find_map(|one| unpaced(&one["rank"], one)))
}

/// Up to five paths: `a, b and 7 more`; `None` if there are none.
fn listed<'a>(paths: impl Iterator<Item = &'a str>) -> Option<String> {
    const MOST: usize = 5;
    let paths: Vec<&str> = paths.collect();
    match paths.len().checked_sub(MOST) {
        Some(more @ 1..) => Some(format!("{} and {more} more", paths[..MOST].join(", "))),
        _ => (!paths.is_empty()).then(|| paths.join(", ")),
    }
}

/// The flow, if there is only one.
fn only(mut flows: impl Iterator<Item = u32>) -> Option<u32> {
    let first = flows.next()?;
    flows.all(|flow| flow == first).then_some(first)
}

/// The warning about an interval that is longer than the run, which ends at `end`.
fn longer(key: &str, interval: Option<Span>, end: Time) -> Option<String> {
    let length = end.since(Time::ZERO);
    let interval = interval.filter(|interval| *interval > length && length > Span::ZERO)?;
    Some(format!("{key} is {}, longer than the run, which took {}", readable(interval), readable(length)))
}

/// Whether the time of any packet on the wire is a whole number of nanoseconds.
const fn whole_nanoseconds(rate: Rate) -> bool {
    8_000_000_000u64.is_multiple_of(rate.as_bps())
}

/// Keys of transports without effect unless data is lost or overtaken; then that of the handshake's acknowledgement; then those
/// of timeouts.
const ANSWERS: [&str; 4] = [
    "transport.recovery",
    "transport.duplicate_threshold",
    "transport.limited_transmit",
    "transport.count_first_duplicates",
];
const HANDSHAKE: &str = "transport.accept_data_in_handshake";
const TIMEOUTS: [&str; 6] = [
    "transport.initial_rto",
    "transport.min_rto",
    "transport.max_rto",
    "transport.unlimited_rto",
    "transport.restart_timer_on_send",
    "transport.timeout_sets_recover",
];
/// The keys of transports and ports that only marks exercise.
const MARKS: [&str; 8] = [
    "transport.ecn",
    "transport.gain",
    "transport.initial_alpha",
    "transport.cut",
    "port.ecn_threshold_bytes",
    "port.ecn_threshold_packets",
    "host_port.ecn_threshold_bytes",
    "host_port.ecn_threshold_packets",
];

/// Whether all data of TCP arrived at once and in order, beside losses of UDP hosts: a complete flow that sent nothing again
/// lost at most acknowledgements.
fn only_udp_lost(spec: &NetworkSpec, flows: &[Flow], result: &RunResult) -> bool {
    let hosts = &spec.transport.udp_hosts;
    let is_udp = |flow: &Flow| hosts.iter().any(|udp| udp.host == flow.src);
    let is_whole = |flow: &FlowResult| flow.fct.is_some() && flow.reordered + flow.retransmissions + flow.probes == 0;
    !hosts.is_empty() && flows.iter().zip(&result.flows).all(|(flow, of_flow)| is_udp(flow) || is_whole(of_flow))
}

/// The written keys of a network that its packets never exercised.
fn never_on_a_network(spec: &NetworkSpec, flows: &[Flow], run: &NetworkRun) -> Vec<String> {
    let (common, result) = (&spec.common, &run.result);
    let counters = &result.counters;
    let mut missing = Vec::new();
    let lost = counters.dropped + counters.lost_on_wire + counters.unreachable;
    let is_in_order = result.flows.iter().all(|flow| flow.reordered + flow.retransmissions + flow.probes == 0);
    if counters.timeouts == 0 {
        if lost == 0 && is_in_order {
            let keys: Vec<&str> = ANSWERS.into_iter().chain([HANDSHAKE]).chain(TIMEOUTS).collect();
            missing.extend(never(common, "no packet was lost or overtaken, and no timer expired", &keys));
        } else if only_udp_lost(spec, flows, result) {
            let keys: Vec<&str> = ANSWERS.into_iter().chain(TIMEOUTS).collect();
            missing.extend(never(common, "no data of TCP was lost or overtaken, and no timer expired", &keys));
        } else {
            missing.extend(never(common, "no timer expired", &TIMEOUTS));
        }
    }
    if counters.dropped == 0 {
        let keys = ["port.in_service_occupies_buffer", "host_port.in_service_occupies_buffer"];
        missing.extend(never(common, "no queue was full", &keys));
    }
    if !result.has_chosen_paths {
        let keys = ["engine.routing", "engine.routing_seed"];
        missing.extend(never(common, "no packet had several shortest paths to choose from", &keys));
    }
    if spec.layout.topology.links.iter().all(|link| whole_nanoseconds(link.rate)) {
        missing.extend(never(common, "every byte takes whole nanoseconds at these rates", &["engine.rounding"]));
    }
    if matches!(spec.transport.params.congestion, Congestion::Udp(_)) {
        missing.extend(never(common, "udp has no acknowledgements", &["transport.ack_rank"]));
    }
    let are_in_order_of_arrival = spec.schedulers.iter().all(|scheduler| scheduler.chosen.is_tail_drop());
    if are_in_order_of_arrival && spec.rank.is_none() && spec.hosts_own_scheduler().is_none() {
        missing.extend(never(common, "no scheduler reads ranks", &["transport.rank", "transport.ack_rank"]));
    }
    missing
}

/// The warnings of a run on one link.
pub(super) fn on_one_link(spec: &OneLinkSpec, scheduler: &SchedulerSpec, measured: &Measured) -> Vec<String> {
    let Measured { totals, inversions, drops, sojourn, shares, samples, measures, reordering, .. } = measured;
    let source = match (&spec.rank, spec.common.resolved["workload"]["trace_rank"].as_str()) {
        (Some(rank), _) => format!("from the rank function {}", rank.name),
        (None, Some(word)) => format!("from trace_rank = {word}"),
        (None, None) => "from the workload".to_owned(),
    };
    let exercise = Exercise {
        // With a single packet all ranks are trivially equal.
        ranks: inversions.ranks().range().filter(|_| totals.arrived.packets > 1),
        source,
        waited: totals.waiting.packets > 0
            || totals.dropped.packets > 0
            || sojourn.range().is_some_and(|(_, max)| max > Span::ZERO),
        queues: (0..).zip(shares.queues()).filter(|(_, queue)| queue.admitted > 0).map(|(number, _)| number).collect(),
        tested: TESTS.iter().map(|reason| drops.total().of(*reason)).sum(),
        only_flow: only(reordering.flows().map(|(flow, _)| flow)),
        used: &measured.used,
    };
    // If no packet waited at all, the Python package writes one note for all schedulers.
    let mut missing = if exercise.waited { exercise.missing(scheduler) } else { Vec::new() };
    missing.extend(exhausted_on_one_link(spec, measured));
    missing.extend(unused(&measured.used, Some(&exercise.queues)));
    if let Workload::Synthetic(sources) = &spec.workload {
        let ranks_by = |fact| {
            let entry = |rank: &Chosen| rank.rank_entry().is_none_or(|entry| entry.needs().contains(fact));
            scheduler.wants.needs.contains(fact) || spec.rank.as_ref().is_some_and(entry)
        };
        if sources.iter().any(|source| source.deadline.is_some())
            && scheduler.chosen.traits().is_some()
            && ![Fact::Deadline, Fact::RemainingTransmission].into_iter().any(ranks_by)
        {
            missing.push(
                "nothing ranked packets by the deadlines of the workload: expected rank.name = \"edf\" or \"lstf\""
                    .to_owned(),
            );
        }
        for (number, source) in sources.iter().enumerate() {
            let late = |from: Time| from > totals.end;
            if late(source.source.start) {
                missing.push(format!("workload {number} begins at {}, after the end of the run", source.source.start));
            } else if let RankSource::Drawn(phases) = &source.source.ranks
                && let Some(phase) = phases.iter().find(|phase| late(phase.from))
            {
                missing
                    .push(format!("a phase of workload {number} begins at {}, after the end of the run", phase.from));
            }
        }
    }
    let (common, metrics) = (&spec.common, &spec.metrics);
    missing.extend(unpaced(&common.resolved["rank"], &scheduler.resolved));
    if spec.schedulers.len() == 1 {
        missing.extend(never(common, "there is no other scheduler to compare", &["metrics.delta_to"]));
    }
    if samples.iter().len() == 0 && metrics.max_samples == 0 {
        let keys = ["metrics.sample_every_packets", "metrics.sample_every", "metrics.sample_window"];
        missing.extend(never(common, "metrics.max_samples is 0", &keys));
    } else if samples.iter().len() == 0 && matches!(metrics.sampling, Sampling::EveryPackets(_)) {
        let keys = ["metrics.sample_every_packets", "metrics.sample_window"];
        missing.extend(never(common, "there are no samples", &keys));
    }
    if whole_nanoseconds(spec.link.rate) {
        missing.extend(never(common, "every byte takes whole nanoseconds at this rate", &["link.rounding"]));
    }
    let empty = measures.tables().into_iter().filter(|table| table.rows() == 0 && totals.sent.packets > 0);
    missing.extend(empty.map(|table| format!("the table {} has no rows: expected a longer run", table.name)));
    missing.extend(longer("metrics.throughput_interval", metrics.wanted.throughput_interval, totals.end));
    if let Sampling::Every(every) = metrics.sampling {
        missing.extend(longer("metrics.sample_every", Some(every), totals.end));
    }
    if matches!(metrics.sampling, Sampling::Every(_)) && metrics.max_samples > 0 && samples.iter().len() == 0 {
        missing.push("there are no samples: expected a longer run, or a shorter sample_every".to_owned());
    }
    missing
}

/// The warnings of a run on a network.
pub(super) fn on_a_network(
    spec: &NetworkSpec,
    scheduler: &SchedulerSpec,
    (flows, run): (&[Flow], &NetworkRun),
    measured_flows: u64,
    tables: &[Table],
) -> Vec<String> {
    let NetworkRun { result, watch, recorded: records, .. } = run;
    let transport = |key: &str| spec.common.resolved["transport"][key].as_str().unwrap_or("packet_ranks");
    let hosts = spec.layout.topology.hosts;
    let links = &spec.layout.topology.links;
    let switch_ports = || links.iter().zip(&result.ports).filter(|(link, _)| link.from >= hosts).map(|(_, port)| port);
    let sum = |of: fn(&PortResult) -> u64| switch_ports().map(of).sum::<u64>();
    let mut missing = Vec::new();
    if watch.is_none() {
        missing.extend(unused(&result.used, None));
    }
    if let Some(watch) = watch {
        let watched =
            || links.iter().zip(watch.ports()).filter(|(link, _)| link.from >= hosts).map(|(_, watched)| watched);
        let ranks = watched().map(|port| port.range()).fold(RankRange::default(), RankRange::joined);
        let used = |port: &WatchedPort| {
            let queues = port.queues().queues().iter();
            (0..).zip(queues).filter(|(_, queue)| queue.admitted > 0).map(|(number, _)| number).collect::<Vec<u32>>()
        };
        let exercise = Exercise {
            ranks: ranks.range(),
            source: spec.rank.as_ref().map_or_else(
                || format!("from transport.rank = {}", transport("rank")),
                |rank| format!("from the rank function {}", rank.name),
            ),
            waited: switch_ports().any(|port| port.most_waiting > 1) || sum(PortResult::dropped) > 0,
            queues: watched().flat_map(used).collect(),
            tested: sum(|port| TESTS.iter().map(|reason| port.dropped_packets[*reason as usize]).sum())
                + if scheduler.wants.needs.contains(Fact::Ecn) { sum(|port| port.marked_packets) } else { 0 },
            only_flow: (result.flows.len() == 1).then_some(0),
            used: &result.used,
        };
        missing.extend(exercise.missing(scheduler));
        missing.extend(unused(&result.used, Some(&exercise.queues)));
        missing.extend(ranks.exhausted().filter(|_| spec.rank.is_some()).map(ran_out));
    }
    let marked: u64 = result.ports.iter().map(|port| port.marked_packets).sum();
    let name = transport("name");
    match (spec.transport.params.is_ecn_capable(), marked) {
        (true, 0) => {
            let reason = format!("no packet was marked, so that {name} answered to losses alone");
            missing.push(never(&spec.common, &reason, &MARKS).unwrap_or(reason));
        }
        (false, 0) if spec.has_ecn_threshold() => {
            missing.push("no packet was marked: no queue reached the ecn_threshold".to_owned());
        }
        (false, 1..) if spec.transport.controller.is_none() => missing.push(format!(
            "{marked} packets were marked, to which {name} does not answer: expected dctcp, or ecn = true with newreno or \
             cubic"
        )),
        _ => {}
    }
    missing.extend(never_on_a_network(spec, flows, run));
    missing.extend(unpaced(&spec.common.resolved["rank"], &scheduler.resolved));
    if scheduler.label == spec.schedulers[0].label {
        let host = &spec.common.resolved["host_port"];
        missing.extend(unpaced(&host["rank"], &host["scheduler"]).map(|told| format!("host_port: {told}")));
    }
    if spec.switch_buffer.is_some() && sum(|port| port.dropped_packets[DropReason::Full as usize]) == 0 {
        missing.push("switch_buffer refused no packet".to_owned());
    }
    let idle = |port: u32| result.ports[port as usize].arrived_packets == 0;
    let failed: BTreeSet<u32> = spec.link_changes.iter().map(|change| change.port).filter(|port| idle(*port)).collect();
    for port in &failed {
        let link = &links[*port as usize];
        let back = failed.iter().any(|other| {
            let other = &links[*other as usize];
            (other.from, other.to) == (link.to, link.from)
        });
        if link.from < link.to && back {
            let (from, to) = (spec.layout.name(link.from), spec.layout.name(link.to));
            missing.push(format!("no packet came to the link {from}-{to}, which failed"));
        }
    }
    if measured_flows == 0 && !result.flows.is_empty() {
        missing.push("no flow starts in the measured time: expected a shorter warm_up, or a longer run".to_owned());
    }
    if let Some(record) = &spec.record {
        let samples = record.samples.as_ref().map(|(interval, _)| *interval);
        missing.extend(longer("record.sample_interval", samples, result.end));
        missing.extend(longer("record.throughput_interval", record.throughput, result.end));
    }
    for (name, rows, skipped) in records.as_ref().map(recorded).into_iter().flatten() {
        if rows == 0 && skipped == 0 && tables.iter().any(|table| table.name == name) {
            missing.push(format!("the table {name} has no rows: expected a longer run, or other ports or hosts"));
        }
    }
    missing
}

/// The warning that the rank function reached the largest rank. Carried ranks may have any size.
fn exhausted_on_one_link(spec: &OneLinkSpec, measured: &Measured) -> Option<String> {
    let from = measured.inversions.ranks().exhausted()?;
    let rank = spec.rank.as_ref()?;
    let by_deadline = rank.rank_entry().is_some_and(|entry| entry.needs().contains(Fact::Deadline));
    let Workload::Synthetic(sources) = &spec.workload else { return Some(ran_out(from)) };
    if !by_deadline || sources.iter().all(|source| source.deadline.is_some()) {
        return Some(ran_out(from));
    }
    // Packets without a deadline have the largest rank from the start.
    let longest = sources.iter().filter_map(|source| source.deadline).max().unwrap_or(Span::ZERO);
    let last = Time::from_ps(Rank::MAX.get().saturating_sub(longest.as_ps()));
    (measured.totals.end > last).then(|| ran_out(from.max(last)))
}

fn ran_out(from: Time) -> String {
    let after = readable(from.since(Time::ZERO));
    format!("ranks ran out after {after}: packets from there on share the largest rank, 2^63 - 1, and are not in order")
}
