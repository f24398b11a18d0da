//! The engine: runs of flows over a network, event by event.
//!
//! [`step`] moves packets from one event to the next, [`ends`] has the ends of flows; a port books its own packets
//! ([`crate::port`]).

mod accounts;
mod cut;
mod ends;
pub(super) mod events;
mod link_changes;
mod mode;
mod packets;
pub(super) mod parts;
mod queue;
mod step;

pub(super) use self::cut::Cut;
pub(super) use self::ends::Run;
use self::ends::{Connection, NONE, UNMADE};
use self::events::Event;
use self::mode::Mode;
pub(super) use self::mode::{Full, FullByPlace, FullSteps, Plain, PlainByPlace, PlainSteps};
use self::packets::InFlight;
use self::queue::Queue;
use self::step::{Net, prefetch_lines};
use super::config::{Config, PortInfo, Shared, Transports};
use super::result::{Counters, FlowResult, RunError, RunResult, Snapshot};
use super::route_table::Stop;
use super::routing::Routes;
use super::trace_hashes::Ingredient;
use crate::observer::Observer;
use crate::port::Order;
use pifolab_sched::{Fact, Used};
use pifolab_transport::End;
use pifolab_units::{Rate, Time};
use pifolab_workload::flows::Flow;
use std::hint::select_unpredictable;

/// Why the ports of a network must stay together, if so.
pub(super) fn together_because(config: &Config) -> Option<&'static str> {
    let info = PortInfo { port: 0, from: 0, to: 0, rate: Rate::from_gbps(1) };
    [&config.host_port, &config.switch_port].into_iter().find_map(|port| {
        let mut shared = Shared::default();
        let mut queue = Queue::new(port, &info, false, &mut shared, None).ok()?;
        if queue.reads().contains(Fact::Unacknowledged) {
            return Some("a rank function reads what the sender knows at the same time");
        }
        if queue.reads().contains(Fact::CarriedLabel) {
            return Some("labels of packets do not go from part to part");
        }
        (!shared.is_empty()).then_some("its ports share state")
    })
}

/// A run in progress, in any mode.
pub(super) trait Steps<'a> {
    /// Runs up to `events` events; returns `false` when the run is over or has reached its pause.
    fn advance(&mut self, events: u64) -> Result<bool, RunError>;

    /// Makes the computation of new routes stop once `stop` returns true.
    fn stop_if(&mut self, stop: Stop<'a>);

    /// Makes [`advance`](Self::advance) pause at `time`; `None`: at the end of the run.
    fn pause_at(&mut self, time: Option<Time>);

    /// The accounts at `time`. Changes no later result; by place, ports first decide what they send until `time`.
    fn snapshot(&mut self, time: Time) -> Snapshot;

    /// The time of the last event.
    fn now(&self) -> Time;

    /// The counters so far.
    fn counters(&self) -> &Counters;

    /// The numbers of complete and of started flows.
    fn flows_done(&self) -> (usize, usize);

    /// Completes the accounts, at the end of the run or where it was interrupted.
    fn finish(self: Box<Self>) -> Result<RunResult, RunError>;
}

