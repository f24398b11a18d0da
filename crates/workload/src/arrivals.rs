//! Arrival times of packets at a link: constant bit rate, jittered, Poisson, on-off, or in batches.
//!
//! Times are exact. At a constant bit rate, packet n arrives at the bits sent before it divided by the rate, rounded
//! down to the picosecond, in runs of any length (11 Gb/s of 1500 B over a second are 916,667 packets). Random gaps are
//! rounded to the picosecond one by one.

use crate::exponential::Exponential;
use crate::{Distribution, ParameterError, Stream, Uniform};
use pifolab_units::{Rate, Ratio, Span, Time, greatest_common_divisor};

/// Picoseconds per second.
const PS_PER_S: u64 = 1_000_000_000_000;

/// An arrival process of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalProcess {
    /// Packets back to back at a constant rate; the first packet arrives at the start.
    ConstantBitRate {
        /// Bits per second.
        rate: Rate,
    },
    /// Constant bit rate with each gap multiplied by a factor uniform in [1 - jitter, 1 + jitter). The jitter prevents
    /// periodic sources from synchronising their phases.
    Jittered {
        /// Mean rate in bits per second.
        rate: Rate,
        /// From 0 to 1.
        jitter: Ratio,
    },
    /// Independent exponential gaps; their mean follows from the rate and the mean packet size.
    Poisson {
        /// Mean rate in bits per second.
        rate: Rate,
    },
    /// Constant bit rate during on periods, no packets during off periods; starts with an on period. A gap that an off
    /// period interrupts continues after it, so the mean rate is exactly `peak` x on / (on + off).
    OnOff {
        /// Rate during on periods, in bits per second.
        peak: Rate,
        /// Mean length of an on period.
        on: Span,
        /// Mean length of an off period.
        off: Span,
        /// The distribution of the lengths of the periods.
        periods: Periods,
    },
    /// `packets` packets at one instant, once per `period`; the first batch at the start.
    Batches {
        /// Packets per batch.
        packets: u64,
        /// Time between batches.
        period: Span,
    },
}

pifolab_params::choices! {
    /// The lengths of on and off periods.
    pub enum Periods {
        Fixed = "fixed": "all alike",
        Exponential = "exponential": "exponential, independent",
    }
}

impl ArrivalProcess {
    /// Rejects zero spans, empty batches and jitters above 1.
    pub(crate) fn check(&self) -> Result<(), ParameterError> {
        match *self {
            Self::ConstantBitRate { .. } | Self::Poisson { .. } => Ok(()),
            Self::Jittered { jitter, .. } if jitter > Ratio::ONE => {
                Err(ParameterError::new("jitter", jitter, "a ratio from 0 to 1"))
            }
            Self::OnOff { on: Span::ZERO, .. } => Err(ParameterError::new("on", Span::ZERO, "a span above 0")),
            Self::OnOff { off: Span::ZERO, .. } => Err(ParameterError::new("off", Span::ZERO, "a span above 0")),
            Self::Batches { packets: 0, .. } => Err(ParameterError::new("packets", 0, "at least 1 packet per batch")),
            Self::Batches { period: Span::ZERO, .. } => {
                Err(ParameterError::new("period", Span::ZERO, "a span above 0"))
            }
            Self::Jittered { .. } | Self::OnOff { .. } | Self::Batches { .. } => Ok(()),
        }
    }
}

/// An arrival process in progress.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    Constant(Pacer),
    Jittered { pacer: Pacer, jitter: f64 },
    Poisson { mean_ps: f64, gaps: Box<Exponential> },
    OnOff { pacer: Pacer, on: Span, off: Span, periods: Periods, left: Span },
    Batches { packets: u64, period: Span, left: u64 },
}

impl Clock {
    /// Starts the clock; returns it and the time of the first arrival.
    pub(crate) fn start(
        process: &ArrivalProcess,
        sizes: &Distribution,
        start: Time,
        stream: &mut Stream,
    ) -> (Self, Time) {
        match *process {
            ArrivalProcess::ConstantBitRate { rate } => (Self::Constant(Pacer::new(rate)), start),
            ArrivalProcess::Jittered { rate, jitter } => {
                (Self::Jittered { pacer: Pacer::new(rate), jitter: jitter.as_f64() }, start)
            }
            ArrivalProcess::Poisson { rate } => {
                let mean_ps = sizes.mean() * 8.0 * PS_PER_S as f64 / rate.as_bps() as f64;
                let mut clock = Self::Poisson { mean_ps, gaps: Box::new(Exponential::new()) };
                let first = start.saturating_add(clock.gap(0, stream));
                (clock, first)
            }
            ArrivalProcess::OnOff { peak, on, off, periods } => {
                let left = periods.length(on, stream);
                (Self::OnOff { pacer: Pacer::new(peak), on, off, periods, left }, start)
            }
            ArrivalProcess::Batches { packets, period } => (Self::Batches { packets, period, left: packets }, start),
        }
    }

