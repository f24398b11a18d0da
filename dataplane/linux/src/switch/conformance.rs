//! Vectors, decision by decision, through the switch's own path: every packet becomes an Ethernet frame that the port
//! stores, parses, ranks and offers to the scheduler, and comes back as the frame that the port would send.

use super::arena::Slot;
use super::port::{Frame, Port, PortConfig};
use crate::rank::RankSource;
use crate::replay::Replay;
use crate::{Error, Result};
use pifolab_frames::frame::udp_frame;
use pifolab_frames::reader::RankReader;
use pifolab_registry::conformance::replay_through;
use pifolab_registry::{BoxedScheduler, SchedulerEntry, Traits};
use pifolab_sched::params::{Args as Params, ParamError};
use pifolab_sched::{Capacity, Dequeued, Enqueued, Inspect, Packet, Scheduler, Victims, inspect_inside};
use pifolab_units::{Bytes, Rank, Rate, Span, Time};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The payload: the rank and the packet's number.
const PAYLOAD: usize = 16;
/// The shortest frame with such a payload.
const SHORTEST: u32 = 42 + PAYLOAD as u32;
/// The longest.
pub const LONGEST: u32 = 9216;
/// Flow numbers travel as UDP ports.
pub const FLOWS: u32 = 1 << 15;

/// What a scheduler looks at beside the rank. What it does not look at need not fit into a frame.
#[derive(Clone, Copy)]
struct Looks {
    at_flows: bool,
    at_bytes: bool,
}

/// Why a vector cannot be put into frames, if so.
type Reason = Arc<Mutex<Option<String>>>;

/// A data plane that carries frames, and is asked for each decision.
pub trait Wire: Send {
    /// Numbers the flow of a frame.
    fn introduce_flow(&mut self, frame: &[u8]);
    /// Offers a frame, whose rank is the first eight bytes of its payload. The packets of the answer have the data plane's own names.
    fn offer(&mut self, frame: &[u8], now: Time) -> Enqueued;
    /// The next frame, or what else the scheduler says.
    fn take(&mut self, now: Time) -> Dequeued;
    /// The bytes of a frame that is held, or was until the last call.
    fn frame(&self, name: u64) -> &[u8];
    /// A frame that was taken has been looked at.
    fn release(&mut self, name: u64);
    /// Its scheduler.
    fn scheduler(&self) -> &dyn Inspect;
}

/// What a [`Wire`] reads ranks with.
pub fn rank_reader() -> RankReader {
    RankReader::new(Some(RankSource::Payload { offset: 0, width: 8 }), Rank::MAX)
}

impl Wire for Port<BoxedScheduler> {
    fn introduce_flow(&mut self, frame: &[u8]) {
        Port::introduce_flow(self, frame);
    }
    fn offer(&mut self, frame: &[u8], now: Time) -> Enqueued {
        let outcome = Port::offer(self, Frame::whole(frame), now).expect("a whole IP frame is always offered");
        // Freed slots keep their bytes until the next frame comes.
        self.settle(&outcome);
        outcome
    }
    fn take(&mut self, now: Time) -> Dequeued {
        Port::take(self, now)
    }
    fn frame(&self, name: u64) -> &[u8] {
        Port::frame(self, name as Slot)
    }
    fn release(&mut self, name: u64) {
        Port::release(self, name as Slot);
    }
    fn scheduler(&self) -> &dyn Inspect {
        let scheduler: &BoxedScheduler = self.scheduler();
        scheduler
    }
}

/// A data plane, wearing the interface of a scheduler.
struct Wired {
    port: Box<dyn Wire>,
    /// Frames of one vector may have any size; the payload after the number is padding.
    payload: Vec<u8>,
    next_flow: u32,
    looks: Looks,
    /// Flow and size of the packets held, by number: frames carry them only where the scheduler looks at them.
    held: HashMap<u64, (u32, u32)>,
    reason: Reason,
}

impl Wired {
    fn new(traits: Traits, port: Box<dyn Wire>, reason: Reason) -> Self {
        let at_bytes = traits.reads_flows || matches!(port.scheduler().capacity(), Capacity::Bytes(_));
        let looks = Looks { at_flows: traits.reads_flows, at_bytes };
        Self { port, payload: vec![0; LONGEST as usize], next_flow: 0, looks, held: HashMap::new(), reason }
    }

    /// The frame that stands for a packet.
    fn frame(&mut self, rank: Rank, id: u64, flow: u32, size: u32) -> Vec<u8> {
        self.payload[..8].copy_from_slice(&rank.get().to_be_bytes());
        self.payload[8..16].copy_from_slice(&id.to_be_bytes());
        udp_frame(0, flow as u16, &self.payload[..(size - 42) as usize])
    }

    /// The packet that a frame stands for, which leaves.
    fn packet(&mut self, carried: &Packet) -> Packet {
        let frame = self.port.frame(carried.id);
        let id = u64::from_be_bytes(std::array::from_fn(|i| frame[50 + i]));
        let (flow, size) = self.held.remove(&id).expect("a frame that leaves came");
        Packet { id, flow, size, rank: carried.rank, arrival: carried.arrival }
    }

    fn give_up(&self, reason: String) {
        self.reason.lock().expect("no thread panics while it holds the lock").get_or_insert(reason);
    }
}

