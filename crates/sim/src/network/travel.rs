//! How packets go through the network: from their host, over links, and out at another.

use super::in_flight::InFlight;
use super::mode::Mode;
use super::net::Net;
use super::routing::{PortBits, Route, Routes};
use super::trace_hashes::loss;
use crate::observer::{EndView, Observer};
use pifolab_transport::Segment;
use pifolab_units::{Rank, Span, Time};

/// What all packets of a connection in one direction have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trip {
    pub(super) flow: u32,
    pub(super) slot: u32,
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) route: Route,
}

impl<O: Observer, M: Mode> Net<'_, O, M> {
    /// Puts a segment of an end point at host `src` on its way.
    pub(super) fn send(&mut self, mut segment: Segment, trip: Trip, now: Time) {
        if !M::PLAIN
            && let Some((distribution, stream)) = &mut self.drawn_ranks
        {
            segment.rank = Rank::saturating(distribution.draw(stream));
        }
        let size = u32::from(segment.payload_bytes) + self.header_bytes;
        let Trip { flow, slot, src, dst, route } = trip;
        let number = self.packets.insert(InFlight { segment, flow, slot, route, dst, size, waited: Span::ZERO });
        self.accounts.counters.created += 1;
        self.accounts.trace_hashes.note_packet(flow, &segment);
        if !M::PLAIN {
            let view = EndView { id: u64::from(number), flow, host: src, size, segment: &segment };
            self.observer.on_create(view, now);
        }
        match next_port(&mut self.packets[number], src, self.port_bits, &mut self.routes) {
            Some(port) => self.offer(port, number, now),
            None => self.lose_unreachable(number),
        }
    }

    /// A packet reached the far end of a link: on to the next port, or out to the end point that gets it.
    #[inline(always)]
    pub(super) fn arrive(&mut self, port: u32, number: u32, now: Time) -> Option<InFlight> {
        let mut packet = &mut self.packets[number];
        let left = &self.ports[port as usize];
        let node = left.to;
        if !M::STEPWISE && left.is_behind(now) {
            self.catch_up(port, now);
            packet = &mut self.packets[number];
        }
        if !M::PLAIN && self.failures.is_some() {
            if self.lost_on_wire(port, number, now) {
                return None;
            }
            packet = &mut self.packets[number];
        }
        self.accounts.counters.hops += 1;
        if node < self.hosts {
            assert!(packet.dst == node, "packet {number} reached host {node} instead of {}", packet.dst);
            self.accounts.counters.delivered += 1;
            if !M::PLAIN {
                let InFlight { segment, flow, size, .. } = packet;
                let view = EndView { id: u64::from(number), flow: *flow, host: node, size: *size, segment };
                self.observer.on_deliver(view, now);
            }
            return Some(self.packets.remove(number));
        }
        match next_port(packet, node, self.port_bits, &mut self.routes) {
            Some(next) => self.offer(next, number, now),
            None => self.lose_unreachable(number),
        }
        None
    }

    /// Whether the packet that should reach the far end of a port's link now was lost there.
    #[cold]
    fn lost_on_wire(&mut self, number: u32, packet: u32, now: Time) -> bool {
        let Some(failures) = &self.failures else { return false };
        let port = &mut self.ports[number as usize];
        let under_way = port.serialisation(self.packets[packet].size, self.rounding) + port.delay;
        if !failures.lost_on_wire(number, under_way, now) {
            return false;
        }
        port.cold.losses.lost_on_wire_packets += 1;
        self.accounts.counters.lost_on_wire += 1;
        self.forget(packet, u64::from(number) << 8 | loss::ON_WIRE);
        true
    }

    /// No way leads to where a packet wants to go.
    #[cold]
    fn lose_unreachable(&mut self, packet: u32) {
        self.accounts.counters.unreachable += 1;
        self.forget(packet, loss::UNREACHABLE);
    }

    /// Asks for the port and the packet of the next event while this one is handled, and reads neither, so that nothing waits
    /// for them: few of them are in the nearest cache. Events other than arrivals name other things, and gain nothing.
    #[inline(always)]
    pub(super) fn prefetch_next(&self) {
        let (port, packet) = self.events.peek().numbers();
        prefetch_lines(self.port_address(port));
        prefetch(self.packets.address(packet).cast());
    }

    /// Where a port is, if there is one of this number.
    #[inline(always)]
    pub(super) fn port_address(&self, port: u32) -> *const i8 {
        self.ports.as_ptr().wrapping_add(port as usize).cast()
    }
}

/// The port by which a packet leaves `node`; `None` if there is no path.
#[inline(always)]
fn next_port(packet: &mut InFlight, node: u32, bits: PortBits, routes: &mut Routes) -> Option<u32> {
    match packet.route.take(bits) {
        Ok(port) => Some(port),
        Err(hash) => routes.next_port(node, packet.dst, hash),
    }
}

/// Asks for two cache lines ahead of their use: of a port, what every packet touches.
#[inline(always)]
pub(super) fn prefetch_lines(address: *const i8) {
    prefetch(address);
    prefetch(address.wrapping_add(64));
}

/// Asks for a cache line ahead of its use.
#[inline(always)]
fn prefetch(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is allowed.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
