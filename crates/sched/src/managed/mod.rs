//! Queue management: a policy that drops or marks packets before or after a scheduler, joined to any scheduler.

pub(crate) mod codel;
mod dualpi2;

use crate::inspect::inspect_inside;
use crate::params::ParamError;
use crate::{
    ControlPlane, Dequeued, DropReason, Enqueued, Fact, Facts, Hints, Inspect, Packet, Scheduler, WantedFacts, control,
};
use codel::{Codel, CodelTarget};
use pifolab_units::{Rank, Ratio, Span, Time};

pub use dualpi2::{DualPi2, DualPi2Params, LowLatency};

/// What a policy says of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may come in.
    Keep,
    /// Its sender is to be told of congestion: by a mark if it can carry one, or else by its loss.
    Signal,
    /// It is refused, whatever it can carry.
    Refuse,
}

/// Decides which packets to drop or to mark, on arrival and when they leave. It sees no packet's rank and no queue: what a policy
/// of a whole buffer may know.
pub trait QueuePolicy {
    /// What becomes of a packet of `size` bytes that arrives at `now` and finds `backlog` bytes.
    fn judge(&mut self, size: u32, backlog: u64, now: Time) -> Verdict {
        let _ = (size, backlog, now);
        Verdict::Keep
    }

    /// Whether to give up a packet that would leave at `now` after `sojourn`, with `backlog` bytes behind it. If so the next one
    /// is asked about at the same time. If it `marks` it is not given up but marked, and leaves.
    fn gives_up(&mut self, sojourn: Span, backlog: u64, now: Time, marks: bool) -> bool {
        let _ = (sojourn, backlog, now, marks);
        false
    }

    /// Nothing waits any more at `now`.
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

/// A scheduler whose packets a policy may drop. A refused arrival is dropped ("admission") before the scheduler sees it; a
/// packet that is given up is dropped ("admission") where it would have left.
///
/// With [ECN](Self::with_ecn) a packet that can carry a mark (RFC 3168) is marked in the place of most drops, and
/// [`take_mark`](Scheduler::take_mark) says so: on arrival (RED, PIE) or where it leaves (CoDel).
#[derive(Clone, Debug)]
pub struct Managed<P, S> {
    policy: P,
    scheduler: S,
    ecn: bool,
    /// The packet that is about to arrive, if it can carry a mark.
    capable: Option<u64>,
    mark: bool,
}

/// Added to the name of a packet that can carry a mark, while the scheduler holds it. No name is that large.
const CAPABLE: u64 = 1 << 63;

impl<P, S> Managed<P, S> {
    /// Joins the two.
    pub const fn new(policy: P, scheduler: S) -> Self {
        Self { policy, scheduler, ecn: false, capable: None, mark: false }
    }

    /// Marks packets that can carry a mark in the place of dropping them.
    #[must_use]
    pub fn with_ecn(self) -> Self {
        Self { ecn: true, ..self }
    }
}

/// Gives a packet its own name back. Says whether it can carry a mark.
#[inline]
const fn restore(packet: &mut Packet) -> bool {
    let capable = packet.id & CAPABLE != 0;
    packet.id &= !CAPABLE;
    capable
}

impl<P: QueuePolicy, S: Scheduler> Scheduler for Managed<P, S> {
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        self.enqueue_eligible(packet, Time::ZERO, now)
    }

    fn enqueue_eligible(&mut self, mut packet: Packet, eligible: Time, now: Time) -> Enqueued {
        packet.arrival = now;
        let capable = self.capable.take() == Some(packet.id);
        let verdict = self.policy.judge(packet.size, self.scheduler.backlog().0, now);
        if verdict == Verdict::Refuse || verdict == Verdict::Signal && !capable {
            return Enqueued::Dropped { packet, reason: DropReason::Admission };
        }
        packet.id |= if capable { CAPABLE } else { 0 };
        let mut outcome = self.scheduler.enqueue_eligible(packet, eligible, now);
        self.mark = verdict == Verdict::Signal && outcome.is_admitted();
        match &mut outcome {
            Enqueued::Admitted { .. } => {}
            Enqueued::Evicted { victims, .. } => {
                for victim in victims.iter_mut() {
                    restore(victim);
                }
            }
            Enqueued::Dropped { packet, .. } => {
                restore(packet);
            }
        }
        outcome
    }

