//! The engine: flows, packets, ports and the event loop.

use super::config::{Config, ConfigError, EqualTimes, Ranks};
use super::port::{Port, Queue};
use super::result::{Counters, FlowResult, RunError, RunResult};
use super::routing::Routes;
use crate::event_queue::{EventId, EventQueue, TieOrder};
use crate::observer::{Observer, PacketView, PortId};
use pifolab_sched::{Dequeued, DropReason, Enqueued, Hints, Packet};
use pifolab_transport::{Congestion, Flags, Progress, Receiver, SackLog, Segment, Sender, ValidParams};
use pifolab_units::{Bytes, Rank, Rounding, Span, Time};
use pifolab_workload::flows::Flow;
use pifolab_workload::{Distribution, Stream};
use std::fmt::Write;
use std::sync::Arc;

const NONE: u32 = u32::MAX;
/// The accounts of all ports are checked after this many events, and at the end.
const EVENTS_PER_CHECK: u64 = 1 << 20;
/// Events remembered for the report of a violation.
const REMEMBERED: usize = 32;

/// What happens.
#[derive(Clone, Copy, Debug)]
enum Event {
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
}

impl Event {
    fn code(self) -> u64 {
        let (kind, a, b) = match self {
            Self::Arrive { port, packet } => (1, port, packet),
            Self::Depart { port } => (2, port, 0),
            Self::Release { port } => (3, port, 0),
            Self::Start { flow } => (4, flow, 0),
            Self::SenderTimer { flow, arm } => (5, flow, arm),
            Self::ReceiverTimer { flow, arm } => (6, flow, arm),
        };
        kind << 56 ^ u64::from(a) << 28 ^ u64::from(b)
    }
}

/// A packet in the network. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct InFlight {
    segment: Segment,
    flow: u32,
    hash: u32,
    dst: u32,
    /// Bytes on the wire.
    size: u32,
    /// How long it has waited in queues so far; gathered only at ports that want hints.
    waited: Span,
}

const _: () = assert!(size_of::<InFlight>() == 64);

/// Both ends of a flow's connection.
#[derive(Clone, Debug)]
struct Connection {
    sender: Sender,
    receiver: Receiver,
    log: SackLog,
    flow: u32,
    src: u32,
    dst: u32,
    hash_forth: u32,
    hash_back: u32,
    sender_timer: Timer,
    receiver_timer: Timer,
}

/// What the event queue holds for one timer.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// The event that will look at the timer, and when.
    pending: Option<(Time, EventId)>,
    /// Settings that have events, in event-per-setting mode.
    arms: u32,
}

const IDLE_TIMER: Timer = Timer { pending: None, arms: 0 };

/// A checked network, ready to run flows.
#[derive(Clone, Debug)]
pub struct Network {
    config: Config,
    transport: ValidParams,
    routes: Routes,
}

impl Network {
    /// Checks `config` and computes all routes.
    ///
    /// # Errors
    /// Names the first field that cannot be, its value, and what would be right.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.check()?;
        let transport = config.transport.validated()?;
        let routes = Routes::new(&config.topology, config.routing);
        Ok(Self { config, transport, routes })
    }

    /// What was checked.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Runs `flows` to the end of the run.
    ///
    /// # Errors
    /// If a flow does not fit the network, or packets are not conserved.
    pub fn run<O: Observer>(&self, flows: &[Flow], observer: &mut O) -> Result<RunResult, RunError> {
        let mut simulation = self.simulation(flows, observer)?;
        while simulation.advance(u64::MAX)? {}
        simulation.finish()
    }

    /// Prepares a run of `flows` that the caller advances step by step.
    ///
    /// # Errors
    /// If a flow does not fit the network.
    pub fn simulation<'a, O: Observer>(
        &'a self,
        flows: &'a [Flow],
        observer: &'a mut O,
    ) -> Result<Simulation<'a, O>, RunError> {
        self.config.check_flows(flows, self.transport.max_flow_bytes())?;
        let mut routes = self.routes.clone();
        for (index, flow) in flows.iter().enumerate() {
            for (from, to) in [(flow.src, flow.dst), (flow.dst, flow.src)] {
                if routes.next_port(from, to, 0).is_none() {
                    return Err(RunError::Unreachable { index, flow: *flow });
                }
            }
        }
        Simulation::new(self, flows, routes, observer)
    }
}

