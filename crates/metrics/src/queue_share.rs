//! Statistics of each queue: packets admitted, lost and sent, time on the wire, and occupancy.

use crate::drops::DropCount;
use pifolab_sched::params::Choice;
use pifolab_sched::{DropReason, Inspect, InspectExt};
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::{Bytes, Rate, Rounding, Span, Time};

/// Sums, for each queue, the packets admitted, lost and sent, the wire time of its packets, and its occupancy over
/// time.
#[derive(Clone, Debug)]
pub struct QueueShares {
    rate: Rate,
    rounding: Rounding,
    queues: Vec<QueueShare>,
    unassigned: DropCount,
    /// The size and wire time of the last packet sent. Most packets have the same size, so this cache saves divisions.
    last_sent: (u32, Span),
}

/// The statistics of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueShare {
    /// Packets admitted to the queue.
    pub admitted: u64,
    /// Packets refused by the queue or pushed out of it.
    pub dropped: DropCount,
    /// Packets sent.
    pub sent: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// The wire time of the packets sent; the last packet counts in full.
    pub wire: Span,
    /// The integral over time of the number of packets held, in packet-picoseconds.
    pub packet_ps: u128,
    /// Packets held since `since`.
    held: u64,
    since: Time,
}

impl QueueShare {
    /// Sets the number of packets held from `now` on.
    #[inline]
    fn hold(&mut self, held: usize, now: Time) {
        self.packet_ps += u128::from(now.since(self.since).as_ps()) * u128::from(self.held);
        self.since = now;
        self.held = held as u64;
    }

    /// Mean number of packets held over a run of `length`; 0 if `length` is zero.
    pub fn mean_packets(&self, length: Span) -> f64 {
        if length == Span::ZERO { 0.0 } else { self.packet_ps as f64 / length.as_ps() as f64 }
    }
}

impl QueueShares {
    /// Creates the statistics of a port with this link rate.
    pub const fn new(rate: Rate, rounding: Rounding) -> Self {
        Self {
            rate,
            rounding,
            queues: Vec::new(),
            unassigned: DropCount { by_reason: [0; DropReason::ALL.len()] },
            last_sent: (0, Span::ZERO),
        }
    }

    /// All queues, once a packet came. Queue 0 has the highest priority.
    pub fn queues(&self) -> &[QueueShare] {
        &self.queues
    }

    /// The queues with their numbers. A last row without a number, if any, counts the losses without a known queue.
    pub fn rows(&self) -> impl Iterator<Item = (Option<u32>, QueueShare)> {
        let unassigned = QueueShare { dropped: self.unassigned, ..QueueShare::default() };
        let last = (self.unassigned.all() > 0).then_some((None, unassigned));
        (0..).map(Some).zip(self.queues.iter().copied()).chain(last)
    }

    #[inline]
    fn at(&mut self, queue: u32, scheduler: &dyn Inspect) -> &mut QueueShare {
        let at = queue as usize;
        if at >= self.queues.len() {
            // All at once, so that the memory does not depend on which queues are used.
            self.queues.resize(scheduler.queues().max(at + 1), QueueShare::default());
        }
        &mut self.queues[at]
    }

    /// Updates the occupancy of all queues after a push-out, whose queue the event does not contain.
    fn look_again(&mut self, scheduler: &dyn Inspect, now: Time) {
        for (number, queue) in self.queues.iter_mut().enumerate().take(scheduler.queues()) {
            queue.hold(scheduler.queue_len(number), now);
        }
    }
}

impl Observer for QueueShares {
    #[inline]
    fn on_admit(&mut self, _: PortId, _: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        let share = self.at(queue, scheduler);
        share.admitted += 1;
        share.hold(scheduler.queue_len(queue as usize), now);
    }