    fn dequeue(&mut self, now: Time) -> Dequeued {
        let (mut packet, queue) = match self.scheduler.dequeue(now) {
            Dequeued::Packet { packet, queue } => (packet, queue),
            Dequeued::Dropped { mut packet, reason } => {
                restore(&mut packet);
                if self.scheduler.is_empty() {
                    self.policy.ran_empty(now);
                }
                return Dequeued::Dropped { packet, reason };
            }
            other => return other,
        };
        let capable = restore(&mut packet);
        let backlog = self.scheduler.backlog().0;
        let signals = self.policy.gives_up(now.since(packet.arrival.min(now)), backlog, now, capable);
        if self.scheduler.is_empty() {
            self.policy.ran_empty(now);
        }
        self.mark = signals && capable;
        if signals && !capable {
            Dequeued::Dropped { packet, reason: DropReason::Admission }
        } else {
            Dequeued::Packet { packet, queue }
        }
    }

    fn not_before(&mut self) -> Time {
        self.scheduler.not_before()
    }

    fn hint(&mut self, id: u64, hints: &Hints) {
        let capable = self.ecn && hints.labels.ecn != 0;
        self.capable = capable.then_some(id);
        self.scheduler.hint(if capable { id | CAPABLE } else { id }, hints);
    }

    fn wants(&self) -> WantedFacts {
        let ecn = if self.ecn { Facts::one(Fact::Ecn) } else { Facts::NONE };
        WantedFacts::needed(ecn) | self.scheduler.wants()
    }

    /// What is marked inside is marked here.
    fn take_mark(&mut self) -> bool {
        core::mem::take(&mut self.mark) | self.scheduler.take_mark()
    }

    fn control_plane(&mut self) -> Option<&mut dyn ControlPlane> {
        Some(self)
    }
}

impl<P: QueuePolicy, S: Scheduler> ControlPlane for Managed<P, S> {
    fn forget_flow(&mut self, flow: u32) {
        control::forget_flow(&mut self.scheduler, flow);
    }

    /// The packet was accepted before.
    fn take_over(&mut self, packet: Packet, queue: u32, now: Time) -> Enqueued {
        control::take_over(&mut self.scheduler, packet, queue, now)
    }

    fn resume(&mut self, window: &[Rank], state: &[i64]) {
        control::resume(&mut self.scheduler, window, state);
    }
}

impl<P, S: Inspect> Inspect for Managed<P, S> {
    inspect_inside!(self => self.scheduler);
}

/// Controlled delay (RFC 8289): gives up packets at dequeue, ever faster, while the sojourn time stays above a target.
#[derive(Clone, Debug)]
pub struct CodelPolicy {
    set: CodelTarget,
    state: Codel,
}

impl CodelPolicy {
    /// With this target of the sojourn time and this interval; a backlog of at most `most_bytes`, one full packet, is left
    /// alone.
    pub fn new(target: Span, interval: Span, most_bytes: u64) -> Self {
        Self { set: CodelTarget { target, interval, most_bytes }, state: Codel::default() }
    }
}

impl QueuePolicy for CodelPolicy {
    fn gives_up(&mut self, sojourn: Span, backlog: u64, now: Time, marks: bool) -> bool {
        self.state.gives_up(&self.set, sojourn, backlog, now, marks)
    }

    fn ran_empty(&mut self, _now: Time) {
        self.state.ran_empty();
    }
}

/// A probability of 1, and an average of a byte: both in units of 2^-32.
const ONE: u64 = 1 << 32;

/// What a [`RedPolicy`] is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedParams {
    /// An average below this drops nothing, in bytes.
    pub min_bytes: u64,
    /// An average from here on drops everything, in bytes.
    pub max_bytes: u64,
    /// The probability just below `max_bytes`.
    pub max_probability: Ratio,
    /// The weight of a new sample in the average is 2^-this.
    pub weight_log: u32,
    /// How long a usual packet takes on the link: an idle queue's average falls as if that many small packets had come.
    pub idle_packet: Span,
}

