//! The ends of flows: connections from the start of a flow to its completion, and their timers.

use super::cut::Mail;
use super::events::{Event, NUMBERS, Packed};
use super::mode::Mode;
use super::packets::Trip;
use super::step::Net;
use crate::event_queue::{EventId, EventQueue};
use crate::network::config::Transports;
use crate::network::result::FlowResult;
use crate::network::routing::Route;
use crate::network::topology::Link;
use crate::observer::Observer;
use pifolab_transport::{AnyTransport, Counts, End, Progress, Segment, Tcp};
use pifolab_units::{Span, Time};
use pifolab_workload::flows::Flow;
use std::mem::offset_of;

pub(super) const NONE: u32 = u32::MAX;
/// In the place of a slot: the receiver was not yet made.
pub(super) const UNMADE: u32 = u32::MAX - 1;

/// Both ends of a flow's connection, or one of them if [they are apart](Run::apart). Fields are in the order in which packets access them.
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
    pub(super) links: &'a [Link],
    pub(super) transports: &'a Transports,
    pub(super) net: Net<'a, O, M>,
    /// The numbers of flows that have started here, and of those that are complete.
    pub(super) started: usize,
    pub(super) done: usize,
    /// For each flow, the slot of its connection while it is open, or of its sender if the ends are apart.
    pub(super) open: Vec<u32>,
    /// If the ends of a flow are apart, each is a connection of its own, of which the other end is not used; for each flow the
    /// slot of its receiver. The receiver is made when the first packet reaches it.
    pub(super) apart: Option<Vec<u32>>,
    /// The shortest delay of a link. The receiver of a flow closes as long after the sender, if they are apart.
    pub(super) notice: Span,
    /// Mail for each part.
    pub(super) mail: Vec<Vec<Mail>>,
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
    /// Schedules the start of the first flow from number `from` on that starts here. In by-place mode also of the flows that start
    /// at the same time, so that all of them are there before one happens.
    pub(super) fn schedule_start(&mut self, from: u32) {
        let mut time = None;
        for (number, flow) in (from..).zip(&self.flows[from as usize..]) {
            if time.is_some_and(|time| !M::BY_PLACE || flow.start > time) {
                break;
            }
            if self.net.cut.owns(flow.src) {
                self.net.events.schedule(flow.start, Event::Start { flow: number }.pack());
                time = Some(flow.start);
            }
        }
    }

    pub(super) fn start(&mut self, flow: u32, now: Time) {
        self.started += 1;
        if M::BY_PLACE {
            let later = &self.flows[flow as usize + 1..];
            match later.iter().position(|flow| self.net.cut.owns(flow.src)) {
                Some(next) if later[next].start > now => self.schedule_start(flow + 1 + next as u32),
                _ => {}
            }
        } else if !M::STEPWISE {
            self.schedule_start(flow + 1);
        }
        let slot = self.connect(flow);
        self.open[flow as usize] = slot;
        let connection = &mut self.connections[slot as usize];
        let (trip, net) = (connection.trip_from(End::Sender, slot), &mut self.net);
        connection.transport.start(now, &mut |segment| net.send(segment, trip, now));
        self.watch(End::Sender, slot, now);
    }

    /// Makes the connection of a flow, and returns its slot.
    fn connect(&mut self, flow: u32) -> u32 {
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
        match self.free_connections.pop() {
            Some(slot) => {
                self.connections[slot as usize] = connection;
                slot
            }
            None => {
                self.connections.push(connection);
                self.connections.len() as u32 - 1
            }
        }
    }

    /// The slot of an end of a flow, or `NONE` if it is closed. Makes the receiver, if it is apart and was not yet made.
    fn slot_of(&mut self, end: End, flow: u32) -> u32 {
        let slot = match (&self.apart, end) {
            (Some(receivers), End::Receiver) => receivers[flow as usize],
            _ => return self.open[flow as usize],
        };
        if slot != UNMADE {
            return slot;
        }
        let slot = self.connect(flow);
        if let Some(receivers) = &mut self.apart {
            receivers[flow as usize] = slot;
        }
        slot
    }

    /// Passes the segments that arrived out of order from the receiver in `slot` to the sender.
    fn pass_sacked(&mut self, flow: u32, slot: u32) {
        while let AnyTransport::Tcp(tcp) = &mut self.connections[slot as usize].transport
            && let Some(segment) = tcp.take_sacked()
        {
            self.post(self.flows[flow as usize].src, Mail::Sacked { flow, segment });
        }
    }

    /// Sends mail to the part of a node.
    fn post(&mut self, node: u32, mail: Mail) {
        if self.net.cut.owns(node) {
            self.receive(mail);
        } else {
            self.mail[self.net.cut.part(node) as usize].push(mail);
        }
    }

    /// Handles mail.
    pub(super) fn receive(&mut self, mail: Mail) {
        match mail {
            Mail::Packet { time, port, packet } => {
                self.net.accounts.came += 1;
                let packet = self.net.packets.insert(packet);
                self.net.events.push(time, Event::Arrive { port, packet }.pack());
            }
            Mail::Sacked { flow, segment } => {
                let slot = self.open[flow as usize];
                if slot != NONE
                    && let AnyTransport::Tcp(tcp) = &mut self.connections[slot as usize].transport
                {
                    tcp.note_sacked(segment);
                }
            }
            Mail::Close { time, flow } => self.net.events.push(time, Event::Close { flow }.pack()),
        }
    }

    /// Passes a packet that has left the network to its end, if that is still open.
    fn deliver_apart(&mut self, segment: &Segment, flow: u32, now: Time) {
        let end = if segment.from_sender() { End::Receiver } else { End::Sender };
        let slot = self.slot_of(end, flow);
        if slot == NONE {
            return;
        }
        self.deliver_to(end, segment, slot, now);
        if end == End::Receiver {
            self.pass_sacked(flow, slot);
        }
    }

    /// Passes a packet that has left the network to its connection, if that is still open.
    #[inline(always)]
    pub(super) fn deliver(&mut self, segment: &Segment, flow: u32, slot: u32, now: Time) {
        if M::BY_PLACE && self.apart.is_some() {
            return self.deliver_apart(segment, flow, now);
        }
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
        let slot = if M::BY_PLACE { self.slot_of(end, flow) } else { self.open[flow as usize] };
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

    /// Closes the connection of a complete flow, or only its sender if the ends are apart. Packets still under way will be
    /// ignored.
    fn close(&mut self, slot: u32, now: Time) {
        let flow = self.connections[slot as usize].flow;
        let Flow { start, dst, .. } = self.flows[flow as usize];
        self.done += 1;
        self.open[flow as usize] = NONE;
        self.free(slot, Some(now.since(start)));
        if M::BY_PLACE && self.apart.is_some() {
            self.post(dst, Mail::Close { time: now + self.notice, flow });
        }
    }

    /// Closes the receiver of a complete flow.
    pub(super) fn close_receiver(&mut self, flow: u32) {
        let slot = self.apart.as_mut().map_or(UNMADE, |slots| std::mem::replace(&mut slots[flow as usize], NONE));
        if slot != UNMADE {
            self.free(slot, None);
        }
    }

    /// Frees the slot of a connection.
    fn free(&mut self, slot: u32, fct: Option<Span>) {
        for timer in &self.connections[slot as usize].timers {
            if let Some((_, event)) = timer.pending {
                self.net.events.cancel(event);
            }
        }
        self.settle(slot, fct);
        self.connections[slot as usize].flow = NONE;
        self.free_connections.push(slot);
    }

    /// Adds what a connection counted to the result of its flow.
    pub(super) fn settle(&mut self, slot: u32, fct: Option<Span>) {
        let Connection { transport, flow, .. } = &self.connections[slot as usize];
        let Counts { retransmissions, fast_retransmissions, timeouts, probes, reordered } = transport.counts();
        let whole = self.flows[*flow as usize].bytes;
        let acknowledged_bytes = if fct.is_some() { whole } else { transport.acknowledged_bytes() };
        self.results[*flow as usize].add(&FlowResult {
            fct,
            acknowledged_bytes,
            retransmissions,
            fast_retransmissions,
            timeouts,
            probes,
            reordered,
        });
    }
}
