//! Linux's own qdiscs with the names of library schedulers, for comparison. Each is behind an HTB class with the rate
//! of the bottleneck, with the library's parameters converted to options of `tc`.

use super::experiments::Experiment;
use super::namespace::Namespace;
use super::udp::FIRST_PORT;
use crate::error::Trying;
use crate::switch::choice::{SchedulerOptions, build_scheduler};
use crate::{Error, Result};
use pifolab_registry::find_scheduler;
use pifolab_sched::params::Value;
use pifolab_sched::{Capacity, Inspect, Room};
use serde_json::json;
use std::process::Command;

/// The burst in bytes, as in front of the eBPF program's queues.
const BURST_BYTES: u32 = 3000;
/// Frames that are not IP have a separate class, because the testbed did not send them.
const NOT_IP_PERCENT: u64 = 5;

/// The lines of `tc -batch` that install a qdisc under a parent; or the reason why there is no such qdisc.
type Lines = fn(&Setting<'_>) -> std::result::Result<String, String>;

/// A scheduler that Linux also has.
struct Known {
    scheduler: &'static str,
    /// The kind of the qdisc whose counters are read.
    kind: fn(&Setting<'_>) -> &'static str,
    lines: Lines,
}

const KNOWN: [Known; 3] = [
    Known { scheduler: "fifo", kind: fifo_kind, lines: fifo },
    Known { scheduler: "drr", kind: |_| "drr", lines: drr },
    Known { scheduler: "fq-codel", kind: |_| "fq_codel", lines: fq_codel },
];

/// A scheduler with its parameters, and data of the experiment.
struct Setting<'a> {
    scheduler: &'a str,
    parameters: &'a SchedulerOptions,
    capacity: Capacity,
    flows: usize,
    is_tcp: bool,
}

impl Setting<'_> {
    fn written(&self, key: &str) -> Option<u64> {
        let (_, text) = self.parameters.written().iter().find(|(name, _)| name == key)?;
        text.parse().ok()
    }

    /// The written value, or the library's default.
    fn value(&self, key: &str) -> std::result::Result<u64, String> {
        let row = find_scheduler(self.scheduler)?.info.param(key);
        let default = match row.and_then(|row| row.default_value()) {
            Some(Value::Integer(default)) => u64::try_from(default).ok(),
            _ => None,
        };
        self.written(key).or(default).ok_or_else(|| format!("{key} is not given"))
    }
}

/// The handle of the qdisc under test.
const HANDLE: &str = "2:";

