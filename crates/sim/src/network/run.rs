//! A run: connections and the event loop.

use super::config::{Config, Transports};
use super::event::{Event, NUMBERS};
use super::in_flight::InFlight;
use super::mode::Mode;
use super::net::Net;
use super::result::{Counters, FlowResult, RunError, RunResult, Snapshot};
use super::routing::{Route, Routes, Stop};
use super::timer::Timer;
use super::trace_hashes::Ingredient;
use super::travel::{Trip, prefetch_lines};
use crate::observer::Observer;
use pifolab_transport::{AnyTransport, Counts, End, Progress, Tcp};
use pifolab_units::{Span, Time};
use pifolab_workload::flows::Flow;
use std::hint::select_unpredictable;
use std::mem::offset_of;

/// A run in progress, whatever its mode.
pub(super) trait Steps<'a> {
    /// Lets up to `events` events happen; `false` when the run is over, or has reached where it pauses.
    fn advance(&mut self, events: u64) -> Result<bool, RunError>;

    /// Gives up computing routes anew once `stop` returns true.
    fn stop_if(&mut self, stop: Stop<'a>);

    /// From now on [`advance`](Self::advance) goes no further than to `time`; `None`: to the end of the run.
    fn pause_at(&mut self, time: Option<Time>);

    /// The accounts as they are, at `time`. Looking changes nothing.
    fn snapshot(&self, time: Time) -> Snapshot;

    /// The time of the last event.
    fn now(&self) -> Time;

    /// The counters so far.
    fn counters(&self) -> &Counters;

    /// Flows that are complete so far, and flows that have started.
    fn flows_done(&self) -> (usize, usize);

    /// Closes the books, at the end of the run or wherever it was interrupted.
    fn finish(self: Box<Self>) -> Result<RunResult, RunError>;
}

const NONE: u32 = u32::MAX;

/// Both ends of a flow's connection, in the order in which packets touch them.
#[repr(C, align(64))]
struct Connection {
    /// The flow, or `NONE` once it is complete.
    flow: u32,
    src: u32,
    dst: u32,
    route_forth: Route,
    route_back: Route,
    /// As the event queue has them, by [`End`].
    timers: [Timer; 2],
    transport: AnyTransport,
}

impl Connection {
    /// What the packets that `end` sends have in common.
    #[inline(always)]
    fn trip_from(&self, end: End, slot: u32) -> Trip {
        let Self { flow, src, dst, route_forth, route_back, .. } = *self;
        match end {
            End::Sender => Trip { flow, slot, src, dst, route: route_forth },
            End::Receiver => Trip { flow, slot, src: dst, dst: src, route: route_back },
        }
    }

    /// About where an end lies in here, if the transport is TCP.
    const fn offset(end: End) -> usize {
        offset_of!(Self, transport) + Tcp::offset(end)
    }
}

/// A run in progress, in its mode.
pub(super) struct Run<'a, O, M> {
    flows: &'a [Flow],
    transports: &'a Transports,
    net: Net<'a, O, M>,
    /// How many flows have started.
    started: usize,
    /// For each flow, where its connection is while it is open.
    open: Vec<u32>,
    connections: Vec<Connection>,
    free_connections: Vec<u32>,
    results: Vec<FlowResult>,
    end: Time,
    /// No event after this happens for now.
    pause: Time,
    /// No event is left before the end.
    is_over: bool,
}

