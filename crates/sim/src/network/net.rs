//! Packets, ports and events: everything of a running network but its end points.

use super::config::{Config, Ranks};
use super::error::ConfigError;
use super::event::{Event, Packed};
use super::failures::Failures;
use super::in_flight::InFlight;
use super::port::{self, Port, take_next};
use super::queue::Queue;
use super::result::{Counters, RunError};
use super::routing::{Route, Routes};
use super::shared_buffer::Pools;
use super::trace_hashes::{Ingredient, TraceHashes, loss};
use crate::equal_times::EqualTimes;
use crate::event_queue::{EventId, EventQueue};
use crate::observer::{EndView, Loss, Observer, PacketView, PortId};
use crate::port::{IdlePort, Listener, Order, Served, Wakeup};
use pifolab_sched::{Arriving, DropReason, Enqueued, Handle, Hints, Inspect, Labels, Packet};
use pifolab_transport::{Flags, Segment};
use pifolab_units::{Bytes, Rank, Rounding, Span, Time};
use pifolab_workload::flows::Flow;
use pifolab_workload::{Distribution, Stream};
use std::sync::Arc;

/// The accounts of all ports are checked after this many events, and at the end.
const EVENTS_PER_CHECK: u64 = 1 << 20;
/// Events remembered for the report of a violation.
const REMEMBERED: usize = 32;

/// What all packets of a connection in one direction have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trip {
    pub(super) flow: u32,
    pub(super) slot: u32,
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) route: Route,
}

/// What the event queue holds for one timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    /// The event that will look at the timer, and when.
    pub(super) pending: Option<(Time, EventId)>,
    /// Settings that have events, in event-per-setting mode.
    pub(super) arms: u32,
}

pub(super) const IDLE_TIMER: Timer = Timer { pending: None, arms: 0 };

/// Everything but the end points.
pub(super) struct Net<'a, O> {
    pub(super) events: EventQueue<Packed>,
    pub(super) ports: Vec<Port>,
    pub(super) packets: Vec<InFlight>,
    pub(super) free_packets: Vec<u32>,
    pub(super) routes: Routes,
    /// As in [`Routes::route`].
    port_bits: u32,
    pub(super) observer: &'a mut O,
    pub(super) counters: Counters,
    pub(super) trace_hashes: TraceHashes,
    recent: [(Time, Packed); REMEMBERED],
    hosts: u32,
    header_bytes: u32,
    pub(super) rounding: Rounding,
    /// Departures have no events of their own, timers one each.
    pub(super) lazy: bool,
    pub(super) watched: bool,
    followed: bool,
    /// Nothing of what a run may have besides its packets is there: see [`is_plain`](Self::is_plain).
    plain: bool,
    /// The accounts are checked when this many events have happened.
    next_check: u64,
    /// The event loop looks up when this many have happened: to check the accounts, or since it shall stop.
    pub(super) look_up: u64,
    drawn_ranks: Option<(Arc<Distribution>, Stream)>,
    pub(super) failures: Option<Box<Failures>>,
    pub(super) pools: Option<Box<Pools>>,
    segment_bytes: u32,
    /// The transport answers to marks.
    ecn_capable: bool,
    flows: &'a [Flow],
    /// Bytes of each flow that are acknowledged; kept only where a port wants hints.
    pub(super) acknowledged: Option<Vec<u64>>,
}

