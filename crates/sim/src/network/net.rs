//! Packets, ports and events: everything of a running network but its end points.

use super::config::{Config, ConfigError, EqualTimes, IdlePort, Ranks};
use super::failures::Failures;
use super::port::Port;
use super::queue::{Handle, Queue};
use super::result::{Counters, RunError};
use super::routing::{Route, Routes};
use super::shared_buffer::Pools;
use super::trace_hashes::{Ingredient, TraceHashes};
use crate::event_queue::{EventId, EventQueue, TieOrder};
use crate::observer::{EndView, Observer, PacketView, PortId, queue_of_loss};
use pifolab_sched::{Arriving, Dequeued, DropReason, Enqueued, Hints, Packet};
use pifolab_transport::{Flags, Segment};
use pifolab_units::{Bytes, Rank, Rounding, Span, Time};
use pifolab_workload::flows::Flow;
use pifolab_workload::{Distribution, Stream};
use std::sync::Arc;

/// The accounts of all ports are checked after this many events, and at the end.
const EVENTS_PER_CHECK: u64 = 1 << 20;
/// Events remembered for the report of a violation.
const REMEMBERED: usize = 32;

/// What happens.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The packet reaches the far end of the port's link.
    Arrive { port: u32, packet: u32 },
    /// The packet on the port's wire is completely sent (event-per-departure mode only).
    Depart { port: u32 },
    /// A scheduler that held its packets back may release one.
    Release { port: u32 },
    /// The next flows start.
    Start { flow: u32 },
    /// The sender's timer may have expired. `arm` names the setting in event-per-setting mode.
    SenderTimer { flow: u32, arm: u32 },
    /// The receiver's timer may have expired.
    ReceiverTimer { flow: u32, arm: u32 },
    /// Links fail or are repaired, from this change on.
    Links { change: u32 },
}

/// Numbers of ports, flows and packets stay below this, so that an event fits in one word.
pub(super) const NUMBERS: u32 = 1 << 30;

/// An event in one word, as the event queue holds it: three bits for its kind, twice thirty for its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed(u64);

impl Event {
    #[inline]
    pub(super) fn pack(self) -> Packed {
        let (kind, a, b) = match self {
            Self::Arrive { port, packet } => (0, port, packet),
            Self::Depart { port } => (1, port, 0),
            Self::Release { port } => (2, port, 0),
            Self::Start { flow } => (3, flow, 0),
            Self::SenderTimer { flow, arm } => (4, flow, arm % NUMBERS),
            Self::ReceiverTimer { flow, arm } => (5, flow, arm % NUMBERS),
            Self::Links { change } => (6, change, 0),
        };
        Packed(kind << 60 | u64::from(a) << 30 | u64::from(b))
    }
}

impl Packed {
    /// The port and the packet, if this is an arrival: the common case, without the others.
    #[inline(always)]
    pub(super) fn arrival(self) -> Option<(u32, u32)> {
        (self.0 >> 60 == 0).then_some(((self.0 >> 30) as u32, self.0 as u32 % NUMBERS))
    }

    /// Its two numbers, whatever they mean.
    #[inline(always)]
    pub(super) fn numbers(self) -> (u32, u32) {
        ((self.0 >> 30) as u32 % NUMBERS, self.0 as u32 % NUMBERS)
    }

    #[inline(always)]
    pub(super) fn unpack(self) -> Event {
        let (a, b) = self.numbers();
        match self.0 >> 60 {
            0 => Event::Arrive { port: a, packet: b },
            1 => Event::Depart { port: a },
            2 => Event::Release { port: a },
            3 => Event::Start { flow: a },
            4 => Event::SenderTimer { flow: a, arm: b },
            5 => Event::ReceiverTimer { flow: a, arm: b },
            _ => Event::Links { change: a },
        }
    }
}

/// A packet in the network. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct InFlight {
    pub(super) segment: Segment,
    pub(super) flow: u32,
    /// Where its connection is, if that still belongs to `flow`.
    pub(super) slot: u32,
    route: Route,
    pub(super) dst: u32,
    /// Bytes on the wire.
    pub(super) size: u32,
    /// How long it has waited in queues so far; gathered only at ports that want hints.
    waited: Span,
}

