//! Vectors, decision by decision, through the node: every packet becomes a frame in an mbuf, which is read, ranked and offered.

use crate::node::{Node, Opaque, free, node_bytes, node_frame, node_offer, node_take};
use pifolab_c::{PIFOLAB_FLOWS, pifolab_packet, pifolab_reader, pifolab_reason, pifolab_scheduler};
use pifolab_dataplane::conformance::Replay;
use pifolab_dataplane::switch::STOP;
use pifolab_dataplane::switch::conformance::{FLOWS, Wire, rank_reader, replay_file_through};
use pifolab_dataplane::{Error, Result};
use pifolab_frames::flows::FlowTable;
use pifolab_registry::usual_form;
use pifolab_sched::params::ParamError;
use pifolab_sched::{Dequeued, DropReason, Enqueued, Inspect, Packet, Victims};
use pifolab_units::{Rank, Span, Time};
use serde_json::json;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

struct Mbufs {
    node: Box<Node>,
    pool: *mut Opaque,
    /// Results of the last call of the scheduler that are not returned yet.
    answers: VecDeque<Dequeued>,
}

// SAFETY: as for the node.
unsafe impl Send for Mbufs {}

fn packet(carried: &pifolab_packet) -> Packet {
    let rank = Rank::new(carried.rank).expect("the scheduler has taken it");
    Packet { id: carried.index, flow: carried.flow, size: carried.size, rank, arrival: Time::ZERO }
}

fn reason(reason: pifolab_reason) -> DropReason {
    match reason {
        pifolab_reason::PIFOLAB_ADMISSION => DropReason::Admission,
        pifolab_reason::PIFOLAB_FULL => DropReason::Full,
        pifolab_reason::PIFOLAB_PUSHED_OUT => DropReason::PushedOut,
        pifolab_reason::PIFOLAB_RANK_OUT_OF_RANGE => DropReason::RankOutOfRange,
        pifolab_reason::PIFOLAB_AQM => DropReason::Aqm,
    }
}

impl Mbufs {
    fn frame_of(&self, bytes: &[u8]) -> *mut Opaque {
        // SAFETY: a pool of DPDK's, and bytes that are copied.
        let frame = unsafe { node_frame(self.pool, bytes.as_ptr(), bytes.len() as u32) };
        assert!(!frame.is_null(), "the pool has room for the frames of a vector");
        frame
    }

    fn lost(&self) -> impl Iterator<Item = (Packet, DropReason)> {
        self.node.lost[..self.node.lost_count as usize].iter().map(|lost| (packet(&lost.packet), reason(lost.reason)))
    }
}

impl Wire for Mbufs {
    fn introduce_flow(&mut self, frame: &[u8]) {
        let mut packet = pifolab_packet::default();
        let (bytes, length) = (frame.as_ptr(), frame.len() as u32);
        // SAFETY: arrays of one; the clock of the reader alone.
        let status = unsafe {
            pifolab_c::pifolab_read(
                self.node.reader,
                self.node.scheduler,
                &raw const bytes,
                &raw const length,
                1,
                self.node.now_ps(),
                &raw mut packet,
                std::ptr::null_mut(),
            )
        };
        assert_eq!(status, pifolab_c::pifolab_status::PIFOLAB_OK, "a frame in memory can be read");
    }

    fn offer(&mut self, frame: &[u8], now: Time) -> Enqueued {
        let mbuf = self.frame_of(frame);
        // SAFETY: one frame, which the node takes.
        let state = unsafe { node_offer(&raw mut *self.node, &raw const mbuf, 1, now.as_ps()) };
        assert_eq!(state, crate::node::state::GOES_ON, "a frame with a rank and a time in order is offered");
        let offered = packet(&self.node.packets[0]);
        let mut lost = self.lost();
        match u32::try_from(self.node.queues[0]) {
            Err(_) => {
                let (packet, reason) = lost.next().expect("a refused frame is handed back");
                Enqueued::Dropped { packet, reason }
            }
            Ok(queue) => match lost.next() {
                None => Enqueued::Admitted { queue, rank: offered.rank },
                Some((first, _)) => {
                    let mut victims = Victims::one(first);
                    lost.for_each(|(victim, _)| victims.push(victim));
                    Enqueued::Evicted { queue, rank: offered.rank, victims }
                }
            },
        }
    }

