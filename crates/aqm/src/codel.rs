//! CoDel: the policy, and its control loop (RFC 8289, section 5), which decides when to drop the packet at the head of
//! a queue.

use crate::QueuePolicy;
use pifolab_units::{Span, Time};

/// Controlled delay (RFC 8289): drops packets at dequeue, at a growing rate, while the sojourn time stays above a
/// target.
#[derive(Clone, Debug)]
pub struct CodelPolicy {
    set: CodelTarget,
    state: Codel,
}

impl CodelPolicy {
    /// The policy with this target of the sojourn time and this interval. It drops nothing from a backlog of at most
    /// `most_bytes`, one full packet.
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

/// The settings of a control loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodelTarget {
    /// The acceptable sojourn time.
    pub(crate) target: Span,
    /// The time above the target before a packet is dropped: a round trip in the worst case.
    pub(crate) interval: Span,
    /// A queue of at most this many bytes loses no packet.
    pub(crate) most_bytes: u64,
}

/// The control loop of one queue.
///
/// The RFC's loop drops packets inside one call. Here the caller calls again at the same time after each drop, and
/// `stage` is the point where the loop continues.
#[derive(Clone, Debug, Default)]
pub(crate) struct Codel {
    /// The time at which the sojourn time will have been above the target for an interval.
    first_above: Option<Time>,
    /// The time of the next drop.
    drop_next: Time,
    /// Packets dropped since the drop state was entered, and the count when it was last entered.
    count: u32,
    last_count: u32,
    dropping: bool,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// No packet was dropped in this call of the RFC's `dequeue`.
    #[default]
    Fresh,
    /// A packet was dropped because its time had come.
    Dropped,
    /// A packet was dropped when the drop state was entered: the next packet is always sent.
    Entered,
}

impl Codel {
    /// Notes that the queue ran empty.
    pub(crate) fn ran_empty(&mut self) {
        self.first_above = None;
        self.dropping = false;
        self.stage = Stage::Fresh;
    }

    /// Whether to drop the packet that was taken from the head after `sojourn`, with `left` bytes behind it. If so, the
    /// caller takes the next one at the same time. With `marks` the packet is marked and sent instead, and the loop
    /// continues at the next departure.
    pub(crate) fn gives_up(&mut self, set: &CodelTarget, sojourn: Span, left: u64, now: Time, marks: bool) -> bool {
        let above = self.is_above(set, sojourn, left, now);
        match core::mem::take(&mut self.stage) {
            Stage::Entered => return false,
            Stage::Dropped if above => self.drop_next = control_law(set.interval, self.drop_next, self.count),
            Stage::Dropped | Stage::Fresh => {}
        }
        if self.dropping {
            self.dropping = above;
            if above && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if marks {
                    self.drop_next = control_law(set.interval, self.drop_next, self.count);
                } else {
                    self.stage = Stage::Dropped;
                }
                return true;
            }
            return false;
        }
        if above {
            self.dropping = true;
            let delta = self.count.saturating_sub(self.last_count);
            // If the drop state ended only recently, its last drop rate was about right.
            let recent = now.since(self.drop_next.min(now)).as_ps() < set.interval.as_ps().saturating_mul(16);
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.last_count = self.count;
            self.drop_next = control_law(set.interval, now, self.count);
            self.stage = if marks { Stage::Fresh } else { Stage::Entered };
            return true;
        }
        false
    }

    fn is_above(&mut self, set: &CodelTarget, sojourn: Span, left: u64, now: Time) -> bool {
        if sojourn < set.target || left <= set.most_bytes {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            Some(time) => now >= time,
            None => {
                self.first_above = Some(now.saturating_add(set.interval));
                false
            }
        }
    }
}

/// `time` + `interval` / sqrt(`count`), rounded down to a picosecond.
fn control_law(interval: Span, time: Time, count: u32) -> Time {
    let square = u128::from(interval.as_ps()).pow(2) / u128::from(count.max(1));
    time.saturating_add(Span::from_ps(square.isqrt() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn packets_are_marked_when_they_would_be_given_up() {
        let set = CodelTarget { target: Span::from_us(5_000), interval: Span::from_us(100_000), most_bytes: 1_514 };
        let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
        let mut codel = Codel::default();
        let mut marks = |at: &u64| codel.gives_up(&set, Span::from_us(20_000), 100_000, ms(*at), true);
        assert_eq!((0..600).filter(&mut marks).collect::<Vec<_>>(), [100, 200, 271, 329, 379, 424, 464, 502, 538, 571]);
    }

    #[test]
    fn packets_are_given_up_ever_faster_until_the_delay_is_below_the_target() {
        let set = CodelTarget { target: Span::from_us(5_000), interval: Span::from_us(100_000), most_bytes: 1_514 };
        let mut codel = Codel::default();
        let mut given_up = Vec::new();
        let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
        for at in 0..600 {
            // A call drops at most one packet here: the next packet is judged at the same time.
            let mut calls = 0;
            while codel.gives_up(&set, Span::from_us(20_000), 100_000, ms(at), false) {
                given_up.push(at);
                calls += 1;
                assert!(calls < 3);
            }
        }
        // An interval above the target, then after 100 ms / sqrt(1), sqrt(2), ...
        assert_eq!(given_up, [100, 200, 271, 329, 379, 424, 464, 502, 538, 571]);
        assert!(!codel.gives_up(&set, Span::from_us(4_999), 100_000, ms(600), false), "below the target");
        assert!(!codel.gives_up(&set, Span::from_us(90_000), 1_514, ms(601), false), "one packet is left");
    }
}