/// A run in progress.
pub struct Simulation<'a, O> {
    flows: &'a [Flow],
    transport: ValidParams,
    net: Net<'a, O>,
    /// How many flows have started.
    started: usize,
    /// For each flow, where its connection is while it is open.
    open: Vec<u32>,
    connections: Vec<Connection>,
    free_connections: Vec<u32>,
    results: Vec<FlowResult>,
    end: Time,
    next_check: u64,
    is_udp: bool,
}

/// Everything but the end points.
struct Net<'a, O> {
    events: EventQueue<Event>,
    ports: Vec<Port>,
    packets: Vec<InFlight>,
    free_packets: Vec<u32>,
    routes: Routes,
    observer: &'a mut O,
    counters: Counters,
    trace_hash: u64,
    recent: [(Time, Option<Event>); REMEMBERED],
    hosts: u32,
    header_bytes: u32,
    rounding: Rounding,
    /// Departures have no events of their own, timers one each.
    lazy: bool,
    drawn_ranks: Option<(Arc<Distribution>, Stream)>,
    segment_bytes: u32,
    flows: &'a [Flow],
    /// Bytes of each flow that are acknowledged; kept only where a port wants hints.
    acknowledged: Option<Vec<u64>>,
}

impl<'a, O: Observer> Simulation<'a, O> {
    fn new(network: &Network, flows: &'a [Flow], routes: Routes, observer: &'a mut O) -> Result<Self, RunError> {
        let config = &network.config;
        let hosts = config.topology.hosts;
        let mut ports = Vec::with_capacity(config.topology.links.len());
        for (number, link) in config.topology.links.iter().enumerate() {
            let kind = if link.from < hosts { &config.host_port } else { &config.switch_port };
            ports.push(Port::new(kind, number as u32, *link, hosts)?);
        }
        let segment_bytes = network.transport.segment_bytes();
        let full = segment_bytes + config.header_bytes;
        let reach = |port: &Port| {
            Span::from_ps((port.serialisation(full, config.rounding) + port.delay).as_ps().saturating_add(1))
        };
        let reach = ports.iter().map(reach).max().unwrap_or(Span::from_us(1));
        let acknowledged = ports.iter().any(|port| port.wants_hints).then(|| vec![0; flows.len()]);
        let ties = match config.equal_times {
            EqualTimes::DeparturesFirst | EqualTimes::Insertion => TieOrder::Insertion,
            EqualTimes::NetbenchBatch => TieOrder::Batch,
        };
        let mut net = Net {
            events: EventQueue::new(reach, ties),
            ports,
            packets: Vec::new(),
            free_packets: Vec::new(),
            routes,
            observer,
            counters: Counters::default(),
            trace_hash: 0,
            recent: [(Time::ZERO, None); REMEMBERED],
            hosts,
            header_bytes: config.header_bytes,
            rounding: config.rounding,
            lazy: config.equal_times == EqualTimes::DeparturesFirst,
            drawn_ranks: match &config.ranks {
                Ranks::Transport => None,
                Ranks::Drawn { distribution, seed } => {
                    Some((distribution.clone(), Stream::named(*seed, "packet-ranks")))
                }
            },
            segment_bytes,
            flows,
            acknowledged,
        };
        if net.lazy {
            // One start at a time is enough; the next is scheduled when it happens.
            if let Some(first) = flows.first() {
                net.events.schedule(first.start, Event::Start { flow: 0 });
            }
        } else {
            for (flow, Flow { start, .. }) in (0..).zip(flows) {
                net.events.schedule(*start, Event::Start { flow });
            }
        }
        Ok(Self {
            flows,
            transport: network.transport,
            net,
            started: 0,
            open: vec![NONE; flows.len()],
            connections: Vec::new(),
            free_connections: Vec::new(),
            results: vec![FlowResult::default(); flows.len()],
            end: config.end,
            next_check: EVENTS_PER_CHECK,
            is_udp: matches!(config.transport.congestion, Congestion::Udp(_)),
        })
    }