impl<'a, O: Observer, M: Mode> Steps<'a> for Run<'a, O, M> {
    fn advance(&mut self, events: u64) -> Result<bool, RunError> {
        let stop = self.net.accounts.counters.events.saturating_add(events);
        self.net.accounts.look_up_soon();
        loop {
            if self.net.accounts.wants_look() && !self.net.goes_on(stop)? {
                return Ok(true);
            }
            let events = &mut self.net.events;
            let next = if M::STEPWISE {
                events.pop_until(self.pause)
            } else if M::BY_PLACE {
                events.pop_by_place(self.pause, |event| event.place())
            } else {
                events.pop_in_order(self.pause)
            };
            let Some((now, event)) = next else {
                self.is_over = self.pause == self.end;
                return Ok(false);
            };
            self.net.note(now, event);
            self.net.prefetch_later();
            self.prefetch_onward(self.net.events.peek().numbers().1);
            if let Some((port, packet)) = event.arrival() {
                if self.net.arrive(port, packet, now) {
                    let InFlight { segment, flow, slot, .. } = *self.net.packets.remove(packet);
                    self.deliver(&segment, flow, slot, now);
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

    fn snapshot(&mut self, time: Time) -> Snapshot {
        if M::BY_PLACE {
            (0..self.net.ports.len() as u32).for_each(|port| self.net.catch_up(port, time));
        }
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
        (self.done, self.started)
    }

    fn finish(self: Box<Self>) -> Result<RunResult, RunError> {
        let end = if self.is_over { self.end } else { self.now() };
        self.finish_at(end)
    }
}

impl<'a, O: Observer, M: Mode> Run<'a, O, M> {
    /// Completes the accounts of a run that ends at `end`.
    fn finish_at(mut self, end: Time) -> Result<RunResult, RunError> {
        if !M::STEPWISE {
            for port in 0..self.net.ports.len() as u32 {
                self.net.catch_up(port, end);
            }
        }
        let Net { accounts, ports, packets, .. } = &mut self.net;
        accounts.check(ports, packets)?;
        if M::BY_PLACE {
            accounts.counters.most_in_flight = 0;
        }
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
        let mut used = Used::default();
        for (port, link) in self.net.ports.iter().zip(self.links) {
            if !port.at_host && self.net.cut.owns(link.from) {
                used.add(port.queue.inspect());
            }
        }
        Ok(RunResult {
            used,
            flows: self.results,
            ports: self.net.ports.iter().map(|port| port.result(end)).collect(),
            counters: self.net.accounts.counters,
            trace_hash: self.net.accounts.trace_hashes.of(Ingredient::Events),
            trace_hashes: self.net.accounts.trace_hashes,
            has_chosen_paths: self.net.routes.has_chosen,
            end,
        })
    }

    /// Prepares the run of checked flows.
    pub(super) fn new(
        config: &'a Config,
        transports: &'a Transports,
        routes: Routes,
        flows: &'a [Flow],
        observer: &'a mut O,
        cut: Cut,
    ) -> Result<Self, RunError> {
        let parts = cut.parts as usize;
        let mut net = Net::<O, M>::new(config, transports, flows, routes, observer, cut)?;
        if let Some(failures) = net.failures.take() {
            for (time, change) in failures.instants() {
                net.events.schedule(time, Event::Links { change }.pack());
            }
            net.failures = Some(failures);
        }
        if M::STEPWISE {
            for (flow, Flow { start, .. }) in (0..).zip(flows) {
                net.events.schedule(*start, Event::Start { flow }.pack());
            }
        }
        let apart = M::BY_PLACE && transports.are_tcp();
        let mut run = Self {
            flows,
            links: &config.topology.links,
            transports,
            net,
            started: 0,
            done: 0,
            apart: apart.then(|| vec![UNMADE; flows.len()]),
            notice: config.topology.shortest_delay(),
            mail: (0..parts).map(|_| Vec::new()).collect(),
            open: vec![NONE; flows.len()],
            connections: Vec::new(),
            free_connections: Vec::new(),
            results: vec![FlowResult::default(); flows.len()],
            end: config.end,
            pause: config.end,
            is_over: false,
        };
        if !M::STEPWISE {
            // Only the next start is scheduled; each start schedules the one after it.
            run.schedule_start(0);
        }
        Ok(run)
    }

    /// Prefetches the next port of the packet of the next event, or the end of its connection. An earlier event asked
    /// for the packet.
    #[inline(always)]
    fn prefetch_onward(&self, packet: u32) {
        let Some(InFlight { route, slot, segment, .. }) = self.net.packets.get(packet) else { return };
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
            Event::Close { flow } => self.close_receiver(flow),
        }
    }
}
