//! What a rank function at a port is told of a packet beside its descriptor.

use super::packets::InFlight;
use super::step::Net;
use crate::observer::Observer;
use pifolab_sched::{Hints, Labels};
use pifolab_transport::{Flags, Segment};
use pifolab_units::{Bytes, Span};
use pifolab_workload::flows::Flow;

impl<O: Observer, M> Net<'_, O, M> {
    /// Gathers what a rank function at the port wants to know about a packet.
    #[cold]
    pub(super) fn hint(&mut self, number: u32, packet: u32) {
        let InFlight { segment, flow, mut route, dst, size, waited, .. } = self.packets[packet];
        let flow_size = self.flows[flow as usize].bytes;
        let (remaining, unacknowledged) = if segment.from_sender() {
            let acknowledged = self.acknowledged.as_ref().map_or(0, |bytes| bytes[flow as usize]);
            let before = u64::from(segment.seq) * u64::from(self.segment_bytes);
            (flow_size.saturating_sub(before), flow_size - acknowledged)
        } else {
            (0, 0)
        };
        let Flow { src, dst: to, .. } = self.flows[flow as usize];
        let source = if segment.from_sender() { src } else { to };
        let mut on_wires = Span::ZERO;
        let mut next = number;
        loop {
            let port = &self.ports[next as usize];
            // Each link is checked, the way as a whole is not.
            on_wires = on_wires.saturating_add(port.serialisation(size, self.rounding) + port.delay);
            if port.to < self.hosts {
                break;
            }
            // A link that failed may have left no way.
            let further = match route.take(self.port_bits) {
                Ok(port) => Some(port),
                Err(hash) => self.routes.first_port(port.to, dst, hash),
            };
            let Some(further) = further else { break };
            next = further;
        }
        let hints = Hints {
            flow_size: Bytes(flow_size),
            remaining: Bytes(remaining),
            unacknowledged: Bytes(unacknowledged),
            deadline: None,
            remaining_transmission: on_wires,
            delay_so_far: waited,
            mean_delay_so_far: Span::ZERO,
            labels: Labels { source, destination: dst, ecn: self.ecn_of(&segment), ..Labels::default() },
        };
        self.ports[number as usize].queue.hint(packet, &hints);
    }

    /// The ECN codepoint of a segment: data of a transport that answers to marks can carry them.
    const fn ecn_of(&self, segment: &Segment) -> u8 {
        const ECT_0: u8 = 2;
        const MARKED: u8 = 3;
        match segment.flags.has(Flags::CE) {
            true => MARKED,
            false if self.ecn_capable && segment.payload_bytes > 0 && !segment.flags.has(Flags::NOT_ECT) => ECT_0,
            false => 0,
        }
    }
}
