//! How long a flow takes that has the network for itself: what its slowdown is measured against.
//!
//! The lone flow knows no window: it shakes hands, then sends its segments back to back, and is complete when the
//! acknowledgement of the last one is back (UDP: when the last datagram arrives). Serialisation, headers and rounding
//! are those of the run. A slowdown of 1 is reached by flows that fit in the first window of an empty network.

use crate::spec::network::{NetworkSpec, Shape};
use pifolab_sim::network::Flow;
use pifolab_transport::Congestion;
use pifolab_units::{Bytes, Rate, Rounding, Span};

/// What lone flows have in common.
pub(super) struct LoneFlow {
    shape: Shape,
    rounding: Rounding,
    header: u64,
    segment: u64,
    /// The interval between datagrams, without handshake and acknowledgements.
    udp: Option<Span>,
}

impl LoneFlow {
    pub(super) fn new(spec: &NetworkSpec) -> Self {
        let (rounding, header) = spec.wire();
        let udp = match &spec.transport.params.congestion {
            Congestion::Udp(udp) => Some(udp.interval),
            Congestion::NewReno | Congestion::Dctcp(_) | Congestion::Cubic => None,
        };
        Self { shape: spec.shape, rounding, header: header.into(), segment: spec.segment_bytes().into(), udp }
    }

    /// The rates and the delay of the links from one end to the other.
    fn path(&self, flow: &Flow) -> (Vec<Rate>, Span) {
        match self.shape {
            Shape::TwoHosts { rate, delay } => (vec![rate], delay),
            Shape::LeafSpine(fabric) => {
                let (access, spine) = (fabric.access_rate, fabric.fabric_rate);
                let near = flow.src / fabric.hosts_per_leaf == flow.dst / fabric.hosts_per_leaf;
                (if near { vec![access; 2] } else { vec![access, spine, spine, access] }, fabric.delay)
            }
        }
    }

    /// The completion time of `flow` without any other.
    pub(super) fn fct(&self, flow: &Flow) -> Span {
        let (rates, delay) = self.path(flow);
        let full = flow.bytes.div_ceil(self.segment) - 1;
        let last = flow.bytes - full * self.segment;
        let wire = |payload: u64, rate: &Rate| rate.serialisation(Bytes(payload + self.header), self.rounding).as_ps();
        // What one packet takes to the far end by itself.
        let trip = |payload: u64| rates.iter().map(|rate| wire(payload, rate) + delay.as_ps()).sum::<u64>();
        // When a hop has sent the handshake's last segment, the first and the last full segment, and the last segment.
        // Full segments are alike, so at each hop either all of them queue from the first on, or they come as slowly as
        // an earlier hop lets them.
        let (mut empty, mut first, mut row, mut end) = (0u64, 0u64, 0u64, 0u64);
        for (hop, rate) in rates.iter().enumerate() {
            let delay = if hop == 0 { 0 } else { delay.as_ps() };
            if self.udp.is_none() {
                empty += delay + wire(0, rate);
            }
            if full > 0 {
                let each = wire(self.segment, rate);
                first = (first + delay).max(empty) + each;
                row = first.saturating_add((full - 1).saturating_mul(each)).max((row + delay).saturating_add(each));
            }
            end = (end + delay).max(row).max(empty).saturating_add(wire(last, rate));
        }
        let end = end.saturating_add(delay.as_ps());
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
        let lone = LoneFlow {
            shape: Shape::LeafSpine(LeafSpine::papers(10)),
            rounding: Rounding::DownToNanosecond,
            header: 120,
            segment: 1380,
            udp: None,
        };
        for (bytes, ns) in [(1, 1_376), (1_380, 4_136), (10_000, 11_704), (50_000, 46_488)] {
            let took = lone.fct(&flow(143, bytes)).as_ns();
            // From the fourth packet on the published flows wait for their windows.
            if bytes <= 1_380 { assert_eq!(took, ns) } else { assert!(took <= ns, "{took} > {ns} for {bytes} B") }
        }
    }

    #[test]
    fn segments_queue_at_the_slowest_hop_and_datagrams_keep_their_interval() {
        let link = |udp| LoneFlow {
            shape: Shape::TwoHosts { rate: Rate::from_gbps(1), delay: Span::from_us(1) },
            rounding: Rounding::default(),
            header: 40,
            segment: 1460,
            udp,
        };
        // Three empty packets with a trip each, one in front of three full ones on the same link.
        let tcp = 3 * (320 + 1_000) + 320 + 3 * 12_000 + 1_000;
        assert_eq!(link(None).fct(&flow(1, 3 * 1_460)).as_ns(), tcp);
        assert_eq!(link(Some(Span::from_us(5))).fct(&flow(1, 3 * 1_460)).as_ns(), 3 * 12_000 + 1_000);
        assert_eq!(link(Some(Span::from_us(50))).fct(&flow(1, 3 * 1_460)).as_ns(), 100_000 + 12_000 + 1_000);
    }
}
