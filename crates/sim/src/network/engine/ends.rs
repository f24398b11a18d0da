//! The ends of flows: connections from the start of a flow to its completion, and their timers.

use super::events::{Event, NUMBERS, Packed};
use super::mode::Mode;
use super::packets::Trip;
use super::step::Net;
use crate::event_queue::{EventId, EventQueue};
use crate::network::config::Transports;
use crate::network::result::FlowResult;
use crate::network::routing::Route;
use crate::observer::Observer;
use pifolab_transport::{AnyTransport, Counts, End, Progress, Segment, Tcp};
use pifolab_units::{Span, Time};
use pifolab_workload::flows::Flow;
use std::mem::offset_of;

pub(super) const NONE: u32 = u32::MAX;

/// Both ends of a flow's connection. Fields are in the order in which packets access them.
#[repr(C, align(64))]
pub(super) struct Connection {
    /// The flow, or `NONE` once it is complete.
    pub(super) flow: u32,
    src: u32,
    dst: u32,
    route_forth: Route,
    route_back: Route,
    /// The timers of both ends, by [`End`].
    timers: [Timer; 2],
    pub(super) transport: AnyTransport,
}

impl Connection {
    /// The common data of all packets that `end` sends.
    #[inline(always)]
    fn trip_from(&self, end: End, slot: u32) -> Trip {
        let Self { flow, src, dst, route_forth, route_back, .. } = *self;
        match end {
            End::Sender => Trip { flow, slot, src, dst, route: route_forth },
            End::Receiver => Trip { flow, slot, src: dst, dst: src, route: route_back },
        }
    }

    /// The approximate offset of an end in this struct, if the transport is TCP.
    pub(super) const fn offset(end: End) -> usize {
        offset_of!(Self, transport) + Tcp::offset(end)
    }
}

/// The events of one timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    /// The event that will check the timer, and its time.
    pub(super) pending: Option<(Time, EventId)>,
    /// The number of settings, in the mode with an event for every setting.
    settings: u32,
}

impl Timer {
    pub(super) const IDLE: Self = Self { pending: None, settings: 0 };

    /// Updates the events of a timer: one event, which moves at once only to an earlier deadline, or one for every
    /// setting.
    #[inline(always)]
    pub(super) fn keep<M: Mode>(
        &mut self,
        events: &mut EventQueue<Packed>,
        pifolab_transport::Timer { deadline, settings }: pifolab_transport::Timer,
        flow: u32,
        end: End,
        now: Time,
    ) {
        let event = |setting| Event::Timer { end, flow, setting }.pack();
        if !M::STEPWISE {
            let Some(deadline) = deadline else { return };
            match self.pending {
                // The event checks the deadline again when it happens.
                Some((time, _)) if time <= deadline => return,
                Some((_, later)) => {
                    events.cancel(later);
                }
                None => {}
            }
            self.pending = Some((deadline, events.schedule(deadline.max(now), event(0))));
        } else if let Some(deadline) = deadline {
            while self.settings != settings {
                self.settings = self.settings.wrapping_add(1);
                events.push(deadline, event(self.settings));
            }
        } else {
            self.settings = settings;
        }
    }
}

/// A run in progress, in its mode.
pub(in crate::network) struct Run<'a, O, M> {
    pub(super) flows: &'a [Flow],
    pub(super) transports: &'a Transports,
    pub(super) net: Net<'a, O, M>,
    /// The number of flows that have started.
    pub(super) started: usize,
    /// For each flow, the slot of its connection while it is open.
    pub(super) open: Vec<u32>,
    pub(super) connections: Vec<Connection>,
    pub(super) free_connections: Vec<u32>,
    pub(super) results: Vec<FlowResult>,
    pub(super) end: Time,
    /// The run pauses here: later events wait.
    pub(super) pause: Time,
    /// Whether no event is left before the end.
    pub(super) is_over: bool,
}

impl<O: Observer, M: Mode> Run<'_, O, M> {
    pub(super) fn start(&mut self, flow: u32, now: Time) {
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

    /// Passes a packet that has left the network to its connection, if that is still open.
    #[inline(always)]
    pub(super) fn deliver(&mut self, segment: &Segment, flow: u32, slot: u32, now: Time) {
        if self.connections[slot as usize].flow != flow {
            return;
        }
        // Two calls, each compiled for its end.
        if segment.from_sender() {
            self.deliver_to(End::Receiver, segment, slot, now);
        } else {
            self.deliver_to(End::Sender, segment, slot, now);
        }
    }

    #[inline(always)]
    fn deliver_to(&mut self, end: End, segment: &Segment, slot: u32, now: Time) {
        let connection = &mut self.connections[slot as usize];
        let (trip, net) = (connection.trip_from(end, slot), &mut self.net);
        let progress = connection.transport.handle_segment(segment, now, &mut |segment| net.send(segment, trip, now));
        if end == End::Sender
            && let Some(acknowledged) = &mut net.acknowledged
        {
            acknowledged[connection.flow as usize] = connection.transport.acknowledged_bytes();
        }
        self.go_on(progress, end, slot, now);
    }

    /// Handles an event of a timer, which may have expired.
    pub(super) fn expire(&mut self, end: End, flow: u32, setting: u32, now: Time) {
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

    /// Handles the outputs of an end after an input.
    #[inline(always)]
    fn go_on(&mut self, progress: Progress, end: End, slot: u32, now: Time) {
        match progress {
            Progress::Going => self.watch(end, slot, now),
            Progress::Completed => self.close(slot, now),
        }
    }

    /// Updates the events of an end's timer.
    #[inline(always)]
    fn watch(&mut self, end: End, slot: u32, now: Time) {
        let Connection { transport, timers, flow, .. } = &mut self.connections[slot as usize];
        timers[end as usize].keep::<M>(&mut self.net.events, transport.timer(end), *flow, end, now);
    }

    /// Closes the connection of a complete flow. Its packets still under way will be ignored.
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

    pub(super) fn settle(&mut self, slot: u32, fct: Option<Span>) {
        let Connection { transport, flow, .. } = &self.connections[slot as usize];
        let Counts { retransmissions, fast_retransmissions, timeouts, reordered } = transport.counts();
        let whole = self.flows[*flow as usize].bytes;
        let acknowledged_bytes = if fct.is_some() { whole } else { transport.acknowledged_bytes() };
        self.results[*flow as usize] =
            FlowResult { fct, acknowledged_bytes, retransmissions, fast_retransmissions, timeouts, reordered };
    }
}
