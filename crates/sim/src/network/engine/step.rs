//! A running network without its end points: the way of a packet from one host over ports and links to another.
//!
//! [`send`](Net::send) adds it, [`offer`](Net::offer) takes it to a port, where it passes, waits or is dropped,
//! [`begin`] puts it on the wire, and [`arrive`](Net::arrive) takes it from the wire to the next port or out of the
//! network.

use super::accounts::{Accounts, Told};
use super::cut::{Cut, Events};
use super::events::{Event, Packed};
use super::mode::Mode;
use super::packets::{InFlight, Packets, Trip};
use super::queue::{self, Port, Queue};
use crate::event_queue::EventQueue;
use crate::network::config::{Config, Ranks, Shared, Transports};
use crate::network::error::ConfigError;
use crate::network::failures::Failures;
use crate::network::forwarding::{Forwarding, Onward};
use crate::network::result::RunError;
use crate::network::route_table::Stop;
use crate::network::routing::{PortBits, Route, Routes};
use crate::network::shared_buffer::Pools;
use crate::network::trace_hashes::loss;
use crate::observer::{EndView, Loss, Observer};
use crate::port::{Handles, Listener, Order, Served, Wakeup};
use crate::replay::IdlePort;
use crate::trace_hash::code;
use pifolab_sched::{Arriving, DropReason, Enqueued, Handle, Hints, Labels, Packet};
use pifolab_transport::{Flags, Segment};
use pifolab_units::{Bytes, Rank, Rounding, Span, Time};
use pifolab_workload::flows::Flow;
use pifolab_workload::{Distribution, Stream};
use std::marker::PhantomData;
use std::sync::Arc;

/// Everything but the end points.
pub(super) struct Net<'a, O, M> {
    pub(super) events: Events,
    /// The part of the network that this is.
    pub(super) cut: Cut,
    pub(super) ports: Vec<Port>,
    pub(super) packets: Packets,
    pub(super) accounts: Accounts,
    pub(super) routes: Routes,
    pub(super) port_bits: PortBits,
    pub(super) hosts: u32,
    pub(super) header_bytes: u32,
    pub(super) rounding: Rounding,
    pub(super) segment_bytes: u32,
    /// Whether the transport reacts to marks.
    pub(super) ecn_capable: bool,
    pub(super) flows: &'a [Flow],
    /// The acknowledged bytes of each flow; kept only if a port reads hints.
    pub(super) acknowledged: Option<Vec<u64>>,
    // The observer; not called in a plain run.
    pub(super) observer: &'a mut O,
    pub(super) drawn_ranks: Option<(Arc<Distribution>, Stream)>,
    pub(super) failures: Option<Box<Failures>>,
    /// The computation of new routes stops once this returns true.
    pub(super) stop: Stop<'a>,
    /// Whether `stop` has returned true: no event happens after that.
    pub(super) stopped: bool,
    pub(super) pools: Option<Box<Pools>>,
    /// What forwards packets at switches, if not the routes.
    pub(super) forwarding: Option<Box<Forwarding>>,
    mode: PhantomData<M>,
}