impl<'a, O: Observer, M: Mode> Steps<'a> for Run<'a, O, M> {
    fn advance(&mut self, events: u64) -> Result<bool, RunError> {
        let stop = self.net.accounts.counters.events.saturating_add(events);
        self.net.accounts.look_up_soon();
        loop {
            let Net { accounts, ports, packets, stopped, .. } = &mut self.net;
            if accounts.wants_look() && (*stopped || !accounts.look_up(stop, ports, packets)?) {
                return Ok(true);
            }
            let events = &mut self.net.events;
            let next = if M::STEPWISE { events.pop_until(self.pause) } else { events.pop_in_order(self.pause) };
            let Some((now, event)) = next else {
                self.is_over = self.pause == self.end;
                return Ok(false);
            };
            self.net.accounts.note(now, event);
            self.net.prefetch_next();
            if let Some((port, packet)) = event.arrival() {
                self.prefetch_onward(packet);
                if let Some(packet) = self.net.arrive(port, packet, now) {
                    self.deliver(&packet, now);
                }
            } else if M::STEPWISE
                && let Some(port) = event.departure()
            {
                self.net.depart(port, now);
            } else {
                self.handle_other(event.unpack(), now);
            }
        }
    }

    fn stop_if(&mut self, stop: Stop<'a>) {
        self.net.stop = stop;
    }

    fn pause_at(&mut self, time: Option<Time>) {
        self.pause = time.map_or(self.end, |time| time.min(self.end));
    }

    fn snapshot(&self, time: Time) -> Snapshot {
        let open = self.connections.iter().filter(|connection| connection.flow != NONE);
        let closed = self.results.iter().filter(|result| result.fct.is_some());
        Snapshot {
            ports: self.net.ports.iter().map(|port| port.result(time)).collect(),
            acknowledged_bytes: closed.map(|result| result.acknowledged_bytes).sum::<u64>()
                + open.map(|connection| connection.transport.acknowledged_bytes()).sum::<u64>(),
        }
    }

    fn now(&self) -> Time {
        self.net.events.now()
    }

    fn counters(&self) -> &Counters {
        &self.net.accounts.counters
    }

    fn flows_done(&self) -> (usize, usize) {
        (self.started - (self.connections.len() - self.free_connections.len()), self.started)
    }

    fn finish(mut self: Box<Self>) -> Result<RunResult, RunError> {
        let end = if self.is_over { self.end } else { self.now() };
        if !M::STEPWISE {
            for port in 0..self.net.ports.len() as u32 {
                self.net.catch_up(port, end);
            }
        }
        let Net { accounts, ports, packets, .. } = &mut self.net;
        accounts.check(ports, packets)?;
        for slot in 0..self.connections.len() as u32 {
            if self.connections[slot as usize].flow != NONE {
                self.settle(slot, None);
            }
        }
        for result in &self.results {
            self.net.accounts.counters.fast_retransmissions += u64::from(result.fast_retransmissions);
            self.net.accounts.counters.timeouts += u64::from(result.timeouts);
        }
        self.net.observer.on_end(end);
        Ok(RunResult {
            flows: self.results,
            ports: self.net.ports.iter().map(|port| port.result(end)).collect(),
            counters: self.net.accounts.counters,
            trace_hash: self.net.accounts.trace_hashes.of(Ingredient::Events),
            trace_hashes: self.net.accounts.trace_hashes,
            end,
        })
    }
}

impl<'a, O: Observer, M: Mode> Run<'a, O, M> {
    /// Prepares the run of checked flows.
    pub(super) fn new(
        config: &'a Config,
        transports: &'a Transports,
        routes: Routes,
        flows: &'a [Flow],
        observer: &'a mut O,
    ) -> Result<Self, RunError> {
        let mut net = Net::<O, M>::new(config, transports, flows, routes, observer)?;
        if let Some(failures) = net.failures.take() {
            for (time, change) in failures.instants() {
                net.events.schedule(time, Event::Links { change }.pack());
            }
            net.failures = Some(failures);
        }
        if !M::STEPWISE {
            // One start at a time is enough; the next is scheduled when it happens.
            if let Some(first) = flows.first() {
                net.events.schedule(first.start, Event::Start { flow: 0 }.pack());
            }
        } else {
            for (flow, Flow { start, .. }) in (0..).zip(flows) {
                net.events.schedule(*start, Event::Start { flow }.pack());
            }
        }
        Ok(Self {
            flows,
            transports,
            net,
            started: 0,
            open: vec![NONE; flows.len()],
            connections: Vec::new(),
            free_connections: Vec::new(),
            results: vec![FlowResult::default(); flows.len()],
            end: config.end,
            pause: config.end,
            is_over: false,
        })
    }

    /// Asks for what a packet meets next, a port or the end of its connection: it is not known yet which.
    #[inline(always)]
    fn prefetch_onward(&self, packet: u32) {
        let InFlight { route, slot, segment, .. } = &self.net.packets[packet];
        let port = self.net.port_address(route.ahead(self.net.port_bits));
        let connection = self.connections.as_ptr().wrapping_add(*slot as usize).cast::<i8>();
        let end = if segment.from_sender() {
            const { Connection::offset(End::Receiver) }
        } else {
            const { Connection::offset(End::Sender) }
        };
        prefetch_lines(select_unpredictable(route.is_at_end(), connection.wrapping_add(end), port));
    }

