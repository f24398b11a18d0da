//! What every scheduler says in the same way whose packets stand in strict-priority queues (a field `queues`).

use crate::store::PriorityQueues;
use crate::{DropReason, Enqueued, Packet};

/// Stores a packet in `queue`, or drops it if that is full.
#[inline(always)]
pub(super) fn admit(queues: &mut PriorityQueues, queue: usize, packet: Packet) -> Enqueued {
    let rank = packet.rank;
    match queues.push(queue, packet) {
        Ok(()) => Enqueued::Admitted { queue: queue as u32, rank },
        Err(packet) => Enqueued::Dropped { packet, reason: DropReason::Full },
    }
}

/// `dequeue`: the oldest packet of the first queue that holds one.
macro_rules! serve_by_priority {
    () => {
        #[inline(always)]
        fn dequeue(&mut self, _now: ::pifolab_units::Time) -> $crate::Dequeued {
            match self.queues.pop() {
                Some((packet, queue)) => $crate::Dequeued::Packet { packet, queue: queue as u32 },
                None => $crate::Dequeued::Empty,
            }
        }
    };
}

/// How much the queues hold and may hold.
macro_rules! answer_for_queues {
    () => {
        fn len(&self) -> usize {
            self.queues.len()
        }

        #[inline]
        fn is_empty(&self) -> bool {
            self.queues.is_empty()
        }

        fn backlog(&self) -> ::pifolab_units::Bytes {
            self.queues.bytes()
        }

        fn capacity(&self) -> $crate::Capacity {
            self.queues.capacity()
        }

        fn queues(&self) -> usize {
            self.queues.count()
        }

        fn queue_len(&self, queue: usize) -> usize {
            self.queues.room(queue).packets()
        }
    };
}

pub(super) use {answer_for_queues, serve_by_priority};
