//! Distributions over integers (ranks, packet sizes, flows) with exact weights and one look-up per draw.
//!
//! A distribution with a finite support is a table of integer weights, sampled by the alias method. One 64-bit random
//! number selects a cell; its fractional part selects one of the cell's two values. The weights are public, so optimal
//! bounds and goodness-of-fit tests use exactly the distribution that is drawn.
//!
//! Cost: one random number, one multiplication and one look-up (24 bytes) per draw, for every distribution. Memory: 40
//! bytes per value.
//!
//! The shapes of the rank-scheduling papers, with U uniform in (0, 1]:
//!
//! | name | value | in the papers |
//! |---|---|---|
//! | uniform | floor(bound U) | bound 100 |
//! | exponential | floor(-mean ln U), redrawn at or above bound | mean 25, bound 100 |
//! | inverse exponential | bound - exponential: 1 to bound | mean 25, bound 100 |
//! | Poisson | Poisson(mean) | mean 50 |
//! | convex | Poisson(mean) mod modulus | mean 100, modulus 100 |
//! | minmax | abs((Poisson(mean) - offset) rem modulus) | mean 50, offset 10, modulus 50 |
//!
//! Deviation: the Poisson shapes omit values less likely than 2^-60 of the mode, which draws of 64-bit numbers cannot
//! detect.
//!
//! References: A. J. Walker, "An Efficient Method for Generating Discrete Random Variables with General
//! Distributions", ACM TOMS 3(3), 1977; M. D. Vose, IEEE TSE 17(9), 1991.

use crate::{ParameterError, Stream};

/// The largest number of values in a table.
const MAX_TABLE: u64 = 1 << 20;
/// The sum of the weights of a computed (not given) table, up to rounding.
const COMPUTED_TOTAL: f64 = (1u64 << 60) as f64;

/// A distribution over the integers from 0 to 2^63 - 1.
///
/// ```
/// use pifolab_workload::{Distribution, Stream};
/// let ranks = Distribution::uniform(0, 99)?;
/// let mut stream = Stream::named(1, "ranks");
/// assert!(ranks.draw(&mut stream) < 100);
/// assert_eq!(ranks.mean(), 49.5);
/// # Ok::<(), pifolab_workload::ParameterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Distribution {
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Constant(u64),
    Uniform { low: u64, count: u64 },
    Table(Table),
}

#[derive(Clone, Debug)]
struct Table {
    cells: Box<[Cell]>,
    weights: Box<[(u64, u64)]>,
    total: u64,
}

/// One cell of the alias table: yields `own` if the fraction is below the threshold, else `alias`.
#[derive(Clone, Copy, Debug)]
struct Cell {
    threshold: u64,
    own: u64,
    alias: u64,
}

impl Distribution {
    /// A distribution with the single value `value`.
    ///
    /// # Errors
    /// If `value` exceeds 2^63 - 1.
    pub fn constant(value: u64) -> Result<Self, ParameterError> {
        in_range("value", value)?;
        Ok(Self { kind: Kind::Constant(value) })
    }

    /// The uniform distribution over the integers from `low` to `high`, inclusive.
    ///
    /// # Errors
    /// If `low` exceeds `high`, or `high` exceeds 2^63 - 1.
    pub fn uniform(low: u64, high: u64) -> Result<Self, ParameterError> {
        in_range("high", high)?;
        if low > high {
            return Err(ParameterError::new("low", low, "an integer not above high"));
        }
        Ok(Self { kind: Kind::Uniform { low, count: high - low + 1 } })
    }

    /// An exponential variate of mean `mean`, rounded down, redrawn while it is `bound` or more.
    ///
    /// # Errors
    /// If `mean` is not a finite number above 0, or `bound` is not from 1 to 2^20.
    pub fn exponential(mean: f64, bound: u64) -> Result<Self, ParameterError> {
        Self::computed(&exponential_shape(mean, bound)?)
    }

    /// `bound` minus an [exponential](Self::exponential) variate: 1 to `bound`, mostly near `bound`.
    ///
    /// # Errors
    /// As [`Self::exponential`].
    pub fn inverse_exponential(mean: f64, bound: u64) -> Result<Self, ParameterError> {
        let mirrored: Vec<_> = exponential_shape(mean, bound)?.into_iter().rev().map(|(v, p)| (bound - v, p)).collect();
        Self::computed(&mirrored)
    }

