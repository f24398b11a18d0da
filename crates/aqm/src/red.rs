//! Random early detection.

use crate::{QueuePolicy, Verdict};
use pifolab_sched::params::ParamError;
use pifolab_units::{Ratio, Span, Time};

/// The unit of probabilities and averages: a probability of 1, or one byte, is 2^32.
const ONE: u64 = 1 << 32;

/// The parameters of [`RedPolicy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedParams {
    /// No packet is dropped while the average is below this, in bytes.
    pub min_bytes: u64,
    /// Every packet is dropped or marked while the average is at least this, in bytes.
    pub max_bytes: u64,
    /// Whether packets that could be marked are dropped there, too (RFC 3168, section 7).
    pub hard_drop: bool,
    /// The probability just below `max_bytes`.
    pub max_probability: Ratio,
    /// The weight of a new sample in the average is 2^-this.
    pub weight_log: u32,
    /// The transmission time of a typical packet: while the queue is idle, the average falls as if a small packet left
    /// every such time.
    pub idle_packet: Span,
}

/// Random early detection: drops arrivals with a probability that grows with the average backlog.
///
/// Paper: Floyd, Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM ToN 1993, section 4.
/// The paper spaces drops uniformly between 1 and 1 / p packets apart; here they are evenly spaced, 1 / 2p apart, which
/// has the same mean without random numbers.
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
    /// Starts with an average of 0.
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

    /// Updates the average for an arrival at `now` that finds `backlog` bytes.
    fn average(&mut self, backlog: u64, now: Time) {
        let log = self.params.weight_log;
        self.idle_since = if backlog == 0 {
            let since = self.idle_since.unwrap_or(now).min(now);
            let packets = now.since(since).as_ps() / self.params.idle_packet.as_ps().max(1);
            self.average = (self.average * u128::from(power(log, packets))) >> 32;
            // If the arrival is refused, the queue stays idle from now on.
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
        let RedParams { min_bytes, max_bytes, hard_drop, max_probability, .. } = self.params;
        let (low, high) = (u128::from(min_bytes) << 32, u128::from(max_bytes) << 32);
        if self.average < low {
            self.owed = 0;
            return Verdict::Keep;
        }
        if self.average >= high {
            self.owed = 0;
            return if hard_drop { Verdict::Refuse } else { Verdict::Signal };
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

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: u32 = 1_000;

    #[test]
    fn red_drops_as_often_as_its_average_says() {
        let ratio = Ratio::new(1, 50).unwrap();
        let idle_packet = Span::from_us(1_000);
        let params = RedParams {
            min_bytes: 10_000,
            max_bytes: 30_000,
            hard_drop: true,
            max_probability: ratio,
            weight_log: 2,
            idle_packet,
        };
        let mut red = RedPolicy::new(params).unwrap();
        let mut drops =
            |backlog| (0..1_000).filter(|_| red.judge(PACKET, backlog, Time::ZERO) != Verdict::Keep).count();
        assert_eq!(drops(9_000), 0, "below the lower threshold");
        // Half-way p is 1/100: a drop every 50 packets.
        assert!((18..=21).contains(&drops(20_000)));
        assert!(drops(40_000) > 950, "beyond the upper threshold everything");
        red.ran_empty(Time::ZERO);
        assert_eq!(red.judge(PACKET, 0, Time::from_ns(1_000_000_000)), Verdict::Keep);
        assert!(red.average >> 32 < 10, "an idle second empties the average");
        // So does an idle second that begins with a refused arrival at an empty queue.
        assert_eq!(red.judge(PACKET, 1 << 30, Time::from_ns(1_000_000_000)), Verdict::Refuse);
        red.ran_empty(Time::from_ns(1_000_000_000));
        assert_eq!(red.judge(PACKET, 0, Time::from_ns(1_000_000_001)), Verdict::Refuse);
        assert_eq!(red.judge(PACKET, 0, Time::from_ns(2_000_000_000)), Verdict::Keep);
        assert!(red.average >> 32 < 10, "{} bytes", red.average >> 32);
        assert!(RedPolicy::new(RedParams { max_bytes: 10_000, ..params }).is_err());
        let mut marking = RedPolicy::new(RedParams { hard_drop: false, ..params }).unwrap();
        let mut signals = || (0..100).filter(|_| marking.judge(PACKET, 40_000, Time::ZERO) == Verdict::Signal).count();
        signals();
        assert_eq!(signals(), 100, "all that can be marked is marked, nothing of it is dropped");
    }
}
