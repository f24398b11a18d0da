//! A network cut into parts for several threads, from the view of one part.

use super::events::Packed;
use super::packets::InFlight;
use crate::event_queue::EventQueue;
use crate::network::topology::Topology;
use pifolab_units::Time;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// One part of a network: its nodes with their ports, the packets there and the ends of flows there.
#[derive(Clone, Debug, Default)]
pub(in crate::network) struct Cut {
    /// Its number.
    pub(super) own: u32,
    /// The number of parts; 0 if the network is whole.
    pub(super) parts: u32,
    /// The part of each node.
    part_of: Arc<[u32]>,
}

/// What one part sends to another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mail {
    /// A packet on the link of this port, which reaches the far end at `time`.
    Packet { time: Time, port: u32, packet: InFlight },
    /// A segment of a flow arrived out of order. The sender reads it after a later acknowledgement.
    Sacked { flow: u32, segment: u32 },
    /// The receiver of a flow closes at `time`.
    Close { time: Time, flow: u32 },
}

impl Cut {
    /// The parts of `topology`.
    ///
    /// Each part gets consecutive hosts; all hosts of a switch are in one part. A switch joins the part of most of its
    /// neighbours that already have a part; in a tie, the part with the fewest switches.
    pub(in crate::network) fn of(topology: &Topology, parts: u32) -> Vec<Self> {
        let Topology { hosts, nodes, links } = topology;
        const NONE: u32 = u32::MAX;
        let mut part_of = vec![NONE; *nodes as usize];
        let ports_of = topology.ports_of();
        let neighbours = |node: u32| ports_of[node as usize].iter().map(|port| links[*port as usize].to);
        for host in 0..*hosts {
            for gate in neighbours(host) {
                let part = (u64::from(host) * u64::from(parts) / u64::from(*hosts)) as u32;
                let gate_part = &mut part_of[gate as usize];
                if *gate_part == NONE {
                    *gate_part = part;
                }
                part_of[host as usize] = *gate_part;
            }
        }
        let mut switches = vec![0u32; parts as usize];
        // Each round gives a part to the neighbours of nodes that have one.
        loop {
            let open = (*hosts..*nodes).filter(|node| part_of[*node as usize] == NONE);
            let near = |node: &u32| neighbours(*node).any(|other| part_of[other as usize] != NONE);
            let round: Vec<u32> = open.filter(near).collect();
            if round.is_empty() {
                break;
            }
            for node in round {
                let mut votes = vec![0u32; parts as usize];
                for other in neighbours(node) {
                    if let Some(votes) = votes.get_mut(part_of[other as usize] as usize) {
                        *votes += 1;
                    }
                }
                let best = |part: &u32| (votes[*part as usize], std::cmp::Reverse(switches[*part as usize]));
                let part = (0..parts).max_by_key(best).expect("at least one part");
                part_of[node as usize] = part;
                switches[part as usize] += 1;
            }
        }
        // Nodes that no host can reach have no packets: any part will do.
        let part_of: Arc<[u32]> = part_of.into_iter().map(|part| if part == NONE { 0 } else { part }).collect();
        (0..parts).map(|own| Self { own, parts, part_of: part_of.clone() }).collect()
    }

    /// The part of a node.
    pub(super) fn part(&self, node: u32) -> u32 {
        self.part_of.get(node as usize).copied().unwrap_or(0)
    }

    /// Whether a node belongs to this part.
    pub(super) fn owns(&self, node: u32) -> bool {
        self.part(node) == self.own
    }
}

/// The event queue of one part of a network, and the events of other parts.
#[derive(Debug)]
pub(super) struct Events {
    queue: EventQueue<Packed>,
    /// Arrivals of packets in other parts.
    pub(super) crossing: Vec<(Time, Packed)>,
}

impl Events {
    pub(super) fn new(queue: EventQueue<Packed>) -> Self {
        Self { queue, crossing: Vec::new() }
    }
}

impl Deref for Events {
    type Target = EventQueue<Packed>;

    #[inline(always)]
    fn deref(&self) -> &EventQueue<Packed> {
        &self.queue
    }
}

impl DerefMut for Events {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut EventQueue<Packed> {
        &mut self.queue
    }
}
