//! Packets by flow for the oracles of fair queueing, and the settings common to those schedulers.

use crate::{Offer, Settings, Source};
use pifolab_sched::Capacity;

/// The packets of all flows, in one list in order of arrival.
pub(crate) struct Held {
    pub packets: Vec<Offer>,
    buckets: u32,
    capacity: Capacity,
}

impl Held {
    pub fn new(settings: &Settings, capacity: Capacity) -> Self {
        Self { packets: Vec::new(), buckets: settings.get("buckets", 1024) as u32, capacity }
    }

    pub fn bucket(&self, offer: &Offer) -> u32 {
        offer.flow % self.buckets
    }

    pub fn of(&self, bucket: u32) -> impl Iterator<Item = &Offer> {
        self.packets.iter().filter(move |offer| self.bucket(offer) == bucket)
    }

    pub fn bytes(&self, bucket: u32) -> u64 {
        self.of(bucket).map(|offer| u64::from(offer.size)).sum()
    }

    pub fn fits(&self, offer: &Offer) -> bool {
        match self.capacity {
            Capacity::Packets(packets) => self.packets.len() < packets as usize,
            Capacity::Bytes(bytes) => {
                self.packets.iter().map(|held| u64::from(held.size)).sum::<u64>() + u64::from(offer.size) <= bytes
            }
            Capacity::Unlimited => true,
        }
    }

    pub fn pop(&mut self, bucket: u32) -> Option<Offer> {
        let at = self.packets.iter().position(|offer| self.bucket(offer) == bucket)?;
        Some(self.packets.remove(at))
    }
}

/// Draws the number of buckets, or keeps the default.
pub(crate) fn draw_buckets(source: &mut Source<'_>, settings: &mut Settings) {
    if source.once_in(2) {
        settings.integer("buckets", source.pick(&[1u64, 2, 3, 5, 4096]));
    }
}

/// Draws the quantum, or keeps the default.
pub(crate) fn draw_quantum(source: &mut Source<'_>, settings: &mut Settings) {
    if source.once_in(2) {
        settings.integer("quantum_bytes", source.pick(&[1u64, 300, 1000, 9000]));
    }
}