impl<'a, O: Observer> Net<'a, O> {
    /// An empty network at time 0.
    pub(super) fn new(
        config: &Config,
        segment_bytes: u32,
        flows: &'a [Flow],
        routes: Routes,
        observer: &'a mut O,
    ) -> Result<Self, ConfigError> {
        let hosts = config.topology.hosts;
        let mut ports = Vec::with_capacity(config.topology.links.len());
        for (number, link) in config.topology.links.iter().enumerate() {
            let kind = if link.from < hosts { &config.host_port } else { &config.switch_port };
            ports.push(port::port(kind, number as u32, *link, hosts, observer.watches(), config.wire_time)?);
        }
        let full = segment_bytes + config.header_bytes;
        let reach = |port: &Port| {
            Span::from_ps((port.serialisation(full, config.rounding) + port.delay).as_ps().saturating_add(1))
        };
        let reach = ports.iter().map(reach).max().unwrap_or(Span::from_us(1));
        let (watched, followed) = (observer.watches(), observer.follows());
        let acknowledged = ports.iter().any(|port| port.wants_hints).then(|| vec![0; flows.len()]);
        let lazy = config.equal_times == EqualTimes::DeparturesFirst;
        // One more number than ports: 0 is not a port.
        let port_bits =
            if config.link_changes.is_empty() { u32::BITS - (ports.len() as u32).leading_zeros() } else { 0 };
        Ok(Self {
            events: EventQueue::new(reach, config.equal_times),
            ports,
            port_bits,
            packets: Vec::new(),
            free_packets: Vec::new(),
            routes,
            observer,
            counters: Counters::default(),
            trace_hashes: TraceHashes::default(),
            recent: [(Time::ZERO, Event::Start { flow: 0 }.pack()); REMEMBERED],
            hosts,
            header_bytes: config.header_bytes,
            rounding: config.rounding,
            lazy,
            watched,
            followed,
            plain: lazy
                && !watched
                && !followed
                && config.link_changes.is_empty()
                && config.shared_buffer.is_none()
                && matches!(config.ranks, Ranks::Transport),
            next_check: 0,
            look_up: 0,
            drawn_ranks: match &config.ranks {
                Ranks::Transport => None,
                Ranks::Drawn { distribution, seed } => {
                    Some((distribution.clone(), Stream::named(*seed, "packet-ranks")))
                }
            },
            failures: Failures::new(&config.topology, &config.link_changes),
            pools: config.shared_buffer.map(|buffer| Pools::new(&config.topology, buffer)),
            segment_bytes,
            ecn_capable: config.transport.is_ecn_capable(),
            flows,
            acknowledged,
        })
    }

    /// Whether departures have no events and there is nobody who watches or follows, no link that fails, no shared memory
    /// and no rank drawn: most runs. The functions below that every packet comes by do not ask for these one by one if
    /// `PLAIN` says so.
    pub(super) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Enters an event into the trace.
    #[inline(always)]
    pub(super) fn note(&mut self, now: Time, event: Packed) {
        self.recent[self.counters.events as usize % REMEMBERED] = (now, event);
        self.counters.events += 1;
        self.trace_hashes.fold(Ingredient::Events, now.as_ps() ^ event.word().rotate_left(9));
    }

    /// Keeps the event queue informed about a timer: one event that is moved lazily, or one for every setting.
    #[inline]
    pub(super) fn watch<const PLAIN: bool>(
        &mut self,
        timer: &mut Timer,
        deadline: Option<Time>,
        arms: u32,
        event: impl Fn(u32) -> Event,
        now: Time,
    ) {
        if PLAIN || self.lazy {
            let Some(deadline) = deadline else { return };
            match timer.pending {
                // It will look at the deadline again when it happens.
                Some((time, _)) if time <= deadline => return,
                Some((_, later)) => {
                    self.events.cancel(later);
                }
                None => {}
            }
            timer.pending = Some((deadline, self.events.schedule(deadline.max(now), event(0).pack())));
        } else if let Some(deadline) = deadline {
            while timer.arms != arms {
                timer.arms = timer.arms.wrapping_add(1);
                self.events.schedule(deadline, event(timer.arms).pack());
            }
        } else {
            timer.arms = arms;
        }
    }

    /// Puts a segment of an end point at host `src` on its way.
    pub(super) fn send<const PLAIN: bool>(&mut self, mut segment: Segment, trip: Trip, now: Time) {
        if !PLAIN && let Some((distribution, stream)) = &mut self.drawn_ranks {
            segment.rank = Rank::saturating(distribution.draw(stream));
        }
        let size = u32::from(segment.payload_bytes) + self.header_bytes;
        let Trip { flow, slot, src, dst, route } = trip;
        let packet = InFlight { segment, flow, slot, route, dst, size, waited: Span::ZERO };
        let number = match self.free_packets.pop() {
            Some(number) => {
                self.packets[number as usize] = packet;
                number
            }
            None => {
                self.packets.push(packet);
                self.packets.len() as u32 - 1
            }
        };
        self.counters.created += 1;
        self.trace_hashes.note_packet(flow, &segment);
        if !PLAIN && self.followed {
            let view = EndView { id: u64::from(number), flow, host: src, size, segment: &segment };
            self.observer.on_create(view, now);
        }
        match self.next_port(src, number) {
            Some(port) => self.offer::<PLAIN>(port, number, now),
            None => self.lose_unreachable(number),
        }
    }

