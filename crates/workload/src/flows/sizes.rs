//! Flow sizes: fixed, uniform, Pareto, or from a cumulative distribution with a stated interpolation.
//!
//! All sizes are sampled by inversion of one uniform number, so pifolab's streams and the reference simulator's use the
//! same tables.
//!
//! Parameters: points (size in bytes, share of flows up to that size). Between two points, a uniform number yields the
//! smaller size (`step-lower`), the larger one (`step-upper`) or a size in between (`linear`, to the nearest byte). A
//! number at or below the first point's share yields the first size. A size of 0 becomes 1. The interpolation is
//! important: the mean of the web-search workload is 0.99, 1.71 or 2.43 MB.

use super::MAX_FLOW_BYTES;
use crate::{ParameterError, Uniform};

pifolab_params::choices! {
    /// The size for a number between two points of a cumulative distribution.
    pub enum Interpolation {
        StepLower = "step-lower": "the size of the point below (the SP-PIFO and AIFO papers)",
        StepUpper = "step-upper": "the size of the point above",
        Linear = "linear": "a size in between (most simulators)",
    }
}

/// A distribution of flow sizes in bytes.
///
/// ```
/// use pifolab_workload::flows::{FlowSizes, Interpolation};
/// let sizes = FlowSizes::web_search(Interpolation::StepLower);
/// assert_eq!(sizes.quantile(0.5), 50_000);
/// assert!((sizes.mean() - 987_600.15).abs() < 1e-6);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSizes {
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Fixed(u64),
    Uniform { low: u64, high: u64 },
    Pareto { shape: f64, scale: f64, cap: u64 },
    Cdf { points: Vec<(u64, f64)>, interpolation: Interpolation },
}

impl FlowSizes {
    /// All flows have the size `bytes`.
    ///
    /// # Errors
    /// If `bytes` is not from 1 to 2^63 - 1.
    pub fn fixed(bytes: u64) -> Result<Self, ParameterError> {
        size_in_range("bytes", bytes)?;
        Ok(Self { kind: Kind::Fixed(bytes) })
    }

    /// Sizes uniform from `low` to `high`, inclusive.
    ///
    /// # Errors
    /// If either is not from 1 to 2^63 - 1, or `low` exceeds `high`.
    pub fn uniform(low: u64, high: u64) -> Result<Self, ParameterError> {
        size_in_range("low", low)?;
        size_in_range("high", high)?;
        if low > high {
            return Err(ParameterError::new("low", low, "a size not above high"));
        }
        Ok(Self { kind: Kind::Uniform { low, high } })
    }

    /// Pareto sizes with tail exponent `shape` and mean `mean` bytes before the cap. Sizes above `cap` become `cap`;
    /// others are rounded down.
    ///
    /// # Errors
    /// If `shape` is not a finite number above 1 (the mean would not exist), `mean` is not from 1 to 2^53, or `cap` is
    /// not from 1 to 2^63 - 1.
    pub fn pareto(shape: f64, mean: f64, cap: u64) -> Result<Self, ParameterError> {
        if !(shape.is_finite() && shape > 1.0) {
            return Err(ParameterError::new("shape", shape, "a finite number above 1"));
        }
        if !(mean >= 1.0 && mean <= (1u64 << 53) as f64) {
            return Err(ParameterError::new("mean", mean, "a number of bytes from 1 to 2^53"));
        }
        size_in_range("cap", cap)?;
        Ok(Self { kind: Kind::Pareto { shape, scale: mean * (shape - 1.0) / shape, cap } })
    }

    /// A cumulative distribution: ascending points (size in bytes, share of the flows up to this size).
    ///
    /// # Errors
    /// If there is no point, sizes or shares decrease, a share lies outside 0 to 1, the last share is not 1, or a size
    /// exceeds 2^63 - 1.
    pub fn cdf(points: &[(u64, f64)], interpolation: Interpolation) -> Result<Self, ParameterError> {
        for pair in points.windows(2) {
            if pair[1].0 < pair[0].0 || pair[1].1 < pair[0].1 {
                let value = format!("{:?} after {:?}", pair[1], pair[0]);
                return Err(ParameterError::new("points", value, "sizes and shares that do not fall"));
            }
        }
        if let Some(point) = points.iter().find(|point| !(0.0..=1.0).contains(&point.1)) {
            return Err(ParameterError::new("points", format!("{point:?}"), "shares from 0 to 1"));
        }
        let Some(&(largest, 1.0)) = points.last() else {
            let value = points.last().map_or_else(|| "nothing".to_owned(), |last| format!("{last:?} as the last"));
            return Err(ParameterError::new("points", value, "a last point with the share 1"));
        };
        size_in_range("points", largest)?;
        Ok(Self { kind: Kind::Cdf { points: points.to_vec(), interpolation } })
    }

