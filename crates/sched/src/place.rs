//! The answer of a decider to [`Queued`](crate::Queued): its decision, and hints that save time.

use crate::DropReason;
use pifolab_queues::branchless::unforeseen;

/// The queue of an arriving packet or the reason for its refusal, stored so that reading it needs no branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    queue: usize,
    /// Whether the decider admits the packet: it is then stored if the queue has room.
    wanted: bool,
    /// Whether a branch refuses the packet before its queue is read.
    refused: bool,
    /// Why the packet is not stored, if `wanted` is false.
    refusal: DropReason,
    /// Whether the queue is known to have room.
    has_room: bool,
}

impl Place {
    /// A decision without a branch, for tests whose results a processor cannot predict.
    #[inline(always)]
    pub fn of(decision: Result<usize, DropReason>) -> Self {
        let (wanted, queue, reason) = match decision {
            Ok(queue) => (true, queue, DropReason::Full),
            Err(reason) => (false, 0, reason),
        };
        Self::queue_if(wanted, queue, reason)
    }

    /// A decision with a branch, for refusals that a processor can predict. An admitted packet finds room.
    #[inline(always)]
    pub const fn predicted(decision: Result<usize, DropReason>) -> Self {
        match decision {
            Ok(queue) => Self::queue_with_room(queue),
            Err(reason) => Self::refuse(reason),
        }
    }

    /// The packet is stored in this queue if the queue has room.
    #[inline(always)]
    pub const fn queue(queue: usize) -> Self {
        Self { queue, wanted: true, refused: false, refusal: DropReason::Full, has_room: false }
    }

    /// The packet is stored in this queue, which has room: [`Queued`](crate::Queued) does not check that again.
    #[inline(always)]
    pub const fn queue_with_room(queue: usize) -> Self {
        Self { has_room: true, ..Self::queue(queue) }
    }

    /// The packet is refused by a branch.
    #[inline(always)]
    pub const fn refuse(reason: DropReason) -> Self {
        Self { queue: 0, wanted: false, refused: true, refusal: reason, has_room: false }
    }

    /// The packet is stored in this queue if it `passes` an unpredictable test and the queue has room.
    #[inline(always)]
    pub fn queue_if(passes: bool, queue: usize, reason: DropReason) -> Self {
        Self { queue, wanted: unforeseen(passes), refused: false, refusal: reason, has_room: false }
    }

    /// Whether a branch refuses the packet.
    #[inline(always)]
    pub(crate) const fn is_refused(self) -> bool {
        self.refused
    }

    /// Whether the queue is known to have room.
    #[inline(always)]
    pub(crate) const fn has_room(self) -> bool {
        self.has_room
    }

    /// Whether the decider admits the packet, and its queue.
    #[inline(always)]
    pub(crate) const fn parts(self) -> (bool, usize) {
        (self.wanted, self.queue)
    }

    /// Why the packet is not stored, if it is not.
    #[inline(always)]
    pub(crate) const fn reason(self) -> DropReason {
        if self.wanted { DropReason::Full } else { self.refusal }
    }

    /// The decision.
    ///
    /// # Errors
    /// Why the packet is refused.
    #[inline(always)]
    pub const fn get(self) -> Result<usize, DropReason> {
        if self.wanted { Ok(self.queue) } else { Err(self.refusal) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_decision_that_it_was_made_of() {
        for decision in [Err(DropReason::Full), Err(DropReason::Admission), Ok(0), Ok(1023)] {
            assert_eq!(Place::of(decision).get(), decision);
            assert_eq!(Place::predicted(decision).get(), decision);
        }
    }
}
