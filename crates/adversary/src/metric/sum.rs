//! Sums of metrics with integer factors, which weigh a gain in one metric against another.

use super::{METRICS, Metric, Ranks};
use pifolab_sched::params::Misfit;

/// The largest sum of the factors. With it, every sum of prices in the exact search fits in 32 bits.
const MOST: u64 = 100;

/// A sum of metrics, such as `WI-10*inversions`.
pub struct Sum {
    terms: Vec<(i64, &'static dyn Metric)>,
}

impl Sum {
    /// Parses names with signs between them, each with an optional factor. `None` if `text` does not have this form.
    pub fn read(text: &str) -> Option<Result<Self, Misfit>> {
        let mut terms: Vec<(i64, &'static dyn Metric)> = Vec::new();
        let mut rest = text.trim();
        let mut together: u64 = 0;
        while !rest.is_empty() {
            let (sign, unsigned) = match rest.as_bytes()[0] {
                b'+' => (1, rest[1..].trim_start()),
                b'-' => (-1, rest[1..].trim_start()),
                _ if terms.is_empty() => (1, rest),
                _ => return None,
            };
            let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
            let (factor, named) = match unsigned[digits..].trim_start().strip_prefix('*') {
                Some(named) if digits > 0 => (unsigned[..digits].parse().unwrap_or(u64::MAX), named.trim_start()),
                _ if digits == 0 => (1, unsigned),
                _ => return None,
            };
            let matching = METRICS.iter().filter(|metric| named.starts_with(metric.name()));
            let metric = *matching.max_by_key(|metric| metric.name().len())?;
            if !metric.is_additive() {
                return Some(Err(Misfit::of(text, format!("{} is not a sum of prices", metric.name()))));
            }
            together = together.saturating_add(factor);
            terms.push((sign * factor.min(MOST) as i64, metric));
            rest = named[metric.name().len()..].trim_start();
        }
        if terms.is_empty() {
            return None;
        }
        if together > MOST {
            let problem = format!("the factors add up to {together}: expected at most {MOST}");
            return Some(Err(Misfit::of(text, problem)));
        }
        Some(Ok(Self { terms }))
    }
}

impl Metric for Sum {
    fn name(&self) -> &'static str {
        "the sum of metrics"
    }

    fn summary(&self) -> &'static str {
        "Metrics times their factors, added up"
    }

    fn drop_price(&self, rank: u64, ranks: &Ranks) -> i64 {
        self.terms.iter().map(|(factor, metric)| factor * metric.drop_price(rank, ranks)).sum()
    }

    fn overtake_price(&self, first: u64, later: u64, ranks: &Ranks) -> i64 {
        self.terms.iter().map(|(factor, metric)| factor * metric.overtake_price(first, later, ranks)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANKS: Ranks = Ranks { lowest: 1, highest: 11, counted: 1 };

    fn prices(text: &str) -> Option<[i64; 3]> {
        let sum = Sum::read(text)?.ok()?;
        Some([sum.drop_price(1, &RANKS), sum.overtake_price(5, 1, &RANKS), sum.overtake_price(5, 3, &RANKS)])
    }

    #[test]
    fn a_sum_has_the_prices_of_its_terms_times_their_factors() {
        assert_eq!(prices("WI"), Some([0, 10, 8]));
        assert_eq!(prices("WI-10*inversions"), Some([0, 0, 8]));
        assert_eq!(prices(" 2 * WD + 3*drops - inversions "), Some([23, -1, 0]));
        for other in ["", "WX", "WI WD", "3WI", "WI+", "*WI", "WI-10*", "WIWD", "ü"] {
            assert!(Sum::read(other).is_none(), "{other}");
        }
        let refused = |text| Sum::read(text).unwrap().err().unwrap().to_string();
        assert_eq!(refused("WD+delay"), "= WD+delay: delay is not a sum of prices");
        assert_eq!(refused("90*WD+11*WI"), "= 90*WD+11*WI: the factors add up to 101: expected at most 100");
    }
}
