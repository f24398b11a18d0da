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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_bursts;
    use pifolab_registry::{find_scheduler, text, usual_form};
    use sched::InspectExt;

    fn drawn(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % below
    }

    #[test]
    fn a_fifo_passes_a_burst_at_once_as_it_would_pass_each_packet() {
        let state = &mut 45;
        for _ in 0..3000 {
            let packets = drawn(state, 2) == 0;
            let most = if packets { 1 + drawn(state, 200) } else { 64 + drawn(state, 30_000) };
            let entry = find_scheduler("fifo").expect("it is in the library");
            let params = format!("capacity_{} = {most}", if packets { "packets" } else { "bytes" });
            let args = text::arguments(entry.info, &params).expect("parameters");
            let mut fifo = in_bursts((entry.read)(args).expect("parameters").parts(usual_form()));
            let mut deque: VecDeque<pifolab_packet> = VecDeque::new();
            let mut index = 0;
            for _ in 0..12 {
                let burst: Vec<_> = (0..drawn(state, 65))
                    .map(|_| {
                        index += 1;
                        let (rank, flow, size) = (drawn(state, 7), drawn(state, 5) as u32, drawn(state, 1500) as u32);
                        pifolab_packet { index, rank, flow, size }
                    })
                    .collect();
                let lost_room = 1 + drawn(state, 64) as usize;
                let (mut expected_queues, mut expected_lost) = (Vec::new(), Vec::new());
                for packet in &burst {
                    if expected_lost.len() == lost_room {
                        break;
                    }
                    let bytes: u64 = deque.iter().map(|held| u64::from(held.size)).sum();
                    let used = if packets { deque.len() as u64 + 1 } else { bytes + u64::from(packet.size) };
                    expected_queues.push(if used <= most { 0 } else { -1 });
                    if used <= most { deque.push_back(*packet) } else { expected_lost.push(packet.index) }
                }
                let (mut queues, mut lost) = ([MaybeUninit::new(7); 64], [const { MaybeUninit::uninit() }; 64]);
                let mut pending = VecDeque::new();
                let mut losses = Losses::new(&mut lost[..lost_room], &mut pending);
                let offered = fifo.enqueue(&burst, &mut queues, Time::ZERO, &mut losses);
                let written = losses.written() as usize;
                assert_eq!(offered as usize, expected_queues.len());
                // SAFETY: as many losses are written, and all queues are initialised.
                let lost: Vec<_> = lost[..written].iter().map(|lost| unsafe { lost.assume_init_ref() }).collect();
                assert!(lost.iter().all(|lost| lost.reason == pifolab_reason::PIFOLAB_FULL));
                assert_eq!(lost.iter().map(|lost| lost.packet.index).collect::<Vec<_>>(), expected_lost);
                // SAFETY: as above.
                let queues = queues.map(|queue| unsafe { queue.assume_init() });
                assert_eq!(queues[..offered as usize], expected_queues[..]);

                let take = drawn(state, 65) as usize;
                let (mut taken, mut queues) = ([const { MaybeUninit::uninit() }; 64], [MaybeUninit::new(7); 64]);
                let mut room = [const { MaybeUninit::uninit() }; 1];
                let mut losses = Losses::new(&mut room, &mut pending);
                let count = fifo.dequeue(&mut taken[..take], &mut queues, Time::ZERO, &mut losses).packets as usize;
                assert_eq!(count, take.min(deque.len()));
                for (packet, queue) in taken.iter().zip(&queues).take(count) {
                    // SAFETY: as many packets and queues are written.
                    let (packet, queue) = unsafe { (packet.assume_init_ref(), queue.assume_init()) };
                    let pifolab_packet { index, rank, flow, size } = *packet;
                    let expected = deque.pop_front().expect("it is held");
                    assert_eq!(
                        (index, rank, flow, size),
                        (expected.index, expected.rank, expected.flow, expected.size)
                    );
                    assert_eq!(queue, 0);
                }
                let bytes: u64 = deque.iter().map(|held| u64::from(held.size)).sum();
                assert_eq!((fifo.inspect().len(), fifo.inspect().backlog().0), (deque.len(), bytes));
            }
        }
    }
}