    /// Lets up to `events` events happen; `false` when the run is over.
    ///
    /// # Errors
    /// If packets are not conserved.
    pub fn advance(&mut self, events: u64) -> Result<bool, RunError> {
        let stop = self.net.counters.events.saturating_add(events);
        while self.net.counters.events < stop {
            let Some((now, event)) = self.net.events.pop_until(self.end) else { return Ok(false) };
            self.net.note(now, event);
            match event {
                Event::Arrive { port, packet } => {
                    if let Some(segment) = self.net.arrive(port, packet, now) {
                        self.deliver(segment, now);
                    }
                }
                Event::Depart { port } => self.net.depart(port, now),
                Event::Release { port } => self.net.release(port, now),
                Event::Start { flow } => self.start(flow, now),
                Event::SenderTimer { flow, arm } => self.sender_timer(flow, arm, now),
                Event::ReceiverTimer { flow, arm } => self.receiver_timer(flow, arm, now),
            }
            if self.net.counters.events >= self.next_check {
                self.next_check += EVENTS_PER_CHECK;
                self.net.check()?;
            }
        }
        Ok(true)
    }

    /// The time of the last event.
    pub fn now(&self) -> Time {
        self.net.events.now()
    }

    /// The counters so far.
    pub fn counters(&self) -> &Counters {
        &self.net.counters
    }

    /// Flows that are complete so far, and flows that have started.
    pub fn flows_done(&self) -> (usize, usize) {
        (self.started - (self.connections.len() - self.free_connections.len()), self.started)
    }

    /// Closes the books, at the end of the run or wherever it was interrupted.
    ///
    /// # Errors
    /// If packets are not conserved.
    pub fn finish(mut self) -> Result<RunResult, RunError> {
        let end = if self.net.events.is_empty() || self.net.events.now() < self.end { self.end } else { self.now() };
        if self.net.lazy {
            for port in 0..self.net.ports.len() as u32 {
                self.net.catch_up(port, end);
            }
        }
        self.net.check()?;
        for slot in 0..self.connections.len() as u32 {
            if self.open.get(self.connections[slot as usize].flow as usize) == Some(&slot) {
                self.settle(slot, None);
            }
        }
        for result in &self.results {
            self.net.counters.fast_retransmissions += u64::from(result.fast_retransmissions);
            self.net.counters.timeouts += u64::from(result.timeouts);
        }
        self.net.observer.on_end(end);
        let ports = self.net.ports.into_iter().map(|port| {
            let beyond = if port.busy_until > end { port.busy_until.since(end) } else { Span::ZERO };
            let busy = Span::from_ps(port.tally.busy.as_ps() - beyond.as_ps());
            super::PortResult { waiting: port.waiting, busy, ..port.tally }
        });
        Ok(RunResult {
            flows: self.results,
            ports: ports.collect(),
            counters: self.net.counters,
            trace_hash: self.net.trace_hash,
            end,
        })
    }