/// Random early detection: drops arrivals with a probability that grows with the average backlog.
///
/// Paper: Floyd, Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1993, section 4. The paper
/// spaces drops uniformly between 1 and 1 / p packets apart; here they come evenly, 1 / 2p apart, which is the same mean, so
/// that nothing is drawn.
#[derive(Clone, Debug)]
pub struct RedPolicy {
    params: RedParams,
    /// In units of 2^-32 bytes.
    average: u128,
    /// The sum of the probabilities since the last drop, in units of 2^-32.
    owed: u64,
    idle_since: Option<Time>,
}

impl RedPolicy {
    /// An average of 0.
    ///
    /// # Errors
    /// Thresholds that are not in ascending order.
    pub fn new(params: RedParams) -> Result<Self, ParamError> {
        if params.min_bytes >= params.max_bytes {
            let expected = alloc::format!("expected more than min_bytes = {}", params.min_bytes);
            let value = Some(alloc::format!("{}", params.max_bytes));
            return Err(ParamError { owner: "managed".into(), key: "max_bytes".into(), value, expected });
        }
        Ok(Self { params, average: 0, owed: 0, idle_since: Some(Time::ZERO) })
    }

    /// The average backlog in bytes.
    pub const fn average_bytes(&self) -> u64 {
        (self.average >> 32) as u64
    }

    /// An arrival at `now` finds `backlog` bytes.
    fn average(&mut self, backlog: u64, now: Time) {
        let log = self.params.weight_log;
        self.idle_since = if backlog == 0 {
            let since = self.idle_since.unwrap_or(now).min(now);
            let packets = now.since(since).as_ps() / self.params.idle_packet.as_ps().max(1);
            self.average = (self.average * u128::from(power(log, packets))) >> 32;
            // If the arrival is refused nothing waits from now on either.
            Some(now)
        } else {
            None
        };
        let sample = u128::from(backlog) << 32;
        self.average = self.average - (self.average >> log) + (sample >> log);
    }
}

/// (1 - 2^-log)^exponent in units of 2^-32, rounded down.
fn power(log: u32, mut exponent: u64) -> u64 {
    const UNIT: u128 = 1 << 63;
    let mut square = UNIT - (UNIT >> log);
    let mut power = UNIT;
    while exponent > 0 && power > 0 {
        if exponent % 2 == 1 {
            power = (power * square) >> 63;
        }
        square = (square * square) >> 63;
        exponent /= 2;
    }
    (power >> 31) as u64
}

impl QueuePolicy for RedPolicy {
    fn judge(&mut self, _size: u32, backlog: u64, now: Time) -> Verdict {
        self.average(backlog, now);
        let RedParams { min_bytes, max_bytes, max_probability, .. } = self.params;
        let (low, high) = (u128::from(min_bytes) << 32, u128::from(max_bytes) << 32);
        if self.average < low {
            self.owed = 0;
            return Verdict::Keep;
        }
        if self.average >= high {
            // RFC 3168, section 7: where everything is signalled, marks no longer do.
            self.owed = 0;
            return Verdict::Refuse;
        }
        let share = ((self.average - low) << 32) / (high - low);
        let probability =
            share * u128::from(max_probability.numerator()) / u128::from(max_probability.denominator().max(1));
        self.owed += probability as u64;
        let drops = self.owed >= ONE / 2;
        self.owed = if drops { 0 } else { self.owed };
        if drops { Verdict::Signal } else { Verdict::Keep }
    }

    fn ran_empty(&mut self, now: Time) {
        self.idle_since = Some(now);
    }
}

/// What a [`PiePolicy`] is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieParams {
    /// The sojourn time that is aimed at.
    pub target: Span,
    /// How often the probability is computed anew.
    pub update: Span,
    /// How long a burst may be before anything is dropped.
    pub burst: Span,
}

/// PIE (RFC 8033, sections 4 and 5.1, with sojourn times instead of an estimated rate): drops arrivals with a probability that
/// a proportional-integral controller holds.
///
/// The RFC draws whether to drop; here the probabilities are added up and a packet is dropped each time that the sum reaches 1, so that
/// nothing is drawn. Weights of the controller are the RFC's: 1/8 and 5/4 per second.
#[derive(Clone, Debug)]
pub struct PiePolicy {
    params: PieParams,
    /// In units of 2^-62, as is the sum.
    probability: u64,
    owed: u64,
    delay: Span,
    old_delay: Span,
    burst_left: Span,
    next_update: Time,
}