impl<'a, O: Observer, M> Net<'a, O, M> {
    /// An empty network at time 0.
    pub(super) fn new(
        config: &Config,
        transports: &Transports,
        flows: &'a [Flow],
        routes: Routes,
        observer: &'a mut O,
        cut: Cut,
    ) -> Result<Self, ConfigError> {
        let hosts = config.topology.hosts;
        let mut shared = Shared::default();
        let mut forwarding = config.forwarders.as_ref().map(|make| Forwarding::new(make, &config.topology));
        let mut ports = Vec::with_capacity(config.topology.links.len());
        for (number, link) in config.topology.links.iter().enumerate() {
            if !cut.owns(link.from) {
                ports.push(queue::elsewhere(*link, hosts));
                continue;
            }
            let at_host = link.from < hosts;
            let kind = if at_host { &config.host_port } else { &config.switch_port };
            let forwarding = forwarding.as_mut().filter(|_| !at_host);
            let mut port = queue::port(
                kind,
                number as u32,
                *link,
                hosts,
                observer.watches(),
                config.wire_time,
                &mut shared,
                forwarding.map(|forwarding| &mut *forwarding.forwarder as _),
            )?;
            port.crosses = !cut.owns(link.to);
            ports.push(port);
        }
        let segment_bytes = transports.segment_bytes();
        let full = segment_bytes + config.header_bytes;
        let reach = |port: &Port| {
            Span::from_ps((port.serialisation(full, config.rounding) + port.delay).as_ps().saturating_add(1))
        };
        let reach = ports.iter().map(reach).max().unwrap_or(Span::from_us(1));
        let acknowledged = ports.iter().any(|port| port.wants_hints).then(|| vec![0; flows.len()]);
        let fixed = config.link_changes.is_empty() && forwarding.is_none();
        let port_bits = if fixed { PortBits::of(ports.len() as u32) } else { PortBits::NONE };
        Ok(Self {
            events: Events::new(EventQueue::new(reach, config.equal_times)),
            cut,
            ports,
            packets: Packets::default(),
            accounts: Accounts::new(),
            routes,
            port_bits,
            hosts,
            header_bytes: config.header_bytes,
            rounding: config.rounding,
            segment_bytes,
            ecn_capable: transports.is_ecn_capable(),
            flows,
            acknowledged,
            observer,
            drawn_ranks: match &config.ranks {
                Ranks::Transport => None,
                Ranks::Drawn { distribution, seed } => {
                    Some((distribution.clone(), Stream::named(*seed, "packet-ranks")))
                }
            },
            failures: Failures::new(&config.topology, &config.link_changes),
            stop: &|| false,
            stopped: false,
            pools: config.shared_buffer.map(|buffer| Pools::new(&config.topology, buffer)),
            forwarding,
            mode: PhantomData,
        })
    }

    /// The route that packets from `src` to `dst` of flow `id` carry.
    pub(super) fn route(&mut self, src: u32, dst: u32, id: u64) -> Route {
        self.routes.route(src, dst, id, self.port_bits, |port| self.ports[port as usize].to)
    }

    /// A port, the listener for its packets, and the event queue.
    #[inline(always)]
    pub(super) fn port(&mut self, number: u32) -> (&mut Port, Told<'_, O, M>, &mut Events) {
        let port = &mut self.ports[number as usize];
        let told = Told {
            number,
            at_host: port.at_host,
            observer: &mut *self.observer,
            packets: &mut self.packets,
            accounts: &mut self.accounts,
            mode: PhantomData,
        };
        (port, told, &mut self.events)
    }

    /// Checks the accounts if that is due. Returns whether another event may happen.
    #[cold]
    #[inline(never)]
    pub(super) fn goes_on(&mut self, stop: u64) -> Result<bool, RunError> {
        Ok(!self.stopped && self.accounts.look_up(stop, &self.ports, &self.packets)?)
    }

    /// Sets the timer of a port.
    #[cold]
    pub(super) fn wait_until(&mut self, number: u32, time: Time, now: Time) {
        if self.ports[number as usize].timer().is_some_and(|timer| timer.time == time) {
            return;
        }
        self.stop_timer(number);
        // A past time needs no event: `catch_up` handles it at once.
        let event = (time > now).then(|| self.events.schedule(time, Event::Release { port: number }.pack()));
        self.ports[number as usize].wait_until(time, event);
    }

    /// Stops the timer of a port, if it runs.
    #[inline]
    pub(super) fn stop_timer(&mut self, number: u32) {
        let port = &mut self.ports[number as usize];
        if port.held_back
            && let Some(Wakeup { event: Some(event), .. }) = port.stop_timer()
        {
            self.events.cancel(event);
        }
    }
}

