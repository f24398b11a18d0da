//! Links that fail and are repaired while the run goes on.
//!
//! A direction of a link that fails loses what waits at its port and what is on its wire: every packet whose last bit has
//! not arrived yet. Routes are computed anew at that instant, without delay; what finds no way is lost, until a repair gives it
//! one. The port's scheduler keeps its state. Flows keep their hash, so those that met the failed link, and by the changed
//! number of equal next hops others at the same switch too, take other paths; senders notice by their own means.

use super::config::ConfigError;
use super::net::Net;
use super::queue::Handle;
use super::topology::Topology;
use super::trace_hashes::loss::{ON_WIRE, UNREACHABLE, WAITING};
use crate::observer::{Observer, PortId};
use pifolab_sched::Dequeued;
use pifolab_units::Time;

/// One direction of a link goes down or comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkChange {
    /// When.
    pub time: Time,
    /// The port: the position of the direction in the topology's links.
    pub port: u32,
    /// Whether it is up from then on.
    pub up: bool,
}

/// What is down, what was, and what comes.
#[derive(Debug)]
pub(super) struct Failures {
    topology: Topology,
    /// In order of time.
    changes: Vec<LinkChange>,
    down: Vec<bool>,
    /// When each port last failed.
    failed: Vec<Option<Time>>,
}

/// Checks that ports exist and that each goes down and up by turns.
pub(super) fn check(topology: &Topology, changes: &[LinkChange]) -> Result<(), ConfigError> {
    let mut ordered = changes.to_vec();
    ordered.sort_by_key(|change| (change.port, change.time));
    let mut before: Option<LinkChange> = None;
    for change in ordered {
        let wrong = |value: &dyn std::fmt::Display, expected: &str| {
            Err(ConfigError::new("link_changes", &format!("port {}", change.port), value, expected))
        };
        if change.port as usize >= topology.links.len() {
            return wrong(&change.port, &format!("a port, 0 to {}", topology.links.len().saturating_sub(1)));
        }
        let earlier = before.filter(|before| before.port == change.port);
        if earlier.map_or(change.up, |earlier| earlier.up == change.up) {
            return wrong(&change.time, "a failure, then by turns a repair and a failure");
        }
        if earlier.is_some_and(|earlier| earlier.time >= change.time) {
            return wrong(&change.time, "later than the change before it");
        }
        before = Some(change);
    }
    Ok(())
}

impl Failures {
    /// `None` if nothing fails.
    pub(super) fn new(topology: &Topology, changes: &[LinkChange]) -> Option<Box<Self>> {
        let mut changes = changes.to_vec();
        changes.sort_by_key(|change| change.time);
        let ports = topology.links.len();
        let failures =
            Self { topology: topology.clone(), changes, down: vec![false; ports], failed: vec![None; ports] };
        (!failures.changes.is_empty()).then(|| Box::new(failures))
    }

    /// The instants at which something changes, each with the number of its first change.
    pub(super) fn instants(&self) -> impl Iterator<Item = (Time, u32)> {
        let first = |number: usize| number == 0 || self.changes[number - 1].time != self.changes[number].time;
        let numbered = self.changes.iter().enumerate().filter(move |(number, _)| first(*number));
        numbered.map(|(number, change)| (change.time, number as u32))
    }
}

impl<O: Observer> Net<'_, O> {
    /// Everything that changes now, from the change number `first` on.
    #[cold]
    pub(super) fn change_links(&mut self, first: u32, now: Time) {
        let Some(mut failures) = self.failures.take() else { return };
        let due = failures.changes[first as usize..].iter().take_while(|change| change.time == now);
        for LinkChange { port, up, .. } in due.copied().collect::<Vec<_>>() {
            failures.down[port as usize] = !up;
            if !up {
                failures.failed[port as usize] = Some(now);
                if self.lazy {
                    self.catch_up::<false>(port, now);
                }
                self.flush(port, now);
            }
        }
        self.routes.rebuild(&failures.topology, &failures.down);
        self.failures = Some(failures);
    }

    /// Loses everything that waits at a port.
    fn flush(&mut self, number: u32, now: Time) {
        let mut time = now;
        loop {
            let port = &mut self.ports[number as usize];
            if port.waiting == 0 {
                break;
            }
            if port.queue.stores_handles() {
                let Handle { number: packet, size } = port.take_next();
                self.lose_waiting(number, packet, size);
                continue;
            }
            match port.queue.dequeue(false, time) {
                Dequeued::Packet { packet, .. } => {
                    port.waiting -= 1;
                    port.backlog -= u64::from(packet.size);
                    if self.watched {
                        let scheduler = port.queue.inspect();
                        self.observer.on_link_down(PortId(number), (&packet).into(), scheduler, now);
                    }
                    self.lose_waiting(number, packet.id as u32, packet.size);
                }
                Dequeued::Dropped { packet, reason } => {
                    port.waiting -= 1;
                    port.backlog -= u64::from(packet.size);
                    self.give_up(number, &packet, reason, now);
                }
                // What it holds back is lost as well.
                Dequeued::NotBefore(later) if later > time => time = later,
                Dequeued::NotBefore(_) | Dequeued::Empty => {
                    // It keeps what it admitted: the accounts will show it at once.
                    self.next_check = 0;
                    break;
                }
            }
        }
        self.ports[number as usize].held_back = false;
    }

    fn lose_waiting(&mut self, number: u32, packet: u32, size: u32) {
        self.note_loss(packet, u64::from(number) << 8 | WAITING);
        let port = &mut self.ports[number as usize];
        port.link_down_packets += 1;
        port.dropped_bytes += u64::from(size);
        self.counters.dropped += 1;
        self.counters.dropped_at_source += u64::from(port.at_host);
        self.free_packets.push(packet);
    }

    /// Whether the packet that should reach the far end of a port's link now is lost, since the link failed while the packet was
    /// on the wire.
    #[cold]
    pub(super) fn lost_on_wire(&mut self, number: u32, packet: u32, now: Time) -> bool {
        let failed = self.failures.as_ref().and_then(|failures| failures.failed[number as usize]);
        let Some(failed) = failed else { return false };
        let port = &mut self.ports[number as usize];
        let under_way = port.serialisation(self.packets[packet as usize].size, self.rounding) + port.delay;
        let start = now.as_ps() - under_way.as_ps();
        if start > failed.as_ps() || failed >= now {
            return false;
        }
        port.lost_on_wire_packets += 1;
        self.counters.lost_on_wire += 1;
        self.note_loss(packet, u64::from(number) << 8 | ON_WIRE);
        self.free_packets.push(packet);
        true
    }

    /// No way leads to where a packet wants to go.
    #[cold]
    pub(super) fn lose_unreachable(&mut self, packet: u32) {
        self.counters.unreachable += 1;
        self.note_loss(packet, UNREACHABLE);
        self.free_packets.push(packet);
    }
}
