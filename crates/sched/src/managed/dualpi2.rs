//! DualPI2: two queues, one for senders that answer to every mark (L4S) and one for all others (Classic), whose probabilities of a
//! mark or a drop are coupled, so that flows of both kinds get about the same rate while one kind hardly waits.
//!
//! Source: RFC 9332 (2023), sections 2.4 and 4 and appendix A; defaults of the queue discipline of the same name in Linux.
//!
//! Parameters (symbol, unit, range, default):
//! - limit of both queues together (packets, default 10,000);
//! - target of the Classic queue's delay (ns, default 15 ms) and update interval (ns, default 16 ms) of the controller;
//! - alpha and beta, the controller's integral and proportional gains (Hz / 256, defaults 41 and 819);
//! - k, the coupling factor (1 to 255, default 2);
//! - step, the delay from which on the low-latency queue marks everything (ns, default 1 ms);
//! - Classic share of the link while packets wait in both queues (0 to 1, default 1/10);
//! - which packets are low latency: ECT(1) and CE (default), or all that can carry a mark.
//!
//! Cost: O(1) per operation beside the scheduler's. A switch needs two queues with arrival times, a controller and a credit.
//!
//! Deviation from PIFO: low-latency packets are first in, first out and go first, but for the Classic share; Classic packets are
//! in the order of their scheduler.
//!
//! Deviations: the delay of a queue is that of the packet that left it last, since the oldest packet of an arbitrary scheduler
//! is not known, and as in Linux the controller sees the larger of both queues. The conditional priority is the weighted one of
//! section 4.2.2, as in Linux, not the time-shifted FIFO. Nothing is drawn: probabilities are added up in both queues, and a signal
//! is due when the sum reaches 1. With two frames behind a packet or less only the step marks, as in Linux.
//!
//! Checked against: the steps, against ns-3's `DualPi2QueueDisc`, which follows draft 10 of the RFC (there a sum must exceed 1, and the
//! controller sees the oldest Classic packet). Neither the text of the RFC nor tc-dualpi2(8) was at hand.

use super::{CAPABLE, restore};
use crate::params::choices;
use crate::{
    Capacity, ControlPlane, Dequeued, DropReason, Enqueued, Fact, Facts, Hints, Inspect, Kept, Packet, RankInterval,
    Scheduler, WantedFacts, control,
};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use pifolab_units::{Bytes, Rank, Ratio, Span, Time};

choices! {
    /// Which packets go to the low-latency queue.
    #[derive(Default)]
    pub enum LowLatency {
        #[default]
        Ect1 = "ect1": "ECT(1) and packets that are marked already (RFC 9331)",
        AnyEct = "any-ect": "all that can carry a mark, as the data of DCTCP with ECT(0)",
    }
}

/// What a [`DualPi2`] is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DualPi2Params {
    /// The most packets of both queues together.
    pub limit_packets: u32,
    /// The Classic delay that is aimed at.
    pub target: Span,
    /// How often the probability is computed anew.
    pub update: Span,
    /// Gain of the distance to the target, in 256ths of a hertz.
    pub alpha: u32,
    /// Gain of the change of the delay, in 256ths of a hertz.
    pub beta: u32,
    /// k: the low-latency probability is k p', the Classic one p'^2.
    pub coupling: u32,
    /// A low-latency packet that waited for longer is marked.
    pub step: Span,
    /// What the Classic queue gets of the link while packets wait in both; at most 1.
    pub classic_share: Ratio,
    /// Which packets are low latency.
    pub low_latency: LowLatency,
}

impl Default for DualPi2Params {
    fn default() -> Self {
        Self {
            limit_packets: 10_000,
            target: Span::from_us(15_000),
            update: Span::from_us(16_000),
            alpha: 41,
            beta: 819,
            coupling: 2,
            step: Span::from_us(1_000),
            classic_share: Ratio::new(1, 10).expect("a fraction"),
            low_latency: LowLatency::Ect1,
        }
    }
}

/// A probability of 1.
const CERTAIN: u64 = 1 << 40;