    fn on_drop(&mut self, _: PortId, _: PacketView, loss: Loss, scheduler: &dyn Inspect, now: Time) {
        let dropped = match loss.queue {
            Some(queue) => &mut self.at(queue, scheduler).dropped,
            None => &mut self.unassigned,
        };
        dropped.by_reason[loss.reason as usize] += 1;
        if loss.admitted {
            self.look_again(scheduler, now);
        }
    }

    fn on_link_down(&mut self, _: PortId, _: PacketView, scheduler: &dyn Inspect, now: Time) {
        self.look_again(scheduler, now);
    }

    #[inline]
    fn on_dequeue(&mut self, _: PortId, packet: PacketView, queue: u32, scheduler: &dyn Inspect, now: Time) {
        if self.last_sent.0 != packet.size {
            let span = self.rate.serialisation(Bytes(u64::from(packet.size)), self.rounding);
            self.last_sent = (packet.size, span);
        }
        let share = &mut self.queues[queue as usize];
        share.sent += 1;
        share.sent_bytes += u64::from(packet.size);
        // The last packet of a run counts in full, so its end may exceed the largest time.
        share.wire = share.wire.saturating_add(self.last_sent.1);
        share.hold(scheduler.queue_len(queue as usize), now);
    }

    fn on_end(&mut self, now: Time) {
        for queue in &mut self.queues {
            queue.hold(queue.held as usize, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_sched::schedulers::{SpPifo, SpPifoParams};
    use pifolab_sched::{Dequeued, Enqueued, Packet, Scheduler};
    use pifolab_units::Rank;

    #[test]
    fn each_queue_is_charged_with_its_own_packets_and_time() {
        let mut scheduler = SpPifo::new(SpPifoParams::uniform(2, 10)).unwrap();
        let mut shares = QueueShares::new(Rate::from_gbps(8), Rounding::UpToPicosecond);
        // Ranks 5 and 7 go to queue 1, then 2 falls below its bound and goes to queue 0.
        for (id, rank) in [(0, 5u32), (1, 7), (2, 2)] {
            let now = Time::from_ns(id * 10);
            let packet = Packet { id, flow: 0, size: 100, rank: Rank::from(rank), arrival: now };
            let view = PacketView::from(&packet);
            let Enqueued::Admitted { queue, .. } = scheduler.enqueue(packet, now) else { panic!("there is room") };
            shares.on_admit(PortId(0), view, queue, &scheduler, now);
        }
        for ns in [100, 200] {
            let now = Time::from_ns(ns);
            let Dequeued::Packet { packet, queue } = scheduler.dequeue(now) else { panic!("packets wait") };
            shares.on_dequeue(PortId(0), (&packet).into(), queue, &scheduler, now);
        }
        for queue in [Some(1), Some(1), None] {
            let refused = PacketView { id: 9, flow: 0, size: 100, rank: Rank::from(9u32), arrival: Time::from_ns(200) };
            shares.on_drop(PortId(0), refused, Loss::refused(DropReason::Full, queue), &scheduler, Time::from_ns(200));
        }
        let dropped: Vec<_> = shares.rows().map(|(queue, share)| (queue, share.dropped.of(DropReason::Full))).collect();
        assert_eq!(dropped, [(Some(0), 0), (Some(1), 2), (None, 1)]);
        shares.on_end(Time::from_ns(300));
        let [first, second] = shares.queues() else { panic!("two queues were used") };
        assert_eq!((first.admitted, first.sent, first.wire), (1, 1, Span::from_ns(100)));
        assert_eq!((second.admitted, second.sent, second.sent_bytes), (2, 1, 100));
        // Queue 0 holds one packet from 20 to 100 ns. Queue 1 holds one from 0 to 10, two from 10 to 200, one from 200
        // to 300 ns.
        assert_eq!(first.packet_ps, 80_000);
        assert_eq!(second.packet_ps, (10 + 2 * 190 + 100) * 1_000);
        assert_eq!(first.mean_packets(Span::from_ns(160)), 0.5);
    }
}
