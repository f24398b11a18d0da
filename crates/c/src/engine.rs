//! Bursts of packets through any scheduler, with one virtual call for each burst.

use crate::border::{pifolab_lost, pifolab_packet, pifolab_reason};
use pifolab_units::{Rank, Time};
use sched::{BurstPacket, BurstQueues, Dequeued, DropReason, Enqueued, Inspect, Packet, Scheduler};
use std::any::Any;
use std::collections::VecDeque;
use std::mem::MaybeUninit;

/// A scheduler for the functions of C.
pub(crate) trait Burst: Any {
    /// Offers packets in order until the array of losses has no room for another; returns the number of offered
    /// packets.
    fn enqueue(
        &mut self,
        packets: &[pifolab_packet],
        queues: &mut [MaybeUninit<i32>],
        now: Time,
        losses: &mut Losses<'_>,
    ) -> u32;

    /// Takes packets in the order in which they leave.
    fn dequeue(
        &mut self,
        packets: &mut [MaybeUninit<pifolab_packet>],
        queues: &mut [MaybeUninit<i32>],
        now: Time,
        losses: &mut Losses<'_>,
    ) -> Taken;

    fn inspect(&self) -> &dyn Inspect;

    fn forget_flow(&mut self, flow: u32);
}

/// The result of `dequeue`.
pub(crate) struct Taken {
    pub packets: u32,
    pub not_before: Option<Time>,
}

/// The destination of packets returned unsent: the caller's array or, if that is full, `pending`.
pub(crate) struct Losses<'a> {
    array: &'a mut [MaybeUninit<pifolab_lost>],
    written: usize,
    pending: &'a mut VecDeque<pifolab_lost>,
}

impl<'a> Losses<'a> {
    /// Starts with the packets pending from earlier calls.
    pub fn new(array: &'a mut [MaybeUninit<pifolab_lost>], pending: &'a mut VecDeque<pifolab_lost>) -> Self {
        let mut written = 0;
        while written < array.len() {
            let Some(lost) = pending.pop_front() else { break };
            array[written].write(lost);
            written += 1;
        }
        Self { array, written, pending }
    }

    /// Whether there is room for another packet.
    const fn has_room(&self) -> bool {
        self.written < self.array.len()
    }

    fn push(&mut self, packet: pifolab_packet, reason: DropReason) {
        let reason = match reason {
            DropReason::Admission => pifolab_reason::PIFOLAB_ADMISSION,
            DropReason::Full => pifolab_reason::PIFOLAB_FULL,
            DropReason::PushedOut => pifolab_reason::PIFOLAB_PUSHED_OUT,
            DropReason::RankOutOfRange => pifolab_reason::PIFOLAB_RANK_OUT_OF_RANGE,
            DropReason::Aqm => pifolab_reason::PIFOLAB_AQM,
        };
        let lost = pifolab_lost { packet, reason };
        match self.array.get_mut(self.written) {
            Some(place) => {
                place.write(lost);
                self.written += 1;
            }
            None => self.pending.push_back(lost),
        }
    }

    /// The number of filled places of the caller's array.
    pub const fn written(&self) -> u32 {
        self.written as u32
    }
}

const fn handed(packet: &Packet) -> pifolab_packet {
    pifolab_packet { index: packet.id, rank: packet.rank.get(), flow: packet.flow, size: packet.size }
}

/// A decider with queues of C's packet descriptors.
pub(crate) struct Decided(pub Box<dyn BurstQueues>);

const _: () = {
    assert!(size_of::<BurstPacket>() == size_of::<pifolab_packet>());
    assert!(align_of::<BurstPacket>() == align_of::<pifolab_packet>());
    assert!(std::mem::offset_of!(BurstPacket, id) == std::mem::offset_of!(pifolab_packet, index));
    assert!(std::mem::offset_of!(BurstPacket, rank) == std::mem::offset_of!(pifolab_packet, rank));
    assert!(std::mem::offset_of!(BurstPacket, flow) == std::mem::offset_of!(pifolab_packet, flow));
    assert!(std::mem::offset_of!(BurstPacket, size) == std::mem::offset_of!(pifolab_packet, size));
};

