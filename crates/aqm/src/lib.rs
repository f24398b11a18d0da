//! Queue management: a policy that drops or marks packets before or after a scheduler, joined to any scheduler.

#![no_std]

extern crate alloc;

mod codel;
mod fq_codel;
mod ids;
mod options;
mod pie;
mod red;

pub use codel::CodelPolicy;
pub use fq_codel::{FqCodel, FqCodelParams};
use ids::Ids;
pub use options::{ManagedParams, PolicyParams};
pub use pie::{PieParams, PiePolicy};
use pifolab_sched::{
    Dequeued, DropReason, Enqueued, Fact, Facts, Hints, Inspect, InspectExt, Packet, Scheduler, WantedFacts,
    inspect_inside,
};
use pifolab_units::{Span, Time};
pub use red::{RedParams, RedPolicy};

/// A policy's verdict on an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is admitted.
    Keep,
    /// The packet signals congestion to its sender: by a mark if it can carry one, else by its loss.
    Signal,
    /// The packet is dropped, even if it could carry a mark.
    Refuse,
}

/// Decides which packets to drop or to mark, on arrival and when they leave. It applies to a whole buffer, so it reads
/// neither ranks nor single queues.
pub trait QueuePolicy {
    /// The verdict on a packet of `size` bytes that arrives at `now` and finds `backlog` bytes.
    fn judge(&mut self, size: u32, backlog: u64, now: Time) -> Verdict {
        let _ = (size, backlog, now);
        Verdict::Keep
    }

    /// Whether to drop a packet that would leave at `now` after `sojourn`, with `backlog` bytes behind it. If so, the
    /// next packet is judged at the same time. With `marks` the packet is marked and sent instead.
    fn gives_up(&mut self, sojourn: Span, backlog: u64, now: Time, marks: bool) -> bool {
        let _ = (sojourn, backlog, now, marks);
        false
    }

    /// Notes that the queue ran empty at `now`.
    fn ran_empty(&mut self, now: Time) {
        let _ = now;
    }
}

impl<P: QueuePolicy + ?Sized> QueuePolicy for alloc::boxed::Box<P> {
    fn judge(&mut self, size: u32, backlog: u64, now: Time) -> Verdict {
        (**self).judge(size, backlog, now)
    }

    fn gives_up(&mut self, sojourn: Span, backlog: u64, now: Time, marks: bool) -> bool {
        (**self).gives_up(sojourn, backlog, now, marks)
    }

    fn ran_empty(&mut self, now: Time) {
        (**self).ran_empty(now);
    }
}

/// A scheduler with a policy that may drop packets ("aqm"): arrivals before the scheduler stores them, or packets when
/// they would leave.
///
/// With [ECN](Self::with_ecn), most drops of packets that can carry a mark (RFC 3168) become marks, which
/// [`take_mark`](Scheduler::take_mark) returns: on arrival (RED, PIE) or at departure (CoDel).
#[derive(Clone, Debug)]
pub struct Managed<P, S> {
    policy: P,
    scheduler: S,
    ecn: bool,
    /// The id of the next arrival, if it can carry a mark.
    arriving: Option<u64>,
    /// The waiting packets that can carry a mark.
    capable: Ids,
    mark: bool,
}

impl<P, S> Managed<P, S> {
    /// Joins a policy to a scheduler.
    pub fn new(policy: P, scheduler: S) -> Self {
        Self { policy, scheduler, ecn: false, arriving: None, capable: Ids::new(), mark: false }
    }

    /// Marks packets that can carry a mark instead of dropping them.
    #[must_use]
    pub fn with_ecn(self) -> Self {
        Self { ecn: true, ..self }
    }
}

