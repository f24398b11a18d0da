//! `[switch]`: a P4 program that forwards packets at all switches.

use super::network_fields::SWITCH;
use super::topology::Layout;
use super::written::beside;
use crate::error::SpecError;
use crate::fields::Reader;
use crate::inputs::{note, read_digested};
use crate::registry::switch::{Fabric, SwitchProgram};
use pifolab_params::{Misfit, Table};
use pifolab_sched::{Labels, Packet, Scheduler};
use pifolab_sim::network::{Forwarder, Forwarders, Onward, Topology};
use pifolab_units::Time;
use pifolab_workload::FileError;
use serde_json::Value as Json;
use std::sync::Arc;

/// Reads `[switch]`.
pub(crate) fn read_switch(section: Table, file: &str, layout: &Layout) -> Result<(SwitchProgram, Json), SpecError> {
    let mut reader = Reader::new(section, file, SWITCH)?;
    let program: String = reader.given("program")?;
    let entries: Option<String> = reader.get("entries")?;
    let (rank, marks) = (reader.given("rank")?, reader.given("ecn")?);
    let mut place = |key: &str, path: &str| {
        let at = beside(file, path);
        let ((), digest) = read_digested(&at, |_, _| Ok::<_, FileError>(()))
            .map_err(|error| reader.fault(key, Misfit::of(format_args!("{path:?}"), error.problem)))?;
        note(&mut reader.resolved, key, digest);
        Ok::<String, SpecError>(at.display().to_string())
    };
    let at = place("program", &program)?;
    let entries_at = entries.as_deref().map(|path| place("entries", path)).transpose()?;
    let hosts = layout.topology.hosts;
    let find = |name: &str| match layout.node(name)? {
        host if host < hosts => Err(format!("{name} is a host: expected a switch")),
        node => Ok(node - hosts),
    };
    let switches = layout.topology.nodes - hosts;
    let read = SwitchProgram::read(&at, entries_at.as_deref(), rank, marks, switches, &find);
    let read = read.map_err(|(key, problem)| {
        let path = if key == "program" { &program } else { entries.as_ref().expect("it was read") };
        reader.fault(key, Misfit::of(format_args!("{path:?}"), problem))
    })?;
    Ok((read, reader.finish()?.into()))
}

/// Makes the switches of a run.
pub(crate) fn forwarders(program: SwitchProgram) -> Forwarders {
    Forwarders(Arc::new(move |topology| Box::new(Switches::new(program.fabric(), topology))))
}

/// The switches of a run. The program counts the ports of a switch in the order of its links in the topology.
struct Switches {
    fabric: Fabric,
    hosts: u32,
    /// The ports of each node, by the program's numbers.
    ports_of: Vec<Vec<u32>>,
    /// For each link the node that it comes from, the switch that it leads to, and the program's numbers of the ports at both ends.
    links: Vec<Ends>,
}

#[derive(Clone, Copy)]
struct Ends {
    from: u32,
    to: u32,
    out: u32,
    into: u32,
}

impl Switches {
    fn new(fabric: Fabric, topology: &Topology) -> Self {
        let mut counts = vec![[0, 0]; topology.nodes as usize];
        let mut next = |node: u32, way: usize| {
            let count: &mut u32 = &mut counts[node as usize][way];
            *count += 1;
            *count - 1
        };
        let links = topology.links.iter().map(|link| Ends {
            from: link.from,
            to: link.to,
            out: next(link.from, 0),
            into: next(link.to, 1),
        });
        let links = links.collect();
        Self { fabric, hosts: topology.hosts, ports_of: topology.ports_of(), links }
    }
}

impl Forwarder for Switches {
    fn forward(&mut self, packet: &Packet, labels: &Labels, link: u32, now: Time) -> Option<Onward> {
        let Ends { from, to, into, .. } = self.links[link as usize];
        let (switch, fresh) = (to - self.hosts, from < self.hosts);
        let (port, size) = self.fabric.receive(switch, into, packet, labels, fresh, now)?;
        let Some(&port) = self.ports_of[to as usize].get(port as usize) else {
            self.fabric.forget(switch, packet.id);
            return None;
        };
        Some(Onward { port, size })
    }

    fn around(&mut self, link: u32, inside: Box<dyn Scheduler>) -> Box<dyn Scheduler> {
        let Ends { from, out, .. } = self.links[link as usize];
        self.fabric.around(from - self.hosts, out, inside)
    }

    fn with_frame(&self, packet: u64, read: &mut dyn FnMut(&[u8])) {
        self.fabric.with_frame(packet, read);
    }
}
