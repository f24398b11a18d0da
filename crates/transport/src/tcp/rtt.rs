//! Round-trip time and retransmission timeout (RFC 6298).
//!
//! The estimate is a floating-point number of nanoseconds. It only changes by additions and products with constants, so
//! it is identical on every machine. The timeout is a whole number of nanoseconds.

use pifolab_units::Span;

/// Smoothed round-trip time, its variation, and the resulting timeout.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    smoothed_ns: f64,
    variation_ns: f64,
    rto: Span,
    floor: Span,
    ceiling: Span,
    /// Whether the next sample replaces the estimate instead of refining it.
    fresh: bool,
}

impl RttEstimator {
    /// Creates an estimator with the timeout `initial`; later timeouts lie between `floor` and `ceiling`.
    pub fn new(initial: Span, floor: Span, ceiling: Span) -> Self {
        Self { smoothed_ns: 0.0, variation_ns: 0.0, rto: initial, floor, ceiling, fresh: true }
    }

    /// Adds one measurement.
    #[inline(always)]
    pub fn sample(&mut self, rtt: Span) {
        let rtt_ns = rtt.as_ps() as f64 / 1_000.0;
        if self.fresh {
            self.fresh = false;
            self.smoothed_ns = rtt_ns;
            self.variation_ns = rtt_ns / 2.0;
        } else {
            let error_ns = (self.smoothed_ns - rtt_ns).abs();
            self.variation_ns = 0.75 * self.variation_ns + 0.25 * error_ns;
            self.smoothed_ns = 0.875 * self.smoothed_ns + 0.125 * rtt_ns;
        }
        // The timeout of a round trip of a hundred days would exceed the largest span.
        let rto = Span::from_ns(((self.smoothed_ns + 4.0 * self.variation_ns) as u64).min(Span::MAX.as_ns()));
        self.rto = rto.max(self.floor).min(self.ceiling);
    }

    /// Doubles the timeout after an expiry; the next sample restarts the estimate.
    pub fn back_off(&mut self) {
        self.rto = Span::from_ps(self.rto.as_ps().saturating_mul(2)).min(self.ceiling);
        self.fresh = true;
    }

    /// The current timeout.
    pub fn rto(&self) -> Span {
        self.rto
    }

    /// The smoothed round-trip time in whole nanoseconds; `None` before the first sample.
    pub fn smoothed(&self) -> Option<Span> {
        (self.smoothed_ns > 0.0).then(|| Span::from_ns((self.smoothed_ns as u64).min(Span::MAX.as_ns())))
    }

    /// The smoothed round-trip time in seconds; 0 before the first sample.
    pub fn smoothed_s(&self) -> f64 {
        self.smoothed_ns * 1e-9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_rfc_by_hand() {
        let mut estimator = RttEstimator::new(Span::from_us(300), Span::ZERO, Span::MAX);
        estimator.sample(Span::from_ns(1_000));
        assert_eq!(estimator.rto(), Span::from_ns(1_000 + 4 * 500));
        estimator.sample(Span::from_ns(2_000));
        // variation 0.75 * 500 + 0.25 * 1000 = 625, smoothed 1125
        assert_eq!(estimator.rto(), Span::from_ns(1_125 + 4 * 625));
        estimator.back_off();
        assert_eq!(estimator.rto(), Span::from_ns(7_250));
        estimator.sample(Span::from_ns(100));
        assert_eq!(estimator.rto(), Span::from_ns(300));
    }

    #[test]
    fn stays_between_floor_and_ceiling() {
        let mut estimator = RttEstimator::new(Span::from_us(3_000), Span::from_us(1_000), Span::from_us(5_000));
        estimator.sample(Span::from_us(1));
        assert_eq!(estimator.rto(), Span::from_us(1_000));
        for _ in 0..5 {
            estimator.back_off();
        }
        assert_eq!(estimator.rto(), Span::from_us(5_000));
    }

    #[test]
    fn round_trips_of_months_give_the_longest_timeout() {
        let mut estimator = RttEstimator::new(Span::from_us(300), Span::ZERO, Span::from_s(60));
        for rtt in [Span::MAX, Span::from_ps(1), Span::MAX] {
            estimator.sample(rtt);
            assert_eq!(estimator.rto(), Span::from_s(60));
        }
    }
}
