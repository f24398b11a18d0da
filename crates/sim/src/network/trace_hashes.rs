//! Fingerprints of a run by ingredient: where two runs differ, these say in what.
//!
//! The hash of events (times and slots) has been there from the start; those of content are beside it, so that a value
//! written down once stays comparable. A packet's content is hashed where it is created, once and not at every hop: which
//! slot it has on its way is in the events.

use pifolab_transport::Segment;
use pifolab_units::Rank;

/// What a [`TraceHashes`] can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ingredient {
    /// When each event happened, of which kind, and at which port, flow or slot of a packet.
    Events,
    /// The flow, the sequence and acknowledgement numbers, the flags and the payload of each packet that an end point
    /// created, in order.
    Packets,
    /// The rank of each packet that an end point created, and each rank that a port's rank function put in its place.
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

/// One hash for each [`Ingredient`] of a run: where two runs differ, these say in what.
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

/// Losses that have no [`DropReason`](pifolab_sched::DropReason): numbers behind all of those.
pub(super) mod loss {
    /// It waited at a port whose link failed.
    pub(in super::super) const WAITING: u64 = 0x80;
    /// It was on the wire of a link that failed.
    pub(in super::super) const ON_WIRE: u64 = 0x81;
    /// No way led on.
    pub(in super::super) const UNREACHABLE: u64 = 0x82;
}

impl TraceHashes {
    /// Enters a packet that an end point created into the hashes of its content.
    #[inline]
    pub(super) fn note_packet(&mut self, flow: u32, segment: &Segment) {
        let Segment { rank, seq, ack, payload_bytes, flags, .. } = segment;
        let numbers = u64::from(*seq) << 32 | u64::from(*ack);
        let content = u64::from(flow) << 32 | u64::from(*payload_bytes) << 8 | u64::from(flags.bits());
        self.fold(Ingredient::Packets, numbers);
        self.fold(Ingredient::Packets, content);
        // Rank 0 leaves a trace as well.
        self.fold(Ingredient::Ranks, rank.get() + 1);
    }

    /// Enters a packet that is lost into the hash of drops. `place` says where and why.
    pub(super) fn note_loss(&mut self, flow: u32, seq: u32, place: u64) {
        self.fold(Ingredient::Drops, place + 1);
        self.fold(Ingredient::Drops, u64::from(flow) << 32 | u64::from(seq));
    }

    /// Enters the rank that a port gave a packet, unless it is the one that the packet `carried`: only a rank function gives
    /// another, and ports without one need not come here.
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