    /// A Poisson variate with mean `mean`.
    ///
    /// # Errors
    /// If `mean` is not a number above 0 and up to 1,000,000.
    pub fn poisson(mean: f64) -> Result<Self, ParameterError> {
        Self::computed(&poisson_shape(mean)?)
    }

    /// A Poisson variate modulo `modulus`. If the mean equals the modulus, the mass is at both ends.
    ///
    /// # Errors
    /// If `mean` is not a number above 0 and up to 1,000,000, or `modulus` is not from 1 to 2^20.
    pub fn convex(mean: f64, modulus: u64) -> Result<Self, ParameterError> {
        table_bound("modulus", modulus)?;
        Self::computed(&folded(poisson_shape(mean)?, modulus, |value| value % modulus))
    }

    /// A Poisson variate minus `offset`, modulo `modulus` with the sign of the dividend (as in C and Java), as an
    /// absolute value.
    ///
    /// # Errors
    /// If `mean` is not a number above 0 and up to 1,000,000, or `modulus` is not from 1 to 2^20.
    pub fn minmax(mean: f64, offset: u64, modulus: u64) -> Result<Self, ParameterError> {
        table_bound("modulus", modulus)?;
        Self::computed(&folded(poisson_shape(mean)?, modulus, |value| value.abs_diff(offset) % modulus))
    }

    /// A histogram of values with integer weights.
    ///
    /// # Errors
    /// If there are no values or more than 2^20, if a value exceeds 2^63 - 1 or occurs twice, or if the sum of the
    /// weights is 0 or exceeds 2^63 - 1.
    pub fn histogram(weights: &[(u64, u64)]) -> Result<Self, ParameterError> {
        if weights.is_empty() || weights.len() as u64 > MAX_TABLE {
            return Err(ParameterError::new("weights", format!("{} values", weights.len()), "1 to 2^20 values"));
        }
        let mut weights: Vec<_> = weights.to_vec();
        weights.sort_unstable();
        for pair in weights.windows(2) {
            if pair[0].0 == pair[1].0 {
                return Err(ParameterError::new(
                    "weights",
                    format!("duplicate value {}", pair[0].0),
                    "each value only once",
                ));
            }
        }
        in_range("weights", weights[weights.len() - 1].0)?;
        weights.retain(|&(_, weight)| weight > 0);
        let total: u128 = weights.iter().map(|&(_, weight)| u128::from(weight)).sum();
        let total = u64::try_from(total).ok().filter(|&total| total <= i64::MAX as u64).ok_or_else(|| {
            ParameterError::new("weights", format!("a sum of {total}"), "weights that add up to 2^63 - 1 at most")
        })?;
        match *weights.as_slice() {
            [] => Err(ParameterError::new("weights", "a sum of 0", "at least one weight above 0")),
            [(value, _)] => Self::constant(value),
            _ => Ok(Self { kind: Kind::Table(Table::new(weights.into_boxed_slice(), total)) }),
        }
    }

    fn computed(shape: &[(u64, f64)]) -> Result<Self, ParameterError> {
        let sum: f64 = shape.iter().map(|&(_, p)| p).sum();
        let weights: Vec<_> = shape.iter().map(|&(v, p)| (v, (p / sum * COMPUTED_TOTAL + 0.5) as u64)).collect();
        Self::histogram(&weights)
    }