/// A full Ethernet frame. With no more than two of them behind a packet the controller's probability counts for nothing.
const FRAME_BYTES: u64 = 1_514;

/// The proportional-integral controller of the base probability p', and the counts that stand for draws.
#[derive(Clone, Debug)]
struct Controller {
    /// p', in units of 1 / [`CERTAIN`].
    probability: u64,
    /// The delays of the packets that left the two queues last, low latency first.
    delays: [Span; 2],
    old_delay: Span,
    next_update: Time,
    /// What is due of a signal, for each queue.
    owed: [u64; 2],
}

impl Controller {
    /// All updates that are due at `now`. Between packets no delay changes: all of them but the first see the same one twice.
    fn update(&mut self, set: &DualPi2Params, now: Time) {
        if now < self.next_update {
            return;
        }
        let period = set.update.as_ps();
        let later = now.since(self.next_update).as_ps() / period;
        self.next_update = self.next_update.saturating_add(Span::from_ps(period.saturating_mul(later + 1)));
        let ps = |span: Span| i128::from(span.as_ps().min(1 << 50));
        let delay = self.delays[0].max(self.delays[1]);
        let unit = |gain: u32, by: i128| i128::from(gain) * by * i128::from(CERTAIN) / (256 * 1_000_000_000_000);
        let integral = unit(set.alpha, ps(delay) - ps(set.target));
        let proportional = unit(set.beta, ps(delay) - ps(self.old_delay));
        self.step(integral + proportional);
        self.step(integral.saturating_mul(later.into()));
        self.old_delay = delay;
    }

    fn step(&mut self, by: i128) {
        self.probability = i128::from(self.probability).saturating_add(by).clamp(0, CERTAIN.into()) as u64;
    }

    /// p'^2.
    fn classic(&self) -> u64 {
        ((u128::from(self.probability) * u128::from(self.probability)) >> 40) as u64
    }

    /// Whether a signal of this probability is due in `queue`.
    fn recurs(&mut self, queue: usize, likelihood: u64) -> bool {
        self.owed[queue] += likelihood;
        let due = self.owed[queue] >= CERTAIN;
        self.owed[queue] -= if due { CERTAIN } else { 0 };
        due
    }
}

/// What becomes of a packet that would leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Sent,
    Marked,
    Dropped,
}

/// A scheduler for Classic packets, beside it a first-in first-out queue for those of low latency, and the controller of both. Packets
/// that are given up are dropped ("admission") where they would have left; an arrival beyond the limit is dropped ("full").
///
/// Queue 0 is the low-latency one; those of the scheduler follow.
#[derive(Debug)]
pub struct DualPi2<S> {
    set: DualPi2Params,
    classic: S,
    waiting: VecDeque<Packet>,
    waiting_bytes: u64,
    controller: Controller,
    /// Above 0 the Classic queue is due; in bytes times the denominator of the share.
    credit: i128,
    /// The packet that is about to arrive, and its codepoint.
    arriving: Option<(u64, u8)>,
    mark: bool,
}

const LOW: usize = 0;
const CLASSIC: usize = 1;

impl<S: Scheduler> DualPi2<S> {
    /// Joins `classic` to a low-latency queue.
    pub fn new(set: DualPi2Params, classic: S) -> Self {
        let controller = Controller {
            probability: 0,
            delays: [Span::ZERO; 2],
            old_delay: Span::ZERO,
            next_update: Time::ZERO.saturating_add(set.update),
            owed: [0; 2],
        };
        let mut dual = Self {
            set,
            classic,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            controller,
            credit: 0,
            arriving: None,
            mark: false,
        };
        dual.credit = dual.initial_credit();
        dual
    }

    /// The weights of the Classic and of the low-latency queue.
    fn weights(&self) -> (i128, i128) {
        let share = self.set.classic_share;
        let classic = i128::from(share.numerator());
        (classic, i128::from(share.denominator()) - classic)
    }

    fn initial_credit(&self) -> i128 {
        let (classic, low) = self.weights();
        i128::from(FRAME_BYTES) * (classic - low)
    }