    fn start(&mut self, flow: u32, now: Time) {
        self.started += 1;
        if self.net.lazy
            && let Some(next) = self.flows.get(self.started)
        {
            self.net.events.schedule(next.start, Event::Start { flow: flow + 1 });
        }
        let Flow { id, src, dst, bytes, .. } = self.flows[flow as usize];
        let connection = Connection {
            sender: Sender::new(&self.transport, bytes),
            receiver: Receiver::new(&self.transport, bytes),
            log: SackLog::default(),
            flow,
            src,
            dst,
            hash_forth: self.net.routes.path_hash(src, dst, id),
            hash_back: self.net.routes.path_hash(dst, src, id),
            sender_timer: IDLE_TIMER,
            receiver_timer: IDLE_TIMER,
        };
        let slot = match self.free_connections.pop() {
            Some(slot) => {
                self.connections[slot as usize] = connection;
                slot
            }
            None => {
                self.connections.push(connection);
                self.connections.len() as u32 - 1
            }
        };
        self.open[flow as usize] = slot;
        let Connection { sender, hash_forth, .. } = &mut self.connections[slot as usize];
        let net = &mut self.net;
        sender.start(now, &mut |segment| net.send(segment, flow, src, dst, *hash_forth, now));
        self.watch_sender(slot, now);
    }

    fn deliver(&mut self, packet: InFlight, now: Time) {
        let slot = self.open[packet.flow as usize];
        if slot == NONE {
            return;
        }
        let connection = &mut self.connections[slot as usize];
        let Connection { sender, receiver, log, flow, src, dst, hash_forth, hash_back, .. } = connection;
        let net = &mut self.net;
        if packet.segment.from_sender() {
            debug_assert_eq!(packet.dst, *dst);
            if let Some(answer) = receiver.handle_segment(&packet.segment, log, now) {
                net.send(answer, *flow, *dst, *src, *hash_back, now);
            }
            if self.is_udp && receiver.is_complete() {
                self.close(slot, now);
            } else if receiver.arms() != 0 {
                self.watch_receiver(slot, now);
            }
        } else {
            let progress = sender.handle_segment(&packet.segment, log, now, &mut |segment| {
                net.send(segment, *flow, *src, *dst, *hash_forth, now);
            });
            if let Some(acknowledged) = &mut net.acknowledged {
                acknowledged[*flow as usize] = sender.acknowledged_bytes();
            }
            if progress == Progress::Completed {
                self.close(slot, now);
            } else {
                self.watch_sender(slot, now);
            }
        }
    }

    fn sender_timer(&mut self, flow: u32, arm: u32, now: Time) {
        let slot = self.open[flow as usize];
        if slot == NONE {
            return;
        }
        let connection = &mut self.connections[slot as usize];
        if self.net.lazy {
            connection.sender_timer.pending = None;
        } else if arm != connection.sender.arms() {
            return;
        }
        let Connection { sender, src, dst, hash_forth, .. } = connection;
        let net = &mut self.net;
        sender.handle_timeout(now, &mut |segment| net.send(segment, flow, *src, *dst, *hash_forth, now));
        self.watch_sender(slot, now);
    }

    fn receiver_timer(&mut self, flow: u32, arm: u32, now: Time) {
        let slot = self.open[flow as usize];
        if slot == NONE {
            return;
        }
        let connection = &mut self.connections[slot as usize];
        if self.net.lazy {
            connection.receiver_timer.pending = None;
        } else if arm != connection.receiver.arms() {
            return;
        }
        if let Some(answer) = connection.receiver.handle_timeout(now) {
            self.net.send(answer, flow, connection.dst, connection.src, connection.hash_back, now);
        }
        self.watch_receiver(slot, now);
    }

    fn watch_sender(&mut self, slot: u32, now: Time) {
        let Connection { sender, sender_timer, flow, .. } = &mut self.connections[slot as usize];
        let flow = *flow;
        let event = |arm| Event::SenderTimer { flow, arm };
        self.net.watch(sender_timer, sender.deadline(), sender.arms(), event, now);
    }

    fn watch_receiver(&mut self, slot: u32, now: Time) {
        let Connection { receiver, receiver_timer, flow, .. } = &mut self.connections[slot as usize];
        let flow = *flow;
        let event = |arm| Event::ReceiverTimer { flow, arm };
        self.net.watch(receiver_timer, receiver.deadline(), receiver.arms(), event, now);
    }

