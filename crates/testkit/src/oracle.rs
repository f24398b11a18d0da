//! The trait of oracles, their plain buffer of packets, and fractions as floating-point numbers.

use crate::case::cost;
use crate::{Answer, Offer, Op, Settings};
use num_rational::BigRational;
use pifolab_sched::{Capacity, DropReason};

/// The obvious implementation of a scheduler. It may be slow, and may assume that time never decreases.
pub trait Oracle {
    /// Offers a packet at `now_ns`.
    fn enqueue(&mut self, offer: Offer, now_ns: u64) -> Answer;

    /// Requests a packet at `now_ns`.
    fn dequeue(&mut self, now_ns: u64) -> Answer;

    /// Applies either operation.
    fn apply(&mut self, op: &Op) -> Answer {
        match op {
            Op::Enqueue(offer, now) => self.enqueue(*offer, *now),
            Op::Dequeue(now) => self.dequeue(*now),
        }
    }
}

/// Packets in order of arrival, in a buffer with a capacity.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub held: Vec<Offer>,
    pub capacity: Capacity,
}

impl Buffer {
    pub fn new(capacity: Capacity) -> Self {
        Self { held: Vec::new(), capacity }
    }

    pub fn all(capacities: &[Capacity]) -> Vec<Self> {
        capacities.iter().copied().map(Self::new).collect()
    }

    /// The used part of the capacity, in its unit.
    pub fn used(&self) -> u64 {
        self.held.iter().map(|held| cost(self.capacity, held.size)).sum()
    }

    /// The capacity, in its unit.
    pub fn total(&self) -> u64 {
        match self.capacity {
            Capacity::Packets(packets) => packets.into(),
            Capacity::Bytes(bytes) => bytes,
            Capacity::Unlimited => u64::MAX,
        }
    }

    pub fn fits(&self, offer: &Offer) -> bool {
        self.used() + cost(self.capacity, offer.size) <= self.total()
    }

    /// Removes the oldest packet.
    pub fn pop(&mut self) -> Option<Offer> {
        if self.held.is_empty() { None } else { Some(self.held.remove(0)) }
    }
}

/// The queues at every arrival, for tests with delayed occupancies.
#[derive(Default)]
pub(crate) struct Found(Vec<Vec<Buffer>>);

impl Found {
    /// Records the queues at this arrival. Returns the queues at the arrival `occupancy_delay_packets` arrivals before,
    /// or empty queues if there is none.
    pub fn seen(&mut self, queues: &[Buffer], settings: &Settings) -> Vec<Buffer> {
        self.0.push(queues.to_vec());
        let late = settings.get("occupancy_delay_packets", 0) as usize;
        match (self.0.len() - 1).checked_sub(late) {
            Some(place) => self.0[place].clone(),
            None => queues.iter().map(|queue| Buffer::new(queue.capacity)).collect(),
        }
    }
}

/// Stores a packet in `queue`, or drops it if the queue is full.
pub(crate) fn store(queues: &mut [Buffer], queue: usize, offer: Offer) -> Answer {
    if !queues[queue].fits(&offer) {
        return Answer::Dropped(DropReason::Full);
    }
    queues[queue].held.push(offer);
    Answer::admitted(queue)
}

/// Serves the first non-empty queue.
pub(crate) fn serve_first(queues: &mut [Buffer]) -> Answer {
    match queues.iter_mut().find_map(Buffer::pop) {
        Some(offer) => Answer::Sent(offer.id),
        None => Answer::Empty,
    }
}

/// Converts a fraction whose numerator and denominator are small.
pub(crate) fn number(fraction: &BigRational) -> f64 {
    let part = |part: &num_bigint::BigInt| i64::try_from(part).expect("it has small parts") as f64;
    part(fraction.numer()) / part(fraction.denom())
}