    /// Draws one value.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        match &self.kind {
            Kind::Constant(value) => *value,
            Kind::Uniform { low, count } => low + stream.below(*count),
            Kind::Table(table) => {
                let product = u128::from(stream.next_u64()) * table.cells.len() as u128;
                let cell = &table.cells[(product >> 64) as usize];
                if (product as u64) < cell.threshold { cell.own } else { cell.alias }
            }
        }
    }

    /// The values and their integer weights, ascending. A value's probability is its weight over the sum of all
    /// weights. `None` for a uniform distribution over more than 2^20 values.
    pub fn weights(&self) -> Option<Vec<(u64, u64)>> {
        match &self.kind {
            Kind::Constant(value) => Some(vec![(*value, 1)]),
            Kind::Uniform { low, count } => {
                (*count <= MAX_TABLE).then(|| (*low..low + count).map(|value| (value, 1)).collect())
            }
            Kind::Table(table) => Some(table.weights.to_vec()),
        }
    }

    /// The probability of `value`.
    pub fn probability(&self, value: u64) -> f64 {
        match &self.kind {
            Kind::Constant(only) => f64::from(u8::from(*only == value)),
            Kind::Uniform { low, count } => {
                if value >= *low && value - low < *count {
                    1.0 / *count as f64
                } else {
                    0.0
                }
            }
            Kind::Table(table) => match table.weights.binary_search_by_key(&value, |&(v, _)| v) {
                Ok(at) => table.weights[at].1 as f64 / table.total as f64,
                Err(_) => 0.0,
            },
        }
    }

    /// The mean of the distribution.
    pub fn mean(&self) -> f64 {
        match &self.kind {
            Kind::Constant(value) => *value as f64,
            Kind::Uniform { low, count } => *low as f64 + (*count - 1) as f64 / 2.0,
            Kind::Table(table) => {
                table.weights.iter().map(|&(v, w)| v as f64 * w as f64).sum::<f64>() / table.total as f64
            }
        }
    }

    /// The smallest value with a positive probability.
    pub fn min(&self) -> u64 {
        match &self.kind {
            Kind::Constant(value) => *value,
            Kind::Uniform { low, .. } => *low,
            Kind::Table(table) => table.weights[0].0,
        }
    }

    /// The largest value with a positive probability.
    pub fn max(&self) -> u64 {
        match &self.kind {
            Kind::Constant(value) => *value,
            Kind::Uniform { low, count } => low + (count - 1),
            Kind::Table(table) => table.weights[table.weights.len() - 1].0,
        }
    }
}

impl Table {
    /// Vose's construction in integers. Each weight is multiplied by the number n of cells, so that one cell holds the
    /// total. A value with a smaller scaled weight fills its cell with the excess of a larger one.
    fn new(weights: Box<[(u64, u64)]>, total: u64) -> Self {
        let n = weights.len() as u128;
        let whole = u128::from(total);
        let mut left: Vec<u128> = weights.iter().map(|&(_, weight)| u128::from(weight) * n).collect();
        let mut cells: Vec<Cell> =
            weights.iter().map(|&(own, _)| Cell { threshold: u64::MAX, own, alias: own }).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..left.len()).partition(|&i| left[i] < whole);
        while let (Some(&poor), Some(&rich)) = (small.last(), large.last()) {
            small.pop();
            // The share is below the total, which is below 2^63, so the quotient is below 2^64.
            cells[poor].threshold = ((left[poor] << 64) / whole) as u64;
            cells[poor].alias = cells[rich].own;
            left[rich] -= whole - left[poor];
            if left[rich] < whole {
                large.pop();
                small.push(rich);
            }
        }
        debug_assert!(small.is_empty(), "integer shares add up exactly, so no cell is left half empty");
        Self { cells: cells.into_boxed_slice(), weights, total }
    }
}

fn in_range(parameter: &'static str, value: u64) -> Result<(), ParameterError> {
    if value > i64::MAX as u64 {
        return Err(ParameterError::new(parameter, value, "an integer from 0 to 2^63 - 1"));
    }
    Ok(())
}

fn table_bound(parameter: &'static str, bound: u64) -> Result<(), ParameterError> {
    if bound == 0 || bound > MAX_TABLE {
        return Err(ParameterError::new(parameter, bound, "an integer from 1 to 2^20"));
    }
    Ok(())
}

/// The probability of r is that of an exponential variate between r and r + 1, proportional to exp(-r / mean).
fn exponential_shape(mean: f64, bound: u64) -> Result<Vec<(u64, f64)>, ParameterError> {
    if !(mean.is_finite() && mean > 0.0) {
        return Err(ParameterError::new("mean", mean, "a finite number above 0"));
    }
    table_bound("bound", bound)?;
    Ok((0..bound).map(|value| (value, libm::exp(-(value as f64) / mean))).collect())
}

