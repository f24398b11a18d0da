//! A fluid model that estimates, before flows are drawn, how much traffic of a network is under way at once.
//!
//! Flows start evenly over a time, share the links of their receivers, and take at least as long as alone. Under
//! overload flows accumulate; with short queues some wait for a timer until the end.

use crate::spec::network::NetworkSpec;
use pifolab_sched::Capacity;
use pifolab_sim::network::Topology;
use pifolab_units::Span;
use std::collections::VecDeque;

/// The number of hosts, evenly spread, from which the ports on the paths to all others are counted.
const LOOKED_FROM: usize = 4;
/// The load up to which sharing slows flows as in a stable queue: by 1 / (1 - load).
const BALANCED: f64 = 0.8;
/// A queue with at most this many places loses part of a window.
const SHORT_QUEUE: f64 = 15.0;

/// The flows of a run and their effect on the network.
pub(crate) struct Traffic {
    pub(crate) flows: f64,
    /// The mean bytes of a flow.
    pub(crate) flow_bytes: f64,
    /// Data segments, no more than hosts can send during the run.
    pub(crate) segments: f64,
    /// Ports that a packet crosses, on average.
    pub(crate) crossed: f64,
    /// 1 without acknowledgements, else 2.
    pub(crate) ways: f64,
    /// The load of the receivers' links while flows start.
    pub(crate) load: f64,
    hosts: f64,
    per_flow: f64,
    window: f64,
    has_window: bool,
    segment_bytes: f64,
    /// The shares of flows under way at once: because each takes its time, and because of overload.
    busy: f64,
    piled: f64,
    /// Packets that fill the way to a receiver.
    on_the_way: f64,
}

impl Traffic {
    /// The traffic if all hosts send a datagram every `interval`, or with a window.
    pub(crate) fn of(spec: &NetworkSpec, interval: Option<Span>) -> Self {
        let expected = spec.expected_flows();
        let topology = &spec.layout.topology;
        let hosts = f64::from(topology.hosts);
        let segment_bytes = f64::from(spec.segment_bytes());
        let length = spec.end.as_ps() as f64 / 1e12;
        let access = spec.layout.access.as_bps() as f64 / 8.0;
        let flows = expected.flows.max(f64::MIN_POSITIVE);
        let per_flow = (expected.bytes / flows / segment_bytes).ceil().max(1.0);
        let packet = segment_bytes + f64::from(spec.wire().1);
        let wire = expected.bytes / flows + per_flow * f64::from(spec.wire().1);
        let crossed = ports_crossed(topology);
        let delays = topology.links.iter().map(|link| link.delay.as_ps() as f64 / 1e12).sum::<f64>();
        let one_way = crossed * (delays / topology.links.len().max(1) as f64 + packet / access);
        let alone = wire / access * expected.at_one_receiver;
        let interval = interval.map(|interval| interval.as_ps() as f64 / 1e12);
        let (initial, most) = spec.window_segments();
        let (takes, window) = match interval {
            Some(interval) => (alone.max(per_flow * interval) + one_way, (one_way / interval).max(1.0)),
            None => {
                let rounds = 2.0 + (1.0 + per_flow / initial).log2();
                (alone + 2.0 * rounds * one_way, initial.max(one_way * access / packet).min(most))
            }
        };
        let sends = interval.map_or(f64::INFINITY, |interval| flows * segment_bytes / interval).min(hosts * access);
        let starts = expected.starts_s.max(one_way);
        let load = flows * wire / (expected.receivers * access * starts);
        Self {
            flows: expected.flows,
            flow_bytes: expected.bytes / flows,
            segments: expected.bytes.min(sends * length) / segment_bytes + expected.flows,
            crossed,
            ways: if interval.is_some() { 1.0 } else { 2.0 },
            load,
            hosts,
            per_flow,
            window: window.min(per_flow),
            has_window: interval.is_none(),
            segment_bytes,
            busy: (takes / starts / (1.0 - load.min(BALANCED))).min(1.0),
            piled: (1.0 - 1.0 / load).max(0.0),
            on_the_way: one_way * access / packet,
        }
    }