    /// What the two queues' probabilities say of a packet that would leave `queue`, with `behind` bytes in both.
    fn judge(&mut self, queue: usize, ecn: bool, sojourn: Span, behind: u64) -> Fate {
        let coupled = u64::from(self.set.coupling) * self.controller.probability;
        let overload = coupled > CERTAIN;
        let squared = self.controller.classic();
        let controlled = behind > 2 * FRAME_BYTES;
        if queue == CLASSIC {
            return match controlled && self.controller.recurs(CLASSIC, squared) {
                false => Fate::Sent,
                true if ecn && !overload => Fate::Marked,
                true => Fate::Dropped,
            };
        }
        let marked = match (controlled, overload) {
            (false, _) => false,
            (true, true) if self.controller.recurs(LOW, squared) => return Fate::Dropped,
            (true, true) => true,
            (true, false) => self.controller.recurs(LOW, coupled),
        };
        if marked || sojourn > self.set.step { Fate::Marked } else { Fate::Sent }
    }

    /// Books a packet that leaves `queue`, and says what becomes of it.
    fn leave(&mut self, queue: usize, packet: Packet, at: u32, ecn: bool, both: bool, now: Time) -> Dequeued {
        let sojourn = now.since(packet.arrival.min(now));
        let fate = self.judge(queue, ecn, sojourn, self.backlog().0);
        self.controller.delays[queue] = sojourn;
        if self.waiting.is_empty() {
            self.controller.delays[LOW] = Span::ZERO;
        }
        if self.classic.is_empty() {
            self.controller.delays[CLASSIC] = Span::ZERO;
        }
        let (classic, low) = self.weights();
        if fate != Fate::Dropped && both {
            self.credit += i128::from(packet.size) * if queue == LOW { classic } else { -low };
        }
        if self.is_empty() {
            self.credit = self.initial_credit();
        }
        self.mark = fate == Fate::Marked;
        match fate {
            Fate::Dropped => Dequeued::Dropped { packet, reason: DropReason::Admission },
            Fate::Sent | Fate::Marked => Dequeued::Packet { packet, queue: at },
        }
    }

    fn dequeue_low(&mut self, both: bool, now: Time) -> Dequeued {
        let Some(packet) = self.waiting.pop_front() else { return Dequeued::Empty };
        self.waiting_bytes -= u64::from(packet.size);
        self.leave(LOW, packet, 0, true, both, now)
    }
}

impl<S: Scheduler> Scheduler for DualPi2<S> {
    fn enqueue(&mut self, packet: Packet, now: Time) -> Enqueued {
        self.enqueue_eligible(packet, Time::ZERO, now)
    }

    fn enqueue_eligible(&mut self, mut packet: Packet, eligible: Time, now: Time) -> Enqueued {
        self.controller.update(&self.set, now);
        packet.arrival = now;
        let ecn = self.arriving.take().filter(|(id, _)| *id == packet.id).map_or(0, |(_, ecn)| ecn);
        if self.len() >= self.set.limit_packets as usize {
            return Enqueued::Dropped { packet, reason: DropReason::Full };
        }
        if self.is_low_latency(ecn) {
            let rank = packet.rank;
            self.waiting_bytes += u64::from(packet.size);
            self.waiting.push_back(packet);
            return Enqueued::Admitted { queue: 0, rank };
        }
        packet.id |= if ecn != 0 { CAPABLE } else { 0 };
        match self.classic.enqueue_eligible(packet, eligible, now) {
            Enqueued::Admitted { queue, rank } => Enqueued::Admitted { queue: queue + 1, rank },
            Enqueued::Evicted { queue, rank, mut victims } => {
                victims.iter_mut().for_each(|victim| {
                    restore(victim);
                });
                Enqueued::Evicted { queue: queue + 1, rank, victims }
            }
            Enqueued::Dropped { mut packet, reason } => {
                restore(&mut packet);
                Enqueued::Dropped { packet, reason }
            }
        }
    }

