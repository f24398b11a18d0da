//! A division of ranks among strict-priority queues such that slack shrinks geometrically, shared by Slack-SP and
//! PACKS's geometric map.
//!
//! Let x_k = 1 - (the load of the ranks that queues 1 to k take). In a queue of a non-preemptive priority system the mean wait
//! is R / (x_{k-1} x_k), so that the inversions inside queue k grow as (x_{k-1} - x_k)^2 / (x_{k-1} x_k): they depend on the
//! ratio x_k / x_{k-1} alone, and their sum is least when all ratios are equal. With x_0 = 1 and x_{n-1} = eps that is
//! x_k = eps^(k/(n-1)).
//!
//! Powers are computed in integers: multiples of 2^-62, rounded down at each multiplication.

use super::admission::RankQuantile;
use crate::params::{Kind, Literal, Param, ParamError};
use alloc::boxed::Box;
use alloc::vec::Vec;
use pifolab_units::Ratio;

/// 1, as a multiple of 2^-62.
pub(super) const ONE: u64 = 1 << 62;

pub(super) const EPS: Param = Param::new("eps", Kind::Fraction).doc(
    "The share of the arrivals (above saturation: of the link) that is left for the last queue; the shares left behind \
     the queues before it shrink to this one by equal factors. 0.02 to 0.1 under overload.",
);

/// 1 - eps^(k/(n-1)) for k = 1..n-1: the shares of arrivals that go to the first k of n queues, as multiples of 2^-62.
///
/// # Errors
/// If `eps` is not between 0 and 1; the message names the key of `row`.
pub(super) fn shares(owner: &str, row: &Param, eps: Ratio, queues: usize) -> Result<Vec<u64>, ParamError> {
    if eps == Ratio::ZERO || eps >= Ratio::ONE {
        return Err(row.error_because(owner, eps, "expected a fraction above 0 and below 1, such as 0.1 or 1/10"));
    }
    let Some(parts) = queues.checked_sub(1).filter(|parts| *parts > 0) else { return Ok(Vec::new()) };
    let eps = ((u128::from(eps.numerator()) << 62) / u128::from(eps.denominator())) as u64;
    let factor = root(eps, parts);
    Ok((1..=parts).map(|part| ONE - power(factor, part)).collect())
}

/// The largest factor whose power is not above `value`, found bit by bit.
pub(super) fn root(value: u64, exponent: usize) -> u64 {
    let mut factor = 0;
    for bit in (0..=62).rev() {
        let tried = factor | 1 << bit;
        if tried <= ONE && power(tried, exponent) <= value {
            factor = tried;
        }
    }
    factor
}

pub(super) fn power(factor: u64, exponent: usize) -> u64 {
    (0..exponent).fold(ONE, |product, _| ((u128::from(product) * u128::from(factor)) >> 62) as u64)
}

/// 2^-40: a quantile this near to an end counts as having reached it, so that ties do not depend on the rounding of
/// powers.
const NEAR: u64 = 1 << 22;

/// PACKS's geometric map: the share of the window's ranks that belongs to the first queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeometricMap {
    /// The slack that is left for the last queue, between 0 and 1.
    pub eps: Ratio,
    /// The load at which the slack is `eps`, above 0.
    pub load: Ratio,
}

impl GeometricMap {
    /// The row of eps.
    pub const EPS: Param = EPS.or(Literal::Fraction(1, 50));

    /// The row of the load.
    pub const LOAD: Param = Param::new("load", Kind::Positive).or(Literal::Fraction(11, 10)).doc(
        "The offered load that the geometric map is made for: queue k takes quantiles below (1 - eps^(k/(n-1))) / load. \
         With map = geometric only.",
    );

    /// The quantiles that each of `queues` takes.
    pub(super) fn ends(self, owner: &str, queues: usize) -> Result<Ends, ParamError> {
        if self.load == Ratio::ZERO {
            return Err(Self::LOAD.error(owner, self.load));
        }
        let over_load = |share: u64| {
            let end = u128::from(share) * u128::from(self.load.denominator()) / u128::from(self.load.numerator());
            (end.min(2 * u128::from(ONE)) as u64).saturating_sub(NEAR)
        };
        Ok(Ends { ends: shares(owner, &Self::EPS, self.eps, queues)?.into_iter().map(over_load).collect() })
    }
}

/// The first quantile, as a multiple of 2^-62, that each of queues 1, 2, .. does not take; the last queue has none.
#[derive(Debug)]
pub(super) struct Ends {
    ends: Box<[u64]>,
}

clone_by_field!(Ends { ends });

impl Ends {
    /// Whether a queue is the last, which takes all remaining quantiles.
    pub(super) fn is_last(&self, queue: usize) -> bool {
        queue >= self.ends.len()
    }

    /// The queue of the quantile `count / held`.
    #[inline(always)]
    pub(super) fn queue(&self, RankQuantile { count, held }: RankQuantile) -> usize {
        let reaches = |end: &&u64| u128::from(count) << 62 >= u128::from(**end) * u128::from(held);
        self.ends.iter().take_while(reaches).count()
    }

    /// The largest count of `held` that `queue`, which is not the last, or one before it takes, if they take any.
    pub(super) fn largest_count(&self, queue: usize, held: u64) -> Option<u64> {
        let most = (u128::from(self.ends[queue]) * u128::from(held)).checked_sub(1)?;
        Some((most >> 62) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Param = EPS;

    #[test]
    fn eight_queues_share_a_tenth_as_the_derivation_says() {
        let shares = shares("test", &ROW, Ratio::new(1, 10).unwrap(), 8).unwrap();
        let thousandths: Vec<u64> = shares.iter().map(|share| ((share >> 20) * 1000 + (1 << 41)) >> 42).collect();
        assert_eq!(thousandths, [280, 482, 627, 732, 807, 861, 900]);
        assert!(super::shares("test", &ROW, Ratio::new(1, 10).unwrap(), 1).unwrap().is_empty());
    }

    #[test]
    fn ends_are_the_shares_over_the_load() {
        let map = GeometricMap { eps: Ratio::new(1, 4).unwrap(), load: Ratio::new(5, 4).unwrap() };
        // Slack 1/2 and 1/4 at a load of 5/4: quantiles of 2/5 and 3/5.
        let tenths: Vec<u64> =
            map.ends("test", 3).unwrap().ends.iter().map(|end| (end / (ONE / 1000) + 50) / 100).collect();
        assert_eq!(tenths, [4, 6]);
    }

    #[test]
    fn an_eps_of_nothing_or_of_everything_is_refused() {
        for eps in [Ratio::ZERO, Ratio::ONE] {
            assert!(shares("test", &ROW, eps, 4).is_err());
        }
    }
}