    /// Handles an event other than an arrival.
    #[inline(never)]
    fn handle_other(&mut self, event: Event, now: Time) {
        match event {
            Event::Arrive { .. } => unreachable!("the caller handles arrivals"),
            Event::Depart { port } => self.net.depart(port, now),
            Event::Release { port } => self.net.release(port, now),
            Event::Start { flow } => self.start(flow, now),
            Event::Timer { end, flow, setting } => self.expire(end, flow, setting, now),
            Event::Links { change } => self.net.change_links(change, now),
        }
    }

    fn start(&mut self, flow: u32, now: Time) {
        self.started += 1;
        if !M::STEPWISE
            && let Some(next) = self.flows.get(self.started)
        {
            self.net.events.schedule(next.start, Event::Start { flow: flow + 1 }.pack());
        }
        let Flow { id, src, dst, .. } = self.flows[flow as usize];
        let connection = Connection {
            flow,
            src,
            dst,
            route_forth: self.net.route(src, dst, id),
            route_back: self.net.route(dst, src, id),
            timers: [Timer::IDLE; 2],
            transport: self.transports.connect(&self.flows[flow as usize]),
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
        let connection = &mut self.connections[slot as usize];
        let (trip, net) = (connection.trip_from(End::Sender, slot), &mut self.net);
        connection.transport.start(now, &mut |segment| net.send(segment, trip, now));
        self.watch(End::Sender, slot, now);
    }

    /// Hands a packet that has left the network to its connection, if that is still open.
    #[inline(always)]
    fn deliver(&mut self, packet: &InFlight, now: Time) {
        let InFlight { segment, flow, slot, .. } = packet;
        let connection = &mut self.connections[*slot as usize];
        if connection.flow != *flow {
            return;
        }
        let end = if segment.from_sender() { End::Receiver } else { End::Sender };
        let (trip, net) = (connection.trip_from(end, *slot), &mut self.net);
        let progress = connection.transport.handle_segment(segment, now, &mut |segment| net.send(segment, trip, now));
        if end == End::Sender
            && let Some(acknowledged) = &mut net.acknowledged
        {
            acknowledged[*flow as usize] = connection.transport.acknowledged_bytes();
        }
        self.go_on(progress, end, *slot, now);
    }

    /// The timer of an end may have expired.
    fn expire(&mut self, end: End, flow: u32, setting: u32, now: Time) {
        let slot = self.open[flow as usize];
        if slot == NONE {
            return;
        }
        let connection = &mut self.connections[slot as usize];
        if !M::STEPWISE {
            connection.timers[end as usize].pending = None;
        } else if setting != connection.transport.timer(end).settings % NUMBERS {
            return;
        }
        let (trip, net) = (connection.trip_from(end, slot), &mut self.net);
        let progress = connection.transport.handle_timeout(end, now, &mut |segment| net.send(segment, trip, now));
        self.go_on(progress, end, slot, now);
    }

    /// What follows an input to an end.
    #[inline(always)]
    fn go_on(&mut self, progress: Progress, end: End, slot: u32, now: Time) {
        match progress {
            Progress::Going => self.watch(end, slot, now),
            Progress::Completed => self.close(slot, now),
        }
    }

    /// Keeps the event queue informed about the timer of an end.
    #[inline(always)]
    fn watch(&mut self, end: End, slot: u32, now: Time) {
        let Connection { transport, timers, flow, .. } = &mut self.connections[slot as usize];
        timers[end as usize].keep::<M>(&mut self.net.events, transport.timer(end), *flow, end, now);
    }

    /// The flow is complete: its connection is gone, packets still on their way will be ignored.
    fn close(&mut self, slot: u32, now: Time) {
        let connection = &self.connections[slot as usize];
        for timer in &connection.timers {
            if let Some((_, event)) = timer.pending {
                self.net.events.cancel(event);
            }
        }
        let flow = connection.flow;
        self.settle(slot, Some(now.since(self.flows[flow as usize].start)));
        self.open[flow as usize] = NONE;
        self.connections[slot as usize].flow = NONE;
        self.free_connections.push(slot);
    }

    fn settle(&mut self, slot: u32, fct: Option<Span>) {
        let Connection { transport, flow, .. } = &self.connections[slot as usize];
        let Counts { retransmissions, fast_retransmissions, timeouts, reordered } = transport.counts();
        let whole = self.flows[*flow as usize].bytes;
        let acknowledged_bytes = if fct.is_some() { whole } else { transport.acknowledged_bytes() };
        self.results[*flow as usize] =
            FlowResult { fct, acknowledged_bytes, retransmissions, fast_retransmissions, timeouts, reordered };
    }
}
