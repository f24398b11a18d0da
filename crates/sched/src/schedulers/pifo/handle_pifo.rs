//! A PIFO of handles, for callers that have many PIFOs side by side and store the packets elsewhere.

use super::{Pifo, PifoParams, Ties, enqueue};
use crate::params::ParamError;
use crate::store::{DoubleEnded, Short};
use crate::{Capacity, Enqueued, Handle, Held, Inspect, Item, Room};
use alloc::boxed::Box;
use pifolab_units::Rank;

/// The largest row. Beyond this length a shift through flat memory costs more than a search in sorted blocks.
const FEW: usize = 512;

/// A [`Pifo`] of handles with the same decisions. A few handles are stored in one sorted row, so that many such queues
/// touch little memory; all but the row fits in 88 bytes.
#[derive(Debug)]
pub enum HandlePifo {
    /// Few handles of any rank, ties first-in first-out.
    Row(Short<Handle>, Room),
    /// For the rest of its life once it has held many handles, or for parameters that a row does not support.
    Whole(Box<Pifo<Handle>>),
}

impl HandlePifo {
    /// An empty queue.
    ///
    /// # Errors
    /// As [`Pifo::new`].
    pub fn new(params: PifoParams) -> Result<Self, ParamError> {
        let whole = Pifo::new(params)?;
        Ok(match params {
            PifoParams { ranks: None, ties: Ties::Fifo, starvation_prevention: false, capacity } => {
                Self::Row(Short::default(), Room::new(capacity))
            }
            _ => Self::Whole(Box::new(whole)),
        })
    }

    /// As [`Pifo::offer`].
    #[inline(always)]
    pub fn offer(&mut self, rank: Rank, handle: Handle) -> Enqueued<Handle> {
        match self {
            Self::Row(row, room) if row.len() < FEW => enqueue(row, room, rank, handle),
            _ => self.offer_to_many(rank, handle),
        }
    }

    #[inline(never)]
    fn offer_to_many(&mut self, rank: Rank, handle: Handle) -> Enqueued<Handle> {
        if let Self::Row(row, room) = self {
            let params = PifoParams { capacity: room.capacity(), ..PifoParams::packets(1) };
            let mut whole = Pifo::new(params).expect("the same was made before");
            for (rank, handle) in row.drain() {
                let _ = whole.offer(rank, handle); // It fitted here, so it fits there.
            }
            *self = Self::Whole(Box::new(whole));
        }
        match self {
            Self::Row(row, room) => enqueue(row, room, rank, handle),
            Self::Whole(whole) => whole.offer(rank, handle),
        }
    }

    /// As [`Pifo::pop`].
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Handle> {
        match self {
            Self::Row(row, room) => {
                let handle = row.pop_first()?;
                room.release(handle.size());
                Some(handle)
            }
            Self::Whole(whole) => whole.pop(),
        }
    }

    /// As [`Pifo::passes_below`].
    pub fn passes_below(&self) -> u64 {
        match self {
            Self::Row(_, room) => match room.capacity() {
                Capacity::Bytes(bytes) => bytes.saturating_add(1),
                Capacity::Packets(_) | Capacity::Unlimited => u64::MAX,
            },
            Self::Whole(whole) => whole.passes_below(),
        }
    }
}

impl Inspect for HandlePifo {
    fn held(&self, queue: Option<usize>) -> Held {
        match self {
            Self::Row(_, room) => Held::in_one_queue(queue, || room.held()),
            Self::Whole(whole) => whole.held(queue),
        }
    }

    fn capacity(&self) -> Capacity {
        match self {
            Self::Row(_, room) => room.capacity(),
            Self::Whole(whole) => whole.capacity(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InspectExt;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(pifolab_testkit::cases(60))]

        /// Also beyond 512 handles, the largest row.
        #[test]
        fn decides_as_a_pifo_does(
            seed in any::<u64>(), kind in 0..6, few in any::<bool>(), ranks in 1u32..2000, stores in 4u64..8,
        ) {
            let capacity = match (kind % 3, few) {
                (0, true) => Capacity::Packets(7),
                (0, false) => Capacity::Packets(700),
                (1, true) => Capacity::Bytes(9_000),
                (1, false) => Capacity::Bytes(600_000),
                _ => Capacity::Unlimited,
            };
            let params = match kind {
                3 => PifoParams { ranks: Some(1000), capacity, ..PifoParams::packets(1) },
                4 => PifoParams { ties: Ties::Heap, capacity: Capacity::Packets(600), ..PifoParams::packets(1) },
                _ => PifoParams { capacity, ..PifoParams::packets(1) },
            };
            let mut row = HandlePifo::new(params).unwrap();
            let mut pifo: Pifo<Handle> = Pifo::new(params).unwrap();
            prop_assert_eq!(row.passes_below(), pifo.passes_below());
            let mut state = seed | 1;
            for number in 0..2_000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let draw = state >> 33;
                if draw % 8 < stores {
                    let handle = Handle { number, size: 64 + (draw >> 8) as u32 % 1437 };
                    let rank = Rank::from((draw >> 4) as u32 % ranks);
                    prop_assert_eq!(row.offer(rank, handle), pifo.offer(rank, handle));
                } else {
                    prop_assert_eq!(row.pop(), pifo.pop());
                }
                let (row, pifo): (&dyn Inspect, &dyn Inspect) = (&row, &pifo);
                prop_assert_eq!(
                    (row.len(), row.backlog(), row.capacity()),
                    (pifo.len(), pifo.backlog(), pifo.capacity())
                );
            }
            while let Some(handle) = pifo.pop() {
                prop_assert_eq!(row.pop(), Some(handle));
            }
            prop_assert!(row.is_empty() && row.pop().is_none());
        }
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn is_small() {
        assert_eq!(size_of::<HandlePifo>(), 88);
    }
}