    fn take(&mut self, now: Time) -> Dequeued {
        if let Some(answer) = self.answers.pop_front() {
            return answer;
        }
        // SAFETY: the node is whole.
        unsafe { node_take(&raw mut *self.node, 1, now.as_ps()) };
        let dropped = self.lost().map(|(packet, reason)| Dequeued::Dropped { packet, reason });
        let mut answers: VecDeque<_> = dropped.collect();
        let node = &self.node;
        answers.push_back(match (node.count, node.not_before) {
            (0, 0) => Dequeued::Empty,
            (0, ps) => Dequeued::NotBefore(Time::from_ps(ps)),
            _ => Dequeued::Packet { packet: packet(&node.packets[0]), queue: node.queues[0] as u32 },
        });
        self.answers = answers;
        self.answers.pop_front().expect("there is one")
    }

    fn frame(&self, name: u64) -> &[u8] {
        // SAFETY: mbufs of the pool are never unmapped, and the harness reads no further than a frame is long.
        unsafe { std::slice::from_raw_parts(node_bytes(name as *const Opaque), 58) }
    }

    fn release(&mut self, name: u64) {
        // SAFETY: the scheduler has handed it out, and nobody else has it.
        unsafe { free(name as *mut Opaque) };
    }

    fn scheduler(&self) -> &dyn Inspect {
        self.node.scheduler().inspect()
    }
}

fn replay(path: &Path, pool: *mut Opaque) -> Result<Replay> {
    const { assert!(FLOWS <= PIFOLAB_FLOWS) };
    replay_file_through(path, |entry, args| -> Result<Box<dyn Wire>, ParamError> {
        let scheduler = pifolab_scheduler::of_parts((entry.read)(args)?.parts(usual_form()));
        let flows = FlowTable::new(FLOWS, Span::ZERO);
        let reader = pifolab_reader::of(rank_reader(), Rank::MAX, Some(flows));
        Ok(Box::new(Mbufs { node: Node::new(scheduler, reader, &STOP), pool, answers: VecDeque::new() }))
    })
}

/// Replays vectors through the node; prints the counts in a line, and another one with what was skipped.
pub fn run(files: &[PathBuf], pool: *mut Opaque, as_json: bool) -> Result<()> {
    let (mut vectors, mut operations, mut mismatches, mut skipped, mut first) = (0, 0, 0, Vec::new(), None);
    for path in files {
        match replay(path, pool)? {
            Replay::Skipped(reason) => skipped.push((path.display().to_string(), reason)),
            Replay::Done(outcome) => {
                vectors += 1;
                operations += outcome.operations;
                mismatches += outcome.mismatches;
                first = first.or(outcome.first.map(|mismatch| mismatch.to_string()));
            }
        }
    }
    if as_json {
        println!(
            "{}",
            json!({ "through": "dpdk", "vectors": vectors, "operations": operations, "mismatches": mismatches,
                "skipped": skipped, "first": first })
        );
    } else {
        if !skipped.is_empty() {
            let said: Vec<_> = skipped.iter().map(|(path, reason)| format!("{path} ({reason})")).collect();
            println!("skipped: {}", said.join(", "));
        }
        println!(
            "dpdk: {vectors} vectors, {operations} operations, {mismatches} mismatches; {} skipped",
            skipped.len()
        );
    }
    first.map_or(Ok(()), |first| Err(Error::Failed(format!("the first mismatch:\n{first}"))))
}
