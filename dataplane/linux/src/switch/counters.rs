//! What became of every frame.

use pifolab_sched::DropReason;
use serde::Serialize;

/// Frames and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Frames.
    pub packets: u64,
    /// Their bytes, from the first MAC address to the end of the payload.
    pub bytes: u64,
}

impl Tally {
    /// Counts one frame of `bytes` bytes.
    #[inline]
    pub fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// What became of the frames of the scheduled direction. Every received frame is in exactly one of: bypassed,
/// dropped_not_ip, admitted, a drop reason, oversized, no_slot; every admitted one is later sent, evicted, dropped at dequeue, lost at a
/// change of parameters, or waiting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Taken from the ring.
    pub received: Tally,
    /// Not IP (ARP and the like): past the scheduler, in a share of the link of their own.
    pub bypassed: Tally,
    /// Not IP, more than their share of the link carries: dropped.
    pub dropped_not_ip: Tally,
    /// Accepted by the scheduler.
    pub admitted: Tally,
    /// Refused by the scheduler's admission test.
    pub dropped_admission: Tally,
    /// Refused because there was no room.
    pub dropped_full: Tally,
    /// Pushed out by a later arrival.
    pub evicted: Tally,
    /// Refused because the rank is outside the scheduler's rank space.
    pub dropped_rank_out_of_range: Tally,
    /// Refused by queue management.
    pub dropped_aqm: Tally,
    /// Accepted, then given up at dequeue.
    pub dropped_at_dequeue: Tally,
    /// Accepted, then without room when parameters changed.
    pub lost_at_change: Tally,
    /// Put on the link by the scheduler.
    pub dequeued: Tally,
    /// Longer than the interface's MTU allows (segmentation offload of the sender is on): dropped.
    pub oversized: Tally,
    /// No memory slot was free: dropped. Only possible for capacities in bytes, filled with tiny frames.
    pub no_slot: Tally,
    /// IP frames that carry no rank where it should stand; they get the rank that `--rank-missing` says.
    pub unranked: u64,
    /// Frames that are not IP and got a rank (`--rank-not-ip`).
    pub not_ip: u64,
    /// Times that a flow was forgotten: for a new one, which got the number of the one that was silent longest, or since it was silent
    /// for longer than `--flow-timeout-s`.
    pub flows_forgotten: u64,
    /// Admitted per queue, queue 0 (highest priority) first.
    pub admitted_per_queue: Vec<u64>,
    /// The longest that a frame left later than its due time, in microseconds: how far the processor lagged behind.
    pub worst_lag_us: u64,
    /// Frames that left more than 100 us late.
    pub late: u64,
}

impl Counters {
    /// Nothing yet, for a scheduler of `queues` queues.
    pub fn new(queues: usize) -> Self {
        Self { admitted_per_queue: vec![0; queues], ..Self::default() }
    }

    /// The tally of an arrival that was refused for `reason`.
    #[inline]
    pub fn refused(&mut self, reason: DropReason) -> &mut Tally {
        match reason {
            DropReason::Admission => &mut self.dropped_admission,
            DropReason::Full => &mut self.dropped_full,
            DropReason::PushedOut => &mut self.evicted,
            DropReason::RankOutOfRange => &mut self.dropped_rank_out_of_range,
            DropReason::Aqm => &mut self.dropped_aqm,
        }
    }

    /// Whether every frame is accounted for, when `waiting` frames are in the scheduler.
    pub fn balance(&self, waiting: u64) -> bool {
        let refused = self.dropped_admission.packets
            + self.dropped_full.packets
            + self.dropped_rank_out_of_range.packets
            + self.dropped_aqm.packets;
        let settled = self.bypassed.packets
            + self.dropped_not_ip.packets
            + self.oversized.packets
            + self.no_slot.packets
            + refused;
        let left = self.dequeued.packets
            + self.evicted.packets
            + self.dropped_at_dequeue.packets
            + self.lost_at_change.packets;
        self.received.packets == settled + self.admitted.packets && self.admitted.packets == left + waiting
    }
}

/// What became of the frames of the direction without a scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RelayCounters {
    /// Taken from the ring.
    pub received: Tally,
    /// Longer than the interface's MTU allows: dropped.
    pub oversized: Tally,
    /// More frames in flight than the delay line holds: dropped.
    pub no_slot: Tally,
}

/// What the kernel reports of one interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InterfaceCounters {
    /// Frames sent out.
    pub sent: Tally,
    /// Frames that the kernel refused to send.
    pub send_failed: u64,
    /// Frames lost before the switch saw them, because the ring was full.
    pub ring_dropped: u64,
}