    /// Visits of ports, over all flows.
    pub(crate) fn visits(&self) -> f64 {
        self.flows * self.crossed * self.ways
    }

    /// Packets that pass ports.
    pub(crate) fn passed(&self) -> f64 {
        self.segments * self.crossed * self.ways
    }

    /// Flows and packets under way at once if the queues of switches have this capacity.
    pub(crate) fn at_once(&self, capacity: Option<Capacity>) -> (f64, f64) {
        let room = match capacity {
            Some(Capacity::Packets(packets)) => f64::from(packets),
            Some(Capacity::Bytes(bytes)) => bytes as f64 / self.segment_bytes,
            Some(Capacity::Unlimited) | None => f64::INFINITY,
        };
        let stuck = if self.has_window {
            let loses = self.per_flow / (self.per_flow + 1.5 * room);
            loses * (-room / SHORT_QUEUE).exp() * (4.0 * self.load).min(1.0)
        } else {
            0.0
        };
        let open = 1.0 - (1.0 - self.busy) * (1.0 - self.piled) * (1.0 - stuck);
        let flows = (self.flows * open).max(self.flows.min(1.0));
        let packets = flows * self.window;
        let packets = if self.has_window {
            packets.min(1.5 * self.hosts * (room + self.on_the_way) + flows)
        } else {
            packets + self.piled * self.flows * self.per_flow
        };
        (flows, packets.min(self.flows * self.per_flow).min(self.segments))
    }
}

/// The expected number of different members of `all` in `times` uniform draws.
pub(crate) fn met(all: f64, times: f64) -> f64 {
    if all > 0.0 { all * -(-times / all).exp_m1() } else { 0.0 }
}

/// The ports that a packet crosses between two hosts, on average.
fn ports_crossed(topology: &Topology) -> f64 {
    let mut ports: Vec<(u32, u32)> = topology.links.iter().map(|link| (link.from, link.to)).collect();
    ports.sort_unstable();
    let hosts = topology.hosts as usize;
    let (mut sum, mut pairs) = (0_u64, 0_u64);
    let mut away = vec![u32::MAX; topology.nodes as usize];
    for source in (0..hosts).step_by(hosts.div_ceil(LOOKED_FROM).max(1)) {
        away.fill(u32::MAX);
        away[source] = 0;
        let mut next = VecDeque::from([source as u32]);
        while let Some(node) = next.pop_front() {
            let first = ports.partition_point(|(from, _)| *from < node);
            for (_, to) in ports[first..].iter().take_while(|(from, _)| *from == node) {
                if away[*to as usize] == u32::MAX {
                    away[*to as usize] = away[node as usize] + 1;
                    next.push_back(*to);
                }
            }
        }
        for ports in away[..hosts].iter().filter(|away| (1..u32::MAX).contains(*away)) {
            (sum, pairs) = (sum + u64::from(*ports), pairs + 1);
        }
    }
    sum as f64 / pairs.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_sim::network::{FatTree, LeafSpine};
    use pifolab_units::{Rate, Span};

    #[test]
    fn the_ports_on_the_way_are_counted() {
        let tree =
            FatTree { k: 4, access_rate: Rate::from_gbps(1), fabric_rate: Rate::from_gbps(1), delay: Span::from_us(1) };
        // Of the 15 other hosts one is at the same switch, two are in the same pod.
        assert_eq!(ports_crossed(&tree.topology().unwrap()), (2.0 + 2.0 * 4.0 + 12.0 * 6.0) / 15.0);
        let fabric = LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 2, ..LeafSpine::papers(10) };
        assert_eq!(ports_crossed(&fabric.topology().unwrap()), (2.0 + 2.0 * 4.0) / 3.0);
    }

    #[test]
    fn what_is_met_is_no_more_than_there_is() {
        assert_eq!(met(0.0, 5.0), 0.0);
        assert!((met(1e6, 10.0) - 10.0).abs() < 1e-3);
        assert_eq!(met(10.0, 1e6), 10.0);
    }
}
