//! How long a flow takes that has the network for itself: what its slowdown is measured against.
//!
//! The lone flow knows no window: it shakes hands, then sends its segments back to back, and is complete when the
//! acknowledgement of the last one is back (UDP: when the last datagram arrives). Serialisation, headers and rounding
//! are those of the run. A slowdown of 1 is reached by flows that fit in the first window of an empty network.

use crate::spec::network::NetworkSpec;
use pifolab_sim::network::{Flow, Link, Topology};
use pifolab_transport::Congestion;
use pifolab_units::{Bytes, Rate, Rounding, Span};
use std::collections::{BTreeMap, VecDeque};

/// What lone flows have in common.
pub(super) struct LoneFlow<'a> {
    topology: &'a Topology,
    /// The links out of each node.
    out: Vec<Vec<Link>>,
    /// Paths between the switches of hosts, as far as they were asked for.
    known: BTreeMap<(u32, u32), Vec<(Rate, Span)>>,
    rounding: Rounding,
    header: u64,
    segment: u64,
    /// The interval between datagrams, without handshake and acknowledgements.
    udp: Option<Span>,
}

impl<'a> LoneFlow<'a> {
    pub(super) fn new(spec: &'a NetworkSpec) -> Self {
        let (rounding, header) = spec.wire();
        let udp = match &spec.transport.params.congestion {
            Congestion::Udp(udp) => Some(udp.interval),
            Congestion::NewReno | Congestion::Dctcp(_) | Congestion::Cubic => None,
        };
        Self::over(&spec.layout.topology, (rounding, header), spec.segment_bytes(), udp)
    }

    fn over(topology: &'a Topology, (rounding, header): (Rounding, u32), segment: u32, udp: Option<Span>) -> Self {
        let mut out = vec![Vec::new(); topology.nodes as usize];
        for link in &topology.links {
            out[link.from as usize].push(*link);
        }
        let (header, segment) = (header.into(), segment.into());
        Self { topology, out, known: BTreeMap::new(), rounding, header, segment, udp }
    }

    /// The links of one shortest path: rates and delays.
    fn path(&mut self, flow: &Flow) -> Vec<(Rate, Span)> {
        let first = self.out[flow.src as usize][0];
        let mut path = vec![(first.rate, first.delay)];
        if first.to == flow.dst {
            return path;
        }
        let gate = self.out[flow.dst as usize][0].to;
        if !self.known.contains_key(&(first.to, gate)) {
            let found = self.between(first.to, gate);
            self.known.insert((first.to, gate), found);
        }
        path.extend(&self.known[&(first.to, gate)]);
        path.extend(
            self.out[gate as usize].iter().find(|link| link.to == flow.dst).map(|link| (link.rate, link.delay)),
        );
        path
    }

    fn between(&self, from: u32, to: u32) -> Vec<(Rate, Span)> {
        let mut by: Vec<Option<Link>> = vec![None; self.out.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for link in &self.out[node as usize] {
                if link.to >= self.topology.hosts && link.to != from && by[link.to as usize].is_none() {
                    by[link.to as usize] = Some(*link);
                    queue.push_back(link.to);
                }
            }
        }
        let mut path = Vec::new();
        let mut node = to;
        while let Some(link) = by[node as usize] {
            path.push((link.rate, link.delay));
            node = link.from;
        }
        path.reverse();
        path
    }

    /// The completion time of `flow` without any other.
    pub(super) fn fct(&mut self, flow: &Flow) -> Span {
        let path = self.path(flow);
        let full = flow.bytes.div_ceil(self.segment) - 1;
        let last = flow.bytes - full * self.segment;
        let wire = |payload: u64, rate: &Rate| rate.serialisation(Bytes(payload + self.header), self.rounding).as_ps();
        // What one packet takes to the far end by itself.
        let trip = |payload: u64| path.iter().map(|(rate, delay)| wire(payload, rate) + delay.as_ps()).sum::<u64>();
        // When a hop has sent the handshake's last segment, the first and the last full segment, and the last segment.
        // Full segments are alike, so at each hop either all of them queue from the first on, or they come as slowly as
        // an earlier hop lets them.
        let (mut empty, mut first, mut row, mut end) = (0u64, 0u64, 0u64, 0u64);
        let mut delay = 0;
        for (rate, next_delay) in &path {
            if self.udp.is_none() {
                empty += delay + wire(0, rate);
            }
            if full > 0 {
                let each = wire(self.segment, rate);
                first = (first + delay).max(empty) + each;
                row = first.saturating_add((full - 1).saturating_mul(each)).max((row + delay).saturating_add(each));
            }
            end = (end + delay).max(row).max(empty).saturating_add(wire(last, rate));
            delay = next_delay.as_ps();
        }
        let end = end.saturating_add(delay);
        Span::from_ps(match self.udp {
            None => end.saturating_add(3 * trip(0)),
            Some(interval) => end.max(full.saturating_mul(interval.as_ps()).saturating_add(trip(last))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_sim::network::LeafSpine;
    use pifolab_units::Time;

    fn flow(dst: u32, bytes: u64) -> Flow {
        Flow { id: 0, src: 0, dst, bytes, start: Time::ZERO }
    }

    #[test]
    fn a_lone_flow_takes_what_the_published_simulator_prints_for_it() {
        // 10/40 Gb/s, 120 B of headers, segments of 1380 B, whole nanoseconds.
        let topology = LeafSpine::papers(10).topology().unwrap();
        let mut lone = LoneFlow::over(&topology, (Rounding::DownToNanosecond, 120), 1380, None);
        for (bytes, ns) in [(1, 1_376), (1_380, 4_136), (10_000, 11_704), (50_000, 46_488)] {
            let took = lone.fct(&flow(143, bytes)).as_ns();
            // From the fourth packet on the published flows wait for their windows.
            if bytes <= 1_380 { assert_eq!(took, ns) } else { assert!(took <= ns, "{took} > {ns} for {bytes} B") }
        }
    }

    #[test]
    fn segments_queue_at_the_slowest_hop_and_datagrams_keep_their_interval() {
        let topology = Topology::two_hosts(Rate::from_gbps(1), Span::from_us(1));
        let link = |udp| LoneFlow::over(&topology, (Rounding::default(), 40), 1460, udp);
        // Three empty packets with a trip each, one in front of three full ones on the same link.
        let tcp = 3 * (320 + 1_000) + 320 + 3 * 12_000 + 1_000;
        assert_eq!(link(None).fct(&flow(1, 3 * 1_460)).as_ns(), tcp);
        assert_eq!(link(Some(Span::from_us(5))).fct(&flow(1, 3 * 1_460)).as_ns(), 3 * 12_000 + 1_000);
        assert_eq!(link(Some(Span::from_us(50))).fct(&flow(1, 3 * 1_460)).as_ns(), 100_000 + 12_000 + 1_000);
    }
}