    fn dequeue(&mut self, now: Time) -> Dequeued {
        self.controller.update(&self.set, now);
        let both = !self.waiting.is_empty() && !self.classic.is_empty();
        if self.classic.is_empty() || both && self.credit <= 0 {
            return self.dequeue_low(both, now);
        }
        match self.classic.dequeue(now) {
            Dequeued::Packet { mut packet, queue } => {
                let ecn = restore(&mut packet);
                self.leave(CLASSIC, packet, queue + 1, ecn, both, now)
            }
            Dequeued::Dropped { mut packet, reason } => {
                restore(&mut packet);
                Dequeued::Dropped { packet, reason }
            }
            // A Classic scheduler that holds its packets back leaves the link to the others.
            Dequeued::NotBefore(_) | Dequeued::Empty if both => self.dequeue_low(false, now),
            other => other,
        }
    }

    fn not_before(&mut self) -> Time {
        if self.waiting.is_empty() { self.classic.not_before() } else { Time::ZERO }
    }

    fn hint(&mut self, id: u64, hints: &Hints) {
        let ecn = hints.labels.ecn;
        self.arriving = Some((id, ecn));
        if !self.is_low_latency(ecn) {
            self.classic.hint(if ecn != 0 { id | CAPABLE } else { id }, hints);
        }
    }

    fn wants(&self) -> WantedFacts {
        WantedFacts::needed(Facts::one(Fact::Ecn)) | self.classic.wants()
    }

    fn take_mark(&mut self) -> bool {
        core::mem::take(&mut self.mark) | self.classic.take_mark()
    }

    fn control_plane(&mut self) -> Option<&mut dyn ControlPlane> {
        Some(self)
    }
}

impl<S: Scheduler> ControlPlane for DualPi2<S> {
    fn forget_flow(&mut self, flow: u32) {
        control::forget_flow(&mut self.classic, flow);
    }

    fn take_over(&mut self, packet: Packet, _queue: u32, now: Time) -> Enqueued {
        self.enqueue(packet, now)
    }

    fn resume(&mut self, window: &[Rank], state: &[i64]) {
        control::resume(&mut self.classic, window, state);
    }
}

impl<S> DualPi2<S> {
    const fn is_low_latency(&self, ecn: u8) -> bool {
        match self.set.low_latency {
            LowLatency::Ect1 => ecn & 1 == 1,
            LowLatency::AnyEct => ecn != 0,
        }
    }
}

impl<S: Inspect> Inspect for DualPi2<S> {
    fn len(&self) -> usize {
        self.waiting.len() + self.classic.len()
    }

    fn backlog(&self) -> Bytes {
        Bytes(self.waiting_bytes + self.classic.backlog().0)
    }

    fn capacity(&self) -> Capacity {
        Capacity::Packets(self.set.limit_packets)
    }

    fn queues(&self) -> usize {
        1 + self.classic.queues()
    }

    fn queue_len(&self, queue: usize) -> usize {
        queue.checked_sub(1).map_or(self.waiting.len(), |queue| self.classic.queue_len(queue))
    }

    fn queue_ranks(&self, queue: usize) -> RankInterval {
        queue.checked_sub(1).map_or_else(RankInterval::default, |queue| self.classic.queue_ranks(queue))
    }

    fn queue_bound(&self, queue: usize) -> Option<i64> {
        self.classic.queue_bound(queue.checked_sub(1)?)
    }

    fn path(&self, queue: usize) -> Vec<u32> {
        let Some(queue) = queue.checked_sub(1) else { return alloc::vec![0, 0] };
        let mut path = alloc::vec![1];
        path.extend(self.classic.path(queue));
        path
    }

    fn queue_at(&self, path: &[u32]) -> Option<usize> {
        match path {
            [0, 0] => Some(0),
            [1, inside @ ..] => self.classic.queue_at(inside).map(|queue| queue + 1),
            _ => None,
        }
    }

    fn visit_window(&self, visit: &mut dyn FnMut(Rank)) {
        self.classic.visit_window(visit);
    }

    fn visit_state(&self, visit: &mut dyn FnMut(i64)) {
        self.classic.visit_state(visit);
    }

    fn kept(&self) -> Kept {
        self.classic.kept()
    }
}

#[cfg(test)]
mod tests;