impl Scheduler for Wired {
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        let refused = |packet| Enqueued::Dropped { packet, reason: pifolab_sched::DropReason::Full };
        // An option may look at flows where its scheduler does not by default: they travel wherever they fit.
        let flow = if self.looks.at_flows || packet.flow < FLOWS { packet.flow } else { 0 };
        if flow >= FLOWS {
            self.give_up(format!("flow {flow}: the harness numbers flows below {FLOWS}"));
            return refused(packet);
        }
        let size = if self.looks.at_bytes { packet.size } else { SHORTEST };
        if !(SHORTEST..=LONGEST).contains(&size) {
            self.give_up(format!("{size} bytes: a frame with rank and number has from {SHORTEST} to {LONGEST} bytes"));
            return refused(packet);
        }
        // The port numbers flows as they appear; sketches hash the number, so they must appear in order.
        while self.next_flow <= flow {
            let frame = self.frame(Rank::ZERO, 0, self.next_flow, SHORTEST);
            self.port.introduce_flow(&frame);
            self.next_flow += 1;
        }
        let frame = self.frame(packet.rank, packet.id, flow, size);
        self.held.insert(packet.id, (packet.flow, packet.size));
        match self.port.offer(&frame, now) {
            Enqueued::Admitted { queue, rank } => Enqueued::Admitted { queue, rank },
            Enqueued::Evicted { queue, rank, victims } => {
                let mut leaving = victims.iter().map(|victim| self.packet(victim));
                let mut gone = Victims::one(leaving.next().expect("an eviction has a victim"));
                leaving.for_each(|victim| gone.push(victim));
                Enqueued::Evicted { queue, rank, victims: gone }
            }
            Enqueued::Dropped { packet, reason } => Enqueued::Dropped { packet: self.packet(&packet), reason },
        }
    }

    fn enqueue_eligible(&mut self, packet: Packet, eligible: Time, now: Time) -> Enqueued {
        if eligible > Time::ZERO {
            self.give_up("frames carry no eligible time".to_owned());
        }
        self.enqueue(packet, now)
    }

    fn dequeue(&mut self, now: Time) -> Dequeued {
        match self.port.take(now) {
            Dequeued::Packet { packet, queue } => {
                let sent = self.packet(&packet);
                self.port.release(packet.id);
                Dequeued::Packet { packet: sent, queue }
            }
            Dequeued::Dropped { packet, reason } => Dequeued::Dropped { packet: self.packet(&packet), reason },
            other => other,
        }
    }
}

impl Inspect for Wired {
    inspect_inside!(self => self.port.scheduler());
}

/// The switch's port.
fn port(entry: &'static SchedulerEntry, args: Params) -> Result<Box<dyn Wire>, ParamError> {
    let config = PortConfig {
        rank: rank_reader(),
        not_ip_share: 0,
        rate: Rate::from_gbps(1),
        overhead: Bytes(0),
        delay: Span::ZERO,
        frame_bytes: LONGEST as usize,
        flows: FLOWS,
        flow_timeout: Span::ZERO,
    };
    Ok(Box::new(Port::new(entry.build(args)?, config)))
}

/// Replays one vector through the switch's port.
pub fn replay_file(path: &Path) -> Result<Replay> {
    replay_file_through(path, port)
}

/// Replays one vector through what `wire` makes of the scheduler.
pub fn replay_file_through(
    path: &Path,
    wire: impl Fn(&'static SchedulerEntry, Params) -> Result<Box<dyn Wire>, ParamError>,
) -> Result<Replay> {
    let file = path.display().to_string();
    let text = fs::read(path).map_err(|error| Error::Usage(format!("{file}: cannot be read: {error}")))?;
    let reason = Reason::default();
    let build = |entry: &'static SchedulerEntry, args: Params| -> Result<BoxedScheduler, ParamError> {
        Ok(Box::new(Wired::new(entry.traits, wire(entry, args)?, reason.clone())))
    };
    let outcome = replay_through(&file, &text, &build).map_err(|error| Error::Usage(error.to_string()))?;
    let reason = reason.lock().expect("no thread panics while it holds the lock").take();
    Ok(reason.map_or(Replay::Done(outcome), Replay::Skipped))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_vector_that_frames_can_carry_agrees() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
        let (mut replayed, mut skipped) = (0, Vec::new());
        for entry in fs::read_dir(&folder).expect("the project ships vectors") {
            let path = entry.expect("a readable folder").path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            match replay_file(&path).expect("a valid vector") {
                Replay::Done(outcome) => {
                    assert_eq!(outcome.mismatches, 0, "{}", outcome.first.expect("a mismatch is told"));
                    replayed += 1;
                }
                Replay::Skipped(reason) => skipped.push((path, reason)),
            }
        }
        assert!(replayed > 20, "only {replayed} vectors were replayed; skipped: {skipped:?}");
        for (path, reason) in skipped {
            assert!(reason.contains("eligible") || reason.contains("bytes"), "{}: {reason}", path.display());
        }
    }

    #[test]
    fn a_decision_that_differs_is_seen() {
        let text = br#"{"scheduler":"fifo","config":{"capacity":1},
            "ops":[["enq",0,5],["enq",1,3],["deq"]],"expect":[["adm",0],["adm",0],["deq",0]]}"#;
        let build = |entry: &'static SchedulerEntry, args: Params| -> Result<BoxedScheduler, ParamError> {
            Ok(Box::new(Wired::new(entry.traits, port(entry, args)?, Reason::default())))
        };
        let outcome = replay_through("wrong", text, &build).expect("a valid vector");
        assert_eq!((outcome.operations, outcome.mismatches), (3, 1));
    }
}