impl<P: QueuePolicy, S: Scheduler> Scheduler for Managed<P, S> {
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        self.enqueue_eligible(packet, Time::ZERO, now)
    }

    fn enqueue_eligible(&mut self, mut packet: Packet, eligible: Time, now: Time) -> Enqueued {
        packet.arrival = now;
        let capable = self.arriving.take() == Some(packet.id);
        let verdict = self.policy.judge(packet.size, self.scheduler.backlog().0, now);
        if verdict == Verdict::Refuse || verdict == Verdict::Signal && !capable {
            return Enqueued::Dropped { packet, reason: DropReason::Aqm };
        }
        let id = packet.id;
        let outcome = self.scheduler.enqueue_eligible(packet, eligible, now);
        self.mark = verdict == Verdict::Signal && outcome.is_admitted();
        if capable && outcome.is_admitted() {
            self.capable.insert(id);
        }
        if let Enqueued::Evicted { victims, .. } = &outcome {
            victims.iter().for_each(|victim| {
                self.capable.remove(victim.id);
            });
        }
        outcome
    }

    fn dequeue(&mut self, now: Time) -> Dequeued {
        let (packet, queue) = match self.scheduler.dequeue(now) {
            Dequeued::Packet { packet, queue } => (packet, queue),
            Dequeued::Dropped { packet, reason } => {
                self.capable.remove(packet.id);
                if self.scheduler.is_empty() {
                    self.policy.ran_empty(now);
                }
                return Dequeued::Dropped { packet, reason };
            }
            other => return other,
        };
        let capable = self.capable.remove(packet.id);
        let backlog = self.scheduler.backlog().0;
        let signals = self.policy.gives_up(now.since(packet.arrival.min(now)), backlog, now, capable);
        if self.scheduler.is_empty() {
            self.policy.ran_empty(now);
        }
        self.mark = signals && capable;
        if signals && !capable {
            Dequeued::Dropped { packet, reason: DropReason::Aqm }
        } else {
            Dequeued::Packet { packet, queue }
        }
    }

    fn not_before(&mut self) -> Time {
        self.scheduler.not_before()
    }

    fn hint(&mut self, id: u64, hints: &Hints) {
        self.arriving = (self.ecn && hints.labels.ecn != 0).then_some(id);
        self.scheduler.hint(id, hints);
    }

    fn wants(&self) -> WantedFacts {
        let ecn = if self.ecn { Facts::one(Fact::Ecn) } else { Facts::NONE };
        WantedFacts::needed(ecn) | self.scheduler.wants()
    }

    /// Also returns the marks of the scheduler inside.
    fn take_mark(&mut self) -> bool {
        core::mem::take(&mut self.mark) | self.scheduler.take_mark()
    }

    fn forget_flow(&mut self, flow: u32) {
        self.scheduler.forget_flow(flow);
    }

    /// The policy does not judge the packets again, since they were admitted before.
    fn succeed(&mut self, old: &mut dyn Scheduler, now: Time, lost: &mut dyn FnMut(Packet)) {
        self.scheduler.succeed(old, now, lost);
    }
}

impl<P, S: Inspect> Inspect for Managed<P, S> {
    inspect_inside!(self => self.scheduler);
}

#[cfg(test)]
mod tests {
    use super::*;
    use pifolab_sched::schedulers::{Fifo, FifoParams, Pifo, PifoParams};
    use pifolab_sched::{Capacity, Labels};
    use pifolab_units::{Rank, Ratio};

    const PACKET: u32 = 1_000;

    fn fifo() -> Fifo {
        Fifo::new(FifoParams { capacity: Capacity::Packets(10_000) }).unwrap()
    }

    /// A link that sends a packet every millisecond and gets one every 800 us. Returns the packets dropped, and the
    /// mean sojourn time of the second half in microseconds.
    fn overloaded(policy: impl QueuePolicy, packets: u64) -> (u64, u64) {
        let mut scheduler = Managed::new(policy, fifo());
        let (mut free, mut dropped, mut sum, mut late) = (Time::ZERO, 0, 0, 0);
        for id in 0..packets {
            let now = Time::from_ns(id * 800_000);
            while free <= now && !scheduler.is_empty() {
                match scheduler.dequeue(free) {
                    Dequeued::Packet { packet, .. } => {
                        if packet.id > packets / 2 {
                            sum += free.since(packet.arrival).as_ns() / 1_000;
                            late += 1;
                        }
                        free = free.saturating_add(Span::from_us(1_000));
                    }
                    Dequeued::Dropped { .. } => dropped += 1,
                    other => panic!("{other:?}"),
                }
            }
            if scheduler.is_empty() {
                free = free.max(now);
            }
            let packet = Packet { id, flow: 0, size: PACKET, rank: Rank::ZERO, arrival: now };
            dropped += u64::from(!scheduler.enqueue(packet, now).is_admitted());
        }
        (dropped, sum / late)
    }

    #[derive(Clone, Debug)]
    struct Idle;
    impl QueuePolicy for Idle {}

    #[test]
    #[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
    fn without_a_policy_the_queue_of_an_overloaded_link_only_grows() {
        let (dropped, mean) = overloaded(Idle, 10_000);
        assert_eq!(dropped, 0);
        assert!(mean > 1_000_000, "{mean} us");
    }

