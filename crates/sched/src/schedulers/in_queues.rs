//! What every scheduler says in the same way whose packets stand in strict-priority queues (a field `queues`).

use crate::store::PriorityQueues;
use crate::{DropReason, Enqueued, Packet};

/// Stores a packet in the `chosen` queue, or drops it if that is full or there is none.
#[inline(always)]
pub(super) fn admit(queues: &mut PriorityQueues, chosen: Result<usize, DropReason>, packet: Packet) -> Enqueued {
    let rank = packet.rank;
    let queue = match chosen {
        Ok(queue) => queue,
        Err(reason) => return Enqueued::Dropped { packet, reason },
    };
    match queues.push(queue, packet) {
        Ok(()) => Enqueued::Admitted { queue: queue as u32, rank },
        Err(packet) => Enqueued::Dropped { packet, reason: DropReason::Full },
    }
}

/// `dequeue`: the oldest packet of the first queue that holds one. `admit` and `release` for who keeps the packets; a method
/// `choose` names the queue of an arriving packet, or says why it is refused.
macro_rules! serve_by_priority {
    () => {
        fn decides_on_arrival(&self) -> bool {
            true
        }

        fn admit(&mut self, size: u32, rank: ::pifolab_units::Rank) -> Result<u32, $crate::DropReason> {
            let queue = self.choose(size, rank)?;
            if self.queues.book(queue, size) { Ok(queue as u32) } else { Err($crate::DropReason::Full) }
        }

        fn release(&mut self, queue: u32, size: u32) {
            self.queues.release(queue as usize, size);
        }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Args, FromArgs, Value};
    use crate::schedulers::{ExpPifo, SpPifo, StrictPriority};
    use crate::{Dequeued, Scheduler};
    use pifolab_units::{Rank, Time};

    /// Offers packets of many ranks; each refused one must go to the queue that it was charged to once there is room.
    fn charges_the_right_queue<S: FromArgs + Scheduler>(options: &[(&str, &str)]) {
        let mut args = Args::new(S::INFO.name);
        args.set("queues", Value::Integer(3));
        args.set("queue_capacity_packets", Value::Integer(2));
        for (name, value) in options {
            args.set(*name, Value::Text((*value).into()));
        }
        let mut scheduler = S::build(args).unwrap();
        let mut state = 1u64;
        let offer = |scheduler: &mut S, rank: u32| {
            let packet = Packet { id: 0, flow: 0, size: 1500, rank: Rank::from(rank), arrival: Time::ZERO };
            match scheduler.enqueue(packet, Time::ZERO) {
                Enqueued::Admitted { queue, .. } => Ok(queue),
                Enqueued::Dropped { packet, .. } => Err(scheduler.refused_at(0, packet.size, packet.rank)),
                Enqueued::Evicted { .. } => panic!("queues push nobody out"),
            }
        };
        let mut refused = 0;
        for _ in 0..1000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let rank = (state >> 57) as u32;
            if let Err(queue) = offer(&mut scheduler, rank) {
                refused += 1;
                while let Dequeued::Packet { .. } = scheduler.dequeue(Time::ZERO) {}
                assert_eq!(offer(&mut scheduler, rank).ok(), queue, "rank {rank}");
            }
        }
        assert!(refused > 100, "{refused} were refused");
    }

    #[test]
    fn a_refused_packet_is_charged_to_the_queue_that_had_no_room() {
        charges_the_right_queue::<StrictPriority>(&[]);
        charges_the_right_queue::<SpPifo>(&[]);
        charges_the_right_queue::<SpPifo>(&[("order", "push-down-first")]);
        charges_the_right_queue::<ExpPifo>(&[]);
        charges_the_right_queue::<ExpPifo>(&[("mapping", "bounds")]);
    }
}
