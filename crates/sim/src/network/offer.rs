//! What becomes of a packet that comes to a port: it passes, waits, or is dropped.

use super::in_flight::InFlight;
use super::mode::Mode;
use super::net::Net;
use super::queue::Queue;
use super::serve::begin;
use crate::observer::{Loss, Observer};
use crate::port::{IdlePort, Order};
use pifolab_sched::{Arriving, DropReason, Enqueued, Handle, Packet};
use pifolab_transport::{Flags, Segment};
use pifolab_units::{Rank, Time};

impl<O: Observer, M: Mode> Net<'_, O, M> {
    /// Offers a packet to a port.
    #[inline(always)]
    pub(super) fn offer(&mut self, number: u32, packet: u32, now: Time) {
        let mut port = &mut self.ports[number as usize];
        if !M::STEPWISE && port.is_behind(now) {
            self.catch_up(number, now);
            port = &mut self.ports[number as usize];
        }
        let in_flight = &mut self.packets[packet];
        let size = in_flight.size;
        port.arrive(size);
        let idle = if M::STEPWISE { port.serving().is_none() } else { port.busy_until <= now };
        if port.marks() {
            in_flight.segment.flags = in_flight.segment.flags.with(Flags::CE);
            port.cold.losses.marked_packets += 1;
        }
        if !M::PLAIN && self.pools.is_some() {
            if self.memory_refuses(number, size, now) {
                return self.refuse(number, packet, now);
            }
            port = &mut self.ports[number as usize];
        }
        let passed = if idle && size < port.passes_below {
            Ok(idle)
        } else {
            let no_room = !idle && port.no_room_beside_serving(size);
            let handle = Handle { number: packet, size };
            match &mut port.queue {
                Queue::Fifo(_) if no_room => Err(DropReason::Full),
                Queue::Fifo(fifo) => fifo.offer(Arriving { size, rank: Rank::ZERO, flow: 0 }, &handle).map(|_| false),
                Queue::Decided(queues) => {
                    let InFlight { flow, segment: Segment { rank, .. }, .. } = self.packets[packet];
                    let arriving = Arriving { size, rank, flow };
                    if idle { queues.pass(arriving) } else { queues.offer(arriving, handle) }.map(|()| idle)
                }
                Queue::Pifo(_) => return self.offer_to_pifo(number, packet, idle, now),
                Queue::Ranked(_) | Queue::Other(_) => return self.offer_packet(number, packet, idle, now),
            }
        };
        match passed {
            Ok(true) => {
                let handle = Handle { number: packet, size };
                begin::<M>(port, &mut self.events, number, handle, false, now, self.rounding);
            }
            Ok(false) => port.wait(size),
            Err(reason) => self.drop_packet(number, packet, size, reason),
        }
    }

    /// Offers a packet to a port that sorts handles by rank. Out of line, so that other ports need not save what this uses.
    #[inline(never)]
    fn offer_to_pifo(&mut self, number: u32, packet: u32, idle: bool, now: Time) {
        let port = &mut self.ports[number as usize];
        let Queue::Pifo(pifo) = &mut port.queue else { return };
        let InFlight { size, segment: Segment { rank, .. }, .. } = self.packets[packet];
        let handle = Handle { number: packet, size };
        match pifo.offer(rank, handle) {
            Enqueued::Admitted { .. } if idle => {
                pifo.pop();
                begin::<M>(port, &mut self.events, number, handle, false, now, self.rounding);
            }
            Enqueued::Admitted { .. } => port.wait(size),
            Enqueued::Evicted { victims, .. } => {
                port.waiting += 1;
                port.backlog += u64::from(size);
                for victim in victims {
                    self.ports[number as usize].leave(victim.size);
                    self.drop_packet(number, victim.number, victim.size, DropReason::PushedOut);
                }
            }
            Enqueued::Dropped { reason, .. } => self.drop_packet(number, packet, size, reason),
        }
    }

    /// Offers a packet to the scheduler of a port.
    #[inline(never)]
    fn offer_packet(&mut self, number: u32, packet: u32, idle: bool, now: Time) {
        let port = &mut self.ports[number as usize];
        let InFlight { segment, flow, size, .. } = self.packets[packet];
        let descriptor = Packet { id: u64::from(packet), flow, size, rank: segment.rank, arrival: now };
        let passes = port.waiting == 0 && idle && matches!(port.idle, IdlePort::Bypass | IdlePort::Ranked);
        if passes {
            if port.idle == IdlePort::Ranked {
                port.queue.rank_unqueued(&descriptor, now);
            }
            let (port, mut told) = self.port(number);
            told.passed((&descriptor).into(), port.queue.inspect(), now);
            let port = &mut self.ports[number as usize];
            let handle = Handle { number: packet, size };
            begin::<M>(port, &mut self.events, number, handle, false, now, self.rounding);
            return;
        }
        if port.wants_hints {
            self.hint(number, packet);
        }
        let (port, mut told) = self.port(number);
        if !idle && port.no_room_beside_serving(size) {
            return port.refuse(&descriptor, DropReason::Full, now, &mut told);
        }
        port.enqueue(descriptor, now, &mut told);
        if idle {
            let unqueued = port.idle == IdlePort::Admission && port.waiting == 1;
            self.begin_scheduled(number, true, unqueued, now, now);
        }
        let port = &mut self.ports[number as usize];
        port.most_waiting = port.most_waiting.max(port.waiting);
    }

    /// Whether the memory of a port's switch refuses a packet of `size` bytes.
    #[cold]
    fn memory_refuses(&mut self, number: u32, size: u32, now: Time) -> bool {
        let Some(pools) = self.pools.take() else { return false };
        let beside = pools.beside(number);
        let mut used = 0;
        for port in beside {
            // What left meanwhile is no longer there.
            if !M::STEPWISE {
                self.catch_up(*port, now);
            }
            used += self.ports[*port as usize].backlog;
        }
        let refused = !beside.is_empty() && pools.refuses(size, self.ports[number as usize].backlog, used);
        self.pools = Some(pools);
        refused
    }

    /// Drops a packet that found no room in the memory; the port's scheduler does not hear of it.
    #[cold]
    fn refuse(&mut self, number: u32, packet: u32, now: Time) {
        let InFlight { segment, flow, size, .. } = self.packets[packet];
        let descriptor = Packet { id: u64::from(packet), flow, size, rank: segment.rank, arrival: now };
        let (port, mut told) = self.port(number);
        port.drop_packet(&descriptor, Loss::refused(DropReason::Full, None), now, &mut told);
    }

    /// Books a drop where handles are stored, and forgets the packet.
    #[inline(never)]
    fn drop_packet(&mut self, number: u32, packet: u32, size: u32, reason: DropReason) {
        let (port, mut told) = self.port(number);
        port.lose(size, reason);
        told.forget(packet, reason as u64);
    }
}
