//! A short PIFO in a port: what the scheduler of that name decides, in sixteen bytes per packet and without a call.

use pifolab_sched::{Capacity, Packet, Scheduler};
use pifolab_units::{Rank, Time};

/// Beyond this many packets a shift through flat memory costs more than the scheduler's own blocks.
pub(super) const MOST_PACKETS: u32 = 512;

/// A packet's number and size.
type Held = (u32, u32);

/// The packets of a port in the opposite order of their departure, so that the next one to leave is at the end.
pub(super) struct Sorted {
    held: Vec<(Rank, Held)>,
    capacity: usize,
    /// Empty; takes over when the queue grows long.
    scheduler: Box<dyn Scheduler>,
}

impl Sorted {
    /// Takes the place of a scheduler, unless that is more than a PIFO of so many packets; then hands it back.
    pub(super) fn new(scheduler: Box<dyn Scheduler>) -> Result<Self, Box<dyn Scheduler>> {
        let capacity = match scheduler.capacity() {
            Capacity::Packets(packets) => packets as usize,
            Capacity::Unlimited => usize::MAX,
            Capacity::Bytes(_) => return Err(scheduler),
        };
        if scheduler.is_plain_pifo() && scheduler.is_empty() {
            Ok(Self { held: Vec::new(), capacity, scheduler })
        } else {
            Err(scheduler)
        }
    }

    /// The scheduler, with all packets in it.
    #[cold]
    pub(super) fn hand_over(mut self, now: Time) -> Box<dyn Scheduler> {
        for (rank, (number, size)) in self.held.into_iter().rev() {
            let packet = Packet { id: number.into(), flow: 0, size, rank, arrival: now };
            assert!(self.scheduler.enqueue(packet, now).is_admitted(), "a PIFO has room for what it would have held");
        }
        self.scheduler
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    pub(super) fn sizes(&self) -> impl Iterator<Item = u64> {
        self.held.iter().map(|(_, (_, size))| u64::from(*size))
    }

    /// Stores a packet; hands back the one that has no room, perhaps the same one.
    #[inline]
    pub(super) fn push(&mut self, rank: Rank, packet: Held) -> Option<Held> {
        // Behind all of higher rank, before its equals: they came earlier and leave earlier.
        let place = self.held.partition_point(|(other, _)| *other > rank);
        if self.held.len() < self.capacity {
            self.held.insert(place, (rank, packet));
            return None;
        }
        // Among equal highest ranks the arriving packet is the latest.
        if place == 0 {
            return Some(packet);
        }
        let (_, victim) = self.held[0];
        self.held.copy_within(1..place, 0);
        self.held[place - 1] = (rank, packet);
        Some(victim)
    }

    /// Takes the packet that leaves next.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub(super) fn pop(&mut self) -> Held {
        self.held.pop().expect("packets wait").1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_sched::schedulers::{Pifo, PifoParams};
    use pifolab_sched::{Dequeued, Enqueued};

    #[test]
    fn decides_as_the_pifo_scheduler_does() {
        for capacity in [1, 2, 7, 80] {
            let mut pifo = Pifo::new(PifoParams::packets(capacity)).unwrap();
            let Ok(mut sorted) = Sorted::new(Box::new(Pifo::new(PifoParams::packets(capacity)).unwrap())) else {
                panic!("it is a PIFO");
            };
            let (mut state, mut pushed_out, mut refused) = (1u64, 0, 0);
            for number in 0..20_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let draw = (state >> 33) as u32;
                // Few ranks, so that there are ties, and now and then a few departures in a row.
                let (rank, size) = (Rank::from(draw % 13), 40 + draw % 1_460);
                let packet = Packet { id: number.into(), flow: 0, size, rank, arrival: Time::ZERO };
                let lost = match pifo.enqueue(packet, Time::ZERO) {
                    Enqueued::Admitted { .. } => None,
                    Enqueued::Evicted { victims, .. } => {
                        pushed_out += 1;
                        victims.into_iter().next()
                    }
                    Enqueued::Dropped { packet, .. } => {
                        refused += 1;
                        Some(packet)
                    }
                };
                assert_eq!(sorted.push(rank, (number, size)), lost.map(|packet| (packet.id as u32, packet.size)));
                for _ in 0..(draw >> 8) % 3 {
                    let Dequeued::Packet { packet, .. } = pifo.dequeue(Time::ZERO) else { break };
                    assert_eq!(sorted.pop(), (packet.id as u32, packet.size));
                }
                assert_eq!((sorted.len(), sorted.sizes().sum::<u64>()), (pifo.len(), pifo.backlog().0));
            }
            assert!(pushed_out > 0 && refused > 0, "{pushed_out} pushed out, {refused} refused");
            // What is left is in the same order when the scheduler takes over.
            let mut scheduler = sorted.hand_over(Time::ZERO);
            for _ in 0..=pifo.len() {
                match (pifo.dequeue(Time::ZERO), scheduler.dequeue(Time::ZERO)) {
                    (Dequeued::Packet { packet: ours, .. }, Dequeued::Packet { packet: theirs, .. }) => {
                        assert_eq!((ours.id, ours.size, ours.rank), (theirs.id, theirs.size, theirs.rank));
                    }
                    (Dequeued::Empty, Dequeued::Empty) => {}
                    (ours, theirs) => panic!("{ours:?} here, {theirs:?} there"),
                }
            }
        }
    }
}