/// A probability of 1 for PIE, which adjusts in steps of a millionth of a millionth.
const CERTAIN: u64 = 1 << 62;

impl PiePolicy {
    /// A probability of 0, and a whole burst allowed.
    pub const fn new(params: PieParams) -> Self {
        Self {
            params,
            probability: 0,
            owed: 0,
            delay: Span::ZERO,
            old_delay: Span::ZERO,
            burst_left: params.burst,
            next_update: Time::ZERO,
        }
    }

    fn update(&mut self, now: Time) {
        // Steps that were missed while nothing happened all find the same delay.
        let mut steps = 0;
        while now >= self.next_update && steps < 1_000 {
            steps += 1;
            self.next_update = self.next_update.saturating_add(self.params.update);
            self.step();
        }
        if now >= self.next_update {
            self.next_update = now.saturating_add(self.params.update);
        }
    }

    fn step(&mut self) {
        let seconds = |span: Span| i128::from(span.as_ps().min(1 << 50));
        let (target, delay, old) = (seconds(self.params.target), seconds(self.delay), seconds(self.old_delay));
        // alpha (delay - target) + beta (delay - old), in 8ths of a picosecond per second.
        let error = (delay - target) + 10 * (delay - old);
        let mut change = error * i128::from(CERTAIN) / (8 * 1_000_000_000_000);
        // RFC 8033, section 4.2: the smaller the probability, the smaller the steps.
        let scales = [(1_000_000, 2048), (100_000, 512), (10_000, 128), (1_000, 32), (100, 8), (10, 2)];
        let scale = scales.iter().find(|(one_in, _)| self.probability < CERTAIN / one_in).map_or(1, |(_, by)| *by);
        change /= scale;
        // Section 5.5: no jumps where much is dropped already.
        if self.probability >= CERTAIN / 10 {
            change = change.min(i128::from(CERTAIN / 50));
        }
        let mut probability = (i128::from(self.probability) + change).clamp(0, i128::from(CERTAIN)) as u64;
        if self.delay == Span::ZERO && self.old_delay == Span::ZERO {
            probability -= probability / 50;
        }
        self.probability = probability;
        self.old_delay = self.delay;
        let step = self.params.update.as_ps();
        self.burst_left = Span::from_ps(self.burst_left.as_ps().saturating_sub(step));
        let half = self.params.target.as_ps() / 2;
        if probability == 0 && self.delay.as_ps() < half && self.old_delay.as_ps() < half {
            self.burst_left = self.params.burst;
        }
    }
}

impl QueuePolicy for PiePolicy {
    fn judge(&mut self, size: u32, backlog: u64, now: Time) -> Verdict {
        self.update(now);
        let small = self.old_delay.as_ps() < self.params.target.as_ps() / 2 && self.probability < CERTAIN / 5;
        if self.burst_left > Span::ZERO || small || backlog <= 2 * u64::from(size) {
            return Verdict::Keep;
        }
        self.owed = self.owed.saturating_add(self.probability);
        let drops = self.owed >= CERTAIN;
        self.owed -= if drops { CERTAIN } else { 0 };
        match drops {
            false => Verdict::Keep,
            // RFC 8033, section 5.1: marks up to a probability of a tenth, drops beyond it.
            true if self.probability <= CERTAIN / 10 => Verdict::Signal,
            true => Verdict::Refuse,
        }
    }

    fn gives_up(&mut self, sojourn: Span, _backlog: u64, now: Time, _marks: bool) -> bool {
        self.update(now);
        self.delay = sojourn;
        false
    }

