//! The fate of each packet of a trace.

use crate::machine::{Machine, Subject};
use crate::step::Probe;
use crate::trace::Trace;
use pifolab_sched::{Dequeued, DropReason, Enqueued};

/// The fate of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Sent.
    Sent {
        /// The number of packets that left before.
        place: u32,
    },
    /// Refused on arrival, pushed out by a later arrival, or dropped at dequeue.
    Dropped(DropReason),
}

/// The result of a trace for one scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The ranks, in the order of arrival.
    pub ranks: Vec<u64>,
    /// The fate of each packet.
    pub fates: Vec<Fate>,
    /// The number of packets that had left before each arrival.
    pub left_before: Vec<u32>,
    /// The sent packets, by their index in the trace.
    pub sent: Vec<u32>,
    /// The capacity in packets, if the scheduler has one.
    pub capacity: Option<u32>,
}

impl Outcome {
    /// Runs `trace` through `subject` and drains it. `window` holds the initial ranks of the window.
    pub fn of(subject: &dyn Subject, trace: &Trace, window: Option<&[u64]>) -> Self {
        let mut machine = subject.start(window);
        let mut outcome = Self::default();
        outcome.run(machine.as_mut(), trace);
        outcome
    }

    /// Runs `trace` through a newly started machine.
    pub(crate) fn run(&mut self, machine: &mut dyn Machine, trace: &Trace) {
        self.ranks.clear();
        self.ranks.extend_from_slice(&trace.ranks);
        self.fates.clear();
        self.left_before.clear();
        self.sent.clear();
        self.capacity = match machine.inspect().capacity() {
            pifolab_sched::Capacity::Packets(packets) => Some(packets),
            _ => None,
        };
        for (index, rank) in trace.ranks.iter().enumerate() {
            self.left_before.push(self.sent.len() as u32);
            // Every packet that is not dropped is finally sent.
            self.fates.push(Fate::Sent { place: u32::MAX });
            match machine.enqueue(Probe::new(index, *rank)) {
                Enqueued::Admitted { .. } => {}
                Enqueued::Evicted { victims, .. } => {
                    for victim in victims.iter() {
                        self.fates[victim.place as usize] = Fate::Dropped(DropReason::PushedOut);
                    }
                }
                Enqueued::Dropped { reason, .. } => self.fates[index] = Fate::Dropped(reason),
            }
            for _ in 0..trace.departures_after(index) {
                if !self.depart(machine) {
                    break;
                }
            }
        }
        while self.depart(machine) {}
    }

    /// Removes one packet; `false` if the scheduler is empty.
    fn depart(&mut self, machine: &mut dyn Machine) -> bool {
        loop {
            match machine.dequeue() {
                Dequeued::Packet { packet, .. } => {
                    self.fates[packet.place as usize] = Fate::Sent { place: self.sent.len() as u32 };
                    self.sent.push(packet.place);
                    return true;
                }
                Dequeued::Dropped { packet, reason } => self.fates[packet.place as usize] = Fate::Dropped(reason),
                Dequeued::NotBefore(_) | Dequeued::Empty => return false,
            }
        }
    }

    /// The packets that left while `packet` waited; empty if it was dropped.
    pub fn overtakers(&self, packet: usize) -> &[u32] {
        match self.fates[packet] {
            Fate::Sent { place } => &self.sent[self.left_before[packet] as usize..place as usize],
            Fate::Dropped(_) => &[],
        }
    }
}