    /// Draws one size.
    pub fn draw(&self, random: &mut impl Uniform) -> u64 {
        match self.kind {
            // A fixed size consumes no random number, as in the reference simulator.
            Kind::Fixed(bytes) => bytes,
            _ => self.quantile(random.uniform()),
        }
    }

    /// Draws one size like the reference simulator: its Pareto sizes decrease with the uniform number.
    pub(super) fn draw_as_netbench(&self, random: &mut impl Uniform) -> u64 {
        match self.kind {
            Kind::Pareto { shape, scale, cap } => {
                let size = scale / libm::pow(random.uniform(), 1.0 / shape);
                (size as u64).clamp(1, cap)
            }
            _ => self.draw(random),
        }
    }

    /// The size that the share `u` (0 to 1) of the flows does not exceed.
    pub fn quantile(&self, u: f64) -> u64 {
        match &self.kind {
            Kind::Fixed(bytes) => *bytes,
            Kind::Uniform { low, high } => {
                // The product needs only the precision of `u`: 53 bits.
                (low + ((high - low + 1) as f64 * u) as u64).min(*high)
            }
            Kind::Pareto { shape, scale, cap } => {
                let size = scale * libm::pow(1.0 - u, -1.0 / shape);
                (size as u64).clamp(1, *cap)
            }
            Kind::Cdf { points, interpolation } => {
                let above = points.partition_point(|point| point.1 < u).min(points.len() - 1);
                let (high, share_high) = points[above];
                let (low, share_low) = if above == 0 { (high, share_high) } else { points[above - 1] };
                let size = match interpolation {
                    Interpolation::StepLower => low,
                    Interpolation::StepUpper => high,
                    Interpolation::Linear if share_high == share_low => high,
                    Interpolation::Linear => {
                        let part = (u - share_low) / (share_high - share_low);
                        low + (part * (high - low) as f64 + 0.5) as u64
                    }
                };
                size.max(1)
            }
        }
    }

    /// The mean in bytes, which determines load and arrival rate. For Pareto and linear interpolation, the mean before
    /// sizes are rounded to whole bytes.
    pub fn mean(&self) -> f64 {
        match &self.kind {
            Kind::Fixed(bytes) => *bytes as f64,
            Kind::Uniform { low, high } => (*low as f64 + *high as f64) / 2.0,
            Kind::Pareto { shape, scale, cap } => {
                let cap = *cap as f64;
                if cap <= *scale {
                    return cap;
                }
                // scale + the integral of the tail (scale / x)^shape from scale to cap.
                scale + scale / (shape - 1.0) * (1.0 - libm::pow(scale / cap, shape - 1.0))
            }
            Kind::Cdf { points, interpolation } => {
                let size = |point: &(u64, f64)| (point.0.max(1)) as f64;
                let first = points[0].1 * size(&points[0]);
                let rest: f64 = points
                    .windows(2)
                    .map(|pair| {
                        let size = match interpolation {
                            Interpolation::StepLower => size(&pair[0]),
                            Interpolation::StepUpper => size(&pair[1]),
                            Interpolation::Linear => (pair[0].0 as f64 + pair[1].0 as f64) / 2.0,
                        };
                        (pair[1].1 - pair[0].1) * size
                    })
                    .sum();
                first + rest
            }
        }
    }
}