    /// The time from a packet of `bytes` to the next one.
    #[inline]
    pub(crate) fn gap(&mut self, bytes: u32, stream: &mut Stream) -> Span {
        match self {
            Self::Constant(pacer) => pacer.gap(bytes),
            Self::Jittered { pacer, jitter } => {
                let factor = 1.0 + *jitter * (2.0 * stream.uniform() - 1.0);
                rounded(pacer.gap(bytes).as_ps() as f64 * factor)
            }
            Self::Poisson { mean_ps, gaps } => rounded(gaps.draw(stream) * *mean_ps),
            Self::OnOff { pacer, on, off, periods, left } => {
                let mut on_time = pacer.gap(bytes);
                let mut silence = Span::ZERO;
                while on_time >= *left {
                    silence = saturating_add(silence, saturating_add(*left, periods.length(*off, stream)));
                    on_time = Span::from_ps(on_time.as_ps() - left.as_ps());
                    *left = periods.length(*on, stream);
                }
                *left = Span::from_ps(left.as_ps() - on_time.as_ps());
                saturating_add(silence, on_time)
            }
            Self::Batches { packets, period, left } => {
                *left -= 1;
                if *left > 0 {
                    return Span::ZERO;
                }
                *left = *packets;
                *period
            }
        }
    }
}

impl Periods {
    /// Draws the length of a period of mean length `mean`, at least a picosecond.
    fn length(self, mean: Span, stream: &mut Stream) -> Span {
        match self {
            Self::Fixed => mean,
            Self::Exponential => rounded((stream.exponential() * mean.as_ps() as f64).max(1.0)),
        }
    }
}

fn saturating_add(a: Span, b: Span) -> Span {
    Span::from_ps(a.as_ps().saturating_add(b.as_ps()))
}

/// Rounds to the nearest picosecond; values beyond the range become [`Span::MAX`].
#[inline]
fn rounded(ps: f64) -> Span {
    Span::from_ps((ps + 0.5) as u64)
}

/// Spaces packets at a rate and carries the fraction of a picosecond from each gap to the next.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    /// Picoseconds per bit, as a fraction in lowest terms.
    numerator: u64,
    denominator: u64,
    /// The accumulated fraction that the gaps so far lack, in units of 1/denominator ps.
    remainder: u64,
    /// The last size with its quotient and remainder. Most streams have a single size.
    known: (u32, u64, u64),
}

impl Pacer {
    fn new(rate: Rate) -> Self {
        let divisor = greatest_common_divisor(PS_PER_S.into(), rate.as_bps().into()) as u64;
        let (numerator, denominator) = (PS_PER_S / divisor, rate.as_bps() / divisor);
        Self { numerator, denominator, remainder: 0, known: (0, 0, 0) }
    }

    #[inline]
    fn gap(&mut self, bytes: u32) -> Span {
        if self.known.0 != bytes {
            // 2^32 bytes are 2^35 bits and the numerator is below 2^40, so the product needs 75 bits.
            let exact = u128::from(bytes) * 8 * u128::from(self.numerator);
            let (quotient, rest) = match u64::try_from(exact) {
                Ok(exact) => (exact / self.denominator, exact % self.denominator),
                Err(_) => {
                    let denominator = u128::from(self.denominator);
                    (u64::try_from(exact / denominator).unwrap_or(u64::MAX), (exact % denominator) as u64)
                }
            };
            self.known = (bytes, quotient, rest);
        }
        let (_, quotient, rest) = self.known;
        // Both summands are below the denominator. Above 2^63 bit/s their sum may overflow 64 bits.
        let (sum, carried) = self.remainder.overflowing_add(rest);
        let full = carried || sum >= self.denominator;
        self.remainder = if full { sum.wrapping_sub(self.denominator) } else { sum };
        Span::from_ps(quotient.saturating_add(u64::from(full)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn paced_times_are_the_floor_of_the_exact_ones(
            bps in 1u64..,
            sizes in proptest::collection::vec(1u32..100_000, 1..50),
        ) {
            let mut pacer = Pacer::new(Rate::from_bps(bps).unwrap());
            let (mut time, mut bits) = (0u128, 0u128);
            for bytes in sizes {
                time += u128::from(pacer.gap(bytes).as_ps());
                bits += u128::from(bytes) * 8;
                prop_assert_eq!(time, bits * u128::from(PS_PER_S) / u128::from(bps));
            }
        }
    }

    #[test]
    fn impossible_processes_are_refused() {
        let rate = Rate::from_gbps(1);
        let (ps, none) = (Span::from_ps(1), Span::ZERO);
        let message = |process: ArrivalProcess| process.check().unwrap_err().to_string();
        let jitter = Ratio::new(3, 2).unwrap();
        assert_eq!(message(ArrivalProcess::Jittered { rate, jitter }), "jitter = 3/2: expected a ratio from 0 to 1");
        let on_off = |on, off| ArrivalProcess::OnOff { peak: rate, on, off, periods: Periods::Fixed };
        assert_eq!(message(on_off(none, ps)), "on = 0 ps: expected a span above 0");
        assert_eq!(message(on_off(ps, none)), "off = 0 ps: expected a span above 0");
        let batches = |packets, period| ArrivalProcess::Batches { packets, period };
        assert_eq!(message(batches(0, ps)), "packets = 0: expected at least 1 packet per batch");
        assert_eq!(message(batches(1, none)), "period = 0 ps: expected a span above 0");
    }
}
