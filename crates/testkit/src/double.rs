//! A scheduler for tests of its callers: ports, engines, trees.

use pifolab_sched::{Capacity, Dequeued, DropReason, Enqueued, Held, Inspect, Packet, Scheduler};
use pifolab_units::{Bytes, Time};

/// First in, first out among the eligible packets, without a limit. Tests define which packets it refuses, holds back
/// or drops.
///
/// ```
/// use pifolab_sched::{Dequeued, Packet, Scheduler};
/// use pifolab_testkit::Double;
/// use pifolab_units::{Rank, Time};
/// let mut double = Double::new().holding(|packet| Time::from_ns(packet.id));
/// let packet = Packet { id: 5, flow: 0, size: 100, rank: Rank::ZERO, arrival: Time::ZERO };
/// assert!(double.enqueue(packet, Time::ZERO).is_admitted());
/// assert_eq!(double.dequeue(Time::ZERO), Dequeued::NotBefore(Time::from_ns(5)));
/// ```
#[derive(Debug)]
pub struct Double {
    held: Vec<Packet>,
    refuses: fn(&Packet) -> Option<DropReason>,
    from: fn(&Packet) -> Time,
    gives_up: fn(&Packet) -> Option<DropReason>,
}

impl Double {
    /// Creates a scheduler that admits every packet, holds none back and drops none.
    #[expect(clippy::new_without_default, reason = "tests build it up from here")]
    pub fn new() -> Self {
        Self { held: Vec::new(), refuses: |_| None, from: |_| Time::ZERO, gives_up: |_| None }
    }

    /// Refuses a packet on arrival if `refuses` returns a reason.
    #[must_use]
    pub fn refusing(self, refuses: fn(&Packet) -> Option<DropReason>) -> Self {
        Self { refuses, ..self }
    }

    /// Holds each packet back until the time that `from` returns.
    #[must_use]
    pub fn holding(self, from: fn(&Packet) -> Time) -> Self {
        Self { from, ..self }
    }

    /// Drops a packet at its dequeue if `gives_up` returns a reason.
    #[must_use]
    pub fn giving_up(self, gives_up: fn(&Packet) -> Option<DropReason>) -> Self {
        Self { gives_up, ..self }
    }
}

impl Scheduler for Double {
    fn enqueue(&mut self, packet: Packet, _: Time) -> Enqueued {
        if let Some(reason) = (self.refuses)(&packet) {
            return Enqueued::Dropped { packet, reason };
        }
        let rank = packet.rank;
        self.held.push(packet);
        Enqueued::Admitted { queue: 0, rank }
    }

    fn dequeue(&mut self, now: Time) -> Dequeued {
        if let Some(place) = self.held.iter().position(|packet| (self.from)(packet) <= now) {
            let packet = self.held.remove(place);
            return match (self.gives_up)(&packet) {
                Some(reason) => Dequeued::Dropped { packet, reason },
                None => Dequeued::Packet { packet, queue: 0 },
            };
        }
        self.held.iter().map(self.from).min().map_or(Dequeued::Empty, Dequeued::NotBefore)
    }
}

impl Inspect for Double {
    fn held(&self, queue: Option<usize>) -> Held {
        let bytes = || Bytes(self.held.iter().map(|packet| u64::from(packet.size)).sum());
        Held::in_one_queue(queue, || Held { packets: self.held.len(), bytes: bytes() })
    }

    fn capacity(&self) -> Capacity {
        Capacity::Unlimited
    }
}
