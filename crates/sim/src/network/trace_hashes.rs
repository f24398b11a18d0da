//! Fingerprints of a run by ingredient, which show in what two runs differ.
//!
//! The hashes of contents are separate from the older hash of events (times and slots), so that stored values of that
//! stay comparable. The content of a packet is hashed once, when it is created; the events have its slot at every hop.

use pifolab_transport::Segment;
use pifolab_units::Rank;

/// A part of a run with its own hash in [`TraceHashes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ingredient {
    /// The time and kind of each event, and its port, flow or slot of a packet.
    Events,
    /// The flow, the sequence and acknowledgement numbers, the flags and the payload of each packet that an end point
    /// created, in order.
    Packets,
    /// The rank of each packet that an end point created, and each rank with which a port's rank function replaced it.
    Ranks,
    /// The port, the reason, the flow and the sequence number of each packet that was lost.
    Drops,
}

impl Ingredient {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Events, Self::Packets, Self::Ranks, Self::Drops];

    /// Its name in manifests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Packets => "packets",
            Self::Ranks => "ranks",
            Self::Drops => "drops",
        }
    }
}

/// One hash for each [`Ingredient`] of a run, which show in what two runs differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceHashes {
    by_ingredient: [u64; Ingredient::ALL.len()],
}

impl TraceHashes {
    /// Mixes a word into the hash of an ingredient.
    #[inline(always)]
    pub(super) fn fold(&mut self, ingredient: Ingredient, word: u64) {
        let hash = &mut self.by_ingredient[ingredient as usize];
        *hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// The hash of one ingredient.
    pub const fn of(&self, ingredient: Ingredient) -> u64 {
        self.by_ingredient[ingredient as usize]
    }

    /// The ingredients in which two runs differ.
    pub fn differences(&self, other: &Self) -> Vec<Ingredient> {
        Ingredient::ALL.into_iter().filter(|ingredient| self.of(*ingredient) != other.of(*ingredient)).collect()
    }
}

/// Codes of losses that have no [`DropReason`](pifolab_sched::DropReason), above all codes of those.
pub(super) mod loss {
    /// The packet waited at a port whose link failed.
    pub(in super::super) const WAITING: u64 = 0x80;
    /// The packet was on the wire of a link that failed.
    pub(in super::super) const ON_WIRE: u64 = 0x81;
    /// The packet had no path.
    pub(in super::super) const UNREACHABLE: u64 = 0x82;
}

impl TraceHashes {
    /// Adds a packet that an end point created to the hashes of contents.
    #[inline]
    pub(super) fn note_packet(&mut self, flow: u32, segment: &Segment) {
        let Segment { rank, seq, ack, payload_bytes, flags, .. } = segment;
        let numbers = u64::from(*seq) << 32 | u64::from(*ack);
        let content = u64::from(flow) << 32 | u64::from(*payload_bytes) << 8 | u64::from(flags.bits());
        self.fold(Ingredient::Packets, numbers);
        self.fold(Ingredient::Packets, content);
        // Plus 1, so that rank 0 changes the hash as well.
        self.fold(Ingredient::Ranks, rank.get() + 1);
    }

    /// Adds a lost packet to the hash of drops. `place` is the place and the reason.
    pub(super) fn note_loss(&mut self, flow: u32, seq: u32, place: u64) {
        self.fold(Ingredient::Drops, place + 1);
        self.fold(Ingredient::Drops, u64::from(flow) << 32 | u64::from(seq));
    }

    /// Adds the rank of a packet at a port, unless the packet `carried` the same rank. Ports without a rank function
    /// need not call this.
    #[inline]
    pub(super) fn note_rank(&mut self, port: u32, packet: u32, carried: Rank, rank: Rank) {
        if rank != carried {
            self.fold(Ingredient::Ranks, u64::from(packet) << 32 | u64::from(port));
            self.fold(Ingredient::Ranks, rank.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_changes_its_own_ingredient_alone() {
        for ingredient in Ingredient::ALL {
            let (mut one, mut other) = (TraceHashes::default(), TraceHashes::default());
            one.fold(ingredient, 7);
            other.fold(ingredient, 8);
            assert_eq!(one.differences(&other), [ingredient]);
        }
    }
}
