//! Links that fail and are repaired during a run.
//!
//! If a direction of a link fails, it loses the packets that wait at its port and those on its wire: every packet whose
//! last bit has not arrived. Routes are recomputed at the same time, without delay; packets without a path are lost
//! until a repair. The port's scheduler keeps its state. Flows keep their hash, so flows over the failed link take
//! other paths. Other flows at the same switch may do so as well, since the number of equal next hops has changed.
//! Senders detect the failure only by their own timers and acknowledgements.

use super::error::ConfigError;
use super::topology::Topology;
use pifolab_units::{Span, Time};

/// One direction of a link goes down or comes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkChange {
    /// The time of the change.
    pub time: Time,
    /// The port: the position of the direction in the topology's links.
    pub port: u32,
    /// Whether it is up from this time on.
    pub up: bool,
}

/// The present, past and future failures of a run.
#[derive(Debug)]
pub(super) struct Failures {
    topology: Topology,
    /// In order of time.
    changes: Vec<LinkChange>,
    down: Vec<bool>,
    /// The time of the last failure of each port.
    failed: Vec<Option<Time>>,
}

/// Checks that ports exist and that each alternates between failure and repair.
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

    /// The times of changes, each with the number of its first change.
    pub(super) fn instants(&self) -> impl Iterator<Item = (Time, u32)> {
        let first = |number: usize| number == 0 || self.changes[number - 1].time != self.changes[number].time;
        let numbered = self.changes.iter().enumerate().filter(move |(number, _)| first(*number));
        numbered.map(|(number, change)| (change.time, number as u32))
    }

    /// Applies the changes of `now`, from change number `first` on, and returns the ports that fail.
    pub(super) fn change(&mut self, first: u32, now: Time) -> Vec<u32> {
        let mut lost = Vec::new();
        for LinkChange { port, up, .. } in self.changes[first as usize..].iter().take_while(|change| change.time == now)
        {
            self.down[*port as usize] = !up;
            if !up {
                self.failed[*port as usize] = Some(now);
                lost.push(*port);
            }
        }
        lost
    }

    /// The nodes and links, and which of them are down.
    pub(super) fn state(&self) -> (&Topology, &[bool]) {
        (&self.topology, &self.down)
    }

    /// Whether a packet that would arrive at the far end of a port's link now, `under_way` after it was put on the
    /// wire, was lost because the link failed in between.
    pub(super) fn lost_on_wire(&self, port: u32, under_way: Span, now: Time) -> bool {
        let start = now.as_ps() - under_way.as_ps();
        self.failed[port as usize].is_some_and(|failed| start <= failed.as_ps() && failed < now)
    }
}