    /// A packet reached the far end of a link: on to the next port, or (true) out to the end point.
    #[inline(always)]
    pub(super) fn arrive<const PLAIN: bool>(&mut self, port: u32, number: u32, now: Time) -> bool {
        let node = if PLAIN || self.lazy { self.catch_up::<PLAIN>(port, now).to } else { self.ports[port as usize].to };
        if !PLAIN && self.failures.is_some() && self.lost_on_wire(port, number, now) {
            return false;
        }
        self.counters.hops += 1;
        let packet = &self.packets[number as usize];
        if node < self.hosts {
            assert!(packet.dst == node, "packet {number} reached host {node} instead of {}", packet.dst);
            self.counters.delivered += 1;
            if !PLAIN && self.followed {
                let InFlight { segment, flow, size, .. } = packet;
                let view = EndView { id: u64::from(number), flow: *flow, host: node, size: *size, segment };
                self.observer.on_deliver(view, now);
            }
            self.free_packets.push(number);
            return true;
        }
        match self.next_port(node, number) {
            Some(next) => self.offer::<PLAIN>(next, number, now),
            None => self.lose_unreachable(number),
        }
        false
    }

    /// What packets from `src` to `dst` of flow `id` carry along to find their way.
    pub(super) fn route(&mut self, src: u32, dst: u32, id: u64) -> Route {
        self.routes.route(src, dst, id, self.port_bits, |port| self.ports[port as usize].to)
    }

    /// The port by which a packet leaves `node`; `None` if there is no way.
    #[inline(always)]
    fn next_port(&mut self, node: u32, packet: u32) -> Option<u32> {
        let InFlight { route, dst, .. } = &mut self.packets[packet as usize];
        match route.take(self.port_bits) {
            Ok(port) => Some(port),
            Err(hash) => self.routes.next_port(node, *dst, hash),
        }
    }

    /// Asks for the port and the packet of the next event while this one is handled, and reads neither, so that nothing waits
    /// for them: few of them are in the nearest cache. What is no arrival names other things, and then this is in vain.
    #[inline(always)]
    pub(super) fn prefetch_next(&self) {
        let Some(next) = self.events.peek() else { return };
        let (port, packet) = next.numbers();
        let port = self.ports.as_ptr().wrapping_add(port as usize).cast::<i8>();
        // Its account, not its queue: many packets pass it by, and asking for two or three lines more cost 1 to 4 % of a run.
        for line in 0..2 {
            prefetch(port.wrapping_add(64 * line));
        }
        prefetch(self.packets.as_ptr().wrapping_add(packet as usize).cast());
    }

    /// Offers a packet to a port.
    #[inline(always)]
    fn offer<const PLAIN: bool>(&mut self, number: u32, packet: u32, now: Time) {
        if PLAIN || self.lazy {
            self.catch_up::<PLAIN>(number, now);
        }
        let mut port = &mut self.ports[number as usize];
        let in_flight = &mut self.packets[packet as usize];
        let size = in_flight.size;
        port.arrive(size);
        let idle = if PLAIN || self.lazy { port.busy_until <= now } else { port.serving.is_none() };
        if port.marks() {
            in_flight.segment.flags = in_flight.segment.flags.with(Flags::CE);
            port.losses.marked_packets += 1;
        }
        if !PLAIN && self.pools.is_some() {
            if self.memory_refuses(number, size, now) {
                return self.refuse(number, packet, now);
            }
            port = &mut self.ports[number as usize];
        }
        let passed = if idle && u64::from(size) < port.passes_below {
            Ok(idle)
        } else {
            let no_room = !idle && port.no_room_beside_serving(size);
            let handle = Handle { number: packet, size };
            match &mut port.queue {
                Queue::Fifo(_) if no_room => Err(DropReason::Full),
                Queue::Fifo(fifo) => fifo.offer(Arriving { size, rank: Rank::ZERO, flow: 0 }, &handle).map(|_| false),
                Queue::Decided(queues) => {
                    let InFlight { flow, segment: Segment { rank, .. }, .. } = self.packets[packet as usize];
                    let arriving = Arriving { size, rank, flow };
                    if idle { queues.pass(arriving) } else { queues.offer(arriving, handle) }.map(|()| idle)
                }
                Queue::Pifo(_) => return self.offer_to_pifo::<PLAIN>(number, packet, idle, now),
                Queue::Ranked(_) | Queue::Other(_) => return self.offer_packet::<PLAIN>(number, packet, idle, now),
            }
        };
        match passed {
            Ok(true) => {
                begin(port, &mut self.events, number, packet, size, false, now, self.rounding, PLAIN || self.lazy)
            }
            Ok(false) => port.wait(size),
            Err(reason) => self.drop_packet(number, packet, size, reason),
        }
    }