/// The Poisson probabilities relative to the mode's, computed outwards from the mode.
fn poisson_shape(mean: f64) -> Result<Vec<(u64, f64)>, ParameterError> {
    const NEGLIGIBLE: f64 = 1.0 / COMPUTED_TOTAL;
    if !(mean > 0.0 && mean <= 1e6) {
        return Err(ParameterError::new("mean", mean, "a number above 0 and up to 1000000"));
    }
    let mode = mean as u64;
    let mut shape = Vec::new();
    let (mut value, mut p) = (mode, 1.0);
    while value > 0 {
        p *= value as f64 / mean;
        value -= 1;
        if p < NEGLIGIBLE {
            break;
        }
        shape.push((value, p));
    }
    shape.reverse();
    (value, p) = (mode, 1.0);
    while p >= NEGLIGIBLE {
        shape.push((value, p));
        value += 1;
        p *= mean / value as f64;
    }
    Ok(shape)
}

/// The distribution of `map` (with results below `modulus`) applied to a variate of the given shape.
fn folded(shape: Vec<(u64, f64)>, modulus: u64, map: impl Fn(u64) -> u64) -> Vec<(u64, f64)> {
    let mut sums = vec![0.0; modulus as usize];
    for (value, p) in shape {
        sums[map(value) as usize] += p;
    }
    (0..modulus).zip(sums).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pearson's statistic of `n` draws and its degrees of freedom. Classes with fewer than 5 expected draws are
    /// pooled.
    fn chi_square(distribution: &Distribution, n: u32) -> (f64, f64) {
        let weights = distribution.weights().unwrap();
        let mut counts = vec![0u32; weights.len()];
        let mut stream = Stream::named(11, "chi-square");
        for _ in 0..n {
            let value = distribution.draw(&mut stream);
            counts[weights.binary_search_by_key(&value, |&(v, _)| v).unwrap()] += 1;
        }
        let (mut statistic, mut classes, mut pooled) = (0.0, 0.0, (0.0, 0.0));
        for (&(value, _), &count) in weights.iter().zip(&counts) {
            let expected = distribution.probability(value) * f64::from(n);
            pooled = (pooled.0 + expected, pooled.1 + f64::from(count));
            if pooled.0 >= 5.0 {
                statistic += (pooled.1 - pooled.0).powi(2) / pooled.0;
                classes += 1.0;
                pooled = (0.0, 0.0);
            }
        }
        (statistic, classes - 1.0)
    }

    #[test]
    fn draws_follow_the_weights() {
        let shapes = [
            Distribution::uniform(0, 99),
            Distribution::exponential(25.0, 100),
            Distribution::inverse_exponential(25.0, 100),
            Distribution::poisson(50.0),
            Distribution::convex(100.0, 100),
            Distribution::minmax(50.0, 10, 50),
            Distribution::histogram(&[(3, 1), (1 << 62, 999), (10, 17)]),
        ];
        for (i, shape) in shapes.into_iter().enumerate() {
            let (statistic, freedom) = chi_square(&shape.unwrap(), 500_000);
            // The mean plus five standard deviations (variance 2 per degree of freedom).
            assert!(statistic < freedom + 5.0 * (2.0 * freedom).sqrt(), "shape {i}: {statistic} for {freedom}");
        }
    }

    #[test]
    fn the_papers_shapes_have_their_exact_means() {
        // floor(-25 ln U) given < 100: with q = exp(-1/25) a geometric law cut at 100, mean q/(1-q) - 100 q^100/(1-q^100).
        let q = (-1.0f64 / 25.0).exp();
        let exponential_mean = q / (1.0 - q) - 100.0 * q.powi(100) / (1.0 - q.powi(100));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b;
        assert!(near(Distribution::exponential(25.0, 100).unwrap().mean(), exponential_mean));
        assert!(near(Distribution::inverse_exponential(25.0, 100).unwrap().mean(), 100.0 - exponential_mean));
        assert!(near(Distribution::poisson(50.0).unwrap().mean(), 50.0));
        assert!(near(Distribution::uniform(1, 100).unwrap().mean(), 50.5));
    }

    #[test]
    fn poisson_probabilities_are_the_textbook_ones() {
        let poisson = Distribution::poisson(2.5).unwrap();
        for (k, factorial) in [(0, 1.0), (1, 1.0), (2, 2.0), (3, 6.0), (6, 720.0)] {
            let expected = (-2.5f64).exp() * 2.5f64.powi(k) / factorial;
            assert!((poisson.probability(k as u64) - expected).abs() < 1e-12, "k = {k}");
        }
        assert_eq!(Distribution::poisson(0.25).unwrap().min(), 0);
        assert!((Distribution::poisson(1e6).unwrap().mean() - 1e6).abs() < 1e-3);
    }

    #[test]
    fn convex_ranks_lie_at_both_ends_and_inverse_exponential_ones_above_zero() {
        let convex = Distribution::convex(100.0, 100).unwrap();
        assert!(convex.probability(99) > 0.03 && convex.probability(0) > 0.03 && convex.probability(50) < 1e-6);
        let inverse = Distribution::inverse_exponential(25.0, 100).unwrap();
        assert_eq!((inverse.min(), inverse.max()), (1, 100));
    }

    #[test]
    fn minmax_takes_the_remainder_with_the_dividends_sign() {
        let poisson = Distribution::poisson(50.0).unwrap();
        let minmax = Distribution::minmax(50.0, 10, 50).unwrap();
        let expected: f64 = [8, 12, 62, 112, 162].map(|value| poisson.probability(value)).iter().sum();
        assert!((minmax.probability(2) - expected).abs() < 1e-12);
    }

    #[test]
    fn a_wide_uniform_has_no_table_but_the_right_ends() {
        let wide = Distribution::uniform(5, i64::MAX as u64).unwrap();
        assert!(wide.weights().is_none());
        assert_eq!((wide.min(), wide.max()), (5, i64::MAX as u64));
        assert!(wide.draw(&mut Stream::named(1, "x")) >= 5);
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        let message = |result: Result<Distribution, ParameterError>| result.unwrap_err().to_string();
        assert_eq!(message(Distribution::uniform(3, 2)), "low = 3: expected an integer not above high");
        assert_eq!(
            message(Distribution::constant(1 << 63)),
            "value = 9223372036854775808: expected an integer from 0 to 2^63 - 1"
        );
        assert_eq!(message(Distribution::exponential(-1.0, 9)), "mean = -1: expected a finite number above 0");
        assert_eq!(message(Distribution::exponential(1.0, 0)), "bound = 0: expected an integer from 1 to 2^20");
        assert_eq!(message(Distribution::poisson(f64::NAN)), "mean = NaN: expected a number above 0 and up to 1000000");
        assert_eq!(message(Distribution::convex(1.0, 0)), "modulus = 0: expected an integer from 1 to 2^20");
        assert_eq!(message(Distribution::histogram(&[])), "weights = 0 values: expected 1 to 2^20 values");
        assert_eq!(
            message(Distribution::histogram(&[(1, 0)])),
            "weights = a sum of 0: expected at least one weight above 0"
        );
        assert_eq!(
            message(Distribution::histogram(&[(1, 1), (2, 1), (1, 1)])),
            "weights = duplicate value 1: expected each value only once"
        );
        assert!(message(Distribution::histogram(&[(1, u64::MAX), (2, 1)])).contains("2^63 - 1 at most"));
    }

    proptest! {
        #[test]
        fn the_alias_table_gives_back_its_weights(weights in proptest::collection::vec(0u64..1_000_000_000_000, 2..60)) {
            let weights: Vec<_> = (0..).zip(weights).collect();
            prop_assume!(weights.iter().filter(|w| w.1 > 0).count() > 1);
            let Kind::Table(table) = Distribution::histogram(&weights).unwrap().kind else { unreachable!() };
            let whole = 2f64.powi(64);
            for &(value, weight) in &table.weights {
                let mass: f64 = table.cells.iter().map(|cell| {
                    let share = if cell.own == cell.alias { 1.0 } else { cell.threshold as f64 / whole };
                    f64::from(u8::from(cell.own == value)) * share
                        + f64::from(u8::from(cell.alias == value && cell.own != value)) * (1.0 - share)
                }).sum();
                let expected = weight as f64 / table.total as f64;
                prop_assert!((mass / table.cells.len() as f64 - expected).abs() < 1e-12);
            }
        }
    }
}