    fn ran_empty(&mut self, _now: Time) {
        self.delay = Span::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Capacity;
    use crate::Labels;
    use crate::schedulers::{Fifo, FifoParams, Pifo, PifoParams};

    const PACKET: u32 = 1_000;

    fn fifo() -> Fifo {
        Fifo::new(FifoParams { capacity: Capacity::Packets(10_000) }).unwrap()
    }

    /// A link that sends a packet a millisecond, and gets one every 800 us: packets dropped, and the mean sojourn time in
    /// microseconds of the later half.
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

    #[test]
    fn red_drops_as_often_as_its_average_says() {
        let ratio = Ratio::new(1, 50).unwrap();
        let idle_packet = Span::from_us(1_000);
        let params =
            RedParams { min_bytes: 10_000, max_bytes: 30_000, max_probability: ratio, weight_log: 2, idle_packet };
        let mut red = RedPolicy::new(params).unwrap();
        let mut drops =
            |backlog| (0..1_000).filter(|_| red.judge(PACKET, backlog, Time::ZERO) != Verdict::Keep).count();
        assert_eq!(drops(9_000), 0, "below the lower threshold");
        // Half-way p is 1/100: a drop every 50 packets.
        assert!((18..=21).contains(&drops(20_000)));
        assert!(drops(40_000) > 950, "beyond the upper threshold everything");
        red.ran_empty(Time::ZERO);
        assert_eq!(red.judge(PACKET, 0, Time::from_ns(1_000_000_000)), Verdict::Keep);
        assert!(red.average_bytes() < 10, "an idle second empties the average");
        // So does one that begins with an arrival that is refused, though nothing waits.
        assert_eq!(red.judge(PACKET, 1 << 30, Time::from_ns(1_000_000_000)), Verdict::Refuse);
        red.ran_empty(Time::from_ns(1_000_000_000));
        assert_eq!(red.judge(PACKET, 0, Time::from_ns(1_000_000_001)), Verdict::Refuse);
        assert_eq!(red.judge(PACKET, 0, Time::from_ns(2_000_000_000)), Verdict::Keep);
        assert!(red.average_bytes() < 10, "{} bytes", red.average_bytes());
        assert!(RedPolicy::new(RedParams { max_bytes: 10_000, ..params }).is_err());
    }

    /// As [`overloaded`], with packets of which every other one can carry a mark, into a PIFO of 50 packets and so many ranks:
    /// packets dropped and marked that can carry a mark, and dropped and marked that cannot.
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
                    signals[capable(id)][0] += u64::from(reason == DropReason::Admission);
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
            // CoDel and PIE look at the packets that leave: none of them may overtake those that wait too long.
            let ranks = if name == "red" { 7 } else { 1 };
            let [incapable, capable] = signalled(policy, pifolab_testkit::steps(40_000, 300), ranks);
            if cfg!(miri) {
                continue;
            }
            assert!(incapable[0] > 50 && incapable[1] == 0, "{name}: {incapable:?}");
            assert!(capable[0] == 0 && capable[1] > 50, "{name}: {capable:?}");
        }
    }

    #[test]
    fn beyond_what_marks_can_do_packets_are_dropped_whatever_they_can_carry() {
        let ratio = Ratio::new(1, 10).unwrap();
        let idle_packet = Span::from_us(1_000);
        let params =
            RedParams { min_bytes: 10_000, max_bytes: 20_000, max_probability: ratio, weight_log: 0, idle_packet };
        let mut red = RedPolicy::new(params).unwrap();
        assert_eq!(red.judge(PACKET, 20_001, Time::ZERO), Verdict::Refuse, "RFC 3168, section 7");
        // Beyond a probability of a tenth (RFC 8033, section 5.1).
        let params = PieParams { target: Span::from_us(15_000), update: Span::from_us(15_000), burst: Span::ZERO };
        let mut pie = PiePolicy::new(params);
        let mut seen = [0; 2];
        for step in 0..4_000 {
            let now = Time::from_ns(step * 1_000_000);
            pie.gives_up(Span::from_us(60_000), 100_000, now, false);
            match pie.judge(PACKET, 100_000, now) {
                Verdict::Keep => {}
                Verdict::Signal => {
                    seen[0] += 1;
                    assert!(pie.probability <= CERTAIN / 10);
                }
                Verdict::Refuse => {
                    seen[1] += 1;
                    assert!(pie.probability > CERTAIN / 10);
                }
            }
        }
        assert!(seen.iter().all(|count| *count > 3), "{seen:?}");
    }
}
