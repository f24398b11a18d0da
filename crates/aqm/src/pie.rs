//! PIE, proportional integral controller enhanced.

use crate::{QueuePolicy, Verdict};
use pifolab_units::{Span, Time};

/// The parameters of [`PiePolicy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieParams {
    /// The target sojourn time.
    pub target: Span,
    /// The interval between updates of the probability.
    pub update: Span,
    /// The length of a burst from which no packet is dropped.
    pub burst: Span,
}

/// PIE (RFC 8033, sections 4 and 5.1, with sojourn times instead of an estimated rate): drops arrivals with a
/// probability that a proportional-integral controller sets.
///
/// The RFC draws a random number for each packet. Here a packet is dropped each time the sum of the probabilities
/// reaches 1, so that nothing is random. The weights of the controller are the RFC's: 1/8 and 5/4 per second.
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

/// A probability of 1. PIE adjusts probabilities in steps as small as 10^-12.
const CERTAIN: u64 = 1 << 62;

impl PiePolicy {
    /// Starts with a probability of 0 and a full burst allowance.
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
        // All updates since the last call use the same delay.
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
        // Section 5.5: limits the step at high drop probabilities.
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
    use crate::{RedParams, RedPolicy};
    use pifolab_units::Ratio;

    const PACKET: u32 = 1_000;

    #[test]
    fn beyond_what_marks_can_do_packets_are_dropped_whatever_they_can_carry() {
        let ratio = Ratio::new(1, 10).unwrap();
        let idle_packet = Span::from_us(1_000);
        let params = RedParams {
            min_bytes: 10_000,
            max_bytes: 20_000,
            hard_drop: true,
            max_probability: ratio,
            weight_log: 0,
            idle_packet,
        };
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