    /// Offers a packet to a port that sorts handles by rank. Out of line, so that other ports need not save what this uses.
    #[inline(never)]
    fn offer_to_pifo<const PLAIN: bool>(&mut self, number: u32, packet: u32, idle: bool, now: Time) {
        let port = &mut self.ports[number as usize];
        let Queue::Pifo(pifo) = &mut port.queue else { return };
        let InFlight { size, segment: Segment { rank, .. }, .. } = self.packets[packet as usize];
        match pifo.offer(rank, Handle { number: packet, size }) {
            Enqueued::Admitted { .. } if idle => {
                pifo.pop();
                begin(port, &mut self.events, number, packet, size, false, now, self.rounding, PLAIN || self.lazy);
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
    fn offer_packet<const PLAIN: bool>(&mut self, number: u32, packet: u32, idle: bool, now: Time) {
        let port = &mut self.ports[number as usize];
        let InFlight { segment, flow, size, .. } = self.packets[packet as usize];
        let descriptor = Packet { id: u64::from(packet), flow, size, rank: segment.rank, arrival: now };
        let passes = port.waiting == 0 && idle && matches!(port.idle, IdlePort::Bypass | IdlePort::Ranked);
        if passes {
            if port.idle == IdlePort::Ranked {
                port.queue.rank_unqueued(&descriptor, now);
            }
            if !PLAIN && self.watched {
                let view = PacketView::from(&descriptor);
                self.observer.on_admit(PortId(number), view, 0, port.queue.inspect(), now);
                self.observer.on_dequeue(PortId(number), view, 0, port.queue.inspect(), now);
            }
            let port = &mut self.ports[number as usize];
            begin(port, &mut self.events, number, packet, size, false, now, self.rounding, PLAIN || self.lazy);
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
            self.begin_scheduled::<PLAIN>(number, true, unqueued, now, now);
        }
        let port = &mut self.ports[number as usize];
        port.most_waiting = port.most_waiting.max(port.waiting);
    }

    /// A port, and who is told what becomes of its packets.
    #[inline(always)]
    pub(super) fn port(&mut self, number: u32) -> (&mut Port, Told<'_, O>) {
        let port = &mut self.ports[number as usize];
        let told = Told {
            number,
            at_host: port.at_host,
            watched: self.watched,
            observer: &mut *self.observer,
            packets: &mut self.packets,
            free_packets: &mut self.free_packets,
            trace_hashes: &mut self.trace_hashes,
            counters: &mut self.counters,
        };
        (port, told)
    }

    /// Whether the memory of a port's switch refuses a packet of `size` bytes.
    #[cold]
    fn memory_refuses(&mut self, number: u32, size: u32, now: Time) -> bool {
        let Some(pools) = self.pools.take() else { return false };
        let beside = pools.beside(number);
        let mut used = 0;
        for port in beside {
            // What left meanwhile is no longer there.
            if self.lazy {
                self.catch_up::<false>(*port, now);
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
        let InFlight { segment, flow, size, .. } = self.packets[packet as usize];
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

    /// Whether the packet that should reach the far end of a port's link now was lost there.
    #[cold]
    fn lost_on_wire(&mut self, number: u32, packet: u32, now: Time) -> bool {
        let Some(failures) = &self.failures else { return false };
        let port = &mut self.ports[number as usize];
        let under_way = port.serialisation(self.packets[packet as usize].size, self.rounding) + port.delay;
        if !failures.lost_on_wire(number, under_way, now) {
            return false;
        }
        port.losses.lost_on_wire_packets += 1;
        self.counters.lost_on_wire += 1;
        self.forget(packet, u64::from(number) << 8 | loss::ON_WIRE);
        true
    }

    /// No way leads to where a packet wants to go.
    #[cold]
    fn lose_unreachable(&mut self, packet: u32) {
        self.counters.unreachable += 1;
        self.forget(packet, loss::UNREACHABLE);
    }

    /// Forgets a packet that is lost, as `place` says.
    fn forget(&mut self, packet: u32, place: u64) {
        let InFlight { segment, flow, .. } = &self.packets[packet as usize];
        self.trace_hashes.note_loss(*flow, segment.seq, place);
        self.free_packets.push(packet);
    }

    /// Lets a port decide what it should have sent since somebody last looked (only without departure events).
    ///
    /// Whoever touches a port comes here first, and the end of every transmission is followed by an arrival at the far
    /// end, which comes here too: so no decision is late, and each is made as of the instant when the wire became free.
    #[inline(always)]
    pub(super) fn catch_up<const PLAIN: bool>(&mut self, number: u32, now: Time) -> &mut Port {
        if self.ports[number as usize].is_behind(now) && !self.ports[number as usize].queue.stores_handles() {
            self.catch_up_scheduled::<PLAIN>(number, now);
            return &mut self.ports[number as usize];
        }
        let port = &mut self.ports[number as usize];
        while port.is_behind(now) {
            let start = port.busy_until;
            let Handle { number: packet, size } = take_next(port);
            begin(port, &mut self.events, number, packet, size, true, start, self.rounding, true);
        }
        port
    }

    /// As [`catch_up`](Self::catch_up), where a scheduler decides.
    #[inline(never)]
    fn catch_up_scheduled<const PLAIN: bool>(&mut self, number: u32, now: Time) {
        loop {
            let port = &self.ports[number as usize];
            if !port.is_behind(now) {
                return;
            }
            let start = match port.timer() {
                Some(timer) if timer.time > now => return,
                // What it held back until an instant that has passed leaves as of that instant.
                Some(timer) => {
                    self.stop_timer(number);
                    timer.time
                }
                None => port.busy_until,
            };
            self.begin_scheduled::<PLAIN>(number, false, false, start, now);
        }
    }

    /// Starts to send the next packet of an idle port where one waits.
    fn begin_next(&mut self, number: u32, now: Time) {
        let port = &mut self.ports[number as usize];
        if port.queue.stores_handles() {
            let Handle { number: packet, size } = take_next(port);
            begin(port, &mut self.events, number, packet, size, true, now, self.rounding, self.lazy);
        } else {
            self.begin_scheduled::<false>(number, false, false, now, now);
        }
    }

    /// Takes the next packet from the scheduler of an idle port and starts to send it; sets the port's timer if packets wait that
    /// may not leave yet. It is decided as of `start`, which may lie before `now`. `found_idle`: a packet arrived just now at the
    /// idle wire; `unqueued`: it goes past the queue.
    fn begin_scheduled<const PLAIN: bool>(
        &mut self,
        number: u32,
        found_idle: bool,
        unqueued: bool,
        start: Time,
        now: Time,
    ) {
        let (port, mut told) = self.port(number);
        match port.serve(unqueued, start, &mut told) {
            Served::Packet(packet, queue) => {
                if !PLAIN && told.watched {
                    told.observer.on_dequeue(PortId(number), (&packet).into(), queue, port.queue.inspect(), start);
                }
                let wants_hints = port.wants_hints;
                self.stop_timer(number);
                if wants_hints {
                    self.packets[packet.id as usize].waited += start.since(packet.arrival);
                }
                let port = &mut self.ports[number as usize];
                begin(
                    port,
                    &mut self.events,
                    number,
                    packet.id as u32,
                    packet.size,
                    !found_idle,
                    start,
                    self.rounding,
                    PLAIN || self.lazy,
                );
            }
            Served::NotBefore(time) => self.wait_until(number, time, now),
            Served::Nothing => {
                if port.waiting > 0 {
                    // It lost what it admitted: nothing more to get here, and the accounts will show it at once.
                    self.stop_timer(number);
                    self.ports[number as usize].wait_until(Time::MAX, None);
                    self.check_soon();
                }
            }
        }
    }

    /// Sets the timer of a port, which has one.
    #[cold]
    fn wait_until(&mut self, number: u32, time: Time, now: Time) {
        if self.ports[number as usize].timer().is_some_and(|timer| timer.time == time) {
            return;
        }
        self.stop_timer(number);
        // An instant that has passed is seen at once, by who catches up.
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

    /// The packet on the wire is completely sent; the next one follows.
    pub(super) fn depart(&mut self, number: u32, now: Time) {
        let port = &mut self.ports[number as usize];
        let packet = port.serving.take().expect("a departure ends a transmission");
        self.events.push(now + port.delay, Event::Arrive { port: number, packet }.pack());
        if port.waiting > 0 {
            self.begin_next(number, now);
        }
    }

    /// The timer of a port expires: its scheduler may release a packet.
    pub(super) fn release(&mut self, number: u32, now: Time) {
        self.ports[number as usize].stop_timer();
        self.begin_next(number, now);
    }

    /// Gathers what a rank function at the port wants to know about a packet.
    #[cold]
    fn hint(&mut self, number: u32, packet: u32) {
        let InFlight { segment, flow, mut route, dst, size, waited, .. } = self.packets[packet as usize];
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

    /// Looks up from the event loop, which shall stop after `stop` events: checks the accounts if that is due, and says whether
    /// the loop goes on.
    #[cold]
    #[inline(never)]
    pub(super) fn look_up(&mut self, stop: u64) -> Result<bool, RunError> {
        if self.counters.events >= self.next_check {
            self.check()?;
        }
        self.look_up = self.next_check.min(stop);
        Ok(self.counters.events < stop)
    }

    /// Has the accounts checked after the present event.
    pub(super) fn check_soon(&mut self) {
        (self.next_check, self.look_up) = (0, 0);
    }

    /// Balances all accounts.
    pub(super) fn check(&mut self) -> Result<(), RunError> {
        self.next_check = self.counters.events + EVENTS_PER_CHECK;
        let in_flight = (self.packets.len() - self.free_packets.len()) as u64;
        self.counters.most_in_flight = self.packets.len() as u64;
        let Counters { created, delivered, dropped, lost_on_wire, unreachable, .. } = self.counters;
        let account = match self.ports.iter().find_map(Port::imbalance) {
            Some(account) => account,
            None if created != delivered + dropped + lost_on_wire + unreachable + in_flight => format!(
                "the network: {created} packets created, but {delivered} delivered, {dropped} dropped, \
                 {lost_on_wire} lost on wires, {unreachable} without a way, {in_flight} under way"
            ),
            None => return Ok(()),
        };
        let events = (0..REMEMBERED as u64)
            .map(|back| (self.counters.events + back) as usize % REMEMBERED)
            .skip(REMEMBERED.saturating_sub(self.counters.events as usize))
            .map(|slot| format!("{}: {:?}", self.recent[slot].0, self.recent[slot].1.unpack()))
            .collect();
        Err(RunError::NotConserved { account, events })
    }
}

/// Who is told what a scheduler did with the packets of one port: the observer, the accounts of the network and its trace.
pub(super) struct Told<'n, O> {
    number: u32,
    at_host: bool,
    pub(super) watched: bool,
    pub(super) observer: &'n mut O,
    packets: &'n mut [InFlight],
    free_packets: &'n mut Vec<u32>,
    trace_hashes: &'n mut TraceHashes,
    counters: &'n mut Counters,
}

impl<O> Told<'_, O> {
    /// Forgets a packet that was dropped, for this reason or as [`loss`] has it.
    pub(super) fn forget(&mut self, packet: u32, reason: u64) {
        let InFlight { segment, flow, .. } = &self.packets[packet as usize];
        self.trace_hashes.note_loss(*flow, segment.seq, u64::from(self.number) << 8 | reason);
        self.counters.dropped += 1;
        self.counters.dropped_at_source += u64::from(self.at_host);
        self.free_packets.push(packet);
    }
}

impl<O: Observer> Listener for Told<'_, O> {
    #[inline]
    fn admitted(&mut self, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        let number = packet.id as u32;
        self.trace_hashes.note_rank(self.number, number, self.packets[number as usize].segment.rank, packet.rank);
        if self.watched {
            self.observer.on_admit(PortId(self.number), packet, queue, scheduler, now);
        }
    }

    fn marked(&mut self, id: u64) {
        let flags = &mut self.packets[id as usize].segment.flags;
        *flags = flags.with(Flags::CE);
    }

    #[inline]
    fn dropped(&mut self, packet: &Packet, loss: Loss, scheduler: &dyn Inspect, now: Time) {
        if self.watched {
            self.observer.on_drop(PortId(self.number), packet.into(), loss, scheduler, now);
        }
        self.forget(packet.id as u32, loss.reason as u64);
    }
}

/// Puts a packet on the wire of a port.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "parts of one whole, of which others are borrowed at the same time")]
fn begin(
    port: &mut Port,
    events: &mut EventQueue<Packed>,
    number: u32,
    packet: u32,
    size: u32,
    queued: bool,
    now: Time,
    rounding: Rounding,
    lazy: bool,
) {
    port.transmit(size, queued, now, rounding);
    if lazy {
        events.push(port.busy_until.saturating_add(port.delay), Event::Arrive { port: number, packet }.pack());
    } else {
        port.serving = Some(packet);
        events.push(port.busy_until, Event::Depart { port: number }.pack());
    }
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
