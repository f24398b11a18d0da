//! PIEO.

use super::pifo::push_out;
use crate::draw::single_buffer;
use crate::line::{Property, Suite, Vectors, line};
use crate::oracle::Buffer;
use crate::{Answer, Offer, Oracle, Ranks, Settings};
use Property::{Evicts, LowestRankFirst, MayWait, TiesInArrivalOrder};
use pifolab_sched::DropReason;

/// PIEO.
pub struct Pieo(Buffer);

impl From<Settings> for Pieo {
    fn from(settings: Settings) -> Self {
        Self(Buffer::new(settings.capacity()))
    }
}

impl Oracle for Pieo {
    fn enqueue(&mut self, offer: Offer, _: u64) -> Answer {
        match push_out(&mut self.0, &offer) {
            None => Answer::Dropped(DropReason::Full),
            Some(evicted) => {
                self.0.held.push(offer);
                Answer::Admitted { queue: 0, evicted }
            }
        }
    }

    fn dequeue(&mut self, now_ns: u64) -> Answer {
        let held = &mut self.0.held;
        let eligible = (0..held.len()).filter(|place| held[*place].eligible_ns <= now_ns);
        match eligible.min_by_key(|place| (held[*place].rank, *place)) {
            Some(place) => Answer::Sent(held.remove(place).id),
            None => held.iter().map(|held| held.eligible_ns).min().map_or(Answer::Empty, Answer::NotBefore),
        }
    }
}

/// Adds PIEO to the suite.
pub(crate) const SUITE: Suite = Suite {
    lines: &[line::<Pieo>("pieo", single_buffer, &[Evicts, LowestRankFirst, TiesInArrivalOrder, MayWait])],
    vectors,
};

fn vectors(add: &mut Vectors) {
    add.vector("packets", Ranks::Hundred, &|s| s.integer("capacity_packets", 6));
    add.vector("packets_ties", Ranks::Few, &|s| s.integer("capacity_packets", 9));
    add.vector("bytes", Ranks::Hundred, &|s| s.integer("capacity_bytes", 9_000));
}
