//! The packets of a port whose scheduler decides on arrival: the scheduler counts them, the port keeps them, in twelve
//! bytes each.

use pifolab_sched::{DropReason, Scheduler};
use pifolab_units::Rank;
use std::hint::select_unpredictable;

/// A packet's number and size.
type Held = (u32, u32);

/// One bit for each in a word.
const MOST_QUEUES: usize = 64;

/// First-in first-out lists, one for each queue of the scheduler; the first that is not empty is served.
///
/// Which list a packet joins or empties no branch could foresee, so none depends on it: a list begins at a place of its own
/// that never holds a packet.
pub(super) struct Lanes {
    occupied: u64,
    /// The first of the places that hold nothing; as many as there are places if there is none.
    free: u32,
    /// Where the lists begin, then all others.
    places: Vec<Place>,
    /// The last place of each list, its beginning if it is empty.
    last: Box<[u32]>,
    scheduler: Box<dyn Scheduler>,
}

#[derive(Clone, Copy)]
struct Place {
    packet: u32,
    size: u32,
    /// The next place of the same list, or of those that hold nothing; meaningless in the last one of a list.
    next: u32,
}

impl Lanes {
    /// Keeps the packets for a scheduler, unless that does more than to decide on arrival; then hands it back.
    pub(super) fn new(scheduler: Box<dyn Scheduler>) -> Result<Self, Box<dyn Scheduler>> {
        let queues = scheduler.queues();
        if scheduler.decides_on_arrival() && queues <= MOST_QUEUES && scheduler.is_empty() {
            let places = vec![Place { packet: 0, size: 0, next: 0 }; queues];
            let last = (0..queues as u32).collect();
            Ok(Self { occupied: 0, free: queues as u32, places, last, scheduler })
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
        let before = std::mem::replace(&mut self.last[queue as usize], place);
        self.places[before as usize].next = place;
        self.occupied |= 1 << queue;
        Ok(())
    }

    /// Takes the packet that leaves next.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub(super) fn pop(&mut self) -> Held {
        let queue = self.occupied.trailing_zeros();
        let first = self.places[queue as usize].next;
        let place = &mut self.places[first as usize];
        let (packet, size) = (place.packet, place.size);
        let next = std::mem::replace(&mut place.next, self.free);
        self.free = first;
        self.places[queue as usize].next = next;
        let last = &mut self.last[queue as usize];
        let emptied = first == *last;
        *last = select_unpredictable(emptied, queue, *last);
        self.occupied &= !(u64::from(emptied) << queue);
        self.scheduler.release(queue, size);
        (packet, size)
    }

    /// Packets and bytes that it holds.
    pub(super) fn account(&self) -> (usize, u64) {
        let (mut packets, mut bytes) = (0, 0);
        for (queue, last) in self.last.iter().enumerate() {
            let mut place = queue as u32;
            while place != *last {
                place = self.places[place as usize].next;
                packets += 1;
                bytes += u64::from(self.places[place as usize].size);
            }
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