fn fifo_kind(setting: &Setting<'_>) -> &'static str {
    if matches!(setting.capacity, Capacity::Bytes(_)) { "bfifo" } else { "pfifo" }
}

fn fifo(setting: &Setting<'_>) -> std::result::Result<String, String> {
    if setting.capacity == Capacity::Unlimited {
        return Err("its queue is limited".to_owned());
    }
    let limit = Room::new(setting.capacity).total();
    Ok(format!("qdisc add dev DEV parent 1:1 handle {HANDLE} {} limit {limit}\n", fifo_kind(setting)))
}

fn fq_codel(setting: &Setting<'_>) -> std::result::Result<String, String> {
    let us = |key: &str| setting.value(key).map(|ns| ns.div_ceil(1000).max(1));
    let Capacity::Packets(limit) = setting.capacity else { return Err("its limit is in packets".to_owned()) };
    // Linux's memory limit would apply before the limit in packets.
    Ok(format!(
        "qdisc add dev DEV parent 1:1 handle {HANDLE} fq_codel limit {limit} flows {} quantum {} target {}us interval {}us \
         drop_batch {} memory_limit 1gb noecn\n",
        setting.value("buckets")?,
        setting.value("quantum_bytes")?,
        us("target_ns")?,
        us("interval_ns")?,
        setting.value("drop_batch")?,
    ))
}

/// One class per flow, selected by the flow's port.
fn drr(setting: &Setting<'_>) -> std::result::Result<String, String> {
    if setting.is_tcp {
        return Err("it tells flows apart by their ports, which the flows of TCP experiments share".to_owned());
    }
    let Some(limit) = setting.written("flow_packets") else {
        return Err("it has a limit for each flow: give --flow-packets".to_owned());
    };
    let flows = setting.flows as u64;
    let is_enough = matches!(setting.capacity, Capacity::Packets(packets) if u64::from(packets) >= flows * limit);
    if !is_enough {
        return Err(format!(
            "it does not limit all flows together: give --capacity-packets {} or more for {flows} flows of {limit} packets",
            flows * limit
        ));
    }
    let quantum = setting.value("quantum_bytes")?;
    let mut lines = format!("qdisc add dev DEV parent 1:1 handle {HANDLE} drr\n");
    let class = |number: u64| {
        format!(
            "class add dev DEV parent {HANDLE} classid {HANDLE}{number:x} drr quantum {quantum}\n\
             qdisc add dev DEV parent {HANDLE}{number:x} pfifo limit {limit}\n"
        )
    };
    for flow in 0..flows {
        let port = u64::from(FIRST_PORT) + flow;
        lines += &class(flow + 1);
        lines += &format!(
            "filter add dev DEV parent {HANDLE} protocol ip prio 1 u32 match ip dport {port} 0xffff flowid {HANDLE}{:x}\n",
            flow + 1
        );
    }
    // The class of the probe packets that precede the flows.
    lines += &class(flows + 1);
    lines += &format!(
        "filter add dev DEV parent {HANDLE} protocol ip prio 2 u32 match u32 0 0 flowid {HANDLE}{:x}\n",
        flows + 1
    );
    Ok(lines)
}

/// One of Linux's qdiscs, with the `tc` commands that install it.
#[derive(Clone, Debug)]
pub struct LinuxQdisc {
    kind: &'static str,
    lines: String,
}

impl LinuxQdisc {
    /// The qdisc that corresponds to `scheduler`, for the flows of `experiment`.
    pub fn new(
        scheduler: &str,
        parameters: &SchedulerOptions,
        experiment: &Experiment,
    ) -> std::result::Result<Self, String> {
        let known = KNOWN.iter().find(|known| known.scheduler == scheduler);
        let known = known.ok_or_else(|| {
            let all: Vec<_> = KNOWN.iter().map(|known| known.scheduler).collect();
            format!("Linux has no such qdisc; it has those of {}", all.join(", "))
        })?;
        let (flows, is_tcp) = (experiment.flows.len(), experiment.is_tcp());
        let capacity = build_scheduler(scheduler, parameters).map_err(|error| error.to_string())?.capacity();
        let setting = Setting { scheduler, parameters, capacity, flows, is_tcp };
        let rate = (experiment.rate_mbps * 1e6).round() as u64;
        let not_ip = (rate * NOT_IP_PERCENT / 100).max(8);
        let frame = experiment.mtu + super::experiments::ETHERNET_HEADER;
        let burst = BURST_BYTES.max(2 * frame);
        let class = |number: u32, rate: u64| {
            format!(
                "class add dev DEV parent 1: classid 1:{number} htb rate {rate}bit ceil {rate}bit burst {burst} cburst {burst} quantum {frame}\n"
            )
        };
        let lines = "qdisc add dev DEV root handle 1: htb default 2\n".to_owned()
            + &class(1, rate)
            + &class(2, not_ip)
            + "filter add dev DEV parent 1: protocol ip prio 1 u32 match u32 0 0 flowid 1:1\n"
            + &(known.lines)(&setting).map_err(|reason| format!("not comparable with Linux's: {reason}"))?;
        Ok(Self { kind: (known.kind)(&setting), lines })
    }

    /// Installs the qdisc on an interface of `namespace`.
    pub fn install(&self, namespace: &Namespace, dev: &str) -> Result<()> {
        namespace.command_with_input("tc", "-batch -", &self.lines.replace("DEV", dev))
    }

    /// Tests whether this kernel has the required features, in a temporary namespace.
    pub fn probe(&self) -> std::result::Result<(), String> {
        let namespace = Namespace::new("probe").map_err(|error| error.to_string())?;
        self.install(&namespace, "lo").map_err(|error| {
            let said = error.to_string().replace('\n', "; ");
            // tc stops at the line that the kernel refuses. Without the first line there is nothing to check.
            let missing = |what: &str| format!("this kernel has no {what}");
            let line = said.rsplit_once("Command failed -:").and_then(|(_, line)| line.trim().parse::<usize>().ok());
            match line
                .and_then(|line| self.lines.lines().nth(line - 1))
                .map(|line| line.split_whitespace().collect::<Vec<_>>())
            {
                Some(words) if words[0] == "qdisc" && words.contains(&"root") => {
                    missing("qdisc htb (CONFIG_NET_SCH_HTB)")
                }
                Some(words) if words[0] == "filter" => missing("classifier u32 (CONFIG_NET_CLS_U32)"),
                Some(words) if words[0] == "qdisc" => missing(&format!("qdisc {}", self.kind)),
                _ => said,
            }
        })
    }

    /// The packets sent, dropped and held by the qdisc on `dev` in the namespace of the calling thread.
    pub fn counters(&self, dev: &str) -> Result<serde_json::Value> {
        let what = || format!("reading the counters of {} on {dev}", self.kind);
        let output = Command::new("tc").args(["-s", "-j", "qdisc", "show", "dev", dev]).output().trying(what)?;
        let qdiscs: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).trying(what)?;
        let found = qdiscs.iter().find(|qdisc| qdisc["handle"] == HANDLE);
        let found = found.ok_or_else(|| Error::failed(what(), "it is not there"))?;
        let number = |key: &str| found[key].as_u64().unwrap_or(0);
        Ok(json!({
            "qdisc": "linux", "kind": self.kind,
            "sent_packets": number("packets"), "dropped_packets": number("drops"), "occupancy_packets": number("qlen"),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::experiments::{Changes, Name};
    use super::*;

    fn qdisc(name: Name, scheduler: &str, written: &[(&str, &str)]) -> std::result::Result<LinuxQdisc, String> {
        let experiment =
            Experiment::new(name, &Changes { mtu: 1500, ..Changes::default() }).expect("the defaults are valid");
        let mut parameters = SchedulerOptions::default();
        written.iter().for_each(|(key, value)| parameters.set(key, value));
        LinuxQdisc::new(scheduler, &parameters, &experiment)
    }

    #[test]
    fn parameters_are_those_of_the_library_in_the_words_of_tc() {
        let fifo = qdisc(Name::FairShares, "fifo", &[]).expect("Linux has it").lines;
        assert!(fifo.contains("handle 2: pfifo limit 80\n") && fifo.contains("htb rate 100000000bit"), "{fifo}");
        let bytes = qdisc(Name::FairShares, "fifo", &[("capacity_bytes", "9000")]).expect("Linux has it").lines;
        assert!(bytes.contains("handle 2: bfifo limit 9000\n"), "{bytes}");
        let codel = qdisc(Name::TcpFourFlows, "fq-codel", &[("target_ns", "7500000"), ("buckets", "64")])
            .expect("it has")
            .lines;
        assert!(
            codel.contains("limit 10240 flows 64 quantum 1514 target 7500us interval 100000us drop_batch 64"),
            "{codel}"
        );
        let drr =
            qdisc(Name::FairShares, "drr", &[("flow_packets", "20"), ("quantum_bytes", "900")]).expect("it has").lines;
        assert_eq!(drr.matches("drr quantum 900\n").count(), 5, "a class for each flow and one for the rest: {drr}");
        assert!(drr.contains("match ip dport 10004 0xffff flowid 2:4\n") && drr.contains("pfifo limit 20"), "{drr}");
    }

    #[test]
    fn what_linux_has_not_or_has_otherwise_is_said_by_name() {
        let reason = |name, scheduler, written: &[_]| qdisc(name, scheduler, written).expect_err("there is none");
        assert!(reason(Name::FairShares, "scrr", &[]).contains("fifo, drr, fq-codel"));
        assert!(reason(Name::FairShares, "drr", &[]).contains("--flow-packets"));
        let more = [("flow_packets", "21")];
        assert!(reason(Name::FairShares, "drr", &more).contains("--capacity-packets 84"));
        assert!(reason(Name::TcpFourFlows, "drr", &[("flow_packets", "2")]).contains("ports"));
    }
}