impl Burst for Decided {
    fn enqueue(
        &mut self,
        packets: &[pifolab_packet],
        queues: &mut [MaybeUninit<i32>],
        _now: Time,
        losses: &mut Losses<'_>,
    ) -> u32 {
        if !losses.has_room() {
            return 0;
        }
        // SAFETY: both types have the same layout, and any numbers are valid.
        let packets = unsafe { std::slice::from_raw_parts(packets.as_ptr().cast::<BurstPacket>(), packets.len()) };
        let refused = &mut |packet: &BurstPacket, reason| {
            let BurstPacket { id, rank, flow, size } = *packet;
            losses.push(pifolab_packet { index: id, rank, flow, size }, reason);
            losses.has_room()
        };
        self.0.offer_all(packets, queues, refused) as u32
    }

    fn dequeue(
        &mut self,
        packets: &mut [MaybeUninit<pifolab_packet>],
        queues: &mut [MaybeUninit<i32>],
        _now: Time,
        losses: &mut Losses<'_>,
    ) -> Taken {
        if !losses.has_room() {
            return Taken { packets: 0, not_before: None };
        }
        // SAFETY: both types have the same layout.
        let packets = unsafe { std::slice::from_raw_parts_mut(packets.as_mut_ptr().cast(), packets.len()) };
        Taken { packets: self.0.pop_all(packets, queues) as u32, not_before: None }
    }

    fn inspect(&self) -> &dyn Inspect {
        &*self.0
    }

    fn forget_flow(&mut self, _flow: u32) {}
}

impl<S: Scheduler + 'static> Burst for S {
    fn enqueue(
        &mut self,
        packets: &[pifolab_packet],
        queues: &mut [MaybeUninit<i32>],
        now: Time,
        losses: &mut Losses<'_>,
    ) -> u32 {
        for (at, offered) in packets.iter().enumerate() {
            if !losses.has_room() {
                return at as u32;
            }
            let pifolab_packet { index, rank: carried, flow, size } = *offered;
            let packet = Packet { id: index, flow, size, rank: Rank::saturating(carried), arrival: now };
            let queue = match Scheduler::enqueue(self, packet, now) {
                Enqueued::Admitted { queue, .. } => queue as i32,
                Enqueued::Evicted { queue, victims, .. } => {
                    for victim in victims.iter() {
                        losses.push(handed(victim), DropReason::PushedOut);
                    }
                    queue as i32
                }
                Enqueued::Dropped { packet, reason } => {
                    losses.push(handed(&packet), reason);
                    -1
                }
            };
            if let Some(place) = queues.get_mut(at) {
                place.write(queue);
            }
        }
        packets.len() as u32
    }

    fn dequeue(
        &mut self,
        packets: &mut [MaybeUninit<pifolab_packet>],
        queues: &mut [MaybeUninit<i32>],
        now: Time,
        losses: &mut Losses<'_>,
    ) -> Taken {
        let mut taken = 0;
        let mut not_before = None;
        while taken < packets.len() && losses.has_room() {
            match Scheduler::dequeue(self, now) {
                Dequeued::Packet { packet, queue } => {
                    packets[taken].write(handed(&packet));
                    if let Some(place) = queues.get_mut(taken) {
                        place.write(queue as i32);
                    }
                    taken += 1;
                }
                Dequeued::Dropped { packet, reason } => losses.push(handed(&packet), reason),
                Dequeued::NotBefore(time) => {
                    not_before = Some(time);
                    break;
                }
                Dequeued::Empty => break,
            }
        }
        Taken { packets: taken as u32, not_before }
    }

    fn inspect(&self) -> &dyn Inspect {
        self
    }

    fn forget_flow(&mut self, flow: u32) {
        Scheduler::forget_flow(self, flow);
    }
}