    /// The flow is complete: its connection is gone, packets still on their way will be ignored.
    fn close(&mut self, slot: u32, now: Time) {
        let connection = &self.connections[slot as usize];
        for timer in [&connection.sender_timer, &connection.receiver_timer] {
            if let Some((_, event)) = timer.pending {
                self.net.events.cancel(event);
            }
        }
        let flow = connection.flow;
        self.settle(slot, Some(now.since(self.flows[flow as usize].start)));
        self.open[flow as usize] = NONE;
        self.free_connections.push(slot);
    }

    fn settle(&mut self, slot: u32, fct: Option<Span>) {
        let Connection { sender, receiver, flow, .. } = &self.connections[slot as usize];
        let counts = sender.counts();
        self.results[*flow as usize] = FlowResult {
            fct,
            acknowledged_bytes: if fct.is_some() {
                self.flows[*flow as usize].bytes
            } else {
                sender.acknowledged_bytes()
            },
            retransmissions: counts.retransmissions,
            fast_retransmissions: counts.fast_retransmissions,
            timeouts: counts.timeouts + receiver.timeouts(),
            reordered: receiver.reordered(),
        };
    }
}

impl<O: Observer> Net<'_, O> {
    /// Enters an event into the trace.
    #[inline]
    fn note(&mut self, now: Time, event: Event) {
        self.recent[self.counters.events as usize % REMEMBERED] = (now, Some(event));
        self.counters.events += 1;
        let word = now.as_ps() ^ event.code().rotate_left(7);
        self.trace_hash = (self.trace_hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// Keeps the event queue informed about a timer: one event that is moved lazily, or one for every setting.
    #[inline]
    fn watch(&mut self, timer: &mut Timer, deadline: Option<Time>, arms: u32, event: impl Fn(u32) -> Event, now: Time) {
        if self.lazy {
            let Some(deadline) = deadline else { return };
            match timer.pending {
                // It will look at the deadline again when it happens.
                Some((time, _)) if time <= deadline => return,
                Some((_, later)) => {
                    self.events.cancel(later);
                }
                None => {}
            }
            timer.pending = Some((deadline, self.events.schedule(deadline.max(now), event(0))));
        } else if let Some(deadline) = deadline {
            while timer.arms != arms {
                timer.arms = timer.arms.wrapping_add(1);
                self.events.schedule(deadline, event(timer.arms));
            }
        } else {
            timer.arms = arms;
        }
    }

    /// Puts a segment of an end point at host `src` on its way.
    fn send(&mut self, mut segment: Segment, flow: u32, src: u32, dst: u32, hash: u32, now: Time) {
        if let Some((distribution, stream)) = &mut self.drawn_ranks {
            segment.rank = Rank::saturating(distribution.draw(stream));
        }
        let size = segment.payload_bytes + self.header_bytes;
        let packet = InFlight { segment, flow, hash, dst, size, waited: Span::ZERO };
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
        let port = self.routes.next_port(src, dst, hash).expect("checked before the run");
        self.offer(port, number, now);
    }

    /// A packet reached the far end of a link: on to the next port, or out to the end point.
    #[inline]
    fn arrive(&mut self, port: u32, number: u32, now: Time) -> Option<InFlight> {
        self.counters.hops += 1;
        if self.lazy {
            self.catch_up(port, now);
        }
        let node = self.ports[port as usize].to;
        if node < self.hosts {
            let packet = self.packets[number as usize];
            assert!(packet.dst == node, "packet {number} reached host {node} instead of {}", packet.dst);
            self.counters.delivered += 1;
            self.free_packets.push(number);
            return Some(packet);
        }
        let packet = &self.packets[number as usize];
        let next = self.routes.next_port(node, packet.dst, packet.hash).expect("checked before the run");
        self.offer(next, number, now);
        None
    }

    /// Offers a packet to a port.
    #[inline]
    fn offer(&mut self, number: u32, packet: u32, now: Time) {
        if self.lazy {
            self.catch_up(number, now);
        }
        let port = &mut self.ports[number as usize];
        let in_flight = &mut self.packets[packet as usize];
        let size = in_flight.size;
        port.tally.arrived_packets += 1;
        port.tally.arrived_bytes += u64::from(size);
        let idle = if self.lazy { port.busy_until <= now } else { port.serving.is_none() };
        if port.backlog >= port.ecn_threshold {
            in_flight.segment.flags = in_flight.segment.flags.with(Flags::CE);
            port.tally.marked_packets += 1;
        }
        let descriptor =
            Packet { id: u64::from(packet), flow: in_flight.flow, size, rank: in_flight.segment.rank, arrival: now };
        if idle && port.bypass && port.waiting == 0 {
            let view = PacketView::from(&descriptor);
            self.observer.on_admit(PortId(number), view, 0, port.queue.as_dyn(), now);
            self.observer.on_dequeue(PortId(number), view, 0, port.queue.as_dyn(), now);
            self.begin(number, packet, size, now);
            return;
        }
        if port.wants_hints {
            self.hint(number, packet);
        }
        let port = &mut self.ports[number as usize];
        let outcome = if !idle && port.squeezed_out(size) {
            Enqueued::Dropped { packet: descriptor, reason: DropReason::Full }
        } else {
            port.queue.enqueue(descriptor, now)
        };
        match outcome {
            Enqueued::Admitted { queue, rank } => {
                port.waiting += 1;
                port.backlog += u64::from(size);
                self.admitted(number, packet, queue, rank, now);
            }
            Enqueued::Evicted { queue, rank, victims } => {
                port.waiting += 1;
                port.backlog += u64::from(size);
                self.admitted(number, packet, queue, rank, now);
                for victim in victims {
                    let port = &mut self.ports[number as usize];
                    port.waiting -= 1;
                    port.backlog -= u64::from(victim.size);
                    self.dropped(number, &victim, DropReason::PushedOut, now);
                }
            }
            Enqueued::Dropped { packet, reason } => self.dropped(number, &packet, reason, now),
        }
        if idle {
            self.begin_next(number, now);
        }
        let port = &mut self.ports[number as usize];
        port.tally.most_waiting = port.tally.most_waiting.max(port.waiting);
    }

    #[inline]
    fn admitted(&mut self, number: u32, packet: u32, queue: u32, rank: Rank, now: Time) {
        let InFlight { flow, size, .. } = self.packets[packet as usize];
        let view = PacketView { id: u64::from(packet), flow, size, rank, arrival: now };
        self.observer.on_admit(PortId(number), view, queue, self.ports[number as usize].queue.as_dyn(), now);
    }

    /// Books a drop and forgets the packet.
    fn dropped(&mut self, number: u32, packet: &Packet, reason: DropReason, now: Time) {
        let port = &mut self.ports[number as usize];
        port.tally.dropped_packets[reason as usize] += 1;
        port.tally.dropped_bytes += u64::from(packet.size);
        self.counters.dropped += 1;
        self.counters.dropped_at_source += u64::from(port.at_host);
        self.observer.on_drop(PortId(number), packet.into(), reason, port.queue.as_dyn(), now);
        self.free_packets.push(packet.id as u32);
    }

    /// Lets a port decide what it should have sent since somebody last looked (only without departure events).
    ///
    /// Whoever touches a port comes here first, and the end of every transmission is followed by an arrival at the far
    /// end, which comes here too: so no decision is late, and each is made as of the instant when the wire became free.
    #[inline]
    fn catch_up(&mut self, number: u32, now: Time) {
        loop {
            let port = &self.ports[number as usize];
            if port.waiting == 0 || port.busy_until > now || port.held_back {
                return;
            }
            self.begin_next(number, port.busy_until);
        }
    }

    /// Takes the next packet from the scheduler of an idle port and starts to send it.
    #[inline]
    fn begin_next(&mut self, number: u32, now: Time) {
        loop {
            let port = &mut self.ports[number as usize];
            match port.queue.dequeue(now) {
                Dequeued::Packet { packet, queue } => {
                    port.waiting -= 1;
                    port.backlog -= u64::from(packet.size);
                    self.observer.on_dequeue(PortId(number), (&packet).into(), queue, port.queue.as_dyn(), now);
                    if port.wants_hints {
                        self.packets[packet.id as usize].waited += now.since(packet.arrival);
                    }
                    self.begin(number, packet.id as u32, packet.size, now);
                    return;
                }
                Dequeued::Dropped { packet, reason } => {
                    port.waiting -= 1;
                    port.backlog -= u64::from(packet.size);
                    self.dropped(number, &packet, reason, now);
                }
                Dequeued::NotBefore(time) => {
                    port.held_back = true;
                    self.events.schedule(time, Event::Release { port: number });
                    return;
                }
                Dequeued::Empty => return,
            }
        }
    }

    /// Puts a packet on the wire.
    #[inline]
    fn begin(&mut self, number: u32, packet: u32, size: u32, now: Time) {
        let port = &mut self.ports[number as usize];
        let time = port.serialisation(size, self.rounding);
        port.held_back = false;
        port.busy_until = now + time;
        port.serving_bytes = size;
        port.tally.sent_packets += 1;
        port.tally.sent_bytes += u64::from(size);
        port.tally.busy += time;
        if self.lazy {
            self.events.schedule(port.busy_until + port.delay, Event::Arrive { port: number, packet });
        } else {
            port.serving = Some(packet);
            self.events.schedule(port.busy_until, Event::Depart { port: number });
        }
    }

    /// The packet on the wire is completely sent; the next one follows.
    fn depart(&mut self, number: u32, now: Time) {
        let port = &mut self.ports[number as usize];
        let packet = port.serving.take().expect("a departure ends a transmission");
        self.events.schedule(now + port.delay, Event::Arrive { port: number, packet });
        if port.waiting > 0 {
            self.begin_next(number, now);
        }
    }

    /// A scheduler that held its packets back may release one, unless the port found other work meanwhile.
    fn release(&mut self, number: u32, now: Time) {
        let port = &self.ports[number as usize];
        let idle = if self.lazy { port.busy_until <= now } else { port.serving.is_none() };
        if port.held_back && idle && port.waiting > 0 {
            self.begin_next(number, now);
        }
    }

    /// Gathers what a rank function at the port wants to know about a packet.
    #[cold]
    fn hint(&mut self, number: u32, packet: u32) {
        let InFlight { segment, flow, hash, dst, size, waited } = self.packets[packet as usize];
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
            on_wires += port.serialisation(size, self.rounding) + port.delay;
            if port.to < self.hosts {
                break;
            }
            next = self.routes.first_port(port.to, dst, hash).expect("checked before the run");
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
        if let Queue::Other(scheduler) = &mut self.ports[number as usize].queue {
            scheduler.hint(u64::from(packet), &hints);
        }
    }

    /// Balances all accounts.
    fn check(&mut self) -> Result<(), RunError> {
        let in_flight = (self.packets.len() - self.free_packets.len()) as u64;
        self.counters.most_in_flight = self.packets.len() as u64;
        let Counters { created, delivered, dropped, .. } = self.counters;
        let account = match self.ports.iter().find_map(Port::imbalance) {
            Some(account) => account,
            None if created != delivered + dropped + in_flight => format!(
                "the network: {created} packets created, but {delivered} delivered, {dropped} dropped, {in_flight} under way"
            ),
            None => return Ok(()),
        };
        let events = (0..REMEMBERED as u64)
            .filter_map(|back| {
                let (time, event) = self.recent[(self.counters.events + back) as usize % REMEMBERED];
                let mut line = String::new();
                write!(line, "{time}: {:?}", event?).expect("writing to a string");
                Some(line)
            })
            .collect();
        Err(RunError::NotConserved { account, events })
    }
}
