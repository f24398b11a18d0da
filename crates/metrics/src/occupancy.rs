//! Occupancy and queue bounds over time.

use pifolab_sched::{Inspect, InspectExt};
use pifolab_sim::observer::{Loss, Observer, PacketView, PortId};
use pifolab_units::{Rank, Span, Time};

/// The times at which samples are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// After the outcome of every n-th arrival, the first one included.
    EveryPackets(u64),
    /// After the first outcome at or after each multiple of this span.
    Every(Span),
}

/// Samples the number of packets in the buffer and in each queue, and the queues' bounds if the scheduler has bounds.
///
/// Memory: 48 bytes per sample, and 24 bytes per sample and queue. `limit` of [`Samples::new`] limits the number of
/// samples; later samples are only counted.
#[derive(Clone, Debug)]
pub struct Samples {
    sampling: Sampling,
    limit: usize,
    window: bool,
    /// Arrivals until the next sample.
    countdown: u64,
    next: Time,
    samples: Vec<Sample>,
    queues: Vec<QueueSample>,
    skipped: u64,
}

/// The buffer at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The time of the sample.
    pub time: Time,
    /// Packets in the buffer, without the packet on the wire.
    pub packets: u32,
    /// Bytes in the buffer.
    pub bytes: u64,
    /// The smallest and the largest rank in the scheduler's window. `None` if not requested or if the scheduler has no
    /// window.
    pub window: Option<(Rank, Rank)>,
}

/// One queue at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSample {
    /// Packets in the queue.
    pub packets: u32,
    /// The queue's bound, if the scheduler has bounds.
    pub bound: Option<i64>,
}

impl Samples {
    /// Takes at most `limit` samples at the times that `sampling` defines. With `window`, each sample also reads the
    /// range of the scheduler's window of ranks, which costs one pass over the window.
    ///
    /// # Panics
    /// If `sampling` is every 0 packets or a zero span.
    pub fn new(sampling: Sampling, limit: usize, window: bool) -> Self {
        assert!(!matches!(sampling, Sampling::EveryPackets(0) | Sampling::Every(Span::ZERO)), "samples without a gap");
        Self {
            sampling,
            limit,
            window,
            countdown: 0,
            next: Time::ZERO,
            samples: Vec::new(),
            queues: Vec::new(),
            skipped: 0,
        }
    }

    /// The number of samples not taken because of the limit.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The samples in order of time, each with the samples of its queues.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Sample, &[QueueSample])> {
        let queues = self.queues.len().checked_div(self.samples.len()).unwrap_or(0);
        self.samples.iter().zip(self.queues.chunks(queues.max(1))).map(|(sample, queues)| (*sample, queues))
    }

    #[inline]
    fn arrival(&mut self, scheduler: &dyn Inspect, now: Time) {
        if let Sampling::EveryPackets(n) = self.sampling {
            if self.countdown == 0 {
                self.sample(scheduler, now);
                self.countdown = n;
            }
            self.countdown -= 1;
        }
        self.tick(scheduler, now);
    }

    #[inline]
    fn tick(&mut self, scheduler: &dyn Inspect, now: Time) {
        if let Sampling::Every(span) = self.sampling
            && now >= self.next
        {
            self.sample(scheduler, now);
            self.next = Time::from_ps((now.as_ps() / span.as_ps() + 1).saturating_mul(span.as_ps()));
        }
    }

    fn sample(&mut self, scheduler: &dyn Inspect, now: Time) {
        if self.samples.len() >= self.limit {
            self.skipped += 1;
            return;
        }
        let mut window = None;
        if self.window {
            scheduler.visit_window(&mut |rank| {
                let (min, max) = window.unwrap_or((rank, rank));
                window = Some((min.min(rank), max.max(rank)));
            });
        }
        let (packets, bytes) = (scheduler.len() as u32, scheduler.backlog().0);
        self.samples.push(Sample { time: now, packets, bytes, window });
        self.queues.extend((0..scheduler.queues()).map(|queue| QueueSample {
            packets: scheduler.queue_len(queue) as u32,
            bound: scheduler.queue_bound(queue),
        }));
    }
}

impl Observer for Samples {
    #[inline]
    fn on_admit(&mut self, _: PortId, _: PacketView, _: u32, scheduler: &dyn Inspect, now: Time) {
        self.arrival(scheduler, now);
    }

    #[inline]
    fn on_drop(&mut self, _: PortId, _: PacketView, loss: Loss, scheduler: &dyn Inspect, now: Time) {
        // A pushed-out packet is not an arrival. The packet that pushed it out is reported separately.
        if !loss.admitted {
            self.arrival(scheduler, now);
        }
    }

    #[inline]
    fn on_dequeue(&mut self, _: PortId, _: PacketView, _: u32, scheduler: &dyn Inspect, now: Time) {
        self.tick(scheduler, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{events, run};
    use pifolab_sched::params::{Args, FromArgs};
    use pifolab_sched::schedulers::{Rifo, SpPifo, SpPifoParams};
    use pifolab_sched::{Packet, Scheduler};

    fn times(sampling: Sampling, limit: usize) -> (Vec<u64>, u64) {
        let mut samples = Samples::new(sampling, limit, false);
        run(&mut samples, events("+1 +1 -1 x1 e1 +2 -2 +3"));
        (samples.iter().map(|(sample, _)| sample.time.as_ns()).collect(), samples.skipped())
    }

    #[test]
    fn samples_are_taken_every_n_arrivals_or_once_per_span() {
        // Arrivals at 0, 1, 3 (refused), 5 and 7 us.
        assert_eq!(times(Sampling::EveryPackets(2), 100), (vec![0, 3_000, 7_000], 0));
        assert_eq!(times(Sampling::Every(Span::from_us(2)), 100), (vec![0, 2_000, 5_000, 6_000], 0));
        assert_eq!(times(Sampling::EveryPackets(1), 2), (vec![0, 1_000], 3));
    }

    #[test]
    fn a_sample_shows_each_queue_and_its_bound() {
        let mut scheduler = SpPifo::new(SpPifoParams::uniform(2, 10)).unwrap();
        let mut samples = Samples::new(Sampling::EveryPackets(1), 10, true);
        let packet = Packet { id: 0, flow: 0, size: 100, rank: Rank::from(3), arrival: Time::ZERO };
        let view = PacketView::from(&packet);
        assert!(scheduler.enqueue(packet, Time::ZERO).is_admitted());
        samples.on_admit(PortId(0), view, 1, &scheduler, Time::ZERO);
        let (sample, queues) = samples.iter().next().unwrap();
        assert_eq!(sample, Sample { time: Time::ZERO, packets: 1, bytes: 100, window: None });
        let expected = [(0, Some(0)), (1, Some(3))].map(|(packets, bound)| QueueSample { packets, bound });
        assert_eq!(queues, expected);
    }

    #[test]
    fn the_range_of_the_window_is_sampled_if_asked_for() {
        let mut rifo = Rifo::build(Args::new("rifo")).unwrap();
        for (window, expected) in [(true, Some((Rank::from(2), Rank::from(9)))), (false, None)] {
            let mut samples = Samples::new(Sampling::EveryPackets(1), 10, window);
            for rank in [9u32, 2, 5] {
                let packet = Packet { id: 0, flow: 0, size: 100, rank: Rank::from(rank), arrival: Time::ZERO };
                let view = PacketView::from(&packet);
                assert!(rifo.enqueue(packet, Time::ZERO).is_admitted());
                samples.on_admit(PortId(0), view, 0, &rifo, Time::ZERO);
            }
            assert_eq!(samples.iter().last().unwrap().0.window, expected);
        }
    }
}