    #[test]
    #[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
    fn pie_holds_the_sojourn_time_at_its_target() {
        let params =
            PieParams { target: Span::from_us(15_000), update: Span::from_us(15_000), burst: Span::from_us(150_000) };
        let (dropped, mean) = overloaded(PiePolicy::new(params), 40_000);
        assert!((12_000..18_000).contains(&mean), "{mean} us");
        assert!((7_000..9_000).contains(&dropped), "a fifth is too much for the link: {dropped}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "a mean over many packets: minutes under Miri, which sees nothing new in it")]
    fn codel_gives_packets_up_at_dequeue() {
        let (dropped, mean) = overloaded(CodelPolicy::new(Span::from_us(5_000), Span::from_us(100_000), 1_514), 40_000);
        assert!(dropped > 5_000 && mean < 1_000_000, "{dropped} dropped, {mean} us");
    }

    /// As [`overloaded`], into a PIFO of 50 packets, with `ranks` ranks and every second packet able to carry a mark.
    /// Returns [dropped, marked] for the packets that can carry a mark, then for those that cannot.
    fn signalled(policy: impl QueuePolicy, packets: u64, ranks: u64) -> [[u64; 2]; 2] {
        let pifo = <Pifo>::new(PifoParams::packets(50)).unwrap();
        let mut scheduler = Managed::new(policy, pifo).with_ecn();
        assert!(scheduler.wants().needs.contains(Fact::Ecn));
        let (mut free, mut signals, mut held) = (Time::ZERO, [[0; 2]; 2], 0);
        let capable = |id: u64| (id % 2) as usize;
        for id in 0..packets {
            let now = Time::from_ns(id * 990_000);
            while free <= now && !scheduler.is_empty() {
                match scheduler.dequeue(free) {
                    Dequeued::Packet { packet, .. } => {
                        assert!(packet.id < packets, "its own name");
                        signals[capable(packet.id)][1] += u64::from(scheduler.take_mark());
                        assert!(!scheduler.take_mark(), "a mark is told once");
                        free = free.saturating_add(Span::from_us(1_000));
                        held -= 1;
                    }
                    Dequeued::Dropped { packet, .. } => {
                        assert!(!scheduler.take_mark());
                        signals[capable(packet.id)][0] += 1;
                        held -= 1;
                    }
                    other => panic!("{other:?}"),
                }
            }
            if scheduler.is_empty() {
                free = free.max(now);
            }
            // ECT(0) and ECT(1) in turn, and packets that are marked already.
            let labels = Labels { ecn: if capable(id) == 1 { 1 + (id / 2 % 3) as u8 } else { 0 }, ..Labels::default() };
            scheduler.hint(id, &Hints { labels, ..Hints::default() });
            let packet = Packet { id, flow: 0, size: PACKET, rank: Rank::from((id % ranks) as u32), arrival: now };
            held += 1;
            match scheduler.enqueue(packet, now) {
                Enqueued::Admitted { .. } => signals[capable(id)][1] += u64::from(scheduler.take_mark()),
                Enqueued::Evicted { victims, .. } => {
                    signals[capable(id)][1] += u64::from(scheduler.take_mark());
                    held -= victims.len();
                    assert!(victims.iter().all(|victim| victim.id < packets), "its own name");
                }
                Enqueued::Dropped { packet, reason } => {
                    assert!(!scheduler.take_mark());
                    assert_eq!(packet.id, id);
                    signals[capable(id)][0] += u64::from(reason == DropReason::Aqm);
                    held -= 1;
                }
            }
            assert_eq!(scheduler.len(), held);
        }
        signals
    }

    #[test]
    fn packets_that_can_carry_a_mark_are_marked_and_the_others_dropped() {
        let us = Span::from_us;
        let codel = CodelPolicy::new(us(5_000), us(100_000), 1_514);
        let pie = PiePolicy::new(PieParams { target: us(15_000), update: us(15_000), burst: us(150_000) });
        let red = RedPolicy::new(RedParams {
            min_bytes: 10_000,
            max_bytes: 45_000,
            hard_drop: true,
            max_probability: Ratio::new(1, 10).unwrap(),
            weight_log: 4,
            idle_packet: us(1_000),
        });
        let policies: [(&str, alloc::boxed::Box<dyn QueuePolicy>); 3] = [
            ("codel", alloc::boxed::Box::new(codel)),
            ("pie", alloc::boxed::Box::new(pie)),
            ("red", alloc::boxed::Box::new(red.unwrap())),
        ];
        for (name, policy) in policies {
            // CoDel and PIE measure the packets that leave, so none may overtake those that have waited too long.
            let ranks = if name == "red" { 7 } else { 1 };
            let [incapable, capable] = signalled(policy, pifolab_testkit::steps(40_000, 300), ranks);
            if cfg!(miri) {
                continue;
            }
            assert!(incapable[0] > 50 && incapable[1] == 0, "{name}: {incapable:?}");
            assert!(capable[0] == 0 && capable[1] > 50, "{name}: {capable:?}");
        }
    }
}
