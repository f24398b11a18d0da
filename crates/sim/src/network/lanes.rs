//! The packets of a port whose scheduler decides on arrival: the scheduler counts them, the port keeps them, in twelve
//! bytes each.

use pifolab_sched::{DropReason, Scheduler};
use pifolab_units::Rank;

/// A packet's number and size.
type Held = (u32, u32);

/// One bit for each in a word.
const MOST_QUEUES: usize = 64;

/// First-in first-out lists, one for each queue of the scheduler; the first that is not empty is served.
pub(super) struct Lanes {
    occupied: u64,
    /// The first of the places that hold nothing; as many as there are places if there is none.
    free: u32,
    places: Vec<Place>,
    lanes: Box<[Lane]>,
    scheduler: Box<dyn Scheduler>,
}

#[derive(Clone, Copy)]
struct Place {
    packet: u32,
    size: u32,
    /// The next place of the same lane, or of those that hold nothing; meaningless in the last one of a lane.
    next: u32,
}

/// The ends of a list; meaningless while its bit is not set.
#[derive(Clone, Copy, Default)]
struct Lane {
    first: u32,
    last: u32,
}

impl Lanes {
    /// Keeps the packets for a scheduler, unless that does more than to decide on arrival; then hands it back.
    pub(super) fn new(scheduler: Box<dyn Scheduler>) -> Result<Self, Box<dyn Scheduler>> {
        let queues = scheduler.queues();
        if scheduler.decides_on_arrival() && queues <= MOST_QUEUES && scheduler.is_empty() {
            let lanes = vec![Lane::default(); queues].into_boxed_slice();
            Ok(Self { occupied: 0, free: 0, places: Vec::new(), lanes, scheduler })
        } else {
            Err(scheduler)
        }
    }

    /// Lets a packet pass the scheduler, which is empty, if that allows it.
    #[inline]
    pub(super) fn pass(&mut self, size: u32, rank: Rank) -> bool {
        self.scheduler.pass(size, rank)
    }

    /// Stores a packet where the scheduler wants it, or says why it does not want it.
    #[inline]
    pub(super) fn push(&mut self, rank: Rank, (packet, size): Held) -> Result<(), DropReason> {
        let queue = self.scheduler.admit(size, rank)?;
        let place = self.free;
        match self.places.get_mut(place as usize) {
            Some(free) => {
                self.free = free.next;
                (free.packet, free.size) = (packet, size);
            }
            None => {
                self.places.push(Place { packet, size, next: 0 });
                self.free = place + 1;
            }
        }
        let lane = &mut self.lanes[queue as usize];
        let bit = 1 << queue;
        if self.occupied & bit == 0 {
            self.occupied |= bit;
            lane.first = place;
        } else {
            self.places[lane.last as usize].next = place;
        }
        lane.last = place;
        Ok(())
    }

    /// Takes the packet that leaves next.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub(super) fn pop(&mut self) -> Held {
        let queue = self.occupied.trailing_zeros();
        let lane = &mut self.lanes[queue as usize];
        let place = &mut self.places[lane.first as usize];
        let (packet, size) = (place.packet, place.size);
        let next = std::mem::replace(&mut place.next, self.free);
        self.free = lane.first;
        if lane.first == lane.last {
            self.occupied &= self.occupied - 1;
        }
        lane.first = next;
        self.scheduler.release(queue, size);
        (packet, size)
    }

    /// Packets and bytes that it holds.
    pub(super) fn account(&self) -> (usize, u64) {
        let (mut packets, mut bytes) = (0, 0);
        for (queue, lane) in self.lanes.iter().enumerate().filter(|(queue, _)| self.occupied >> queue & 1 != 0) {
            let mut place = lane.first;
            loop {
                packets += 1;
                bytes += u64::from(self.places[place as usize].size);
                if place == lane.last {
                    break;
                }
                place = self.places[place as usize].next;
            }
            debug_assert!(self.scheduler.queue_len(queue) > 0);
        }
        (packets, bytes)
    }

    /// The scheduler, which counts the same packets.
    pub(super) fn scheduler(&self) -> &dyn Scheduler {
        &*self.scheduler
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_sched::schedulers::{Aifo, AifoParams, Packs, PacksParams, SpPifo, SpPifoParams};
    use pifolab_sched::{Dequeued, Enqueued, Packet};
    use pifolab_units::Time;

    fn schedulers() -> [Box<dyn Scheduler>; 3] {
        [
            Box::new(SpPifo::new(SpPifoParams::uniform(3, 4)).unwrap()),
            Box::new(Packs::new(PacksParams::uniform(3, 4, 20)).unwrap()),
            Box::new(Aifo::new(AifoParams::packets(9)).unwrap()),
        ]
    }

    #[test]
    fn what_waits_here_leaves_and_is_lost_as_in_the_scheduler() {
        for (mut scheduler, twin) in schedulers().into_iter().zip(schedulers()) {
            let Ok(mut lanes) = Lanes::new(twin) else { panic!("it decides on arrival") };
            let (mut state, mut lost, mut passed) = (1u64, 0, 0);
            for number in 0..20_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let draw = (state >> 33) as u32;
                let (rank, size) = (Rank::from(draw % 29), 40 + draw % 1_460);
                let packet = Packet { id: number.into(), flow: 0, size, rank, arrival: Time::ZERO };
                let outcome = scheduler.enqueue(packet, Time::ZERO);
                // Now and then, so that queues fill up as well.
                if lanes.account().0 == 0 && draw & 1 << 20 != 0 && lanes.pass(size, rank) {
                    passed += 1;
                    assert!(
                        matches!(scheduler.dequeue(Time::ZERO), Dequeued::Packet { packet, .. } if packet.size == size)
                    );
                    continue;
                }
                match (lanes.push(rank, (number, size)), outcome) {
                    (Ok(()), Enqueued::Admitted { .. }) => {}
                    (Err(ours), Enqueued::Dropped { reason, .. }) if ours == reason => lost += 1,
                    (ours, theirs) => panic!("{ours:?} here, {theirs:?} there"),
                }
                for _ in 0..(draw >> 8) % 4 % 3 {
                    let Dequeued::Packet { packet, .. } = scheduler.dequeue(Time::ZERO) else { break };
                    assert_eq!(lanes.pop(), (packet.id as u32, packet.size));
                }
                assert_eq!(lanes.account(), (scheduler.len(), scheduler.backlog().0));
                assert_eq!(lanes.account(), (lanes.scheduler().len(), lanes.scheduler().backlog().0));
            }
            assert!(lost > 0 && passed > 0, "{lost} lost, {passed} passed");
        }
    }
}
