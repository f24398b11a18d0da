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

    /// Adds two words to the hash of an ingredient, in any order with other pairs.
    #[inline(always)]
    fn sum(&mut self, ingredient: Ingredient, [one, other]: [u64; 2]) {
        let mut mixed = (one ^ other.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ other;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let hash = &mut self.by_ingredient[ingredient as usize];
        *hash = hash.wrapping_add(mixed ^ (mixed >> 31));
    }

    /// Adds two words to the hash of an ingredient; `by_place`: in any order with other pairs.
    #[inline(always)]
    fn note(&mut self, by_place: bool, ingredient: Ingredient, words: [u64; 2]) {
        if by_place {
            self.sum(ingredient, words);
        } else {
            words.into_iter().for_each(|word| self.fold(ingredient, word));
        }
    }

    /// Adds the hashes of another part of a network in by-place mode.
    pub(super) fn join(&mut self, part: &Self) {
        self.by_ingredient.iter_mut().zip(part.by_ingredient).for_each(|(hash, more)| *hash = hash.wrapping_add(more));
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
    /// Adds an event in by-place mode, with the flow and the segment of a packet that arrives.
    #[inline(always)]
    pub(super) fn note_event(&mut self, time: u64, place: u64, packet: Option<(u32, &Segment)>) {
        let content = packet.map_or(0, |(flow, segment)| u64::from(flow) << 32 | u64::from(segment.seq ^ segment.ack));
        self.sum(Ingredient::Events, [time ^ place.rotate_left(20), content]);
    }

    /// Adds a packet that an end point created to the hashes of contents.
    #[inline]
    pub(super) fn note_packet(&mut self, by_place: bool, flow: u32, segment: &Segment) {
        let Segment { rank, seq, ack, payload_bytes, flags, .. } = segment;
        let numbers = u64::from(*seq) << 32 | u64::from(*ack);
        let content = u64::from(flow) << 32 | u64::from(*payload_bytes) << 8 | u64::from(flags.bits());
        self.note(by_place, Ingredient::Packets, [numbers, content]);
        // Plus 1, so that rank 0 changes the hash as well.
        let rank = rank.get() + 1;
        if by_place {
            self.sum(Ingredient::Ranks, [rank, numbers ^ content]);
        } else {
            self.fold(Ingredient::Ranks, rank);
        }
    }

    /// Adds a lost packet to the hash of drops. `place` is the place and the reason.
    pub(super) fn note_loss(&mut self, by_place: bool, flow: u32, seq: u32, place: u64) {
        self.note(by_place, Ingredient::Drops, [place + 1, u64::from(flow) << 32 | u64::from(seq)]);
    }

    /// Adds the rank of a packet at a port, unless the packet `carried` the same rank. Ports without a rank function
    /// need not call this. `packet` is its number, or its sequence number in by-place mode.
    #[inline]
    pub(super) fn note_rank(&mut self, by_place: bool, port: u32, packet: u32, carried: Rank, rank: Rank) {
        if rank != carried {
            self.note(by_place, Ingredient::Ranks, [u64::from(packet) << 32 | u64::from(port), rank.get()]);
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
