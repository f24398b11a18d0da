//! A paced share of the link for frames that are not IP: before ranked packets, but no faster than the share.

use super::arena::Slot;
use pifolab_units::{Bytes, Rate, Rounding, Time};
use std::collections::VecDeque;

/// Frames that wait, of each kind. At 5 % of 10 Mb/s that is 32 ms of small ones.
const LIMIT: usize = 32;

/// Two queues, served in turn: address resolution and neighbour discovery, and all else. So that a flood of the one leaves
/// half of the share to the other.
#[derive(Debug)]
pub struct PacedShare {
    queues: [VecDeque<Slot>; 2],
    /// Whose turn it is if both have frames.
    turn: usize,
    /// When the share that was used is paid for.
    not_before: Time,
    rate: Rate,
}

fn rate_of(link: Rate, share: u32) -> Rate {
    let bps = ((u128::from(link.as_bps()) * u128::from(share)) >> 16) as u64;
    Rate::from_bps(bps.max(1)).expect("at least 1 bit/s")
}

impl PacedShare {
    /// The most frames that it holds.
    pub const MOST_HELD: usize = 2 * LIMIT;

    /// `share` 65536ths of a link of `link`.
    pub fn new(link: Rate, share: u32) -> Self {
        Self {
            queues: [VecDeque::with_capacity(LIMIT), VecDeque::with_capacity(LIMIT)],
            turn: 0,
            not_before: Time::ZERO,
            rate: rate_of(link, share),
        }
    }

    /// The link has another rate from now on.
    pub fn change_link(&mut self, link: Rate, share: u32) {
        self.rate = rate_of(link, share);
    }

    /// Takes a frame; false if its queue is full.
    pub fn push(&mut self, slot: Slot, neighbour: bool) -> bool {
        let queue = &mut self.queues[usize::from(!neighbour)];
        let room = queue.len() < LIMIT;
        if room {
            queue.push_back(slot);
        }
        room
    }

    /// When the next frame may leave; `None` if there is none.
    pub fn not_before(&self) -> Option<Time> {
        self.queues.iter().any(|queue| !queue.is_empty()).then_some(self.not_before)
    }

    /// The next frame, which leaves at `now`.
    ///
    /// # Panics
    /// If there is none.
    pub fn pop(&mut self, now: Time, length: impl FnOnce(Slot) -> usize) -> Slot {
        if self.queues[self.turn].is_empty() {
            self.turn = 1 - self.turn;
        }
        let slot = self.queues[self.turn].pop_front().expect("not_before has told that there is one");
        self.turn = 1 - self.turn;
        self.not_before = now + self.rate.serialisation(Bytes(length(slot) as u64), Rounding::UpToPicosecond);
        slot
    }
}
