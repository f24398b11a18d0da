//! A running network without its end points: events, ports, packets, and what they meet on their way.

use super::accounts::Accounts;
use super::config::{Config, Ranks, Transports};
use super::error::ConfigError;
use super::event::{Event, Packed};
use super::failures::Failures;
use super::in_flight::{InFlight, Packets};
use super::port::{self, Port};
use super::routing::{PortBits, Route, Routes, Stop};
use super::shared_buffer::Pools;
use super::told::Told;
use crate::event_queue::EventQueue;
use crate::observer::Observer;
use crate::port::Wakeup;
use pifolab_units::{Rounding, Span, Time};
use pifolab_workload::flows::Flow;
use pifolab_workload::{Distribution, Stream};
use std::marker::PhantomData;
use std::sync::Arc;

/// Everything but the end points.
pub(super) struct Net<'a, O, M> {
    pub(super) events: EventQueue<Packed>,
    pub(super) ports: Vec<Port>,
    pub(super) packets: Packets,
    pub(super) accounts: Accounts,
    pub(super) routes: Routes,
    pub(super) port_bits: PortBits,
    pub(super) hosts: u32,
    pub(super) header_bytes: u32,
    pub(super) rounding: Rounding,
    pub(super) segment_bytes: u32,
    /// The transport answers to marks.
    pub(super) ecn_capable: bool,
    pub(super) flows: &'a [Flow],
    /// Bytes of each flow that are acknowledged; kept only where a port wants hints.
    pub(super) acknowledged: Option<Vec<u64>>,
    // What a plain run does not have.
    pub(super) observer: &'a mut O,
    pub(super) drawn_ranks: Option<(Arc<Distribution>, Stream)>,
    pub(super) failures: Option<Box<Failures>>,
    /// Routes are not computed anew once this returns true,
    pub(super) stop: Stop<'a>,
    /// and no event happens after it has.
    pub(super) stopped: bool,
    pub(super) pools: Option<Box<Pools>>,
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
    ) -> Result<Self, ConfigError> {
        let hosts = config.topology.hosts;
        let mut ports = Vec::with_capacity(config.topology.links.len());
        for (number, link) in config.topology.links.iter().enumerate() {
            let kind = if link.from < hosts { &config.host_port } else { &config.switch_port };
            ports.push(port::port(kind, number as u32, *link, hosts, observer.watches(), config.wire_time)?);
        }
        let segment_bytes = transports.segment_bytes();
        let full = segment_bytes + config.header_bytes;
        let reach = |port: &Port| {
            Span::from_ps((port.serialisation(full, config.rounding) + port.delay).as_ps().saturating_add(1))
        };
        let reach = ports.iter().map(reach).max().unwrap_or(Span::from_us(1));
        let acknowledged = ports.iter().any(|port| port.wants_hints).then(|| vec![0; flows.len()]);
        let port_bits = if config.link_changes.is_empty() { PortBits::of(ports.len() as u32) } else { PortBits::NONE };
        Ok(Self {
            events: EventQueue::new(reach, config.equal_times),
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
            mode: PhantomData,
        })
    }

    /// What packets from `src` to `dst` of flow `id` carry along to find their way.
    pub(super) fn route(&mut self, src: u32, dst: u32, id: u64) -> Route {
        self.routes.route(src, dst, id, self.port_bits, |port| self.ports[port as usize].to)
    }

    /// A port, and who is told what becomes of its packets.
    #[inline(always)]
    pub(super) fn port(&mut self, number: u32) -> (&mut Port, Told<'_, O, M>) {
        let port = &mut self.ports[number as usize];
        let told = Told {
            number,
            at_host: port.at_host,
            observer: &mut *self.observer,
            packets: &mut self.packets,
            accounts: &mut self.accounts,
            mode: PhantomData,
        };
        (port, told)
    }

    /// Sets the timer of a port, which has one.
    #[cold]
    pub(super) fn wait_until(&mut self, number: u32, time: Time, now: Time) {
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

    /// Forgets a packet that is lost, as `place` says.
    pub(super) fn forget(&mut self, packet: u32, place: u64) {
        let InFlight { segment, flow, .. } = self.packets.remove(packet);
        self.accounts.trace_hashes.note_loss(flow, segment.seq, place);
    }
}