impl<O: Observer, M: Mode> Net<'_, O, M> {
    /// Removes a lost packet; `place` is the place and the reason.
    pub(super) fn forget(&mut self, packet: u32, place: u64) {
        let InFlight { segment, flow, .. } = *self.packets.remove(packet);
        self.accounts.trace_hashes.note_loss(M::BY_PLACE, flow, segment.seq, place);
    }

    /// Adds an event to the trace.
    #[inline(always)]
    pub(super) fn note(&mut self, now: Time, event: Packed) {
        if !M::BY_PLACE {
            return self.accounts.note(now, event);
        }
        // Ports need timers or not, depending on when they are accessed; and every part has the failures of all links.
        if matches!(event.unpack(), Event::Release { .. } | Event::Links { .. }) {
            return;
        }
        self.accounts.count(now, event);
        let packet = event.arrival().map(|(_, packet)| &self.packets[packet]);
        let packet = packet.map(|InFlight { flow, segment, .. }| (*flow, segment));
        self.accounts.trace_hashes.note_event(now.as_ps(), event.place(), packet);
    }

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
        self.accounts.trace_hashes.note_packet(M::BY_PLACE, flow, &segment);
        if !M::PLAIN {
            let view = EndView { id: u64::from(number), flow, host: src, size, segment: &segment, frame: &[] };
            self.observer.on_create(view, now);
        }
        match next_port(&mut self.packets[number], src, self.port_bits, &mut self.routes, &self.ports) {
            Some(port) => self.offer(port, number, now),
            None => self.lose_unreachable(number),
        }
    }

    /// Handles a packet at the far end of a link: offers it to the next port, or returns true if it is at its host,
    /// where the caller removes it.
    #[inline(always)]
    pub(super) fn arrive(&mut self, port: u32, number: u32, now: Time) -> bool {
        let mut packet = &mut self.packets[number];
        let left = &self.ports[port as usize];
        let node = left.to;
        if !M::STEPWISE && left.is_behind(now) {
            self.catch_up(port, now);
            packet = &mut self.packets[number];
        }
        if !M::PLAIN && self.failures.is_some() {
            if self.lost_on_wire(port, number, now) {
                return false;
            }
            packet = &mut self.packets[number];
        }
        self.accounts.counters.hops += 1;
        if node < self.hosts {
            if !M::PLAIN && self.forwarding.is_some() && packet.dst != node {
                // A program sent it astray: the host has no use for it.
                self.lose_unreachable(number);
                return false;
            }
            assert!(packet.dst == node, "packet {number} reached host {node} instead of {}", packet.dst);
            self.accounts.counters.delivered += 1;
            if !M::PLAIN {
                let InFlight { segment, flow, size, .. } = packet;
                let view = EndView { id: u64::from(number), flow: *flow, host: node, size: *size, segment, frame: &[] };
                match &self.forwarding {
                    None => self.observer.on_deliver(view, now),
                    Some(forwarding) => forwarding.forwarder.with_frame(number.into(), &mut |frame| {
                        self.observer.on_deliver(EndView { frame, ..view }, now);
                    }),
                }
            }
            return true;
        }
        if !M::PLAIN && self.forwarding.is_some() {
            self.forward(port, number, now);
            return false;
        }
        match next_port(packet, node, self.port_bits, &mut self.routes, &self.ports) {
            Some(next) => self.offer(next, number, now),
            None => self.lose_unreachable(number),
        }
        false
    }

    /// Has the program of the switch at the end of the link `link` forward a packet.
    #[cold]
    #[inline(never)]
    fn forward(&mut self, link: u32, number: u32, now: Time) {
        if !M::STEPWISE {
            self.settle(self.ports[link as usize].to, now);
        }
        let (packet, labels) = (self.packets.descriptor(number, now), self.labels(&self.packets[number]));
        let forwarding = self.forwarding.as_mut().expect("the caller has one");
        match forwarding.forwarder.forward(&packet, &labels, link, now) {
            Some(Onward { port, size }) => {
                self.packets[number].size = size;
                self.offer(port, number, now);
            }
            None => self.lose_unreachable(number),
        }
    }

    /// Lets all ports of a switch decide what they should have sent by now, in the order of time: they share registers.
    #[cold]
    fn settle(&mut self, node: u32, now: Time) {
        let Some(forwarding) = self.forwarding.take() else { return };
        loop {
            let due = forwarding.ports_of[node as usize].iter().filter_map(|&port| Some((self.due(port, now)?, port)));
            let Some((start, port)) = due.min() else { break };
            self.stop_timer(port);
            self.begin_scheduled(port, false, false, start, now);
        }
        self.forwarding = Some(forwarding);
    }

    /// As of when a port should have decided what to send next, if it is behind.
    fn due(&self, number: u32, now: Time) -> Option<Time> {
        let port = &self.ports[number as usize];
        // A packet held back until a past time leaves at that time.
        let start = port.timer().map_or(port.busy_until, |timer| timer.time);
        (port.is_behind(now) && start <= now).then_some(start)
    }

    /// Whether the packet that should reach the far end of a port's link now was lost on the link.
    #[cold]
    fn lost_on_wire(&mut self, number: u32, packet: u32, now: Time) -> bool {
        let Some(failures) = &self.failures else { return false };
        let port = &mut self.ports[number as usize];
        let under_way = port.serialisation(self.packets[packet].size, self.rounding) + port.delay;
        if !failures.lost_on_wire(number, under_way, now) {
            return false;
        }
        port.lose_on_wire();
        self.accounts.counters.lost_on_wire += 1;
        self.forget(packet, u64::from(number) << 8 | loss::ON_WIRE);
        true
    }

    /// Loses a packet that has no path to its destination.
    #[cold]
    fn lose_unreachable(&mut self, packet: u32) {
        self.accounts.counters.unreachable += 1;
        self.forget(packet, loss::UNREACHABLE);
    }

    /// Prefetches the port and the packet of an event to come while this one is handled, since few of them are in the
    /// nearest cache. Other events than arrivals gain nothing.
    #[inline(always)]
    pub(super) fn prefetch_later(&self) {
        let (port, packet) = self.events.peek_ahead().numbers();
        prefetch_lines(self.port_address(port));
        prefetch(self.packets.address(packet).cast());
    }

    /// The address of a port, if there is one of this number.
    #[inline(always)]
    pub(super) fn port_address(&self, port: u32) -> *const i8 {
        self.ports.as_ptr().wrapping_add(port as usize).cast()
    }

    /// Offers a packet to a port.
    #[inline(always)]
    fn offer(&mut self, number: u32, packet: u32, now: Time) {
        let mut port = &mut self.ports[number as usize];
        if !M::STEPWISE && port.is_behind(now) {
            self.catch_up(number, now);
            port = &mut self.ports[number as usize];
        }
        let in_flight = &mut self.packets[packet];
        let size = in_flight.size;
        if port.arrive(size) {
            in_flight.segment.flags = in_flight.segment.flags.with(Flags::CE);
        }
        let idle = if M::STEPWISE { port.serving().is_none() } else { port.busy_until <= now };
        if !M::PLAIN && self.pools.is_some() {
            if self.memory_refuses(number, size, now) {
                return self.refuse(number, packet, now);
            }
            port = &mut self.ports[number as usize];
        }
        let handle = Handle { number: packet, size };
        if !(idle && size < port.passes_below) {
            let no_room = !idle && port.no_room_beside_serving(size);
            let passes = match &mut port.queue {
                Queue::Fifo(_) if no_room => Err(DropReason::Full),
                Queue::Fifo(fifo) => fifo.push(handle).map(|()| false).map_err(|_| DropReason::Full),
                Queue::Decided(queues) => {
                    let InFlight { flow, segment: Segment { rank, .. }, .. } = self.packets[packet];
                    let arriving = Arriving { size, rank, flow };
                    if idle { queues.pass(arriving) } else { queues.offer(arriving, handle).map(|_| ()) }.map(|()| idle)
                }
                Queue::Pifo(_) => return self.offer_sorted(number, packet, idle, now),
                Queue::Described(_) | Queue::Ranked(_) | Queue::Other(_) => {
                    return self.offer_packet(number, packet, idle, now);
                }
            };
            match passes {
                Ok(true) => {}
                Ok(false) => return port.admit(size),
                Err(reason) => return self.lose(number, handle, reason),
            }
        }
        begin::<M>(port, &mut self.events, number, handle, false, now, self.rounding);
    }

    /// Drops a packet. Out of line, since drops are rare.
    #[inline(never)]
    fn lose(&mut self, number: u32, handle: Handle, reason: DropReason) {
        let (port, mut told, _) = self.port(number);
        port.lose(handle.size, reason);
        told.forget(handle.number, code(reason));
    }

    /// Offers a packet to a port that sorts handles by rank. Out of line, so that the path of other ports saves fewer
    /// registers.
    #[inline(never)]
    fn offer_sorted(&mut self, number: u32, packet: u32, idle: bool, now: Time) {
        let rounding = self.rounding;
        let (port, mut told, events) = self.port(number);
        let InFlight { size, segment: Segment { rank, .. }, .. } = told.packets[packet];
        let handle = Handle { number: packet, size };
        if port.enqueue_sorted(rank, handle, idle, &mut told) {
            begin::<M>(port, events, number, handle, false, now, rounding);
        }
    }

    /// Offers a packet to the scheduler of a port that is watched, has a rank function or stores packets.
    #[inline(never)]
    fn offer_packet(&mut self, number: u32, packet: u32, idle: bool, now: Time) {
        let rounding = self.rounding;
        let descriptor = self.packets.descriptor(packet, now);
        let (port, mut told, events) = self.port(number);
        if port.waiting() == 0 && idle && matches!(port.idle, IdlePort::Bypass | IdlePort::Ranked) {
            if port.idle == IdlePort::Ranked {
                port.queue.rank_unqueued(&descriptor, now);
            }
            told.passed((&descriptor).into(), port.queue.inspect(), now);
            let handle = Handle { number: packet, size: descriptor.size };
            return begin::<M>(port, events, number, handle, false, now, rounding);
        }
        if port.wants_hints {
            self.hint(number, packet);
        }
        let (port, mut told, _) = self.port(number);
        if !idle && port.no_room_beside_serving(descriptor.size) {
            return port.refuse(&descriptor, DropReason::Full, now, &mut told);
        }
        if matches!(port.queue, Queue::Described(_)) {
            return self.offer_described(number, descriptor, idle, now);
        }
        port.enqueue(descriptor, now, &mut told);
        if idle {
            let unqueued = port.idle == IdlePort::Admission && port.waiting() == 1;
            self.begin_scheduled(number, true, unqueued, now, now);
        }
        self.ports[number as usize].note_waiting();
    }

    /// Offers a packet to a port with [`Queue::Described`]. At an idle port nothing waits, so that an admitted packet leaves at once.
    #[inline]
    fn offer_described(&mut self, number: u32, mut packet: Packet, idle: bool, now: Time) {
        let rounding = self.rounding;
        let (port, mut listener, events) = self.port(number);
        port.described().rank(&mut packet, now);
        let queue = match port.described().offer(&packet) {
            Enqueued::Admitted { queue, .. } => queue,
            Enqueued::Evicted { queue, victims, .. } => {
                for victim in victims {
                    let (victim, _) = listener.packets.kept(victim.number);
                    port.described().on_drop(&victim, now);
                    port.give_up(&victim, DropReason::PushedOut, now, &mut listener);
                }
                queue
            }
            Enqueued::Dropped { reason, .. } => {
                port.described().on_drop(&packet, now);
                return port.refuse(&packet, reason, now, &mut listener);
            }
        };
        listener.admitted((&packet).into(), queue, port.queue.inspect(), now);
        if !idle {
            listener.packets.keep(&packet, queue);
            return port.admit(packet.size);
        }
        let handle = port.queue.pop();
        // A packet that bypasses the queue does not depart from one.
        if port.idle != IdlePort::Admission {
            port.described().on_dequeue(&packet, now);
        }
        listener.sent((&packet).into(), queue, port.queue.inspect(), now);
        begin::<M>(port, events, number, handle, false, now, rounding);
    }

    /// Takes the next packet, and its queue, from a port with [`Queue::Described`].
    #[inline]
    pub(super) fn take_described(port: &mut Port, packets: &Packets, now: Time) -> (Packet, u32) {
        let (packet, queue) = packets.kept(port.pop().number);
        port.described().on_dequeue(&packet, now);
        (packet, queue)
    }

    /// Passes the hints about a packet to the rank function of the port.
    #[cold]
    fn hint(&mut self, number: u32, packet: u32) {
        let InFlight { segment, flow, mut route, dst, size, waited, .. } = self.packets[packet];
        let flow_size = self.flows[flow as usize].bytes;
        let (remaining, unacknowledged) = if segment.from_sender() {
            let acknowledged = self.acknowledged.as_ref().map_or(0, |bytes| bytes[flow as usize]);
            let before = u64::from(segment.seq) * u64::from(self.segment_bytes);
            (flow_size.saturating_sub(before), flow_size - acknowledged)
        } else {
            (0, 0)
        };
        let labels = self.labels(&self.packets[packet]);
        let mut on_wires = Span::ZERO;
        let mut next = number;
        loop {
            let port = &self.ports[next as usize];
            // The time of each link was checked, but not that of the whole path.
            on_wires = on_wires.saturating_add(port.serialisation(size, self.rounding) + port.delay);
            if port.to < self.hosts {
                break;
            }
            // After a failure there may be no path.
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
            labels,
            carried_label: self.packets.label(packet),
        };
        self.ports[number as usize].queue.hint(packet, &hints);
    }

    /// What a packet says about itself.
    fn labels(&self, packet: &InFlight) -> Labels {
        let Flow { src, dst, .. } = self.flows[packet.flow as usize];
        let source = if packet.segment.from_sender() { src } else { dst };
        Labels { source, destination: packet.dst, ecn: self.ecn_of(&packet.segment), ..Labels::default() }
    }

    /// The ECN codepoint of a segment: data of a transport that reacts to marks can carry them.
    const fn ecn_of(&self, segment: &Segment) -> u8 {
        const ECT_0: u8 = 2;
        const MARKED: u8 = 3;
        match segment.flags.has(Flags::CE) {
            true => MARKED,
            false if self.ecn_capable && segment.payload_bytes > 0 && !segment.flags.has(Flags::NOT_ECT) => ECT_0,
            false => 0,
        }
    }

    /// Whether the memory of a port's switch refuses a packet of `size` bytes.
    #[cold]
    fn memory_refuses(&mut self, number: u32, size: u32, now: Time) -> bool {
        let Some(pools) = self.pools.take() else { return false };
        let beside = pools.beside(number);
        let mut used = 0;
        for port in beside {
            // Departures up to now free memory.
            if !M::STEPWISE {
                self.catch_up(*port, now);
            }
            used += self.ports[*port as usize].backlog();
        }
        let refused = !beside.is_empty() && pools.refuses(size, self.ports[number as usize].backlog(), used);
        self.pools = Some(pools);
        refused
    }

    /// Drops a packet that found no room in the memory, without a call of the port's scheduler.
    #[cold]
    fn refuse(&mut self, number: u32, packet: u32, now: Time) {
        let descriptor = self.packets.descriptor(packet, now);
        let (port, mut told, _) = self.port(number);
        port.drop_packet(&descriptor, Loss::refused(DropReason::Full, None), now, &mut told);
    }

    /// Starts all transmissions that a port should have started since its last access (only without departure events).
    ///
    /// Every access to a port calls this first, and so does the arrival at the far end that follows every transmission.
    /// So no decision comes too late, and each is made for the time at which the wire became free.
    #[inline(always)]
    pub(super) fn catch_up(&mut self, number: u32, now: Time) {
        let port = &mut self.ports[number as usize];
        if !port.is_behind(now) {
            return;
        }
        if port.queue.stores_handles() {
            begin_waiting::<M>(port, &mut self.events, number, now, self.rounding);
        } else {
            self.catch_up_scheduled(number, now);
        }
    }

    /// As [`catch_up`](Self::catch_up), for ports that do not store plain handles.
    #[inline(never)]
    fn catch_up_scheduled(&mut self, number: u32, now: Time) {
        if !M::PLAIN
            && let Some(forwarding) = &self.forwarding
            && !self.ports[number as usize].at_host
        {
            return self.settle(forwarding.node_of[number as usize], now);
        }
        while let Some(start) = self.due(number, now) {
            self.stop_timer(number);
            self.begin_scheduled(number, false, false, start, now);
        }
    }

    /// Starts to send the next packet of an idle port at which one waits.
    #[inline(always)]
    fn begin_next(&mut self, number: u32, now: Time) {
        let port = &mut self.ports[number as usize];
        if port.queue.stores_handles() {
            let next = port.pop();
            begin::<M>(port, &mut self.events, number, next, true, now, self.rounding);
        } else {
            self.begin_scheduled(number, false, false, now, now);
        }
    }

    /// Takes the next packet from the scheduler of an idle port and starts to send it; sets the port's timer if the
    /// waiting packets may not leave yet. The decision is made for the time `start`, which may lie before `now`.
    /// `found_idle`: a packet has just arrived at the idle wire; `unqueued`: it bypasses the queue.
    pub(super) fn begin_scheduled(&mut self, number: u32, found_idle: bool, unqueued: bool, start: Time, now: Time) {
        let rounding = self.rounding;
        let (port, mut told, events) = self.port(number);
        if matches!(port.queue, Queue::Described(_)) {
            let (packet, queue) = Self::take_described(port, told.packets, start);
            told.sent((&packet).into(), queue, port.queue.inspect(), start);
            let handle = Handle { number: packet.id as u32, size: packet.size };
            if port.wants_hints {
                told.packets[handle.number].waited += start.since(packet.arrival);
            }
            return begin::<M>(port, events, number, handle, true, start, rounding);
        }
        match port.serve(unqueued, start, &mut told) {
            Served::Packet(packet, queue) => {
                told.sent((&packet).into(), queue, port.queue.inspect(), start);
                let wants_hints = port.wants_hints;
                self.stop_timer(number);
                if wants_hints {
                    self.packets[packet.id as u32].waited += start.since(packet.arrival);
                }
                let port = &mut self.ports[number as usize];
                let handle = Handle { number: packet.id as u32, size: packet.size };
                begin::<M>(port, &mut self.events, number, handle, !found_idle, start, self.rounding);
            }
            Served::NotBefore(time) => self.wait_until(number, time, now),
            Served::Nothing => {
                if port.waiting() > 0 {
                    // The scheduler lost a packet that it admitted, a fault that the check of the accounts reports.
                    self.stop_timer(number);
                    self.ports[number as usize].wait_until(Time::MAX, None);
                    self.accounts.check_soon();
                }
            }
        }
    }

    /// Ends a transmission and starts the next.
    #[inline(always)]
    pub(super) fn depart(&mut self, number: u32, now: Time) {
        let port = &mut self.ports[number as usize];
        let packet = port.take_serving().expect("a departure ends a transmission");
        self.events.push(now + port.delay, Event::Arrive { port: number, packet }.pack());
        if port.waiting() > 0 {
            self.begin_next(number, now);
        }
    }

    /// Handles the timer of a port: its scheduler may release a packet.
    pub(super) fn release(&mut self, number: u32, now: Time) {
        // An earlier event of this time may have stopped the timer.
        if M::BY_PLACE && self.ports[number as usize].timer().is_none_or(|timer| timer.time != now) {
            return;
        }
        self.ports[number as usize].stop_timer();
        self.begin_next(number, now);
    }
}