fn size_in_range(parameter: &'static str, bytes: u64) -> Result<(), ParameterError> {
    if bytes == 0 || bytes > MAX_FLOW_BYTES {
        return Err(ParameterError::new(parameter, bytes, "a size from 1 to 2^63 - 1 bytes"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    fn sample_mean(sizes: &FlowSizes, n: u32) -> f64 {
        let mut stream = Stream::named(9, "sizes");
        (0..n).map(|_| sizes.draw(&mut stream) as f64).sum::<f64>() / f64::from(n)
    }

    #[test]
    fn interpolation_is_what_was_asked_for() {
        let points = [(100, 0.0), (200, 0.5), (200, 0.75), (1000, 1.0)];
        let at = |interpolation, u| FlowSizes::cdf(&points, interpolation).unwrap().quantile(u);
        assert_eq!(
            [0.0, 0.25, 0.5, 0.6, 0.875, 1.0].map(|u| at(Interpolation::Linear, u)),
            [100, 150, 200, 200, 600, 1000]
        );
        assert_eq!(
            [0.0, 0.25, 0.5, 0.6, 0.875, 1.0].map(|u| at(Interpolation::StepLower, u)),
            [100, 100, 100, 200, 200, 200]
        );
        assert_eq!(
            [0.0, 0.25, 0.5, 0.6, 0.875, 1.0].map(|u| at(Interpolation::StepUpper, u)),
            [100, 200, 200, 200, 1000, 1000]
        );
    }

    #[test]
    fn the_share_of_the_first_point_gives_its_size() {
        for interpolation in [Interpolation::StepLower, Interpolation::StepUpper, Interpolation::Linear] {
            let sizes = FlowSizes::cdf(&[(10, 0.5), (20, 1.0)], interpolation).unwrap();
            assert_eq!(sizes.quantile(0.3), 10);
            let share = f64::from((0..100).map(|i| u32::from(sizes.quantile(f64::from(i) / 100.0) == 10)).sum::<u32>());
            assert!(share >= 50.0);
        }
    }

    #[test]
    fn samples_have_the_stated_mean() {
        let shapes = [
            FlowSizes::fixed(1_000_000).unwrap(),
            FlowSizes::uniform(1, 100).unwrap(),
            FlowSizes::pareto(1.8, 100_000.0, 1 << 30).unwrap(),
            FlowSizes::cdf(&[(0, 0.0), (10, 0.4), (1000, 1.0)], Interpolation::Linear).unwrap(),
            FlowSizes::cdf(&[(0, 0.0), (10, 0.4), (1000, 1.0)], Interpolation::StepLower).unwrap(),
            FlowSizes::cdf(&[(0, 0.2), (10, 0.4), (1000, 1.0)], Interpolation::StepUpper).unwrap(),
        ];
        for sizes in shapes {
            let (mean, sampled) = (sizes.mean(), sample_mean(&sizes, 1_000_000));
            assert!((sampled / mean - 1.0).abs() < 0.02, "{sizes:?}: {sampled} instead of {mean}");
        }
    }

    #[test]
    fn pareto_sizes_have_their_quantiles_and_stop_at_the_cap() {
        // scale = 100 kB (1.5 - 1)/1.5; the median is scale 2^(1/1.5).
        let sizes = FlowSizes::pareto(1.5, 100_000.0, 1_000_000).unwrap();
        let scale = 100_000.0 / 3.0;
        assert_eq!(sizes.quantile(0.0), scale as u64);
        assert_eq!(sizes.quantile(0.5), (scale * 2f64.powf(2.0 / 3.0)) as u64);
        assert_eq!(sizes.quantile(0.999_999), 1_000_000);
        assert_eq!(sizes.quantile(1.0), 1_000_000);
        assert_eq!(FlowSizes::pareto(1.5, 100_000.0, 10).unwrap().mean(), 10.0);
    }

    #[test]
    fn uniform_sizes_reach_both_ends() {
        let sizes = FlowSizes::uniform(3, 5).unwrap();
        assert_eq!([0.0, 0.34, 0.99, 1.0].map(|u| sizes.quantile(u)), [3, 4, 5, 5]);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        let message = |result: Result<FlowSizes, ParameterError>| result.unwrap_err().to_string();
        assert_eq!(message(FlowSizes::fixed(0)), "bytes = 0: expected a size from 1 to 2^63 - 1 bytes");
        assert!(message(FlowSizes::fixed(1 << 63)).starts_with("bytes = 9223372036854775808: expected"));
        assert_eq!(message(FlowSizes::uniform(2, 1)), "low = 2: expected a size not above high");
        assert_eq!(message(FlowSizes::pareto(1.0, 5.0, 9)), "shape = 1: expected a finite number above 1");
        assert_eq!(message(FlowSizes::pareto(2.0, 0.0, 9)), "mean = 0: expected a number of bytes from 1 to 2^53");
        let cdf = |points: &[(u64, f64)]| message(FlowSizes::cdf(points, Interpolation::Linear));
        assert_eq!(cdf(&[]), "points = nothing: expected a last point with the share 1");
        assert_eq!(cdf(&[(1, 0.5)]), "points = (1, 0.5) as the last: expected a last point with the share 1");
        assert_eq!(
            cdf(&[(2, 0.5), (1, 1.0)]),
            "points = (1, 1.0) after (2, 0.5): expected sizes and shares that do not fall"
        );
        assert_eq!(cdf(&[(2, f64::NAN), (3, 1.0)]), "points = (2, NaN): expected shares from 0 to 1");
        assert_eq!(cdf(&[(0, 1.0)]), "points = 0: expected a size from 1 to 2^63 - 1 bytes");
    }
}