const _: () = assert!(size_of::<InFlight>() == 64);

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
    pub(super) next_check: u64,
    drawn_ranks: Option<(Arc<Distribution>, Stream)>,
    pub(super) failures: Option<Box<Failures>>,
    pub(super) pools: Option<Box<Pools>>,
    segment_bytes: u32,
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
            ports.push(Port::new(kind, number as u32, *link, hosts, observer.watches(), config.wire_time)?);
        }
        let full = segment_bytes + config.header_bytes;
        let reach = |port: &Port| {
            Span::from_ps((port.serialisation(full, config.rounding) + port.delay).as_ps().saturating_add(1))
        };
        let reach = ports.iter().map(reach).max().unwrap_or(Span::from_us(1));
        let (watched, followed) = (observer.watches(), observer.follows());
        let acknowledged = ports.iter().any(|port| port.wants_hints).then(|| vec![0; flows.len()]);
        let ties = match config.equal_times {
            EqualTimes::DeparturesFirst | EqualTimes::Insertion => TieOrder::Insertion,
            EqualTimes::NetbenchBatch => TieOrder::Batch,
        };
        let lazy = config.equal_times == EqualTimes::DeparturesFirst;
        // One more number than ports: 0 is no port.
        let port_bits =
            if config.link_changes.is_empty() { u32::BITS - (ports.len() as u32).leading_zeros() } else { 0 };
        Ok(Self {
            events: EventQueue::new(reach, ties),
            ports,
            port_bits,
            packets: Vec::new(),
            free_packets: Vec::new(),
            routes,
            observer,
            counters: Counters::default(),
            trace_hashes: TraceHashes::default(),
            recent: [(Time::ZERO, Packed(0)); REMEMBERED],
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
            drawn_ranks: match &config.ranks {
                Ranks::Transport => None,
                Ranks::Drawn { distribution, seed } => {
                    Some((distribution.clone(), Stream::named(*seed, "packet-ranks")))
                }
            },
            failures: Failures::new(&config.topology, &config.link_changes),
            pools: config.shared_buffer.map(|buffer| Pools::new(&config.topology, buffer)),
            segment_bytes,
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
        self.trace_hashes.fold(Ingredient::Events, now.as_ps() ^ event.0.rotate_left(9));
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
        self.note_packet(flow, &segment);
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
        if PLAIN || self.lazy {
            self.catch_up::<PLAIN>(port, now);
        }
        if !PLAIN && self.failures.is_some() && self.lost_on_wire(port, number, now) {
            return false;
        }
        self.counters.hops += 1;
        let node = self.ports[port as usize].to;
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
        prefetch(port);
        prefetch(port.wrapping_add(64));
        prefetch(port.wrapping_add(128));
        prefetch(self.packets.as_ptr().wrapping_add(packet as usize).cast());
    }

    /// Offers a packet to a port.
    #[inline(always)]
    fn offer<const PLAIN: bool>(&mut self, number: u32, packet: u32, now: Time) {
        if PLAIN || self.lazy {
            self.catch_up::<PLAIN>(number, now);
        }
        let port = &mut self.ports[number as usize];
        let in_flight = &mut self.packets[packet as usize];
        let size = in_flight.size;
        port.arrived_packets += 1;
        port.arrived_bytes += u64::from(size);
        let idle = if PLAIN || self.lazy { port.busy_until <= now } else { port.serving.is_none() };
        if port.backlog >= port.ecn_threshold || port.waiting >= port.ecn_threshold_packets {
            in_flight.segment.flags = in_flight.segment.flags.with(Flags::CE);
            port.marked_packets += 1;
        }
        if !PLAIN && self.pools.is_some() && self.memory_refuses(number, size, now) {
            return self.refuse(number, packet, now);
        }
        let port = &mut self.ports[number as usize];
        if idle && u64::from(size) < port.passes_below {
            return begin(port, &mut self.events, number, packet, size, false, now, self.rounding, PLAIN || self.lazy);
        }
        let squeezed_out = !idle && port.squeezed_out(size);
        match &mut port.queue {
            Queue::Fifo(_) if squeezed_out => self.drop_packet(number, packet, size, DropReason::Full),
            Queue::Fifo(fifo) => {
                let arriving = Arriving { size, rank: Rank::ZERO, flow: 0 };
                match fifo.offer(arriving, &Handle { number: packet, size }) {
                    Ok(_) => port.wait(size),
                    Err(reason) => self.drop_packet(number, packet, size, reason),
                }
            }
            Queue::Pifo(_) | Queue::Decided(_) => self.offer_handle::<PLAIN>(number, packet, idle, now),
            Queue::Ranked(_) | Queue::Other(_) => self.offer_packet::<PLAIN>(number, packet, idle, now),
        }
    }

    /// Offers a packet to a port that stores handles of its packets by rank. Out of line, so that drop-tail ports need not save
    /// what this uses.
    #[inline(never)]
    fn offer_handle<const PLAIN: bool>(&mut self, number: u32, packet: u32, idle: bool, now: Time) {
        let port = &mut self.ports[number as usize];
        let InFlight { size, flow, segment: Segment { rank, .. }, .. } = self.packets[packet as usize];
        let arriving = Arriving { size, rank, flow };
        let handle = Handle { number: packet, size };
        match &mut port.queue {
            Queue::Decided(queues) if idle => match queues.pass(arriving) {
                Ok(()) => {
                    begin(port, &mut self.events, number, packet, size, false, now, self.rounding, PLAIN || self.lazy)
                }
                Err(reason) => self.drop_packet(number, packet, size, reason),
            },
            Queue::Decided(queues) => match queues.offer(arriving, &handle) {
                Ok(_) => port.wait(size),
                Err(reason) => self.drop_packet(number, packet, size, reason),
            },
            Queue::Pifo(pifo) => match pifo.offer(rank, handle) {
                Enqueued::Admitted { .. } if idle => {
                    pifo.pop();
                    begin(port, &mut self.events, number, packet, size, false, now, self.rounding, PLAIN || self.lazy);
                }
                Enqueued::Admitted { .. } => port.wait(size),
                Enqueued::Evicted { victims, .. } => {
                    port.waiting += 1;
                    port.backlog += u64::from(size);
                    for victim in victims {
                        let port = &mut self.ports[number as usize];
                        port.waiting -= 1;
                        port.backlog -= u64::from(victim.size);
                        self.drop_packet(number, victim.number, victim.size, DropReason::PushedOut);
                    }
                }
                Enqueued::Dropped { reason, .. } => self.drop_packet(number, packet, size, reason),
            },
            Queue::Fifo(_) | Queue::Ranked(_) | Queue::Other(_) => {}
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
        let port = &mut self.ports[number as usize];
        let squeezed_out = !idle && port.squeezed_out(size);
        let outcome = if squeezed_out {
            Enqueued::Dropped { packet: descriptor, reason: DropReason::Full }
        } else {
            port.queue.enqueue(descriptor, now)
        };
        match outcome {
            Enqueued::Admitted { queue, rank } => {
                port.waiting += 1;
                port.backlog += u64::from(size);
                self.admitted::<PLAIN>(number, packet, queue, rank, now);
            }
            Enqueued::Evicted { queue, rank, victims } => {
                port.waiting += 1;
                port.backlog += u64::from(size);
                self.admitted::<PLAIN>(number, packet, queue, rank, now);
                for victim in victims {
                    let port = &mut self.ports[number as usize];
                    port.waiting -= 1;
                    port.backlog -= u64::from(victim.size);
                    self.give_up(number, &victim, DropReason::PushedOut, now);
                }
            }
            Enqueued::Dropped { packet, reason } => self.give_up(number, &packet, reason, now),
        }
        if idle {
            let port = &self.ports[number as usize];
            let unqueued = port.idle == IdlePort::Admission && port.waiting == 1;
            self.begin_scheduled::<PLAIN>(number, true, unqueued, now);
        }
        let port = &mut self.ports[number as usize];
        port.most_waiting = port.most_waiting.max(port.waiting);
    }

    #[inline]
    fn admitted<const PLAIN: bool>(&mut self, number: u32, packet: u32, queue: u32, rank: Rank, now: Time) {
        self.note_rank(number, packet, rank);
        if !PLAIN && self.watched {
            let InFlight { flow, size, .. } = self.packets[packet as usize];
            let view = PacketView { id: u64::from(packet), flow, size, rank, arrival: now };
            self.observer.on_admit(PortId(number), view, queue, self.ports[number as usize].queue.inspect(), now);
        }
    }

    /// Tells of a drop and books it.
    pub(super) fn give_up(&mut self, number: u32, packet: &Packet, reason: DropReason, now: Time) {
        if self.watched {
            let scheduler = self.ports[number as usize].queue.inspect();
            let queue = queue_of_loss(scheduler, packet, reason);
            self.observer.on_drop(PortId(number), packet.into(), reason, queue, scheduler, now);
        }
        self.drop_packet(number, packet.id as u32, packet.size, reason);
    }

    /// Books a drop and forgets the packet.
    #[inline(never)]
    pub(super) fn drop_packet(&mut self, number: u32, packet: u32, size: u32, reason: DropReason) {
        self.note_loss(packet, u64::from(number) << 8 | reason as u64);
        let port = &mut self.ports[number as usize];
        port.dropped_packets[reason as usize] += 1;
        port.dropped_bytes += u64::from(size);
        self.counters.dropped += 1;
        self.counters.dropped_at_source += u64::from(port.at_host);
        self.free_packets.push(packet);
    }

    /// Lets a port decide what it should have sent since somebody last looked (only without departure events).
    ///
    /// Whoever touches a port comes here first, and the end of every transmission is followed by an arrival at the far
    /// end, which comes here too: so no decision is late, and each is made as of the instant when the wire became free.
    #[inline(always)]
    pub(super) fn catch_up<const PLAIN: bool>(&mut self, number: u32, now: Time) {
        let port = &mut self.ports[number as usize];
        if port.waiting == 0 || port.busy_until > now {
            return;
        }
        if !port.queue.stores_handles() {
            return self.catch_up_scheduled::<PLAIN>(number, now);
        }
        while port.waiting > 0 && port.busy_until <= now {
            let start = port.busy_until;
            let Handle { number: packet, size } = port.take_next();
            begin(port, &mut self.events, number, packet, size, true, start, self.rounding, true);
        }
    }

    /// As [`catch_up`](Self::catch_up), where a scheduler decides.
    #[inline(never)]
    fn catch_up_scheduled<const PLAIN: bool>(&mut self, number: u32, now: Time) {
        loop {
            let port = &self.ports[number as usize];
            if port.waiting == 0 || port.busy_until > now || port.held_back {
                return;
            }
            self.begin_scheduled::<PLAIN>(number, false, false, port.busy_until);
        }
    }

    /// Starts to send the next packet of an idle port where one waits.
    fn begin_next(&mut self, number: u32, now: Time) {
        let port = &mut self.ports[number as usize];
        if port.queue.stores_handles() {
            let Handle { number: packet, size } = port.take_next();
            begin(port, &mut self.events, number, packet, size, true, now, self.rounding, self.lazy);
        } else {
            self.begin_scheduled::<false>(number, false, false, now);
        }
    }

    /// Takes the next packet from the scheduler of an idle port and starts to send it. `found_idle`: a packet
    /// arrived just now at the idle wire; `unqueued`: it goes past the queue.
    fn begin_scheduled<const PLAIN: bool>(&mut self, number: u32, found_idle: bool, unqueued: bool, now: Time) {
        loop {
            let port = &mut self.ports[number as usize];
            let outcome = port.queue.dequeue(unqueued, now);
            match outcome {
                Dequeued::Packet { packet, queue } => {
                    port.waiting -= 1;
                    port.backlog -= u64::from(packet.size);
                    if !PLAIN && self.watched {
                        self.observer.on_dequeue(PortId(number), (&packet).into(), queue, port.queue.inspect(), now);
                    }
                    if port.wants_hints {
                        self.packets[packet.id as usize].waited += now.since(packet.arrival);
                    }
                    begin(
                        port,
                        &mut self.events,
                        number,
                        packet.id as u32,
                        packet.size,
                        !found_idle,
                        now,
                        self.rounding,
                        PLAIN || self.lazy,
                    );
                    return;
                }
                Dequeued::Dropped { packet, reason } => {
                    port.waiting -= 1;
                    port.backlog -= u64::from(packet.size);
                    self.give_up(number, &packet, reason, now);
                }
                Dequeued::NotBefore(time) => {
                    port.held_back = true;
                    self.events.push(time, Event::Release { port: number }.pack());
                    return;
                }
                Dequeued::Empty => {
                    if port.waiting > 0 {
                        // It lost what it admitted: nothing more to get here, and the accounts will show it at once.
                        port.held_back = true;
                        self.next_check = 0;
                    }
                    return;
                }
            }
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

    /// A scheduler that held its packets back may release one, unless the port found other work meanwhile.
    pub(super) fn release(&mut self, number: u32, now: Time) {
        let port = &self.ports[number as usize];
        let idle = if self.lazy { port.busy_until <= now } else { port.serving.is_none() };
        if port.held_back && idle && port.waiting > 0 {
            self.begin_next(number, now);
        }
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
        };
        self.ports[number as usize].queue.hint(packet, &hints);
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
        events.push(port.busy_until + port.delay, Event::Arrive { port: number, packet }.pack());
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