/// Puts a packet on the wire of port `number`.
#[inline(always)]
pub(super) fn begin<M: Mode>(
    port: &mut Port,
    events: &mut Events,
    number: u32,
    Handle { number: packet, size }: Handle,
    queued: bool,
    now: Time,
    rounding: Rounding,
) {
    port.transmit(size, queued, now, rounding);
    if M::STEPWISE {
        port.set_serving(packet);
        events.push(port.busy_until, Event::Depart { port: number }.pack());
        return;
    }
    let (arrival, event) = (port.busy_until.saturating_add(port.delay), Event::Arrive { port: number, packet }.pack());
    if M::BY_PLACE && port.crosses {
        events.crossing.push((arrival, event));
    } else {
        events.push(arrival, event);
    }
}

/// Starts every transmission that port `number`, which stores handles, should have started by `now`.
#[inline(always)]
fn begin_waiting<M: Mode>(port: &mut Port, events: &mut Events, number: u32, now: Time, rounding: Rounding) {
    loop {
        let next = port.pop();
        let start = port.busy_until;
        begin::<M>(port, events, number, next, true, start, rounding);
        // The first condition is usually true, so it can be predicted; whether more packets wait cannot.
        if port.busy_until > now || port.waiting() == 0 {
            return;
        }
    }
}

/// The port by which a packet leaves `node`; `None` if there is no path.
#[inline(always)]
fn next_port(packet: &mut InFlight, node: u32, bits: PortBits, routes: &mut Routes, ports: &[Port]) -> Option<u32> {
    let port = match packet.route.take(bits) {
        Ok(port) => port,
        Err(hash) => routes.next_port(node, packet.dst, hash)?,
    };
    if packet.route.is_picked() {
        routes.look_ahead(&mut packet.route, bits, ports[port as usize].to, packet.dst);
    }
    Some(port)
}

/// Prefetches two cache lines: for a port, the fields that every packet accesses.
#[inline(always)]
pub(super) fn prefetch_lines(address: *const i8) {
    prefetch(address);
    prefetch(address.wrapping_add(64));
}

/// Prefetches a cache line.
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
